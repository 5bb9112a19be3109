"""Derivatives of compiled functions by their traces: forward, backward, whole Jacobians, in the tangent space."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import linkwork as lw
from linkwork.spatial import OPERATIONS, sqrt
from linkwork.spatial.rates import RATES
from strategies import Array, close
from test_compile import FUNCTIONS

ARM = lw.mechanisms.serial_chain(3)


PLAIN: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "neg": operator.neg,
    "sqrt": sqrt,
}  # fmt: skip
FUNCTIONS_OF = PLAIN | {name: function for name, (_, function) in OPERATIONS.items()}


def test_every_operation_of_a_compact_trace_has_its_rates() -> None:
    assert {*RATES} == {*FUNCTIONS_OF}
    assert all(len(RATES[name]) == operands for name, (operands, _) in OPERATIONS.items())


PLACES = {"arccosh": (1.3, 4.0), "arctanh": (-0.8, 0.9), "arcsin": (-0.9, 0.7), "arccos": (-0.9, 0.7)}


@pytest.mark.parametrize("name", [name for name in RATES if name != "varying_as"])
def test_rates_are_those_of_50_digits(name: str) -> None:
    low, high = PLACES.get(name, (0.3, 2.2))
    rng = np.random.default_rng(0)
    with mpmath.workdps(40):
        for _ in range(5):
            x = rng.uniform(low, high, len(RATES[name])).tolist()
            for k, rate in enumerate(RATES[name]):

                def along(y: Any, k: int = k, x: list[float] = x) -> Any:
                    given = [mpmath.mpf(each) for each in x]
                    given[k] = y
                    return FUNCTIONS_OF[name](*given)

                exact = mpmath.diff(along, mpmath.mpf(x[k]), h=mpmath.mpf("1e-12"))
                found = rate(*x, FUNCTIONS_OF[name](*x))
                assert abs(found - exact) <= 1e-14 * max(1, abs(exact)) * 20, (x, k)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ("steps", "comparisons", "more")])
def test_products_and_jacobians_agree_with_differences(name: str) -> None:
    f = lw.compile(FUNCTIONS[name], x=3, y=3)
    x, y, dx, dy = np.random.default_rng(3).uniform(0.2, 1.4, (4, 3))
    with lw.interpreted():
        of_x, of_y = lw.jacobian_of(f)(x, y)
        value, change = lw.jvp(f)(x, y, dx, dy)
        assert np.array_equal(value, f(x, y))
        close(change, of_x @ dx + of_y @ dy, 1e-13, scale=1.0)
        h = 1e-6
        numeric = (f(x + h * dx, y + h * dy) - f(x - h * dx, y - h * dy)) / (2.0 * h)
        close(change, numeric, 1e-7, scale=max(1.0, np.abs(numeric).max()))
        weights = np.random.default_rng(4).normal(size=f.result_shapes[0])
        value, (gx, gy) = lw.vjp(f)(x, y, weights)
        close(gx, np.tensordot(weights, of_x, weights.ndim), 1e-13, scale=1.0)
        close(gy, np.tensordot(weights, of_y, weights.ndim), 1e-13, scale=1.0)


def both_ways(f: lw.CompiledFunction, *arguments: Array) -> None:
    """Backward and forward give the same Jacobian, and the same bits in a batch and in the interpreter."""
    jacobians = lw.jacobian_of(f)(*arguments)
    for k, jacobian in enumerate(jacobians if isinstance(jacobians, tuple) else (jacobians,)):
        name = list(f.shapes)[k]
        alone = lw.jacobian_of(f, name)
        close(alone(*arguments), jacobian, 1e-12)
        with lw.interpreted():
            assert np.array_equal(alone(*arguments), alone(*arguments))


def test_dynamics_are_differentiated() -> None:
    """Against the inverse of the mass matrix, and differences."""
    f = lw.compile(lambda q, v, tau: lw.forward_dynamics(ARM, q, v, tau), q=3, v=3, tau=3)
    q, v, tau = np.random.default_rng(0).normal(size=(3, 3))
    of_q, of_v, of_tau = lw.jacobian_of(f)(q, v, tau)
    close(of_tau, np.linalg.inv(lw.mass_matrix(ARM, q)), 1e-12)
    h = 1e-6
    by_q = [(f(q + h * e, v, tau) - f(q - h * e, v, tau)) / (2 * h) for e in np.eye(3)]
    by_v = [(f(q, v + h * e, tau) - f(q, v - h * e, tau)) / (2 * h) for e in np.eye(3)]
    close(of_q, np.stack(by_q, axis=1), 1e-7)
    close(of_v, np.stack(by_v, axis=1), 1e-7)
    both_ways(f, q, v, tau)


JOINTS = {
    "free": lw.joints.Free(),
    "spherical": lw.joints.Spherical(),
    "planar": lw.joints.Planar(),
    "universal": lw.joints.Universal("x", "y"),
    "helical": lw.joints.Helical("z", 0.3),
}


@pytest.mark.parametrize("name", JOINTS)
def test_a_configuration_is_differentiated_in_the_tangent_space(name: str) -> None:
    builder = lw.Builder(name)
    builder.add_body("base", joint=JOINTS[name], mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.2, 0.15))
    builder.add_body("tip", "base", lw.joints.Revolute("y"), lw.placement((0.3, 0, 0)), mass=0.5, com=(0.1, 0, 0))
    model = builder.build()
    f = lw.compile(lambda q, v: lw.nonlinear_effects(model, q, v), q=(model, "configuration"), v=(model, "velocity"))
    q, v = lw.random_state(model, 1)
    with lw.interpreted():
        of_q = lw.jacobian_of(f, "q")(q, v)
        assert of_q.shape == (model.nv, model.nv)
        h = 1e-6
        ends = [[f(lw.integrate(model, q, s * h * e), v) for s in (1, -1)] for e in np.eye(model.nv)]
        numeric = np.stack([(there - back) / (2 * h) for there, back in ends], axis=1)
        close(of_q, numeric, 1e-7)
        d = np.random.default_rng(0).normal(size=model.nv)
        close(lw.jvp(f)(q, v, d, np.zeros(model.nv))[1], of_q @ d, 1e-12)
        close(lw.vjp(f)(q, v, d)[1][0], d @ of_q, 1e-12)


@pytest.mark.parametrize("base", [False, True])
def test_a_product_backward_takes_at_most_four_times_the_operations(base: bool) -> None:
    model = lw.mechanisms.humanoid(floating_base=base)
    shapes = {"q": (model, "configuration"), "v": model.nv, "a": model.nv}
    for function in (lw.forward_dynamics, lw.inverse_dynamics):
        f = lw.compile(lambda q, v, a, function=function: function(model, q, v, a), **shapes)
        assert sum(lw.vjp(f).count().values()) <= 4 * sum(f.count().values())


def test_derivatives_can_be_differentiated() -> None:
    """The Hessian of the potential energy is the derivative of the gravity torques."""
    f = lw.compile(lambda q: lw.energy(ARM, q, np.zeros(3))[1], q=3)
    gradient = lw.jacobian_of(f)
    hessian = lw.jacobian_of(gradient)
    q = np.array([0.3, -0.2, 0.5])
    with lw.interpreted():
        close(gradient(q), lw.gravity_torques(ARM, q), 1e-13)
        found = hessian(q)
        close(found, found.T, 1e-13)
        close(found, lw.jacobian_of(lambda q: lw.gravity_torques(ARM, q), q=3)(q), 1e-12)


@pytest.mark.parametrize("joint", [lw.joints.Spherical(), lw.joints.Free()], ids=["spherical", "free"])
def test_derivatives_of_a_configuration_are_differentiated_in_its_tangent_space(joint: lw.joints.Joint) -> None:
    builder = lw.Builder("body")
    builder.add_body("body", joint=joint, mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.2, 0.15))
    model = builder.build()
    place = lw.placement((0.3, -0.1, 0.2))
    far = lw.compile(
        lambda q: lw.pose_error(lw.forward_kinematics(model, q, ["body"])[0], np.array(place)) @ np.arange(1.0, 7.0),
        q=(model, "configuration"),
    )
    q, h, d = lw.random_state(model, 1)[0], 1e-5, np.random.default_rng(0).normal(size=model.nv)
    with lw.interpreted():
        gradient = lw.jacobian_of(far)
        hessian = lw.jacobian_of(gradient)(q)
        ends = [[gradient(lw.integrate(model, q, s * h * e)) for s in (1, -1)] for e in np.eye(model.nv)]
        close(hessian, np.stack([(there - back) / (2 * h) for there, back in ends], axis=-1), 1e-7)
        close(lw.jacobian_of(lw.vjp(far), "q")(q, 1.0)[1][0], hessian, 1e-12)
        close(lw.vjp(gradient)(q, d)[1][0], d @ hessian, 1e-12)
        twice = lw.jvp(lw.jvp(far))
        assert list(twice.shapes) == ["q", "d_q", "dd_q", "d_d_q"]
        close(twice(q, d, dd_q=d, d_d_q=0.0 * d)[1][1], d @ hessian @ d, 1e-12)
        assert list(lw.vjp(lw.vjp(far)).shapes) == ["q", "w0", "ww0", "w1"]


def test_at_kinks_derivatives_are_finite() -> None:
    def text(x: Any) -> Any:
        angle, length = np.arctan2(x[0], x[1]), np.linalg.norm(x)
        return np.stack([np.abs(x[0]), np.sqrt(x[0]), length, angle, np.cbrt(x[1]), np.sign(x[0])])

    zero = np.zeros(2)
    with lw.interpreted():
        assert np.array_equal(lw.jacobian_of(text, x=2)(zero)[1:], np.zeros((5, 2)))
        chosen = lw.jacobian_of(lambda x: np.where(x > 0.0, x * x, -x), x=2)
        assert np.array_equal(chosen([2.0, -1.0]), np.diag([4.0, -1.0]))


@pytest.mark.parametrize(
    ("text", "x", "slope"),
    [
        (lambda x: np.where(x != 0.0, np.sin(x) / x, 1.0), 0.0, 0.0),
        (lambda x: np.where(x != 0.0, (1.0 / x) * x * x, 2.0 * x), 0.0, 2.0),
        (lambda x: np.where(x > 0.0, x * np.sqrt(x), x), -1.0, 1.0),
        (lambda x: np.where(x > 0.0, np.log(x), x), 0.0, 1.0),
        (lambda x: np.where(x < 700.0, np.exp(x), x), 1000.0, 1.0),
        (lambda x: np.where(x > 0.0, x**-0.5, x), 0.0, 1.0),
        (lambda x: np.where(x > 0.0, 1.0 / np.clip(x, 0.0, 1.0) ** 2, x), -1.0, 1.0),
        (lambda x: np.where(x != 0.0, np.sin(x) / x, 1.0), 2.0, (2.0 * np.cos(2.0) - np.sin(2.0)) / 4.0),
    ],
)
def test_what_is_not_selected_may_be_no_number(text: Any, x: float, slope: float) -> None:
    """Zero times an infinite rate must not come back from the branch that is not taken."""
    with lw.interpreted():
        close(lw.vjp(text, x=())(x, 1.0)[1][0], slope, 1e-15)
        close(lw.jvp(text, x=())(x, 1.0)[1], slope, 1e-15)


def test_constrained_dynamics_and_solvers_are_differentiated() -> None:
    builder = lw.Builder("pair")
    solid = {"mass": 1.0, "inertia": (0.1, 0.2, 0.15), "com": (0.1, 0.0, 0.2)}
    builder.add_body("a", joint=lw.joints.Revolute("y"), **solid)
    builder.add_body("b", "a", lw.joints.Revolute("y"), lw.placement((0.3, 0, 0)), **solid)
    builder.add_body("c", "b", lw.joints.Revolute("x"), lw.placement((0.3, 0, 0)), **solid)
    model = builder.build()
    gear = [lw.Coupling(*model.joint_names[:2], ratio=2.0)]
    f = lw.compile(lambda q, v: lw.constrained_dynamics(model, q, v, -v, gear)[0], q=3, v=3)
    q, v = np.array([0.2, 0.4, -0.3]), np.array([0.1, 0.3, -0.2])
    with lw.interpreted():
        of_q, of_v = lw.jacobian_of(f)(q, v)
        h = 1e-6
        close(of_q, np.stack([(f(q + h * e, v) - f(q - h * e, v)) / (2 * h) for e in np.eye(3)], axis=1), 1e-6)
        close(of_v, np.stack([(f(q, v + h * e) - f(q, v - h * e)) / (2 * h) for e in np.eye(3)], axis=1), 1e-6)


def test_results_keep_their_structure_and_pickle() -> None:
    f = lw.compile(lambda x, y: {"a": x * y[0], "b": (x @ x, y)}, x=2, y=1)
    x, y = np.array([1.0, 2.0]), np.array([3.0])
    with lw.interpreted():
        jacobian = lw.jacobian_of(f, "x")(x, y)
        assert np.array_equal(jacobian["a"], 3.0 * np.eye(2)) and np.array_equal(jacobian["b"][0], 2.0 * x)
        _, of_y = lw.jacobian_of(f)(x, y)["a"]
        assert np.array_equal(of_y, x[:, None])
        again = pickle.loads(pickle.dumps(lw.vjp(f)))
        _, (gx, gy) = again(x, y, np.ones(2), 0.0, np.zeros(1))
        assert np.array_equal(gx, [3.0, 3.0]) and gy == 3.0
        g = lw.compile(lambda x: (x[:0], 2.0 * x, x[:0]), x=2)
        assert [len(each) for each in lw.jvp(g)(x, x)[1]] == [0, 2, 0]
        assert np.array_equal(lw.vjp(g)(x, x[:0], x, x[:0])[1][0], 2.0 * x)
        assert np.array_equal(lw.jacobian_of(g)(x)[1], 2.0 * np.eye(2))


def test_what_cannot_be_differentiated_is_said() -> None:
    f = lw.compile(lambda x: x, x=2)
    with pytest.raises(lw.ArgumentError, match="has no argument 'y'; it has 'x'"):
        lw.jacobian_of(f, "y")
    wrong: list[Any] = [[], 3, [3], [[]], ["x", "x"]]
    for bad in wrong:
        with pytest.raises(lw.ArgumentError, match=r"of must be the name of an argument, or .* among 'x', not"):
            lw.jacobian_of(f, bad)
    with pytest.raises(lw.ArgumentError, match="is compiled; its shapes are known"):
        lw.jvp(f, x=3)
    with pytest.raises(lw.ArgumentError, match="has an argument 'w0'"):
        lw.vjp(lambda w0: w0, w0=2)
