"""The contact problem over the accelerations of joints, for mechanisms whose mass matrix is small (``dense``).

Λ⁻¹ at the contacts is never formed: the problem is solved in the joint accelerations, which are fewer than the rows of
contacts for tumbling legged robots; its matrix has the sparsity of the mass matrix, as long as contacts are with the
ground.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from linkwork.compiled.arrays import array_of, numbers
from linkwork.compiled.kept_rows import KeptRows
from linkwork.dynamics.contact.bonds import bond_rows
from linkwork.dynamics.contact.boxes import Touch
from linkwork.dynamics.contact.collision import tangents
from linkwork.dynamics.contact.costs import Bond, Group, Holds, coefficients
from linkwork.dynamics.contact.dense import Dense
from linkwork.dynamics.contact.drag import resistances
from linkwork.dynamics.contact.joint_rows import hold_joints
from linkwork.dynamics.contact.kept import HEAD
from linkwork.dynamics.contact.meeting import Meetings
from linkwork.dynamics.contact.newton import minimised
from linkwork.dynamics.contact.sparse import solved
from linkwork.dynamics.contact.text import AXES, Forces, Motion, Places, Text, Twist, constant
from linkwork.dynamics.dynamics import inverse_dynamics, mass_matrix, nonlinear_effects
from linkwork.dynamics.held import HeldBy, over_ends
from linkwork.dynamics.kinematics import jacobian
from linkwork.model.contacts import Contact
from linkwork.spatial import Scalar, Vec3, total
from linkwork.spatial.elementary import varying_as
from linkwork.spatial.matrices import dot


class ByJoints(Text):
    """The problem over the accelerations of joints."""

    def _columns(self, q: Any) -> list[Twist]:
        """The twist at the world's origin of each degree of freedom."""
        columns = [Twist(Vec3.zero(), Vec3.zero())] * self.model.nv
        moving = [end for end in self.ends if self.path(end)]
        J = numbers(jacobian(self.model, q, moving, reference="world")) if moving else np.zeros((0, 6))
        for end, own in zip(moving, J.reshape(len(moving), 6, self.model.nv) if moving else J, strict=True):
            for dof in self.path(end):
                column = own[:, dof].tolist()
                columns[dof] = Twist(Vec3(*column[:3]), Vec3(*column[3:]))
        return columns

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
            inputs = [*(x for k in own for x in columns[k].numbers()), *(x[k] for x in (speeds, turning) for k in own)]
            text = partial(_in_joints, coefficients=coefficients(friction))
            width = (friction + 1) * (len(own) + 1) + 1 + coefficients(friction)
            groups.append(Group(own, friction, rows.mapped(f"{name} of joints", text, width, inputs)))
        holds = Holds(groups, ratio=self.contacts.friction_ratio)
        hold_joints(self.of, holds, q, v, None, dt)
        if self.of.held is not None:
            holds.bonds += self._bonds(self.of.held, q, v, turning, dt)
        return holds

    def _bonds(self, held: HeldBy, q: Any, v: Any, turning: Sequence[Scalar], dt: Scalar | None) -> list[Bond]:
        """The rows of constraints."""
        J, speeds, bonds = jacobian(self.model, q, held.ends), numbers(v).tolist(), []
        for one in bond_rows(self.of, self.model, q, v, dt):
            rows = over_ends(held, one.blocks) @ J
            drift = rows @ array_of(list(turning)) if one.drift is None else one.drift
            for row, rate, pull, D in zip(
                numbers(rows).tolist(), numbers(drift).tolist(), one.pulls, one.D, strict=False
            ):
                bonds.append(Bond(row, -(one.b * dot(row, speeds) + rate) - pull, D))
        return bonds

    def _signs(self, one: Contact, dofs: Sequence[int]) -> list[float]:
        """For each degree of freedom: 1 if it moves the shape, -1 if it moves the other side, 0 if both or none."""
        own, other = set(self.path(one.frame)), set(self.path(one.on))
        return [float(dof in own) - float(dof in other) for dof in dofs]

    def motion(
        self, q: Any, v: Any, tau: Any, dt: Scalar | None, f_ext: Any = None, start: Any = None, drag: Any = None
    ) -> Motion:
        """As in ``Text``."""
        columns, places, meetings = self._columns(q), self.places(q), self.meetings(dt)
        holds = self.holds(q, v, places, columns, meetings)
        inertia = numbers(mass_matrix(self.model, q))
        M = {(i, j): inertia[i, j] for i, j in self.of.places}
        bias = nonlinear_effects(self.model, q, v)
        if f_ext is not None:
            bias = inverse_dynamics(self.model, q, v, np.zeros(self.model.nv), f_ext)
        force, speeds = numbers(tau - bias).tolist(), numbers(v).tolist()
        resisting = partial(self._twist, columns=columns, x=speeds)
        self._push(force, resistances(self.contacts, places, resisting), columns)
        free = solved(M, force)
        problem = Dense(M, force, holds, dot(free, force), self.of.often)
        begin = free if start is None else problem.begun(numbers(start).tolist(), free)
        a = minimised(problem, begin, self.of.enough)
        touches = self.met(places, meetings)
        a = self._differentiable(problem, a, touches, columns, speeds, dt)

        def forces() -> Forces:
            return Forces(touches, *self.forces(touches, columns, speeds, a, dt))

        if drag is None:
            return Motion(array_of(a), array_of(a), forces)
        heavier, slowed = dict(M), []
        for k, more in enumerate(numbers(drag).tolist()):
            heavier[k, k] = heavier[k, k] + more
            slowed.append(more * a[k])
        # (M + drag)⁻¹ M a = a - (M + drag)⁻¹ drag a, which rounds less: only the change by drag is solved for
        damped = [x - y for x, y in zip(a, solved(heavier, slowed), strict=True)]
        return Motion(array_of(a), array_of(damped), forces)

    def _push(self, force: list[Scalar], loads: Iterable[tuple[str, Vec3, Vec3]], columns: Sequence[Twist]) -> None:
        """Add the joint forces of forces on frames, and their moments about the world's origin."""
        for frame, f, moment in loads:
            for dof in self.path(frame):
                force[dof] = force[dof] + columns[dof].linear.dot(f) + columns[dof].angular.dot(moment)

    def forces(
        self, touches: Sequence[Touch], columns: Sequence[Twist], v: Sequence[Scalar], a: Sequence[Scalar],
        dt: Scalar | None,
    ) -> tuple[Any, list[Vec3]]:  # fmt: skip
        """The force at each point, in world axes, and the moment of torsional and rolling friction."""
        rate = [x + y for x, y in zip(a, self.turning(v), strict=True)]
        rates, speeds = (partial(self._twist, columns=columns, x=x) for x in (rate, v))
        return self.pushes(touches, rates, speeds, dt)

    def _differentiable(
        self, problem: Dense, a: Sequence[Scalar], touches: Sequence[Touch], columns: Sequence[Twist],
        v: Sequence[Scalar], dt: Scalar | None,
    ) -> list[Scalar]:  # fmt: skip
        """The accelerations, with their derivatives."""
        H = {place: constant(x) for place, x in problem.at(a).hessian.items()}
        fixed = [constant(x) for x in a]
        left = [-x for x in problem._replace(holds=replace(problem.holds, groups=[])).at(fixed).gradient]
        self._push(left, self.loads(touches, *self.forces(touches, columns, v, fixed, dt)), columns)
        return [varying_as(x, y) for x, y in zip(a, solved(H, left), strict=True)]

    def _twist(self, end: str, columns: Sequence[Twist], x: Sequence[Scalar]) -> Twist:
        """The twist of a frame's body at the world's origin, for given joint velocities."""
        path = self.path(end)
        if not path:
            return Twist(Vec3.zero(), Vec3.zero())
        moved = [[y * x[dof] for y in columns[dof].numbers()] for dof in path]
        summed = [total(each) for each in zip(*moved, strict=True)]
        return Twist(Vec3(*summed[:3]), Vec3(*summed[3:]))


