"""A small strict XML reader: elements with their attributes and locations, without access to anything else.

Model files need elements and attributes. Document types, entities and external references are rejected by expat's
handlers, nesting and size are bounded, and only the given file is opened. Every error is a ``FormatError`` with file,
line and column.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import FormatError, warn_caller
from linkwork.files import open_regular

MAX_BYTES = 64 * 2**20
MAX_ELEMENTS = 2_500_000
MAX_DEPTH, MAX_DEPTH_OF_BODIES = 100, 499
"""Nesting depth of elements: bodies of MJCF are nested, and MuJoCo's own reader has this limit."""
MAX_MAGNITUDE = 1e15
"""Lengths, masses and inertias above this are invalid: their products would overflow."""

NONE: list[Any] = []
"""The shared list of children of all elements without any; never changed."""

_LARGEST = sys.float_info.max
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_DECLARED = re.compile(rb"\s*<\?xml\b[^>]*?\bencoding\s*=\s*[\"']([A-Za-z][A-Za-z0-9._-]*)[\"']")
_ENCODINGS = {"utf-8": "utf-8", "utf8": "utf-8", "us-ascii": "ascii", "ascii": "ascii", "iso-8859-1": "latin-1"}
_MARKS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"<\0", "utf-16-le"), (b"\0<", "utf-16-be"))
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\n": "&#10;", "\t": "&#9;", "\r": "&#13;"})
_UNSAFE = {
    "StartDoctypeDeclHandler": "a document type is not allowed in a model file; remove the <!DOCTYPE ...>",
    "EntityDeclHandler": "an entity declaration is not allowed in a model file",
    "UnparsedEntityDeclHandler": "an unparsed entity is not allowed in a model file",
    "ExternalEntityRefHandler": "an external reference is not allowed in a model file",
}


