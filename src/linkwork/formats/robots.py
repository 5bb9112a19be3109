"""Robots by name: model files of installed packages, or files that robot_descriptions has downloaded before.

None of these packages is imported, since that may download files, and nothing is downloaded here.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

EXAMPLES = "example-robot-data"
CACHE = "robot_descriptions"
ADVICE = f"pip install {EXAMPLES}, or load a description once with robot_descriptions"
_ENDING = re.compile(r"(_simple)?(_description|_descriptions|_data|_model)$")
_DEEPEST = 6
_MOST_FILES = 20_000


class Robot(NamedTuple):
    """A model file with a name."""

    name: str
    path: Path
    source: str


def robots() -> list[Robot]:
    """All robots on this machine, by name: URDF files of example-robot-data by their file names, or by their packages
    where several files have the same name; then those in the cache of robot_descriptions whose names differ from these,
    MJCF files with the suffix "_mj".
    """
    by_name: dict[str, Robot] = {}
    for folder in _example_folders():
        for robot in _by_file_name([path for path in _files(folder, (".urdf",)) if _has_links(path)], EXAMPLES):
            by_name.setdefault(robot.name, robot)
    cache = _cache_folder()
    for suffixes, ending in (((".urdf",), ""), ((".xml", ".mjcf"), "_mj")):
        for robot in _by_file_name([path for path in _files(cache, suffixes) if _is_model(path)], CACHE):
            name = robot.name + ending
            by_name.setdefault(name, robot._replace(name=name))
    return sorted(by_name.values(), key=lambda robot: robot.name.lower())


def is_name(text: str) -> bool:
    """Whether a text may be a robot's name, and is not a path."""
    plain = re.fullmatch(r"[A-Za-z][\w.+-]{0,99}", text) and Path(text).suffix not in (".urdf", ".xml", ".mjcf")
    return bool(plain) and not os.path.exists(text)


def find(name: str) -> Robot | str:
    """The robot of a name, or the message if there is none. The name of its package, the name without "_robot", and
    lower case are accepted, too.
    """
    choices = robots()
    key = _ENDING.sub("", name).lower()
    ways: tuple[Callable[[Robot], bool], ...] = (
        lambda robot: robot.name == name,
        lambda robot: key in (robot.name.lower(), robot.name.lower().removesuffix("_robot")),
        lambda robot: key == _package(robot.path).lower(),
    )
    for same in ways:
        fitting = [robot for robot in choices if same(robot)]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            return f"and there are several such robots: {', '.join(repr(robot.name) for robot in fitting)}"
    if not choices:
        return f"and there are no robots to be loaded by name: {ADVICE}"
    from difflib import get_close_matches

    near = get_close_matches(key, [robot.name for robot in choices], 3)
    names = (
        f"did you mean {' or '.join(map(repr, near))}" if near else f"from {choices[0].name!r} to {choices[-1].name!r}"
    )
    listed = f"the {len(choices)} that `linkwork robots` lists ({names})"
    return f"and no robot of that name among {listed}; for more: {ADVICE}"


def _by_file_name(files: list[Path], source: str) -> Iterator[Robot]:
    """Files by their names, or by their packages where several have the same name."""
    times = Counter(path.stem for path in files)
    for path in files:
        yield Robot(path.stem if times[path.stem] == 1 else _package(path), path, source)


def _package(path: Path) -> str:
    """The name of the folder that a file belongs to, without common suffixes."""
    folder = path.parent
    while folder.name.lower() in ("urdf", "robots", "xml", "mjcf", "xmls", "model", "models"):
        folder = folder.parent
    return _ENDING.sub("", folder.name)


def _example_folders() -> Iterator[Path]:
    from importlib.metadata import PackageNotFoundError, distribution  # late: most models are given by their files

    inside = Path("share", EXAMPLES, "robots")
    places = [Path(sys.prefix)]
    with contextlib.suppress(PackageNotFoundError):
        places.insert(0, Path(str(distribution(EXAMPLES).locate_file("cmeel.prefix"))))
    for place in places:
        if (place / inside).is_dir():
            yield place / inside


def _cache_folder() -> Path:
    variable = os.environ.get("ROBOT_DESCRIPTIONS_CACHE")
    return Path(variable).expanduser() if variable else Path("~/.cache/robot_descriptions").expanduser()


def _files(folder: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    """Files of these suffixes, in a fixed order; with bounded depth and number, and no links out of the folder."""
    count = 0
    for where, folders, files in os.walk(folder):
        depth = len(Path(where).relative_to(folder).parts)
        folders[:] = (
            sorted(folder_name for folder_name in folders if not folder_name.startswith("."))
            if depth < _DEEPEST
            else []
        )
        for name in sorted(files):
            count += 1
            if count > _MOST_FILES:
                return
            path = Path(where, name)
            if path.suffix in suffixes and path.is_file() and not path.is_symlink():
                yield path


def _has_links(path: Path) -> bool:
    """Whether it has links: some published files are mere shells."""
    return path.stat().st_size > 2000 or b"<link" in path.read_bytes()


def _is_model(path: Path) -> bool:
    """Whether the file begins like a model, and is not a scene around one."""
    if path.stem.startswith("scene"):
        return False
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError:
        return False
    return b"<mujoco" in head or b"<robot" in head
