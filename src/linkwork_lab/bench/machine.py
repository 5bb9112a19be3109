"""The conditions of a measurement besides the code: machine, versions, commit."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from linkwork.inside import cores, host

_PACKAGES = ("linkwork", "numpy", "llvmlite", "pin", "mujoco", "example-robot-data")


def conditions(settings: Any) -> dict[str, Any]:
    """When, where and with what something is measured; ``settings`` is a dataclass."""
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(), "versions": versions(), "commit": commit(), "settings": asdict(settings),
    }  # fmt: skip


def machine() -> dict[str, Any]:
    cpu = host()
    return {
        "cpu": _cpu_name(), "llvm_cpu": cpu.cpu, "cores": cores(), "lanes": cpu.lanes,
        "system": f"{platform.system()} {platform.machine()}", "load": _load(),
    }  # fmt: skip


def versions() -> dict[str, str | None]:
    return {"python": platform.python_version(), "llvm": host().llvm} | {name: _version(name) for name in _PACKAGES}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def commit() -> str | None:
    """The output of ``git describe`` for the checkout of this file; None if it is in none."""
    here = Path(__file__).resolve().parent
    if not any((folder / ".git").exists() for folder in here.parents):
        return None
    try:
        describe = ["git", "-C", str(here), "describe", "--always", "--dirty", "--tags"]
        done = subprocess.run(describe, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def available_memory() -> float:
    """Bytes that a process can still allocate; infinite if unknown."""
    kilobytes = _line("/proc/meminfo", "MemAvailable:")
    return 1024.0 * int(kilobytes.split()[0]) if kilobytes else float("inf")


def resident_memory() -> int | None:
    """Resident memory of this process, bytes; None if unknown."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def _line(path: str, head: str) -> str:
    """The rest of the first line of a file of the system that begins so; nothing if there is none."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.removeprefix(head).lstrip("\t :") for line in lines if line.startswith(head)), "")


def _load() -> float | None:
    """The load average of the last minute: near 0 on a quiet machine before a measurement."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _cpu_name() -> str:
    return _line("/proc/cpuinfo", "model name") or platform.processor() or platform.machine()
