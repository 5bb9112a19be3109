"""One step of a mechanism, slowly: dense matrices, and everything that acts one way or within bounds as one problem.

    M a = force + Jᵀ f,      f = argmin ½ fᵀ G f + fᵀ w      over a product of

    free    all numbers: bilateral constraints          push   f ≥ 0: stops, contacts without friction
    box     |f| ≤ most: dry friction                    cone   |f_t| ≤ μ f_n: contacts with friction

with G = J M⁻¹ Jᵀ + R the response of the rows to their forces. Without contacts rows are hard (R = 0) and hold for the
velocities at the step's end, with contacts they are soft and hold for accelerations, as MuJoCo's. The problem is solved
by projected Gauss-Seidel iteration, and a solution counts only if its optimality conditions hold to 1e-12.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import linkwork as lw

Array = Any
Drive = Callable[[float, Array, Array], Array]

SLOW = 1e-3
"""The speed below which smoothed friction is proportional to the speed."""


@dataclass
class Row:
    """Rows J (r, nv) of the problem, the number w0 of each without forces, R, and the set of their forces."""

    J: Array
    w: Array
    kind: str
    size: float = 0.0
    R: Array = field(default_factory=lambda: np.zeros(1))


def projected(f: Array, kind: str, size: float) -> Array:
    """The nearest forces in the set."""
    if kind == "push":
        return np.maximum(f, 0.0)
    if kind == "box":
        return np.clip(f, -size, size)
    normal, across = f[0], np.linalg.norm(f[1:])
    if across <= size * normal:
        return f
    if size * across <= -normal:
        return np.zeros_like(f)
    along = (normal + size * across) / (1.0 + size * size)
    return np.concatenate([[along], size * along / across * f[1:]])


def solution(G: Array, w: Array, rows: Sequence[Row]) -> Array:
    """The forces, by projected Gauss-Seidel iteration; it fails unless the optimality conditions hold to 1e-12."""
    stops = np.cumsum([0, *(len(row.J) for row in rows)])
    free = np.concatenate([np.full(len(row.J), row.kind == "free") for row in rows])
    held, others = np.flatnonzero(free), np.flatnonzero(~free)
    inverse = np.linalg.pinv(G[np.ix_(held, held)], rcond=1e-11, hermitian=True)
    carried = G[np.ix_(others, held)] @ inverse
    A = G[np.ix_(others, others)] - carried @ G[np.ix_(held, others)]
    b = w[others] - carried @ w[held]
    terms = abs(G[np.ix_(others, others)]) + abs(carried) @ abs(G[np.ix_(held, others)])
    blocks, at = [], 0
    for k, row in enumerate(rows):
        if row.kind != "free":
            size = stops[k + 1] - stops[k]
            own = slice(at, at + size)
            blocks.append((own, 1.0 / np.linalg.eigvalsh(A[own, own])[-1], row.kind, row.size))
            at += size
    f = np.zeros(len(b))
    scale = abs(b).max(initial=0.0)
    for sweep in range(200_000):
        for own, rate, kind, size in blocks:
            f[own] = projected(f[own] - rate * (A[own] @ f + b[own]), kind, size)
        if sweep % 50 == 0:
            f = polished(A, b, f, blocks)
            most = np.maximum(scale, terms @ abs(f))
            off = max((off_by(A, b, f, each) / most[each[0]].min() for each in blocks), default=0.0)
            if off <= 1e-12:
                break
    else:
        raise AssertionError(f"the reference has not solved its problem: {off:.3g} of its terms")
    whole = np.zeros(len(w))
    whole[others] = f
    whole[held] = -inverse @ (w[held] + G[np.ix_(held, others)] @ f)
    return whole


def off_by(A: Array, b: Array, f: Array, block: tuple[slice, float, str, float]) -> float:
    """How far a block of forces is from its optimality conditions, as a motion."""
    own, rate, kind, size = block
    nearer = projected(f[own] - rate * (A[own] @ f + b[own]), kind, size)
    return float(abs(nearer - f[own]).max() / rate)


def polished(A: Array, b: Array, f: Array, blocks: Sequence[tuple[slice, float, str, float]]) -> Array:
    """Forces at the same bounds, the others solved for, if that is nearer; otherwise the forces as they are. What the
    others cannot balance, since they move the same joints, drives them to a bound. Cones that slide stay as they are.
    """
    guess, scale = f.copy(), abs(b).max(initial=0.0)
    least, most = np.full(len(f), -np.inf), np.full(len(f), np.inf)
    for own, _, kind, size in blocks:
        if kind != "cone":
            least[own], most[own] = (0.0, np.inf) if kind == "push" else (-size, size)
    for _ in f:
        moving = (guess > least) & (guess < most)
        for own, _, kind, size in blocks:
            if kind == "cone":
                moving[own] = np.linalg.norm(guess[own][1:]) < size * guess[own][0] * (1.0 - 1e-9)
        some = np.flatnonzero(moving)
        among, wanted = A[np.ix_(some, some)], -(b + A[:, ~moving] @ guess[~moving])[some]
        guess[some] = np.linalg.lstsq(among, wanted, rcond=1e-13)[0]
        left = wanted - among @ guess[some]
        ends = np.where(left > 0.0, most[some], least[some])
        with np.errstate(all="ignore"):
            shares = np.where(abs(left) > 1e-12 * scale, (ends - guess[some]) / left, np.inf)
        first = int(np.nanargmin(shares)) if len(some) else -1
        if first < 0 or not np.isfinite(shares[first]):
            break
        guess[some] += max(shares[first], 0.0) * left
        guess[some[first]] = ends[first]
    worse = max((off_by(A, b, guess, each) for each in blocks), default=0.0)
    return guess if worse < max((off_by(A, b, f, each) for each in blocks), default=0.0) else f


@dataclass
class Step:
    """A step of ``dt`` (s) of a model of hinges, with a free joint or none.

    Attributes:
        drive: (t, q, v) -> joint forces (nv,).
        friction: "", "stiction" or "smoothed".
        contacts: spheres on the plane z = 0, or on each other; None for none.
        integrator: "semi_implicit_euler" or "runge_kutta_4".
    """

    model: lw.Model
    dt: float
    drive: Drive
    stops: bool = False
    friction: str = ""
    springs: bool = False
    constraints: Sequence[lw.Constraint] = ()
    contacts: Sequence[lw.Contact] | None = None
    integrator: str = "semi_implicit_euler"
    stabilisation: float | None = None

    def __call__(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """The state at the end of the step that begins at t."""
        with lw.interpreted():
            return self._euler(t, q, v) if self.integrator == "semi_implicit_euler" else self._runge_kutta(t, q, v)

    # The two integrators

    def _euler(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        model, dt, drag = self.model, self.dt, self._drag(v)
        force = self._force(t, q, v) - drag * v
        M = lw.mass_matrix(model, q)
        if self.contacts is None:
            heavy = M + dt * np.diag(drag)
            a = self._hard(heavy, q, v, np.linalg.solve(heavy, force))[0]
            end = v + dt * a
            return self._within(lw.integrate(model, q, dt * end)), end
        a = self._soft(M, q, v, np.linalg.solve(M, force))
        return self._moved(q, v, np.linalg.solve(M + dt * np.diag(drag), M @ a))

    def _runge_kutta(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        model, dt, half = self.model, self.dt, 0.5 * self.dt
        extra = np.zeros(model.nv)

        def rate(t: float, q: Array, v: Array) -> Array:
            M, force = lw.mass_matrix(model, q), self._force(t, q, v) - model.damping * v + extra
            a = np.linalg.solve(M, force)
            return self._soft(M, q, v, a) if self.contacts is not None else self._held(M, q, v, a)

        if self.contacts is None:
            M, force = lw.mass_matrix(model, q), self._force(t, q, v) - model.damping * v
            extra = self._hard(M, q, v, np.linalg.solve(M, force))[1]
        # commutator-free of order 4 (Celledoni, Marthinsen, Owren 2003)
        k1 = rate(t, q, v)
        middle = lw.integrate(model, q, half * v)
        v2 = v + half * k1
        k2 = rate(t + half, middle, v2)
        v3 = v + half * k2
        k3 = rate(t + half, lw.integrate(model, q, half * v2), v3)
        v4 = v + dt * k3
        k4 = rate(t + dt, lw.integrate(model, middle, dt * v3 - half * v), v4)
        both = 2.0 * (v2 + v3)
        first = lw.integrate(model, q, dt / 12.0 * (3.0 * v + both - v4))
        after = lw.integrate(model, first, dt / 12.0 * (both + 3.0 * v4 - v))
        return self._within(after), v + dt / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)

    def _moved(self, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        """Semi-implicit Euler with the linear velocity of a free joint in world axes."""
        end = v + self.dt * a
        after = lw.integrate(self.model, q, self.dt * end)
        for start, at in self._free_joints():
            before, now = turn_of(q[at + 3 : at + 7]), turn_of(after[at + 3 : at + 7])
            velocity = before @ (v[start : start + 3] + self.dt * (a + self._turning(v))[start : start + 3])
            after[at : at + 3] = q[at : at + 3] + self.dt * velocity
            end[start : start + 3] = now.T @ velocity
        return after, end

    # Forces

    def _drag(self, v: Array) -> Array:
        rub = (
            self.model.friction / np.maximum(abs(v), SLOW) if self.friction == "smoothed" and not self.contacts else 0.0
        )
        return self.model.damping + rub

    def _force(self, t: float, q: Array, v: Array) -> Array:
        model = self.model
        most = model.effort_limit
        force = np.clip(self.drive(t, q, v), -most, most) - lw.nonlinear_effects(model, q, v)
        if self.springs:
            force = force + model.stiffness * lw.difference(model, q, model.springref)
        return force

    def _joints(self) -> list[tuple[int, int, float, float]]:
        """Hinges: the index in v and in q, and the limits."""
        model = self.model
        return [
            (i, k, float(body.limits.lower[0]), float(body.limits.upper[0]))
            for body, i, k in zip(model.bodies, model.v_start, model.q_start, strict=True)
            if body.joint.nv == 1
        ]

    def _free_joints(self) -> list[tuple[int, int]]:
        model = self.model
        several = zip(model.bodies, model.v_start, model.q_start, strict=True)
        return [(i, k) for body, i, k in several if isinstance(body.joint, lw.joints.Free)]

    def _within(self, q: Array) -> Array:
        if self.stops and self.contacts is None:
            for _, k, low, high in self._joints():
                q[k] = min(max(q[k], low), high)
        return q

    # Hard rows

    def _bilateral(self, q: Array, v: Array) -> list[tuple[Array, Array, Array]]:
        """For each constraint its rows, errors, and the acceleration J̇ v."""
        return [condition(self.model, one, q, v) for one in self.constraints]

    def _bonds(self, q: Array, v: Array, a: Array) -> list[Row]:
        """Rows of the constraints, whose errors decay, for accelerations."""
        time = 10.0 * self.dt if self.stabilisation is None else self.stabilisation
        return [
            Row(J, J @ a + drift + 2.0 / time * (J @ v) + errors / time**2, "free")
            for J, errors, drift in self._bilateral(q, v)
        ]

    def _held(self, M: Array, q: Array, v: Array, a: Array) -> Array:
        """Accelerations under the constraints."""
        return a + forced(M, self._bonds(q, v, a))[0]

    def _hard(self, M: Array, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        """Accelerations under constraints, stops and stiction, and the joint forces of the latter two."""
        nv, dt = self.model.nv, self.dt
        rows, free = self._bonds(q, v, a), v + dt * a
        for i, k, low, high in self._joints() if self.stops else ():
            unit = np.eye(nv)[i][None]
            if np.isfinite(low):
                rows.append(Row(unit, (free[i : i + 1] - (low - q[k]) / dt) / dt, "push"))
            if np.isfinite(high):
                rows.append(Row(-unit, ((high - q[k]) / dt - free[i : i + 1]) / dt, "push"))
        if self.friction == "stiction":
            for i in np.flatnonzero(self.model.friction).tolist():
                rows.append(Row(np.eye(nv)[i][None], free[i : i + 1] / dt, "box", float(self.model.friction[i])))
        change, forces = forced(M, rows)
        extra = np.zeros(nv)
        for row, own in zip(rows, forces, strict=True):
            if row.kind != "free":
                extra += row.J.T @ own
        return a + change, extra

    # Soft rows, as MuJoCo's

    def _turning(self, v: Array) -> Array:
        found = np.zeros(self.model.nv)
        for i, _ in self._free_joints():
            found[i : i + 3] = np.cross(v[i + 3 : i + 6], v[i : i + 3])
        return found

    def _soft(self, M: Array, q: Array, v: Array, a: Array) -> Array:
        model, rates, rows = self.model, a + self._turning(v), list[Row]()
        masses, dofs = inverse_masses(model)
        assert self.contacts is not None

        def row(J: Array, depth: float, mass: Array, soft: lw.Softness, kind: str, errors: Array, size: float) -> Row:
            b, k = spring(soft, self.dt)
            d = impedance(soft, depth)
            w = J @ rates + b * (J @ v) + k * d * errors
            return Row(J, w, kind, size, np.maximum((1.0 - d) / d * mass, 1e-15))

        for one in self.contacts:
            for J, depth in touching(model, one, q):
                mass = masses[one.frame] + (masses[one.on] if one.on != "world" else 0.0)
                kind = "cone" if len(J) > 1 else "push"
                rows.append(
                    row(J, depth, mass, one.softness, kind, np.array([depth, 0.0, 0.0])[: len(J)], one.friction)
                )
        for i, k, low, high in self._joints():  # beside contacts limits are always rows
            for sign, depth in ((1.0, q[k] - low), (-1.0, high - q[k])):
                if depth < 0.0:
                    unit = sign * np.eye(model.nv)[i][None]
                    rows.append(row(unit, depth, dofs[i], lw.Softness(), "push", np.array([depth]), 0.0))
        if self.friction:
            for i in np.flatnonzero(model.friction).tolist():
                unit, most = np.eye(model.nv)[i][None], float(model.friction[i])
                rows.append(row(unit, 0.0, dofs[i], lw.Softness(), "box", np.zeros(1), most))
        for bond, (J, errors, drift) in zip(self.constraints, self._bilateral(q, v), strict=True):
            if isinstance(bond, lw.Coupling):
                mass = sum(dofs[i] for i in np.flatnonzero(J[0]))
            else:
                mass = sum(masses[str(end)] for end in (bond.frame_a, bond.frame_b) if end != "world")
            made = row(J, float(np.linalg.norm(errors)), mass, lw.Softness(), "free", errors, 0.0)
            if isinstance(bond, lw.Ball):  # MuJoCo's rates of other rows lack all but the turning of free joints
                made.w += drift - J @ self._turning(v)
            rows.append(made)
        return a + forced(M, rows)[0]


def forced(M: Array, rows: Sequence[Row]) -> tuple[Array, list[Array]]:
    """The change of accelerations by the forces of rows, and these."""
    if not rows:
        return np.zeros(len(M)), []
    J = np.concatenate([row.J for row in rows])
    R = np.concatenate([np.broadcast_to(row.R, len(row.J)) for row in rows])
    moved = np.linalg.solve(M, J.T)
    f = solution(J @ moved + np.diag(R), np.concatenate([row.w for row in rows]), rows)
    return moved @ f, np.split(f, np.cumsum([len(row.J) for row in rows])[:-1])


# Geometry


def turn_of(quaternion: Array) -> Array:
    x, y, z, w = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def condition(model: lw.Model, one: lw.Constraint, q: Array, v: Array) -> tuple[Array, Array, Array]:
    """Rows, errors and J̇ v of a coupling, or of a point that is held in the world or in a plane there."""
    if isinstance(one, lw.Coupling):
        row = np.zeros((1, model.nv))
        (i, k), (j, m) = (
            (model.v_start[n], model.q_start[n]) for n in map(model.joint_index, (one.joint_a, one.joint_b))
        )
        row[0, i], row[0, j] = 1.0, -one.ratio
        return row, np.array([q[k] - one.ratio * q[m] - one.offset]), np.zeros(1)
    axes = np.eye(3)[2:] if isinstance(one, lw.PointOnPlane) else np.eye(3)
    assert one.frame_b == "world"
    place = lw.forward_kinematics(model, q, [one.frame_a])[0][:3, 3] - one.placement.translation.numbers()
    J = lw.jacobian(model, q, [one.frame_a], reference="local_world_aligned")[:3]
    drift = lw.jacobian_drift(model, q, v, [one.frame_a], reference="local_world_aligned").reshape(6)[:3]
    return axes @ J, axes @ place, axes @ drift


def touching(model: lw.Model, one: Any, q: Array) -> list[tuple[Array, float]]:
    """The rows (normal first) and the distance of a sphere that touches the plane z = 0, or another sphere."""
    ends = [one.frame] if one.on == "world" else [one.frame, one.on]
    places = lw.forward_kinematics(model, q, ends)[:, :3, 3]
    if one.on == "world":
        normal, depth = np.array([0.0, 0.0, 1.0]), places[0][2] - one.shape.radius
    else:
        apart = places[0] - places[1]
        normal, depth = apart / np.linalg.norm(apart), np.linalg.norm(apart) - one.shape.radius - one.against.radius
    if depth >= 0.0:
        return []
    point = places[0] - (one.shape.radius + 0.5 * depth) * normal
    J = np.zeros((3, model.nv))
    for sign, end, place in zip((1.0, -1.0), ends, places, strict=False):
        own = lw.jacobian(model, q, [end], reference="local_world_aligned")
        arm = point - place
        J += sign * (own[:3] - np.cross(arm, own[3:], axis=0))
    across = np.linalg.svd(normal[None])[2][1:]
    return [(np.concatenate([normal[None], across])[: one.dimensions] @ J, float(depth))]


def inverse_masses(model: lw.Model) -> tuple[dict[str, float], Array]:
    """Of each frame's body at its centre of mass, and of each degree of freedom, in the neutral configuration."""
    q = lw.neutral(model)
    inverse = np.linalg.inv(lw.mass_matrix(model, q))
    dofs = inverse.diagonal().copy()
    for body, start in zip(model.bodies, model.v_start, strict=True):
        if isinstance(body.joint, lw.joints.Free):
            dofs[start : start + 3], dofs[start + 3 : start + 6] = (
                dofs[start : start + 3].mean(),
                dofs[start + 3 : start + 6].mean(),
            )
    found = {}
    for name in model.frame_names:
        frame = model.frame(name)
        if not frame.body:
            continue
        mass, *first = model.bodies[frame.body - 1].inertia.numbers()[:4]
        centre = frame.placement.inverse().rotation.apply(
            lw.spatial.Vec3(*(x / mass for x in first)) - frame.placement.translation
        )
        point = lw.Point(name, offset=tuple(map(float, centre.numbers())))
        J = lw.jacobian(model, q, [point], reference="local_world_aligned")[:3]
        found[name] = float((J @ inverse @ J.T).trace() / 3.0)
    return found, dofs


def spring(soft: lw.Softness, dt: float) -> tuple[float, float]:
    deep, time = soft.impedance[1], max(soft.time_constant, 2.0 * dt)
    return 2.0 / (deep * time), 1.0 / (deep * time * soft.damping_ratio) ** 2


def impedance(soft: lw.Softness, r: float) -> float:
    shallow, deep, width, middle, exponent = soft.impedance
    x = min(abs(r) / width, 1.0)
    if x <= middle:
        y = x**exponent / middle ** (exponent - 1.0)
    else:
        y = 1.0 - (1.0 - x) ** exponent / (1.0 - middle) ** (exponent - 1.0)
    return shallow + y * (deep - shallow)
