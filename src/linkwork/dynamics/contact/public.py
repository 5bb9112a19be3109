"""Public functions of contact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from linkwork.arguments import Array, seconds, switch
from linkwork.dynamics.contact.law import touching
from linkwork.model.contacts import Contact
from linkwork.model.model import Model


def contact_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    contacts: Sequence[Contact],
    f_ext: ArrayLike | None = None,
    dt: float | None = None,
    *,
    joint_limits: bool = True,
    friction: bool = True,
    out: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """Accelerations of a mechanism that touches the ground or itself, and the contact forces.

    Contacts push and never pull; they stick or slide within their friction cones (elliptic). The law is MuJoCo's soft
    convex one, so that redundant contacts share the load and the answer is unique; limits of position and dry friction
    of joints are rows of the same problem. Newton's method with a line search solves it to rounding.

    Args:
        model: the mechanism, of up to 50 bodies.
        q: configuration (..., nq).
        v: velocity (..., nv).
        tau: joint forces (..., nv), N or N m: driving ones, springs and viscous damping.
        contacts: ``model.contacts`` of a model read from MJCF, or a list of ``lw.Contact``.
        f_ext: external force (N) and moment (N m) on each body, in the body's own frame (..., nbodies, 6).
        dt: the step (s) of an integration: contacts are then no stiffer than it can follow, with time constants of at
            least two steps.
        joint_limits: joints push back beyond their limits of position.
        friction: joints have the model's dry friction, as a soft constraint within its bounds.
        out: a tuple of arrays for the results, written in place and returned; new ones if left out.

    Returns:
        a (..., nv), and forces (..., p, 3) in world axes (N): at each point of each contact, on the body that carries
        ``frame``; what it touches feels the opposite. A sphere, an ellipsoid and a point have one point, a capsule on
        the ground two (the end at +z first), a box four; ``lw.contact_points`` says where.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder(gravity=(0, 0, -10))
        >>> _ = builder.add_body("ball", joint=lw.joints.Free(), mass=2.0, inertia=(0.1, 0.1, 0.1))
        >>> ball, touch = builder.build(), [lw.Contact("ball", lw.Sphere(0.5), friction=0.3)]
        >>> q = lw.neutral(ball)
        >>> q[2] = 0.4999
        >>> with lw.interpreted():
        ...     a, forces = lw.contact_dynamics(ball, q, [1.0, 0, 0, 0, 0, 0], [0.0] * 6, touch)
        >>> bool(abs(forces[0, 0] + 0.3 * forces[0, 2]) < 1e-12), bool(forces[0, 2] > 0)  # it slides
        (True, True)
    """
    found = touching(model, contacts, switch("joint_limits", joint_limits), switch("friction", friction))
    values: list[Any] = [q, v, tau]
    if dt is not None:
        values.append(dt if isinstance(dt, float) and dt > 0.0 else seconds("dt", dt))
    if f_ext is not None:
        values.append(f_ext)
    answer: tuple[Array, Array] = found.law(f_ext is not None, dt is not None)(*values, out=out)
    return answer


def contact_points(
    model: Model, q: ArrayLike, contacts: Sequence[Contact], *, out: tuple[Array, Array] | None = None
) -> tuple[Array, Array]:
    """Where contacts are, and how far their shapes are apart.

    Args:
        model: the mechanism, of up to 50 bodies.
        q: configuration (..., nq).
        contacts: ``model.contacts``, or a list of ``lw.Contact``.
        out: a tuple of arrays for the results, written in place and returned; new ones if left out.

    Returns:
        points (..., p, 3), half-way between the two surfaces, in the world (m), and distances (..., p), m, which are
        negative where shapes overlap; in the order of the forces of ``lw.contact_dynamics``.

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(2)
        >>> with lw.interpreted():
        ...     points, distances = lw.contact_points(arm, [0.0, 0.0], [lw.Contact("tip", lw.Sphere(0.1))])
        >>> points, distances
        (array([[ 2.  ,  0.  , -0.05]]), array([-0.1]))
    """
    answer: tuple[Array, Array] = touching(model, contacts).points_law(q, out=out)
    return answer
