"""Loop closures and bilateral contacts: constraints between frames, or joints, that pull as well as push. (Unilateral
contacts, with friction, are in ``model.contacts``.)

A constraint holds frame a to frame b. With T the placement of a in b, the motion of a relative to b, in a's own axes,
and its rate are

    V = Vₐ - X V_b,      V̇ = Aₐ - X A_b + V × X V_b            X takes a motion from b to a

and the constraint keeps some rows of V̇ at zero, or at the value given by Baumgarte stabilisation. Rows and errors are
written over arrays with any leading axes, of floats or of traced numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import Array, finite, finite_array, is_listed, positive
from linkwork.errors import ArgumentError, shown
from linkwork.joints.joint import as_axis, kept_axis
from linkwork.model.model import WORLD, Model, Point
from linkwork.model.placements import HERE, Placed, as_placement
from linkwork.model.queries import pose
from linkwork.spatial import Mat3, Transform, Vec3
from linkwork.spatial.small_matrices import cross, rotation_vector, skew, times, transposed


class Grip(NamedTuple):
    """Two frames whose relative motion a constraint involves, and the held placement of a relative to b."""

    frame_a: str | Point
    frame_b: str | Point
    placement: Transform


class Held(NamedTuple):
    """A grip in some states: the rotation ``turn`` (..., 3, 3) and position ``place`` (..., 3) of a relative to where
    it is held, and its ``motion`` (..., 6) relative to b, in a's axes.
    """

    turn: Array
    place: Array
    motion: Array


@dataclass(frozen=True)
class Constraint(ABC):
    """Holds ``frame_a`` to ``frame_b``: names of frames or ``lw.Point`` objects; by default to the world.

    ``placement`` (from ``lw.placement``) is the held placement of a relative to b; by default the identity.
    """

    frame_a: str | Point
    frame_b: str | Point = WORLD
    placement: Placed = field(default_factory=HERE)

    def __post_init__(self) -> None:
        for end in (self.frame_a, self.frame_b):
            if not isinstance(end, str | Point):
                raise ArgumentError(f"a constraint holds frames by name or as lw.Point objects, not {shown(end)}")
        where = f"a constraint of {self.frame_a!r}"
        object.__setattr__(self, "placement", as_placement(where, self.placement))

    @classmethod
    def at(cls, model: Model, q: ArrayLike, frame_a: str | Point, frame_b: str | Point = WORLD, **options: Any) -> Self:
        """A constraint that holds ``frame_a`` to ``frame_b`` at their relative placement in one configuration.

        Args:
            model: the mechanism.
            q: one configuration (nq,).
            frame_a: the frame that is held.
            frame_b: the frame that it is held to; the world if left out.
            options: further arguments of the constraint, such as the ``axis`` of a hinge.

        Returns:
            The constraint, satisfied in that configuration.

        Example:
            >>> import linkwork as lw
            >>> arm = lw.mechanisms.serial_chain(3)
            >>> lw.Weld.at(arm, [0.0, 0.0, 0.0], "tip").placement.translation
            Vec3(3.0, 0.0, 0.0)
        """
        constraint = cls(frame_a, frame_b, **options)
        if not isinstance(model, Model):
            raise ArgumentError(f"model must be a linkwork Model, not {shown(model)}")
        place = pose(model, q, constraint.frame_b).inverse() * pose(model, q, constraint.frame_a)
        return replace(constraint, placement=constraint._held_at(place))

    def _held_at(self, place: Transform) -> Transform:
        """The held placement that satisfies the constraint when a is at ``place`` relative to b."""
        return place

    @abstractmethod
    def rows(self, turn: Array) -> Array:
        """The rows (..., r, 6) over the relative motion in a's axes; ``turn`` is its rotation from the held one."""

    def error(self, place: Array, turn: Array) -> Array:
        """The error (..., 6) of a, in its own axes; ``place`` is its position relative to the held placement."""
        return np.concatenate([times(transposed(turn), place), rotation_vector(turn)], axis=-1)

    # For editing models

    def frame_names(self) -> tuple[str, ...]:
        """The frames that it holds."""
        return tuple(end.frame if isinstance(end, Point) else end for end in (self.frame_a, self.frame_b))

    def joint_names(self) -> tuple[str, ...]:
        """The joints that it refers to by name."""
        return ()

    def renamed(self, frame: Callable[[str], str], joint: Callable[[str], str]) -> Constraint:
        """The same with other names of frames and joints."""
        a, b = (
            replace(end, frame=frame(end.frame)) if isinstance(end, Point) else frame(end)
            for end in (self.frame_a, self.frame_b)
        )
        return replace(self, frame_a=a, frame_b=b)

    # For dynamics: most constraints have one pair of frames, and the rows above

    def kind(self) -> tuple[object, ...]:
        """The data that determine its code: all but the held placement."""
        others = [one for one in fields(self) if one.name != "placement"]
        return (type(self).__name__, *(str(getattr(self, one.name)) for one in others))

    def grips(self, model: Model) -> list[Grip]:
        """The pairs of frames whose relative motion it constrains."""
        return [Grip(self.frame_a, self.frame_b, self.placement)]

    def all_rows(self, model: Model, states: Sequence[Held]) -> list[Array]:
        """For each pair, the rows (..., r, 6) over its motion; their sum is held at zero."""
        return [self.rows(states[0].turn)]

    def all_errors(self, model: Model, q: Array, states: Sequence[Held]) -> Array:
        """The errors (..., r) of the constrained quantities."""
        return times(self.rows(states[0].turn), self.error(states[0].place, states[0].turn))

    def drift(self, states: Sequence[Held]) -> Array | None:
        """The contribution of time-varying rows to their rate (..., r), in b's frame; None if it is zero."""
        return None


