"""Dynamics with loop closures and contacts.

The forces of constraints solve (C Λ⁻¹ Cᵀ) λ = - C A_free - ..., with the Λ⁻¹ of all frames that they hold: Yamane and
Nakamura's Eq. 7 over the loops alone, the tree being eliminated by articulated bodies. O(n + m²) for Λ⁻¹, O(m³) for
the solution, and O(n) for the accelerations.

One text, over arrays: traced, it is one kernel for a model and its constraints; over floats it joins kernels, for
mechanisms of many bodies, and for states that the kernel leaves because the constraints may be redundant there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import not_negative, seconds
from linkwork.batches import put_into
from linkwork.compiled.arrays import TracedArray, numbers, traced
from linkwork.dynamics.arguments import Array, as_batch, as_frames, check_model
from linkwork.dynamics.constraints import Constraint, Held, as_constraints
from linkwork.dynamics.dynamics import forward_dynamics
from linkwork.dynamics.kinematics import forward_kinematics, frame_acceleration, frame_velocity
from linkwork.dynamics.operational import operational_inertia_inverse
from linkwork.dynamics.small_matrices import inverse, matrix_of, motion_cross, motion_matrix, skew, times, transposed
from linkwork.engine.mode import current_form
from linkwork.engine.plans import MOST_BODIES
from linkwork.engine.plans.task import moved
from linkwork.errors import ArgumentError, SingularError
from linkwork.model.model import Model
from linkwork.spatial import Factor, absolute, total, where_less

if TYPE_CHECKING:
    from linkwork.compiled.compiled_function import CompiledFunction

_MOST_ITERATIONS = 100
_COMPILED_ITERATIONS = 8
_MOST_PAIRS = 8
"""Pairs of frames up to which one kernel is made."""
_WELL_CONDITIONED = 1e-7
"""Of the largest number of the diagonal: a pivot below it asks for a closer look at the rank."""


def constrained_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    constraints: Sequence[Constraint],
    f_ext: ArrayLike | None = None,
    time_constant: float | None = None,
    proximal: float = 0.0,
    *,
    out: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """Accelerations of a mechanism with loop closures and contacts, and the forces of its constraints.

    Contacts are bilateral: they pull as well as they push.

    Args:
        model: the mechanism, a tree.
        q: configuration (..., nq).
        v: velocity (..., nv).
        tau: joint forces (..., nv), N or N m.
        constraints: k of ``lw.Weld``, ``lw.Ball``, ``lw.Hinge``, ``lw.PointOnPlane``, ``lw.Coupling``, ``lw.Rolling``.
        f_ext: external force (N) and moment (N m) on each body, in the body's own frame (..., nbodies, 6).
        time_constant: Baumgarte's stabilisation: errors of place and velocity die out, critically damped, with this
            time (s), which should be several steps of the integration; no stabilisation if left out.
        proximal: for constraints that are redundant: a damping of the forces, relative to the mean diagonal of the
            constraints' matrix, whose effect is taken out again by iteration; 1e-6 is a good value. The forces are
            then the smallest that do.
        out: a tuple of arrays for the results, written in place and returned; new ones if left out.

    Returns:
        a (..., nv), and wrenches (..., k, 6): the force (N) and moment (N m) on frame a of each constraint, in its
        own axes; frame b feels the opposite.

    Raises:
        SingularError: if constraints are redundant and ``proximal`` is 0; it names them and the rank.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder(gravity=(0, 0, -10))
        >>> _ = builder.add_body("box", joint=lw.joints.Free(), mass=2.0, inertia=(1, 1, 1))
        >>> box = builder.build()
        >>> a, wrenches = lw.constrained_dynamics(box, lw.neutral(box), [0.0] * 6, [0.0] * 6, [lw.Weld("box")])
        >>> a.round(12) + 0.0, wrenches.round(12) + 0.0
        (array([0., 0., 0., 0., 0., 0.]), array([[ 0.,  0., 20.,  0.,  0.,  0.]]))
    """
    held = _held(model, constraints)
    settings = held.settings(time_constant, proximal)
    if held.whole:
        law = held.law(f_ext is not None, time_constant is not None, bool(settings[2]))
        values = (
            (q, v, tau, held.placements, settings) if f_ext is None else (q, v, tau, held.placements, settings, f_ext)
        )
        answer: tuple[Array, Array] | None = law.quick(out, *values)
        if answer is not None:
            return answer
    return _checked(held, q, v, tau, f_ext, time_constant, settings, out)


def _checked(
    held: HeldBy, q: ArrayLike, v: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None, time_constant: float | None,
    settings: Array, out: Any,
) -> tuple[Array, Array]:  # fmt: skip
    """The same for any arguments: by the kernel, and for states that it leaves, or a mechanism that has none, by the
    text over floats.
    """
    model = held.model
    spaces = (("q", "configuration"), ("v", "velocity"), ("tau", "velocity"), ("f_ext", "wrenches"))
    given, batch = as_batch(model, spaces, [q, v, tau, f_ext])
    q_, v_, tau_, f_ext_ = given
    assert q_ is not None and v_ is not None and tau_ is not None
    stabilised = settings if time_constant is not None else None
    if any(isinstance(each, TracedArray) for each in given):
        return _motion(held, q_, v_, tau_, f_ext_, held.placements, stabilised, _Traced(held, float(settings[2])))
    if not held.constraints:
        free = forward_dynamics(model, q_, v_, tau_, f_ext_)
        return put_into(out, free, np.zeros((*batch, 0, 6)))
    if not held.whole or current_form() == "rolled":
        return put_into(
            out, *_motion(held, q_, v_, tau_, f_ext_, held.placements, stabilised, _Joined(held, settings[2]))
        )
    law = held.law(f_ext is not None, time_constant is not None, bool(settings[2]))
    values = [q_, v_, tau_, held.placements, settings, *([] if f_ext_ is None else [f_ext_])]
    (a, wrenches), _, fine = law.attempt(values)
    for state in np.flatnonzero(~fine):
        where = tuple(int(i) for i in np.unravel_index(state, batch)) if batch else ()
        load = None if f_ext_ is None else f_ext_[where]
        solver = _Joined(held, settings[2])
        a[where], wrenches[where] = _motion(
            held, q_[where], v_[where], tau_[where], load, held.placements, stabilised, solver
        )
    return put_into(out, a, wrenches)


# The text


def _motion(
    held: HeldBy,
    q: Array,
    v: Array,
    tau: Array,
    f_ext: Array | None,
    placements: Array,
    settings: Array | None,
    solver: _Solver,
) -> tuple[Array, Array]:
    """Accelerations and wrenches. ``placements`` tell where each grip holds a as seen from b; the first two of
    ``settings`` are the factors of Baumgarte's stabilisation.
    """
    model, ends = held.model, held.ends
    free = forward_dynamics(model, q, v, tau, f_ext)
    places = forward_kinematics(model, q, ends)
    V, A = frame_velocity(model, q, v, ends), frame_acceleration(model, q, v, free, ends)

    # Of all grips at once: axis -2, or -3 of a matrix, counts them.
    b_in_a = inverse(places[..., held.a, :, :]) @ places[..., held.b, :, :]
    a_in_place = inverse(b_in_a @ placements)
    X = motion_matrix(b_in_a)
    carried = times(X, V[..., held.b, :])
    relative = V[..., held.a, :] - carried
    rate = A[..., held.a, :] - times(X, A[..., held.b, :]) + motion_cross(relative, carried)
    turning = times(skew(relative[..., 3:]), relative[..., :3])  # of a point, as b sees it
    rate = np.concatenate([rate[..., :3] + turning, rate[..., 3:]], axis=-1)

    rows, right = [], []
    for constraint, grips in zip(held.constraints, held.grips, strict=True):
        seen = [Held(a_in_place[..., g, :3, :3], a_in_place[..., g, :3, 3], relative[..., g, :]) for g in grips]
        G = constraint.all_rows(model, seen)
        asked = sum(times(part, rate[..., g, :]) for part, g in zip(G, grips, strict=True))
        drift = constraint.drift(seen)
        asked = asked if drift is None else asked + drift
        if settings is not None:
            slip = sum(times(part, relative[..., g, :]) for part, g in zip(G, grips, strict=True))
            asked = asked + settings[0] * slip + settings[1] * constraint.all_errors(model, q, seen)
        right.append(-asked)
        rows.append(_over_ends(held, G, grips, X))
    C, wanted = np.concatenate(rows, axis=-2), np.concatenate(right, axis=-1)
    solver.check(wanted)
    sizes = solver.solve(C @ operational_inertia_inverse(model, q, ends) @ transposed(C), wanted)

    at_ends = times(transposed(C), sizes).reshape((*sizes.shape[:-1], len(ends), 6))
    at_bodies = times(held.to_bodies, at_ends)
    forces = [None if f_ext is None else f_ext[..., k, :] for k in range(len(model.bodies))]
    for end, body in enumerate(held.bodies):
        if body:
            own, more = forces[body - 1], at_bodies[..., end, :]
            forces[body - 1] = more if own is None else own + more
    nothing = np.zeros_like(at_bodies[..., 0, :])
    loads = np.stack([nothing if force is None else force for force in forces], axis=-2)
    wrenches, start = [], 0
    for grips, own_rows in zip(held.grips, rows, strict=True):
        stop, a = start + own_rows.shape[-2], 6 * held.a[grips[0]]
        wrenches.append(times(transposed(own_rows[..., :, a : a + 6]), sizes[..., start:stop]))
        start = stop
    return forward_dynamics(model, q, v, tau, loads), np.stack(wrenches, axis=-2)


def _over_ends(held: HeldBy, G: Sequence[Array], grips: Sequence[int], X: Array) -> Array:
    """The rows of a constraint over the motions of all frames that are held."""
    blocks: list[Array | None] = [None] * len(held.ends)
    for part, g in zip(G, grips, strict=True):
        for end, block in ((held.a[g], part), (held.b[g], -(part @ X[..., g, :, :]))):
            own = blocks[end]
            blocks[end] = block if own is None else own + block
    shape = np.broadcast_shapes(*(block.shape for block in blocks if block is not None))
    nothing = np.zeros(shape)
    return np.concatenate([nothing if b is None else np.broadcast_to(b, shape) for b in blocks], axis=-1)


# What of constraints does not depend on the state


class HeldBy:
    """A model and its constraints: the frames that they hold, each once, and where these are on bodies.

    Attributes:
        ends: the frames.
        a, b: for each pair of frames that a constraint looks at, which of them these are.
        grips: for each constraint, its pairs.
        placements: (pairs, 4, 4), where a is held as seen from b.
        bodies: on which body each frame is, 0 for the world.
        to_bodies: (ends, 6, 6), takes a force from a frame to its body.
        whole: whether one kernel computes all.
    """

    def __init__(self, model: Model, constraints: tuple[Constraint, ...]) -> None:
        self.model, self.constraints = model, constraints
        pairs = [constraint.grips(model) for constraint in constraints]
        flat = [grip for each in pairs for grip in each]
        numbers = iter(range(len(flat)))
        self.grips = [[next(numbers) for _ in each] for each in pairs]
        self.ends = tuple(dict.fromkeys(end for grip in flat for end in (grip.frame_a, grip.frame_b)))
        self.a = [self.ends.index(grip.frame_a) for grip in flat]
        self.b = [self.ends.index(grip.frame_b) for grip in flat]
        self.placements = np.array([matrix_of(grip.placement) for grip in flat]).reshape(-1, 4, 4)
        asked = as_frames(model, self.ends)
        frames = moved(asked.frames, asked.offsets)
        self.bodies = [frame.body for frame in frames]
        self.to_bodies = np.array([motion_matrix(inverse(matrix_of(frame.placement))).T for frame in frames])
        self.rows = 6 * len(flat)
        self.whole = 0 < len(flat) <= _MOST_PAIRS and len(model.bodies) <= MOST_BODIES
        self._laws: dict[tuple[bool, bool, bool], CompiledFunction] = {}
        self._settings: dict[tuple[float | None, float], Array] = {}

    @property
    def name(self) -> str:
        return ", ".join(_shown(constraint) for constraint in self.constraints)

    def settings(self, time_constant: float | None, proximal: float) -> Array:
        """Two factors of stabilisation, and the proximal damping."""
        try:
            return self._settings[time_constant, proximal]
        except (KeyError, TypeError):
            damping, tau = not_negative("proximal", proximal), np.inf
            if time_constant is not None:
                tau = seconds("time_constant", time_constant)
            with np.errstate(all="ignore"):
                found = np.array([2.0 / np.float64(tau), 1.0 / np.float64(tau) ** 2, damping])
            if not np.isfinite(found).all():
                raise _too_short(tau) from None
            if len(self._settings) >= 1000:  # numbers that change from call to call
                self._settings.clear()
            self._settings[time_constant, proximal] = found
            return found

    def law(self, loaded: bool, stabilised: bool, damped: bool) -> CompiledFunction:
        """The kernel, for external forces or none, with stabilisation or none, for redundant constraints or not."""
        found = self._laws.get((loaded, stabilised, damped))
        if found is None:
            found = self._laws[loaded, stabilised, damped] = self._made(loaded, stabilised, damped)
        return found

    def _made(self, loaded: bool, stabilised: bool, damped: bool) -> CompiledFunction:
        from linkwork.compiled.law import law

        def text(q: Any, v: Any, tau: Any, placements: Any, settings: Any, f_ext: Any = None) -> Any:
            solver = _Traced(self, settings[2].item() if damped else 0.0)
            return _motion(self, q, v, tau, f_ext, placements, settings if stabilised else None, solver)

        model = self.model
        shapes = {
            "q": (model.nq,),
            "v": (model.nv,),
            "tau": (model.nv,),
            "placements": self.placements.shape,
            "settings": (3,),
        }
        if loaded:
            shapes["f_ext"] = (len(model.bodies), 6)
        results = [(model.nv,), (len(self.constraints), 6)]
        kinds = [(type(c).__name__, c.kind()) for c in self.constraints]
        asked = as_frames(model, self.ends)
        return law(
            "constrained_dynamics", text, shapes, results, model, moved(asked.frames, asked.offsets),
            (kinds, self.a, self.b, self.grips, loaded, stabilised, damped),
        )  # fmt: skip


def _too_short(time_constant: float) -> ArgumentError:
    return ArgumentError(
        f"time_constant must be several steps of the integration; with {time_constant:g} s it overflows"
    )


def _shown(constraint: Constraint) -> str:
    return f"{type(constraint).__name__}({constraint.frame_a!r}, {constraint.frame_b!r})"


def _held(model: Model, constraints: Sequence[Constraint]) -> HeldBy:
    """What is kept with a model for constraints that it was asked about before."""
    try:
        found: HeldBy = model._memo.held[tuple(map(id, constraints))]
        return found
    except Exception:  # new, no model, or no constraints
        pass
    check_model(model)
    listed, known = as_constraints(constraints), model._memo.held
    key = tuple(map(id, listed))
    found = HeldBy(model, listed)
    for other in known.values():  # the same but for where frames are held: the same code
        if [c.kind() for c in other.constraints] == [c.kind() for c in listed]:
            found._laws = other._laws
    if len(known) >= 200:  # constraints that are made anew for each call
        known.clear()
    known[key] = found
    return found


# Solving for the sizes of the forces


class _Solver:
    """Solves matrix · sizes = right, a symmetric matrix that is positive definite unless constraints are redundant."""

    def __init__(self, held: HeldBy, proximal: Any) -> None:
        self.held, self.proximal = held, proximal

    def check(self, right: Array) -> None:
        """What is asked of the constraints may not be finite."""

    def solve(self, matrix: Array, right: Array) -> Array:
        raise NotImplementedError


class _Traced(_Solver):
    """By factors L D Lᵀ; where pivots are small, or the proximal iteration does not end soon, no number results."""

    def solve(self, matrix: Array, right: Array) -> Array:
        leading, size = right.shape[:-1], right.shape[-1]
        rows = numbers(matrix).reshape(-1, size, size).tolist()
        rights = numbers(right).reshape(-1, size).tolist()
        found = np.empty((len(rows), size), dtype=object)
        for k, (A, b) in enumerate(zip(rows, rights, strict=True)):
            try:
                found[k, :] = self._one(A, b)
            except ZeroDivisionError:  # a pivot that is zero whatever the state
                found[k, :] = np.nan
        return traced(found.reshape((*leading, size)))

    def _one(self, A: list[list[Any]], b: list[Any]) -> list[Any]:
        size = len(A)
        largest = A[0][0]
        for k in range(1, size):
            largest = where_less(largest, A[k][k], A[k][k], largest)
        if isinstance(self.proximal, float) and not self.proximal:
            factor = Factor.of_matrix(A)
            sound: Any = 0.0
            for inverse_pivot in factor.inverse_pivots:
                share = inverse_pivot * (_WELL_CONDITIONED * largest)
                sound = where_less(0.0, share, where_less(share, 1.0, sound, np.nan), np.nan)
            x = factor.solve(b)
            return [x[0] + sound, *x[1:]]
        damping = self.proximal * (total(A[k][k] for k in range(size)) / float(size))
        factor = Factor.of_matrix(
            [[x + damping if r == c else x for c, x in enumerate(row)] for r, row in enumerate(A)]
        )
        x = factor.solve(b)
        step: Any = 0.0
        for iteration in range(_COMPILED_ITERATIONS):
            following = factor.solve([y + damping * z for y, z in zip(b, x, strict=True)])
            if iteration == _COMPILED_ITERATIONS - 1:
                step = _largest([y - z for y, z in zip(following, x, strict=True)])
            x = following
        sound = where_less(1e-13 * _largest(x), step, np.nan, 0.0)
        return [x[0] + sound, *x[1:]]


def _largest(x: Sequence[Any]) -> Any:
    found = absolute(x[0])
    for number in x[1:]:
        found = where_less(found, absolute(number), absolute(number), found)
    return found


class _Joined(_Solver):
    """By Cholesky's factors, after a look at the rank; if damped, by the proximal iteration. Any number of states."""

    def check(self, right: Array) -> None:
        if not np.isfinite(right).all():
            raise ArgumentError(
                "time_constant must be several steps of the integration; what it asks of the constraints overflows"
            )

    def solve(self, matrix: Array, right: Array) -> Array:
        size = matrix.shape[-1]
        diagonal = matrix.diagonal(axis1=-2, axis2=-1)
        if not self.proximal:
            largest = diagonal.max(axis=-1)
            if not _well_conditioned(matrix, largest):
                ranks = np.linalg.matrix_rank(matrix, hermitian=True, tol=1e-11 * largest)
                if (ranks < size).any():
                    raise SingularError(
                        f"constrained_dynamics: the constraints {self.held.name} hold {size} motions, of which only "
                        f"{ranks.min()} are independent. Leave out what is redundant, or pass proximal=1e-6"
                    )
            return np.asarray(np.linalg.solve(matrix, right[..., None])[..., 0], dtype=np.float64)
        damping = self.proximal * diagonal.mean(axis=-1)[..., None]
        damped = np.linalg.inv(matrix + damping[..., None] * np.eye(size))
        sizes = np.zeros_like(right)
        for _ in range(_MOST_ITERATIONS):
            following = times(damped, right + damping * sizes)
            step = np.abs(following - sizes).max(initial=0.0)
            sizes = following
            if step <= 1e-13 * np.abs(sizes).max(initial=0.0):
                break
        return sizes


def _well_conditioned(matrix: Array, largest: Array) -> bool:
    """Whether a matrix is regular beyond doubt, by its pivots; else its rank must be found."""
    try:
        pivots = np.linalg.cholesky(matrix).diagonal(axis1=-2, axis2=-1)
    except np.linalg.LinAlgError:
        return False
    return bool((pivots.min(axis=-1) ** 2 > _WELL_CONDITIONED * largest).all())
