"""Derivatives of programs with loops over bodies: forward and backward, by the evaluator and as machine code."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms import ALGORITHMS
from linkwork.compiled.repeating import repeat
from linkwork.compiled.subroutine import subroutine
from linkwork.inside import evaluate
from programs import bits, evaluated, operations_done, planned, task_of
from strategies import Array, close


def tree(base: lw.joints.Joint) -> lw.Model:
    """Branches, and frames whose paths meet."""
    builder, rng = lw.Builder("tree"), np.random.default_rng(0)
    for k, parent in enumerate([None, 0, 1, 0, 3, 3, 2]):
        solid = {"mass": rng.uniform(1, 2), "com": rng.normal(size=3), "inertia": tuple(rng.uniform(3, 4, 3))}
        joint = base if parent is None else lw.joints.Revolute("y")
        place = lw.placement(rng.normal(size=3), rng.normal(size=3))
        builder.add_body(f"b{k}", "world" if parent is None else f"b{parent}", joint, place, **solid)
    builder.add_frame("hand", "b6", lw.placement((0.1, 0.2, 0.3)))
    builder.add_frame("foot", "b4", lw.placement((0.3, 0.1, 0.2)))
    return builder.build()


TREE = tree(lw.joints.Revolute("y"))
FLOATING = tree(lw.joints.Free())
FORCE = np.random.default_rng(2).normal(size=(7, 6))
ENDS = ["hand", "foot"]
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "inverse dynamics": lambda model, q, v, a: lw.inverse_dynamics(model, q, v, a, FORCE),
    "forward dynamics": lambda model, q, v, a: lw.forward_dynamics(model, q, v, a, FORCE),
    "overwritten fields": lambda model, q, v, a: lw.mass_matrix(model, q) @ v,
    "three loops": lambda model, q, v, a: lw.forward_dynamics(model, q, v, a, method="composite_body"),
    "climbs": lambda model, q, v, a: lw.jacobian(model, q, ENDS) @ a,
    "a loop from a start": lambda model, q, v, a: lw.operational_inertia_inverse(model, q, ENDS, "sparse"),
    "one call after the other": lambda model, q, v, a: lw.energy(model, lw.integrate(model, q, v), a),
    "two calls": lambda model, q, v, a: lw.gravity_torques(model, q) * lw.centre_of_mass(model, q)[0],
}


def state(model: lw.Model) -> tuple[Array, Array, Array]:
    q, v = lw.random_state(model, 1)
    return q, v, np.random.default_rng(4).normal(size=model.nv)


def numbers(x: Any) -> Array:
    return np.concatenate([numbers(y) for y in x]) if isinstance(x, tuple) else np.ravel(x)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_loops_have_the_derivatives_of_straight_code(name: str) -> None:
    """Forward to the last bit; backward sums are taken in another order."""
    model = FLOATING if name in ("inverse dynamics", "forward dynamics") else TREE
    q, v, a = state(model)
    tangents = np.random.default_rng(5).normal(size=(3, model.nv))
    found = []
    for form in ("straight", "looped"):
        with lw.form(form), lw.interpreted():
            f = lw.compile(partial(FUNCTIONS[name], model), q=(model, "configuration"), v=model.nv, a=model.nv)
            assert ("call" in f.program.operations) == (form == "looped")
            weights = [np.cos(1.0 + np.arange(np.prod(shape))).reshape(shape) for shape in f.result_shapes]
            found.append((lw.jvp(f)(q, v, a, *tangents), lw.vjp(f)(q, v, a, *weights)))
    ((value, change), (same, gradients)), (of_loops, (values, loop_gradients)) = found
    assert np.array_equal(bits(numbers(of_loops)), bits(numbers((value, change))))
    assert np.array_equal(bits(numbers(values)), bits(numbers(same)))
    close(numbers(loop_gradients), numbers(gradients), 1e-13)


def of_tree(name: str, *derivatives: str) -> Any:
    entry = ALGORITHMS[name]
    absent = ("f_ext",) if ("f_ext", "wrenches") in entry.arguments else ()
    frames = TREE.frames if name.startswith(("frame", "jacobian")) else ()
    return task_of(entry, TREE, frames, absent=absent, derivatives=derivatives)


@pytest.mark.parametrize("name", ["articulated_body", "mass_matrix", "jacobian/local"])
def test_a_product_backward_takes_at_most_four_times_the_operations(name: str) -> None:
    given = [x for x, _ in zip(state(TREE), of_tree(name).arguments, strict=False)]
    results, once = operations_done(planned(of_tree(name), "rolled").loops, given)
    weights = [np.ones(len(result)) for result in results]
    backward = planned(of_tree(name, "backward"), "rolled").loops
    again, there_and_back = operations_done(backward, [*given, *weights])
    assert all(np.array_equal(bits(x), bits(y)) for x, y in zip(results, again, strict=False))
    assert sum(once.values()) < sum(there_and_back.values()) <= 4 * sum(once.values())


def of_all_kinds() -> lw.Model:
    builder, rng = lw.Builder("all kinds"), np.random.default_rng(3)
    kinds = [lw.joints.Free(), lw.joints.Universal("x", "y"), lw.joints.Revolute((0, 0.6, 0.8))]
    for k, parent in enumerate([None, 0, 1, 0, 2, None]):
        solid = {"mass": rng.uniform(1, 2), "com": rng.normal(size=3), "inertia": tuple(rng.uniform(3, 4, 3))}
        place = lw.placement(rng.normal(size=3), rng.normal(size=3))
        builder.add_body(f"b{k}", "world" if parent is None else f"b{parent}", kinds[k % 3], place, **solid)
    return builder.build()


@pytest.mark.parametrize("name", ["articulated_body", "momentum"])
def test_products_in_both_directions_agree_whatever_was_in_memory(name: str) -> None:
    """For joints of several kinds. Memory is uninitialised: an adjoint that is never initialised would show."""
    model, entry, rng = of_all_kinds(), ALGORITHMS[name], np.random.default_rng(7)
    absent = ("f_ext",) if ("f_ext", "wrenches") in entry.arguments else ()
    q, v = lw.random_state(model, 1)
    once, backward, forward = (
        task_of(entry, model, absent=absent, derivatives=ways) for ways in ((), ("backward",), ("forward",))
    )
    given = [q, v, rng.normal(size=model.nv)][: len(once.arguments)]
    weights, tangents = ([rng.normal(size=count) for count in each] for each in (once.results, once.arguments))
    back, forth = (
        evaluated(task, "rolled", [*given, *more]) for task, more in ((backward, weights), (forward, tangents))
    )
    count = len(weights)
    products = [(x, y) for x, y in zip(back[count:], tangents, strict=True)]
    close(
        np.array(sum(np.dot(x, y) for x, y in products)),
        np.array(sum(np.dot(x, y) for x, y in zip(forth[count:], weights, strict=True))),
        1e-12,
    )


def test_a_product_backward_is_what_differences_of_40_digits_give() -> None:
    given = [list(x) for x in state(TREE)]
    weights, towards = np.random.default_rng(6).normal(size=(2, TREE.nv))
    _, *gradients = evaluated(of_tree("inverse_dynamics", "backward"), "rolled", [*state(TREE), weights])
    with mpmath.workdps(40):
        ends = []
        for h in (mpmath.mpf("1e-15"), mpmath.mpf("-1e-15")):
            moved = [[mpmath.mpf(x) + h * y for x, y in zip(each, towards, strict=True)] for each in given]
            (tau,) = evaluate(ALGORITHMS["inverse_dynamics"], TREE, [*moved, None], ())
            ends.append(sum(w * x for w, x in zip(weights, tau, strict=True)))
        slope = float((ends[0] - ends[1]) / mpmath.mpf("2e-15"))
    close(np.array(sum(towards @ gradient for gradient in gradients)), np.array(slope), 1e-13)


LONG = lw.mechanisms.serial_chain(60)


def test_products_of_long_chains_have_the_same_bits_compiled_and_interpreted() -> None:
    """For one state and for many, on any number of lanes, and on threads."""
    arguments = list(np.random.default_rng(7).normal(size=(4, 19, 60)))
    product = lw.vjp(partial(lw.inverse_dynamics, LONG), q=60, v=60, a=60)
    with lw.interpreted():
        value, gradients = product(*arguments)
    many, one = product(*arguments), product(*(array[17] for array in arguments))
    for found, expected in zip((many[0], *many[1]), (value, *gradients), strict=True):
        assert np.array_equal(bits(found), bits(expected))
    for found, expected in zip((one[0], *one[1]), (value, *gradients), strict=True):
        assert np.array_equal(bits(found), bits(expected[17]))
    for found, gradient in zip(many[1], lw.inverse_dynamics_vjp(LONG, *arguments), strict=True):
        close(found, gradient, 1e-12)


def test_a_chain_of_100_links_on_a_floating_base() -> None:
    """A public function of a fixed model, against the products by recursion; one call gives value and gradients."""
    model = lw.mechanisms.serial_chain(100, floating_base=True)
    q, v, tau = state(model)
    f = lw.compile(partial(lw.forward_dynamics, model), q=(model, "configuration"), v=model.nv, tau=model.nv)
    tangents = np.random.default_rng(8).normal(size=(3, model.nv))
    backward = lw.vjp(f)
    with lw.interpreted():
        value, change = lw.jvp(f)(q, v, tau, *tangents)
        again, gradients = backward(q, v, tau, tangents[0])
        assert np.array_equal(value, lw.forward_dynamics(model, q, v, tau)) and np.array_equal(value, again)
        close(change, lw.forward_dynamics_jvp(model, q, v, tau, *tangents), 1e-11)
        for found, expected in zip(gradients, lw.forward_dynamics_vjp(model, q, v, tau, tangents[0]), strict=True):
            close(found, expected, 1e-11)
    assert backward.count().keys() >= {"call"}, "code with loops, whose derivative is another"


@pytest.mark.parametrize("method", ["articulated_body", "constraint_force", "assembly"])
def test_what_is_served_without_checks_has_the_same_bits(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain arrays, with the same leading axes or none, and out=; everything else takes the checked path."""

    def text(q: Array, v: Array, weight: Array) -> Any:
        tau = lw.gravity_torques(LONG, q)
        return {
            "tau": tau,
            "again": tau,
            "q": q,
            "ones": np.ones(3),
            "none": q[..., :0],
            "a": weight * lw.forward_dynamics(LONG, q, v, tau, method=method),
        }

    f = lw.compile(text, q=60, v=60, weight=())
    q, v = np.random.default_rng(9).normal(size=(2, 3, 4, 60))
    weight = np.array(1.5)
    first, second = f(q, v, weight), f(q, v, weight)  # checked, then served
    with lw.interpreted():
        expected = text(q, v, weight)
    for name, found in second.items():
        assert np.array_equal(bits(found), bits(first[name]))
        close(found, np.broadcast_to(expected[name], found.shape), 1e-9)
    kept = {name: array.copy() for name, array in second.items()}
    second["tau"][...] = second["q"][...] = second["ones"][...] = 7.0  # arrays of the caller's own
    assert np.array_equal(second["again"], kept["again"])
    assert all(np.array_equal(found, kept[name]) for name, found in f(q, v, weight).items())
    plan: Any = f.plan
    word = plan.busy
    for busy in (0, 0, 1):  # checked, by code, and by Python, while another call is at the code
        word[0] = busy
        alone = f(q[1, 2], v[1, 2], weight)
        assert all(np.array_equal(bits(found), bits(kept[name][1, 2])) for name, found in alone.items())
        assert all(np.array_equal(found, kept[name]) for name, found in f(q, v, weight).items())
    word[0] = 0
    assert f._entry is not None and f._entry.forms == {"one", "batch"}
    g = lw.compile(lambda q, v: lw.forward_dynamics(LONG, q, v, 2.0 * v, method=method), q=60, v=60)
    out = np.zeros((3, 4, 60))
    for _ in range(2):
        assert g(q, v, out=out) is out and np.array_equal(out, lw.forward_dynamics(LONG, q, v, 2.0 * v, method=method))
    with pytest.raises(lw.ArgumentError, match=r"out must not overlap q"):
        g(q, v, out=q)
    bad = q.copy()
    bad[2, 1, 5] = np.nan
    with pytest.raises(lw.ArgumentError, match=r"q\[2, 1, 5\].* is nan"):
        g(bad, v)
    with pytest.raises(lw.ArgumentError, match=r"leading .* do not broadcast"):
        g(q, v[:2])
    assert np.array_equal(g(q[0], v[0].tolist()), out[0]) and g(q[:0], v[:0]).shape == (0, 4, 60)
    monkeypatch.setattr("linkwork.engine.plans.plan.MOST_MEMORY", 0)  # too little for calls
    h = lw.compile(lambda q, v: lw.forward_dynamics(LONG, q, v, 2.0 * v, method=method), q=60, v=60)
    assert all(np.array_equal(h(q, v), out) for _ in range(2)) and h._entry is not None and not h._entry.forms


