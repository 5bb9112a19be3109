"""The contact problem over arrays: collision, rows, dynamics and solution.

Λ⁻¹ at the contacts is never formed: the problem is solved in the joint accelerations, which are fewer than the rows of
contacts for tumbling legged robots; its matrix has the sparsity of the mass matrix, as long as contacts are with the
ground.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linkwork.compiled.arrays import array_of, numbers
from linkwork.compiled.kept_rows import KeptRows
from linkwork.dynamics.contact.bonds import bond_rows
from linkwork.dynamics.contact.boxes import Touch
from linkwork.dynamics.contact.collision import solid_of, tangents
from linkwork.dynamics.contact.costs import Bond, Cone, Group, Holds, coefficients, cone_response
from linkwork.dynamics.contact.dense import Dense
from linkwork.dynamics.contact.drag import drag
from linkwork.dynamics.contact.implicit import differentiable
from linkwork.dynamics.contact.joint_rows import hold_joints
from linkwork.dynamics.contact.kept import HEAD, keep_near, like
from linkwork.dynamics.contact.meeting import Meetings, shared
from linkwork.dynamics.contact.newton import minimised
from linkwork.dynamics.contact.softness import impedance, regularisation, spring
from linkwork.dynamics.contact.sparse import Matrix, solved
from linkwork.dynamics.dynamics import inverse_dynamics, mass_matrix, nonlinear_effects
from linkwork.dynamics.held import HeldBy, over_ends
from linkwork.dynamics.kinematics import forward_kinematics, jacobian
from linkwork.joints import Free
from linkwork.model.contacts import Contact, Ground, Softness
from linkwork.model.medium import Medium
from linkwork.model.model import Model
from linkwork.properties import cached_property
from linkwork.spatial import Mat3, Scalar, Transform, Vec3, total, where_less
from linkwork.spatial.matrices import dot

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


class Text:
    """The contact problem of a model, or of one that differs from it in numbers only; the softness of contacts is then
    that of the first.
    """

    def __init__(self, of: Touching, model: Model | None = None) -> None:
        self.of, self.model, self.contacts = of, of.model if model is None else model, of.contacts
        self.ends, self.points, self.sparsity, self.path = of.ends, of.points, of.sparsity, of.path

    def wrenches(self, motion: Motion) -> Any:
        """The wrench (6,) of each point about the world's origin."""
        found, forces, spins = motion.forces()
        wrenches = []
        for touch, force, spin in zip(found, numbers(forces).tolist(), spins, strict=True):
            wrenches += [*force, *(touch.point.cross(Vec3(*force)) + spin).numbers()]
        return array_of(wrenches).reshape(self.points, 6)

    def touches(self, q: Any) -> list[Touch]:
        """The points of all contacts, in the world."""
        return self.met(self.places(q), self.meetings(None))

    def meetings(self, dt: Scalar | None) -> Meetings:
        return Meetings(list(self.contacts), self.mass, dt)

    def met(self, places: Places, meetings: Meetings) -> list[Touch]:
        """The points of all contacts, in the world, given the placements of frames."""
        found: list[Touch] = []
        for one in self.contacts:
            found += meetings.meet(one, places)[0]
        return found

    def places(self, q: Any) -> Places:
        """The placements of all frames with shapes."""
        ends = [end for end in self.ends if self.of.body_of(end)]
        found = {end: self.of.fixed_place(end) for end in self.ends if not self.of.body_of(end)}
        placed = numbers(forward_kinematics(self.model, q, ends)) if ends else []
        for end, T in zip(ends, placed, strict=True):
            found[end] = Transform(Mat3(*T[:3, :3].ravel().tolist()), Vec3(*T[:3, 3].tolist()))
        return found

    def mass(self, one: Contact) -> float:
        """The effective inverse mass of a contact."""
        return self._masses[one.frame] + self._masses[one.on]

    @cached_property
    def _masses(self) -> dict[str, float]:
        """The inverse mass at each frame."""
        return dict(zip(self.ends, self.of.inverse_masses[0], strict=True))

    def pushes(
        self, found: Sequence[Touch], lacking: Callable[[Contact, Scalar], Twist], dt: Scalar | None
    ) -> tuple[Any, list[Vec3]]:
        """The force at each point, in world axes, and the moment of torsional and rolling friction; ``lacking`` is the
        rate of the relative velocity of a contact plus b times that velocity, at the world's origin.
        """
        known: dict[Any, Callable[..., Sequence[Any]]] = {}
        left, forces, spins = iter(found), list[Scalar](), list[Vec3]()
        for one in self.contacts:
            b, k = spring(one.softness, dt)
            there = lacking(one, b).numbers()
            text = shared(partial(_pushing, one.softness, self.contacts.friction_ratio), len(self.contacts))
            text = known.setdefault((one.softness, one.friction_rows), text)
            rubbing = one.coefficients if one.friction_rows else ()
            for touch in islice(left, one.points):
                given = [touch.distance, *touch.point.numbers(), *touch.normal.numbers(), *there, k]
                (both,) = text(array_of([*given, self.mass(one), one.margin, *rubbing]))
                *force, x, y, z = numbers(both).tolist()
                forces += force
                spins.append(Vec3(x, y, z))
        return array_of(forces).reshape(self.points, 3), spins

    def _columns(self, q: Any) -> list[Twist]:
        """The twist at the world's origin of each degree of freedom."""
        found = [Twist(Vec3.zero(), Vec3.zero())] * self.model.nv
        moving = [end for end in self.ends if self.path(end)]
        J = numbers(jacobian(self.model, q, moving, reference="world")) if moving else np.zeros((0, 6))
        for end, own in zip(moving, J.reshape(len(moving), 6, self.model.nv) if moving else J, strict=True):
            for dof in self.path(end):
                column = own[:, dof].tolist()
                found[dof] = Twist(Vec3(*column[:3]), Vec3(*column[3:]))
        return found

    def holds(self, q: Any, v: Any, places: Places, columns: Sequence[Twist], meetings: Meetings) -> Holds:
        """The rows of the problem: of touching points, joints and constraints."""
        dt = meetings.dt
        speeds = numbers(v).tolist()
        turning = self.turning(speeds)
        groups = []
        for number, (own, friction, members) in enumerate(self.of.groups):
            name = f"{'cones' if friction else 'sides'} {number}"
            points = sum(one.points for one in members)
            rows = KeptRows(name, HEAD + max(1, coefficients(friction)) + len(own), points)
            self.keep(rows, members, lambda one, own=own: self._signs(one, own), places, q, meetings)  # type: ignore[misc]
            given = [*(x for k in own for x in columns[k].numbers()), *(x[k] for x in (speeds, turning) for k in own)]
            text = partial(_in_joints, coefficients=coefficients(friction))
            width = (friction + 1) * (len(own) + 1) + 1 + coefficients(friction)
            groups.append(Group(own, friction, rows.mapped(f"{name} of joints", text, width, given)))
        holds = Holds(groups, ratio=self.contacts.friction_ratio)
        hold_joints(self.of, holds, q, v, None, dt)
        if self.of.held is not None:
            holds.bonds += self._bonds(self.of.held, q, v, turning, dt)
        return holds

    def _bonds(self, held: HeldBy, q: Any, v: Any, turning: Sequence[Scalar], dt: Scalar | None) -> list[Bond]:
        """The rows of constraints."""
        J, speeds, found = jacobian(self.model, q, held.ends), numbers(v).tolist(), []
        for one in bond_rows(self.of, self.model, q, v, dt):
            rows = over_ends(held, one.blocks) @ J
            drift = rows @ array_of(list(turning)) if one.drift is None else one.drift
            for row, rate, pull, D in zip(
                numbers(rows).tolist(), numbers(drift).tolist(), one.pulls, one.D, strict=False
            ):
                found.append(Bond(row, -(one.b * dot(row, speeds) + rate) - pull, D))
        return found

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

    def _signs(self, one: Contact, dofs: Sequence[int]) -> list[float]:
        """For each degree of freedom: 1 if it moves the shape, -1 if it moves the other side, 0 if both or none."""
        own, other = set(self.path(one.frame)), set(self.path(one.on))
        return [float(dof in own) - float(dof in other) for dof in dofs]

    def turning(self, v: Sequence[Scalar]) -> list[Scalar]:
        """The term ω × v that free joints' accelerations lack, since their axes turn with the body. The contact law
        uses rates of velocities in world axes, and neglects all other terms of J̇.
        """
        found: list[Scalar] = [0.0] * self.model.nv
        for body, start in zip(self.model.bodies, self.model.v_start, strict=True):
            if isinstance(body.joint, Free):
                linear, angular = Vec3(*v[start : start + 3]), Vec3(*v[start + 3 : start + 6])
                found[start : start + 3] = angular.cross(linear).numbers()
        return found

    def motion(
        self, q: Any, v: Any, tau: Any, dt: Scalar | None, f_ext: Any = None, start: Any = None, drag: Any = None
    ) -> Motion:
        """Accelerations and forces. ``start`` is the initial point of the search; ``drag`` (nv,), a diagonal added to
        the rotor inertias, makes damping implicit over the step.
        """
        columns, places, meetings = self._columns(q), self.places(q), self.meetings(dt)
        holds = self.holds(q, v, places, columns, meetings)
        M = self.matrix(q)
        force = numbers(tau - self._bias(q, v, f_ext)).tolist()
        if self.contacts.medium is not None:
            self._resist(force, self.contacts.medium, places, numbers(v).tolist(), columns)
        free = solved(M, force, self.sparsity)
        problem = Dense(M, force, holds, self.sparsity, dot(free, force))
        begin = free if start is None else problem.begun(numbers(start).tolist(), free)
        a = minimised(problem, begin, self.of.enough)
        speeds, found = numbers(v).tolist(), self.met(places, meetings)
        a = differentiable(self, problem, a, found, columns, speeds, dt)

        def forces() -> Forces:
            return Forces(found, *self.forces(found, columns, speeds, a, dt))

        if drag is None:
            return Motion(array_of(a), array_of(a), forces)
        heavier, slowed = dict(M), []
        for k, more in enumerate(numbers(drag).tolist()):
            heavier[k, k] = heavier[k, k] + more
            slowed.append(more * a[k])
        # (M + drag)⁻¹ M a = a - (M + drag)⁻¹ drag a, which rounds less: only the change by drag is solved for
        damped = [x - y for x, y in zip(a, solved(heavier, slowed, self.sparsity), strict=True)]
        return Motion(array_of(a), array_of(damped), forces)

    def _bias(self, q: Any, v: Any, f_ext: Any) -> Any:
        """Bias forces of the joints: gravity, velocities and external forces."""
        if f_ext is None:
            return nonlinear_effects(self.model, q, v)
        return inverse_dynamics(self.model, q, v, np.zeros(self.model.nv), f_ext)

    def _resist(
        self, force: list[Scalar], medium: Medium, places: Places, v: Sequence[Scalar], columns: Sequence[Twist]
    ) -> None:
        """Add the joint forces of the medium's drag."""
        for frame, placement, sides in medium.boxes:
            place, twist = places[frame] * placement, self._twist(frame, columns, v)
            centre = place.translation
            f, moment = drag(medium, sides, place.rotation, twist.at(centre), twist.angular)
            moment = moment + centre.cross(f)
            for dof in self.path(frame):
                force[dof] = force[dof] + columns[dof].linear.dot(f) + columns[dof].angular.dot(moment)

    def matrix(self, q: Any) -> Matrix:
        full = numbers(mass_matrix(self.model, q))
        return {(i, j): full[i, j] for i, j in self.sparsity.places}

    def forces(
        self, found: Sequence[Touch], columns: Sequence[Twist], v: Sequence[Scalar], a: Sequence[Scalar],
        dt: Scalar | None,
    ) -> tuple[Any, list[Vec3]]:  # fmt: skip
        """The force at each point, in world axes, and the moment of torsional and rolling friction."""
        rate = [x + y for x, y in zip(a, self.turning(v), strict=True)]
        speeds, rates = ({end: self._twist(end, columns, each) for end in self.ends} for each in (v, rate))

        def lacking(one: Contact, b: Scalar) -> Twist:
            return (rates[one.frame] - rates[one.on]) + (speeds[one.frame] - speeds[one.on]) * b

        return self.pushes(found, lacking, dt)

    def _twist(self, end: str, columns: Sequence[Twist], x: Sequence[Scalar]) -> Twist:
        """The twist of a frame's body at the world's origin, for given joint velocities."""
        path = self.path(end)
        if not path:
            return Twist(Vec3.zero(), Vec3.zero())
        moved = [[y * x[dof] for y in columns[dof].numbers()] for dof in path]
        summed = [total(each) for each in zip(*moved, strict=True)]
        return Twist(Vec3(*summed[:3]), Vec3(*summed[3:]))