class Weld(Constraint):
    """All six relative motions are constrained: a is fixed to b."""

    def rows(self, turn: Array) -> Array:
        return np.broadcast_to(np.eye(6), (*turn.shape[:-2], 6, 6))


class Ball(Constraint):
    """The origins of a and b coincide, with free rotation: a ball joint, or a bilateral point contact."""

    def rows(self, turn: Array) -> Array:
        return np.broadcast_to(np.eye(3, 6), (*turn.shape[:-2], 3, 6))


@dataclass(frozen=True)
class Hinge(Constraint):
    """The origins coincide, and so does an ``axis``, "x", "y", "z" or three numbers, which is the same in a and b."""

    placement: Placed = field(default_factory=HERE)  # repeated for mypy, which mistakes the type of an inherited field
    axis: str | Sequence[float] = "z"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "axis", kept_axis(self.axis))

    def rows(self, turn: Array) -> Array:
        rows = np.zeros((5, 6))
        rows[:3, :3] = np.eye(3)
        rows[3:, 3:] = np.linalg.svd(direction(self.axis)[None, :])[2][1:]
        return np.broadcast_to(rows, (*turn.shape[:-2], 5, 6))

    def error(self, place: Array, turn: Array) -> Array:
        axis = direction(self.axis)
        there = times(transposed(turn), axis)
        return np.concatenate([times(transposed(turn), place), -times(skew(axis), there)], axis=-1)


@dataclass(frozen=True)
class PointOnPlane(Constraint):
    """The origin of a stays in a plane through b with a ``normal``, "x", "y", "z" or three numbers in b's axes."""

    placement: Placed = field(default_factory=HERE)  # repeated for mypy, which mistakes the type of an inherited field
    normal: str | Sequence[float] = "z"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "normal", kept_axis(self.normal))

    def _held_at(self, place: Transform) -> Transform:
        return Transform(Mat3.identity(), place.translation)  # the normal stays in b's axes

    def rows(self, turn: Array) -> Array:
        linear = times(transposed(turn), direction(self.normal))[..., None, :]
        return np.concatenate([linear, np.zeros_like(linear)], axis=-1)


_FLAT = 1e-8
"""The steepness of a disc below which it lies flat but for rounding."""


