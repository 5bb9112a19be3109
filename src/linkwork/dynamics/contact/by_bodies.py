"""The contact problem over the motions of frames, for mechanisms of any number of bodies (``articulated``).

Rows are those of ``by_joints`` in other coordinates. Recursions are called as code with loops where there
are many bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linkwork.compiled.arrays import array_of, numbers
from linkwork.compiled.kept_rows import KeptRows, LookUp, Table
from linkwork.dynamics.arguments import as_frames
from linkwork.dynamics.contact.articulated import Articulated, Mechanism
from linkwork.dynamics.contact.bonds import bond_rows
from linkwork.dynamics.contact.boxes import Touch
from linkwork.dynamics.contact.collision import tangents
from linkwork.dynamics.contact.costs import Bond, FrameGroup, Holds, coefficients
from linkwork.dynamics.contact.drag import resistances
from linkwork.dynamics.contact.joint_rows import hold_joints
from linkwork.dynamics.contact.kept import HEAD
from linkwork.dynamics.contact.meeting import Meetings
from linkwork.dynamics.contact.newton import minimised
from linkwork.dynamics.contact.text import AXES, Forces, Motion, Places, Text, Twist, constant
from linkwork.dynamics.dynamics import energy, forward_dynamics, inverse_dynamics
from linkwork.dynamics.held import HeldBy
from linkwork.dynamics.kinematics import frame_velocity
from linkwork.engine.plans.task import moved
from linkwork.model.contacts import Contact
from linkwork.spatial import Force, Mat3, Scalar, Transform, Vec3
from linkwork.spatial import Motion as SpatialMotion
from linkwork.spatial.elementary import varying_as
from linkwork.spatial.matrices import dot

if TYPE_CHECKING:
    from linkwork.dynamics.contact.law import Touching

_STILL = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
"""The numbers of the world's placement."""


class State(NamedTuple):
    """A state without contacts: what acts on its joints and bodies, and its accelerations, as they are and with
    ``Text.turning``; placements of frames, velocities of all frames that rows are over, and rates of these (n, 6), each
    in its own axes.
    """

    q: Any
    v: Any
    tau: Any
    f_ext: Any
    free: Any
    rate: Any
    places: Places
    V: Any
    A: Any


