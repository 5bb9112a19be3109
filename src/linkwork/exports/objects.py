"""The targets "object" and "shared": machine code for a triple and a CPU, with the header of the C source."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from linkwork.engine.code.cross import Machine, compile_modules, machine
from linkwork.engine.targets.llvm_module import Functions
from linkwork.errors import ArgumentError, LinkworkError
from linkwork.exports.c99 import iterates
from linkwork.exports.c_source import CText
from linkwork.exports.readme import readme
from linkwork.exports.samples import samples_of
from linkwork.exports.self_test import self_test
from linkwork.exports.unit import Unit

_LINKERS = ("cc", "gcc", "clang", "ld.lld", "ld")

_NOTE = """\
`{file}` is machine code for {triple}, CPU {cpu}, made by LLVM {version}; `{name}.h` declares its functions. Batches are
computed on the lanes of its vectors ({lanes}). Programs that iterate use the stack."""


class Code(NamedTuple):
    """Object code of a unit."""

    image: bytes
    functions: Functions
    machine: Machine
    text: CText


def code_of(unit: Unit, provenance: str, target: Machine) -> Code:
    """The object code of a unit for a machine."""
    text = CText(unit, provenance)
    functions = Functions(
        unit.routine, unit.name, target.bits, target.lanes, unit.over_time, tuple(text.source.problems),
        target.architecture == "wasm32",  # engines in browsers keep few values of a long function in registers
        unit.pivots_routine,
    )  # fmt: skip
    text.other_workspace = functions.workspace
    status = text.status
    image = compile_modules(functions.modules(status.texts, status.joints, status.end), target)
    return Code(image, functions, target, text)


def object_files(
    unit: Unit, provenance: str, triple: str | None = None, cpu: str | None = None
) -> dict[str, str | bytes]:
    """The files of the target "object"."""
    code = code_of(unit, provenance, machine(triple, cpu))
    file = f"{unit.name}.{'obj' if 'windows' in code.machine.triple else 'o'}"
    build = f"```sh\ncc -I. {unit.name}_test.c {file} -lm -o {unit.name}_test && ./{unit.name}_test\n```"
    return {file: code.image, **_beside(unit, code, provenance, file, build)}


def shared_files(
    unit: Unit, provenance: str, triple: str | None = None, cpu: str | None = None
) -> dict[str, str | bytes]:
    """The files of the target "shared"."""
    code = code_of(unit, provenance, machine(triple, cpu))
    file = f"lib{unit.name}.so"
    link = f"-L. -l{unit.name} -Wl,-rpath,. -o {unit.name}_test"
    build = f"```sh\ncc -I. {unit.name}_test.c {link} && ./{unit.name}_test\n```"
    return {file: linked(code, file), **_beside(unit, code, provenance, file, build)}


def _beside(unit: Unit, code: Code, provenance: str, file: str, build: str) -> dict[str, str | bytes]:
    from linkwork.engine.code import jit

    about = _NOTE.format(
        file=file, triple=code.machine.triple, cpu=code.machine.cpu, version=jit.version(), name=unit.name,
        lanes=code.machine.lanes,
    )  # fmt: skip
    samples = samples_of(unit)
    return {
        f"{unit.name}.h": code.text.header(),
        f"{unit.name}_test.c": self_test(
            unit, samples, code.text.workspace, iterates(unit.routine.program), provenance
        ),
        "README.md": readme(unit, code.text, provenance, f"{about}\n\n{build}"),
    }


def linked(code: Code, file: str) -> bytes:
    """A shared object, by a linker of this system."""
    triple = code.machine.triple
    if any(word in triple for word in ("windows", "apple", "macos", "none", "wasm")):
        raise ArgumentError(
            f"target 'shared' makes ELF libraries, and triple {triple!r} has none; export target='object', and link it "
            f"with the tools of that system"
        )
    command = _linker(triple)
    with tempfile.TemporaryDirectory() as folder:
        path, to = Path(folder, "code.o"), Path(folder, file)
        path.write_bytes(code.image)
        options = ["-shared", *(["-nostdlib", "-Wl,--build-id=none"] if not _plain(command) else [])]
        named = ["-soname", file] if _plain(command) else [f"-Wl,-soname,{file}"]
        done = subprocess.run(
            [command, *options, *named, "code.o", "-o", file], cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise LinkworkError(f"{command} cannot link the code: {done.stderr.strip()[:300]}")
        return to.read_bytes()


def _plain(command: str) -> bool:
    """Whether a command is a linker itself, not a compiler that calls one."""
    return Path(command).name.startswith("ld")


def _linker(triple: str) -> str:
    """The command that links for a machine: the compiler of this one, or one for the triple."""
    from linkwork.engine.code import jit

    here = triple.partition("-")[0] == jit.triple().partition("-")[0] and "linux" in triple
    short = re.sub("-(unknown|pc)-", "-", triple).replace("armv7-", "arm-")
    names = _LINKERS if here else (f"{short}-gcc", f"{short}-ld", "ld.lld")
    for name in names:
        command = shutil.which(name)
        if command is not None:
            return command
    raise LinkworkError(
        f"target 'shared' needs a linker, and none of {', '.join(names)} is installed; target='object' needs none"
    )
