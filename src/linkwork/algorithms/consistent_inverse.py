"""Joint accelerations for combinations of forces at points, W J M⁻¹: with W = Λ the transpose of J̄ = M⁻¹ Jᵀ Λ.

    M = Lᵀ D L along the tree,   Y = L⁻ᵀ Jᵀ (sparse.py),   x = D⁻¹ Y Wᵀ,   hᵢ = Uᵢ Dᵢ⁻¹
    outward   q̈ᵢ = xᵢ - Σ (Sⱼᵀ f)ᵀ q̈ⱼ   over the ancestors j on ways of points; f begins as hᵢ, and goes inward with j
              across a joint j beside these ways, where x = 0:   f ← f - hⱼ Sⱼᵀ f

``force_responses`` carries six numbers along with every column, and a product with Λ follows; here a column pays one
product for each pair of joints of which one carries the other, and Λ meets Y, which is empty beside the points' ways.
Joints there give way in the same way for all columns, so that no column pays for pairs of these.
Shorter for trees of moderate depth. The text needs to know how many frames there are, so it has no rolled form.
"""

from __future__ import annotations

from linkwork.algorithms.force_propagators import Propagators, placed
from linkwork.algorithms.tree import Body, Field, JointValues, Point, PointedTree, fields
from linkwork.spatial import Force, Motion, total
from linkwork.spatial.matrices import Column, Matrix, minus_applied, transposed


def consistent_inverse(tree: PointedTree, q: JointValues, *, weights: Matrix) -> tuple[Field[list[Motion]]]:
    """The joints' accelerations, six for each frame; ``weights`` W has a row for each of them."""
    L = Propagators(tree, q)
    K: Field[list[Force]] = tree.field()
    Y, answers = fields(tree, list[Motion], 2)
    carried: Field[list[Point]] = tree.field()
    h: Field[list[Force]] = tree.field()
    qdd: Field[list[Column]] = tree.field()
    for body in tree.outward():
        carried[body] = []

    for point in tree.frames():
        K[point] = placed(point)
        for body in tree.path(point.body):
            Y[point, body], K[point] = L.across(body, K[point])
            carried[body] = [*carried[body], point]

    for body in tree.outward():
        D, count = L.D[body], body.joint.nv
        qdd[body] = [[0.0] * count] * len(weights)
        if carried[body]:
            rows = [
                [number for point in carried[body] for number in (Y[point, body][k] * D.inverse_pivots[k]).numbers()]
                for k in range(count)
            ]
            places = [6 * point.index + k for point in carried[body] for k in range(6)]
            qdd[body] = [
                D.backward([total(a * weight[c] for a, c in zip(row, places, strict=True)) for row in rows])
                for weight in weights
            ]
        h[body] = _given_way(L, body)
        felt = [L.X[body].to_parent(force) for force in h[body]]
        for j in tree.ancestors(body):
            share = [L.S[j].dot(force) for force in felt]
            if carried[j]:
                qdd[body] = [minus_applied(own, share, of) for own, of in zip(qdd[body], qdd[j], strict=True)]
            else:
                felt = [L.S[j].withheld(force, h[j], s, j.rotor) for force, s in zip(felt, share, strict=True)]
            felt = [L.X[j].to_parent(force) for force in felt]
        for point in tree.frames():
            own = qdd[body][6 * point.index : 6 * point.index + 6]
            answers[point, body] = [Motion.from_numbers([column[k] for column in own]) for k in range(count)]

    return (answers,)


def _given_way(L: Propagators, body: Body) -> list[Force]:
    """U D⁻¹, a column for each degree of freedom: to an acceleration a of its parent a joint gives way by -D⁻¹ Uᵀ a."""
    columns = [L.D[body].solve(column) for column in transposed([force.numbers() for force in L.U[body]])]
    return [Force.from_numbers(row) for row in transposed(columns)]
