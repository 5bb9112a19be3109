"""Calls with plain arrays, which builtins serve: for every public function, in place, and without Python code."""

from __future__ import annotations

import doctest
import gc
import inspect
import operator
import os
import pickle
import pydoc
import sys
import threading
import weakref
from collections.abc import Callable
from dataclasses import replace
from functools import partial, reduce
from types import FrameType, FunctionType, MethodType
from typing import Any, NamedTuple

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics import dynamics
from linkwork.engine.emit import builtin, python_calls
from linkwork.engine.run import entries
from linkwork.joints import Free, Prismatic, Revolute, Spherical
from strategies import Array, random_tree, state_of

MODEL = random_tree(510, (Free(), Revolute((1.0, 2.0, 3.0)), Spherical(), Prismatic("x")), 5, name="served")
WHERE = ["f1", "post"]
POINT = lw.Point("f2", (0.1, 0.2, 0.3))
HALF = lw.Point("f4", axes="position")
TURN = lw.Point("f1", (0.1, 0.0, 0.0), axes="rotation")
WELD = [lw.PointOnPlane("f1", "world")]
FOOT = [lw.Weld(MODEL.body_names[0])]

Call = Callable[..., Any]
SERVED: dict[str, Call] = {
    "integrate": lambda s, **to: lw.integrate(MODEL, s.q, s.v, **to),
    "difference": lambda s, **to: lw.difference(MODEL, s.q, s.q[::-1].copy() if s.q.ndim > 1 else s.q, **to),
    "forward_kinematics": lambda s, **to: lw.forward_kinematics(MODEL, s.q, WHERE, **to),
    "jacobian": lambda s, **to: lw.jacobian(MODEL, s.q, WHERE, "world", **to),
    "jacobian of one": lambda s, **to: lw.jacobian(MODEL, s.q, "f1", **to),
    "jacobian_drift": lambda s, **to: lw.jacobian_drift(MODEL, s.q, s.v, WHERE, **to),
    "frame_velocity": lambda s, **to: lw.frame_velocity(MODEL, s.q, s.v, POINT, **to),
    "frame_acceleration": lambda s, **to: lw.frame_acceleration(MODEL, s.q, s.v, s.a, WHERE, **to),
    "inverse_dynamics": lambda s, **to: lw.inverse_dynamics(MODEL, s.q, s.v, s.a, **to),
    "inverse_dynamics with forces": lambda s, **to: lw.inverse_dynamics(MODEL, s.q, s.v, s.a, f_ext=s.f_ext, **to),
    "nonlinear_effects": lambda s, **to: lw.nonlinear_effects(MODEL, s.q, s.v, **to),
    "gravity_torques": lambda s, **to: lw.gravity_torques(MODEL, s.q, **to),
    "mass_matrix": lambda s, **to: lw.mass_matrix(MODEL, s.q, **to),
    "forward_dynamics": lambda s, **to: lw.forward_dynamics(MODEL, s.q, s.v, s.tau, **to),
    "forward_dynamics with forces": lambda s, **to: lw.forward_dynamics(MODEL, s.q, s.v, s.tau, s.f_ext, **to),
    "virtual_work": lambda s, **to: lw.forward_dynamics(MODEL, s.q, s.v, s.tau, method="virtual_work", **to),
    "reactions": lambda s, **to: lw.forward_dynamics_and_reactions(MODEL, s.q, s.v, s.tau, s.f_ext, **to),
    "energy": lambda s, **to: lw.energy(MODEL, s.q, s.v, **to),
    "momentum": lambda s, **to: lw.momentum(MODEL, s.q, s.v, **to),
    "centre_of_mass": lambda s, **to: lw.centre_of_mass(MODEL, s.q, **to),
    "force_responses": lambda s, **to: lw.force_responses(MODEL, s.q, WHERE, **to),
    "jacobian of three rows": lambda s, **to: lw.jacobian(MODEL, s.q, [HALF, TURN], **to),
    "drift of three rows": lambda s, **to: lw.jacobian_drift(MODEL, s.q, s.v, TURN, "world", **to),
    "velocities of three rows": lambda s, **to: lw.frame_velocity_derivatives(MODEL, s.q, s.v, ["f1", HALF], **to),
    "inertia of three rows": lambda s, **to: lw.operational_inertia_inverse(MODEL, s.q, [HALF, "f1"], "pv", **to),
    "operational_inertia": lambda s, **to: lw.operational_inertia(MODEL, s.q, HALF, damping=1.0, **to),
    "consistent inverse": lambda s, **to: lw.dynamically_consistent_inverse(MODEL, s.q, HALF, **to),
    "null_space_torque": lambda s, **to: lw.null_space_torque(MODEL, s.q, s.tau, HALF, **to),
    "operational_bias": lambda s, **to: lw.operational_bias(MODEL, s.q, s.v, HALF, **to),
    "effective_mass": lambda s, **to: lw.effective_mass(MODEL, s.q, HALF, s.v[..., :3].copy(), **to),
    "constrained_dynamics": lambda s, **to: lw.constrained_dynamics(MODEL, s.q, s.v, s.tau, WELD, **to),
    "constrained with forces": lambda s, **to: lw.constrained_dynamics(
        MODEL, s.q, s.v, s.tau, WELD[0], s.f_ext, stabilisation=0.05, **to
    ),
    "constrained reactions": lambda s, **to: lw.constrained_dynamics_and_reactions(
        MODEL, s.q, s.v, s.tau, WELD, frame="parent", **to
    ),
    "constrained inverse": lambda s, **to: lw.constrained_inverse_dynamics(MODEL, s.q, s.v, s.a, FOOT, **to),
    "constrained derivatives": lambda s, **to: lw.constrained_dynamics_derivatives(MODEL, s.q, s.v, s.tau, WELD, **to),
    "impact": lambda s, **to: lw.impact(MODEL, s.q, s.v, tuple(WELD), **to),
    "external_wrench": lambda s, **to: lw.external_wrench(
        MODEL, s.q, {"f1": s.f_ext[..., 0, :].copy(), POINT: s.f_ext[..., 1, :].copy()}, **to
    ),
    "linearise": lambda s, **to: lw.linearise(MODEL, s.q, s.v, s.tau, dt=0.01, **to),
    "linearise undriven": lambda s, **to: lw.linearise(MODEL, s.q, s.v, dt=0.01, damping=False, **to),
}
"""Calls that a builtin serves directly at the public function."""
OTHERS: dict[str, Call] = {
    "neutral": lambda s, **to: lw.neutral(MODEL, **to),
    "random_state": lambda s, **to: lw.random_state(MODEL, 3, s.q.shape[:-1], **to),
    "composite_body": lambda s, **to: lw.forward_dynamics(MODEL, s.q, s.v, s.tau, method="composite_body", **to),
    "operational_inertia_inverse": lambda s, **to: lw.operational_inertia_inverse(MODEL, s.q, ["f1"], **to),
    "reactions at a point": lambda s, **to: lw.inverse_dynamics_and_reactions(
        MODEL, s.q, s.v, s.a, s.f_ext, frame=POINT, **to
    ),
    "constrained_inverse_dynamics": lambda s, **to: lw.constrained_inverse_dynamics(
        MODEL, s.q, s.v, s.a, WELD, np.ones(MODEL.nv, dtype=bool), **to
    ),
}
BATCHES = ((), (1,), (3,), (2, 3), (70,))


