"""Trajectories on disk: NumPy's .npz without pickled objects, checked when read.

Only the members of the archive that a trajectory has are read, each by its header first. A header must agree with the
archive, the model and the other members before memory is allocated for any of them.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from linkwork.arguments import file_path
from linkwork.dynamics.arguments import Array
from linkwork.engine.code import fingerprint
from linkwork.errors import ArgumentError, excuse
from linkwork.files import open_regular, replacing
from linkwork.memory import check_memory
from linkwork.model.model import Model
from linkwork.simulation.happened import Happened

_FORMAT = "linkwork trajectory 1"
_HEADER = ("format", "model", "joints", "digest", "interrupted")
_EVENTS = ("event_times", "event_numbers", "event_names")
"""Of motions in which events have happened."""
_LONGEST_TEXT = 2**20  # characters of a name or digest
_DEFLATE = 1032  # the largest compression ratio of deflate
_CHUNK = 2**20
_NONE = "holds no trajectory that Trajectory.save of this version has written"
_BROKEN = (OSError, ValueError, EOFError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error)


def save(
    path: str | Path, model: Model, arrays: Mapping[str, Array], interrupted: bool, events: Sequence[Happened]
) -> Path:
    """Write the arrays, the events, and the data that identify the model."""
    to = file_path("path", path)
    to = to if to.suffix == ".npz" else to.with_name(to.name + ".npz")
    header = {
        "format": np.array(_FORMAT),
        "model": np.array(model.name),
        "joints": np.array(model.joint_names, dtype=np.str_),
        "digest": np.array(_digest(model)),
        "interrupted": np.array(interrupted),
    }
    if events:
        values = [one.t for one in events], [one.event for one in events], [one.name for one in events]
        header |= dict(zip(_EVENTS, map(np.array, values), strict=True))
    with replacing(to) as beside, beside.open("wb") as file:
        np.savez_compressed(file, **header, **arrays)  # type: ignore[arg-type]
    return to


def load(
    path: str | Path, model: Model, sizes: Mapping[str, tuple[int | None, ...]]
) -> tuple[dict[str, Array], bool, tuple[Happened, ...]]:
    """Read the arrays of a trajectory of this model, whether it was interrupted, and its events; ``sizes`` are the
    arrays' shapes for one state, None for any number.
    """
    try:
        with open_regular(file_path("path", path)) as file, zipfile.ZipFile(file) as archive:
            listed = _EVENTS if f"{_EVENTS[0]}.npy" in archive.namelist() else ()
            members = {name: _member(archive, file, name) for name in (*_HEADER, *sizes, *listed)}
            _check_identity(path, model, members)
            _check_shapes(path, model, members, sizes)
            events = _events(members) if listed else ()
            return {name: members[name].read() for name in sizes}, bool(members["interrupted"].read()), events
    except FileNotFoundError:
        raise ArgumentError(f"there is no file {path}") from None
    except KeyError:
        raise ArgumentError(f"{path} {_NONE}") from None
    except ArgumentError:
        raise
    except _BROKEN as error:
        raise ArgumentError(f"{path} is no .npz file that can be read: {error}") from None


@dataclass(frozen=True)
class _Member:
    """One array of an archive, whose header has been read."""

    archive: zipfile.ZipFile
    info: zipfile.ZipInfo
    shape: tuple[int, ...]
    fortran_order: bool
    dtype: np.dtype[Any]
    size: int
    """Bytes of the array's data, which come last."""

    def read(self) -> np.ndarray:
        flat = np.empty(prod(self.shape), self.dtype)
        into, done = flat.view(np.uint8).data, 0
        with self.archive.open(self.info) as stream:
            stream.read(self.info.file_size - self.size)
            while done < self.size:
                part = stream.read(_CHUNK)
                if not part:
                    raise EOFError(f"{self.info.filename} ends early")
                into[done : done + len(part)] = part
                done += len(part)
        return flat.reshape(self.shape[::-1]).T if self.fortran_order else flat.reshape(self.shape)

    def text(self) -> str:
        """The member as a single string."""
        if self.dtype.kind != "U" or self.shape or self.size > 4 * _LONGEST_TEXT:
            raise ValueError(f"{self.info.filename} is no text")
        return str(self.read())


