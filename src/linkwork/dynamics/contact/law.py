"""The accelerations of a mechanism with contacts as one text over arrays: collision, rows, dynamics and solution.

Λ⁻¹ at the contacts is never formed: the problem is solved in the accelerations of the joints, of which there are fewer
than rows of contacts for legged robots that fall about; its matrix has the sparsity of the mass matrix, as long as
contacts are with the ground.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from linkwork.compiled.arrays import array_of, numbers
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.compiled.law import law
from linkwork.dynamics.arguments import check_model
from linkwork.dynamics.contact.collision import Touch, tangents, touches
from linkwork.dynamics.contact.newton import (
    Cone,
    Friction,
    Limit,
    Matrix,
    Rows,
    Side,
    Sparsity,
    cone_response,
    minimised,
    solved,
)
from linkwork.dynamics.contact.newton import times as multiplied
from linkwork.dynamics.contact.softness import impedance, regularisation, spring
from linkwork.dynamics.derivatives import mass_matrix_inverse
from linkwork.dynamics.dynamics import inverse_dynamics, mass_matrix, nonlinear_effects
from linkwork.dynamics.kinematics import forward_kinematics, jacobian, neutral
from linkwork.engine.code import fingerprint
from linkwork.engine.mode import interpreted
from linkwork.engine.plans import MOST_BODIES
from linkwork.errors import ArgumentError, LinkworkWarning
from linkwork.joints import Free, Spherical
from linkwork.model.contacts import Contact, Contacts, Softness, as_contacts
from linkwork.model.model import WORLD, Frame, Model, Point
from linkwork.spatial import Mat3, Scalar, Transform, Vec3, total, where_less
from linkwork.spatial.matrices import dot


class Motion(NamedTuple):
    """What the text gives: accelerations (nv,); those with drag at the end of the step; and the force (N) at each
    point, in world axes (points, 3).
    """

    a: Any
    damped: Any
    forces: Any


class Touching:
    """A model with contacts, and what of them does not depend on the state.

    Args:
        model: the mechanism.
        contacts: all of them.
        limits: whether joints have limits of position. friction: whether they have dry friction.
    """

    def __init__(self, model: Model, contacts: Contacts, limits: bool = True, friction: bool = True) -> None:
        self.model, self.contacts = model, contacts
        self.ends = tuple(dict.fromkeys(end for one in contacts for end in (one.frame, one.on)))
        for one in contacts:
            if self._body(one.frame) == self._body(one.on):
                raise ArgumentError(
                    f"the contact of {one.frame!r} is with {one.on!r}, which is on the same body; they never move apart"
                )
        self.points = sum(one.points for one in contacts)
        self._laws: dict[tuple[bool, bool], CompiledFunction] = {}
        soft = {name: (softness, margin) for name, softness, margin in contacts.limits}
        rough = dict(contacts.friction)
        self.limited, self.rough = [], []
        for index, body in enumerate(model.bodies):
            v, q, joint = model.v_start[index], model.q_start[index], body.joint
            name = body.joint_name
            if limits and joint.nq == joint.nv:
                for k in range(joint.nv):
                    low, high = body.limits.lower[k], body.limits.upper[k]
                    softness, margin = soft.get(name, (Softness(), 0.0))
                    if np.isfinite(low):
                        self.limited.append((v + k, q + k, 1.0, float(low), softness, margin))
                    if np.isfinite(high):
                        self.limited.append((v + k, q + k, -1.0, float(high), softness, margin))
            if friction:
                for k in range(joint.nv):
                    if body.limits.friction[k]:
                        self.rough.append((v + k, rough.get(name, Softness()), float(body.limits.friction[k])))

    def _body(self, frame: str) -> int:
        return 0 if frame == WORLD else self.model.frame(frame).body

    def path(self, frame: str) -> list[int]:
        """The degrees of freedom that move a frame."""
        return self._dofs(self._body(frame))

    def _dofs(self, body: int) -> list[int]:
        found: list[int] = []
        while body:
            start = self.model.v_start[body - 1]
            found += range(start, start + self.model.bodies[body - 1].joint.nv)
            body = self.model.bodies[body - 1].parent
        return sorted(found)

    @cached_property
    def sparsity(self) -> Sparsity:
        cliques = [self._dofs(body) for body in range(1, len(self.model.bodies) + 1)]
        cliques += [sorted({*self.path(one.frame), *self.path(one.on)}) for one in self.contacts if self._pair(one)]
        return Sparsity(self.model.nv, cliques)

    def _pair(self, contact: Contact) -> bool:
        return bool(self.path(contact.on)) and bool(self.path(contact.frame))

    @cached_property
    def inverse_masses(self) -> tuple[list[float], list[float]]:
        """What a push moves, in the reference configuration: of each frame's body at its centre of mass, the mean over
        the three directions (1/kg); and of each degree of freedom.
        """
        model = self.model
        q = np.array(self.contacts.reference) if self.contacts.reference is not None else neutral(model)
        with interpreted():
            inverse = mass_matrix_inverse(model, q)
            bodies, centres = [], dict(self.contacts.centres)
            for end in self.ends:
                body = self._body(end)
                if not body:
                    bodies.append(0.0)
                    continue
                place = centres.get(end) or _centre(model, end, body)
                J = jacobian(model, q, [Point(end, offset=place)], reference="local_world_aligned")[:3]
                bodies.append(float(np.trace(J @ inverse @ J.T)) / 3.0)
        dofs = inverse.diagonal().copy()
        for index, one in enumerate(model.bodies):
            start = model.v_start[index]
            if isinstance(one.joint, Free | Spherical):
                for first in range(start, start + one.joint.nv, 3):
                    dofs[first : first + 3] = dofs[first : first + 3].mean()
        return bodies, dofs.tolist()

    def law(self, loaded: bool, stepped: bool) -> CompiledFunction:
        """The kernel, for external forces or none, for a step of the integration or none."""
        if (loaded, stepped) not in self._laws:
            self._laws[loaded, stepped] = self._made(loaded, stepped)
        return self._laws[loaded, stepped]

    def _made(self, loaded: bool, stepped: bool) -> CompiledFunction:
        model = self.model
        shapes: dict[str, tuple[int, ...]] = {"q": (model.nq,), "v": (model.nv,), "tau": (model.nv,)}
        shapes |= {"dt": ()} if stepped else {}
        shapes |= {"f_ext": (len(model.bodies), 6)} if loaded else {}

        def text(q: Any, v: Any, tau: Any, dt: Any = None, f_ext: Any = None) -> Any:
            a, _, forces = self.motion(q, v, tau, None if dt is None else dt.item(), f_ext)
            return a, forces

        results: list[tuple[int, ...]] = [(model.nv,), (self.points, 3)]
        return law("contact_dynamics", text, shapes, results, model, self.placed, self.digest, loaded, stepped)

    @cached_property
    def points_law(self) -> CompiledFunction:
        """Where contacts are, and how far apart."""

        def text(q: Any) -> Any:
            found = self.touches(q)
            places = array_of([x for touch in found for x in touch.point.numbers()])
            return places.reshape(self.points, 3), array_of([touch.distance for touch in found])

        model, results = self.model, [(self.points, 3), (self.points,)]
        return law("contact_points", text, {"q": (model.nq,)}, results, model, self.placed, self.digest)

    @cached_property
    def placed(self) -> list[Frame]:
        """The frames that carry something."""
        return [self.model.frame(end) for end in self.ends if end != WORLD]

    @cached_property
    def digest(self) -> str:
        """Of all that code follows from besides the model and the frames."""
        return fingerprint.key(self.ends, self.contacts, self.limited, self.rough)

    # The text

    def touches(self, q: Any) -> list[Touch]:
        """Where each point of each contact is, in the world."""
        places = self._places(q)
        found = []
        for one in self.contacts:
            found += touches(one, places[one.frame] * one.placement, places[one.on] * one.on_placement)
        return found

    def _places(self, q: Any) -> dict[str, Transform]:
        placed = numbers(forward_kinematics(self.model, q, self.ends)) if self.ends else []
        found = {}
        for end, T in zip(self.ends, placed, strict=True):
            found[end] = Transform(Mat3(*T[:3, :3].ravel().tolist()), Vec3(*T[:3, 3].tolist()))
        return found

    def _columns(self, q: Any) -> list[tuple[Vec3, Vec3] | None]:
        """How the world's origin moves with a body, linear and angular, for each degree of freedom that moves one."""
        found: list[tuple[Vec3, Vec3] | None] = [None] * self.model.nv
        moving = [end for end in self.ends if self.path(end)]
        if not moving:
            return found
        J = numbers(jacobian(self.model, q, moving, reference="world")).reshape(len(moving), 6, self.model.nv)
        for end, own in zip(moving, J, strict=True):
            for dof in self.path(end):
                if found[dof] is None:
                    column = own[:, dof].tolist()
                    found[dof] = Vec3(*column[:3]), Vec3(*column[3:])
        return found

    def rows(self, q: Any, v: Any, dt: Scalar | None, found: Sequence[Touch]) -> tuple[Rows, list[Any]]:
        """The rows of the problem; and for each point its frame in the world (normal and two tangents)."""
        rows, axes = Rows(ratio=self.contacts.friction_ratio), []
        columns = self._columns(q)
        speeds, place = numbers(v).tolist(), numbers(q).tolist()
        turning = self._turning(speeds)
        bodies, dofs = self.inverse_masses
        heavy = dict(zip(self.ends, bodies, strict=True))
        left = iter(found)
        for one in self.contacts:
            mass = heavy[one.frame] + heavy[one.on]
            b, k = spring(one.softness, dt)
            for _ in range(one.points):
                touch = next(left)
                depth = touch.distance - one.margin
                directions = [touch.normal, *(tangents(touch.normal) if one.has_friction else ())]
                axes.append(directions)
                J = self._jacobian(one, touch.point, directions, columns)
                d = impedance(one.softness, depth)
                D = where_less(depth, 0.0, regularisation(d, mass), 0.0)
                wanted = [-b * dot(row, speeds) - dot(row, turning) for row in J]
                wanted[0] = wanted[0] - k * d * depth
                if one.has_friction:
                    rows.cones.append(Cone(J, wanted, D, one.friction))
                else:
                    rows.sides.append(Side(J[0], wanted[0], D))
        for dof, at, sign, limit, softness, margin in self.limited:
            depth = sign * (place[at] - limit) - margin
            b, k = spring(softness, dt)
            d = impedance(softness, depth)
            D = where_less(depth, 0.0, regularisation(d, dofs[dof]), 0.0)
            rows.limits.append(Limit(dof, sign, -b * (sign * speeds[dof]) - k * d * depth, D))
        for dof, softness, most in self.rough:
            b, _ = spring(softness, dt)
            D = regularisation(impedance(softness, 0.0), dofs[dof])
            rows.frictions.append(Friction(dof, -b * speeds[dof], D, most))
        return rows, axes

    def _turning(self, v: Sequence[Scalar]) -> list[Scalar]:
        """What the accelerations of free joints lack of those in the world's axes, since theirs turn with the body: ω ×
        v. The law asks for rates of velocities in the world's axes, and leaves out all else by which J varies.
        """
        found: list[Scalar] = [0.0] * self.model.nv
        for body, start in zip(self.model.bodies, self.model.v_start, strict=True):
            if isinstance(body.joint, Free):
                linear, angular = Vec3(*v[start : start + 3]), Vec3(*v[start + 3 : start + 6])
                found[start : start + 3] = angular.cross(linear).numbers()
        return found

    def _jacobian(
        self, one: Contact, point: Vec3, directions: Sequence[Vec3], columns: Sequence[tuple[Vec3, Vec3] | None]
    ) -> list[list[Scalar]]:
        J: list[list[Scalar]] = [[0.0] * self.model.nv for _ in directions]
        own, other = set(self.path(one.frame)), set(self.path(one.on))
        for dof in own ^ other:
            linear, angular = columns[dof]  # type: ignore[misc]
            moved = linear + angular.cross(point)
            for row, direction in zip(J, directions, strict=True):
                along = direction.dot(moved)
                row[dof] = along if dof in own else -along
        return J

    def motion(
        self, q: Any, v: Any, tau: Any, dt: Scalar | None, f_ext: Any = None, start: Any = None, drag: Any = None
    ) -> Motion:
        """Accelerations and forces; ``start`` is where the search begins, ``drag`` what stands beside the rotors (nv,)
        if damping is that of the step's end.
        """
        rows, axes = self.rows(q, v, dt, self.touches(q))
        M = self.matrix(q)
        force = numbers(tau - self._bias(q, v, f_ext)).tolist()
        free = solved(M, force, self.sparsity)
        a = minimised(M, force, rows, free, free if start is None else numbers(start).tolist(), self.sparsity)
        found = array_of(a)
        if drag is None:
            return Motion(found, found, self.forces(rows, axes, a))
        heavier = dict(M)
        for k, more in enumerate(numbers(drag).tolist()):
            heavier[k, k] = heavier[k, k] + more
        damped = solved(heavier, multiplied(M, a, self.sparsity), self.sparsity)
        return Motion(found, array_of(damped), self.forces(rows, axes, a))

    def _bias(self, q: Any, v: Any, f_ext: Any) -> Any:
        """What gravity, velocities and loads ask of the joints."""
        if f_ext is None:
            return nonlinear_effects(self.model, q, v)
        return inverse_dynamics(self.model, q, v, np.zeros(self.model.nv), f_ext)

    def matrix(self, q: Any) -> Matrix:
        full = numbers(mass_matrix(self.model, q))
        return {(i, j): full[i, j] for i, j in self.sparsity.places}

    def forces(self, rows: Rows, axes: Sequence[Sequence[Vec3]], a: Sequence[Scalar]) -> Any:
        """The force at each point, in world axes."""
        cones, sides, found = iter(rows.cones), iter(rows.sides), []
        for directions in axes:
            if len(directions) == 3:
                cone = next(cones)
                s = [dot(row, a) - wanted for row, wanted in zip(cone.J, cone.wanted, strict=True)]
                sizes, _ = cone_response(cone, s, rows.ratio)
            else:
                side = next(sides)
                s0 = dot(side.J, a) - side.wanted
                sizes = [where_less(s0, 0.0, -(side.D * s0), 0.0)]
            found += [
                total(f * x for f, x in zip(sizes, xs, strict=True))
                for xs in zip(*(d.numbers() for d in directions), strict=True)
            ]
        return array_of(found).reshape(len(axes), 3)