def several(results: Any) -> tuple[Array, ...]:
    return results if isinstance(results, tuple) else (results,)


def empty_like(results: Any) -> Any:
    """Arrays of the same shapes, with other contents."""
    made = tuple(np.full(result.shape, 7.0) for result in several(results))
    return made if isinstance(results, tuple) else made[0]


def written_into(found: Any, out: Any) -> bool:
    """Whether ``out`` was returned: itself, or its arrays in a named tuple."""
    return found is out or (hasattr(found, "_fields") and all(map(operator.is_, found, out)))


@pytest.mark.parametrize("name", [*SERVED, *OTHERS])
def test_results_in_place_are_the_same(name: str) -> None:
    call = {**SERVED, **OTHERS}[name]
    for batch in BATCHES:
        s = state_of(MODEL, 5, batch)
        with lw.interpreted():
            expected = call(s)
            out = empty_like(expected)
            assert written_into(call(s, out=out), out)
        for _ in range(3):  # by Python, and then by a builtin if it serves this
            out = empty_like(expected)
            assert written_into(call(s, out=out), out)
            for mine, fresh, other in zip(several(out), several(call(s)), several(expected), strict=True):
                assert np.array_equal(mine, other) and np.array_equal(fresh, other)
                assert mine.shape == fresh.shape == other.shape