@dataclass(frozen=True)
class Rolling(Constraint):
    """A disc or a ball rolls on a plane without slipping: nonholonomic, as its final configuration depends on its path.

    The centre of the disc is the origin of a; its ``axis`` is "x", "y", "z" or three numbers in a's axes, or None for a
    ball. The plane goes through b and has a ``normal`` in b's axes. The contact point neither slides on the plane nor
    leaves it. ``radius`` is in m.
    """

    placement: Placed = field(default_factory=HERE)  # repeated for mypy, which mistakes the type of an inherited field
    radius: float = 1.0
    axis: str | Sequence[float] | None = "z"
    normal: str | Sequence[float] = "z"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "radius", positive("radius", self.radius, "metres"))
        if self.axis is not None:
            object.__setattr__(self, "axis", kept_axis(self.axis))
        object.__setattr__(self, "normal", kept_axis(self.normal))

    def _held_at(self, place: Transform) -> Transform:
        """The plane that touches it there."""
        with np.errstate(all="ignore"):
            up, _ = self._up(np.array(place.rotation, dtype=np.float64))
        if not np.isfinite(up).all():
            raise ArgumentError(f"a disc on {self.frame_a!r} that lies flat rolls on no plane")
        down = place.rotation.apply(Vec3(*(-self.radius * up).tolist()))
        return Transform(Mat3.identity(), place.translation + down)

    def rows(self, turn: Array) -> Array:
        return np.concatenate([np.broadcast_to(np.eye(3), turn.shape), self.radius * skew(self._up(turn)[0])], axis=-1)

    def error(self, place: Array, turn: Array) -> Array:
        normal, (_, steep) = direction(self.normal), self._up(turn)
        height = (place * normal).sum(axis=-1) - self.radius * steep
        linear = height[..., None] * times(transposed(turn), normal)
        return np.concatenate([linear, np.zeros_like(linear)], axis=-1)

    def drift(self, states: Sequence[Held]) -> Array | None:
        """-r ω × u̇, with u from the contact point to the centre."""
        turn, _, motion = states[0]
        if self.axis is None:
            return np.zeros_like(motion[..., :3])
        axis, normal = direction(self.axis), times(transposed(turn), direction(self.normal))
        omega, (up, steep) = motion[..., 3:], self._up(turn)
        turning = cross(omega, np.broadcast_to(axis, omega.shape))
        along, change = (normal * axis).sum(axis=-1), (normal * turning).sum(axis=-1)
        rate = -change[..., None] * axis - along[..., None] * turning
        rate = (rate - up * (up * rate).sum(axis=-1)[..., None]) / steep[..., None]
        return -self.radius * cross(omega, rate)

    def _up(self, turn: Array) -> tuple[Array, Array]:
        """The direction in a's axes from the contact point to the centre, and the steepness of the disc: 1 upright, 0
        lying flat.
        """
        normal = times(transposed(turn), direction(self.normal))
        if self.axis is None:
            return normal, (normal * normal).sum(axis=-1)
        axis = direction(self.axis)
        across = normal - (normal * axis).sum(axis=-1)[..., None] * axis
        steep = np.sqrt((across * across).sum(axis=-1))
        steep = np.where(steep > _FLAT, steep, np.nan)
        return across / steep[..., None], steep


