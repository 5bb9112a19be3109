"""Exported C beside linkwork's own code for one state, and beside the C that CasADi generates for the same function.

    python benchmarks/export.py [--write]

Needs gcc; CasADi's rows need its package, whose symbols run through the algorithm's same text (``lw.evaluate``) and
whose own derivatives are taken. Times are the best of many on this machine; ``--write`` puts the table into
docs/export.md. Sizes are of gcc -O3 -march=native; stack is that of the function and of the deepest that it calls.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw

FLAGS = "-std=c99 -O3 -march=native -ffp-contract=off -fno-math-errno -fPIC -shared -fstack-usage".split()
ROBOTS = {"panda": False, "g1_29dof_rev_1_0": True}
FUNCTIONS = {"forward_dynamics": 1, "forward_dynamics_derivatives": 3}
PAGE = Path(__file__).resolve().parents[1] / "docs" / "export.md"
BEGIN, END = "<!-- times -->", "<!-- end of times -->"


def best(call: Callable[[], object], count: int, seconds: float = 0.6) -> float:
    """The shortest time of a call (s), of many runs of ``count`` calls."""
    found, end = np.inf, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(count):
            call()
        found = min(found, (time.perf_counter() - start) / count)
    return float(found)


def compiled(folder: Path, source: str) -> tuple[Any, float, int, int]:
    """A library by gcc, the seconds that gcc took, the bytes of its code, and the bytes of its stack."""
    children = _children()
    subprocess.run(["gcc", *FLAGS, source, "-lm", "-o", "library.so"], cwd=folder, check=True)
    seconds = _children() - children
    sections = subprocess.run(["size", "library.so"], cwd=folder, capture_output=True, text=True, check=True).stdout
    frames = sorted(int(line.split("\t")[1]) for su in folder.glob("*.su") for line in su.read_text().splitlines())
    return ctypes.CDLL(str(folder / "library.so")), seconds, int(sections.splitlines()[1].split()[0]), sum(frames[-2:])


def _children() -> float:
    import resource

    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


def pointer(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def row(robot: str, floating: bool, function: str, results: int, states: int = 64) -> list[str]:
    model = lw.load(robot, floating_base=floating)
    q, v = lw.random_state(model, 0, shape=states)
    tau = np.random.default_rng(1).normal(size=(states, model.nv))
    call = getattr(lw, function)
    expected = call(model, q, v, tau)
    out = call(model, q[0], v[0], tau[0])
    own = best(lambda: call(model, q[0], v[0], tau[0], out=out), 50)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        lw.export(function, folder, model=model, name="f")
        exported = time.perf_counter() - start
        library, seconds, size, stack = compiled(Path(folder), "f.c")
        shape = (states, model.nv) if results == 1 else (states, model.nv, model.nv)
        arrays = [q, v, tau, *(np.empty(shape) for _ in range(results)), np.empty(200_000)]
        given = [ctypes.c_size_t(states), *map(pointer, arrays), None]
        assert library.f_batch(*given) == 0
        for mine, other in zip(arrays[3:-1], expected if results > 1 else [expected], strict=True):
            assert np.allclose(mine, other, rtol=0.0, atol=1e-8 * abs(other).max())
        mine = best(lambda: library.f_batch(*given), 1) / states
    other = casadi_time(model, function, q, v, tau, expected if results > 1 else [expected])
    times = [f"{1e6 * mine:.2f}", f"{1e6 * own:.2f}", "-" if other is None else f"{1e6 * other:.2f}"]
    return [robot, function, *times, f"{size / 1e3:.0f}", f"{stack / 1e3:.1f}", f"{exported:.1f}", f"{seconds:.1f}"]


def casadi_time(model: lw.Model, function: str, q: Any, v: Any, tau: Any, expected: Any) -> float | None:
    """Of CasADi's C for a state; None if it is not installed."""
    try:
        import casadi as ca
    except ImportError:
        return None
    symbols = [ca.SX.sym(name, size) for name, size in (("q", model.nq), ("v", model.nv), ("tau", model.nv))]
    a = ca.vertcat(*[ca.SX(x) for x in np.ravel(lw.evaluate("forward_dynamics", model, *symbols)).tolist()])
    if function == "forward_dynamics":
        results = [a]
    elif model.nq == model.nv:
        results = [ca.densify(ca.jacobian(a, x)).T for x in symbols]  # CasADi stores columns
    else:  # in the tangent space of q, as linkwork's are
        step = ca.SX.sym("dq", model.nv)
        moved = ca.vertcat(*np.ravel(lw.evaluate("integrate", model, symbols[0], step)).tolist())
        along = ca.jacobian(a, symbols[0]) @ ca.substitute(ca.jacobian(moved, step), step, ca.SX.zeros(model.nv))
        results = [ca.densify(x).T for x in (along, ca.jacobian(a, symbols[1]), ca.jacobian(a, symbols[2]))]
    with tempfile.TemporaryDirectory() as folder:
        made = ca.Function("g", symbols, results)
        generator = ca.CodeGenerator("g.c", {"with_header": False})
        generator.add(made)
        generator.generate(f"{folder}/")
        library, *_ = compiled(Path(folder), "g.c")
        work = np.empty(max(1, made.sz_w()))
        numbers = [np.empty(result.numel()) for result in results]
        arguments = (ctypes.c_void_p * max(3, made.sz_arg()))(*[each.ctypes.data for each in (q[0], v[0], tau[0])])
        into = (ctypes.c_void_p * max(len(numbers), made.sz_res()))(*[each.ctypes.data for each in numbers])
        given = arguments, into, (ctypes.c_longlong * max(1, made.sz_iw()))(), pointer(work), 0
        library.g(*given)
        for mine, other in zip(numbers, expected, strict=True):
            assert np.allclose(mine, np.ravel(other[0]), rtol=0.0, atol=1e-7 * abs(other[0]).max())
        return best(lambda: library.g(*given), 20)


HEAD = ["robot", "function", "exported C, µs", "own code, µs", "CasADi's C, µs", "code, kB", "stack, kB", "export, s",
        "gcc -O3, s"]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true", help="put the table into docs/export.md")
    parser.add_argument("--robot", action="append", choices=[*ROBOTS])
    options = parser.parse_args()
    rows = [
        row(robot, floating, function, results)
        for robot, floating in ROBOTS.items()
        if not options.robot or robot in options.robot
        for function, results in FUNCTIONS.items()
    ]
    lines = ["| " + " | ".join(each) + " |" for each in [HEAD, ["---"] * len(HEAD), *rows]]
    print("\n".join(lines))
    if options.write:
        text = PAGE.read_text(encoding="utf-8")
        before, after = text.partition(BEGIN)[0], text.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