@pytest.mark.parametrize("name", [*SERVED, *OTHERS])
def test_an_out_that_does_not_fit_is_refused_before_anything_is_written(name: str) -> None:
    call = {**SERVED, **OTHERS}[name]
    s = state_of(MODEL, 6, () if name == "neutral" else (3,))
    results = several(call(s))

    def changed(change: Callable[[Array], Any]) -> Any:
        made = (*(np.full(r.shape, 7.0) for r in results[:-1]), change(np.full(results[-1].shape, 7.0)))
        return made if len(results) > 1 else made[0]

    def read_only(x: Array) -> Array:
        x.flags.writeable = False
        return x

    wrong: dict[str, tuple[Callable[[Array], Any], str]] = {
        "shape": (lambda x: np.full((*x.shape, 2), 7.0), "shape"),
        "more states": (lambda x: np.full((2, *x.shape), 7.0), "shape"),
        "dtype": (lambda x: x.astype(np.float32), "float64"),
        "order": (lambda x: np.repeat(x[..., None], 2, axis=-1)[..., 0], "contiguous"),
        "read_only": (read_only, "read-only"),
        "list": (lambda x: x.tolist(), "float64 array"),
        "subclass": (lambda x: np.ma.masked_array(x), "float64 array"),
    }
    for _ in range(2):
        call(s)
        for change, words in wrong.values():
            out = changed(change)
            with pytest.raises(lw.ArgumentError, match=rf"^out.*{words}"):
                call(s, out=out)
            assert all((np.asarray(x) == 7.0).all() for x in several(out))
        if len(results) > 1:
            for out in (results[0], results[:1], list(results), (*results, results[0])):
                with pytest.raises(lw.ArgumentError, match=f"out must be a tuple of {len(results)}"):
                    call(s, out=out)
            if results[0].shape == results[1].shape:
                with pytest.raises(lw.ArgumentError, match=r"out\[1\] must not overlap out\[0\]"):
                    call(s, out=(results[0], results[0], *results[2:]))


@pytest.mark.parametrize("name", [*SERVED, *OTHERS])
def test_an_out_that_overlaps_the_configuration_is_refused(name: str) -> None:
    """In code, in Python's checks, and where the argument must be copied."""
    if name in ("neutral", "random_state"):
        return
    call = {**SERVED, **OTHERS}[name]
    s = state_of(MODEL, 6, (3,))
    results = several(call(s))
    for _ in range(2):
        call(s)
        for kind in (np.float64, np.float32):
            memory = np.full(max(s.q.size, results[-1].size), 7.0)
            q = memory.view(kind)[: s.q.size].reshape(s.q.shape)
            q[...] = s.q
            before = memory.copy()
            out = (
                *(np.full(r.shape, 7.0) for r in results[:-1]),
                memory[: results[-1].size].reshape(results[-1].shape),
            )
            with pytest.raises(lw.ArgumentError, match=r"^out.* must not overlap q"):
                call(replace(s, q=q), out=out if len(results) > 1 else out[0])
            assert np.array_equal(memory, before) and all((x == 7.0).all() for x in out[:-1])


def test_an_out_that_overlaps_an_argument_is_refused() -> None:
    memory = np.zeros(100)
    q = memory[: MODEL.nq]
    q[:] = state_of(MODEL, 7).q
    before = memory.copy()
    for _ in range(3):
        lw.gravity_torques(MODEL, q)
        with pytest.raises(lw.ArgumentError, match="out must not overlap q"):  # nor one that has to be copied
            lw.gravity_torques(MODEL, memory[: 2 * MODEL.nq : 2], out=memory[: MODEL.nv])
        for first in (0, MODEL.nq - 1):
            with pytest.raises(lw.ArgumentError, match="out must not overlap q"):
                lw.gravity_torques(MODEL, q, out=memory[first : first + MODEL.nv])
        assert np.array_equal(memory, before)
        lw.gravity_torques(MODEL, q, out=memory[MODEL.nq : MODEL.nq + MODEL.nv])
        memory[:] = before


def test_an_out_for_fewer_states_is_refused() -> None:
    """Without accessing axes that it does not have."""
    s = state_of(MODEL, 6, (2, 3))
    for _ in range(3):
        lw.energy(MODEL, s.q, s.v)
        for shape in ((), (3,), (1,)):
            with pytest.raises(lw.ArgumentError, match=r"out\[0\] must be a float64 array of shape \(2, 3\)"):
                lw.energy(MODEL, s.q, s.v, out=(np.empty(shape), np.empty(shape)))
            with pytest.raises(lw.ArgumentError, match=r"out must be a float64 array of shape \(2, 3, 9\)"):
                lw.gravity_torques(MODEL, s.q, out=np.empty((*shape, 9)))


