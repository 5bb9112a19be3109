"""Object code kept on disk between runs.

A file is named by the digest of everything that its code depends on, and begins with the digest of its content, which
is checked before it is loaded. The folder belongs to the user alone; a folder that others could write to is not used.
Nothing here ever fails a call: what cannot be read or written is done without, with at most a warning.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path

from linkwork.errors import LinkworkWarning

_MAGIC = b"linkwork object 1\n"
_SUFFIX = ".lwo"
_LIMIT = 512 * 2**20
"""Bytes at which the oldest files go."""


def folder() -> Path | None:
    """Where the cache is: LINKWORK_CACHE_DIR, or the user's cache folder by the platform's convention; None if
    switched off.
    """
    chosen = os.environ.get("LINKWORK_CACHE_DIR")
    if chosen is not None:
        return Path(chosen) if chosen else None
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "linkwork"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "linkwork" / "Cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "linkwork"


def read(key: str) -> bytes | None:
    """The object code of a key, or None."""
    place = _trusted()
    if place is None:
        return None
    try:
        content = (place / (key + _SUFFIX)).read_bytes()
    except OSError:
        return None
    head = len(_MAGIC) + 32
    if content[: len(_MAGIC)] != _MAGIC or hashlib.sha256(content[head:]).digest() != content[len(_MAGIC) : head]:
        _warn(f"ignored a damaged file in the cache: {place / (key + _SUFFIX)}")
        with contextlib.suppress(OSError):
            (place / (key + _SUFFIX)).unlink()
        return None
    return content[head:]


def holds(key: str) -> bool:
    """Whether there is a file for a key."""
    place = _trusted()
    return place is not None and (place / (key + _SUFFIX)).is_file()


def write(key: str, image: bytes) -> None:
    """Keep object code; whoever reads at the same time sees all of it or nothing."""
    place = _trusted(create=True)
    if place is None:
        return
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=place, suffix=".part")  # mkstemp makes it readable by the user alone
        with os.fdopen(handle, "wb") as file:
            file.write(_MAGIC + hashlib.sha256(image).digest() + image)
        os.replace(temporary, place / (key + _SUFFIX))
        _trim(place)
    except OSError:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def entries() -> list[tuple[Path, int]]:
    """The files of the cache with their sizes, oldest first."""
    place = folder()
    if place is None or not place.is_dir():
        return []
    found = []
    for path in place.glob("*" + _SUFFIX):
        with contextlib.suppress(OSError):
            found.append((path.stat().st_mtime, path, path.stat().st_size))
    return [(path, size) for _, path, size in sorted(found)]


def clear() -> int:
    """Remove all files of the cache; how many there were."""
    removed = 0
    for path, _ in entries():
        with contextlib.suppress(OSError):
            path.unlink()
            removed += 1
    return removed


def _trim(place: Path) -> None:
    found = entries()
    total = sum(size for _, size in found)
    for path, size in found:
        if total <= _LIMIT:
            break
        with contextlib.suppress(OSError):
            path.unlink()
        total -= size


def _trusted(create: bool = False) -> Path | None:
    """The folder, if it is the user's own and nobody else can write to it."""
    place = folder()
    if place is None:
        return None
    try:
        if create:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = place.stat()
    except OSError:
        return None
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
        _warn(f"the cache folder {place} belongs to or can be written by others; compiled code is not kept")
        return None
    return place


@cache
def _warn(message: str) -> None:
    warnings.warn(message, LinkworkWarning, stacklevel=2)