@pytest.mark.parametrize("method", ["constraint_force", "assembly"])
def test_code_by_segments_or_levels_is_called_in_subroutines_repeats_and_steps(method: str) -> None:
    """In the order of the caller's bodies, though segments want the chain's first, with the bits of single calls."""
    builder, parent = lw.Builder("comb"), "world"
    for k in range(60):
        mass = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)}
        parent = builder.add_body(f"b{k}", parent, lw.joints.Revolute("xyz"[k % 3]), lw.placement((0.1, 0, 0)), **mass)
        if k in (0, 20):
            builder.add_body(f"side{k}", parent, lw.joints.Revolute("x"), lw.placement((0, 0.1, 0)), **mass)
    model = builder.build()

    def dynamics(q: Any, v: Any, tau: Any) -> Any:
        return lw.forward_dynamics(model, q, v, tau, method=method)

    def text(q: Any, v: Any) -> Any:
        called = subroutine(lambda q, v: [dynamics(q, v, 0.0 * v)])
        (a,) = called(q, called(q, v)[0])
        return a, repeat(lambda x, q, v: ((0.1 * dynamics(q, v, x),), 1.0), (v,), (q, v), most=3, may_stop=True)[0]

    q, v = np.random.default_rng(3).normal(size=(2, 10, 62))
    one = lw.compile(text, q=62, v=62)
    many = one(q, v)
    a = dynamics(q, dynamics(q, v, 0.0 * v), 0.0 * v)
    x = v
    for _ in range(3):
        x = 0.1 * dynamics(q, v, x)
    assert np.array_equal(bits(many[0]), bits(a)) and np.array_equal(bits(many[1]), bits(x))
    assert all(np.array_equal(bits(own), bits(all_[4])) for own, all_ in zip(one(q[4], v[4]), many, strict=True))

    law = lw.compile(lambda t, q, v: 0.01 * dynamics(q, v, -v), t=(), q=62, v=62)
    runs = [lw.rollout(model, q[:n], 0.1 * v[:n], torque=law, dt=1e-4, steps=3) for n in (1, 9)]
    for alone, among in ((runs[0].q, runs[1].q), (runs[0].v, runs[1].v)):
        assert np.array_equal(bits(alone[0]), bits(among[0]))
    now, speed = q[0], 0.1 * v[0]
    for _ in range(3):
        speed = speed + 1e-4 * dynamics(now, speed, law(0.0, now, speed))
        now = lw.integrate(model, now, 1e-4 * speed)
    close(runs[0].q[0, -1], now, 1e-13)


