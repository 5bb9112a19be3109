"""Forward dynamics of a mechanism whose loops are closed between pairs of frames, from the constraints, O(n k²).

``closed_chains`` takes conditions on accelerations, Σ C a + γ = 0. Here they are made from the placements and motions
of the two frames of each loop, a and b, in one pass outward and one over the loops, so that all of it is one text with
loops, of the same length for any number of bodies and constraints:

    outward    X₀, V of all bodies                                              in the world, and in their own frames
    pairs      G, γ from the placements and motions of a and b                  G: rows over the motion of a
    holds      C = G in the frames of the two bodies;   γ at one of them, with C₀ (-g) if the other one is the world
    bodies     a, λ by ``closed_chains``
    pairs      Gᵀ λ, the wrench on frame a

With damping of the forces, for redundant constraints, the diagonal of T gets d, and γ gets -d λ′ with the forces λ′ of
the iteration before (``dynamics.constraint_solvers``); d is relative to the mean diagonal of C W Cᵀ, the bodies free.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from linkwork.algorithms.closed_chains import ROWS, closed_chains
from linkwork.algorithms.tree import BodyForces, Field, JointValues, LoopedTree, Values, fields
from linkwork.spatial import Force, Motion, RigidMobility, Scalar, Transform, total
from linkwork.spatial.matrices import Column


class Rows(NamedTuple):
    """A condition in a state: its rows over the motions of frames a and b, and its part of the rates γ."""

    a: list[Force]
    b: list[Force]
    rates: Column


class AllRows(NamedTuple):
    """The rows of all conditions, as ``closed_chains`` takes them.

    Attributes:
        C: of each end, over the motion of its body.
        bias: γ, at one of the two ends.
        compliance: the diagonal of T there: 1 for rows that a condition does not have.
        G: of each pair, over the motion of frame a.
        rows_of: how many each condition has.
    """

    C: Field[Column]
    bias: Field[Column]
    compliance: Field[Column]
    G: Field[Column]
    rows_of: Mapping[int, int]


class Condition(Protocol):
    """A kind of constraint between two frames."""

    @property
    def on_world(self) -> int:
        """Which of the two frames is on the world, 0 or 1; -1 if neither is."""

    def rows(self, places: Sequence[Transform], V: Sequence[Motion], held: Column, gains: Sequence[Scalar]) -> Rows:
        """The condition, for the placements of both frames in the world, their velocities, the numbers of the placement
        of a in b that is held, and the gains of stabilisation; no gains without it.
        """


def closed_motion(
    tree: LoopedTree,
    q: JointValues,
    v: JointValues,
    tau: JointValues,
    f_ext: BodyForces,
    held: Values[Column],
    gains: Sequence[Scalar],
    before: Values[Column] | None = None,
    *,
    conditions: Sequence[Condition],
    stabilised: bool = False,
    frame: str | None = None,
) -> tuple[Any, ...]:
    """q̈ and the wrench on frame a of each loop; then, if there is a ``frame``, the wrench that each joint transmits to
    its child, expressed there as in ``reactions``; then λ, if forces ``before`` are given, which are damped.

    ``held`` is the placement of a in b for each loop; ``gains`` are the two of stabilisation, and that of damping.
    """
    X0, V = _motions(tree, q, v)
    rows = _rows(tree, X0, V, held, conditions, gains[:2] if stabilised else ())
    if before is not None:
        _damp(tree, conditions, rows, gains[2], before)

    judged, seen_from = before is None, frame or "child"
    qdd, reactions, sizes = closed_chains(tree, q, v, tau, f_ext, rows.C, rows.bias, rows.compliance, seen_from, judged)

    wrenches: Field[Force] = tree.field()
    forces: Field[Column] = tree.field()
    for pair in tree.pairs(len(conditions)):
        size, on_a = sizes[_carrier(pair, conditions[pair.condition])], rows.G[pair]
        forces[pair] = size
        wrenches[pair] = Force.from_numbers(
            [total(on_a[ROWS * row + k] * size[row] for row in range(ROWS)) for k in range(6)]
        )
    return qdd, wrenches, *([] if frame is None else [reactions]), *([] if before is None else [forces])


def _motions(tree: LoopedTree, q: JointValues, v: JointValues) -> tuple[Field[Transform], Field[Motion]]:
    """Outward: the placements of all bodies in the world, and their velocities in their own frames."""
    X0: Field[Transform] = tree.field()
    V: Field[Motion] = tree.field()
    X0[tree.world], V[tree.world] = Transform.identity(), Motion.zero()
    for body in tree.outward():
        X = body.placement * body.joint.transform(q[body])
        X0[body] = X0[body.parent] * X
        V[body] = X.to_child(V[body.parent]) + body.joint.subspace(q[body]).times(v[body])
    return X0, V


def _rows(
    tree: LoopedTree,
    X0: Values[Transform],
    V: Values[Motion],
    held: Values[Column],
    conditions: Sequence[Condition],
    gains: Sequence[Scalar],
) -> AllRows:
    """Over the pairs: the rows of all conditions."""
    C, bias, compliance = fields(tree, Column, 3)
    G: Field[Column] = tree.field()
    nothing, rows_of = [0.0] * ROWS, dict[int, int]()
    for pair in tree.pairs(len(conditions)):
        ends, condition = (pair.one, pair.other), conditions[pair.condition]
        places = [X0[end.body] * end.placement for end in ends]
        moving = [end.placement.to_child(V[end.body]) for end in ends]
        on_a, on_b, rates = condition.rows(places, moving, held[pair], gains)
        for number, (end, rows) in enumerate(zip(ends, (on_a, on_b), strict=True)):
            on_body = [end.placement.to_parent(row) for row in rows]
            if number == condition.on_world:
                rates = [rate - tree.gravity.dot(row) for rate, row in zip(rates, on_body, strict=True)]
            C[end] = _padded([row.numbers() for row in on_body])
        first = _carrier(pair, condition)
        for end in ends:
            bias[end], compliance[end] = nothing, nothing
        bias[first] = [*rates, *nothing[len(rates) :]]
        compliance[first] = [0.0] * len(rates) + [1.0] * (ROWS - len(rates))
        G[pair] = _padded([row.numbers() for row in on_a])
        rows_of[pair.condition] = len(rates)
    return AllRows(C, bias, compliance, G, rows_of)


def _damp(
    tree: LoopedTree, conditions: Sequence[Condition], rows: AllRows, damping: Scalar, before: Values[Column]
) -> None:
    """Add the damping of the forces to γ and to the diagonal of T."""
    C, bias, compliance, _, rows_of = rows
    W: Field[RigidMobility] = tree.field()
    mean: Field[Column] = tree.field()
    W[tree.world], mean[tree.world] = RigidMobility.zero(), [0.0, 0.0]
    for body in tree.outward():
        W[body] = RigidMobility.of_inertia(body.inertia)
    for pair in tree.pairs(len(conditions)):
        diagonal, count = mean[tree.world]
        for number, end in enumerate((pair.one, pair.other)):
            if number != conditions[pair.condition].on_world:
                own = [Force.from_numbers(C[end][ROWS * k : ROWS * (k + 1)]) for k in range(rows_of[pair.condition])]
                diagonal = diagonal + total((W[end.body] * row).dot(row) for row in own)
        mean[tree.world] = [diagonal, count + float(rows_of[pair.condition])]
    for pair in tree.pairs(len(conditions)):
        end, used = _carrier(pair, conditions[pair.condition]), range(rows_of[pair.condition])
        diagonal, count = mean[tree.world]
        d, forces, rates, diagonals = damping * diagonal / count, before[pair], bias[end], compliance[end]
        bias[end] = [rate - d * forces[k] if k in used else rate for k, rate in enumerate(rates)]
        compliance[end] = [d if k in used else number for k, number in enumerate(diagonals)]


def _carrier(pair: Any, condition: Condition) -> Any:
    """The end of a loop, on a body, that has its rates."""
    return pair.other if condition.on_world == 0 else pair.one


def _padded(rows: Sequence[Column]) -> Column:
    """The numbers of six rows."""
    return [number for row in rows for number in row] + [0.0] * (ROWS * ROWS - ROWS * len(rows))
