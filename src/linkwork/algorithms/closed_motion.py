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
    X0: Field[Transform] = tree.field()
    V: Field[Motion] = tree.field()
    X0[tree.world], V[tree.world] = Transform.identity(), Motion.zero()
    for body in tree.outward():
        X = body.placement * body.joint.transform(q[body])
        X0[body] = X0[body.parent] * X
        V[body] = X.to_child(V[body.parent]) + body.joint.subspace(q[body]).times(v[body])

    C, bias, compliance = fields(tree, Column, 3)
    G: Field[Column] = tree.field()
    nothing, rows_of = [0.0] * ROWS, dict[int, int]()
    for pair in tree.pairs(len(conditions)):
        ends, condition = (pair.one, pair.other), conditions[pair.condition]
        places = [X0[end.body] * end.placement for end in ends]
        moving = [end.placement.to_child(V[end.body]) for end in ends]
        found = condition.rows(places, moving, held[pair], gains[:2] if stabilised else ())
        rates = found.rates
        for number, (end, rows) in enumerate(zip(ends, found[:2], strict=True)):
            on_body = [end.placement.to_parent(row) for row in rows]
            if number == condition.on_world:
                rates = [rate - tree.gravity.dot(row) for rate, row in zip(rates, on_body, strict=True)]
            C[end] = _padded([row.numbers() for row in on_body])
        first = _carrier(pair, condition)
        for end in ends:
            bias[end], compliance[end] = nothing, nothing
        bias[first] = [*rates, *nothing[len(rates) :]]
        compliance[first] = [0.0] * len(rates) + [1.0] * (ROWS - len(rates))
        G[pair] = _padded([row.numbers() for row in found.a])
        rows_of[pair.condition] = len(rates)
    if before is not None:
        _damp(tree, conditions, rows_of, C, bias, compliance, gains[2], before)

    judged, seen_from = before is None, frame or "child"
    qdd, reactions, sizes = closed_chains(tree, q, v, tau, f_ext, C, bias, compliance, seen_from, judged)

    wrenches: Field[Force] = tree.field()
    forces: Field[Column] = tree.field()
    for pair in tree.pairs(len(conditions)):
        size, on_a = sizes[_carrier(pair, conditions[pair.condition])], G[pair]
        forces[pair] = size
        wrenches[pair] = Force.from_numbers(
            [total(on_a[ROWS * row + k] * size[row] for row in range(ROWS)) for k in range(6)]
        )
    return qdd, wrenches, *([] if frame is None else [reactions]), *([] if before is None else [forces])


def _damp(
    tree: LoopedTree,
    conditions: Sequence[Condition],
    rows_of: Mapping[int, int],
    C: Field[Column],
    bias: Field[Column],
    compliance: Field[Column],
    damping: Scalar,
    before: Values[Column],
) -> None:
    """Add the damping of the forces to γ and to the diagonal of T."""
    W: Field[RigidMobility] = tree.field()
    mean: Field[Column] = tree.field()
    W[tree.world], mean[tree.world] = RigidMobility.zero(), [0.0, 0.0]
    for body in tree.outward():
        W[body] = RigidMobility.of_inertia(body.inertia)
    for pair in tree.pairs(len(conditions)):
        diagonal, count = mean[tree.world]
        for number, end in enumerate((pair.one, pair.other)):
            if number != conditions[pair.condition].on_world:
                rows = [Force.from_numbers(C[end][ROWS * k : ROWS * (k + 1)]) for k in range(rows_of[pair.condition])]
                diagonal = diagonal + total((W[end.body] * row).dot(row) for row in rows)
        mean[tree.world] = [diagonal, count + float(rows_of[pair.condition])]
    for pair in tree.pairs(len(conditions)):
        end, used = _carrier(pair, conditions[pair.condition]), range(rows_of[pair.condition])
        diagonal, count = mean[tree.world]
        own, forces, rates, diagonals = damping * diagonal / count, before[pair], bias[end], compliance[end]
        bias[end] = [rate - own * forces[k] if k in used else rate for k, rate in enumerate(rates)]
        compliance[end] = [own if k in used else number for k, number in enumerate(diagonals)]


def _carrier(pair: Any, condition: Condition) -> Any:
    """The end of a loop, on a body, that has its rates."""
    return pair.other if condition.on_world == 0 else pair.one


def _padded(rows: Sequence[Column]) -> Column:
    """The numbers of six rows."""
    return [number for row in rows for number in row] + [0.0] * (ROWS * ROWS - ROWS * len(rows))
