"""The root of a model: the folder that nothing is read outside of, when a file refers to other files.

By default it is the package or repository that holds the file. A marker in a folder that holds other things too, such
as a home, does not make it a root.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from linkwork.arguments import file_path
from linkwork.errors import ArgumentError
from linkwork.formats.xml import quoted

_MARKERS = ("package.xml", ".git")
_INSTALLED = ("site-packages", "dist-packages")
_SYSTEM = ("Users", "Volumes", "Windows", "bin", "dev", "etc", "home", "lib", "mnt", "media", "opt", "proc", "run",
           "sbin", "srv", "sys", "tmp", "usr", "var")  # fmt: skip
"""Folders at the top of a file system whose own folders belong to no package."""


def checked(root: str | os.PathLike[str] | None, strict: bool) -> str | None:
    """The real path of a folder that a user gives as the root."""
    if root is None:
        return None
    if strict:
        raise ArgumentError("root and strict_root exclude each other: strict_root stands for the file's own folder")
    folder = os.path.realpath(os.path.abspath(file_path("root", root)))
    if not os.path.isdir(folder):
        raise ArgumentError(f"root must be a folder, but {quoted(os.fspath(root))} is none")
    return folder


def root_of(path: str, root: str | None, strict: bool) -> str:
    """The real path of the root for a model file: ``root``, or by default the package or repository that holds the
    file, or if ``strict`` the file's own folder.
    """
    here = os.path.realpath(os.path.dirname(os.path.abspath(path)))
    if root is None:
        return here if strict else _package(Path(here))
    if not contains(root, here):
        raise ArgumentError(f"root must be a folder above the file {path}, not {root}")
    return root


def contains(folder: str, path: str) -> bool:
    """Whether a real path is in a folder, a real path too, or the folder itself."""
    try:
        return os.path.commonpath([path, folder]) == folder
    except ValueError:  # another drive
        return False


def is_shared(folder: str) -> bool:
    """Whether a folder holds more than a user's package: a home, a system folder, or one above those."""
    parts = Path(folder).parts
    return (
        len(parts) <= 2
        or (len(parts) == 3 and parts[1] in _SYSTEM)
        or parts[-1] in _INSTALLED
        or folder == os.path.realpath(tempfile.gettempdir())
        or contains(folder, os.path.realpath(os.path.expanduser("~")))
    )


def _package(here: Path) -> str:
    """The nearest folder at or above ``here`` with a marker, the top of a Python package, or a distribution's folder;
    ``here`` itself if there is none.
    """
    for folder in (here, *here.parents):
        if is_shared(str(folder)):
            break
        is_package = (folder / "__init__.py").is_file() and not (folder.parent / "__init__.py").is_file()
        if is_package or folder.parent.name in _INSTALLED or any((folder / name).exists() for name in _MARKERS):
            return str(folder)
    return str(here)
