"""Functions over any scalars: mpmath, dual numbers, symbols of another library; and names that have changed."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.evaluate import NAMES
from linkwork.spatial.dual import along

ARM = lw.mechanisms.serial_chain(3, joint=["spherical", "revolute", "universal"])
Q, V = lw.random_state(ARM, 0)
TAU = np.linspace(-1.0, 1.0, ARM.nv)
CALLS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("centre_of_mass", "gravity_torques", "mass_matrix", "mass_matrix_inverse"), (Q,)),
    **dict.fromkeys(("energy", "momentum", "momentum_derivatives", "nonlinear_effects"), (Q, V)),
    **dict.fromkeys(("inverse_dynamics", "inverse_dynamics_derivatives", "torque_regressor"), (Q, V, TAU)),
    "inverse_dynamics_and_reactions": (Q, V, TAU),
    **dict.fromkeys(("forward_dynamics", "forward_dynamics_derivatives"), (Q, V, TAU)),
    "forward_dynamics_and_reactions": (Q, V, TAU),
    "difference": (Q, lw.random_state(ARM, 1)[0]),
    "integrate": (Q, V),
}
OF_FRAMES: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("forward_kinematics", "jacobian", "operational_inertia_inverse"), (Q,)),
    **dict.fromkeys(("frame_velocity", "jacobian_drift"), (Q, V)),
    "frame_acceleration": (Q, V, TAU),
}


@pytest.mark.parametrize("name", NAMES)
def test_floats_give_what_the_function_gives(name: str) -> None:
    frames = [lw.Point("tip", (0.1, 0.2, 0.3)), "body2"] if name in OF_FRAMES else None
    arguments = (CALLS | OF_FRAMES)[name]
    found = lw.evaluate(name, ARM, *arguments, *([] if frames is None else [frames]))
    with lw.interpreted():
        expected = getattr(lw, name)(ARM, *arguments, *([] if frames is None else [frames]))
    for ours, theirs in zip(*(each if isinstance(each, tuple) else (each,) for each in (found, expected)), strict=True):
        assert np.shape(ours) == np.shape(theirs)
        np.testing.assert_allclose(np.asarray(ours, dtype=float), theirs, rtol=0, atol=1e-12)


def test_references_and_loads() -> None:
    for reference in ("world", "local_world_aligned"):
        with lw.interpreted():
            expected = lw.jacobian(ARM, Q, "tip", reference=reference)
        for found in (
            lw.evaluate("jacobian", ARM, list(Q), frames="tip", reference=reference),
            lw.evaluate("jacobian", ARM, Q, "tip", reference),
            lw.evaluate("jacobian", ARM, q=Q, frames="tip", reference=reference),
        ):
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    load = np.arange(18.0).reshape(3, 6)
    found = lw.evaluate("inverse_dynamics", ARM, Q, V, TAU, load.tolist())
    with lw.interpreted():
        np.testing.assert_allclose(found, lw.inverse_dynamics(ARM, Q, V, TAU, load), rtol=0, atol=1e-12)


def test_fifty_digits() -> None:
    with mpmath.workdps(50):
        q = [mpmath.mpf(x) for x in Q]
        a = lw.evaluate("forward_dynamics", ARM, q, V, TAU)
        again = lw.evaluate("inverse_dynamics", ARM, q, V, a)
        assert max(abs(x - y) for x, y in zip(again, TAU, strict=True)) < mpmath.mpf(10) ** -40


def test_dual_numbers_differentiate() -> None:
    moved = [lw.evaluate("inverse_dynamics", ARM, Q, along(V, unit), TAU) for unit in np.eye(ARM.nv).tolist()]
    rates = np.array([[x.rate for x in tau] for tau in moved], dtype=np.float64)
    with lw.interpreted():
        _, by_v, _ = lw.inverse_dynamics_derivatives(ARM, Q, V, TAU)
    np.testing.assert_allclose(np.transpose(rates), by_v, rtol=0, atol=1e-12)


class Symbol:
    """A number of a symbolic library: functions and choices are those of its package."""

    def __init__(self, value: float) -> None:
        self.value = value

    @staticmethod
    def of(value: Any) -> float:
        return float(value.value if isinstance(value, Symbol) else value)


def _operator(name: str) -> Callable[..., Any]:
    return lambda self, other=0.0: Symbol(getattr(Symbol.of(self), name)(Symbol.of(other)))


for operator in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv"):
    setattr(Symbol, f"__{operator}__", _operator(f"__{operator}__"))
Symbol.__neg__ = lambda self: Symbol(-self.value)  # type: ignore[attr-defined]
Symbol.__lt__ = lambda self, other: Symbol(float(self.value < Symbol.of(other)))  # type: ignore[attr-defined]
Symbol.__gt__ = lambda self, other: Symbol(float(self.value > Symbol.of(other)))  # type: ignore[attr-defined]
Symbol.__module__ = "symbols.inside"


class Vector:
    """A vector of symbols, like CasADi's."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def elements(self) -> list[Symbol]:
        return [Symbol(x) for x in self.values]


