"""Joint accelerations for combinations of forces at points, W J M⁻¹: with W = Λ the transpose of J̄ = M⁻¹ Jᵀ Λ.

    M = Lᵀ D L along the tree,   hᵢ = Uᵢ Dᵢ⁻¹
    inward    Lᵢⱼ = (Sⱼᵀ f)ᵀ   over the ancestors j of i; f begins as hᵢ, and goes inward with j
              across a joint j that is on no point's path, where Y = 0:   f ← f - hⱼ Sⱼᵀ f
    rows      Y = L⁻ᵀ Jᵀ (dense.py),   Λ⁻¹ = Yᵀ D⁻¹ Y (sparse.py),   x = D⁻¹ Y Wᵀ
    outward   q̈ᵢ = xᵢ - Σ Lᵢⱼ q̈ⱼ   over the ancestors j on paths of points

``force_responses`` carries six numbers along with every column, and a product with Λ follows. Here a column costs one
product for each pair of joints of which one supports the other, and Λ is multiplied with Y, which is empty off the
points' paths. Joints there move in the same way for all columns, so that no column pays for pairs of these. ``sparse``
propagates forces along the paths for Λ⁻¹; with J and L at hand, Y is found sooner from these.
This is shorter for trees of moderate depth. The algorithm depends on the number of frames, so it has no rolled form.
"""

from __future__ import annotations

from linkwork.algorithms.dense import take_out
from linkwork.algorithms.force_propagators import Propagators
from linkwork.algorithms.jacobian import jacobian
from linkwork.algorithms.sparse import products
from linkwork.algorithms.tree import Body, Field, JointValues, Point, PointedTree
from linkwork.spatial import Force, Motion, total
from linkwork.spatial.matrices import Column, Matrix, minus_applied, transposed


class JointRows:
    """The factors D and L of M, and Y of the points."""

    def __init__(self, tree: PointedTree, q: JointValues) -> None:
        along = Propagators(tree, q)
        self.D = along.D
        self.L: Field[Matrix] = tree.field()
        self.Y: Field[list[Motion]] = tree.field()
        self.carried: Field[list[Point]] = tree.field()
        h: Field[list[Force]] = tree.field()
        for body in tree.outward():
            self.carried[body] = []
        for point in tree.frames():
            for body in tree.path(point.body):
                self.carried[body] = [*self.carried[body], point]

        for body in tree.outward():
            h[body] = _given_way(along, body)
            felt = [along.X[body].to_parent(force) for force in h[body]]
            for j in tree.ancestors(body):
                self.L[body, j] = [along.S[j].dot(force) for force in felt]
                if not self.carried[j]:
                    felt = [
                        along.S[j].withheld(force, h[j], share, j.rotor)
                        for force, share in zip(felt, self.L[body, j], strict=True)
                    ]
                felt = [along.X[j].to_parent(force) for force in felt]

        (J,) = jacobian(tree, q, "local")
        for point in tree.frames():
            take_out(tree, point, J, self.D, self.L, self.Y)


def inertia_inverse(tree: PointedTree, q: JointValues) -> tuple[Field[list[Motion]]]:
    """Λ⁻¹ from the same rows, a block for each pair of frames."""
    rows = JointRows(tree, q)
    block: Field[list[Motion]] = tree.field()
    for point in tree.frames():
        products(tree, point, rows.Y, rows.D, block)
    return (block,)


def consistent_inverse(tree: PointedTree, q: JointValues, *, weights: Matrix) -> tuple[Field[list[Motion]]]:
    """The joint accelerations, six for each frame; ``weights`` W has a row for each of them."""
    rows = JointRows(tree, q)
    answers: Field[list[Motion]] = tree.field()
    qdd: Field[list[Column]] = tree.field()

    for body in tree.outward():
        count = body.joint.nv
        qdd[body] = _weighted(rows, body, weights) if rows.carried[body] else [[0.0] * count] * len(weights)
        for j in tree.ancestors(body):
            if rows.carried[j]:
                qdd[body] = [minus_applied(own, rows.L[body, j], of) for own, of in zip(qdd[body], qdd[j], strict=True)]
        for point in tree.frames():
            own = qdd[body][6 * point.index : 6 * point.index + 6]
            answers[point, body] = [Motion.from_numbers([column[k] for column in own]) for k in range(count)]

    return (answers,)


def _weighted(rows: JointRows, body: Body, weights: Matrix) -> list[Column]:
    """D⁻¹ Y W of a body, a column for each row of W."""
    D, points = rows.D[body], rows.carried[body]
    own_rows = [
        [number for point in points for number in (rows.Y[point, body][k] * D.inverse_pivots[k]).numbers()]
        for k in range(body.joint.nv)
    ]
    places = [6 * point.index + k for point in points for k in range(6)]
    return [
        D.backward([total(a * weight[c] for a, c in zip(row, places, strict=True)) for row in own_rows])
        for weight in weights
    ]


def _given_way(L: Propagators, body: Body) -> list[Force]:
    """U D⁻¹, a column for each degree of freedom: for an acceleration a of its parent, a joint moves by -D⁻¹ Uᵀ a."""
    columns = [L.D[body].solve(column) for column in transposed([force.numbers() for force in L.U[body]])]
    return [Force.from_numbers(row) for row in transposed(columns)]