def _centre(model: Model, end: str, body: int) -> tuple[float, float, float]:
    """The centre of mass of a frame's body, as the frame sees it."""
    inertia = model.bodies[body - 1].inertia
    frame = model.frame(end)
    mass = float(inertia.mass)
    first = inertia.numbers()[1:4]
    com = Vec3(*(float(x) / mass if mass else 0.0 for x in first))
    x, y, z = frame.placement.inverse().rotation.apply(com - frame.placement.translation).numbers()
    return float(x), float(y), float(z)


def touching(model: Model, contacts: Any, limits: bool = True, friction: bool = True) -> Touching:
    """What is kept with a model for contacts that it was asked about before."""
    check_model(model)
    listed = as_contacts(contacts)
    key = ("contact", listed, limits, friction)
    known = model._memo.laws
    found: Touching | None = known.get(key)
    if found is None:
        if len(model.bodies) > MOST_BODIES:
            raise ArgumentError(
                f"contacts are for mechanisms of up to {MOST_BODIES} bodies; model {model.name!r} has "
                f"{len(model.bodies)}"
            )
        found = known[key] = Touching(model, listed, limits, friction)
        if listed.left_out:
            more = f" and {len(listed.left_out) - 5} more" if len(listed.left_out) > 5 else ""
            warnings.warn(
                f"contacts of model {model.name!r} leave out {'; '.join(listed.left_out[:5])}{more}",
                LinkworkWarning,
                stacklevel=3,
            )
    return found
