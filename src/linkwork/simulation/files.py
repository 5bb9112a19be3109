"""Trajectories on disk: NumPy's .npz, nothing pickled, checked when it is read."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from linkwork.arguments import file_path
from linkwork.dynamics.arguments import Array
from linkwork.engine.code import fingerprint
from linkwork.errors import ArgumentError
from linkwork.model.model import Model

_FORMAT = "linkwork trajectory 1"


def save(path: str | Path, model: Model, arrays: Mapping[str, Array], interrupted: bool) -> Path:
    """Write arrays and what identifies the model."""
    to = file_path("path", path)
    to = to if to.suffix == ".npz" else to.with_name(to.name + ".npz")
    header = {
        "format": np.array(_FORMAT),
        "model": np.array(model.name),
        "joints": np.array(model.joint_names, dtype=np.str_),
        "digest": np.array(_digest(model)),
        "interrupted": np.array(interrupted),
    }
    to.parent.mkdir(parents=True, exist_ok=True)
    with to.open("wb") as file:
        np.savez_compressed(file, **header, **arrays)  # type: ignore[arg-type]
    return to


def load(path: str | Path, model: Model, names: Sequence[str]) -> tuple[dict[str, Array], bool]:
    """Read them again for that model."""
    kept = _read(file_path("path", path))
    if str(kept.get("format")) != _FORMAT or any(
        name not in kept for name in (*names, "joints", "digest", "interrupted")
    ):
        raise ArgumentError(f"{path} holds no trajectory that Trajectory.save of this version has written")
    joints = tuple(kept["joints"].tolist())
    if joints != model.joint_names:
        raise ArgumentError(
            f"{path} was made with the model {str(kept.get('model'))!r} of {len(joints)} joints, not those of "
            f"{model.name!r} ({len(model.joint_names)} joints); pass the model that it was made with"
        )
    if str(kept["digest"]) != _digest(model):
        raise ArgumentError(
            f"{path} was made with a model of the same joints as {model.name!r} but other sizes, masses, axes or "
            f"gravity; pass the model that it was made with"
        )
    return {name: kept[name] for name in names}, bool(kept["interrupted"].all())


def _read(path: Path) -> dict[str, np.ndarray]:
    try:
        with path.open("rb") as file:
            kept = np.load(file, allow_pickle=False)
            return {name: kept[name] for name in kept.files} if isinstance(kept, np.lib.npyio.NpzFile) else {}
    except FileNotFoundError:
        raise ArgumentError(f"there is no file {path}") from None
    except (OSError, ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise ArgumentError(f"{path} is no .npz file that can be read: {error}") from None


def _digest(model: Model) -> str:
    return fingerprint.of_model(model, ()) or "a model with joints that are not linkwork's own"