def _member(archive: zipfile.ZipFile, file: IO[bytes], name: str) -> _Member:
    """A member whose header, directory entry and file agree."""
    info = archive.getinfo(f"{name}.npy")
    whole = os.fstat(file.fileno()).st_size
    most = {zipfile.ZIP_STORED: info.compress_size, zipfile.ZIP_DEFLATED: _DEFLATE * info.compress_size}
    if info.compress_size > whole or info.file_size > most.get(info.compress_type, 0):
        raise ValueError(f"{info.filename} cannot have the {info.file_size:,} bytes that it claims")
    with archive.open(info) as stream:
        if npy.read_magic(stream) != (1, 0):  # later versions hold types that a trajectory does not have
            raise ValueError(f"{info.filename} has an unknown version")
        try:
            shape, fortran_order, dtype = npy.read_array_header_1_0(stream)
            size = prod(shape) * dtype.itemsize
        except Exception as error:  # a header is a Python literal: parsing it may raise anything
            excuse(error)
            raise ValueError(f"{info.filename} has a damaged header") from None
        if dtype.hasobject or min(shape, default=0) < 0 or stream.tell() + size != info.file_size:
            raise ValueError(
                f"the header of {info.filename} speaks of {dtype} in shape {shape}, {size:,} bytes, "
                f"but there are {info.file_size - stream.tell():,}"
            )
    return _Member(archive, info, shape, fortran_order, dtype, size)


def _check_identity(path: str | Path, model: Model, members: Mapping[str, _Member]) -> None:
    """Reject a file that is no trajectory, or that of another model."""
    if members["format"].text() != _FORMAT or members["interrupted"].dtype != np.bool_ or members["interrupted"].shape:
        raise ArgumentError(f"{path} {_NONE}")
    joints, own = members["joints"], np.array(model.joint_names, dtype=np.str_)
    if joints.dtype != own.dtype or joints.shape != own.shape or (joints.read() != own).any():
        raise ArgumentError(
            f"{path} was made with the model {members['model'].text()!r} of {prod(joints.shape)} joints, not those of "
            f"{model.name!r} ({len(model.joint_names)} joints); pass the model that it was made with"
        )
    if members["digest"].text() != _digest(model):
        raise ArgumentError(
            f"{path} was made with a model of the same joints as {model.name!r} but other sizes, masses, axes or "
            f"gravity; pass the model that it was made with"
        )


def _check_shapes(
    path: str | Path, model: Model, members: Mapping[str, _Member], sizes: Mapping[str, tuple[int | None, ...]]
) -> None:
    """Reject arrays that do not fit the model, each other, or memory."""
    states = (members["t"].shape or (0,))[0]
    for name, size in sizes.items():
        member = members[name]
        expected = (states, *size)
        fits = len(member.shape) == len(expected) and all(
            want in (None, came) for want, came in zip(expected, member.shape, strict=True)
        )
        if member.dtype != np.float64 or not fits:
            shown = ", ".join("any" if number is None else str(number) for number in expected)
            raise ArgumentError(
                f"{path}: {name} of a trajectory must be float64 of shape ({shown}), not {member.dtype} of shape "
                f"{member.shape}"
            )
    total = float(sum(members[name].size for name in sizes))
    check_memory(f"{states:,} states of {model.name!r} in {path}", total, "it cannot be loaded here")


def _events(members: Mapping[str, _Member]) -> tuple[Happened, ...]:
    """The events of a trajectory."""
    own = [members[name] for name in _EVENTS]
    kinds = [member.dtype.kind for member in own]
    if kinds != ["f", "i", "U"] or len({member.shape for member in own}) > 1 or len(own[0].shape) != 1:
        raise ValueError("its events are no times, numbers and names")
    check_memory("the events of a trajectory", float(sum(member.size for member in own)), "it cannot be loaded here")
    rows = zip(*(member.read() for member in own), strict=True)
    return tuple(Happened(float(t), int(event), str(name)) for t, event, name in rows)


def _digest(model: Model) -> str:
    return fingerprint.of_model(model, ()) or "a model with joints that are not linkwork's own"
