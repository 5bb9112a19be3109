"""Links object code into executable memory without LLVM, whose library takes longer to load than everything else that a
first call from the cache does.

The ELF objects that linkwork compiles for x86-64 have few kinds of sections and relocations. Anything else is left to
LLVM's own linker (``jit``). Memory is never writable and executable at once: it is written first, then protected.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_READ, _EXECUTE = 1, 4
_SECTION = np.dtype([
    ("name", "<u4"), ("type", "<u4"), ("flags", "<u8"), ("address", "<u8"), ("offset", "<u8"), ("size", "<u8"),
    ("link", "<u4"), ("info", "<u4"), ("align", "<u8"), ("entry", "<u8"),
])  # fmt: skip
_SYMBOL = np.dtype([
    ("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8"),
])  # fmt: skip
_RELOCATION = np.dtype([("offset", "<u8"), ("type", "<u4"), ("symbol", "<u4"), ("addend", "<i8")])
_PROGRAM, _SYMBOLS, _RELOCATIONS = 1, 2, 4
"""Types of sections: content, names, relocations."""
_WRITABLE, _IN_MEMORY, _CODE = 1, 2, 4
"""Flags of sections."""
_RELATIVE = (2, 4)
"""Relocations: a 32-bit distance to a symbol, which may be a called function."""
_JUMP = bytes.fromhex("ff2502000000 cccc")
"""Jump to the address in the next eight bytes."""
_STUB = len(_JUMP) + 8
_SPECIAL = 0xFF00
"""Numbers from here on are not sections."""


class Linked(NamedTuple):
    """Memory that holds code, and its functions by address."""

    memory: object
    addresses: dict[str, int]


def linked(image: bytes, needed: Mapping[str, int], names: Sequence[str]) -> Linked | None:
    """The functions ``names`` of an object, which calls functions ``needed``, by address; None if that is not as simple
    as it mostly is.

    Raises:
        OSError: if the system gives no memory for it.
    """
    if not usable() or image[:6] != b"\x7fELF\x02\x01" or image[18:20] != b"\x3e\0":
        return None
    count = int.from_bytes(image[60:62], "little")
    sections = np.frombuffer(image, _SECTION, count, int.from_bytes(image[40:48], "little"))
    tables = [section for section in sections if section["type"] == _SYMBOLS]
    present = [k for k in range(count) if sections["flags"][k] & _IN_MEMORY and sections["size"][k]]
    if len(tables) != 1 or any(sections["type"][k] != _PROGRAM or sections["flags"][k] & _WRITABLE for k in present):
        return None
    symbols, called = _part(image, tables[0], _SYMBOL), _names(image, sections, tables[0])
    foreign = [k for k in range(1, len(symbols)) if symbols["section"][k] == 0]
    if not all(called[k] in needed for k in foreign):
        return None
    # constants first, then, on a new page, code, and a jump to each external function
    places = np.full(count, -1, dtype=np.int64)
    constants = _place(sections, [k for k in present if not sections["flags"][k] & _CODE], 0, places)
    begin = _aligned(constants, mmap.PAGESIZE)
    end = _aligned(_place(sections, [k for k in present if sections["flags"][k] & _CODE], begin, places), 8)
    where = np.full(len(symbols), -1, dtype=np.int64)
    own = (symbols["section"] > 0) & (symbols["section"] < _SPECIAL)
    where[own] = places[symbols["section"][own]] + symbols["value"][own].astype(np.int64)
    where[foreign] = end + _STUB * np.arange(len(foreign))
    size = _aligned(end + _STUB * len(foreign), mmap.PAGESIZE)
    content = np.frombuffer(mmap.mmap(-1, max(size, mmap.PAGESIZE), flags=_PRIVATE), np.uint8)
    for k in present:
        content[places[k] :][: sections["size"][k]] = _part(image, sections[k], np.dtype(np.uint8))
    for k in foreign:
        content[where[k] :][:_STUB] = np.frombuffer(_JUMP + needed[called[k]].to_bytes(8, "little"), np.uint8)
    for section in sections[sections["type"] == _RELOCATIONS]:
        place = int(places[section["info"]])
        if place >= 0 and not _relocate(content, place, _part(image, section, _RELOCATION), where):
            return None
    address = content.ctypes.data
    if begin:
        _protect(address, begin, _READ)
    _protect(address + begin, len(content) - begin, _READ | _EXECUTE)
    by_name = {called[k]: address + int(where[k]) for k in np.flatnonzero(own & (symbols["info"] >> 4 > 0))}
    return Linked(content, {name: by_name[name] for name in names})


def _names(image: bytes, sections: Any, table: Any) -> list[str]:
    """Of all symbols."""
    start = int(sections[table["link"]]["offset"])
    begins = [start + int(first) for first in _part(image, table, _SYMBOL)["name"]]
    return [image[first : image.index(b"\0", first)].decode() for first in begins]


def _relocate(content: NDArray[np.uint8], start: int, entries: Any, where: NDArray[np.int64]) -> bool:
    """Fill in distances within one section; whether there is nothing else to do."""
    if not (np.isin(entries["type"], _RELATIVE).all() and (where[entries["symbol"]] >= 0).all()):
        return False
    places = start + entries["offset"].astype(np.int64)
    values = (where[entries["symbol"]] + entries["addend"] - places).astype("<i4")
    content[places[:, None] + np.arange(4)] = values.view(np.uint8).reshape(-1, 4)
    return True


def _part(image: bytes, section: Any, kind: np.dtype[Any]) -> Any:
    """A section's content."""
    return np.frombuffer(image, kind, int(section["size"]) // kind.itemsize, int(section["offset"]))


def _place(sections: Any, chosen: list[int], start: int, places: NDArray[np.int64]) -> int:
    """Places sections one after another; where they end."""
    for k in chosen:
        places[k] = start = _aligned(start, int(sections["align"][k]))
        start += int(sections["size"][k])
    return start


def _aligned(number: int, unit: int) -> int:
    return -(-number // unit) * unit if unit > 1 else number


@cache
def usable() -> bool:
    """Whether this linker supports the machine."""
    return sys.platform == "linux" and platform.machine() == "x86_64" and sys.maxsize > 2**32


_PRIVATE = getattr(mmap, "MAP_PRIVATE", 2) | getattr(mmap, "MAP_ANONYMOUS", 32)


@cache
def _mprotect() -> Any:
    function = ctypes.CDLL(None, use_errno=True).mprotect
    function.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return function


def _protect(address: int, size: int, how: int) -> None:
    if _mprotect()(address, size, how):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@cache
def executable_memory() -> bool:
    """Whether the system lets a process make memory executable after writing it."""
    try:
        page = np.frombuffer(mmap.mmap(-1, mmap.PAGESIZE), np.uint8)
    except OSError:
        return False
    try:
        _protect(page.ctypes.data, page.size, _READ | _EXECUTE)
    except (AttributeError, TypeError):
        return True  # no mprotect to ask: let the linker try
    except OSError:
        return False
    return True
