"""Public functions of Jacobian products of dynamics: in reverse mode (vjp) and in forward mode (jvp).

Each costs a few times the function itself, O(n), whereas a matrix of derivatives has nv² entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms import PRODUCTS, Algorithm, pulling_back
from linkwork.arguments import is_listed
from linkwork.dynamics import call
from linkwork.dynamics.arguments import Array, check_model
from linkwork.errors import ArgumentError, shown
from linkwork.model.model import Model

_pulling_back = cache(pulling_back)
_OF_INVERSE, _OF_FORWARD = ("q", "v", "a"), ("q", "v", "tau")


def inverse_dynamics_vjp(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    weights: ArrayLike,
    f_ext: ArrayLike | None = None,
    wrt: Sequence[str] = _OF_INVERSE,
    *,
    out: tuple[Array, ...] | None = None,
) -> tuple[Array, ...]:
    """The gradient of a scalar through ``lw.inverse_dynamics``: a vector times its derivatives, O(n).

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        v: velocity (..., nv).
        a: acceleration (..., nv).
        weights: the derivative of the scalar with respect to tau (..., nv).
        f_ext: external force (N) and moment (N m) on each body, in the body's own frame (..., nbodies, 6); zero if
            left out.
        wrt: which gradients to compute: "q", "v", "a", "f_ext" and "parameters" (``model.inertial_parameters``).
        out: a tuple of arrays for the results, written in place and returned; new ones if left out.

    Returns:
        A tuple with an array for each name in ``wrt``: (..., nv) for q (in the tangent space), v and a;
        (..., nbodies, 6) for f_ext; (..., nbodies, 10) for parameters.

    Example:
        >>> import linkwork as lw, numpy as np
        >>> arm = lw.mechanisms.serial_chain(3)
        >>> q, v = lw.random_state(arm, 0)
        >>> dtau_dq, dtau_dv, M = lw.inverse_dynamics_derivatives(arm, q, v, v)
        >>> by_q, by_v, by_a = lw.inverse_dynamics_vjp(arm, q, v, v, [1.0, 2.0, 3.0])
        >>> np.allclose(by_q, [1.0, 2.0, 3.0] @ dtau_dq)
        True
    """
    return _pulled_back("inverse_dynamics_vjp", model, wrt, out, q, v, a, weights, f_ext)


def forward_dynamics_vjp(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    weights: ArrayLike,
    f_ext: ArrayLike | None = None,
    wrt: Sequence[str] = _OF_FORWARD,
    *,
    out: tuple[Array, ...] | None = None,
) -> tuple[Array, ...]:
    """The gradient of a scalar through ``lw.forward_dynamics``: a vector times its derivatives, O(n).

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        v: velocity (..., nv).
        tau: joint forces (..., nv), N or N m.
        weights: the derivative of the scalar with respect to the acceleration (..., nv).
        f_ext: external force (N) and moment (N m) on each body, in the body's own frame (..., nbodies, 6); zero if
            left out.
        wrt: which gradients to compute: "q", "v", "tau", "f_ext" and "parameters" (``model.inertial_parameters``).
        out: a tuple of arrays for the results, written in place and returned; new ones if left out.

    Returns:
        A tuple with an array for each name in ``wrt``: (..., nv) for q (in the tangent space), v and tau;
        (..., nbodies, 6) for f_ext; (..., nbodies, 10) for parameters.

    Raises:
        SingularError: if a joint can move without moving any inertia; the error names it.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder()
        >>> _ = builder.add_body("cart", joint=lw.joints.Prismatic("x"), mass=2.0)
        >>> cart = builder.build()
        >>> by_mass = lw.forward_dynamics_vjp(cart, [0.0], [0.0], [4.0], [1.0], wrt=["parameters"])[0][0, 0]
        >>> float(by_mass)  # of 4 / m
        -1.0
    """
    return _pulled_back("forward_dynamics_vjp", model, wrt, out, q, v, tau, weights, f_ext)


def inverse_dynamics_jvp(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    dq: ArrayLike | None = None,
    dv: ArrayLike | None = None,
    da: ArrayLike | None = None,
    f_ext: ArrayLike | None = None,
    df_ext: ArrayLike | None = None,
    dparameters: ArrayLike | None = None,
    *,
    out: Array | None = None,
) -> Array:
    """The directional derivative of ``lw.inverse_dynamics``: its derivatives times a vector, O(n).

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        v: velocity (..., nv).
        a: acceleration (..., nv).
        dq: rate of change of q, in the tangent space (..., nv); zero if left out.
        dv: rate of change of v (..., nv); zero if left out.
        da: rate of change of a (..., nv); zero if left out.
        f_ext: external force (N) and moment (N m) on each body, in the body's own frame (..., nbodies, 6); zero if
            left out.
        df_ext: rate of change of f_ext (..., nbodies, 6); zero if left out.
        dparameters: rate of change of ``model.inertial_parameters`` (..., nbodies, 10); zero if left out.
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        The rate of change of tau (..., nv).

    Example:
        >>> import linkwork as lw
        >>> pendulum = lw.mechanisms.serial_chain(1, joint=lw.joints.Revolute("y"))
        >>> lw.inverse_dynamics_jvp(pendulum, [1.5707963267948966], [0.0], [0.0], dq=[2.0]).round(12)
        array([9.81])
    """
    return _pushed_forward("inverse_dynamics_jvp", model, (q, v, a), (dq, dv, da), f_ext, df_ext, dparameters, out)


def forward_dynamics_jvp(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    dq: ArrayLike | None = None,
    dv: ArrayLike | None = None,
    dtau: ArrayLike | None = None,
    f_ext: ArrayLike | None = None,
    df_ext: ArrayLike | None = None,
    dparameters: ArrayLike | None = None,
    *,
    out: Array | None = None,
) -> Array:
    """The directional derivative of ``lw.forward_dynamics``: its derivatives times a vector, O(n).

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        v: velocity (..., nv).
        tau: joint forces (..., nv), N or N m.
        dq: rate of change of q, in the tangent space (..., nv); zero if left out.
        dv: rate of change of v (..., nv); zero if left out.
        dtau: rate of change of tau (..., nv); zero if left out.
        f_ext: external force (N) and moment (N m) on each body, in the body's own frame (..., nbodies, 6); zero if
            left out.
        df_ext: rate of change of f_ext (..., nbodies, 6); zero if left out.
        dparameters: rate of change of ``model.inertial_parameters`` (..., nbodies, 10); zero if left out.
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        The rate of change of the acceleration (..., nv).

    Raises:
        SingularError: if a joint can move without moving any inertia; the error names it.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder()
        >>> _ = builder.add_body("cart", joint=lw.joints.Prismatic("x"), mass=2.0)
        >>> lw.forward_dynamics_jvp(builder.build(), [0.0], [0.0], [4.0], dtau=[1.0])
        array([0.5])
    """
    return _pushed_forward("forward_dynamics_jvp", model, (q, v, tau), (dq, dv, dtau), f_ext, df_ext, dparameters, out)


def _pulled_back(name: str, model: Model, wrt: Sequence[str], out: Any, *values: Any) -> tuple[Array, ...]:
    if wrt is _OF_INVERSE or wrt is _OF_FORWARD:
        return call.every(name, model, out, *values)
    check_model(model)
    algorithm = _pulling_back(name, _names(name, wrt))
    results = call.call(algorithm, model, values, table=model._memo.quick, out=_alone(algorithm, out))
    return tuple(results) if out is None else out


def _alone(algorithm: Algorithm, out: Any) -> Any:
    """The array of ``out`` for an algorithm with a single result."""
    single = len(algorithm.results) == 1 and isinstance(out, tuple) and len(out) == 1
    if out is not None and len(algorithm.results) == 1 and not single:
        raise ArgumentError(f"out must be a tuple of 1 array, one for each result, not {type(out).__name__}")
    return out[0] if single else out


def _names(name: str, wrt: Any) -> tuple[str, ...]:
    names = (*PRODUCTS[name][1], "f_ext", "parameters")
    if not is_listed(wrt) or not wrt or not all(isinstance(one, str) and one in names for one in wrt):
        raise ArgumentError(f"wrt must be a list of names among {', '.join(map(repr, names))}, not {shown(wrt)}")
    if len(set(wrt)) != len(wrt):
        raise ArgumentError(f"wrt must hold each name once, not {shown(wrt)}")
    return tuple(wrt)


def _pushed_forward(
    name: str,
    model: Model,
    state: tuple[ArrayLike, ...],
    changes: tuple[ArrayLike | None, ...],
    f_ext: ArrayLike | None,
    df_ext: ArrayLike | None,
    dparameters: ArrayLike | None,
    out: Any,
) -> Array:
    check_model(model)
    rates = [np.zeros(model.nv) if change is None else change for change in changes]
    if (f_ext is None) != (df_ext is None):  # the code takes both or neither
        nothing = np.zeros((len(model.bodies), 6))
        f_ext, df_ext = (nothing if forces is None else forces for forces in (f_ext, df_ext))
    if dparameters is None:
        derivative: Array = call.every(name, model, out, *state, *rates, f_ext, df_ext)
    else:
        derivative = call.every(f"{name}/parameters", model, out, *state, *rates, f_ext, df_ext, dparameters)
    return derivative