LIBRARY = os.path.dirname(lw.__file__)


def calls_in_python(call: Callable[[], Any]) -> list[str]:
    """The functions of the library that run while a call lasts; not those of a garbage collection."""
    found: list[str] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(LIBRARY):
            found.append(frame.f_code.co_name)

    gc.disable()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        gc.enable()
    return found


CHECKS = {"call", "attempt", "as_given", "as_batch", "all_converted", "run"}
"""Functions of the checked path."""


def is_direct(call: Callable[[], Any]) -> bool:
    """Whether a call goes to the code in a few lines of Python."""
    found = [name for name in calls_in_python(call) if name != "__hash__"]
    return len(found) < 8 and not CHECKS.intersection(found)


@pytest.mark.usefixtures("builtins")
@pytest.mark.parametrize("name", SERVED)
def test_no_check_in_python_stands_before_the_code(name: str) -> None:
    for batch in BATCHES:
        s = state_of(MODEL, 8, batch)
        out = empty_like(SERVED[name](s))
        SERVED[name](s, out=out)
        SERVED[name](s)  # points are kept the second time
        for to in ({}, {"out": out}):
            assert is_direct(lambda to=to, s=s: SERVED[name](s, **to)), batch  # type: ignore[misc]


@pytest.mark.usefixtures("builtins")
def test_no_check_in_python_stands_before_the_code_of_a_compiled_function() -> None:
    law = lw.compile(lambda q, v: lw.gravity_torques(MODEL, q) - 2.0 * v, q=MODEL.nq, v=MODEL.nv)
    several = lw.compile(lambda x: (2.0 * x, x @ x), x=3)
    for batch in BATCHES:
        s, x = state_of(MODEL, 8, batch), np.ones((*batch, 3))
        out, outs = np.empty_like(s.v), (np.empty_like(x), np.empty(batch))
        calls: list[Callable[[], Any]] = [
            *(partial(law, s.q, s.v), partial(law, s.q, s.v, out=out)),
            *(partial(law, s.q, v=s.v), partial(law, v=s.v, q=s.q), partial(law, out=out, v=s.v, q=s.q)),
            *(partial(several, x), partial(several, x, out=outs)),
        ]  # fmt: skip
        for call in calls:
            call()
            assert is_direct(call), batch
        assert law(s.q, s.v, out=out) is out and several(x, out=outs) is outs
        assert np.array_equal(out, law(v=s.v, q=s.q)) and np.array_equal(out, law(s.q.tolist(), s.v))
    assert str(inspect.signature(law)) == "(q, v, *, out=None)"
    with lw.interpreted():
        assert "attempt" in calls_in_python(lambda: law(s.q, s.v))


class Pair(NamedTuple):
    one: Any
    other: Any


class Own(Pair):
    """With a constructor of its own."""

    def __new__(cls, one: Any, other: Any) -> Own:
        made = super().__new__(cls, one, other)
        made.constructed = True  # type: ignore[attr-defined]
        return made


def test_a_named_tuple_is_made_by_its_own_constructor() -> None:
    law = lw.compile(lambda x: [Own(x, 2.0 * x)], x=2)
    for _ in range(3):
        (made,) = law(np.ones(2))
        assert made.constructed and made.other.tolist() == [2.0, 2.0]


@pytest.mark.usefixtures("builtins")
def test_compiled_functions_that_return_dicts() -> None:
    law = lw.compile(lambda x: {"a": [2.0 * x, (x,)], 7: {}, "b": {"c": Pair(x + 1.0, x), ("d",): ()}}, x=2)
    only = lw.compile(lambda x: {"a": 2.0 * x}, x=2)
    for x in (np.array([1.0, 2.0]), np.arange(6.0).reshape(3, 2)):
        for f in (law, only):
            for _ in range(2):
                f(x)
        assert not CHECKS.intersection(calls_in_python(lambda x=x: law(x)))  # type: ignore[misc]
        assert is_direct(lambda x=x: only(x))  # type: ignore[misc]
        found = law(x=x)
        assert repr(found) == repr({
            "a": [2.0 * x, (x,)], 7: {}, "b": {"c": Pair(x + 1.0, x), ("d",): ()}
        })  # fmt: skip
        assert [type(each) for each in (found["a"], found["a"][1], found["b"]["c"])] == [list, tuple, Pair]
        array = found["a"][0]
        references = sys.getrefcount(array)
        assert array is not law(x)["a"][0] and references == 3  # of the list, the variable, the call
        out = {"a": np.empty_like(x)}
        assert only(x, out=out) is out and np.array_equal(out["a"], only(x)["a"])
    deep = lw.compile(lambda x: reduce(lambda inside, _: {"in": inside}, range(200), x), x=2)
    for _ in range(3):
        result = deep(np.ones(2))
    for _ in range(200):
        result = result["in"]
    assert result.tolist() == [1.0, 1.0]


