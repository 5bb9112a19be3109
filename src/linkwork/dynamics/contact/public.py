"""Public functions of contact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from linkwork.arguments import Array, seconds, switch
from linkwork.dynamics.arguments import check_model
from linkwork.dynamics.contact.law import touching
from linkwork.errors import ArgumentError, shown
from linkwork.model.all_contacts import Contacts
from linkwork.model.constraints import Constraint, as_constraints
from linkwork.model.contacts import (
    Box,
    Capsule,
    Contact,
    Cylinder,
    Ellipsoid,
    HeightField,
    Plane,
    Shape,
    Softness,
    Sphere,
)
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
    constraints: Sequence[Constraint] = (),
    out: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """Forward dynamics with unilateral contacts, with the ground or between bodies: accelerations and contact forces.

    Contacts push and never pull; they stick or slide within their (elliptic) friction cones. The contact law is
    MuJoCo's soft convex one, so redundant contacts share the load and the solution is unique; position limits and dry
    friction of joints are rows of the same problem. Newton's method with a line search solves it to rounding.

    Args:
        model: the mechanism, of any number of bodies.
        q: configuration (..., nq).
        v: velocity (..., nv).
        tau: joint forces (..., nv), N or N m, springs and viscous damping included.
        contacts: ``model.contacts`` of a model read from MJCF, or a list of ``lw.Contact``.
        f_ext: external force (N) and moment (N m) on each body, in the body's own frame (..., nbodies, 6); zero if
            left out.
        dt: the integration step (s): the time constants of contacts are then at least two steps, so that contacts are
            no stiffer than the integration can follow.
        joint_limits: whether joints push back beyond their position limits.
        friction: whether joints have the model's dry friction, as a soft constraint within its bounds.
        constraints: ``model.constraints``, or a list of ``lw.Ball`` and the like, as soft rows of the same problem.
        out: a tuple of arrays for the results, written in place and returned; new ones if left out.

    Returns:
        a (..., nv), rad/s² or m/s², and forces (..., p, 3) in world axes (N): at each point of each contact, on the
        body that carries ``frame``; the opposite acts on the other side. Torsional and rolling friction moments are not
        included; ``contact_forces`` of ``lw.simulate`` has them. A sphere, an ellipsoid and a point have one contact
        point, a capsule on the ground two (the end at +z first), a box or a cylinder on the ground four, a box on a box
        twelve candidates, of which at most eight push; ``lw.contact_points`` returns their positions.

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
    held = as_constraints(constraints)
    problem = touching(model, contacts, switch("joint_limits", joint_limits), switch("friction", friction), held)
    values: list[Any] = [q, v, tau]
    if dt is not None:
        values.append(dt if isinstance(dt, float) and dt > 0.0 else seconds("dt", dt))
    if f_ext is not None:
        values.append(f_ext)
    return problem.law(f_ext is not None, dt is not None)(*values, out=out)


def contact_points(
    model: Model, q: ArrayLike, contacts: Sequence[Contact], *, out: tuple[Array, Array] | None = None
) -> tuple[Array, Array]:
    """The contact points, and the signed distances between the shapes.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        contacts: ``model.contacts``, or a list of ``lw.Contact``.
        out: a tuple of arrays for the results, written in place and returned; new ones if left out.

    Returns:
        points (..., p, 3), half-way between the two surfaces, in the world (m), and distances (..., p), m, which are
        negative where shapes overlap; in the order of the forces of ``lw.contact_dynamics``. Unused candidates of a
        pair of boxes have the sum of their half diagonals as distance.

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(2)
        >>> with lw.interpreted():
        ...     points, distances = lw.contact_points(arm, [0.0, 0.0], [lw.Contact("tip", lw.Sphere(0.1))])
        >>> points, distances
        (array([[ 2.  ,  0.  , -0.05]]), array([-0.1]))
    """
    return touching(model, contacts).points_law(q, out=out)


def collision_contacts(
    model: Model,
    against: Plane | HeightField | None = None,
    friction: float = 1.0,
    *,
    dimensions: int = 3,
    softness: Softness | None = None,
) -> Contacts:
    """Contacts of a model's collision geometry with the ground: of the spheres, capsules, cylinders, boxes and
    ellipsoids of bodies that move. A warning names geometry that is skipped, such as meshes.

    An MJCF file specifies which shapes touch and how (``model.contacts``); a URDF file specifies neither.

    Args:
        model: the mechanism, as ``lw.load`` returns it.
        against: the ground; the plane z = 0 if left out.
        friction: the coefficient of friction.
        dimensions: 3, 1 for no friction, 4 to add torsional friction, 6 to add torsional and rolling friction.
        softness: the contact softness; MuJoCo's default if left out.

    Returns:
        An ``lw.Contacts``, for ``lw.contact_dynamics``, ``lw.simulate`` and ``lw.rollout``.

    Example:
        >>> import linkwork as lw
        >>> len(lw.collision_contacts(lw.mechanisms.pendulum()))  # no file, no shapes
        0
    """
    check_model(model)
    ground = Plane() if against is None else against
    if not isinstance(ground, Plane | HeightField):
        raise ArgumentError(f"against must be lw.Plane or lw.HeightField, not {shown(against)}")
    contacts, left_out = [], []
    for one in model.geometry:
        if not one.collision or not one.body:
            continue
        name = model.body_names[one.body - 1]
        shape = _shape(one.kind, one.size)
        if shape is None or (isinstance(ground, HeightField) and isinstance(shape, Cylinder | Box | Ellipsoid)):
            left_out.append(f"the {one.kind} of {name!r}")
            continue
        place = model.frame(name).placement.inverse() * one.placement
        soft = Softness() if softness is None else softness
        contacts.append(
            Contact(name, shape, ground, friction=friction, dimensions=dimensions, placement=place, softness=soft)
        )
    return Contacts(tuple(contacts), left_out=tuple(left_out))


def _shape(kind: str, size: Sequence[float]) -> Shape | None:
    if kind == "sphere":
        return Sphere(size[0])
    if kind == "capsule":
        return Capsule(size[0], 0.5 * size[1])
    if kind == "cylinder":
        return Cylinder(size[0], 0.5 * size[1])
    if kind == "box":
        return Box((0.5 * size[0], 0.5 * size[1], 0.5 * size[2]))
    return Ellipsoid((size[0], size[1], size[2])) if kind == "ellipsoid" else None