def _in_joints(row: Sequence[Scalar], inputs: Sequence[Scalar], coefficients: int) -> list[Scalar]:
    """A kept row in the joints; torsional friction adds the rotation about the normal, rolling friction those about the
    tangents.
    """
    point, normal, (push, b), signs = Vec3(*row[:3]), Vec3(*row[3:6]), row[6:8], row[HEAD + max(1, coefficients) :]
    n, directions = len(signs), [normal, *(tangents(normal) if coefficients else ())]
    twists = [Twist(Vec3(*inputs[6 * k : 6 * k + 3]), Vec3(*inputs[6 * k + 3 : 6 * k + 6])) for k in range(n)]
    moves = [twist.at(point) for twist in twists]
    J = [[sign * direction.dot(move) for sign, move in zip(signs, moves, strict=True)] for direction in directions]
    speeds, turning = inputs[6 * n : 7 * n], inputs[7 * n :]
    wanted = [-(b * dot(each, speeds) + dot(each, turning)) for each in J]
    turns = [
        [sign * axis.dot(twist.angular) for sign, twist in zip(signs, twists, strict=True)]
        for axis in directions[: AXES[coefficients]]
    ]
    held = [-(b * dot(each, speeds)) for each in turns]
    flat = [x for each in (*J, *turns) for x in each]
    return [*flat, wanted[0] + push, *wanted[1:], *held, row[8], *row[HEAD : HEAD + coefficients]]