def test_a_result_that_cannot_be_put_together_is_an_error_and_leaks_nothing() -> None:
    class Key:
        hashable = True

        def __hash__(self) -> int:
            if not self.hashable:
                raise ValueError("no hash")
            return 1

    key, x = Key(), np.ones(2)
    law = lw.compile(lambda x: {"a": [2.0 * x], key: x}, x=2)
    for _ in range(3):
        assert law(x)[key].tolist() == [1.0, 1.0]
    before = sys.getrefcount(x), sys.getrefcount(key)
    key.hashable = False
    for _ in range(10):
        with pytest.raises(ValueError, match="no hash"):
            law(x)
    key.hashable = True
    assert (sys.getrefcount(x), sys.getrefcount(key)) == before


def test_wrong_arguments_of_a_compiled_function_are_errors() -> None:
    law = lw.compile(lambda x: 2.0 * x, x=2)
    for _ in range(3):
        assert law([1.0, 2.0]).tolist() == [2.0, 4.0]
    for wrong in ((), (np.ones(2), np.ones(2)), (np.ones(3),), ("x",), (None,)):
        with pytest.raises(lw.LinkworkError):
            law(*wrong)
    with pytest.raises(lw.ArgumentError, match="is no argument"):
        law(np.ones(2), outs=None)
    with pytest.raises(lw.ArgumentError, match="is given twice"):
        law(np.ones(2), x=np.ones(2))
    with pytest.raises(lw.ArgumentError, match="is no argument"):
        law(y=np.ones(2))
    with pytest.raises(AttributeError):
        type(law).__new__(type(law))(np.ones(2))
    other = pickle.loads(pickle.dumps(law))
    assert other(np.ones(2)).tolist() == law(np.ones(2)).tolist() == [2.0, 2.0]


def test_arguments_without_leading_axes_go_for_every_state() -> None:
    s = state_of(MODEL, 9, (6,))
    wanted = lw.forward_dynamics(MODEL, np.repeat(s.q[:1], 6, axis=0), s.v, np.repeat(s.tau[:1], 6, axis=0))
    for _ in range(2):
        assert np.array_equal(lw.forward_dynamics(MODEL, s.q[0], s.v, s.tau[0]), wanted)
    assert is_direct(lambda: lw.forward_dynamics(MODEL, s.q[0], s.v, s.tau[0]))
    one, many = s.q[:1], s.v[:, None]  # axes of length 1 broadcast as NumPy has it
    assert np.array_equal(lw.forward_dynamics(MODEL, one, s.v, s.tau[:1]), wanted)
    assert np.array_equal(lw.forward_dynamics(MODEL, one, many, s.tau[0]), wanted[:, None])
    assert np.array_equal(lw.forward_dynamics(MODEL, one[None, None], s.v, s.tau[0]), wanted[None, None])
    alone = lw.forward_dynamics(MODEL, one[None], s.v[0], s.tau[:1])
    assert alone.shape == (1, 1, MODEL.nv) and np.array_equal(alone[0, 0], wanted[0])


