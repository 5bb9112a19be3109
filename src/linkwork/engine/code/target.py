"""LLVM's description of the host, cached on disk: LLVM's library takes longer to load than everything else that a first
call from the cache does.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import NamedTuple

from linkwork.engine.code import cache


class Target(NamedTuple):
    """LLVM's version, the target that code is generated for, and the CPU's name and features, such as +avx2."""

    version: str
    triple: str
    cpu: str
    features: str


def target(ask: Callable[[], Target]) -> Target:
    """The cached target, or LLVM's answer, which ``ask`` gets."""
    key = _key()
    kept = cache.read(key) if key else None
    if kept is not None:
        return Target(*kept.decode().split("\n"))
    found = ask()
    if key:
        cache.write(key, "\n".join(found).encode())
    return found


def _key() -> str | None:
    """A digest of llvmlite's version and location, and of the CPU as the system and NumPy see it, which differ under an
    emulator; None if the system does not say.
    """
    import llvmlite
    import numpy as np

    try:
        handle = os.open("/proc/cpuinfo", os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return None
    try:
        first = os.read(handle, 2**13).partition(b"\n\n")[0]
    finally:
        os.close(handle)
    lines = [line for line in first.split(b"\n") if line.startswith(_LINES)]
    if not any(line.startswith(b"flags") for line in lines):
        return None
    core = getattr(np, "_core", None) or np.core
    seen = getattr(core._multiarray_umath, "__cpu_features__", None)
    parts = (llvmlite.__version__, llvmlite.__path__[0], lines, seen)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


_LINES = (b"vendor_id", b"cpu family", b"model", b"stepping", b"flags")
"""Whatever does not vary from process to process."""
