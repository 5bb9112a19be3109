"""The contact problem over arrays: what both carriers of the inertia share (``by_joints``, ``by_bodies``): points,
kept rows, forces.

Accelerations are differentiated by the implicit function theorem: the gradient g(a, p) of the problem is zero at its
solution for all parameters p (state, forces), so that

    da = -H⁻¹ (∂g/∂p) dp,      H = M + Jᵀ H J

Where a contact opens or closes, or changes from sticking to sliding, a has a kink: the derivative is the one-sided one
of the computed solution.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from linkwork.compiled.arrays import array_of, numbers
from linkwork.compiled.kept_rows import KeptRows
from linkwork.dynamics.contact.boxes import Touch
from linkwork.dynamics.contact.collision import solid_of, tangents
from linkwork.dynamics.contact.costs import Cone, cone_response
from linkwork.dynamics.contact.kept import keep_near, like
from linkwork.dynamics.contact.meeting import Meetings, shared
from linkwork.dynamics.contact.softness import impedance, regularisation, spring
from linkwork.dynamics.kinematics import forward_kinematics
from linkwork.joints import Free
from linkwork.model.contacts import Contact, Ground, Softness
from linkwork.model.model import Model
from linkwork.spatial import Mat3, Scalar, Transform, Vec3, total, where_less
from linkwork.spatial.elementary import varying_as

if TYPE_CHECKING:
    from linkwork.dynamics.contact.law import Touching


AXES = (0, 0, 1, 3)
"""The number of axes, normal first and then tangents, about which friction of so many coefficients resists rotation."""


Places = Mapping[str, Transform]
"""The placement in the world of each frame."""


class Twist(NamedTuple):
    """The spatial velocity of a body: linear velocity at the world's origin, and angular velocity."""

    linear: Vec3
    angular: Vec3

    def numbers(self) -> list[Scalar]:
        return [*self.linear.numbers(), *self.angular.numbers()]

    def __add__(self, other: Twist) -> Twist:  # type: ignore[override]
        return Twist(self.linear + other.linear, self.angular + other.angular)

    def __sub__(self, other: Twist) -> Twist:
        return Twist(self.linear - other.linear, self.angular - other.angular)

    def __mul__(self, s: Scalar) -> Twist:
        return Twist(self.linear * s, self.angular * s)

    def at(self, point: Vec3) -> Vec3:
        """The linear velocity at a point."""
        return self.linear + self.angular.cross(point)


class Forces(NamedTuple):
    """The points; the force (N) at each, in world axes (points, 3), and the moment (N m) there."""

    touches: list[Touch]
    forces: Any
    spins: list[Vec3]


class Motion(NamedTuple):
    """The solution: accelerations (nv,); those with implicit damping over the step; and a function without arguments
    that returns the forces.
    """

    a: Any
    damped: Any
    forces: Callable[[], Forces]


