"""Links object code into executable memory without LLVM, whose library takes longer to load than everything else that a
first call from the cache does.

The ELF objects that linkwork compiles for x86-64 have few kinds of sections and relocations. Anything else is left to
LLVM's own linker (``jit``). An object in which a number leads out of the file, a table, a section or the code's memory
is damaged, and refused: LLVM may end the process if it gets such an object. Memory is never writable and executable at
once: it is written first, then protected.
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
_ELF, _HERE = b"\x7fELF\x02\x01", b"\x01\0\x3e\0"
"""How objects of 64 bits begin; and the bytes from 16 on if they are relocatable, and for x86-64."""
_HEADER = 64
_BYTE = np.dtype(np.uint8)
_PROGRAM, _SYMBOLS, _STRINGS, _RELOCATIONS, _EMPTY = 1, 2, 3, 4, (0, 8)
"""Types of sections: content, symbols, names, relocations; without content in the file."""
_IN_MEMORY, _CODE, _MERGEABLE = 2, 4, 0x30
"""Flags of sections; the last is of constants that a linker may merge."""
_RELATIVE = (2, 4)
"""Relocations: a 32-bit distance to a symbol, which may be a called function."""
_DIRECT = (1, *_RELATIVE, 10, 11, 24)
"""These, and other addresses and distances of a symbol."""
_BEFORE = 8
"""How far before its target a distance may point: it is measured from the end of an instruction."""
_JUMP = bytes.fromhex("ff2502000000 cccc")
"""Jump to the address in the next eight bytes."""
_STUB = len(_JUMP) + 8
_ABSOLUTE = 0xFFF1
"""Instead of the number of a section: a symbol of none, such as the file's name."""


class Linked(NamedTuple):
    """Memory that holds code, and its functions by address."""

    memory: object
    addresses: dict[str, int]


class Damaged(Exception):
    """A number in an object leads out of it."""