def test_states_after_whole_tiles_have_the_same_bits_however_they_are_done() -> None:
    """The code for one state does them one by one, if they are few."""
    s = state_of(MODEL, 12, (17,))
    alone = [lw.forward_dynamics_derivatives(MODEL, s.q[k], s.v[k], s.tau[3]) for k in range(17)]
    masses = [lw.mass_matrix(MODEL, q) for q in s.q]
    for k in (2, 17):
        lw.mass_matrix(MODEL, s.q[:k])
        lw.forward_dynamics_derivatives(MODEL, s.q[:k], s.v[:k], s.tau[3])
    entries = [entry for name in ("mass_matrix", "forward_dynamics_derivatives") for entry in entries_of(name)]
    tile, most = python_calls.ENTRY.indices(["tile", "alone"])
    lanes = next(plan for key, plan in MODEL._memo.plans.items() if key[0] == "mass_matrix" and key[4] == "auto").lanes
    for entry in entries:
        assert entry.words[tile] == lanes - 1 and entry.words[most] == lanes // 4
    for at_most in range(lanes):
        for entry in entries:
            entry.words[most] = at_most
        for states in (2, 5, 7, 9, 16, 17):
            out = tuple(np.full((states, MODEL.nv, MODEL.nv), np.nan) for _ in range(3))
            found = lw.forward_dynamics_derivatives(MODEL, s.q[:states], s.v[:states], s.tau[3])
            lw.forward_dynamics_derivatives(MODEL, s.q[:states], s.v[:states], s.tau[3], out=out)
            assert np.array_equal(lw.mass_matrix(MODEL, s.q[:states]), masses[:states])
            for k, (one, other) in enumerate(zip(found, out, strict=True)):
                assert np.array_equal(one, [each[k] for each in alone[:states]]) and np.array_equal(one, other)
        q = s.q.copy()
        q[-1, 0] = np.nan
        with pytest.raises(lw.ArgumentError, match=r"q\[16, 0\] .*is nan"):
            lw.mass_matrix(MODEL, q)


def entries_of(name: str) -> list[Any]:
    """Those of the model that most tests here use."""
    return entries.entries_of(MODEL._memo.quick[name])


def test_a_plan_that_is_busy_is_left_to_python() -> None:
    s = state_of(MODEL, 11, (4,))
    wanted = lw.momentum(MODEL, s.q, s.v)
    (plan,) = (plan for key, plan in MODEL._memo.plans.items() if key[0] == "momentum" and key[4] == "auto")
    plan.busy[0] = 1
    try:
        assert np.array_equal(lw.momentum(MODEL, s.q, s.v), wanted)
        assert plan.busy[0] == 1  # whoever set it takes it back
    finally:
        plan.busy[0] = 0
    assert np.array_equal(lw.momentum(MODEL, s.q, s.v), wanted) and plan.busy[0] == 0


def test_many_threads_with_their_own_arrays() -> None:
    """Batches that run without the GIL, of one plan, at once."""
    wrong: list[Any] = []
    states = [state_of(MODEL, 20 + k, (200,)) for k in range(4)]
    with lw.interpreted():
        wanted = [lw.mass_matrix(MODEL, s.q) for s in states]

    def work(k: int) -> None:
        out = np.empty_like(wanted[k])
        for _ in range(30):
            if not np.array_equal(lw.mass_matrix(MODEL, states[k].q, out=out), wanted[k]):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_method_of_other_dynamics_is_no_method() -> None:
    """The names of all algorithms are in one table; forward dynamics must not accept another's."""
    s = state_of(MODEL, 12)
    lw.inverse_dynamics(MODEL, s.q, s.v, s.a)
    with pytest.raises(lw.ArgumentError, match="method must be one of"):
        lw.forward_dynamics(MODEL, s.q, s.v, s.a, method="inverse_dynamics")
    with pytest.raises(lw.ArgumentError, match="method must be one of"):
        lw.forward_dynamics(MODEL, s.q, s.v, s.a, method=np.array(["a"]))  # type: ignore[arg-type]


def test_results_of_many_axes() -> None:
    """Those of more than NumPy 1 has are left to Python."""
    s = state_of(MODEL, 14, (2,))
    wanted = lw.mass_matrix(MODEL, s.q)
    for batch in [(2, *(1,) * 28)] + [(2, *(1,) * 38)] * (np.lib.NumpyVersion(np.__version__) >= "2.0.0"):
        q = s.q.reshape(*batch, MODEL.nq)
        for _ in range(2):
            found = lw.mass_matrix(MODEL, q)
            assert found.shape == (*batch, MODEL.nv, MODEL.nv) and found.flags.carray
            assert np.array_equal(found.reshape(wanted.shape), wanted)
        assert (MODEL._memo.quick["mass_matrix"](None, q) is None) == (len(batch) > 30)


def test_a_table_of_another_numpy_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_calls, "_ABI", (0x03000000,))
    python_calls.array_maker.cache_clear()
    builtin.available.cache_clear()
    assert python_calls.array_maker() is None and not builtin.available()
    monkeypatch.undo()
    python_calls.array_maker.cache_clear()
    builtin.available.cache_clear()
    assert python_calls.array_maker() and builtin.available()


# Public functions are plain functions