def test_gradients_of_long_chains_are_differentiated_forward() -> None:
    """The Hessian of the potential energy, times a vector, is the derivative of the gravity torques."""
    energy = lw.compile(lambda q: lw.energy(LONG, q, np.zeros(60))[1], q=60)
    q, towards = np.random.default_rng(9).normal(size=(2, 60))
    with lw.interpreted():
        close(lw.jacobian_of(energy)(q), lw.gravity_torques(LONG, q), 1e-12)
        _, (_, (found,)) = lw.jvp(lw.vjp(energy))(q, 1.0, towards, 0.0)
        _, expected = lw.jvp(lambda q: lw.gravity_torques(LONG, q), q=60)(q, towards)
        close(found, expected, 1e-11)


def test_what_is_not_differentiated_is_said() -> None:
    def by_segments(q: Any) -> Any:
        return lw.forward_dynamics(LONG, q, q, q, method="constraint_force")

    def by_levels(q: Any) -> Any:
        return lw.forward_dynamics(LONG, q, q, q, method="assembly")

    for text, method in ((by_segments, "constraint_force"), (by_levels, "assembly")):
        with pytest.raises(lw.TracingError, match=rf"{method} of .* by segments, .* such as 'articulated_body'"):
            lw.jvp(text, q=60)
    gradient = lw.jacobian_of(lambda q: lw.energy(LONG, q, q)[1], q=60)
    with pytest.raises(lw.TracingError, match=r"energy of .* backward only once; .* forward, by lw.jvp"):
        lw.vjp(gradient)


@pytest.mark.parametrize("name", ["operational/sparse", "operational/pv", "operational/extended_propagator"])
def test_backward_walks_of_paths_have_the_bits_of_the_evaluator(name: str) -> None:
    """Whose memory is full of NaN: a path is gone back from where it ended, an integer that lies there. Loops over
    pairs of points, each with those up to itself, are gone back to the point itself.
    """
    model, points = lw.mechanisms.humanoid(), ["left_hand", "right_hand", "left_foot"]
    task = task_of(ALGORITHMS[name], model, points, derivatives=("backward",))
    arguments = [np.random.default_rng(11).normal(size=(9, n)) for n in task.arguments]
    plan = planned(task, "rolled")
    for states in (9, 1):
        found, status = plan.run([array[:states] for array in arguments], states)
        assert status == 0
    expected = evaluated(task, "rolled", [array[0] for array in arguments])
    assert all(np.array_equal(bits(a[0]), bits(b)) for a, b in zip(found, expected, strict=True))
