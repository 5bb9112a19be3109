"""The mechanisms of the benchmark."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from linkwork import LinkworkWarning, Model, load, mechanisms

CACHE = "LINKWORK_CACHE_DIR"
"""The variable of the environment that names the folder of compiled code."""


@dataclass(frozen=True)
class Subject:
    """A model file, or a built-in mechanism such as "serial_chain:10"; ``large``: also measured with a large batch."""

    name: str
    source: str
    floating_base: bool = False
    large: bool = False
    cache: str | None = None
    """The folder of its code during the measurements, initially empty, so that nothing depends on an earlier cache."""

    @property
    def ready_made(self) -> bool:
        return self.source.split(":")[0] in mechanisms.NAMES

    @cached_property
    def model(self) -> Model:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LinkworkWarning)  # ``linkwork info`` reports about a file
            if self.ready_made:
                return mechanisms.by_name(self.source, floating_base=self.floating_base)
            return load(self.source, floating_base=self.floating_base)

    @contextmanager
    def own_cache(self) -> Iterator[None]:
        """A context in which this process and its children keep code in the subject's own folder, if it has one."""
        before = os.environ.get(CACHE)
        if self.cache is not None:
            os.environ[CACHE] = self.cache
        try:
            yield
        finally:
            os.environ.pop(CACHE, None)
            if before is not None:
                os.environ[CACHE] = before


_ROBOTS = {
    "UR5": ("ur_description/urdf/ur5_robot.urdf", False),
    "Panda": ("panda_description/urdf/panda.urdf", False),
    "ANYmal": ("anymal_b_simple_description/robots/anymal.urdf", True),
    "G1": ("g1_description/urdf/g1_29dof_rev_1_0.urdf", True),
    "Talos": ("talos_data/robots/talos_reduced.urdf", True),
}
_BUILT_IN = {"humanoid": ("humanoid", True), "chain of 7": ("serial_chain:7", False)}


def standard() -> tuple[list[Subject], str]:
    """The robots of the package example-robot-data if it is installed, otherwise built-in mechanisms; and which."""
    try:
        paths = [Path(str(file.locate())).resolve() for file in files("example-robot-data") or ()]
    except PackageNotFoundError:
        paths = []
    subjects = []
    for name, (file, floating) in _ROBOTS.items():
        path = next((path for path in paths if path.as_posix().endswith("/" + file)), None)
        if path is not None and path.is_file():
            subjects.append(Subject(name, str(path), floating, large=name == "Talos"))
    if subjects:
        return subjects, "robots of the package example-robot-data; ANYmal, G1 and Talos on a floating base"
    built_in = [Subject(name, source, floating) for name, (source, floating) in _BUILT_IN.items()]
    return built_in, "built-in mechanisms, because the package example-robot-data is not installed"