class Object:
    """The tables of an ELF object, all numbers in which lead to something inside; ``present`` are the sections that
    are in memory.
    """

    def __init__(self, image: bytes) -> None:
        self._image = image
        start, size, count, names = (int.from_bytes(image[a:b], "little") for a, b in _FIELDS)
        _require(len(image) >= _HEADER and size == _SECTION.itemsize and count < _ABSOLUTE)
        _require(start + size * count <= len(image) and names < count)
        self.sections = np.frombuffer(image, _SECTION, count, start)
        _require(all(_is_inside(extent, len(image)) for extent in self.sections[list(_EXTENT)].tolist()))
        _require(sum(self.sections["size"].tolist()) <= len(image))  # they do not overlap
        self._name(names, self.sections["name"])
        in_memory = (self.sections["flags"] & _IN_MEMORY > 0) & (self.sections["size"] > 0)
        self.present: list[int] = np.flatnonzero(in_memory).tolist()
        self.tables: list[int] = np.flatnonzero(self.sections["type"] == _SYMBOLS).tolist()
        _require(len(self.tables) <= 1)
        self.symbols: Any = np.zeros(0, _SYMBOL)
        self.names: list[str] = []
        for table in self.tables:
            self.symbols, self.names = self._symbols(table)
        relocations: list[int] = np.flatnonzero(self.sections["type"] == _RELOCATIONS).tolist()
        self.relocations = {k: self._relocations(k) for k in relocations}

    @property
    def is_simple(self) -> bool:
        """Whether these are plain code and constants."""
        others = self.sections["flags"] & ~np.uint64(_IN_MEMORY | _CODE | _MERGEABLE)
        return all(self.sections["type"][k] == _PROGRAM and not others[k] for k in self.present)

    def check_targets(self) -> None:
        """Require that what is reached by a table of addresses has a name there."""
        named = np.array([bool(name) for name in self.names])
        for found in self.relocations.values():
            _require(named[found["symbol"][~np.isin(found["type"], _DIRECT)]].all())

    def part(self, which: int, kind: np.dtype[Any] = _BYTE) -> Any:
        """A section's content, as items of a kind."""
        start, size = int(self.sections["offset"][which]), int(self.sections["size"][which])
        _require(size % kind.itemsize == 0)
        return np.frombuffer(self._image, kind, size // kind.itemsize, start)

    def _name(self, which: int, begins: Any) -> list[str]:
        """What begins at some places of a section of names."""
        _require(which < len(self.sections) and self.sections["type"][which] == _STRINGS)
        text = self.part(which).tobytes()
        ends = [text.find(b"\0", begin) for begin in begins.tolist()]
        _require(-1 not in ends and text.isascii())
        return [text[begin:end].decode() for begin, end in zip(begins.tolist(), ends, strict=True)]

    def _symbols(self, which: int) -> tuple[Any, list[str]]:
        symbols = self.part(which, _SYMBOL)
        inside = symbols["section"] != _ABSOLUTE
        _require((symbols["section"][inside] < len(self.sections)).all())
        sizes = self.sections["size"][symbols["section"][inside]]
        ends = np.minimum(symbols["value"][inside], 2**63) + np.minimum(symbols["size"][inside], 2**63 - 1)
        _require(((symbols["section"][inside] == 0) | (ends <= sizes)).all())
        names = self._name(self.sections["link"][which], symbols["name"])
        foreign = [k for k in range(1, len(symbols)) if symbols["section"][k] == 0]
        _require(len(symbols) and not symbols[:1].tobytes().strip(b"\0"))
        _require(all(names[k] and symbols["info"][k] >> 4 for k in foreign))
        return symbols, names

    def _relocations(self, which: int) -> Any:
        section, found = self.sections[which], self.part(which, _RELOCATION)
        _require(section["link"] in self.tables and section["info"] < len(self.sections))
        _require(not len(found) or self.sections["type"][section["info"]] not in _EMPTY)
        size = int(self.sections["size"][section["info"]])
        _require((found["offset"] <= size - 4).all() and (found["symbol"] < len(self.symbols)).all())
        meant, present = self.symbols["section"][found["symbol"]], self.sections["flags"] & _IN_MEMORY > 0
        _require(not present[section["info"]] or present[meant[(meant > 0) & (meant != _ABSOLUTE)]].all())
        return found


_EXTENT = ("type", "offset", "size", "align")
_FIELDS = ((40, 48), (58, 60), (60, 62), (62, 64))
"""Where the header has the start of the table of sections, the size of one, their number, and which has their names."""


def _require(condition: object) -> None:
    if not condition:
        raise Damaged


def _is_inside(extent: tuple[int, ...], length: int) -> bool:
    """Whether a section lies within a file of a length, and may lie anywhere in memory that its alignment allows."""
    kind, offset, size, align = extent
    end = size if kind in _EMPTY else offset + size
    return end <= length and align <= mmap.PAGESIZE and align.bit_count() == (kind > 0)


def linked(image: bytes, needed: Mapping[str, int], names: Sequence[str]) -> Linked | None:
    """The functions ``names`` of an object, which calls functions ``needed``, by address; None if that is not as simple
    as it mostly is.

    Raises:
        Damaged: if the object cannot be linked by anyone.
        OSError: if the system gives no memory for it.
    """
    _require(not usable() or (image.startswith(_ELF) and image[16:].startswith(_HERE)))
    if not image.startswith(_ELF):
        return None
    parts = Object(image)
    if not usable():
        return None
    parts.check_targets()
    if not parts.tables or not parts.is_simple:
        return None
    layout = _Layout(parts)
    if not needed.keys() >= {parts.names[k] for k in layout.foreign}:
        return None
    addresses = layout.exported()
    _require(all(layout.code <= addresses.get(name, -1) < layout.jumps for name in names))
    content = layout.written(needed)
    if content is None:
        return None
    address = content.ctypes.data
    if layout.code:
        _protect(address, layout.code, _READ)
    _protect(address + layout.code, layout.size - layout.code, _READ | _EXECUTE)
    return Linked(content, {name: address + addresses[name] for name in names})


class _Layout:
    """Where an object lies in memory: constants first, then, on a new page, code, and a jump to each external function.

    Attributes:
        foreign: the numbers of external functions among the symbols.
        code, jumps, size: where code and jumps begin, and the end.
        places, symbols: where each section and each symbol is; -1 if it is in no memory.
    """

    def __init__(self, parts: Object) -> None:
        self.parts, sections, symbols = parts, parts.sections, parts.symbols
        self.foreign = [k for k in range(1, len(symbols)) if symbols["section"][k] == 0]
        self.places = np.full(len(sections), -1, dtype=np.int64)
        constants = _place(sections, [k for k in parts.present if not sections["flags"][k] & _CODE], 0, self.places)
        self.code = _aligned(constants, mmap.PAGESIZE)
        end = _place(sections, [k for k in parts.present if sections["flags"][k] & _CODE], self.code, self.places)
        self.jumps = _aligned(end, 8)
        self.size = max(_aligned(self.jumps + _STUB * len(self.foreign), mmap.PAGESIZE), mmap.PAGESIZE)
        own = np.flatnonzero((symbols["section"] > 0) & (symbols["section"] != _ABSOLUTE))
        self.own = own[self.places[symbols["section"][own]] >= 0]
        self.symbols = np.full(len(symbols), -1, dtype=np.int64)
        self.symbols[self.own] = self.places[symbols["section"][self.own]] + symbols["value"][self.own].astype(np.int64)
        self.symbols[self.foreign] = self.jumps + _STUB * np.arange(len(self.foreign))

    def exported(self) -> dict[str, int]:
        """Where the symbols are that others may use."""
        names, info = self.parts.names, self.parts.symbols["info"]
        return {names[k]: int(self.symbols[k]) for k in self.own if info[k] >> 4 > 0}

    def written(self, needed: Mapping[str, int]) -> NDArray[np.uint8] | None:
        """Memory with all of it; None if it has relocations that are not simple."""
        parts = self.parts
        content = np.frombuffer(mmap.mmap(-1, self.size, flags=_PRIVATE), np.uint8)
        for k in parts.present:
            content[self.places[k] :][: parts.sections["size"][k]] = parts.part(k)
        for k in self.foreign:
            jump = _JUMP + needed[parts.names[k]].to_bytes(8, "little")
            content[self.symbols[k] :][:_STUB] = np.frombuffer(jump, np.uint8)
        for k, relocations in parts.relocations.items():
            place = int(self.places[parts.sections["info"][k]])
            if place >= 0 and not _relocate(content, place, relocations, self.symbols):
                return None
        return content


def _relocate(content: NDArray[np.uint8], start: int, entries: Any, where: NDArray[np.int64]) -> bool:
    """Fill in distances within one section; whether there is nothing else to do."""
    targets, addends = where[entries["symbol"]], entries["addend"]
    if not (np.isin(entries["type"], _RELATIVE).all() and (targets >= 0).all()):
        return False
    _require((abs(addends.astype(np.float64)) <= len(content)).all())
    targets = targets + addends
    _require(((targets >= -_BEFORE) & (targets <= len(content))).all())
    places = start + entries["offset"].astype(np.int64)
    content[places[:, None] + np.arange(4)] = (targets - places).astype("<i4").view(np.uint8).reshape(-1, 4)
    return True


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