class Element:
    """An element, its location (line and column from 1), and its content; text between elements is ignored."""

    __slots__ = ("children", "column", "flat", "line", "path", "tag")
    path: str
    tag: str
    flat: list[str]
    line: int
    column: int
    children: list[Element]  # a list of its own only where there are any: most elements have none

    @property
    def attributes(self) -> dict[str, str]:
        """Values by name; stored as a flat list, which takes half the memory."""
        return dict(zip(self.flat[::2], self.flat[1::2], strict=True))

    def get(self, attribute: str) -> str | None:
        """The value of an attribute, or None."""
        flat = self.flat
        if flat and flat[0] == attribute:
            return flat[1]
        for i in range(2, len(flat), 2):
            if flat[i] == attribute:
                return flat[i + 1]
        return None

    def error(self, message: str) -> FormatError:
        """An error at this element."""
        return FormatError(message, self.path, self.line, self.column, shortened(self.tag))

    def walk(self) -> Iterator[Element]:
        """The element and all below it, in the order of the file."""
        stack = [self]
        while stack:
            element = stack.pop()
            yield element
            stack.extend(reversed(element.children))

    def child(self, tag: str) -> Element | None:
        """The only child of that tag, or None; a second one is an error, because it is ambiguous."""
        only = None
        for child in self.children:
            if child.tag == tag:
                if only is not None:
                    raise child.error(f"there is already a <{tag}> in this <{self.tag}>, at line {only.line}")
                only = child
        return only

    def parts(self, *tags: str) -> dict[str, Element]:
        """The children by their tags; a second child of one of ``tags`` is an error."""
        by_tag = {child.tag: child for child in self.children}
        if len(by_tag) < len(self.children):
            for tag in tags:
                self.child(tag)
        return by_tag

    def need(self, tag: str) -> Element:
        """The only child of that tag, which is required."""
        child = self.child(tag)
        if child is None:
            raise self.error(f"it has no <{tag}>")
        return child

    def word(self, attribute: str) -> str:
        """The value of a required attribute that must not be empty."""
        flat = self.flat
        value = flat[1] if flat and flat[0] == attribute else self.get(attribute)  # most often the first
        if not value:
            raise self.error(f"attribute {attribute!r} is {'missing' if value is None else 'empty'}")
        return value

    def numbers(
        self, attribute: str, count: int, default: Sequence[float] | None = None, most: float = _LARGEST
    ) -> list[float]:
        """``count`` finite numbers of an attribute, of a magnitude up to ``most``."""
        value = self.get(attribute)
        if value is None:
            if default is None:
                raise self.error(f"attribute {attribute!r} is missing; expected {count} number(s)")
            return list(default)
        words = value.split()
        if len(words) != count:
            raise self.error(f"attribute {attribute!r} must be {count} number(s), not {len(words)}: {quoted(value)}")
        try:
            numbers = list(map(float, words))
        except ValueError:
            raise self._no_numbers(attribute, words) from None
        for number in numbers:
            if not -most <= number <= most:
                break
        else:
            if value.isascii() and "_" not in value:  # otherwise finite, but in digits that only Python accepts
                return numbers
        if not all(map(_NUMBER.fullmatch, words)) or not all(map(math.isfinite, numbers)):
            raise self._no_numbers(attribute, words)
        raise self.error(f"attribute {attribute!r} is too large to compute with: {quoted(value)}")

    def _no_numbers(self, attribute: str, words: list[str]) -> FormatError:
        word = next(word for word in words if not _NUMBER.fullmatch(word) or not math.isfinite(float(word)))
        hint = "; expand the file with xacro first" if "${" in word else ""
        return self.error(f"attribute {attribute!r} must be finite numbers, but has {quoted(word)}{hint}")

    def measures(self, attribute: str, count: int, default: Sequence[float] | None = None) -> list[float]:
        """Physical quantities, whose magnitude is bounded."""
        return self.numbers(attribute, count, default, MAX_MAGNITUDE)

    def number(self, attribute: str, default: float | None = None) -> float:
        """One finite number of an attribute."""
        value = self.get(attribute)
        if value is not None and value.isascii() and "_" not in value:
            try:
                number = float(value)
            except ValueError:
                number = math.nan
            if -_LARGEST <= number <= _LARGEST:
                return number
        return self.numbers(attribute, 1, None if default is None else [default])[0]


Texts = dict[Element, list[str]]  # in the pieces that the parser passes
Measure = tuple[str, int, Sequence[float] | None]
"""An attribute, the count of its numbers, and their default; None if it is required."""
_BLOCK = 1024


def table(elements: Sequence[Element], columns: Sequence[Measure]) -> NDArray[np.float64]:
    """The measures of many elements, a row each, in the order of ``columns``: the results of ``Element.measures``."""
    rows = np.empty((len(elements), sum(count for _, count, _ in columns)))
    alike: dict[tuple[str, ...], list[int]] = {}  # elements with the same attributes
    for k, element in enumerate(elements):
        alike.setdefault(tuple(element.flat[::2]), []).append(k)
    for names, members in alike.items():
        for first in range(0, len(members), _BLOCK):
            some = members[first : first + _BLOCK]
            block = _together([elements[k].flat for k in some], names, columns)
            if block is None:  # one by one, to report the error
                measures = ([elements[k].measures(*one) for one in columns] for k in some)
                block = np.array([[x for numbers in row for x in numbers] for row in measures])
            rows[some] = block
    return rows


def _together(
    flats: Sequence[list[str]], names: tuple[str, ...], measures: Sequence[Measure]
) -> NDArray[np.float64] | None:
    """The numbers of elements that have the same attributes, all at once; None if there is any error."""
    columns = []
    for name, count, usual in measures:
        if name in names:
            place = 2 * names.index(name) + 1
            text = " ; ".join([flat[place] for flat in flats])
            words, every = text.split(), count + 1
            if "_" in text or not text.isascii() or len(words) != len(flats) * every - 1:
                return None
            if words[count::every] != [";"] * (len(flats) - 1):
                return None
            del words[count::every]
            try:
                columns.append(np.array(list(map(float, words))).reshape(-1, count))
            except ValueError:
                return None
        elif usual is None:
            return None
        else:
            columns.append(np.broadcast_to(usual, (len(flats), count)))
    block = np.concatenate(columns, axis=1)
    return block if (np.abs(block) <= MAX_MAGNITUDE).all() else None