class Coupling(Constraint):
    """Couples two joints of one degree of freedom: q_a = ratio · q_b + offset, as by gears, a belt or a cable.

    ``ratio`` has the units of q_a over q_b, ``offset`` those of q_a. A ratio of 0 holds ``joint_a`` at the offset,
    independently of ``joint_b``, which may then be the same joint. The wrench of this constraint is the force or
    moment along the axis of ``joint_a``, on the body that this joint carries.

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(2)
        >>> first, second = arm.joint_names
        >>> gears = lw.Coupling(second, first, ratio=2.0)
        >>> a, _ = lw.constrained_dynamics(arm, [0.1, 0.2], [0.0, 0.0], [1.0, 0.0], [gears])
        >>> bool(abs(a[1] - 2.0 * a[0]) < 1e-12)
        True
    """

    def __init__(self, joint_a: str, joint_b: str, ratio: float = 1.0, offset: float = 0.0) -> None:
        for joint in (joint_a, joint_b):
            if not isinstance(joint, str):
                raise ArgumentError(f"a coupling is between two joints, by name, not {shown(joint)}")
        object.__setattr__(self, "joint_a", joint_a)
        object.__setattr__(self, "joint_b", joint_b)
        object.__setattr__(self, "ratio", finite("ratio", ratio))
        object.__setattr__(self, "offset", finite("offset", offset))
        super().__init__(joint_a, joint_b)

    joint_a: str
    joint_b: str
    ratio: float
    offset: float

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Coupling) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)

    def __repr__(self) -> str:
        return f"Coupling({self.joint_a!r}, {self.joint_b!r}, ratio={self.ratio!r}, offset={self.offset!r})"

    @property
    def _parts(self) -> tuple[object, ...]:
        return self.joint_a, self.joint_b, self.ratio, self.offset

    def kind(self) -> tuple[object, ...]:
        return ("Coupling", *self._parts)

    def frame_names(self) -> tuple[str, ...]:
        return ()

    def joint_names(self) -> tuple[str, ...]:
        return self.joint_a, self.joint_b

    def renamed(self, frame: Callable[[str], str], joint: Callable[[str], str]) -> Coupling:
        return Coupling(joint(self.joint_a), joint(self.joint_b), self.ratio, self.offset)

    @classmethod
    def at(
        cls, model: Model, q: ArrayLike, frame_a: str | Point, frame_b: str | Point = WORLD, **options: Any
    ) -> Coupling:
        """A coupling of two joints, by name, with the ``offset`` that satisfies it in one configuration."""
        coupling = cls(frame_a, frame_b, **options)  # type: ignore[arg-type]  # the constructor says what is no joint
        if not isinstance(model, Model):
            raise ArgumentError(f"model must be a linkwork Model, not {shown(model)}")
        state = finite_array("q", q)
        if state.shape != (model.nq,):
            raise ArgumentError(f"q must have shape ({model.nq},) for model {model.name!r}, not {state.shape}")
        (off,) = coupling.all_errors(model, state, ()).tolist()
        return cls(coupling.joint_a, coupling.joint_b, coupling.ratio, coupling.offset + off)

    def rows(self, turn: Array) -> Array:
        raise ArgumentError("a coupling looks at two pairs of frames; all_rows gives the rows of both")

    def grips(self, model: Model) -> list[Grip]:
        pairs = []
        for name in (self.joint_a, self.joint_b):
            number = self._number(model, name)
            parent = model.bodies[number].parent
            below = WORLD if parent == 0 else model.body_names[parent - 1]
            pairs.append(Grip(model.body_names[number], below, Transform.identity()))
        return pairs

    def all_rows(self, model: Model, states: Sequence[Held]) -> list[Array]:
        return [
            factor * np.broadcast_to(self._row(model, name), (*one.turn.shape[:-2], 1, 6))
            for name, factor, one in zip((self.joint_a, self.joint_b), (1.0, -self.ratio), states, strict=True)
        ]

    def all_errors(self, model: Model, q: Array, states: Sequence[Held]) -> Array:
        a, b = (model.q_start[self._number(model, name)] for name in (self.joint_a, self.joint_b))
        return (q[..., a] - self.ratio * q[..., b] - self.offset)[..., None]

    def _row(self, model: Model, name: str) -> Array:
        """The row that maps the relative motion across a joint to its velocity."""
        joint = model.bodies[self._number(model, name)].joint
        (column,) = joint.subspace([0.0]).columns()
        motion = np.array(column.numbers(), dtype=np.float64)
        return (motion / (motion @ motion))[None, :]

    def _number(self, model: Model, name: str) -> int:
        """The index of the body that a joint carries, from 0."""
        number = model.joint_index(name)
        joint = model.bodies[number].joint
        if (joint.nq, joint.nv) != (1, 1):
            raise ArgumentError(f"a coupling is between joints of one degree of freedom; {name!r} has {joint.nv}")
        return number


def direction(axis: str | Sequence[float]) -> Array:
    """An axis as a vector of three numbers."""
    return np.array(as_axis(axis).direction.numbers(), dtype=np.float64)


def as_constraints(constraints: Sequence[Constraint] | Constraint) -> tuple[Constraint, ...]:
    """The constraints of a call, checked; a single one stands for a list of one."""
    if isinstance(constraints, Constraint):
        return (constraints,)
    if not is_listed(constraints):
        raise ArgumentError(f"constraints must be a list of lw.Weld, lw.Ball, ... objects, not {shown(constraints)}")
    for constraint in constraints:
        if not isinstance(constraint, Constraint):
            raise ArgumentError(f"constraints must hold lw.Weld, lw.Ball, ... objects, not {shown(constraint)}")
    return tuple(constraints)
