"""What tests of exports share: the compilers that are here, and exported functions called as they are built."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Array = np.ndarray[Any, np.dtype[np.float64]]

COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
STRICT = "-std=c99 -Wall -Wextra -Werror -pedantic".split()
CROSS = {
    "aarch64-linux-gnu": ("aarch64-linux-gnu-gcc", "qemu-aarch64", "cortex-a72"),
    "riscv64-linux-gnu": ("riscv64-linux-gnu-gcc", "qemu-riscv64", None),
    "armv7-linux-gnueabihf": ("arm-linux-gnueabihf-gcc", "qemu-arm", "cortex-a9"),
}
"""Triples, with the compiler and the emulator that test them, and a CPU."""


def needs(*tools: str | None) -> Any:
    """A test that is left out, with a word, where a tool is missing."""
    missing = [tool for tool in tools if tool is not None and shutil.which(tool) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}; make compilers installs it")


a_compiler = pytest.mark.skipif(not COMPILERS, reason="neither gcc nor clang is installed")


def built(command: Sequence[str], folder: Path) -> None:
    """Run a compiler, whose warnings are errors."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr[:2000]


def said(command: Sequence[str], folder: Path) -> str:
    """What a program prints, which must succeed."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def self_tested(folder: Path, name: str, compiler: str = "", flags: Sequence[str] = ("-O0",)) -> None:
    """Build an export in C with its self-test, and run it: all results have the expected bits."""
    command = [compiler or COMPILERS[0], *STRICT, *flags, f"{name}.c", f"{name}_test.c", "-lm", "-o", "self_test"]
    built(command, folder)
    assert said(["./self_test"], folder).endswith("bit by bit: passed\n")


class Library:
    """The functions of an export, built as a shared library."""

    def __init__(self, folder: Path, name: str, sources: Sequence[str] = ()) -> None:
        files = sources or [f"{name}.c"]
        built([COMPILERS[0], "-std=c99", "-O1", "-shared", "-fPIC", *files, "-lm", "-o", f"{name}.library"], folder)
        self.library, self.name = ctypes.CDLL(str(folder / f"{name}.library")), name
        self.workspace = np.full(100_000, np.nan)
        getattr(self.library, f"{name}_status").restype = ctypes.c_char_p

    def __call__(self, *arrays: Array, function: str = "") -> int:
        """The status of a call with these arrays, the results among them."""
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*arrays, self.workspace)]
        return int(getattr(self.library, function or self.name)(*pointers))

    def repeated(self, function: str, count: int, *arrays: Array) -> tuple[int, int]:
        """The status of a call for so many states or steps, and where it is from."""
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*arrays, self.workspace)]
        where = ctypes.c_size_t(12345)
        call = getattr(self.library, f"{self.name}_{function}")
        return int(call(ctypes.c_size_t(count), *pointers, ctypes.byref(where))), int(where.value)

    def says(self, status: int) -> str:
        return str(getattr(self.library, f"{self.name}_status")(status).decode())
