"""The files of an export, written into a folder of their own, with a list of them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from linkwork.arguments import file_path
from linkwork.errors import ArgumentError
from linkwork.files import replacing

LIST = "export.json"
"""The file that says what was exported, by which version, and which files it consists of."""


def checked(folder: str | os.PathLike[str]) -> Path:
    """The folder, which is new, empty, or that of an earlier export."""
    path = file_path("folder", folder)
    if path.exists() and not path.is_dir():
        raise ArgumentError(f"folder must be a folder, but {path} is a file")
    if path.is_dir() and any(path.iterdir()) and _earlier(path) is None:
        other = min(each.name for each in path.iterdir())
        raise ArgumentError(
            f"folder {path} has other files, such as {other!r}; export into a new folder, or into that of an earlier "
            f"export, whose files are replaced"
        )
    return path


def _earlier(path: Path) -> list[str] | None:
    """The files of an earlier export into a folder; None if there was none."""
    try:
        about = json.loads((path / LIST).read_text(encoding="utf-8"))
        files = about["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return [str(file) for file in files] if isinstance(files, list) else None


def write(path: Path, files: Mapping[str, str | bytes], about: Mapping[str, Any]) -> list[Path]:
    """Write all files, and the list of them; those of an earlier export that are not among them are removed."""
    for name in set(_earlier(path) or ()) - {*files, LIST}:
        if (path / name).is_file() and Path(name).name == name:
            (path / name).unlink()
    listed = json.dumps({**about, "files": sorted([*files, LIST])}, indent=2, ensure_ascii=True) + "\n"
    for name, content in {**files, LIST: listed}.items():
        with replacing(path / name) as beside:
            beside.write_bytes(content.encode() if isinstance(content, str) else content)
    return [path / name for name in sorted([*files, LIST])]
