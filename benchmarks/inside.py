"""A pendulum's forward dynamics in the stages of compilation: the listings of docs/inside.md.

    python benchmarks/inside.py            prints them
    python benchmarks/inside.py --write    puts them into docs/inside.md

All but the assembly, which LLVM generates, are the same on every machine.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import linkwork as lw
from linkwork.algorithms import ALGORITHMS
from linkwork.engine.code import jit
from linkwork.engine.ir.program import text
from linkwork.engine.plans.specialised import Specialised
from linkwork.engine.plans.straight_line import StraightLine
from linkwork.engine.plans.task import Task
from linkwork_lab.bench import pages

PAGE = Path(__file__).resolve().parent.parent / "docs" / "inside.md"
CPU, LANES, TARGET = ("x86-64-v3", "+avx2,-fma"), 4, "x86_64-unknown-linux-gnu"
MODEL = lw.mechanisms.pendulum()


def listings() -> dict[str, str]:
    """The listings of linkwork's own stages, by the names of their markers in the page."""
    traced = lw.compile(lambda q, v, tau: lw.forward_dynamics(MODEL, q, v, tau), q=1, v=1, tau=1)
    kernel = module().partition("@kernel")[2].partition("\n}")[0]
    after = kernel[kernel.index("%v49 = ") :].partition("\n")[2]  # the sine
    shown = after[: after.rindex("\n", 0, after.index("shufflevector"))]  # until lanes become rows
    return {
        "traced": block(traced.text()),
        "program": block(text(plan().program)),
        "llvm": block("\n".join(line.strip() for line in shown.splitlines())),
    }


def plan() -> StraightLine:
    """Forward dynamics of the pendulum for the four lanes of AVX2."""
    task = Task(ALGORITHMS["articulated_body"], MODEL, ("f_ext",))
    return StraightLine(task, Specialised(task), CPU, LANES)


def module() -> str:
    return plan().text(LANES)


def assembly() -> str:
    """The same lines after the sine, in machine code."""
    llvm = jit._llvm()
    with jit.lock, llvm.parse_assembly(module()) as parsed:
        lines = str(jit._machine(CPU, TARGET).emit_assembly(parsed)).partition("kernel:")[2].splitlines()
    end = next(number for number, line in enumerate(lines) if line.endswith("(%rcx)"))
    begin = max(number for number, line in enumerate(lines[:end]) if "vpand" in line) + 2
    return block("\n".join(line.strip().expandtabs(14) for line in lines[begin : end + 1]))


def block(lines: str) -> str:
    return f"```text\n{lines.strip()}\n```"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="into docs/inside.md")
    options = parser.parse_args()
    for name, listing in {**listings(), "assembly": assembly()}.items():
        print(f"{name}\n{listing}\n")
        if options.write:
            pages.put(PAGE, name, listing)


if __name__ == "__main__":
    main()
