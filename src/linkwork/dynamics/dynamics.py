"""Public functions of joint forces, accelerations, mass matrix, energy and momentum."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms import CHAIN_METHODS, FORWARD_DYNAMICS, STUDIES, along, weighed
from linkwork.arguments import array, choice
from linkwork.dynamics import call
from linkwork.dynamics.arguments import Array, check_model
from linkwork.engine import mode
from linkwork.errors import ArgumentError
from linkwork.late import LateFunction
from linkwork.model.model import Model
from linkwork.spatial import ArticulatedInertia

check_inertias = LateFunction("linkwork.dynamics.light_bodies:check_inertias")

FORWARD_METHODS = (*FORWARD_DYNAMICS, "assembly", *CHAIN_METHODS, *STUDIES)


def inverse_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    inertias: ArrayLike | None = None,
    armature: ArrayLike | None = None,
    damping: ArrayLike | None = None,
    friction: ArrayLike | None = None,
    placements: ArrayLike | None = None,
    out: Array | None = None,
) -> Array:
    """Inverse dynamics: the joint forces that produce given accelerations (recursive Newton-Euler).

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        v: velocity (..., nv).
        a: acceleration (..., nv).
        f_ext: external force (N) and moment (N m) on each body, in the body's own frame (..., nbodies, 6); zero if
            left out.
        inertias: inertial parameters (..., nbodies, 10) to use instead of ``model.inertial_parameters``, in its order.
            They are data: one compiled kernel serves a batch of mechanisms. This argument and the next four are for
            models of up to 50 bodies.
        armature: rotor inertias (..., nv), kg m² or kg, instead of the model's; a single number applies to all joints,
            here and in the next two.
        damping: viscous damping (..., nv) to include, N m s/rad or N s/m.
        friction: Coulomb friction (..., nv) to include, N m or N, smoothed below 0.001 rad/s or m/s as in
            ``lw.rollout``.
        placements: placements (..., nbodies, 4, 4) of the joints on their parents, instead of the model's.
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        tau (..., nv), N or N m.

    Warns:
        LinkworkWarning: at speeds above 2,000 rad/s or m/s, if velocity terms cancel that are so much larger than the
        result that rounding loses more than about half of the 16 digits.

    Example:
        >>> import linkwork as lw
        >>> pendulum = lw.mechanisms.serial_chain(1, joint=lw.joints.Revolute("y"))
        >>> lw.inverse_dynamics(pendulum, [0.0], [0.0], [0.0])  # 1 kg, held at 0.5 m
        array([-4.905])
    """
    if not (inertias is armature is damping is friction is placements is None):
        data = inertias, armature, damping, friction, placements
        return _with("inverse_dynamics", FORWARD_METHODS[0], model, q, v, a, f_ext, *data, out)
    return call.every("inverse_dynamics", model, out, q, v, a, f_ext)


def nonlinear_effects(model: Model, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array:
    """The bias forces C(q, v) v + g(q): inverse dynamics at zero acceleration, without external forces.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        v: velocity (..., nv).
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        tau (..., nv), N or N m: the joint forces of gravity, Coriolis and centrifugal effects.

    Example:
        >>> import linkwork as lw
        >>> pendulum = lw.mechanisms.serial_chain(1, joint=lw.joints.Revolute("y"))
        >>> lw.nonlinear_effects(pendulum, [0.0], [2.0])
        array([-4.905])
    """
    return call.every("nonlinear_effects", model, out, q, v)


def gravity_torques(model: Model, q: ArrayLike, *, out: Array | None = None) -> Array:
    """The joint forces g(q) that hold the mechanism at rest against gravity.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        tau (..., nv), N or N m.

    Example:
        >>> import linkwork as lw
        >>> pendulum = lw.mechanisms.serial_chain(1, joint=lw.joints.Revolute("y"))
        >>> lw.gravity_torques(pendulum, [[0.0], [1.5707963267948966]]).round(12) + 0.0
        array([[-4.905],
               [ 0.   ]])
    """
    return call.every("gravity_torques", model, out, q)


def mass_matrix(model: Model, q: ArrayLike, *, out: Array | None = None) -> Array:
    """The joint-space mass matrix M(q), by the composite-rigid-body algorithm; rotor inertias are included.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        M (..., nv, nv), symmetric: kg, kg m or kg m².

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder()
        >>> _ = builder.add_body("cart", joint=lw.joints.Prismatic("x"), mass=2.0)
        >>> lw.mass_matrix(builder.build(), [0.3])
        array([[2.]])
    """
    return call.every("mass_matrix", model, out, q)


def forward_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    method: str = "articulated_body",
    main_chain: str | None = None,
    i_x: ArrayLike | None = None,
    *,
    inertias: ArrayLike | None = None,
    armature: ArrayLike | None = None,
    damping: ArrayLike | None = None,
    friction: ArrayLike | None = None,
    placements: ArrayLike | None = None,
    out: Array | None = None,
) -> Array:
    """Forward dynamics: the accelerations caused by joint forces, external forces and gravity.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        v: velocity (..., nv).
        tau: joint forces (..., nv), N or N m.
        f_ext: external force (N) and moment (N m) on each body, in the body's own frame (..., nbodies, 6); zero if
            left out.
        method: "articulated_body" (O(n), the default); "virtual_work" (O(n); every body needs an inertia; it warns
            where the masses of neighbouring bodies differ so much that digits are lost); "composite_body" (mass matrix
            and a sparse factorisation); "unit_vector" (mass matrix by inverse dynamics, a baseline); "constraint_force"
            (O(log n) steps on n processors; every body needs an inertia; beyond 50 bodies, a single state with a long
            main chain is spread over the lanes of the vector unit and over threads; without such a chain, or with
            ``main_chain`` given, it is interpreted, which is slow); "assembly" (O(log n) steps on n processors, on
            any tree, by joining sub-chains pairwise; every body needs an inertia; beyond 50 bodies the work of one
            step is spread over lanes and threads). For study: "constraint_force_world" (the constraint force method in
            world coordinates, with the bias force by inverse dynamics, as in its paper); "virtual_work_unsplit"
            (virtual work as its paper prints it: the inverse of the constraint matrix is kept in blocks) and
            "virtual_work_split" (the same with links split until each has at most three joints), which are never
            compiled.
        main_chain: for the constraint force methods, the last body of the chain from the world whose joints are
            solved for together; all other bodies are side branches. The longest path if left out; the result is the
            same.
        i_x: for "constraint_force_world", the paper's I_X: any symmetric positive definite matrix in world
            coordinates, (6, 6) or one for each body (nbodies, 6, 6). The identity if left out; the result is the same.
            Never compiled.
        inertias: inertial parameters (..., nbodies, 10) to use instead of ``model.inertial_parameters``, in its order.
            They are data: one compiled kernel serves a batch of mechanisms. This argument and the next four are for
            models of up to 50 bodies.
        armature: rotor inertias (..., nv), kg m² or kg, instead of the model's; a single number applies to all joints,
            here and in the next two.
        damping: viscous damping (..., nv) to include, N m s/rad or N s/m.
        friction: Coulomb friction (..., nv) to include, N m or N, smoothed below 0.001 rad/s or m/s as in
            ``lw.rollout``.
        placements: placements (..., nbodies, 4, 4) of the joints on their parents, instead of the model's.
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        a (..., nv), rad/s² or m/s².

    Raises:
        SingularError: if a joint can move without moving any inertia, or, for virtual work and constraint forces, if a
            body has no inertia; the error names it. An inertia at the level of rounding counts as zero.

    Warns:
        LinkworkWarning: if rounding loses more than about half of the 16 digits, because masses differ widely or a
        centre of mass is far from its body's frame; estimated once for a model of up to 60 bodies. Or because velocity
        terms cancel that are much larger than the result; estimated for each state with a speed above 2,000 rad/s or
        m/s.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder(gravity=(0, 0, -10))
        >>> _ = builder.add_body("box", joint=lw.joints.Free(), mass=2.0, inertia=(1, 1, 1))
        >>> box = builder.build()
        >>> lw.forward_dynamics(box, lw.neutral(box), [0] * 6, [0] * 6, f_ext=[[4, 0, 0, 0, 0, 3]])
        array([  2.,   0., -10.,   0.,   0.,   3.])
    """
    if not isinstance(method, str) or method not in FORWARD_METHODS:
        choice("method", method, FORWARD_METHODS)
    if not (inertias is armature is damping is friction is placements is None):
        check_model(model)
        for name, value in (("main_chain", main_chain), ("i_x", i_x)):
            if value is not None:
                raise ArgumentError(f"{name} does not go with parameters as data (inertias, placements, ...)")
        data = inertias, armature, damping, friction, placements
        return _with("forward_dynamics", method, model, q, v, tau, f_ext, *data, out)
    if main_chain is i_x is None:
        answer: Array | None = call.served(method, model, out, q, v, tau, f_ext)
        if answer is not None:
            return answer
    check_model(model)
    check_inertias(method, model, 4)
    if main_chain is not None and method not in CHAIN_METHODS:
        raise ArgumentError(f"main_chain is for the methods {', '.join(CHAIN_METHODS)}; method {method!r} has none")
    tip = None if main_chain is None else model.body_index(main_chain) + 1
    if i_x is not None:
        if method != "constraint_force_world":
            raise ArgumentError(f"i_x is for the method 'constraint_force_world'; method {method!r} needs none")
        with mode.interpreted():
            return call.call(weighed(method, _matrices(model, i_x), tip), model, [q, v, tau, f_ext], out=out)[0]
    if tip is not None:
        return call.call(along(method, tip), model, [q, v, tau, f_ext], out=out)[0]
    return call.every(method, model, out, q, v, tau, f_ext)


def _with(
    name: str, method: str, model: Model, q: ArrayLike, v: ArrayLike, third: ArrayLike, f_ext: ArrayLike | None,
    inertias: ArrayLike | None, armature: ArrayLike | None, damping: ArrayLike | None, friction: ArrayLike | None,
    placements: ArrayLike | None, out: Array | None,
) -> Array:  # fmt: skip
    """Inverse or forward dynamics with parameters as data; ``third`` is a or tau."""
    check_model(model)
    choices = (
        name, method, f_ext is None, inertias is None, armature is None, damping is None, friction is None,
        placements is None,
    )  # fmt: skip
    every = (q, v, third, f_ext, inertias, armature, damping, friction, placements)
    values = [value for value in every if value is not None]
    answer: Array | None = call.recall(model._memo.quick, choices, out, *values)
    if answer is not None:
        return answer
    from linkwork.dynamics.varied import with_parameters  # imported late

    return with_parameters(choices, model, every, out)


def _matrices(model: Model, i_x: ArrayLike) -> list[ArticulatedInertia]:
    """The matrix I_X of each body."""
    bodies = len(model.bodies)
    matrices = array("i_x", i_x, (6, 6))
    if matrices.shape not in ((6, 6), (bodies, 6, 6)):
        raise ArgumentError(f"i_x must be numbers in shape (6, 6) or ({bodies}, 6, 6), not {matrices.shape}")
    each = np.broadcast_to(matrices, (bodies, 6, 6))
    for body, matrix in zip(model.bodies, each, strict=True):
        if not np.isfinite(matrix).all() or (matrix != matrix.T).any() or np.linalg.eigvalsh(matrix)[0] <= 0.0:
            raise ArgumentError(f"i_x of body {body.name!r} must be symmetric and positive definite")
    return [ArticulatedInertia.from_rows(matrix.tolist()) for matrix in each]


def energy(model: Model, q: ArrayLike, v: ArrayLike, *, out: tuple[Array, Array] | None = None) -> tuple[Array, Array]:
    """Kinetic and potential energy.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        v: velocity (..., nv).
        out: a tuple of arrays for the results, written in place and returned; new ones if left out.

    Returns:
        Kinetic energy, rotors included, and potential energy of gravity, which is zero with all mass at the world's
        origin; both (...), J. The energy of springs (``model.stiffness``) is not included: it is the sum of k x² / 2,
        with x = ``lw.difference(model, model.springref, q)``.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder(gravity=(0, 0, -10))
        >>> _ = builder.add_body("lift", joint=lw.joints.Prismatic("z"), mass=2.0)
        >>> kinetic, potential = lw.energy(builder.build(), [3.0], [4.0])
        >>> float(kinetic), float(potential)
        (16.0, 60.0)
    """
    return call.every("energy", model, out, q, v)


def momentum(model: Model, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array:
    """The total momentum about the centre of mass, in the world's axes (centroidal momentum).

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        v: velocity (..., nv).
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        h (..., 6): linear (kg m/s) and angular (kg m²/s) momentum.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder()
        >>> _ = builder.add_body("lift", joint=lw.joints.Prismatic("z"), mass=2.0)
        >>> lw.momentum(builder.build(), [3.0], [4.0])
        array([0., 0., 8., 0., 0., 0.])
    """
    return call.every("momentum", model, out, q, v)


def centre_of_mass(model: Model, q: ArrayLike, *, out: Array | None = None) -> Array:
    """The position of the mechanism's centre of mass.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        (..., 3), m, in the world frame.

    Example:
        >>> import linkwork as lw
        >>> lw.centre_of_mass(lw.mechanisms.serial_chain(2), [0.0, 0.0])
        array([1., 0., 0.])
    """
    return call.every("centre_of_mass", model, out, q)