class ByBodies(Text):
    """The problem over the motions of frames."""

    def __init__(self, of: Touching) -> None:
        super().__init__(of)
        held = [] if of.held is None else list(zip(of.held.ends, of.held.bodies, strict=True))
        own = [end for end in self.ends if of.body_of(end)]
        self.frame_of = {end: k for k, end in enumerate(own)}
        self.held_frame = {k: len(own) + n for n, k in enumerate(k for k, (_, body) in enumerate(held) if body)}
        self.over = [*own, *(held[k][0] for k in self.held_frame)]
        point_set = as_frames(self.model, self.over)
        self.mechanism = Mechanism(self.model, moved(point_set.frames, point_set.offsets))

    def motion(
        self, q: Any, v: Any, tau: Any, dt: Scalar | None, f_ext: Any = None, start: Any = None, drag: Any = None
    ) -> Motion:
        """As in ``Text``."""
        model, meetings = self.model, self.meetings(dt)
        state = self._state(q, v, tau, f_ext)
        problem = Articulated(self.mechanism, q, self._rows(state, meetings), _twice_energy(model, q, state.free))
        begin: list[Scalar] = [0.0 * x for x in (*_flat(state.free), *_flat(state.A))]
        if start is not None:
            y = start - state.free
            begin = problem.begun(_flat(y), _flat(self._motions(q, y)), _twice_energy(model, q, y))
        point = minimised(problem, begin, self.of.enough)
        y, Y = array_of(point[: model.nv]), point[model.nv :]
        a = self._differentiable(problem, state, y, Y, dt)

        def forces() -> Forces:
            touches = self.met(state.places, meetings)
            A = [x + more for x, more in zip(_flat(state.A), Y, strict=True)]
            return Forces(touches, *self._pushes(touches, state, A, dt))

        if drag is None:
            return Motion(a, a, forces)
        armature = [x + more for x, more in zip(_flat(model.armature), _flat(drag), strict=True)]
        change, _, _ = Mechanism(model, []).supported(q, [0.0] * model.nv, _flat(drag * a), armature, [], [])
        return Motion(a, a - array_of(change), forces)

    def _state(self, q: Any, v: Any, tau: Any, f_ext: Any) -> State:
        places, V = self.places(q), self._motions(q, v)
        loads = self._loads(f_ext, self._resistance(places, V))
        free = forward_dynamics(self.model, q, v, tau, loads)
        rate = free + array_of(self.turning(_flat(v)))
        return State(q, v, tau, loads, free, rate, places, V, self._motions(q, rate))

    def _motions(self, q: Any, v: Any) -> Any:
        """The motions of the frames that rows are over."""
        return frame_velocity(self.model, q, v, self.over) if self.over else np.zeros((0, 6))

    # Rows

    def _rows(self, state: State, meetings: Meetings) -> Holds:
        """The rows of the problem, over the change of the free accelerations, and the motions of frames by it."""
        holds = Holds(self._groups(state, meetings), ratio=self.contacts.friction_ratio)
        hold_joints(self.of, holds, state.q, state.v, state.free, meetings.dt)
        if self.of.held is not None:
            holds.bonds += self._frame_bonds(self.of.held, state, meetings.dt)
        return holds

    def _groups(self, state: State, meetings: Meetings) -> list[FrameGroup]:
        """Contacts in groups: with the world or with what moves, by the number of friction rows."""
        kinds: dict[tuple[int, int], list[Contact]] = {}
        for one in self.contacts:
            kinds.setdefault((2 if one.on in self.frame_of else 1, one.friction_rows), []).append(one)
        poses = [x for place in self._over(state.places) for x in place.numbers()]
        tables = [Table([*poses, *_STILL], 12), *(Table([*_flat(x), *([0.0] * 6)], 6) for x in (state.V, state.A))]
        first, groups = _flat(state.q)[0], []
        for (both, friction), members in kinds.items():
            name, mu, m = f"{'pairs' if both > 1 else 'contacts'} {friction}", coefficients(friction), friction + 1
            kept = KeptRows(name, HEAD + max(1, mu) + both, sum(one.points for one in members))

            def frames(one: Contact, both: int = both) -> list[float]:
                return [float(self.frame_of.get(end, len(self.over))) for end in (one.frame, one.on)[:both]]

            self.keep(kept, members, frames, state.places, state.q, meetings)
            text = partial(_over_frames, friction=friction, both=both)
            made = kept.mapped(f"{name} of frames", text, m * (6 * both + 1) + 1 + mu + both, [first], tables)
            groups.append(FrameGroup(both, friction, made))
        return groups

    def _over(self, places: Places) -> list[Transform]:
        """The placements of the frames that contacts' rows are over; those of constraints have their own."""
        still = Transform.identity()
        return [*(places[end] for end in self.frame_of), *([still] * len(self.held_frame))]

    def _frame_bonds(self, held: HeldBy, state: State, dt: Scalar | None) -> list[Bond]:
        """The rows of constraints, over the motions of frames."""
        moved = [_flat(frame_velocity(self.model, state.q, x, held.ends)) for x in (state.v, state.rate, state.free)]
        V, A, free = ([each[k : k + 6] for k in range(0, len(each), 6)] for each in moved)
        bonds = []
        for one in bond_rows(self.of, self.model, state.q, state.v, dt):
            rates = A if one.drift is None else free
            for r, (pull, D) in enumerate(zip(one.pulls, one.D, strict=True)):
                J: list[Scalar] = [0.0] * (6 * len(self.over) + 6)
                rate: Scalar = 0.0 if one.drift is None else numbers(one.drift).tolist()[r]
                for end, block in one.blocks.items():
                    row = numbers(block)[r].tolist()
                    rate = rate + dot(row, rates[end]) + one.b * dot(row, V[end])
                    if end in self.held_frame:
                        first = 6 * self.held_frame[end]
                        J[first : first + 6] = row
                bonds.append(Bond(J, -rate - pull, D))
        return bonds

    # Forces

    def _resistance(self, places: Places, V: Any) -> list[tuple[int, Vec3, Vec3]]:
        """What resists the motion of frames, in their axes."""

        loads = resistances(self.contacts, places, self._twists(places, _flat(V)))
        moving = [(frame, load) for frame, *load in loads if frame in self.frame_of]
        return [(self.frame_of[frame], *_in_axes(places[frame], *load)) for frame, load in moving]

    def _loads(self, f_ext: Any, wrenches: Sequence[tuple[int, Vec3, Vec3]]) -> Any:
        """The wrenches on all bodies, with more on frames, in their own axes."""
        if not wrenches:
            return f_ext
        bodies = len(self.model.bodies)
        rows: list[list[Scalar]] = [[0.0] * 6 for _ in range(bodies)] if f_ext is None else numbers(f_ext).tolist()
        for which, f, moment in wrenches:
            frame = self.mechanism.frames[which]
            load = frame.placement.to_parent(Force(f, moment)).numbers()
            rows[frame.body - 1] = [x + y for x, y in zip(rows[frame.body - 1], load, strict=True)]
        return array_of([x for row in rows for x in row]).reshape(bodies, 6)

    def _pushes(
        self, touches: Sequence[Touch], state: State, A: Sequence[Scalar], dt: Scalar | None
    ) -> tuple[Any, list[Vec3]]:
        """As ``pushes``, where A are the rates of all frames' velocities."""
        rates, speeds = (self._twists(state.places, motions) for motions in (A, _flat(state.V)))
        return self.pushes(touches, rates, speeds, dt)

    def _twists(self, places: Places, motions: Sequence[Scalar]) -> Callable[[str], Twist]:
        """The motions of frames, each in its own axes, as twists at the world's origin."""

        def twist(end: str) -> Twist:
            if end not in self.frame_of:
                return Twist(Vec3.zero(), Vec3.zero())
            first = 6 * self.frame_of[end]
            own = SpatialMotion(Vec3(*motions[first : first + 3]), Vec3(*motions[first + 3 : first + 6]))
            there = places[end].to_parent(own)
            return Twist(there.linear, there.angular)

        return twist

    def _differentiable(
        self, problem: Articulated, state: State, y: Any, Y: Sequence[Scalar], dt: Scalar | None
    ) -> Any:
        """The accelerations with their derivatives, as in ``Text``."""
        model, q, a = self.model, state.q, state.free + y
        fixed = array_of([constant(x) for x in _flat(a)])
        change = fixed - state.free
        loads = self._loads(state.f_ext, self._wrenches(problem, state, fixed, change, dt))
        joints, _ = problem.of_joints(_flat(change))
        g = _flat(inverse_dynamics(model, q, state.v, fixed, loads) - state.tau - array_of(joints))
        here, still = [*Y, *([0.0] * 6)], array_of([constant(x) for x in _flat(q)])
        K = [constant(x) for x in problem.of_ground(here)[1]]
        rotor = [constant(x) for x in problem.of_joints(_flat(y))[1]]
        nothing, none = [0.0] * model.nv, [0.0] * len(Y)
        change_of_a, P, _ = self.mechanism.supported(still, nothing, g, rotor, none, K)
        if problem.coupled:
            fixed_rows = problem.holds.of([constant(x) for x in problem.holds.flat()])
            f = problem._replace(holds=fixed_rows).between(here, P, still, rotor, K)
            change_of_a, _, _ = self.mechanism.supported(still, nothing, g, rotor, f, K)
        return array_of([varying_as(x, -more) for x, more in zip(_flat(a), change_of_a, strict=True)])

    def _wrenches(
        self, problem: Articulated, state: State, a: Any, change: Any, dt: Scalar | None
    ) -> list[tuple[int, Vec3, Vec3]]:
        """The wrenches of contacts and constraints on frames, in their axes, at given accelerations."""
        rates = _flat(self._motions(state.q, a + (state.rate - state.free)))
        touches, wrenches = self.met(state.places, self.meetings(dt)), []
        for end, f, moment in self.loads(touches, *self._pushes(touches, state, rates, dt)):
            if end in self.frame_of:
                wrenches.append((self.frame_of[end], *_in_axes(state.places[end], f, moment)))
        moved = [*_flat(self._motions(state.q, change)), *([0.0] * 6)] if problem.holds.bonds else []
        for bond in problem.holds.bonds:
            pull = bond.D * (dot(bond.J, moved) - bond.wanted)
            for which in self.held_frame.values():
                row = [x * -pull for x in bond.J[6 * which : 6 * which + 6]]
                wrenches.append((which, Vec3(*row[:3]), Vec3(*row[3:])))
        return wrenches


