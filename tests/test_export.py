"""``lw.export``: what is exported computes the same bits elsewhere, says what went wrong, and is the same each time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from exported import COMPILERS, CROSS, STRICT, Library, a_compiler, built, needs, said, self_tested
from linkwork.compiled.repeating import repeat
from linkwork.engine.targets import pieces
from strategies import JOINTS, random_tree

DT = 0.004
BALL = lw.Builder(gravity=(0, 0, -10))
BALL.add_body("ball", joint=lw.joints.Free(), mass=2.0, inertia=(0.1, 0.1, 0.1))


def arm() -> lw.Model:
    return lw.mechanisms.serial_chain(3)


def text_of(folder: Path) -> str:
    return "".join(path.read_text() for path in sorted(folder.iterdir()))


# What is exported, in C


def halving(most: int) -> Any:
    def body(x: Any, step: Any) -> Any:
        return [x - step], x - step > 0.0

    def text(x: Any) -> Any:
        return repeat(body, [x], [np.ones(())], most=most, name="the halving")[0]

    return lw.compile(text, x=())


def elementary(x: Any, y: Any) -> Any:
    return {"a": np.sin(x) + np.exp(y) * np.arctan2(x, y), "b": np.sqrt(x * x + 1.0) ** 1.5 - np.log(2.0 + np.cos(y))}


EXPORTS: dict[str, Callable[[Path], object]] = {
    "forward_dynamics": lambda to: lw.export("forward_dynamics", to, model=arm(), inputs=["f_ext"], name="f"),
    "elementary": lambda to: lw.export(lw.compile(elementary, x=3, y=3), to, name="f"),
    "repeats": lambda to: lw.export(halving(10), to, name="f"),
    "contacts": lambda to: lw.export(
        "contact_dynamics", to, model=BALL.build(), contacts=[lw.Contact("ball", lw.Sphere(0.5))], name="f"
    ),
    "a step": lambda to: lw.export("step", to, model=arm(), dt=DT, joint_limits=True, method="virtual_work", name="f"),
    "a search": lambda to: lw.export(
        "inverse_kinematics", to, model=arm(), frames=["tip"], restarts=1, tolerance=1e-4, name="f"
    ),
}


@a_compiler
@pytest.mark.parametrize("what", EXPORTS)
def test_the_self_test_of_an_export_passes_bit_by_bit(what: str, tmp_path: Path) -> None:
    EXPORTS[what](tmp_path)
    for compiler in COMPILERS if what == "forward_dynamics" else COMPILERS[:1]:
        self_tested(tmp_path, "f", compiler)


@a_compiler
def test_code_with_loops_stays_code_with_loops(tmp_path: Path) -> None:
    sizes = []
    for count in (4, 60):
        with lw.form("looped"):
            chain = lw.mechanisms.serial_chain(count)
            law = lw.compile(partial(lw.inverse_dynamics, chain), q=(chain, "configuration"), v=count, a=count)
            lw.export(law, tmp_path / str(count), name="f")
        self_tested(tmp_path / str(count), "f")
        text = (tmp_path / str(count) / "f.c").read_text()
        sizes.append(text[text.index("f_loops0(") : text.index("int f(")].count("\n"))
    assert sizes[1] < 1.2 * sizes[0] and "for (ptrdiff_t" in text


@a_compiler
def test_long_programs_are_cut_into_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tmp_path / "whole"
    lw.export("forward_dynamics_derivatives", whole, model=arm(), name="f")
    monkeypatch.setattr(pieces.Pieces.__init__, "__defaults__", (True, 60))
    cut = tmp_path / "cut"
    lw.export("forward_dynamics_derivatives", cut, model=arm(), name="f")
    functions = [text.count("LW_APART static") for text in ((whole / "f.c").read_text(), (cut / "f.c").read_text())]
    assert functions[1] > functions[0] + 8
    self_tested(cut, "f")
    with lw.form("looped"):
        law = lw.compile(partial(lw.forward_dynamics, arm()), q=3, v=3, tau=3)
        lw.export(law, tmp_path / "loops", name="f")
    assert (tmp_path / "loops" / "f.c").read_text().count("LW_APART static") > 5
    self_tested(tmp_path / "loops", "f")


@a_compiler
def test_batches_and_many_steps_are_loops_around_one(tmp_path: Path) -> None:
    model = arm()
    lw.export("step", tmp_path, model=model, dt=DT, name="f")
    f = Library(tmp_path, "f")
    q, v = lw.random_state(model, 3, shape=5)
    tau = np.linspace(-1.0, 1.0, 15).reshape(5, 3)
    rolled = lw.rollout(model, q, v, tau[:, None], dt=DT, steps=20)
    for k in range(5):
        state = [q[k].copy(), v[k].copy(), np.zeros(2)]
        assert f.repeated("run", 20, *state, tau[k]) == (0, 12345)
        assert np.array_equal(state[0], rolled.q[k, -1]) and np.array_equal(state[1], rolled.v[k, -1])
        assert state[2][0] == 20.0
    after = np.empty((5, 3)), np.empty((5, 3)), np.empty((5, 2))
    assert f.repeated("batch", 5, q, v, np.zeros((5, 2)), tau, *after) == (0, 12345)
    assert np.array_equal(after[0], rolled.q[:, 1])
    v[3, 1] = np.inf
    status, where = f.repeated("batch", 5, q, v, np.zeros((5, 2)), tau, *after)
    assert where == 3 and f.says(status) == f"argument v[1], of joint {model.joint_names[1]!r}, is not finite"
    state = [q[3], np.array([1e200, 1e200, 1e200]), np.zeros(2)]
    status, where = f.repeated("run", 20, *state, tau[3])
    assert status and where < 20 and f.says(status).startswith("result ")


@a_compiler
def test_a_status_says_what_went_wrong(tmp_path: Path) -> None:
    builder = lw.Builder()
    builder.add_body("link", joint=lw.joints.Revolute(lw.spatial.Y), mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.add_body('lose "end"', parent="link", joint=lw.joints.Prismatic(lw.spatial.Z), mass=0.0)
    builder.add_body("held", parent="link", joint=lw.joints.Revolute(lw.spatial.X), mass=1.0, inertia=(0.1, 0.1, 0.1))
    lw.export("inverse_dynamics", tmp_path / "id", model=builder.build(), name="f")
    f = Library(tmp_path / "id", "f")
    numbers = [np.zeros(3) for _ in range(4)]
    assert f(*numbers) == 0 and f.says(0) == "fine"
    numbers[2][2] = np.nan
    assert f.says(f(*numbers)) == "argument a[2], of joint 'joint_held', is not finite"
    assert f.says(-1) == f.says(10_000) == "no status of this function"


@a_compiler
@pytest.mark.parametrize("target", ["c99", "object"])
def test_a_status_names_the_problem_that_was_not_solved(target: str, tmp_path: Path) -> None:
    """Also where a comparison hides the NaN."""
    law = lw.compile(lambda x: np.where(halving(3)(x) < 9.0, 1.0, 0.0), x=())
    lw.export(law, tmp_path, target, name="f")
    f = Library(tmp_path, "f", ["f.o"] if target == "object" else [])
    result, unsolved = np.zeros(1), "the halving did not converge"
    assert f(np.array([2.5]), result) == 0 and result[0] == 1.0
    assert f.says(f(np.array([3.5]), result)) == unsolved
    assert f.says(f(np.array([np.inf]), result)) == "argument x is not finite"
    many, results = np.full(21, 0.5), np.zeros(21)
    assert f.repeated("batch", 21, many, results) == (0, 12345)
    many[[18, 20]] = 3.5
    status, where = f.repeated("batch", 21, many, results)
    assert f.says(status) == unsolved and where == 18


@needs("node", "cc")
def test_python_modules_and_webassembly_name_the_problem_too(tmp_path: Path) -> None:
    for target in ("python", "wasm"):
        lw.export(halving(3), tmp_path / target, target, name="g")
    script = "import g\ntry:\n    g.g([1.0, 7.0])\nexcept g.SingularError as error:\n    print(error)"
    expected = "the halving did not converge"
    assert said([sys.executable, "-c", script], tmp_path / "python") == f"{expected} in state [1] of the batch\n"
    (tmp_path / "wasm" / "go.mjs").write_text(
        'import { load } from "./g.js";\nconst g = await load();\n'
        "for (const call of [() => g.g([7]), () => g.batch(3, [1, 2, 7])])\n"
        "  try { call(); } catch (error) { console.log(error.message); }\n"
    )
    assert said(["node", "go.mjs"], tmp_path / "wasm") == f"{expected}\n{expected}\n"


@a_compiler
@pytest.mark.parametrize("target", ["c99", "object"])
def test_a_singular_joint_is_named(target: str, tmp_path: Path) -> None:
    builder = lw.Builder()
    builder.add_body("link", joint=lw.joints.Revolute(lw.spatial.Y), mass=1.0, inertia=(0.1, 0.1, 0.1))
    offset = lw.placement(xyz=(0, 0, 1))
    builder.add_body("turn", parent="link", joint=lw.joints.Revolute(lw.spatial.X), mass=1e-9, placement=offset)
    point = {"mass": 1.0, "placement": lw.placement(xyz=(0, 0, 0.5))}
    builder.add_body("slide", parent="turn", joint=lw.joints.Prismatic(lw.spatial.Z), **point)
    model = builder.build()
    lw.export("forward_dynamics", tmp_path, target, model=model, name="f")
    f = Library(tmp_path, "f", ["f.o"] if target == "object" else [])
    q, none, qdd = np.array([0.3, 0.2, -0.5]), np.zeros(3), np.zeros(3)
    with pytest.raises(lw.SingularError, match=model.joint_names[1]):  # the point is on the axis that it turns about
        lw.forward_dynamics(model, q, none, none)
    assert f.says(f(q, none, none, qdd)) == f"joint '{model.joint_names[1]}' can move without moving any inertia"
    assert f(np.array([0.3, 0.2, 0.1]), none, none, qdd) == 0


@a_compiler
def test_any_names_of_arguments_and_results_become_names_of_c(tmp_path: Path) -> None:
    def law(double: Any, restrict: Any, states: Any, λ: Any, lw_bits: Any, law_status: Any, sin: Any) -> Any:
        more = {"law": law_status + sin, "sizes": sin * sin}
        return {"double": double + restrict, "k": states * λ, "a b": lw_bits, "result": -λ, "memory": states, **more}

    lw.export(lw.compile(law, double=2, restrict=2, states=(), λ=(), lw_bits=1, law_status=1, sin=1), tmp_path)
    self_tested(tmp_path, "law")
    built([*("g++ -std=c++20 -Wall -Wextra -Werror -pedantic -fsyntax-only -x c++").split(), "law.h"], tmp_path)


@a_compiler
def test_names_of_macros_and_of_the_library_of_c_are_no_problem(tmp_path: Path) -> None:
    def law(NAN: Any, linux: Any, y0: Any, M_PI: Any, isnan: Any, stdin: Any) -> Any:
        return {"INFINITY": NAN + linux + y0, "errno": M_PI + isnan, "exp": stdin + 1.0, "unix": 2.0 * y0}

    names = ("NAN", "linux", "y0", "M_PI", "isnan", "stdin")
    lw.export(lw.compile(law, **dict.fromkeys(names, ())), tmp_path)  # type: ignore[arg-type]
    built([COMPILERS[0], "-std=gnu11", "-ffp-contract=off", "law.c", "law_test.c", "-lm", "-o", "t"], tmp_path)
    assert "bit by bit: passed" in said(["./t"], tmp_path)


@needs("g++")
def test_the_header_serves_cpp_with_spans(tmp_path: Path) -> None:
    lw.export("energy", tmp_path, model=arm(), name="f")
    (tmp_path / "main.cpp").write_text(
        '#include "f.h"\n#include <array>\n#include <cstdio>\nint main() {\n'
        "  std::array<double, 3> q{0.1, 0.2, 0.3}, v{1, 2, 3};\n  std::array<double, 1> kinetic, potential;\n"
        "  std::array<double, f_size_workspace> workspace;\n"
        "  if (f(q, v, kinetic, potential, workspace)) return 1;\n"
        '  std::printf("%.17g", kinetic[0] + potential[0]);\n}\n'
    )
    built(["gcc", *STRICT, "-c", "f.c"], tmp_path)
    built([*"g++ -std=c++20 -Wall -Wextra -Werror -pedantic main.cpp f.o -o main".split()], tmp_path)
    kinetic, potential = lw.energy(arm(), [0.1, 0.2, 0.3], [1, 2, 3])
    assert float(said(["./main"], tmp_path)) == float(kinetic + potential)


@needs("gcc")
def test_sanitizers_find_nothing(tmp_path: Path) -> None:
    EXPORTS["contacts"](tmp_path)
    self_tested(tmp_path, "f", "gcc", ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"])


@needs("gcc")
def test_fused_products_are_compared_within_a_tolerance(tmp_path: Path) -> None:
    if "fma" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("this CPU fuses nothing")
    EXPORTS["forward_dynamics"](tmp_path)
    built([*"gcc -std=gnu99 -O2 -mfma -ffp-contract=fast f.c f_test.c -lm -o self_test".split()], tmp_path)
    assert said(["./self_test"], tmp_path).endswith("within a tolerance: passed\n")


@needs("cmake")
def test_cmake_builds_and_tests_an_export(tmp_path: Path) -> None:
    lw.export("gravity_torques", tmp_path, model=arm(), name="f")
    said(["cmake", "-S", ".", "-B", "build"], tmp_path)
    said(["cmake", "--build", "build"], tmp_path)
    assert "passed" in said(["ctest", "-V", "--test-dir", "build"], tmp_path)


# Other targets


@a_compiler
@pytest.mark.parametrize("form", ["straight", "looped"])
def test_object_code_has_the_same_bits_in_one_state_and_in_tiles(form: str, tmp_path: Path) -> None:
    with lw.form(form):
        law = lw.compile(partial(lw.forward_dynamics, arm()), q=3, v=3, tau=3)
        lw.export(law, tmp_path, "object", name="f")
    built([COMPILERS[0], *STRICT, "f_test.c", "f.o", "-lm", "-o", "self_test"], tmp_path)
    assert "passed" in said(["./self_test"], tmp_path)


@pytest.mark.parametrize("triple", CROSS)
def test_object_code_runs_on_other_cpus(triple: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    compiler, emulator, cpu = CROSS[triple]
    request.applymarker(needs(compiler, emulator))
    for missing in (m for m in request.node.iter_markers("skipif") if m.args[0]):
        pytest.skip(missing.kwargs["reason"])
    lw.export("step", tmp_path, "object", model=arm(), dt=DT, triple=triple, cpu=cpu, name="f")
    built([compiler, *STRICT, "-static", "f_test.c", "f.o", "-lm", "-o", "self_test"], tmp_path)
    assert said([emulator, "./self_test"], tmp_path).endswith("bit by bit: passed\n")


@needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
def test_the_source_has_the_same_bits_on_another_cpu(tmp_path: Path) -> None:
    """Which fuses products with sums unless it is told not to."""
    lw.export("inverse_dynamics", tmp_path, model=arm(), name="f")
    command = ["aarch64-linux-gnu-gcc", "-std=c99", "-O1", "-static", "f.c", "f_test.c", "-lm", "-o", "self_test"]
    built(command, tmp_path)
    assert said(["qemu-aarch64", "./self_test"], tmp_path).endswith("bit by bit: passed\n")


@pytest.mark.parametrize(
    ("triple", "begins"),
    [
        ("thumbv7em", b"\x7fELF\x01"),
        ("arm64-apple-macosx", b"\xcf\xfa\xed\xfe"),
        ("x86_64-pc-windows-msvc", b"\x64\x86"),
    ],
)
def test_objects_of_systems_that_are_not_here(triple: str, begins: bytes, tmp_path: Path) -> None:
    lw.export("gravity_torques", tmp_path, "object", model=arm(), triple=triple, name="f")
    file = "f.obj" if "windows" in triple else "f.o"
    assert (tmp_path / file).read_bytes().startswith(begins)


@needs("cc")
def test_a_python_module_needs_numpy_alone(tmp_path: Path) -> None:
    model = arm()
    lw.export("step", tmp_path, "python", model=model, dt=DT, name="arm_step")
    said([sys.executable, "arm_step.py"], tmp_path)
    q, v = lw.random_state(model, 1, shape=(2, 2))
    script = (
        "import sys, numpy as np, arm_step as m\n"
        f"q, v = np.array({q.tolist()}), np.array({v.tolist()})\n"
        "after = m.arm_step(q, v, np.zeros(2), np.ones(3))\n"
        "print(after[0].tobytes().hex(), m.run(7, q[0, 0], v[0, 0], np.zeros(2), np.ones(3))[0].tobytes().hex())\n"
        "for bad in (q * np.nan, q[..., :2]):\n"
        "    try:\n        m.arm_step(bad, v, np.zeros(2), np.ones(3))\n"
        "    except ValueError as error:\n        print(error)\n"
        "assert not any(name.startswith(('linkwork', 'llvmlite')) for name in sys.modules)\n"
    )
    one, seven, *errors = said([sys.executable, "-c", script], tmp_path).replace(" ", "\n", 1).splitlines()
    rolled = lw.rollout(model, q, v, np.ones((1, 3)), dt=DT, steps=7)
    assert one == rolled.q[..., 1, :].tobytes().hex() and seven == rolled.q[0, 0, 7].tobytes().hex()
    assert "argument q[0]" in errors[0] and "state [0, 0]" in errors[0] and "shape (..., 3)" in errors[1]


@needs("node")
@pytest.mark.parametrize("what", ["forward_dynamics", "a search"])
def test_webassembly_has_the_same_bits(what: str, tmp_path: Path) -> None:
    options = {"frames": ["tip"], "restarts": 1, "tolerance": 1e-4} if what == "a search" else {}
    function = "inverse_kinematics" if what == "a search" else what
    lw.export(function, tmp_path, "wasm", model=arm(), name="f", **options)
    assert " 0 numbers with other bits: passed" in said(["node", "f_test.mjs"], tmp_path)


@needs("node")
def test_long_programs_are_cut_in_webassembly_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lw.export("forward_dynamics", tmp_path / "whole", "wasm", model=arm(), name="f")
    monkeypatch.setattr(pieces.Pieces.__init__, "__defaults__", (True, 60))
    lw.export("forward_dynamics", tmp_path / "cut", "wasm", model=arm(), name="f")
    whole, cut = ((tmp_path / which / "f.wasm").read_bytes() for which in ("whole", "cut"))
    assert len(cut) > 1.05 * len(whole)
    assert " 0 numbers with other bits: passed" in said(["node", "f_test.mjs"], tmp_path / "cut")


@needs("node")
def test_a_step_in_webassembly_is_repeated(tmp_path: Path) -> None:
    model = arm()
    lw.export("step", tmp_path, "wasm", model=model, dt=DT, name="f")
    (tmp_path / "go.mjs").write_text(
        'import { load } from "./f.js";\nconst f = await load();\n'
        "f.arrays.q.set([0.1, 0.2, 0.3]);\nf.arrays.v.set([1, -2, 3]);\n"
        "const status = f.run(25);\nf.arrays.q[0] = f.arrays.q[0];\n"
        "console.log(JSON.stringify([status, [...f.arrays.q], f.status(1)]));\n"
        "try { f.f([1], [0, 0, 0], [0, 0], [0, 0, 0]); } catch (error) { console.log(error.message); }\n"
    )
    numbers, error = said(["node", "go.mjs"], tmp_path).splitlines()
    rolled = lw.rollout(model, [0.1, 0.2, 0.3], [1, -2, 3], dt=DT, steps=25)
    assert json.loads(numbers) == [
        0,
        rolled.q[-1].tolist(),
        f"argument q[0], of joint '{model.joint_names[0]}', is not finite",
    ]
    assert error == "q must have 3 numbers, not 1"


# Provenance, folders, errors


def test_an_export_says_where_it_comes_from_and_is_the_same_each_time(tmp_path: Path) -> None:
    model = lw.mechanisms.double_pendulum()
    files = lw.export("energy", tmp_path / "a", model=model)
    lw.export("energy", tmp_path / "b", model=model)
    assert text_of(tmp_path / "a") == text_of(tmp_path / "b")
    about = json.loads((tmp_path / "a" / "export.json").read_text())
    assert sorted(about["files"]) == [path.name for path in files] == sorted(p.name for p in (tmp_path / "a").iterdir())
    assert about["linkwork"] == lw.__version__ and len(about["trace"]) == len(about["model"]) == 64
    for path in files:
        text = path.read_text()
        assert about["trace"][:16] in text and about["model"][:16] in text and lw.__version__ in text
    lw.export("energy", tmp_path / "c", model=model.with_gravity((0, 0, -1)))
    other = json.loads((tmp_path / "c" / "export.json").read_text())
    assert other["trace"] != about["trace"] and other["model"] != about["model"]


def test_objects_are_the_same_each_time(tmp_path: Path) -> None:
    for to in ("a", "b"):
        lw.export("energy", tmp_path / to, "object", model=arm(), name="f", triple="aarch64-linux-gnu")
    assert (tmp_path / "a" / "f.o").read_bytes() == (tmp_path / "b" / "f.o").read_bytes()


def test_a_folder_is_that_of_an_export_or_its_own(tmp_path: Path) -> None:
    lw.export("energy", tmp_path / "x", model=arm(), name="f")
    (tmp_path / "x" / "build").mkdir()
    lw.export("energy", tmp_path / "x", model=arm(), name="g")
    assert not (tmp_path / "x" / "f.c").exists() and (tmp_path / "x" / "build").is_dir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("")
    with pytest.raises(lw.ArgumentError, match=r"other files, such as 'thesis\.txt'"):
        lw.export("energy", tmp_path / "other", model=arm())
    with pytest.raises(lw.ArgumentError, match="is a file"):
        lw.export("energy", tmp_path / "other" / "thesis.txt", model=arm())


def law(q: Any) -> Any:
    return 2.0 * q


WRONG: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
    (("energy",), {"target": "fortran"}, "target must be one of 'c99', 'object'"),
    (("energy",), {"model": None}, "exported for a mechanism"),
    (("fly",), {}, "no function to export named 'fly'"),
    (("simulate",), {}, "simulate cannot be exported: it calls Python"),
    (("load",), {}, "it reads files"),
    ((law,), {"model": None}, "law is a Python function, which cannot be exported; make it one of lw.compile"),
    ((3,), {"model": None}, "must be one of lw.compile"),
    (("energy",), {"name": "int"}, "name must not be 'int'"),
    (("energy",), {"name": "exp"}, "name must not be 'exp'"),
    (("energy",), {"name": "HUGE_VAL"}, "name must not be 'HUGE_VAL'"),
    (("energy",), {"name": "q"}, "name 'q' collides with the name of an argument"),
    (("energy",), {"name": "two words"}, "identifier of C"),
    (("energy",), {"name": "a__b"}, "single underscores"),
    (("energy",), {"triple": "aarch64-linux-gnu"}, "triple and cpu are of the targets"),
    (("energy",), {"target": "object", "triple": "pdp11-dec-unix"}, "LLVM has no machine for triple"),
    (("energy",), {"target": "object", "triple": 7}, "triple must be a name"),
    (("energy",), {"target": "object", "cpu": "i8080"}, "LLVM has no CPU 'i8080'"),
    (("energy",), {"target": "object", "triple": "x86_64-linux-gnu", "cpu": "i386"}, "no code for CPU 'i386'"),
    (("energy",), {"target": "object", "triple": "x86_64-linux-gnu", "cpu": "help"}, "LLVM has no CPU 'help'"),
    (("energy",), {"target": "object", "triple": "avr"}, "LLVM makes no object code of this function"),
    (("energy",), {"colour": 1}, "energy has no option 'colour'; it has q, v"),
    (("energy",), {"target": "shared", "triple": "arm64-apple-macosx"}, "target 'shared' makes ELF libraries"),
    (("energy",), {"q": [0.0]}, "q is an argument of the exported function"),
    (("energy",), {"inputs": ["f_ext"]}, "energy has no optional argument 'f_ext'"),
    (("step",), {}, "a step needs dt"),
    (("step",), {"dt": 0.01, "policy": law}, "policy cannot be exported: a policy is a Python function"),
    (("step",), {"dt": 0.01, "torque": law}, "torque is a Python function"),
    (("step",), {"dt": 0.01, "colour": 1}, "no option 'colour'"),
    (("inverse_kinematics",), {}, "needs frames"),
]


@pytest.mark.parametrize(("given", "options", "message"), WRONG)
def test_what_cannot_be_exported_is_refused_by_name(
    given: tuple[Any, ...], options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(lw.LinkworkError) as error:
        lw.export(given[0], tmp_path / "x", **{"model": arm(), **options})
    assert message in str(error.value)
    assert not (tmp_path / "x").exists()


def test_functions_without_arguments_or_results(tmp_path: Path) -> None:
    constant = lw.compile(lambda: np.array([1.0, -0.0, 2.0]))
    lw.export(constant, tmp_path / "c", name="f")
    if COMPILERS:
        self_tested(tmp_path / "c", "f")
    nothing = lw.compile(lambda x: 2.0 * x, x=(0,))
    with pytest.raises(lw.ArgumentError, match="f has no results"):
        lw.export(nothing, tmp_path / "nothing", name="f")


def test_options_belong_to_functions_by_name(tmp_path: Path) -> None:
    made = lw.compile(law, q=2)
    with pytest.raises(lw.ArgumentError, match="frames is an option"):
        lw.export(made, tmp_path / "x", frames=["tip"])
    with pytest.raises(lw.ArgumentError, match="model belongs to functions"):
        lw.export(made, tmp_path / "x", model=arm())


@a_compiler
def test_a_controller_is_exported_with_its_gains(tmp_path: Path) -> None:
    model = arm()
    controller = lw.control.ComputedTorque(model, [0.1, 0.2, 0.3], kp=30.0, kd=4.0)
    lw.export(controller, tmp_path, name="f")
    self_tested(tmp_path, "f")
    f, tau = Library(tmp_path, "f"), np.zeros(3)
    q, v = np.array([0.3, 0.1, -0.2]), np.array([1.0, 0.0, -1.0])
    assert f(np.zeros(1), q, v, tau) == 0
    assert np.allclose(tau, controller.torque(0.0, q, v), rtol=1e-12)


@a_compiler
@pytest.mark.later
@pytest.mark.parametrize("seed", range(200))
def test_exports_of_random_models_have_the_same_bits(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    model = random_tree(seed, JOINTS, 1 + seed % 6)
    frames = [model.frame_names[-1]]
    named: dict[str, dict[str, Any]] = {
        "forward_dynamics": {}, "inverse_dynamics": {}, "mass_matrix": {}, "forward_dynamics_derivatives": {},
        "inverse_dynamics_derivatives": {}, "jacobian": {"frames": frames}, "energy": {}, "momentum": {},
        "frame_acceleration": {"frames": frames}, "forward_dynamics_and_reactions": {}, "integrate": {},
        "step": {"dt": DT}, "torque_regressor": {}, "mass_matrix_inverse": {}, "difference": {},
    }  # fmt: skip
    function = [*named][seed % len(named)]
    with lw.form(("straight", "looped")[int(rng.integers(2))]):
        lw.export(function, tmp_path, model=model, name="f", **named[function])
    self_tested(tmp_path, "f", COMPILERS[seed % len(COMPILERS)], ["-O2" if seed % 10 == 0 else "-O0"])


def test_the_command_exports(tmp_path: Path) -> None:
    out = str(tmp_path / "x")
    command = [
        sys.executable,
        "-m",
        "linkwork",
        "export",
        "serial_chain:3",
        "step",
        "--option",
        "dt=0.01",
        "--out",
        out,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "serial_chain_step.c" in done.stdout, done.stderr
    lw.export("step", tmp_path / "here", model=arm(), dt=0.01)
    assert text_of(tmp_path / "x") == text_of(tmp_path / "here")  # in another process, the same bytes
