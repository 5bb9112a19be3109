"""Checks of the files that an MJCF file refers to, and of its size after expansion, before MuJoCo's compiler reads it.

MuJoCo reads included files, sub-models, meshes, textures and height fields by itself. So each reference is resolved
first, symbolic links included, at every place where a version of the compiler looks for it: beside the file with the
reference, beside the model to which that file belongs and the models that attach it, and in the directories that their
``<compiler>`` elements name. At none of these places may there be a file outside the model's root (``roots``).

MuJoCo also copies elements (replicate, flexcomp, composite, attach) and allocates memory (height fields, textures, user
data) as a few numbers request, in time that grows with the square of the copies, and no signal stops it. So these are
bounded.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod

from linkwork.formats.roots import contains, is_shared
from linkwork.formats.xml import MAX_DEPTH_OF_BODIES, MAX_ELEMENTS, Element, quoted, read

MAX_FILES = 1000
MAX_NESTING = 20
MAX_ASSETS = 2**30
"""Bytes of all files that are not XML."""
MAX_COPIES = 20_000
"""Copied elements; as many bodies take MuJoCo about a minute."""
MAX_DATA = 2.0**30
"""Bytes that numbers in the file request."""
_PROVIDER = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")  # "http:", "C:" and the like
_POINTS = ("flexcomp", "composite")  # elements that make a grid of bodies


def check_files(document: Element, root: str) -> None:
    """Reject references out of the folder ``root``, a real path, in a file and in all XML that it includes, and models
    that expand to more than MuJoCo can handle.
    """
    _Model(document, None, _Folder(root)).check()


class _Folder:
    """The folder that no reference may leave, and the files that have been read in it."""

    def __init__(self, real: str) -> None:
        self.real = real
        self.documents: dict[str, Element] = {}
        self.sizes: dict[str, int] = {}
        self.files, self.elements = 0, 0

    def document(self, element: Element, path: str) -> Element:
        """The root of a file that an element refers to; each use counts, as MuJoCo reads it each time."""
        if path not in self.documents:
            self.documents[path] = read(path)
        root = self.documents[path]
        self.files += 1
        self.elements += sum(1 for _ in root.walk())
        if self.files > MAX_FILES:
            raise element.error(f"the model pulls in more than {MAX_FILES} files")
        if self.elements > MAX_ELEMENTS:
            raise element.error(f"the model pulls in more than {MAX_ELEMENTS} elements")
        return root

    def existing(self, element: Element, reference: str, places: Iterator[str]) -> list[str]:
        """The real paths of files in the folder that a reference may mean."""
        inside: list[str] = []
        outside: list[str] = []
        wrong = "\\" in reference or "\0" in reference or _PROVIDER.match(reference) is not None
        for place in () if wrong else places:
            path = os.path.join(place, reference)
            for real in {os.path.realpath(path), os.path.realpath(os.path.normpath(path))}:  # either order for ".."
                (inside if contains(self.real, real) else outside).append(real)
        there = [path for path in outside if os.path.lexists(path)]
        if wrong or there or not inside:
            leads = f"{quoted(reference)} leads out of the model's root {self.real}"
            raise element.error(f"{leads}; nothing is read from there{self.unless(there or outside)}")
        return [path for path in dict.fromkeys(inside) if os.path.exists(path)]

    def unless(self, outside: list[str]) -> str:
        """The root that would contain the first of these paths, unless it is a home or a system folder."""
        try:
            above = os.path.commonpath([self.real, *map(os.path.dirname, outside[:1])])
        except ValueError:  # on another drive
            return ""
        return f", unless root={above!r}" if outside and not is_shared(above) else ""

    def asset(self, element: Element, path: str) -> None:
        """Bound the size of the files that MuJoCo reads."""
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
            raise element.error(f"{quoted(path)} is no regular file")
        self.sizes[path] = status.st_size
        if sum(self.sizes.values()) > MAX_ASSETS:
            raise element.error(f"the model refers to files of more than {MAX_ASSETS // 2**20} MiB")


@dataclass
class _Progress:
    """An element in progress: its size and data so far, and the index of its next child."""

    element: Element
    next: int = 0
    size: float = 1.0
    data: float = field(init=False)

    def __post_init__(self) -> None:
        self.data = _data(self.element)


class _Model:
    """A MuJoCo model: a file and those that it includes, which share their compiler settings."""

    def __init__(self, root: Element, parent: _Model | None, folder: _Folder) -> None:
        self.root, self.parent, self.folder = root, parent, folder
        self.ancestors: list[_Model] = [self, *(parent.ancestors if parent else ())]
        self.included: dict[Element, list[Element]] = {}  # by the <include>
        self.attached: dict[str, list[_Model]] = {}  # by the name of the <model>
        self.documents = [root]
        folder_of_file = os.path.dirname(os.path.abspath(root.path))
        self.places: list[str] = list(dict.fromkeys([folder_of_file, *(parent.places if parent else ())]))
        self.directories: dict[str, list[str]] = {}
        self.named: dict[str, float] = {}  # the size of each named element after expansion
        self.so_far = 0.0  # elements before the next
        self.size = 0.0  # elements in total, once it has been checked
        self.deepest = 0  # their nesting depth

    def check(self) -> None:
        """Check all references and bounds."""
        self.include()
        for kind in ("mesh", "texture"):
            directories = [
                element.attributes[name]
                for element in self.walk()
                if element.tag == "compiler"
                for name in (f"{kind}dir", "assetdir")
                if name in element.attributes
            ]
            above = self.parent.directories[kind] if self.parent else []
            self.directories[kind] = list(dict.fromkeys([*(directories or [""]), *above]))
        for element in self.walk():
            if element.tag == "include":
                continue
            for reference in _references(element):
                if element.tag == "model":
                    self.attach(element, reference)
                else:
                    for path in self.folder.existing(element, reference, self.asset_places(element)):
                        self.folder.asset(element, path)
        self.size = self.unfold()

    def walk(self) -> Iterator[Element]:
        for document in self.documents:
            yield from document.walk()

    def include(self) -> None:
        """Find all included files, recursively."""
        files = {os.path.realpath(self.root.path)}
        depth = {self.root: 0}
        for document in self.documents:  # grows as it goes
            here = os.path.dirname(os.path.abspath(document.path))
            for element in document.walk():
                if element.tag != "include":
                    continue
                if depth[document] == MAX_NESTING:
                    raise element.error(f"files include each other more than {MAX_NESTING} deep")
                for reference in _references(element):
                    for path in self.folder.existing(element, reference, iter([*self.places, here])):
                        if path in files:
                            continue  # MuJoCo refuses to include it again
                        files.add(path)
                        included = self.folder.document(element, path)
                        depth[included] = depth[document] + 1
                        self.included.setdefault(element, []).append(included)
                        self.documents.append(included)

    def attach(self, element: Element, reference: str) -> None:
        """Check a sub-model."""
        here = os.path.dirname(os.path.abspath(element.path))
        name = element.attributes.get("name") or os.path.splitext(os.path.basename(reference))[0]
        for path in self.folder.existing(element, reference, iter([*self.places, here])):
            if any(path == os.path.realpath(document.path) for model in self.ancestors for document in model.documents):
                raise element.error(f"{quoted(reference)} attaches itself")
            if len(self.ancestors) > MAX_NESTING:
                raise element.error(f"models attach each other more than {MAX_NESTING} deep")
            child = _Model(self.folder.document(element, path), self, self.folder)
            child.check()
            self.attached.setdefault(name, []).append(child)

    def asset_places(self, element: Element) -> Iterator[str]:
        kind = "texture" if element.tag == "texture" else "mesh"
        here = os.path.dirname(os.path.abspath(element.path))
        for place in dict.fromkeys([*self.places, here]):
            for directory in self.directories[kind]:
                yield os.path.join(place, directory)

    def unfold(self) -> float:
        """The number of elements after expansion."""
        written = sum(1 for _ in self.walk())
        size, data = self.unfolding()
        user = sum(
            number
            for element in self.walk()
            if element.tag == "size"
            for name in element.attributes
            if name.startswith("nuser_")
            for number in _numbers(element, name)
        )
        _bound(self.root, size - written, data + 8.0 * user * size)
        return size

    def unfolding(self) -> tuple[float, float]:
        """The number of elements after expansion, and the bytes of data that they request. Elements in progress are on
        a list, as in ``_Reader``, not on Python's stack, so that a deep file cannot exhaust it.
        """
        stack = [_Progress(self.root)]
        total = 0.0, 0.0
        while stack:
            last, element = stack[-1], stack[-1].element
            if last.next == 0:
                self.so_far += 1.0
                self.reaches(element, len(stack))
            inside = [*element.children, *self.included.get(element, ())]
            if last.next < len(inside):
                last.next += 1
                stack.append(_Progress(inside[last.next - 1]))
                continue
            total = self.copied(last, len(stack))
            stack.pop()
            if stack:
                stack[-1].size += total[0]
                stack[-1].data += total[1]
        return total

    def copied(self, progress: _Progress, depth: int) -> tuple[float, float]:
        """The number of elements and bytes of an element with its content, after expansion."""
        element, size, data = progress.element, progress.size, progress.data
        before, copies = size, 1.0
        if element.tag == "attach":
            more, deeper = self.attaching(element)
            size += more
            self.reaches(element, depth + deeper)
        elif element.tag == "replicate":
            copies = prod(_numbers(element, "count"))
        elif element.tag in _POINTS:  # a body and its joints at each point
            cells = prod(number + 1.0 for number in _numbers(element, "cellcount"))
            size += 2.0 * max(prod(_numbers(element, "count")), cells)
        size, data = size * copies, data * copies
        _bound(element, size - before, data)
        self.so_far += size - before
        if "name" in element.attributes:
            self.named[element.attributes["name"]] = max(size, self.named.get(element.attributes["name"], 0.0))
        return size, data

    def reaches(self, element: Element, depth: int) -> None:
        """Bound the nesting depth of bodies: MuJoCo descends recursively."""
        self.deepest = max(self.deepest, depth)
        if depth > MAX_DEPTH_OF_BODIES:
            raise element.error(
                f"elements are nested more than {MAX_DEPTH_OF_BODIES} deep, with what is included and attached"
            )

    def attaching(self, element: Element) -> tuple[float, int]:
        """The number of elements that an <attach> copies, and their depth: of another model, or of this one so far."""
        if "model" in element.attributes:
            models = self.attached.get(element.attributes["model"], ())
            return max((model.size for model in models), default=0.0), max(
                (model.deepest for model in models), default=0
            )
        name = element.attributes.get("body") or element.attributes.get("frame") or ""
        # an upper bound, for the name of a copy or of an incomplete element
        return self.named.get(name, self.so_far), self.deepest


def _bound(element: Element, copies: float, data: float) -> None:
    """Reject a file that would take MuJoCo too long, or too much memory."""
    if copies > MAX_COPIES:
        raise element.error(f"this unfolds to {copies:,.0f} further elements; at most {MAX_COPIES:,} are allowed")
    if data > MAX_DATA:
        raise element.error(f"this asks for {1e-9 * data:,.3g} GB of data; at most {1e-9 * MAX_DATA:.3g} are allowed")


def _data(element: Element) -> float:
    """About how many bytes MuJoCo allocates for numbers of an element."""
    data = 16.0 * sum(_numbers(element, "nsample"))
    if element.tag == "hfield":
        data += 16.0 * prod(_numbers(element, "nrow") + _numbers(element, "ncol"))
    elif element.tag == "texture":
        data += 8.0 * prod(_numbers(element, "width") + _numbers(element, "height"))
    elif element.tag == "mesh" and "builtin" in element.attributes:
        data += 1500.0 * prod(_numbers(element, "params"))
    elif element.tag == "size":
        data += 1000.0 * sum(_numbers(element, "nkey")) + 8.0 * sum(_numbers(element, "nuserdata"))
    return data + 8.0 * sum(_numbers(element, "dim")) + 1000.0 * sum(_numbers(element, "num"))


def _numbers(element: Element, attribute: str) -> list[float]:
    """The numbers above 1 of an attribute; MuJoCo reports errors in others."""
    numbers = []
    for word in element.attributes.get(attribute, "").split()[:100]:
        try:
            number = float(word)
        except ValueError:
            continue
        if number > 1.0:
            numbers.append(number)
    return numbers


def _references(element: Element) -> Iterator[str]:
    """The values of file attributes (file, fileup, ...; filename in a URDF sub-model) and of plugins' settings."""
    for attribute, value in element.attributes.items():
        if attribute.startswith("file") or (element.tag == "config" and attribute == "value"):
            yield value
