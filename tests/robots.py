"""The URDF files of the package example-robot-data."""

from __future__ import annotations

from importlib.metadata import files
from pathlib import Path

ROBOTS = sorted(
    Path(str(file.locate())).resolve() for file in files("example-robot-data") or () if file.suffix == ".urdf"
)
"""Every URDF file of the package."""


def robot(name: str) -> Path:
    """The file of that name."""
    return next(path for path in ROBOTS if path.name == name)