def _flat(array: Any) -> list[Scalar]:
    flat: list[Scalar] = numbers(array).ravel().tolist()
    return flat


def _twice_energy(model: Any, q: Any, v: Any) -> Scalar:
    return 2.0 * numbers(energy(model, q, v)[0]).item()


def _in_axes(place: Transform, f: Vec3, moment: Vec3) -> tuple[Vec3, Vec3]:
    """A force, and its moment about the world's origin, in the axes of a frame and about its origin."""
    own = place.to_child(Force(f, moment))
    return own.linear, own.angular


def _over_frames(
    row: Sequence[Scalar], _: Sequence[Scalar], place_of: LookUp, V_of: LookUp, A_of: LookUp, friction: int, both: int
) -> list[Scalar]:
    """A kept row over the motions of its frames, each in its own axes."""
    mu = coefficients(friction)
    point, normal, (push, b, D) = Vec3(*row[:3]), Vec3(*row[3:6]), row[6:9]
    directions = [normal, *(tangents(normal) if friction else ())]
    J: list[list[Scalar]] = [[] for _ in range(friction + 1)]
    lacking: list[Scalar] = []
    for which, sign in zip(row[-both:], (1.0, -1.0), strict=False):
        pose = place_of(which)
        R, arm = Mat3(*pose[:9]), point - Vec3(*pose[9:])
        arm = R.apply_transpose(arm)
        own = [R.apply_transpose(each) * sign for each in directions]
        blocks = [[*each.numbers(), *arm.cross(each).numbers()] for each in own]
        blocks += [[0.0, 0.0, 0.0, *each.numbers()] for each in own[: AXES[mu]]]
        for each, block in zip(J, blocks, strict=True):
            each += block
        lacking += [x + b * y for x, y in zip(A_of(which), V_of(which), strict=True)]
    wanted = [-dot(each, lacking) for each in J]
    return [*(x for each in J for x in each), wanted[0] + push, *wanted[1:], D, *row[HEAD : HEAD + mu], *row[-both:]]
