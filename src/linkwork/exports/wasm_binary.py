"""An object of LLVM as a WebAssembly module: all that is missing from it are its exports.

In an object of one module, functions, data and tables have the numbers and places that they have in the module, if no
other object is linked with it. Memory, the stack's pointer and the table of functions are imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from linkwork.errors import LinkworkError

_MAGIC = b"\0asm\1\0\0\0"
_CUSTOM, _IMPORT, _FUNCTION, _EXPORT, _DATA = 0, 2, 3, 7, 11
_ORDER = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 10, 11)
"""The sections of a module, in order."""
_FUNCTION_SYMBOLS, _UNDEFINED = 0, 0x10


class Module(NamedTuple):
    """A module.

    Attributes:
        image: its bytes.
        data_end: the first address behind its data.
        imports: what it imports from "env", by name: "memory", "table" or "global".
        table_size: how many functions the table must hold.
    """

    image: bytes
    data_end: int
    imports: dict[str, str]
    table_size: int


class _Reader:
    """Reads numbers and names."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    @property
    def more(self) -> bool:
        return self.at < len(self.data)

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def number(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def bytes(self) -> bytes:
        size = self.number()
        self.at += size
        return self.data[self.at - size : self.at]

    def name(self) -> str:
        return self.bytes().decode()


def _number(x: int) -> bytes:
    data = bytearray()
    while True:
        data.append((x & 127) | (128 if x > 127 else 0))
        x >>= 7
        if not x:
            return bytes(data)


def _with_size(data: bytes) -> bytes:
    return _number(len(data)) + data


def module_of(image: bytes, names: Sequence[str]) -> Module:
    """The module of an object that exports functions by their names."""
    sections: dict[int, bytes] = {}
    custom: dict[str, bytes] = {}
    reader = _Reader(image)
    if image[:8] != _MAGIC:
        raise LinkworkError("this LLVM makes no WebAssembly of the first version")
    reader.at = 8
    while reader.more:
        kind, content = reader.byte(), reader.bytes()
        if kind == _CUSTOM:
            inner = _Reader(content)
            name = inner.name()
            custom[name] = content[inner.at :]
        else:
            sections[kind] = content
    imports, table = _imports(sections.get(_IMPORT, b"\0"))
    functions = dict(_functions(custom["linking"]))
    exports = [_with_size(name.encode()) + b"\0" + _number(functions[name]) for name in names]
    sections[_EXPORT] = _number(len(exports)) + b"".join(exports)
    parts = [bytes([kind]) + _with_size(sections[kind]) for kind in _ORDER if kind in sections]
    return Module(_MAGIC + b"".join(parts), _data_end(sections.get(_DATA, b"\0")), imports, table)


def _imports(section: bytes) -> tuple[dict[str, str], int]:
    """What is imported, by name and kind, and the size of the table."""
    reader, imports, table = _Reader(section), dict[str, str](), 0
    for _ in range(reader.number()):
        reader.name()
        name, kind = reader.name(), reader.byte()
        if kind == 0:
            raise LinkworkError(f"the code calls {name}, which WebAssembly does not have")
        if kind == 1:  # a table: type of elements, limits
            reader.byte()
        if kind in (1, 2):
            flags, least = reader.number(), reader.number()
            table = least if kind == 1 else table
            _ = reader.number() if flags & 1 else None
        elif kind == 3:
            reader.byte()
            reader.byte()
        imports[name] = ("function", "table", "memory", "global")[kind]
    return imports, table


def _functions(linking: bytes) -> Iterator[tuple[str, int]]:
    """The functions that are defined, by name, with their numbers."""
    reader = _Reader(linking)
    reader.number()  # the version
    while reader.more:
        kind, content = reader.byte(), reader.bytes()
        if kind == 8:  # the table of symbols
            yield from _function_symbols(_Reader(content))


def _function_symbols(symbols: _Reader) -> Iterator[tuple[str, int]]:
    for _ in range(symbols.number()):
        kind, flags = symbols.byte(), symbols.number()
        if kind == 1:  # data
            symbols.name()
            if not flags & _UNDEFINED:
                symbols.number()
                symbols.number()
                symbols.number()
        elif kind == 3:  # a section
            symbols.number()
        else:  # a function, a global, a tag, a table
            number = symbols.number()
            name = symbols.name() if not flags & _UNDEFINED or flags & 0x40 else ""
            if kind == _FUNCTION_SYMBOLS and name:
                yield name, number


def _data_end(section: bytes) -> int:
    """The first address behind all data, which lies at constant places."""
    reader, end = _Reader(section), 0
    for _ in range(reader.number()):
        reader.number()  # active, in memory 0
        assert reader.byte() == 0x41  # i32.const
        place = reader.number()
        assert reader.byte() == 0x0B
        end = max(end, place + len(reader.bytes()))
    return end
