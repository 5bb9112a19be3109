"""Files that appear as a whole or not at all: whatever fails on the way, the file that was there stays as it was.

A file is written into a folder of its own beside its place, under its own name (some formats write that down), and
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

_LONGEST_NAME = 60  # letters, so that no encoding of them exceeds what file systems take
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # names of devices on Windows


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Where to write a file that takes the place of ``path`` when the block ends, and is removed when it fails.

    Folders that are missing are made. A link is followed, the permissions of an old file are kept, and one that may not
    be written to is not replaced. What is no regular file (a pipe, a device) is written to directly.

    Raises:
        ArgumentError: the path is none.
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
    """The same with errors as the system raises them."""
    import shutil
    import tempfile

    old = None
    with contextlib.suppress(FileNotFoundError):
        old = to.stat()
    if old is not None and not stat.S_ISREG(old.st_mode):
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


def open_regular(path: str | os.PathLike[str]) -> IO[bytes]:
    """A file to read from; what is none, such as a pipe that nobody writes to, is refused and not waited for."""
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EINVAL, "it is no regular file", os.fspath(path))
    return os.fdopen(number, "rb")


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """A text as a file, in UTF-8."""
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")


def harmless(name: str) -> str:
    """A name as that of a file in the folder at hand: it cannot lead elsewhere, hide, or look like an option."""
    kept = re.sub(r"[^\w.-]+", "_", name)[:_LONGEST_NAME].lstrip(".-").rstrip(".")
    return f"{kept}_" if not kept or _RESERVED.fullmatch(kept) else kept


def _like(path: Path, old: os.stat_result) -> None:
    """Permissions and owner of the file that goes, as far as the system lets us."""
    with contextlib.suppress(OSError):
        if hasattr(os, "chown") and (old.st_uid, old.st_gid) != (path.stat().st_uid, path.stat().st_gid):
            os.chown(path, old.st_uid, old.st_gid)
        path.chmod(stat.S_IMODE(old.st_mode) & 0o777)


def _to_disk(path: Path) -> None:
    """Have the system write down what it has of a file, or of the names in a folder."""
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
