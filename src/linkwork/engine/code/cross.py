"""Other machines, and object code for them by the LLVM that is here."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from linkwork.engine.code import jit
from linkwork.errors import ArgumentError, shown


class Machine(NamedTuple):
    """A machine: LLVM's triple, its CPU and features, and how many float64 numbers a vector of it has."""

    triple: str
    cpu: str
    features: str
    lanes: int

    @property
    def architecture(self) -> str:
        return self.triple.partition("-")[0]

    @property
    def bits(self) -> int:
        """Of an address."""
        return 64 if "64" in self.architecture or self.architecture == "s390x" else 32


_FOUR = ("haswell", "broadwell", "skylake", "alderlake", "znver1", "znver2", "znver3", "x86-64-v3", "core-avx2")
_EIGHT = (
    "skylake-avx512",
    "cascadelake",
    "icelake",
    "sapphirerapids",
    "emeraldrapids",
    "znver4",
    "znver5",
    "x86-64-v4",
)
_SYSTEMS = ("linux", "none", "windows", "freebsd", "netbsd", "openbsd", "elf")
_SHORT = {
    "x86_64": "x86_64-unknown-linux-gnu",
    "aarch64": "aarch64-unknown-linux-gnu",
    "arm64": "arm64-apple-macosx",
    "armv7": "armv7-unknown-linux-gnueabihf",
    "thumbv7em": "thumbv7em-unknown-none-eabihf",
    "riscv64": "riscv64-unknown-linux-gnu",
    "wasm32": "wasm32-unknown-unknown",
}
"""Triples of which the first part is enough."""
_OTHERS = {
    "aarch64": ("generic", "+neon", 2),
    "arm64": ("generic", "+neon", 2),
    "thumbv7em": ("cortex-m7", "", 1),
    "riscv64": ("generic-rv64", "+m,+a,+f,+d,+c", 1),
    "wasm32": ("generic", "+simd128,+bulk-memory", 2),
}
"""CPU, features and lanes of architectures."""


def machine(triple: str | None, cpu: str | None) -> Machine:
    """A machine by LLVM's names for it: this one if both are left out, a plain one of a triple."""
    for name, value in (("triple", triple), ("cpu", cpu)):
        if value is not None and (not isinstance(value, str) or not value or not value.isprintable()):
            raise ArgumentError(f"{name} must be a name that LLVM has, not {shown(value)}")
    here = jit.triple()
    if triple is None and cpu is None:
        return Machine(here, *jit.host(), jit.lanes(jit.host()))
    chosen = here if triple is None else _whole(triple)
    if cpu is not None:
        _check_cpu(chosen, cpu)
    architecture = chosen.partition("-")[0]
    if architecture in ("x86_64", "amd64"):
        own = cpu or "x86-64"
        lanes = 8 if own.startswith(_EIGHT) else 4 if own.startswith(_FOUR) else 2
        return Machine(chosen, own, "", lanes)
    usual, features, lanes = _OTHERS.get(architecture, ("generic", "", 1))
    return Machine(chosen, cpu or usual, features, lanes)


_ASK = """
import sys
import llvmlite.binding as llvm
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
module = llvm.parse_assembly("define double @f(double %x) {\\n  ret double %x\\n}")
try:
    llvm.Target.from_triple(sys.argv[1]).create_target_machine(cpu=sys.argv[2]).emit_object(module)
except RuntimeError:
    pass  # of the triple, which is refused later
"""


@cache
def _check_cpu(triple: str, cpu: str) -> None:
    """Refuse a CPU that LLVM does not know for a triple, which it says on the standard error of its process alone, and
    one that cannot run the triple's code, at which it ends its process: so it is another one.
    """
    done = subprocess.run([sys.executable, "-c", _ASK, triple, cpu], capture_output=True, text=True, check=False)
    if "not a recognized processor" in done.stderr or cpu == "help":
        plain = "" if cpu == "generic" else "; 'generic' is a plain one"
        raise ArgumentError(f"LLVM has no CPU {shown(cpu)} for triple {triple!r}{plain}")
    if done.returncode:
        why = done.stderr.strip().rpartition("\n")[2].removeprefix("LLVM ERROR: ")
        raise ArgumentError(f"LLVM makes no code for CPU {shown(cpu)} of triple {triple!r}: {why}")


def _whole(triple: str) -> str:
    """A triple with all its parts: architecture, vendor, system, environment."""
    parts = _SHORT.get(triple, triple).split("-")
    return "-".join([parts[0], "unknown", *parts[1:]] if len(parts) > 1 and parts[1] in _SYSTEMS else parts)


def compile_modules(texts: Sequence[str], target: Machine) -> bytes:
    """Object code of modules, linked into one, for a machine."""
    return jit.compile_for(texts, target.triple, target.cpu, target.features)
