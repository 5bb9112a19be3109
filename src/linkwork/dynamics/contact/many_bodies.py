"""Contacts of mechanisms of many bodies: Newton's method by articulated bodies, O(n) per iteration.

The problem, its rows and their costs are those of ``text`` and ``costs``; so are the line search and the convergence
test. But no matrix is formed: contacts with the ground connect frames to the world, so that Newton's direction

    (M + Jᵀ H J) p = Jᵀ f - M y            y = a - a₀, the change of the free accelerations by contacts

is a forward dynamics problem with bodies whose inertias are increased by the impedance of the points on them
(``algorithms.supported``). Its code has loops over bodies, that of points (``points``) is straight-line; NumPy combines
them (``search``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.algorithms import SUPPORTED
from linkwork.batches import put_into
from linkwork.compiled.arrays import is_traced
from linkwork.dynamics.arguments import Array, as_batch
from linkwork.dynamics.call import call
from linkwork.dynamics.contact.joint_rows import JointRows, ranked
from linkwork.dynamics.contact.law import Touching
from linkwork.dynamics.contact.points import Alike, Held, alike, data_of, meeting, rows_of
from linkwork.dynamics.contact.search import Search
from linkwork.dynamics.dynamics import forward_dynamics
from linkwork.dynamics.kinematics import forward_kinematics, frame_velocity, neutral
from linkwork.errors import ArgumentError, SingularError, TracingError
from linkwork.joints import Free
from linkwork.model.contacts import Contact
from linkwork.model.model import WORLD, Model
from linkwork.properties import cached_property
from linkwork.spatial import Transform
from linkwork.spatial.small_matrices import skew
from linkwork.unsolved import unsolved

_NUMBERS = 400_000
"""The approximate size of a block of points that is processed at a time, to stay in a near cache."""


class Met(NamedTuple):
    """The points in some states: for each ``Held`` its points (n, points, 9); then all points in the world, with
    distances (n, points, 4).
    """

    points: list[Array]
    seen: Array


class Found(NamedTuple):
    """Accelerations (n, nv); those with implicit damping over the step; and a function without arguments that returns
    the forces and moments at the points, in world axes (n, points, 6), and their positions (n, points, 3).
    """

    a: Array
    damped: Array
    forces: Callable[[], tuple[Array, Array]]


class ManyBodies(Touching):
    """A mechanism of many bodies in contact with the ground; ``Touching`` is the one for few bodies."""

    has_loops = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._check()
        self.moved_ends = [end for end in self.ends if self._body(end)]
        self.frames = [self.model.frame(end) for end in self.moved_ends]
        self._quick: dict[str, Any] = {}

    def _check(self) -> None:
        many = f"in a mechanism of {len(self.model.bodies)} bodies"
        for one in self.contacts:
            called = f"the contact {one.name!r}" if one.name else f"the contact of {one.frame!r} with {one.on!r}"
            if self._body(one.on):
                raise ArgumentError(
                    f"{called} is with something that moves; {many} contacts are with what is fixed in the world. "
                    f"Leave it out: contacts=[one for one in contacts if one.on == 'world']"
                )
        if self.constraints:
            raise ArgumentError(f"contacts and constraints exclude each other {many}; pass constraints=()")
        if self.contacts.medium is not None:
            raise ArgumentError(
                f"contacts in a medium that resists, such as water, are not supported {many}; "
                f"dataclasses.replace(contacts, medium=None) leaves it out"
            )

    def _untraced(self) -> TracingError:
        return TracingError(
            f"contacts of model {self.model.name!r}, which has {len(self.model.bodies)} bodies, are solved by code "
            f"with loops, which cannot be traced or differentiated; call lw.contact_dynamics with arrays"
        )

    @property
    def text(self) -> Any:
        raise self._untraced()

    @property
    def sparsity(self) -> Any:
        raise self._untraced()

    # State-independent part

    @cached_property
    def _inverse_diagonal(self) -> Array:
        nv = self.model.nv
        found = np.empty(nv)
        for some in _in_parts(nv, nv):
            units = np.eye(nv)[some]
            found[some] = self._at_reference(units, None)[0][np.arange(len(units)), some]
        return found

    def _moved(self, end: str) -> tuple[float, float]:
        return self._moved_bodies[self.moved_ends.index(end)] if self._body(end) else (0.0, 0.0)

    @cached_property
    def _moved_bodies(self) -> list[tuple[float, float]]:
        """The result of ``_moved`` for each moving frame, from unit forces and moments at each centre of mass."""
        found = []
        for frames in _in_parts(len(self.frames), 36 * len(self.frames)):
            f = np.zeros((len(frames), 6, len(self.frames), 6))
            arms = [skew(np.array(self._centre_of(self.moved_ends[k]))) for k in frames]
            for k, (frame, arm) in enumerate(zip(frames, arms, strict=True)):
                f[k, :, frame] = np.eye(6)
                f[k, :3, frame, 3:] = arm.T  # the moment of a force at the centre
            P = self._at_reference(np.zeros((6 * len(frames), self.model.nv)), f.reshape(-1, len(self.frames), 6))[1]
            for k, (frame, arm) in enumerate(zip(frames, arms, strict=True)):
                own = P[6 * k : 6 * k + 6, frame]
                moved = [own[i, i] - (arm @ own[i, 3:])[i] for i in range(3)]
                found.append((float(np.mean(moved)), float(np.mean([own[i, i] for i in range(3, 6)]))))
        return found

    def _at_reference(self, tau: Array, f: Array | None) -> list[Array]:
        """Accelerations of the mechanism without contacts in the configuration in which masses are measured."""
        given, n = self.contacts.reference, len(tau)
        q = np.broadcast_to(neutral(self.model) if given is None else np.array(given), (n, self.model.nq))
        held = None if f is None else np.zeros((n, len(self.frames), 21))
        return self.supported(q, np.zeros_like(tau), tau, np.broadcast_to(self.model.armature, tau.shape), f, held)

    @cached_property
    def kinds(self) -> list[Held]:
        """The points, grouped by their number of friction rows."""
        masses = dict(zip(self.ends, self.inverse_masses[0], strict=True))
        starts = np.cumsum([0, *(one.points for one in self.contacts)])
        groups: dict[int, dict[Any, list[int]]] = {}
        for k, one in enumerate(self.contacts):
            groups.setdefault(one.friction_rows, {}).setdefault(alike(one), []).append(k)
        found = []
        for friction, kinds in groups.items():
            several = [self._alike([self.contacts[k] for k in members], masses) for members in kinds.values()]
            order = [k for members in kinds.values() for k in members for _ in range(self.contacts[k].points)]
            places = [starts[k] + i for each in kinds.values() for k in each for i in range(self.contacts[k].points)]
            frames = [self.moved_ends.index(self.contacts[k].frame) for k in order]
            rows = rows_of(friction, self.contacts.friction_ratio)
            found.append(Held(rows, several, np.array(frames), ranked(frames), np.array(places)))
        return found

    def _alike(self, members: list[Contact], masses: dict[str, float]) -> Alike:
        data = [data_of(one, self._ground(one), masses[one.frame]) for one in members]
        frames = np.array([self.moved_ends.index(one.frame) for one in members])
        return Alike(members, np.array(data), frames, (meeting(members[0], False), meeting(members[0], True)))

    def _ground(self, one: Contact) -> Transform:
        return Transform.identity() if one.on == WORLD else self.model.frame(one.on).placement

    @cached_property
    def joint_rows(self) -> JointRows:
        return JointRows(self.limited, self.rough, self.inverse_masses[1])

    # Functions for callers

    def law(self, loaded: bool, stepped: bool) -> Any:
        def answer(q: Any, v: Any, tau: Any, *more: Any, out: Any = None) -> Any:
            left = list(more)
            dt = float(left.pop(0)) if stepped else None
            given, batch = self._given(q, v, tau, left.pop(0) if loaded else None)
            a, forces = np.empty((*batch, self.model.nv)), np.empty((*batch, self.points, 3))
            flat = a.reshape(-1, self.model.nv), forces.reshape(-1, self.points, 3)
            with unsolved() as problems:
                for some, one in self.in_parts(given, dt, None):
                    flat[0][some], flat[1][some] = one.a, one.forces()[0][..., :3]
            _check_solved("contact_dynamics", problems, flat[0], batch)
            return put_into(out, a, forces, apart={"q": q, "v": v, "tau": tau})

        return answer

    def step_law(self, loaded: bool, damped: bool, wanted: bool) -> Any:
        """As in ``Touching``; the search is warm-started with the ``last`` accelerations (nv,), which are updated."""

        def answer(q: Any, v: Any, tau: Any, dt: Any, *more: Any, last: Array) -> Any:
            left = list(more)
            drag = left.pop(0) if damped else None
            given, _ = self._given(q, v, tau, left.pop(0) if loaded else None)
            slowed = None if drag is None else np.asarray(drag)[None]
            with unsolved() as problems:
                ((_, found),) = self.in_parts(given, float(dt), slowed, last[None])
            _check_solved("a step with contacts", problems, found.a, ())
            last[:] = found.a[0]
            if not wanted:
                return found.damped[0]
            forces, points = found.forces()
            turning = forces[..., 3:] + np.cross(points, forces[..., :3])
            return found.damped[0], np.concatenate([forces[..., :3], turning], axis=-1)[0]

        return answer

    def over_step(
        self, q: Array, v: Array, tau: Array, f_ext: Array | None, dt: float, drag: Array | None, start: Array
    ) -> tuple[Array, Array]:
        """Accelerations (n, nv) at the beginning of a step from states (n, ...), and those with implicit damping over
        the step; the search begins with ``start``.
        """
        parts = [found for _, found in self.in_parts((q, v, tau, f_ext), dt, drag, start)]
        return np.concatenate([found.a for found in parts]), np.concatenate([found.damped for found in parts])

    @cached_property
    def points_law(self) -> Any:
        def answer(q: Any, out: Any = None) -> Any:
            ((q_,), batch) = as_batch(self.model, (("q", "configuration"),), (q,))
            assert q_ is not None
            seen = self._met(q_.reshape(-1, self.model.nq), None)[1].seen.reshape(*batch, self.points, 4)
            return put_into(
                out, np.ascontiguousarray(seen[..., :3]), np.ascontiguousarray(seen[..., 3]), apart={"q": q}
            )

        return answer

    def _given(self, q: Any, v: Any, tau: Any, f_ext: Any) -> tuple[list[Array | None], tuple[int, ...]]:
        """Arguments (n, ...), and their batch shape."""
        if is_traced([each for each in (q, v, tau, f_ext) if each is not None]):
            raise self._untraced()
        spaces = (("q", "configuration"), ("v", "velocity"), ("tau", "velocity"), ("f_ext", "wrenches"))
        given, batch = as_batch(self.model, spaces, [q, v, tau, f_ext])
        rows: list[Array | None] = []
        for each, axes in zip(given, (1, 1, 1, 2), strict=True):
            own = () if each is None else each.shape[each.ndim - axes :]
            rows.append(None if each is None else np.broadcast_to(each, (*batch, *own)).reshape(prod(batch), *own))
        return rows, batch

    def in_parts(
        self, given: Sequence[Array | None], dt: float | None, drag: Array | None, start: Array | None = None
    ) -> list[tuple[slice, Found]]:
        """Solutions for states (n, ...), some at a time; ``drag`` (n or 1, nv) and ``start`` as in ``Text.motion``."""
        states = len(given[0]) if given[0] is not None else 0
        most = max(1, _NUMBERS // (21 * max(1, len(self.frames), self.points)))
        size = most if most < 8 else most - most % 8
        found = []
        for first in range(0, states, size):
            some = slice(first, first + size)
            q, v, tau, f_ext = (None if each is None else each[some] for each in given)
            resisted = drag if drag is None or len(drag) == 1 else drag[some]
            found.append((some, self._motion(q, v, tau, f_ext, dt, resisted, None if start is None else start[some])))
        return found

    # Solution

    def _motion(
        self, q: Any, v: Any, tau: Any, f_ext: Any, dt: float | None, drag: Array | None, start: Array | None
    ) -> Found:
        """The solution for states (n, ...)."""
        model = self.model
        free = forward_dynamics(model, q, v, tau, f_ext)
        T, met = self._met(q, dt)
        rate = free + self._turning(v)
        begin = np.zeros_like(free) if start is None else start - free
        moved = [v, rate] if start is None else [v, rate, begin]
        V, A, *Y = self._moving_frames(q, np.stack(moved))
        s = [
            one.rows.asked(points, V[:, one.frames], A[:, one.frames])
            for one, points in zip(self.kinds, met.points, strict=True)
        ]
        search = Search(self, q, met.points, s, self.joint_rows.at(q, v, free, dt), np.zeros_like(free))
        if start is not None:
            search.begin(begin, Y[0], kinetic_energy(model, q, begin))
        search.run()
        s, a = search.s, free + search.y
        damped = a
        if drag is not None:  # (M + drag)⁻¹ M a
            drag = np.broadcast_to(drag, a.shape)
            damped = a - self.supported(q, np.zeros_like(a), drag * a, model.armature + drag, None, None)[0]

        def forces() -> tuple[Array, Array]:
            return self._forces(T, met, s), met.seen[..., :3]

        return Found(a, damped, forces)

    def _moving_frames(self, q: Array, rates: Array) -> Array:
        """Spatial velocities of frames (k, n, frames, 6) for joint velocities (k, n, nv)."""
        if not self.moved_ends:
            return np.zeros((*rates.shape[:-1], 0, 6))
        return frame_velocity(self.model, q, rates, self.moved_ends)

    def _met(self, q: Array, dt: float | None) -> tuple[Any, Met]:
        """Poses of the frames, and the points."""
        T: Any = forward_kinematics(self.model, q, self.moved_ends) if self.moved_ends else None
        seen, found = np.empty((len(q), self.points, 4)), []
        for one in self.kinds:
            own = []
            for each in one.alike:
                more = () if dt is None else (dt,)
                points, there = each.texts[dt is not None](T[:, each.frames], each.data, *more)
                own.append((points.reshape(len(q), -1, one.rows.width), there.reshape(len(q), -1, 4)))
            found.append(np.concatenate([points for points, _ in own], axis=1))
            seen[:, one.places] = np.concatenate([there for _, there in own], axis=1)
        return T, Met(found, seen)

    def _turning(self, v: Array) -> Array:
        """As ``Text._turning``, for states (n, nv)."""
        found = np.zeros_like(v)
        for start in self._free:
            found[:, start : start + 3] = np.cross(v[:, start + 3 : start + 6], v[:, start : start + 3])
        return found

    @cached_property
    def _free(self) -> list[int]:
        """The first velocity index of each free joint."""
        pairs = zip(self.model.bodies, self.model.v_start, strict=True)
        return [start for body, start in pairs if isinstance(body.joint, Free)]

    def supported(self, q: Array, y: Array, tau: Array, rotor: Array, f: Array | None, K: Array | None) -> list[Array]:
        """The results of ``algorithms.supported``; without contacts if f and K are None."""
        frames = self.frames if f is not None else []
        none = np.zeros((len(q), 0, 6)), np.zeros((len(q), 0, 21))
        values = [q, y, tau, rotor, none[0] if f is None else f, none[1] if K is None else K]
        return call(SUPPORTED, self.model, values, frames, (), self._quick if frames else None)

    def _forces(self, T: Any, met: Met, s: Sequence[Array]) -> Array:
        """Forces and moments at the points, in world axes (n, points, 6)."""
        found = np.zeros((len(met.seen), self.points, 6))
        for one, points, own in zip(self.kinds, met.points, s, strict=True):
            local = one.rows.force(points, own)
            R = T[:, one.frames, :3, :3]
            for half in (slice(0, 3), slice(3, 6)):
                x = local[..., None, half]
                found[:, one.places, half] = R[..., 0] * x[..., 0] + R[..., 1] * x[..., 1] + R[..., 2] * x[..., 2]
        return found


def kinetic_energy(model: Model, q: Array, v: Array) -> Array:
    """The kinetic energy of states (n,)."""
    return call("energy", model, [q, v], table=model._memo.quick)[0]


def _check_solved(what: str, problems: Sequence[str], a: Array, batch: tuple[int, ...]) -> None:
    """An error if some problem was not solved; accelerations (n, nv) are NaN there."""
    if problems:
        state = np.unravel_index(int(np.argmin(np.isfinite(a).all(axis=1))), batch) if batch else ()
        where = f" in state {list(map(int, state))} of the batch" if batch else ""
        raise SingularError(f"{what}: {', and '.join(problems)}{where}")


def _in_parts(count: int, numbers: int) -> list[NDArray[np.intp]]:
    """A partition of ``count`` items, of so many numbers each, to be processed part by part."""
    size = max(1, _NUMBERS // max(1, numbers))
    return [np.arange(first, min(first + size, count)) for first in range(0, count, size)]
