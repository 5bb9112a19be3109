"""The resolution of a reference to a mesh: only inside the model's own folders and the roots that a user gives.

The model's folders are the one of its file and, for ``package://name/...``, the package of that name that contains the
file: a folder above it of that name with a package.xml. Symbolic links are resolved before the check.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/*")


def find(reference: str, folder: str, roots: Sequence[str] = ()) -> str | None:
    """The real path of a mesh that a file in a folder refers to; None if there is none in a permitted folder."""
    if "\0" in reference:
        return None
    for path, inside in _places(reference, folder, roots):
        real = os.path.realpath(path)
        if _holds(inside, real) and os.path.isfile(real):
            return real
    return None


def _places(reference: str, folder: str, roots: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The possible paths of the file, each with the folder that must contain it."""
    scheme = _SCHEME.match(reference)
    if scheme is None:
        for place in (folder, *roots):
            yield os.path.join(place, reference), place
        return
    rest = reference[scheme.end() :]
    if scheme[1].lower() == "file":
        for place in (folder, *roots):
            yield os.path.join(os.sep, rest), place
        return
    if scheme[1].lower() not in ("package", "model"):
        return
    package, _, within = rest.partition("/")
    if not within or package in ("", ".", ".."):
        return
    above = os.path.abspath(folder)
    while above != os.path.dirname(above):
        if os.path.basename(above) == package and os.path.isfile(os.path.join(above, "package.xml")):
            yield os.path.join(above, within), above
        above = os.path.dirname(above)
    for root in roots:
        yield os.path.join(root, package, within), root
        if os.path.basename(os.path.abspath(root)) == package:
            yield os.path.join(root, within), root


def _holds(folder: str, real: str) -> bool:
    """Whether a real path lies in a folder."""
    inside = os.path.realpath(folder)
    try:
        return os.path.commonpath([inside, real]) == inside
    except ValueError:  # another drive
        return False
