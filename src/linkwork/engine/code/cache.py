"""Object code cached on disk between runs.

Anybody who can write a file here can run machine code as this user, so a file is used only if all of this holds:

- On the folder's path, with links resolved, every folder belongs to the user or to root, and none is writable by
  others, unless its sticky bit keeps them from replacing what is not theirs. The folder itself is the user's.
- Each folder is opened relative to the one above it, and checked by its descriptor; files are opened relative to that,
  never by a path that may have come to mean another folder meanwhile, without following links and without blocking.
- The file is a regular file of the user's, which nobody else may write, and not larger than object code can be.
- Its digest is that of its key and its content: it is complete, and not the code of something else.
- A keyed digest shows that its writer knew the secret of this folder, a file that only the user can read.

Windows has no owners and modes of this kind: there the digests and the kind and size of the file are checked, and the
access rights of the user's own application data must keep others out.

No problem here ever fails a call: the cache is bypassed, with at most a warning.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import stat
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from linkwork.errors import LinkworkWarning

_MAGIC = b"linkwork object 2\n"
CACHE = "LINKWORK_CACHE_DIR"
"""The environment variable that holds the cache's location; empty for none."""
_SUFFIX, _PART = ".lwo", ".part"
_SECRET = "secret"
_LIMIT = 512 * 2**20
"""Bytes at which the oldest files are removed."""
_LARGEST = 64 * 2**20
"""Bytes of the largest file that is read or written."""
_LOOKS = 64
"""How often the folder is listed, on average, while as much is written as the cache may hold."""
_ABANDONED = 3600.0
"""Seconds after which nobody is writing a temporary file any more."""

_OWNERS = hasattr(os, "getuid") and os.open in os.supports_dir_fd
"""Whether folders have descriptors, and files owners and modes."""


def _flags(*names: str) -> int:
    """Flags of ``os.open``, those that this system has."""
    return sum(getattr(os, f"O_{name}", 0) for name in names)


_SAFELY = _flags("CLOEXEC", "NOFOLLOW", "NONBLOCK", "NOCTTY", "BINARY")
_ENTER = _flags("CLOEXEC", "NOFOLLOW", "DIRECTORY") | getattr(os, "O_PATH", os.O_RDONLY)
"""To traverse a folder without permission to list it."""
_LIST = _flags("CLOEXEC", "NOFOLLOW", "DIRECTORY", "RDONLY")


class _Distrusted(Exception):
    """Why a folder or a file is not used."""


def folder() -> Path | None:
    """Where the cache is: LINKWORK_CACHE_DIR, or the user's cache folder by the platform's convention; None if
    switched off.
    """
    chosen = os.environ.get(CACHE)
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


def obstacle() -> str | None:
    """Why the folder is not used; None if it is, or will be created."""
    path = folder()
    if path is None:
        return f"{CACHE} is empty, or there is no home folder"
    try:
        with _opened(path):
            return None
    except FileNotFoundError:
        return None
    except (_Distrusted, OSError) as error:
        return str(error)


def read(key: str) -> bytes | None:
    """The object code of a key, or None."""
    with _trusted() as place, contextlib.suppress(OSError):
        if place is None:
            return None
        name = key + _SUFFIX
        try:
            content = place.read(name, _LARGEST)
            secret = _secret(place)
            return None if secret is None else _checked(content, key, secret)
        except _Distrusted as reason:
            _warn(f"ignored a file in the cache, {place.path / name}: it {reason}")
            place.remove(name)
    return None


def holds(key: str) -> bool:
    """Whether there is a file for a key."""
    with _trusted() as place, contextlib.suppress(OSError, _Distrusted):
        if place is not None:
            _check(place.status(key + _SUFFIX), _LARGEST)
            return True
    return False


def write(key: str, image: bytes) -> None:
    """Cache object code; a concurrent reader sees all of it or nothing."""
    if len(image) > _LARGEST - 2**10:
        return
    with _trusted(create=True) as place, contextlib.suppress(OSError):
        secret = _secret(place, create=True) if place is not None else None
        if place is not None and secret is not None:
            digest = _digest(key, image)
            content = b"".join((_MAGIC, digest, _signed(digest, secret), image))
            with _written(place, content) as temporary:
                place.replace(temporary, key + _SUFFIX)
            # Listing 20,000 files takes longer than writing a hundred: at random, so that processes that write
            # little take their turn, too.
            if int.from_bytes(os.urandom(4), "big") * _LIMIT < 2**32 * _LOOKS * len(content):
                _trim(place)


