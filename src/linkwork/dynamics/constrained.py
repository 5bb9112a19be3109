"""Dynamics with loop closures and contacts.

The forces of constraints solve (C Λ⁻¹ Cᵀ) λ = - C A_free - ..., with the Λ⁻¹ of all frames that they hold: Yamane and
Nakamura's Eq. 7 over the loops alone, the tree being eliminated by articulated bodies. O(n + m²) for Λ⁻¹, O(m³) for
the solution, and O(n) for the accelerations.

One text, over arrays: traced, it is one kernel for a model and its constraints; over floats it joins kernels, for
mechanisms of many bodies, and for states that the kernel leaves because the constraints may be redundant there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import not_negative, old_name, seconds
from linkwork.batches import put_into
from linkwork.compiled.arrays import TracedArray
from linkwork.dynamics.arguments import Array, as_batch, as_frames, check_model
from linkwork.dynamics.constraint_solvers import JoinedSolver, Solver, TracedSolver
from linkwork.dynamics.coupled_joints import as_couplings, coupled_motion
from linkwork.dynamics.dynamics import forward_dynamics
from linkwork.dynamics.kinematics import forward_kinematics, frame_acceleration, frame_velocity
from linkwork.dynamics.operational import operational_inertia_inverse
from linkwork.engine.mode import current_form
from linkwork.engine.plans import MOST_BODIES
from linkwork.engine.plans.task import moved
from linkwork.errors import ArgumentError
from linkwork.model.constraints import Constraint, Held, as_constraints
from linkwork.model.model import Model
from linkwork.spatial.small_matrices import inverse, matrix_of, motion_cross, motion_matrix, skew, times, transposed

if TYPE_CHECKING:
    from linkwork.compiled.compiled_function import CompiledFunction

_MOST_COUPLED = 20
"""Bodies up to which one kernel is made for many couplings: the inverse of the mass matrix is part of it."""
_MOST_PAIRS = 8
"""Pairs of frames up to which one kernel is made, and couplings, of two pairs each, are constraints as all others."""


def constrained_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    constraints: Sequence[Constraint],
    f_ext: ArrayLike | None = None,
    stabilisation: float | None = None,
    proximal: float = 0.0,
    *,
    out: tuple[Array, Array] | None = None,
    time_constant: float | None = None,
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
        stabilisation: the time (s) in which errors of place and velocity die out, critically damped (Baumgarte); it
            should be several steps of the integration. No stabilisation if left out.
        proximal: for constraints that are redundant: a damping of the forces, relative to the mean diagonal of the
            constraints' matrix, whose effect is taken out again by iteration; 1e-6 is a good value. The forces are
            then the smallest that do.
        out: a tuple of arrays for the results, written in place and returned; new ones if left out.
        time_constant: the old name of ``stabilisation``.

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
    if time_constant is not None:
        if stabilisation is not None:
            raise ArgumentError("time_constant is called stabilisation now; pass the new name alone")
        old_name("time_constant", "stabilisation")
        stabilisation = time_constant
    held = held_by(model, constraints)
    settings = held.settings(stabilisation, proximal)
    if held.compiled:
        law = held.law(f_ext is not None, stabilisation is not None, bool(settings[2]))
        values = (
            (q, v, tau, held.placements, settings) if f_ext is None else (q, v, tau, held.placements, settings, f_ext)
        )
        answer: tuple[Array, Array] | None = law.quick(out, *values)
        if answer is not None:
            return answer
    return _checked(held, q, v, tau, f_ext, stabilisation, settings, out)


def _checked(
    held: HeldBy, q: ArrayLike, v: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None, stabilisation: float | None,
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
    stabilised = settings if stabilisation is not None else None
    if any(isinstance(each, TracedArray) for each in given):
        return _motion(
            held, q_, v_, tau_, f_ext_, held.placements, stabilised, TracedSolver(held.name, float(settings[2]))
        )
    if not held.constraints:
        free = forward_dynamics(model, q_, v_, tau_, f_ext_)
        return put_into(out, free, np.zeros((*batch, 0, 6)))
    if not held.compiled or current_form() == "rolled":
        return put_into(
            out, *_motion(held, q_, v_, tau_, f_ext_, held.placements, stabilised, JoinedSolver(held.name, settings[2]))
        )
    law = held.law(f_ext is not None, stabilisation is not None, bool(settings[2]))
    values = [q_, v_, tau_, held.placements, settings, *([] if f_ext_ is None else [f_ext_])]
    (a, wrenches), _, fine = law.attempt(values)
    for state in np.flatnonzero(~fine):
        where = tuple(int(i) for i in np.unravel_index(state, batch)) if batch else ()
        load = None if f_ext_ is None else f_ext_[where]
        solver = JoinedSolver(held.name, settings[2])
        a[where], wrenches[where] = _motion(
            held, q_[where], v_[where], tau_[where], load, held.placements, stabilised, solver
        )
    return put_into(out, a, wrenches)


# The text


@np.errstate(all="ignore")  # what is not finite is said by the solver
def _motion(
    held: HeldBy,
    q: Array,
    v: Array,
    tau: Array,
    f_ext: Array | None,
    placements: Array,
    settings: Array | None,
    solver: Solver,
) -> tuple[Array, Array]:
    """Accelerations and wrenches. ``placements`` tell where each grip holds a as seen from b; the first two of
    ``settings`` are the factors of Baumgarte's stabilisation.
    """
    model, ends = held.model, held.ends
    if held.couplings is not None:
        return coupled_motion(model, held.couplings, q, v, tau, f_ext, settings, solver)
    free = forward_dynamics(model, q, v, tau, f_ext)
    places = forward_kinematics(model, q, ends)
    V, A = frame_velocity(model, q, v, ends), frame_acceleration(model, q, v, free, ends)

    seen = at_grips(held, places, V, placements)
    X, carried, relative = seen.X, seen.carried, seen.relative
    rate = A[..., held.a, :] - times(X, A[..., held.b, :]) + motion_cross(relative, carried)
    turning = times(skew(relative[..., 3:]), relative[..., :3])  # of a point, as b sees it
    rate = np.concatenate([rate[..., :3] + turning, rate[..., 3:]], axis=-1)

    rows, right = [], []
    for constraint, grips in zip(held.constraints, held.grips, strict=True):
        own = seen.of(grips)
        G = constraint.all_rows(model, own)
        asked = sum(times(part, rate[..., g, :]) for part, g in zip(G, grips, strict=True))
        drift = constraint.drift(own)
        asked = asked if drift is None else asked + drift
        if settings is not None:
            slip = sum(times(part, relative[..., g, :]) for part, g in zip(G, grips, strict=True))
            asked = asked + settings[0] * slip + settings[1] * constraint.all_errors(model, q, own)
        right.append(-asked)
        rows.append(over_ends(held, G, grips, X))
    C, wanted = np.concatenate(rows, axis=-2), np.concatenate(right, axis=-1)
    sizes = solver.solve(C @ operational_inertia_inverse(model, q, ends) @ transposed(C), wanted)

    at_ends = times(transposed(C), sizes).reshape((*sizes.shape[:-1], len(ends), 6))
    at_bodies = times(held.to_bodies, at_ends)
    forces = [None if f_ext is None else f_ext[..., k, :] for k in range(len(model.bodies))]
    for end, body in enumerate(held.bodies):
        if body:
            load, more = forces[body - 1], at_bodies[..., end, :]
            forces[body - 1] = more if load is None else load + more
    nothing = np.zeros_like(at_bodies[..., 0, :])
    loads = np.stack([nothing if force is None else force for force in forces], axis=-2)
    return forward_dynamics(model, q, v, tau, loads), wrenches_of(held, rows, sizes)


class AtGrips(NamedTuple):
    """Of all pairs of frames at once, axis -2, or -3 of a matrix, counting them: a in the place where it is held
    (..., 4, 4), what takes motions from b to a (..., 6, 6), b's motion there, and a's relative to it (..., 6).
    """

    place: Array
    X: Array
    carried: Array
    relative: Array

    def of(self, grips: Sequence[int]) -> list[Held]:
        """What a constraint sees of its own pairs."""
        place = self.place
        return [Held(place[..., g, :3, :3], place[..., g, :3, 3], self.relative[..., g, :]) for g in grips]


def at_grips(held: HeldBy, places: Array, V: Array, placements: Array) -> AtGrips:
    """From where the frames are and how they move."""
    b_in_a = inverse(places[..., held.a, :, :]) @ places[..., held.b, :, :]
    X = motion_matrix(b_in_a)
    carried = times(X, V[..., held.b, :])
    return AtGrips(inverse(b_in_a @ placements), X, carried, V[..., held.a, :] - carried)


def wrenches_of(held: HeldBy, rows: Sequence[Array], sizes: Array) -> Array:
    """The wrenches (..., k, 6) on the frames a, from the rows of each constraint and the sizes of its forces."""
    wrenches, start = [], 0
    for grips, own_rows in zip(held.grips, rows, strict=True):
        stop, a = start + own_rows.shape[-2], 6 * held.a[grips[0]]
        wrenches.append(times(transposed(own_rows[..., :, a : a + 6]), sizes[..., start:stop]))
        start = stop
    return np.stack(wrenches, axis=-2)


def over_ends(held: HeldBy, G: Sequence[Array], grips: Sequence[int], X: Array) -> Array:
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
        frames: the same as frames of the model.
        bodies: on which body each frame is, 0 for the world.
        to_bodies: (ends, 6, 6), takes a force from a frame to its body.
        whole: whether one kernel computes all that frames take; compiled: or all that couplings take.
        couplings: the constraints as rows over velocities, if they are couplings and many; else None.
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
        self.frames = frames = moved(asked.frames, asked.offsets)
        self.bodies = [frame.body for frame in frames]
        self.to_bodies = np.array([motion_matrix(inverse(matrix_of(frame.placement))).T for frame in frames])
        self.rows = 6 * len(flat)
        few = len(flat) <= _MOST_PAIRS
        self.couplings = None if few else as_couplings(model, constraints)
        self.whole = len(flat) > 0 and few and len(model.bodies) <= MOST_BODIES
        self.compiled = self.whole or (self.couplings is not None and len(model.bodies) <= _MOST_COUPLED)
        self._laws: dict[Any, CompiledFunction] = {}
        self._settings: dict[tuple[float | None, float], Array] = {}

    @property
    def name(self) -> str:
        return ", ".join(_shown(constraint) for constraint in self.constraints)

    def settings(self, stabilisation: float | None, proximal: float) -> Array:
        """Two factors of stabilisation, and the proximal damping."""
        try:
            return self._settings[stabilisation, proximal]
        except (KeyError, TypeError, ValueError):  # new, or what has no hash
            damping, tau = not_negative("proximal", proximal), np.inf
            if stabilisation is not None:
                tau = seconds("stabilisation", stabilisation)
            with np.errstate(all="ignore"):
                found = np.array([2.0 / np.float64(tau), 1.0 / np.float64(tau) ** 2, damping])
            if not np.isfinite(found).all():
                raise _too_short(tau) from None
            if len(self._settings) >= 1000:  # numbers that change from call to call
                self._settings.clear()
            self._settings[stabilisation, proximal] = found
            return found

    def kept_law(self, key: Any, make: Callable[[], CompiledFunction]) -> CompiledFunction:
        """A kernel that serves all constraints of these kinds, made once."""
        found = self._laws.get(key)
        if found is None:
            found = self._laws[key] = make()
        return found

    def law(self, loaded: bool, stabilised: bool, damped: bool) -> CompiledFunction:
        """The kernel, for external forces or none, with stabilisation or none, for redundant constraints or not."""
        return self.kept_law((loaded, stabilised, damped), lambda: self._made(loaded, stabilised, damped))

    def _made(self, loaded: bool, stabilised: bool, damped: bool) -> CompiledFunction:
        from linkwork.compiled.law import law

        def text(q: Any, v: Any, tau: Any, placements: Any, settings: Any, f_ext: Any = None) -> Any:
            solver = TracedSolver(self.name, settings[2].item() if damped else 0.0)
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
        return law(
            "constrained_dynamics", text, shapes, results, model, self.frames, (self.kinds, loaded, stabilised, damped)
        )

    @property
    def kinds(self) -> tuple[object, ...]:
        """What code follows from besides the model and the frames."""
        return [(type(c).__name__, c.kind()) for c in self.constraints], self.a, self.b, self.grips


def _too_short(stabilisation: float) -> ArgumentError:
    return ArgumentError(
        f"stabilisation must be several steps of the integration; with {stabilisation:g} s it overflows"
    )


def _shown(constraint: Constraint) -> str:
    return f"{type(constraint).__name__}({constraint.frame_a!r}, {constraint.frame_b!r})"


def held_by(model: Model, constraints: Sequence[Constraint]) -> HeldBy:
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