def sides(one: Contact, places: Places) -> tuple[Transform, Transform]:
    """The placements of both sides of a contact."""
    return places[one.frame] * one.placement, places[one.on] * one.on_placement


def _pushing(softness: Softness, ratio: float, given: Any) -> list[Any]:
    """The force at a point and its moment, of torsional and rolling friction, from the numbers that ``Text.pushes``
    gives.
    """
    row = numbers(given).tolist()
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


def _in_joints(row: Sequence[Scalar], given: Sequence[Scalar], coefficients: int) -> list[Scalar]:
    """A kept row in the joints; torsional friction adds the rotation about the normal, rolling friction those about the
    tangents.
    """
    point, normal, (push, b), signs = Vec3(*row[:3]), Vec3(*row[3:6]), row[6:8], row[HEAD + max(1, coefficients) :]
    n, directions = len(signs), [normal, *(tangents(normal) if coefficients else ())]
    twists = [Twist(Vec3(*given[6 * k : 6 * k + 3]), Vec3(*given[6 * k + 3 : 6 * k + 6])) for k in range(n)]
    moves = [twist.at(point) for twist in twists]
    J = [[sign * direction.dot(move) for sign, move in zip(signs, moves, strict=True)] for direction in directions]
    speeds, turning = given[6 * n : 7 * n], given[7 * n :]
    wanted = [-(b * dot(each, speeds) + dot(each, turning)) for each in J]
    turns = [
        [sign * axis.dot(twist.angular) for sign, twist in zip(signs, twists, strict=True)]
        for axis in directions[: AXES[coefficients]]
    ]
    held = [-(b * dot(each, speeds)) for each in turns]
    flat = [x for each in (*J, *turns) for x in each]
    return [*flat, wanted[0] + push, *wanted[1:], *held, row[8], *row[HEAD : HEAD + coefficients]]
