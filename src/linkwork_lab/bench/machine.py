"""The conditions of a measurement besides the code: machine, versions, commit."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from linkwork.inside import cores, host

_PACKAGES = ("linkwork", "numpy", "llvmlite", "pin", "mujoco", "example-robot-data")


def machine() -> dict[str, Any]:
    cpu = host()
    return {
        "cpu": _cpu_name(), "llvm_cpu": cpu.cpu, "cores": cores(), "lanes": cpu.lanes,
        "system": f"{platform.system()} {platform.machine()}", "load": _load(),
    }  # fmt: skip


def versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {"python": platform.python_version(), "llvm": host().llvm}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


def commit() -> str | None:
    """The output of ``git describe`` for the checkout of this file; None if it is in none."""
    here = Path(__file__).resolve().parent
    if not any((folder / ".git").exists() for folder in here.parents):
        return None
    try:
        done = subprocess.run(
            ["git", "-C", str(here), "describe", "--always", "--dirty", "--tags"],
            capture_output=True,
            text=True,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def available_memory() -> float:
    """Bytes that a process can still allocate; infinite if unknown."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * int(line.split()[1])
    except OSError:
        pass
    return float("inf")


def resident_memory() -> int | None:
    """Resident memory of this process, bytes; None if unknown."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def _load() -> float | None:
    """The load average of the last minute: near 0 on a quiet machine before a measurement."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