Taking = Mapping[str, Callable[[Element], Callable[[Element], None]]]
"""By the tag of a root: a function of the root, which returns a function that processes its children, each as soon as
it has ended; they are then not added to the root. So a large file need not be in memory as a whole.
"""


def read(path: str, strict: bool = False, taking: Taking | None = None) -> Element:
    """The root element of a regular file: a pipe or a device may never end."""
    try:
        with open_regular(path) as file:
            parts = iter(partial(file.read, 2**20), b"")  # memory for the data that there is, not for a declared size
            data = b"".join(islice(parts, MAX_BYTES // 2**20 + 1))
    except OSError as error:
        raise FormatError(f"cannot read the file: {error.strerror or error}", path) from None
    except ValueError as error:  # a path with a NUL
        raise FormatError(f"cannot read the file: {error}", path) from None
    return parse(data, path, strict, taking=taking)


def parse(
    data: bytes, path: str, strict: bool = False, texts: Texts | None = None, taking: Taking | None = None
) -> Element:
    """The root element of the bytes of a file; ``path`` is for messages, ``texts`` receives the text in elements.
    Blanks before the XML declaration, which are invalid, are ignored with a warning, unless ``strict``.
    """
    if len(data) > MAX_BYTES:
        raise FormatError(f"the file has more than {MAX_BYTES // 2**20} MiB", path)
    if not data or data.isspace():
        raise FormatError("the file is empty", path)
    text = _as_utf8(data, path)
    begins = text.lstrip()
    if strict or not begins.startswith(b"<?xml") or len(begins) == len(text):
        return _Reader(path, texts, taking or {}).root_of(text)
    blank = text[: len(text) - len(begins)]
    warn_caller(f"{path}:1:1: there are blanks before the XML declaration")
    declared = re.match(rb"<\?xml[^>]*\?>", begins)
    end = declared.end() if declared else 0
    # the declaration is replaced by blanks, so that lines and columns remain those of the file
    return _Reader(path, texts, taking or {}).root_of(blank + b" " * end + begins[end:])


def shortened(name: str) -> str:
    """A name as shown in messages: a file may have one of a megabyte."""
    return name if len(name) <= 60 else f"{name[:57]}..."


def quoted(name: str) -> str:
    """A name in quotation marks, shortened."""
    return repr(shortened(name))


def attribute(text: str) -> str:
    """A text as the value of an attribute, in quotation marks that it does not contain."""
    escaped = text.translate(_ESCAPED)
    if '"' in text and "'" not in text:
        return f"'{escaped}'"
    return '"' + escaped.replace('"', "&quot;") + '"'


class _Reader:
    def __init__(self, path: str, texts: Texts | None, taking: Taking) -> None:
        self.path, self.texts, self.taking = path, texts, taking
        self.open = [Element()]  # the holder of the root, then the elements in progress
        self.open[0].children = []
        parser = self.parser = expat.ParserCreate("utf-8")
        parser.ordered_attributes = True
        parser.StartElementHandler, parser.EndElementHandler = self.handlers()
        if texts is not None:
            parser.buffer_text = True
            parser.CharacterDataHandler = self.text
        for handler, message in _UNSAFE.items():
            setattr(parser, handler, self.refusing(message))

    def handlers(self) -> tuple[Callable[[str, list[str]], None], Callable[[str], None]]:
        """The handlers of an element's beginning and end: functions over local variables, since files are large."""
        path, parser, begun, new, pop = self.path, self.parser, self.open, Element.__new__, self.open.pop
        count = last = 0
        take: Callable[[Element], None] | None = None

        def start(tag: str, attributes: list[str]) -> None:
            nonlocal count, last, take
            line = parser.CurrentLineNumber
            if line != last:
                last = line  # one object for all elements of a line: a large file has many
            element = new(Element)
            element.path, element.tag, element.flat, element.children = path, tag, attributes, NONE
            element.line, element.column = last, parser.CurrentColumnNumber + 1
            count += 1
            if count > MAX_ELEMENTS:
                raise element.error(f"the file has more than {MAX_ELEMENTS} elements")
            holder = begun[-1]
            if holder.children:
                holder.children.append(element)
            else:
                if len(begun) > MAX_DEPTH:
                    most = MAX_DEPTH_OF_BODIES if begun[1].tag.startswith("mujoco") else MAX_DEPTH
                    if len(begun) > most:
                        raise element.error(f"elements are nested more than {most} deep")
                holder.children = [element]
                if count == 1 and tag in self.taking:
                    take = self.taking[tag](element)
            begun.append(element)

        def end(tag: str) -> None:
            pop()
            if take and len(begun) == 2:
                take(begun[1].children.pop())

        return start, end

    def root_of(self, data: bytes) -> Element:
        try:
            self.feed(data)
        except expat.ExpatError as error:
            raise self.error(expat.ErrorString(error.code), error.lineno, error.offset + 1) from None
        finally:  # handlers and parser reference each other, and with them all elements
            self.parser.StartElementHandler = self.parser.EndElementHandler = None
            del self.parser
        return self.open[0].children[0]  # expat has rejected a file without an element

    def feed(self, data: bytes) -> None:
        """Pass the text to expat, up to a document type first.

        An exception of a handler takes effect only when Parse returns, and until then an old expat would continue to
        expand entities. So nothing after the first bracket of a document type is passed before its handler has been
        called.
        """
        begin = data.find(b"<!DOCTYPE")
        if begin < 0:
            self.parser.Parse(data, True)
            return
        self.parser.Parse(data[:begin], False)
        for _ in range(100):
            if self.open[0].children:  # a document type can no longer follow: expat rejects it
                break
            closing = re.compile(rb"[>\[]").search(data, begin)
            end = closing.end() if closing else len(data)
            self.parser.Parse(data[begin:end], False)
            begin = end
        else:
            line, column = self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1
            raise self.error("there is too much before the first element", line, column)
        self.parser.Parse(data[begin:], True)

    def text(self, data: str) -> None:
        if self.texts is not None and (self.open[-1] in self.texts or not data.isspace()):
            self.texts.setdefault(self.open[-1], []).append(data)

    def refusing(self, message: str) -> Any:
        def refuse(*_: object) -> None:
            raise self.error(message, self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1)

        return refuse

    def error(self, message: str, line: int, column: int) -> FormatError:
        return FormatError(message, self.path, line, column, shortened(self.open[-1].tag) if self.open[1:] else None)


def _as_utf8(data: bytes, path: str) -> bytes:
    """The file in UTF-8, as the parser expects it: the declared encoding must be supported and correct."""
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    if encoding is None:
        data = data.removeprefix(b"\xef\xbb\xbf")
        declared = _DECLARED.match(data[:1000])
        name = declared[1].decode("ascii") if declared else "utf-8"
        encoding = _ENCODINGS.get(name.lower())
        if encoding is None:
            raise FormatError(f"encoding {quoted(name)} is not supported; use UTF-8", path, 1, 1)
    if encoding == "utf-8" and data.isascii():
        return data
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        raise FormatError(f"the text is not {encoding}: {error.reason}", path, line, column) from None
    if encoding == "utf-8":
        return data
    try:
        return text.removeprefix("\ufeff").encode()
    except UnicodeEncodeError as error:
        raise FormatError(f"the text is not {encoding}: {error.reason}", path, 1, 1) from None