def entries() -> list[tuple[Path, int]]:
    """The files of the cache with their sizes, oldest first."""
    with _anyway() as place:
        return [] if place is None else [(place.path / name, size) for _, name, size in _found(place, _SUFFIX)]


def clear() -> int:
    """Remove all files of the cache; how many there were."""
    removed = 0
    with _anyway() as place:
        if place is not None:
            _remove_abandoned(place)
            for _, name, _ in _found(place, _SUFFIX):
                with contextlib.suppress(OSError):
                    place.remove(name)
                    removed += 1
    return removed


# Content


def _digest(key: str, image: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\0" + image).digest()


def _signed(digest: bytes, secret: bytes) -> bytes:
    return hmac.digest(secret, _MAGIC + digest, "sha256")


def _checked(content: bytes, key: str, secret: bytes) -> bytes:
    """The image in a file of this key."""
    first, second = len(_MAGIC), len(_MAGIC) + 32
    digest, signed, image = content[first:second], content[second : second + 32], content[second + 32 :]
    if content[:first] != _MAGIC or not hmac.compare_digest(_digest(key, image), digest):
        raise _Distrusted("is damaged, or the code of something else")
    if not hmac.compare_digest(_signed(digest, secret), signed):
        raise _Distrusted("was not written with this folder's secret: it is forged, or comes from another cache")
    return image


def _secret(place: _Folder, create: bool = False) -> bytes | None:
    """32 bytes that only the user can read. Two processes that create them at the same time end up with the same."""
    try:
        found = place.read(_SECRET, 32, private=True)
        if len(found) == 32:
            return found
        raise _Distrusted("is damaged")
    except _Distrusted as reason:
        _warn(f"ignored the cache's secret, {place.path / _SECRET}: it {reason}; code that was kept with it is lost")
        with contextlib.suppress(OSError):
            place.remove(_SECRET)
    except FileNotFoundError:
        pass
    if not create:
        return None
    with _written(place, os.urandom(32)) as temporary:
        try:
            place.link(temporary, _SECRET)
        except FileExistsError:
            pass
        except OSError:  # no links on this file system
            place.replace(temporary, _SECRET)
    try:
        return place.read(_SECRET, 32, private=True)
    except _Distrusted:
        return None


# Files of a folder


class _Folder:
    """An open folder. Its files are reached by its descriptor or, where folders have none, by its path."""

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self.path, self.descriptor = path, descriptor

    def _at(self, name: str) -> str:
        return name if self.descriptor is not None else str(self.path / name)

    def read(self, name: str, most: int, private: bool = False) -> bytes:
        """The content of a file that can be trusted."""
        try:
            handle = os.open(self._at(name), os.O_RDONLY | _SAFELY, dir_fd=self.descriptor)
        except FileNotFoundError:
            raise
        except OSError:
            _check(self.status(name), most, private)  # raises the reason, if it is one of ours
            raise
        try:
            status = os.fstat(handle)
            _check(status, most, private)
            with os.fdopen(handle, "rb", buffering=0, closefd=False) as file:
                return file.read(status.st_size)
        finally:
            os.close(handle)

    def create(self, name: str) -> int:
        return os.open(self._at(name), os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFELY, 0o600, dir_fd=self.descriptor)

    def status(self, name: str) -> os.stat_result:
        return os.stat(self._at(name), dir_fd=self.descriptor, follow_symlinks=False)

    def replace(self, old: str, new: str) -> None:
        os.replace(self._at(old), self._at(new), src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)

    def link(self, old: str, new: str) -> None:
        os.link(self._at(old), self._at(new), src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)

    def remove(self, name: str) -> None:
        os.unlink(self._at(name), dir_fd=self.descriptor)

    def names(self) -> list[str]:
        return os.listdir(self.path if self.descriptor is None else self.descriptor)


def _check(status: os.stat_result, most: int, private: bool = False) -> None:
    """Raise the reason why a file cannot be trusted."""
    if not stat.S_ISREG(status.st_mode):
        raise _Distrusted("is a link" if stat.S_ISLNK(status.st_mode) else "is no regular file")
    if _OWNERS and status.st_uid != os.getuid():
        raise _Distrusted("belongs to another user")
    if _OWNERS and status.st_mode & 0o022:
        raise _Distrusted("can be written by others")
    if _OWNERS and private and status.st_mode & 0o077:
        raise _Distrusted("can be read by others")
    if status.st_size > most:
        raise _Distrusted(f"is larger than {most} bytes")


@contextlib.contextmanager
def _written(place: _Folder, content: bytes) -> Iterator[str]:
    """The name of a new file with this content, which is removed afterwards unless it has been renamed."""
    name = os.urandom(12).hex() + _PART
    handle = place.create(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        yield name
    finally:
        with contextlib.suppress(OSError):
            place.remove(name)


def _found(place: _Folder, suffix: str) -> list[tuple[float, str, int]]:
    """Time, name and size of all files of a suffix, oldest first."""
    found = []
    with contextlib.suppress(OSError):
        for name in place.names():
            if name.endswith(suffix):
                with contextlib.suppress(OSError):
                    status = place.status(name)
                    found.append((status.st_mtime, name, status.st_size))
    return sorted(found)


def _trim(place: _Folder) -> None:
    _remove_abandoned(place)
    found = _found(place, _SUFFIX)
    total = sum(size for _, _, size in found)
    for _, name, size in found:
        if total <= _LIMIT:
            break
        with contextlib.suppress(OSError):
            place.remove(name)
        total -= size


def _remove_abandoned(place: _Folder) -> None:
    """Temporary files of processes that ended while they wrote."""
    for changed, name, _ in _found(place, _PART):
        if time.time() - changed > _ABANDONED:
            with contextlib.suppress(OSError):
                place.remove(name)


# Folders


@contextlib.contextmanager
def _trusted(create: bool = False) -> Iterator[_Folder | None]:
    """The folder, if it is the user's own and nobody else can write to it or replace it."""
    path = folder()
    with contextlib.ExitStack() as stack:
        place = None
        try:
            place = stack.enter_context(_opened(path, create)) if path is not None else None
        except _Distrusted as reason:
            _warn(f"the cache folder {path} is not used: {reason}; compiled code is not kept")
        except OSError as error:
            if create and os.environ.get(CACHE):
                _warn(f"{CACHE} is {path}, which cannot be used: {error.strerror}; compiled code is not kept")
        yield place


@contextlib.contextmanager
def _anyway() -> Iterator[_Folder | None]:
    """The folder, whoever may write to it: to list it, and to remove it."""
    path, descriptor = folder(), None
    with contextlib.suppress(OSError):
        descriptor = os.open(path, _LIST & ~_flags("NOFOLLOW")) if path is not None and _OWNERS else None
    try:
        there = path is not None and (descriptor is not None if _OWNERS else path.is_dir())
        yield _Folder(path, descriptor) if path is not None and there else None
    finally:
        if descriptor is not None:
            os.close(descriptor)


@contextlib.contextmanager
def _opened(path: Path, create: bool = False) -> Iterator[_Folder]:
    """The folder at a path, opened from the top down; created, with what is missing above it, if requested."""
    if not _OWNERS:
        if create:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        yield _Folder(path, None)
        return
    names = os.path.realpath(path).split(os.sep)[1:]
    descriptor = os.open(os.sep, _ENTER)
    try:
        for depth, name in enumerate(names):
            status = os.fstat(descriptor)
            if status.st_uid not in (0, os.getuid()):
                raise _Distrusted(f"{_joined(names[:depth])}, above it, belongs to another user")
            if status.st_mode & 0o022 and not status.st_mode & stat.S_ISVTX:
                raise _Distrusted(f"{_joined(names[:depth])}, above it, can be written by others")
            how = _ENTER if depth + 1 < len(names) else _LIST
            try:
                inner = os.open(name, how, dir_fd=descriptor)
            except FileNotFoundError:
                if not create:
                    raise
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=descriptor)
                inner = os.open(name, how, dir_fd=descriptor)
            outer, descriptor = descriptor, inner
            os.close(outer)
        status = os.fstat(descriptor)
        if status.st_uid != os.getuid():
            raise _Distrusted(f"{_joined(names)} belongs to another user")
        if status.st_mode & 0o022:
            raise _Distrusted(f"{_joined(names)} can be written by others")
        yield _Folder(path, descriptor)
    finally:
        os.close(descriptor)


def _joined(names: Sequence[str]) -> str:
    return os.sep + os.sep.join(names)


@cache
def _warn(message: str) -> None:
    try:
        warnings.warn(message, LinkworkWarning, stacklevel=2)
    except LinkworkWarning as warning:  # warnings are errors, but no problem here ever fails a call
        warnings.showwarning(warning, LinkworkWarning, __file__, 0)