def test_symbols_of_another_library(monkeypatch: pytest.MonkeyPatch) -> None:
    package: Any = types.ModuleType("symbols")
    for name in ("sin", "cos", "sqrt", "arctan2"):
        function = getattr(np, name)
        setattr(package, name, lambda *x, function=function: Symbol(function(*map(Symbol.of, x))))
    package.if_else = lambda holds, x, y: Symbol(Symbol.of(x if holds.value else y))
    monkeypatch.setitem(sys.modules, "symbols", package)
    for name, arguments in CALLS.items():
        found, expected = (
            each if isinstance(each, tuple) else (each,)
            for each in (lw.evaluate(name, ARM, *map(Vector, arguments)), lw.evaluate(name, ARM, *arguments))
        )
        for ours, theirs in zip(found, expected, strict=True):
            numbers = np.vectorize(Symbol.of, otypes=[float])(ours)
            np.testing.assert_allclose(numbers, theirs, rtol=0, atol=1e-11, err_msg=name)
    del package.if_else
    with pytest.raises(lw.ArgumentError, match="Symbol has neither if_else nor where, to choose by a comparison"):
        lw.evaluate("difference", ARM, *map(Vector, CALLS["difference"]))
    del package.sin
    with pytest.raises(lw.ArgumentError, match="Symbol has no function 'sin', which this computation needs"):
        lw.evaluate("mass_matrix", lw.mechanisms.serial_chain(2), Vector([0.1, 0.2]))


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "a function": (lambda: lw.evaluate("forward_dynamic", ARM, Q, V, TAU), "no function 'forward_dynamic' to eva.*did"),
    "no name": (lambda: lw.evaluate(3, ARM, Q), "there is no function 3 to evaluate"),  # type: ignore[arg-type]
    "a count": (lambda: lw.evaluate("energy", ARM, Q), r"energy takes \(q, v\), but got 1 argument"),
    "a length": (lambda: lw.evaluate("energy", ARM, Q, [1.0]), r"v must have shape \(6,\) for model 'serial_chain'"),
    "a text": (lambda: lw.evaluate("energy", ARM, Q, "v"), "arguments must be lists of scalars, not 'v'"),
    "no frames": (lambda: lw.evaluate("jacobian", ARM, Q), "jacobian is a function of frames; pass frames="),
    "a name": (lambda: lw.evaluate("energy", ARM, Q, w=V), "energy has no argument 'w' here; it has 'q', 'v'"),
    "twice": (lambda: lw.evaluate("energy", ARM, Q, V, q=Q), "energy got q twice"),
    "a hole": (lambda: lw.evaluate("inverse_dynamics", ARM, Q, a=V), r"takes \(q, v, a, f_ext\), but got no v"),
    "a method": (
        lambda: lw.evaluate("operational_inertia_inverse", ARM, Q, "tip", "pv"),
        "takes .* but got 2 argument",
    ),
    "no model": (lambda: lw.evaluate("energy", "arm", Q, V), "model must be a linkwork Model"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_use_is_said(case: str) -> None:
    call, words = WRONG[case]
    with pytest.raises(lw.ArgumentError, match=words):
        call()


# Names that have changed

PENDULUM = lw.mechanisms.pendulum()
NOW = [0.1], [0.0]


def test_old_names_work_with_a_warning() -> None:
    ball = [lw.PointOnPlane("tip", normal="x")]
    double = lw.mechanisms.serial_chain(2)
    state = [0.1, 0.2], [0.0, 0.0], [0.0, 0.0]
    with lw.interpreted():
        with pytest.warns(lw.LinkworkWarning, match="time_constant is called stabilisation now") as caught:
            old = lw.constrained_dynamics(double, *state, ball, time_constant=0.1)
        assert caught[0].filename == __file__
        np.testing.assert_array_equal(old[0], lw.constrained_dynamics(double, *state, ball, stabilisation=0.1)[0])
        with pytest.warns(lw.LinkworkWarning, match="torque with numbers is called tau now") as caught:
            path = lw.simulate(PENDULUM, *NOW, 0.02, 0.01, torque=[1.0])
        assert caught[0].filename == __file__
        np.testing.assert_array_equal(path.q, lw.simulate(PENDULUM, *NOW, 0.02, 0.01, tau=[1.0]).q)
    makers: dict[str, Callable[..., Any]] = {
        "Task": lambda **gains: lw.control.Task(lw.Point("tip", axes="position"), np.zeros(3), **gains),
        "ComputedTorque": lambda **gains: lw.control.ComputedTorque(PENDULUM, [0.0], **gains),
        "PDPlusGravity": lambda **gains: lw.control.PDPlusGravity(PENDULUM, [0.0], **gains),
        "Posture": lambda **gains: lw.control.Posture([0.0], **gains),
    }
    for make in makers.values():
        with pytest.warns(lw.LinkworkWarning, match="is called k[pd] now; the old name goes with the next release"):
            old = make(stiffness=3.0, damping=2.0)
        new = make(kp=3.0, kd=2.0)
        assert np.array_equal(old.kp, new.kp) and np.array_equal(old.kd, new.kd)
        with pytest.warns(lw.LinkworkWarning, match="stiffness is called kp now") as caught:
            assert np.array_equal(new.stiffness, new.kp)
        assert caught[0].filename == __file__
        with pytest.warns(lw.LinkworkWarning, match="damping is called kd now"):
            new.damping = old.kp
        assert np.array_equal(new.kd, old.kp)
        with pytest.raises(lw.ArgumentError, match="stiffness is called kp now; pass the new name alone"):
            make(stiffness=3.0, kp=3.0)
    with pytest.raises(lw.ArgumentError, match="time_constant is called stabilisation now; pass the new name alone"):
        lw.constrained_dynamics(double, *state, ball, None, 0.1, time_constant=0.1)
    with pytest.raises(lw.ArgumentError, match=r"torque must be a function .* numbers go into tau"):
        lw.simulate(PENDULUM, *NOW, 0.02, 0.01, tau=[1.0], torque=[1.0])
    with pytest.raises(lw.ArgumentError, match=r"tau must be numbers, not .*; what says them goes into torque"):
        lw.simulate(PENDULUM, *NOW, 0.02, 0.01, tau=lambda t, q, v: v)  # type: ignore[arg-type]


def test_a_prismatic_joint_out_of_its_range_is_said_once() -> None:
    builder = lw.Builder("slider")
    builder.add_body("box", joint=lw.joints.Prismatic("x"), mass=1.0, joint_name="slide", lower=0.0, upper=0.1)
    words = r"prismatic joint 'slide' of model 'slider' ran out of its range, 0 to 0.1 m: it went from 0 to 0\.\d+ m"
    with lw.interpreted():
        for run in (
            lambda model, **options: lw.simulate(model, [0.0], [1.0], 0.3, 0.01, **options),
            lambda model, **options: lw.rollout(model, [0.0], [1.0], dt=0.01, steps=30, **options),
        ):
            model = builder.build()
            run(model, joint_limits=True)
            with pytest.warns(lw.LinkworkWarning, match=words) as caught:
                run(model)
            assert caught[0].filename == __file__
            run(model)  # no second warning, which would be an error