class Text(ABC):
    """The contact problem of a model, or of one that differs from it in numbers only; the softness of contacts is then
    that of the first.
    """

    def __init__(self, of: Touching, model: Model | None = None) -> None:
        self.of, self.model, self.contacts = of, of.model if model is None else model, of.contacts
        self.ends, self.points, self.path = of.ends, of.points, of.path

    @abstractmethod
    def motion(
        self, q: Any, v: Any, tau: Any, dt: Scalar | None, f_ext: Any = None, start: Any = None, drag: Any = None
    ) -> Motion:
        """Accelerations and forces. ``start`` is the initial point of the search; ``drag`` (nv,), a diagonal added to
        the rotor inertias, makes damping implicit over the step.
        """

    def wrenches(self, motion: Motion) -> Any:
        """The wrench (6,) of each point about the world's origin."""
        sides = list(self.loads(*motion.forces()))[::2]
        return array_of([x for _, *both in sides for part in both for x in part.numbers()]).reshape(self.points, 6)

    def touches(self, q: Any) -> list[Touch]:
        """The points of all contacts, in the world."""
        return self.met(self.places(q), self.meetings(None))

    def meetings(self, dt: Scalar | None) -> Meetings:
        return Meetings(list(self.contacts), self.mass, dt)

    def met(self, places: Places, meetings: Meetings) -> list[Touch]:
        """The points of all contacts, in the world, given the placements of frames."""
        touches: list[Touch] = []
        for one in self.contacts:
            touches += meetings.meet(one, places)[0]
        return touches

    def places(self, q: Any) -> Places:
        """The placements of all frames with shapes."""
        ends = [end for end in self.ends if self.of.body_of(end)]
        places = {end: self.of.fixed_place(end) for end in self.ends if not self.of.body_of(end)}
        placed = numbers(forward_kinematics(self.model, q, ends)) if ends else []
        for end, T in zip(ends, placed, strict=True):
            places[end] = Transform(Mat3(*T[:3, :3].ravel().tolist()), Vec3(*T[:3, 3].tolist()))
        return places

    def mass(self, one: Contact) -> float:
        """The effective inverse mass of a contact."""
        return sum(self.of.masses.frames[end][0] for end in (one.frame, one.on))

    def pushes(
        self, touches: Sequence[Touch], rate: Callable[[str], Twist], speed: Callable[[str], Twist], dt: Scalar | None
    ) -> tuple[Any, list[Vec3]]:
        """The force at each point, in world axes, and the moment of torsional and rolling friction, from the velocities
        of frames, as twists at the world's origin, and their rates.
        """
        texts: dict[Any, Callable[..., Sequence[Any]]] = {}
        left, forces, spins = iter(touches), list[Scalar](), list[Vec3]()
        rates, speeds = ({end: motion(end) for end in self.ends} for motion in (rate, speed))
        for one in self.contacts:
            b, k = spring(one.softness, dt)
            lacking = (rates[one.frame] - rates[one.on]) + (speeds[one.frame] - speeds[one.on]) * b
            text = shared(partial(_pushing, one.softness, self.contacts.friction_ratio), len(self.contacts))
            text = texts.setdefault((one.softness, one.friction_rows), text)
            rubbing = one.coefficients if one.friction_rows else ()
            for touch in islice(left, one.points):
                inputs = [touch.distance, *touch.point.numbers(), *touch.normal.numbers(), *lacking.numbers(), k]
                (both,) = text(array_of([*inputs, self.mass(one), one.margin, *rubbing]))
                *force, x, y, z = numbers(both).tolist()
                forces += force
                spins.append(Vec3(x, y, z))
        return array_of(forces).reshape(self.points, 3), spins

    def loads(self, touches: Sequence[Touch], forces: Any, spins: Sequence[Vec3]) -> Iterator[tuple[str, Vec3, Vec3]]:
        """The frames on both sides of each point, and the force and the moment about the world's origin on each."""
        owners = (one for one in self.contacts for _ in range(one.points))
        for one, touch, force, spin in zip(owners, touches, numbers(forces).tolist(), spins, strict=True):
            f = Vec3(*force)
            moment = touch.point.cross(f) + spin
            yield one.frame, f, moment
            yield one.on, -f, -moment

    def keep(
        self, rows: KeptRows, members: Sequence[Contact], more: Callable[[Contact], Sequence[float]], places: Places,
        q: Any, meetings: Meetings,
    ) -> None:  # fmt: skip
        """Keep the touching points, with the coefficients of friction, and ``more`` numbers of each contact."""
        pairs: dict[Any, KeptRows] = {}
        for one in members:
            mass, last = self.mass(one), [*one.coefficients, *more(one)]
            both = sides(one, places)
            if isinstance(one.against, Ground):
                for flag, *row in meetings.meet(one, places)[1]:
                    _keep_where(flag, rows, [*row, *last], q)
                continue
            key, own, other = like(one), solid_of(one.shape, both[0]), solid_of(one.against, both[1])
            row = [*own.numbers(), *other.numbers(), one.margin, mass, *last]
            if key not in pairs:
                name = f"{rows.rows.name}, near {len(pairs)}"
                most = sum(like(each) == key for each in members)
                pairs[key] = KeptRows(name, len(row), most, packed=False)
            apart = own.centre - other.centre
            reach = own.reach + other.reach + one.margin
            _keep_where(where_less(apart.dot(apart), reach * reach, 1.0, 0.0), pairs[key], row, q)
        for key, kept in pairs.items():
            stiff = [*spring(key[2], meetings.dt), numbers(q).flat[0]]
            keep_near(kept, rows, key, stiff, next(one.points for one in members if like(one) == key))

    def turning(self, v: Sequence[Scalar]) -> list[Scalar]:
        """The term ω × v that free joints' accelerations lack, since their axes turn with the body. The contact law
        uses rates of velocities in world axes, and neglects all other terms of J̇.
        """
        rates: list[Scalar] = [0.0] * self.model.nv
        for body, start in zip(self.model.bodies, self.model.v_start, strict=True):
            if isinstance(body.joint, Free):
                linear, angular = Vec3(*v[start : start + 3]), Vec3(*v[start + 3 : start + 6])
                rates[start : start + 3] = angular.cross(linear).numbers()
        return rates


def constant(x: Scalar) -> Scalar:
    """A number without derivatives."""
    return varying_as(x, 0.0)


def sides(one: Contact, places: Places) -> tuple[Transform, Transform]:
    """The placements of both sides of a contact."""
    return places[one.frame] * one.placement, places[one.on] * one.on_placement


def _pushing(softness: Softness, ratio: float, inputs: Any) -> list[Any]:
    """The force at a point and its moment, of torsional and rolling friction, from the numbers that ``Text.pushes``
    gives.
    """
    row = numbers(inputs).tolist()
    distance, point, normal = row[0], Vec3(*row[1:4]), Vec3(*row[4:7])
    lacking = Twist(Vec3(*row[7:10]), Vec3(*row[10:13]))
    k, mass, margin, *mu = row[13:]
    depth = distance - margin
    d = impedance(softness, depth)
    D = where_less(depth, 0.0, regularisation(d, mass), 0.0)
    directions = [normal, *(tangents(normal) if mu else ())]
    s = [direction.dot(lacking.at(point)) for direction in directions]
    s[0] = s[0] + k * d * depth
    axes = directions[: AXES[len(mu)]]
    s += [axis.dot(lacking.angular) for axis in axes]
    sizes, _ = cone_response(Cone((), (), D, *mu), s, ratio)
    parts = [direction * size for direction, size in zip(directions, sizes, strict=False)]
    force = [total(xs) for xs in zip(*(part.numbers() for part in parts), strict=True)]
    turning = [axis * size for axis, size in zip(axes, sizes[3:], strict=True)]
    return [array_of([*force, *sum(turning, Vec3.zero()).numbers()])]


def _keep_where(flag: Scalar, rows: KeptRows, row: Sequence[Scalar], q: Any) -> None:
    """Keep a row where a flag is set; always or never if it does not depend on q, as for an arm over a level plane."""
    if isinstance(flag, float):
        if flag <= 0.5:
            return
        flag = where_less(numbers(q).flat[0], math.inf, flag, 0.0)
    rows.keep(flag, row)
