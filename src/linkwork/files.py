"""Atomic file writes: if writing fails, the previous file stays unchanged.

A file is written into a temporary folder beside its destination, under its own name (some formats store it), and
moved over the old one when it is complete and on the disk.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from linkwork.arguments import file_path
from linkwork.errors import FileError, ProtectedFileError

_LONGEST_NAME = 60  # letters, so that the name fits the limit of file systems in any encoding
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # device names on Windows


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """The path to write to; the file replaces ``path`` when the block ends, and is removed if the block fails.

    Missing folders are created. A link is followed, the permissions of an old file are kept, and a file without write
    permission is not replaced. Anything but a regular file (a pipe, a device) is written to directly.

    Raises:
        ArgumentError: the path is invalid.
        FileError: the file cannot be written; the message names it.
    """
    to = file_path("path", path)
    try:
        with _beside(to) as beside:
            yield beside
    except OSError as error:
        kind = ProtectedFileError if isinstance(error, PermissionError) else FileError
        raise kind(error.errno or errno.EIO, error.strerror or str(error), str(to)) from None


@contextlib.contextmanager
def _beside(to: Path) -> Iterator[Path]:
    """The same with the system's own errors."""
    import shutil
    import tempfile

    old = None
    with contextlib.suppress(FileNotFoundError):
        old = to.stat()
    if old is not None and not stat.S_ISREG(old.st_mode):
        reader = _reader(to) if stat.S_ISFIFO(old.st_mode) else contextlib.nullcontext()
        with reader:
            yield to
        return
    to = Path(os.path.realpath(to))
    if old is not None and not os.access(to, os.W_OK):
        raise PermissionError(errno.EACCES, "it is write-protected")
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        folder = tempfile.mkdtemp(prefix=".linkwork-", dir=to.parent)
    except OSError as error:
        raise OSError(error.errno, f"no file can be made in its folder: {error.strerror}") from None
    try:
        beside = Path(folder, to.name)
        yield beside
        if old is not None:
            _like(beside, old)
        _to_disk(beside)
        os.replace(beside, to)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    _to_disk(to.parent)


@contextlib.contextmanager
def _reader(pipe: Path) -> Iterator[None]:
    """Make sure that somebody reads a pipe, for whom opening it would wait; they see its end after this block."""
    try:
        number = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        reason = "nobody reads this pipe" if error.errno == errno.ENXIO else error.strerror
        raise OSError(error.errno, reason) from None
    try:
        yield
    finally:
        os.close(number)


def open_regular(path: str | os.PathLike[str]) -> IO[bytes]:
    """A file open for reading; anything but a regular file, such as a pipe without a writer, is refused."""
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EINVAL, "it is no regular file", os.fspath(path))
    return os.fdopen(number, "rb")


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write text to a file, in UTF-8."""
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")


def harmless(name: str) -> str:
    """A name made safe as a file name in the current folder: it cannot lead elsewhere, hide, or look like an option."""
    plain = re.sub(r"[^\w.-]+", "_", name)[:_LONGEST_NAME].lstrip(".-").rstrip(".")
    return f"{plain}_" if not plain or _RESERVED.fullmatch(plain) else plain


def _like(path: Path, old: os.stat_result) -> None:
    """Copy permissions and owner of the old file, as far as the system permits."""
    with contextlib.suppress(OSError):
        if hasattr(os, "chown") and (old.st_uid, old.st_gid) != (path.stat().st_uid, path.stat().st_gid):
            os.chown(path, old.st_uid, old.st_gid)
        path.chmod(stat.S_IMODE(old.st_mode) & 0o777)


def _to_disk(path: Path) -> None:
    """Flush a file, or the entries of a folder, to the disk."""
    folder = path.is_dir()
    if folder and os.name == "nt":
        return
    number = os.open(path, os.O_RDONLY if folder else os.O_RDWR)
    try:
        os.fsync(number)
    except OSError:
        if not folder:  # some file systems cannot do this for folders
            raise
    finally:
        os.close(number)