def test_a_public_function_is_a_plain_function() -> None:
    for function in (lw.forward_dynamics, lw.jacobian, lw.energy, lw.constrained_dynamics, lw.operational_inertia):
        assert isinstance(function, FunctionType) and not hasattr(function, "__wrapped__")
        assert list(inspect.signature(function).parameters)[:2] == ["model", "q"]
        assert inspect.getsource(function).startswith(f"def {function.__name__}(")
        assert pickle.loads(pickle.dumps(function)) is function
    helped = pydoc.plain(pydoc.render_doc(lw.energy))
    assert "Example:" in helped and "energy(model: 'Model'" in helped.replace("\n    model", "model")
    assert any("forward_dynamics" in test.name for test in doctest.DocTestFinder().find(dynamics))
    s = state_of(MODEL, 13)
    wanted = lw.gravity_torques(MODEL, s.q)
    for call in (partial(lw.gravity_torques, MODEL), MethodType(lw.gravity_torques, MODEL)):
        assert np.array_equal(call(s.q), wanted) and np.array_equal(call(q=s.q), wanted)
    with pytest.raises(lw.ArgumentError, match="model must be a linkwork Model"):
        MethodType(lw.gravity_torques, 3.0)(s.q)


def test_arguments_by_name_and_by_place_are_served_alike() -> None:
    s = state_of(MODEL, 14)
    wanted = [lw.forward_dynamics(MODEL, s.q, s.v, s.tau, s.f_ext), lw.jacobian(MODEL, s.q, WHERE, "world")]
    named = {"q": s.q, "v": s.v, "tau": s.tau, "f_ext": s.f_ext}
    calls: list[Callable[[], Any]] = [
        lambda: lw.forward_dynamics(MODEL, s.q, s.v, f_ext=s.f_ext, tau=s.tau, method="articulated_body"),
        lambda: lw.jacobian(reference="world", frames=tuple(WHERE), q=s.q, model=MODEL),
        lambda: lw.forward_dynamics(MODEL, **named),
        lambda: lw.jacobian(*(MODEL, s.q, WHERE), reference="world", out=None),
    ]
    for k, call in enumerate(calls):
        call()
        assert np.array_equal(call(), wanted[k % 2]) and is_direct(call)


def test_what_does_not_fit_the_parameters_is_pythons_own_error() -> None:
    s = state_of(MODEL, 15)
    lw.gravity_torques(MODEL, s.q)
    wrong: list[tuple[Callable[[], Any], str]] = [
        (lambda: lw.gravity_torques(), "missing 2 required"),  # type: ignore[call-arg]
        (lambda: lw.gravity_torques(MODEL), "missing 1 required"),  # type: ignore[call-arg]
        (lambda: lw.gravity_torques(MODEL, s.q, s.q), "takes 2 positional"),  # type: ignore[misc]
        (lambda: lw.gravity_torques(MODEL, s.q, q=s.q), "multiple values"),  # type: ignore[misc]
        (lambda: lw.gravity_torques(MODEL, s.q, depth=1), "unexpected keyword"),  # type: ignore[call-arg]
        (lambda: lw.gravity_torques(*[MODEL] * 50), "takes 2 positional"),  # type: ignore[arg-type]
    ]
    for call, words in wrong:
        with pytest.raises(TypeError, match=rf"gravity_torques\(\) .*{words}"):
            call()


def test_a_choice_of_another_class_is_left_to_python() -> None:
    class Name(str):
        def __hash__(self) -> int:
            raise RuntimeError("no hash")

    class Frames(list[Any]):
        pass

    s = state_of(MODEL, 16)
    wanted = lw.jacobian(MODEL, s.q, "f1", "world")
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no hash"):
            lw.jacobian(MODEL, s.q, "f1", Name("world"))
        assert np.array_equal(lw.jacobian(MODEL, s.q, Frames(["f1"]), "world"), wanted)
        for frames in (["f1"], ("f1",), "f1"):
            assert np.array_equal(lw.jacobian(MODEL, s.q, frames, "world"), wanted)
        with pytest.raises(lw.ArgumentError, match="frames must hold names"):
            lw.jacobian(MODEL, s.q, [("f1", "post")], "world")  # type: ignore[list-item]
        with pytest.raises(lw.ArgumentError, match="reference must be one of"):
            lw.jacobian(MODEL, s.q, "f1", ["world"])  # type: ignore[arg-type]


