"""Every public function of kinematics, dynamics, operational space and constraints inside ``lw.compile``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from strategies import close


def _arm() -> lw.Model:
    builder = lw.Builder("arm")
    place = lw.placement((0.3, 0.1, 0.2), (0.3, 0.2, -0.1))
    builder.add_body("one", joint=lw.joints.Revolute("z"), mass=2.0, com=(0.1, 0, 0.2), inertia=(0.1, 0.2, 0.15))
    builder.add_body("two", "one", lw.joints.Revolute("y"), place, mass=1.5, com=(0.2, 0.1, 0), inertia=(0.1, 0.1, 0.2))
    builder.add_body(
        "three", "two", lw.joints.Revolute("x"), place, mass=1.0, com=(0, 0.1, 0.1), inertia=(0.1, 0.2, 0.1)
    )
    builder.add_body(
        "slide", "three", lw.joints.Prismatic((0.6, 0, 0.8)), place, mass=0.7, inertia=(0.1, 0.1, 0.1), actuated=False
    )
    builder.add_frame("tip", "slide", lw.placement((0.2, 0.3, 0.1)))
    return builder.build()


ARM = _arm()
TIP = [lw.Point("tip", (0.05, 0.0, 0.1), axes="position")]
HELD = [lw.PointOnPlane("tip", placement=lw.placement((1.0, 0.2, 0.3)))]
FORCE = np.arange(24.0).reshape(4, 6) / 10.0


def _space(reference: str) -> Callable[..., Any]:
    def everything(q: Any, v: Any) -> tuple[Any, ...]:
        return tuple(vars(lw.operational_space(ARM, q, v, TIP, damping=0.01, reference=reference)).values())

    return everything


LOAD = np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3])
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "integrate": lambda q, v: lw.integrate(ARM, q, v),
    "difference": lambda q, v: lw.difference(ARM, q, q + v),
    "forward_kinematics": lambda q: lw.forward_kinematics(ARM, q, ["tip", "two"]),
    "jacobian": lambda q: lw.jacobian(ARM, q, TIP, "world"),
    "jacobian_drift": lambda q, v: lw.jacobian_drift(ARM, q, v, TIP, "local_world_aligned"),
    "frame_velocity": lambda q, v: lw.frame_velocity(ARM, q, v, ["tip"]),
    "frame_acceleration": lambda q, v, x: lw.frame_acceleration(ARM, q, v, x, ["tip"]),
    "centre_of_mass": lambda q: lw.centre_of_mass(ARM, q),
    "energy": lambda q, v: lw.energy(ARM, q, v),
    "momentum": lambda q, v: lw.momentum(ARM, q, v),
    "inverse_dynamics": lambda q, v, x: lw.inverse_dynamics(ARM, q, v, x, FORCE),
    "nonlinear_effects": lambda q, v: lw.nonlinear_effects(ARM, q, v),
    "gravity_torques": lambda q: lw.gravity_torques(ARM, q),
    "mass_matrix": lambda q: lw.mass_matrix(ARM, q),
    "forward_dynamics": lambda q, v, x: lw.forward_dynamics(ARM, q, v, x, method="virtual_work"),
    "forward_dynamics_and_reactions": lambda q, v, x: lw.forward_dynamics_and_reactions(ARM, q, v, x, FORCE),
    "inverse_dynamics_and_reactions": lambda q, v, x: lw.inverse_dynamics_and_reactions(ARM, q, v, x, FORCE, "tip"),
    "external_wrench": lambda q, x: lw.external_wrench(ARM, q, {"two": LOAD, lw.Point("tip", axes="position"): x[:3]}),
    "force_responses": lambda q: lw.force_responses(ARM, q, TIP),
    "operational_inertia_inverse": lambda q: lw.operational_inertia_inverse(ARM, q, TIP, "pv"),
    "operational_inertia": lambda q: lw.operational_inertia(ARM, q, TIP),
    "operational_space": _space("local"),
    "operational_space in the world": _space("world"),
    "operational_space aligned": _space("local_world_aligned"),
    "operational_bias": lambda q, v: lw.operational_bias(ARM, q, v, TIP),
    "dynamically_consistent_inverse": lambda q: lw.dynamically_consistent_inverse(ARM, q, TIP),
    "null_space_torque": lambda q, x: lw.null_space_torque(ARM, q, x, TIP),
    "effective_mass": lambda q, v: lw.effective_mass(ARM, q, "tip", v[:3]),
    "operational_inertia_rate": lambda q, v: lw.operational_inertia_rate(ARM, q, v, TIP),
    "operational_inertia_derivatives": lambda q: lw.operational_inertia_derivatives(ARM, q, TIP),
    "mass_matrix_inverse": lambda q: lw.mass_matrix_inverse(ARM, q),
    "torque_regressor": lambda q, v, x: lw.torque_regressor(ARM, q, v, x),
    "momentum_derivatives": lambda q, v: lw.momentum_derivatives(ARM, q, v),
    "frame_velocity_derivatives": lambda q, v: lw.frame_velocity_derivatives(ARM, q, v, ["tip"]),
    "frame_acceleration_derivatives": lambda q, v, x: lw.frame_acceleration_derivatives(ARM, q, v, x, ["tip"]),
    "inverse_dynamics_derivatives": lambda q, v, x: lw.inverse_dynamics_derivatives(ARM, q, v, x),
    "inverse_dynamics_jvp": lambda q, v, x: lw.inverse_dynamics_jvp(ARM, q, v, x, dq=v, da=x),
    "inverse_dynamics_vjp": lambda q, v, x: lw.inverse_dynamics_vjp(ARM, q, v, x, x),
    "forward_dynamics_derivatives": lambda q, v, x: lw.forward_dynamics_derivatives(ARM, q, v, x),
    "forward_dynamics_jvp": lambda q, v, x: lw.forward_dynamics_jvp(ARM, q, v, x, dq=v, dv=x),
    "forward_dynamics_vjp": lambda q, v, x: lw.forward_dynamics_vjp(ARM, q, v, x, v),
    "constrained_dynamics": lambda q, v, x: lw.constrained_dynamics(ARM, q, v, x, HELD, stabilisation=0.1),
    "constrained_dynamics_and_reactions": lambda q, v, x: lw.constrained_dynamics_and_reactions(
        ARM, q, v, x, HELD, method="virtual_work"
    ),
    "impact": lambda q, v: lw.impact(ARM, q, v, HELD),
    "constrained_inverse_dynamics": lambda q, v, x: lw.constrained_inverse_dynamics(ARM, q, v, x, HELD),
}


def test_all_functions_are_here() -> None:
    things = {name: getattr(lw, name) for name in lw.__all__ if name.islower()}
    functions = {name for name, thing in things.items() if "linkwork.dynamics." in getattr(thing, "__module__", "")}
    elsewhere = "actuator_torques evaluate inverse_kinematics close_loops pose_error constrained_dynamics_derivatives "
    elsewhere += "contact_dynamics contact_points collision_contacts follow_path"  # in test files of their own
    assert functions - {"neutral", "random_state", *elsewhere.split()} == {name.split(" ")[0] for name in FUNCTIONS}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_inside_a_compiled_one(name: str) -> None:
    function = FUNCTIONS[name]
    given = function.__code__.co_varnames[: function.__code__.co_argcount]
    rng = np.random.default_rng(3)
    state = {key: rng.uniform(-1.0, 1.0, 4) for key in given}
    with lw.interpreted():  # the trace is the same, and nothing needs to be compiled
        plain, traced = function(**state), lw.compile(function, **dict.fromkeys(given, 4))(**state)
    parts = list(zip(plain, traced, strict=True)) if isinstance(plain, tuple) else [(plain, traced)]
    for expected, found in parts:
        expected, found = np.asarray(expected), np.asarray(found)
        assert found.shape == expected.shape
        close(found, expected, 1e-11, scale=max(1.0, float(np.abs(expected).max())))


# Masked constants

HIDDEN = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
HIDDEN_MATRIX = np.ma.array(np.arange(9.0).reshape(3, 3), mask=np.eye(3))


def _assigned(x: Any) -> Any:
    y = np.zeros_like(x)
    y[:] = HIDDEN
    return y


MASKED: dict[str, Callable[[Any], Any]] = {
    "product": lambda x: x * HIDDEN,
    "reversed product": lambda x: HIDDEN * x,
    "ma.multiply": lambda x: np.ma.multiply(x, HIDDEN),
    "one masked number": lambda x: x + HIDDEN[1],
    "in a list": lambda x: x - [1.0, np.ma.masked, 2.0],
    "in lists": lambda x: x - [[1.0, np.ma.masked, 2.0], [1.0, 2.0, 3.0]],
    "matrix": lambda x: HIDDEN_MATRIX @ x,
    "dot": lambda x: np.dot(x, HIDDEN),
    "einsum": lambda x: np.einsum("j,ij->i", x, HIDDEN_MATRIX),
    "where": lambda x: np.where(x > 0.0, HIDDEN, x),
    "concatenate": lambda x: np.concatenate([x, HIDDEN]),
    "stack": lambda x: np.stack([x, HIDDEN]),
    "assignment": _assigned,
    "index": lambda x: x[np.ma.array([0, 1], mask=[False, True])],
    "result": lambda x: (x, HIDDEN),
    "condition": lambda x: np.where(x > HIDDEN, x, 0.0),
    "masked traced numbers": lambda x: 2.0 * np.ma.masked_where([True, False, False], x),
    "solve": lambda x: np.linalg.solve(np.eye(3) * x, HIDDEN),
}


@pytest.mark.parametrize("name", MASKED)
def test_masked_constants_are_refused(name: str) -> None:
    with pytest.raises(lw.TracingError, match=r"masked numbers cannot be computed with; fill them"):
        lw.compile(MASKED[name], x=3)


def test_masked_constants_that_numpy_fills_or_that_hide_nothing_are_fine() -> None:
    x = np.array([1.0, 2.0, 4.0])
    for text in (
        lambda x: x * HIDDEN.filled(0.0),
        lambda x: np.ma.filled(HIDDEN * x, 0.0),
        lambda x: x * HIDDEN.sum(),
        lambda x: np.ma.dot(x, HIDDEN),  # type: ignore[no-untyped-call]
        lambda x: x * np.ma.array([1.0, 2.0, 3.0]),
    ):
        assert np.array_equal(lw.compile(text, x=3)(x), text(x))


@pytest.mark.parametrize("constant", [["tip"], [1.0 + 2.0j], ["2020"]], ids=str)
def test_constants_that_are_no_numbers_are_refused(constant: Any) -> None:
    given = np.array(constant, dtype="M8[D]" if constant == ["2020"] else None)
    with pytest.raises(lw.TracingError, match="cannot be traced"):
        lw.compile(lambda x: np.concatenate([x, given]), x=3)
