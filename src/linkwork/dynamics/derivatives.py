"""Public functions of derivatives: of dynamics, of frame motions and of momentum.

All are in the tangent space: column k is the derivative along degree of freedom k, with q moving as
``lw.integrate(model, q, δ)`` at δ = 0.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from linkwork.algorithms import REFERENCES
from linkwork.arguments import choice
from linkwork.dynamics import call
from linkwork.dynamics.arguments import Array, Frames
from linkwork.model.model import Model

Two = tuple[Array, Array]
Three = tuple[Array, Array, Array]

_VELOCITY, _ACCELERATION = (
    {reference: f"frame_{what}_derivatives/{reference}" for reference in REFERENCES}
    for what in ("velocity", "acceleration")
)


def inverse_dynamics_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    out: Three | None = None,
) -> Three:
    """The derivatives of ``lw.inverse_dynamics`` with respect to q, v and a, by one recursion.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        v: velocity (..., nv).
        a: acceleration (..., nv).
        f_ext: external force (N) and moment (N m) on each body, constant in the body's own frame (..., nbodies, 6);
            zero if left out.
        out: a tuple of three arrays for the results, written in place and returned; new ones if left out.

    Returns:
        dtau_dq, dtau_dv and M = dtau_da, each (..., nv, nv): a row for each tau, a column for each degree of freedom.
        The entry of two joints is zero unless one of them supports the other.

    Example:
        >>> import linkwork as lw
        >>> pendulum = lw.mechanisms.serial_chain(1, joint=lw.joints.Revolute("y"))
        >>> dtau_dq, dtau_dv, M = lw.inverse_dynamics_derivatives(pendulum, [1.5707963267948966], [0.0], [0.0])
        >>> dtau_dq.round(12)  # it hangs: m g l
        array([[4.905]])
    """
    return call.every("inverse_dynamics_derivatives", model, out, q, v, a, f_ext)


def forward_dynamics_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    out: Three | None = None,
) -> Three:
    """The derivatives of ``lw.forward_dynamics`` with respect to q, v and tau, by recursion.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        v: velocity (..., nv).
        tau: joint forces (..., nv), N or N m.
        f_ext: external force (N) and moment (N m) on each body, constant in the body's own frame (..., nbodies, 6);
            zero if left out.
        out: a tuple of three arrays for the results, written in place and returned; new ones if left out.

    Returns:
        da_dq, da_dv and Minv = da_dtau, each (..., nv, nv): a row for each acceleration, a column for each degree of
        freedom.

    Raises:
        SingularError: if a joint can move without moving any inertia; the error names it.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder()
        >>> _ = builder.add_body("cart", joint=lw.joints.Prismatic("x"), mass=2.0)
        >>> da_dq, da_dv, Minv = lw.forward_dynamics_derivatives(builder.build(), [0.3], [0.1], [1.0])
        >>> Minv
        array([[0.5]])
    """
    return call.every("forward_dynamics_derivatives", model, out, q, v, tau, f_ext)


def mass_matrix_inverse(model: Model, q: ArrayLike, *, out: Array | None = None) -> Array:
    """The inverse of the joint-space mass matrix, by articulated-body inertias; M itself is never formed.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        (..., nv, nv), symmetric, with the inverse units of ``lw.mass_matrix``.

    Raises:
        SingularError: if a joint can move without moving any inertia; the error names it.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder()
        >>> _ = builder.add_body("cart", joint=lw.joints.Prismatic("x"), mass=2.0)
        >>> lw.mass_matrix_inverse(builder.build(), [0.3])
        array([[0.5]])
    """
    return call.every("mass_matrix_inverse", model, out, q)


def torque_regressor(model: Model, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, out: Array | None = None) -> Array:
    """The regressor Y of joint forces: tau = Y π + armature · a for the inertial parameters π, without external forces.

    Args:
        model: the mechanism; its own inertias are not used.
        q: configuration (..., nq).
        v: velocity (..., nv).
        a: acceleration (..., nv).
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        Y (..., nv, 10 nbodies): ten columns for each body, in the order of ``model.inertial_parameters.ravel()``, which
        is Pinocchio's order.

    Example:
        >>> import linkwork as lw, numpy as np
        >>> arm = lw.mechanisms.serial_chain(3)
        >>> q, v = lw.random_state(arm, 0)
        >>> tau = lw.torque_regressor(arm, q, v, 0 * v) @ arm.inertial_parameters.ravel()
        >>> np.allclose(tau, lw.nonlinear_effects(arm, q, v))
        True
    """
    return call.every("torque_regressor", model, out, q, v, a)


def momentum_derivatives(model: Model, q: ArrayLike, v: ArrayLike, *, out: Two | None = None) -> Two:
    """The derivatives of ``lw.momentum`` with respect to q and v; the second is the centroidal momentum matrix.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        v: velocity (..., nv).
        out: a tuple of two arrays for the results, written in place and returned; new ones if left out.

    Returns:
        dh_dq and dh_dv, each (..., 6, nv): rows of linear and angular momentum about the centre of mass, in the world's
        axes.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder()
        >>> _ = builder.add_body("lift", joint=lw.joints.Prismatic("z"), mass=2.0)
        >>> dh_dq, dh_dv = lw.momentum_derivatives(builder.build(), [3.0], [4.0])
        >>> dh_dv.ravel()
        array([0., 0., 2., 0., 0., 0.])
    """
    return call.every("momentum_derivatives", model, out, q, v)


def frame_velocity_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    frames: Frames,
    reference: str = "local",
    *,
    out: Two | None = None,
) -> Two:
    """The derivatives of ``lw.frame_velocity`` with respect to q and v.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        v: velocity (..., nv).
        frames: m names of ``model.frame_names`` or ``lw.Point`` objects.
        reference: "local", "world" or "local_world_aligned", as for ``lw.jacobian``.
        out: a tuple of two arrays for the results, written in place and returned; new ones if left out.

    Returns:
        dv_dq and dv_dv (which is the Jacobian), each (..., 6m, nv), with the rows of ``lw.jacobian``.

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(2)
        >>> tip = lw.Point("tip", axes="position")
        >>> dv_dq, dv_dv = lw.frame_velocity_derivatives(arm, [0.0, 0.0], [1.0, 0.0], [tip])
        >>> dv_dq[0]  # a bent elbow lets the tip move along its own x
        array([0., 1.])
    """
    name = _VELOCITY[choice("reference", reference, REFERENCES)]
    return call.every_frames(name, model, frames, out, q, v)


def frame_acceleration_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    frames: Frames,
    reference: str = "local",
    *,
    out: Three | None = None,
) -> Three:
    """The derivatives of ``lw.frame_acceleration`` with respect to q, v and a.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        v: velocity (..., nv).
        a: acceleration (..., nv).
        frames: m names of ``model.frame_names`` or ``lw.Point`` objects.
        reference: "local", "world" or "local_world_aligned", as for ``lw.frame_acceleration``; the last gives classical
            accelerations.
        out: a tuple of three arrays for the results, written in place and returned; new ones if left out.

    Returns:
        da_dq, da_dv and da_da (which is the Jacobian), each (..., 6m, nv), with the rows of ``lw.jacobian``.

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(1)
        >>> found = lw.frame_acceleration_derivatives(arm, [0.0], [3.0], [0.0], "tip", "local_world_aligned")
        >>> found[1][0]  # towards the axis, twice the speed
        array([-6.])
    """
    name = _ACCELERATION[choice("reference", reference, REFERENCES)]
    return call.every_frames(name, model, frames, out, q, v, a)