def test_choices_that_are_equal_are_told_apart_by_their_class() -> None:
    """A call is identified by its options, and 1.0, True and objects that claim to be equal are different ones."""

    class Equal:
        def __hash__(self) -> int:
            return hash("auto")

        def __eq__(self, other: object) -> bool:
            return True

    s = state_of(MODEL, 21)
    wanted = [lw.constrained_dynamics(MODEL, s.q, s.v, s.tau, WELD, proximal=x)[0] for x in (1.0, 0.0)]
    for _ in range(3):
        for own, proximal in zip(wanted, (1.0, 0.0), strict=True):
            assert np.array_equal(lw.constrained_dynamics(MODEL, s.q, s.v, s.tau, WELD, proximal=proximal)[0], own)
        for wrong in (True, "1.0", -1.0, None, np.array([1.0]), Equal()):
            with pytest.raises(lw.ArgumentError, match="proximal"):
                lw.constrained_dynamics(MODEL, s.q, s.v, s.tau, WELD, proximal=wrong)  # type: ignore[arg-type]
        lw.null_space_torque(MODEL, s.q, s.tau, HALF)
        with pytest.raises(lw.ArgumentError, match="method"):
            lw.null_space_torque(MODEL, s.q, s.tau, HALF, Equal())  # type: ignore[arg-type]
        for k, constraints in enumerate((WELD, tuple(WELD), WELD[0], [lw.PointOnPlane("f1", normal="x")])):
            again, _ = lw.constrained_dynamics(MODEL, s.q, s.v, s.tau, constraints)
            assert np.array_equal(again, wanted[1]) == (k < 3)


def test_a_route_keeps_no_reference() -> None:
    s, weld, wrench = state_of(MODEL, 22), [*WELD], np.ones(6)
    loads = {"f1": wrench}
    calls: list[Callable[[], Any]] = [
        lambda: lw.constrained_dynamics(MODEL, s.q, s.v, s.tau, weld, s.f_ext),
        lambda: lw.external_wrench(MODEL, s.q, loads),
        lambda: lw.operational_inertia(MODEL, s.q, [HALF], damping=0.3),
    ]
    bad: list[Callable[[], Any]] = [
        lambda: lw.constrained_dynamics(MODEL, s.q[:-1].copy(), s.v, s.tau, weld),
        lambda: lw.external_wrench(MODEL, s.q, {"f1": None, **loads}, np.zeros(3)),  # type: ignore[arg-type]
        lambda: lw.operational_inertia(MODEL, s.q, [[HALF]], damping=0.3),  # type: ignore[list-item]
    ]
    for call in calls * 3:
        call()
    held = [s.q, s.v, s.tau, s.f_ext, weld, WELD[0], wrench, loads, HALF, MODEL, lw.external_wrench]
    gc.collect()
    counts = [sys.getrefcount(one) for one in held]
    for _ in range(50):
        for call in calls:
            call()
        for call in bad:
            with pytest.raises((lw.ArgumentError, TypeError)):
                call()
    gc.collect()
    assert [sys.getrefcount(one) for one in held] == counts


def test_a_public_function_keeps_no_reference() -> None:
    s = state_of(MODEL, 17)
    frames, out = [*WHERE], np.empty((12, MODEL.nv))
    short = s.q[:-1].copy()
    for _ in range(3):
        lw.jacobian(MODEL, s.q, frames, "world", out=out)
    held = [s.q, short, frames, out, MODEL, lw.jacobian, *MODEL._memo.frames[tuple(WHERE)].quick.values()]
    gc.collect()
    counts = [sys.getrefcount(one) for one in held]
    for _ in range(50):
        lw.jacobian(MODEL, s.q, frames, "world", out=out)
        lw.jacobian(MODEL, s.q, frames=frames, reference="world")
        for bad in (short, None, 3.0):
            with pytest.raises((lw.ArgumentError, TypeError)):
                lw.jacobian(MODEL, bad, frames, "world")
    gc.collect()
    assert [sys.getrefcount(one) for one in held] == counts


def test_an_entry_keeps_those_after_it_alive() -> None:
    """A thread may have the holder of one entry while another thread adds an entry to the chain, and drops it."""
    busy, limits = (np.zeros(8, dtype=np.int64) for _ in range(2))
    first, second = (entries.Entry([(1,)] * count, [(1,)], busy, limits) for count in (1, 2))
    serve, after = entries.serving([first]), weakref.ref(second)
    entries.serving([first, second])
    del second, first
    gc.collect()
    assert after() is not None and len(entries.entries_of(serve)) == 1
