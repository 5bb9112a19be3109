"""Force propagators: the transmission of a force on a body to its parent across an articulated joint.

    inward    Uᵢ = Iᴬᵢ Sᵢ,   Dᵢ = Sᵢᵀ Uᵢ + rotor,   Iᴬₕ += Xᵢ (Iᴬᵢ - Uᵢ Dᵢ⁻¹ Uᵢᵀ) Xᵢᵀ                Eq. 10
              Lᵢ = Xᵢ (1 - Uᵢ Dᵢ⁻¹ Sᵢᵀ),   Lᵢᵀ = (1 - Sᵢ Dᵢ⁻¹ Uᵢᵀ) Xᵢᵀ                             Eqs. 8, 9

Chang, Khatib, Efficient recursive algorithm for the operational space inertia matrix of branching mechanisms (2000),
steps 1 and 2 of Table 1. L is never formed: it is applied to forces, and its transpose to motions. Joints may have any
number of degrees of freedom; rotors, which are not in the paper, enter D only.
"""

from __future__ import annotations

from linkwork.algorithms.articulated import ArticulatedBodies
from linkwork.algorithms.tree import Body, Field, JointValues, Point, PointedTree, Tree
from linkwork.spatial import ArticulatedInertia, Force, Mobility, Motion, transposed
from linkwork.spatial.matrices import units

UNIT_FORCES = tuple(Force.from_numbers(unit) for unit in units(6))


class Propagators:
    """X, S, U and D of every body, and their action on forces and motions."""

    def __init__(self, tree: Tree, q: JointValues) -> None:
        step = ArticulatedBodies(tree)
        X, S, IA = step.X, step.S, step.IA
        for body in tree.outward():
            X[body] = body.placement * body.joint.transform(q[body])  # Eq. 2
            S[body] = body.joint.subspace(q[body])
            IA[body] = body.inertia.articulated()
        IA[tree.world] = ArticulatedInertia.zero()
        for body in tree.inward():
            step.factor(body)
            step.hand_over_inertia(body)  # Eq. 10
        self.X, self.S, self.U, self.D = X, S, step.U, step.D

    def inward(self, body: Body, force: Force) -> Force:
        """L f: a force on the body, as transmitted to its parent."""
        given = self.D[body].solve(self.S[body].dot(force))
        return self.X[body].to_parent(self.S[body].withheld(force, self.U[body], given, body.rotor))  # Eqs. 6, 8

    def across(self, body: Body, forces: list[Force]) -> tuple[list[Motion], list[Force]]:
        """Forces on the body in joint space, a row for each pivot of D, and as transmitted to its parent."""
        S, U, D = self.S[body], self.U[body], self.D[body]
        columns = [D.forward(S.dot(force)) for force in forces]
        given = [D.complete(column) for column in columns]
        felt = [S.withheld(force, U, rates, body.rotor) for force, rates in zip(forces, given, strict=True)]
        rows = [Motion.from_numbers(row) for row in zip(*columns, strict=True)]
        return rows, [self.X[body].to_parent(force) for force in felt]  # Eqs. 6, 8

    def outward(self, body: Body, motion: Motion) -> Motion:
        """Lᵀ a: the acceleration of the body for an acceleration of its parent."""
        return self.following(body, self.X[body].to_child(motion))  # Eqs. 7, 9

    def following(self, body: Body, motion: Motion) -> Motion:
        """(1 - S D⁻¹ Uᵀ) a, for a motion in the body's frame."""
        return self.S[body].followed(motion, self.U[body], self.D[body], body.rotor)

    def giving(self, body: Body, force: Force) -> Motion:
        """S D⁻¹ Sᵀ f: the acceleration of the body under a force on it while the parent is held."""
        return self.S[body].times(self.D[body].solve(self.S[body].dot(force)))

    def carried(self, body: Body, Omega: Mobility) -> Mobility:
        """S D⁻¹ Sᵀ + Lᵀ Ω L: the mobility of the body, given the mobility Ω of its parent."""
        _, felt = Omega.across(self.X[body])
        half = [self.following(body, column) for column in felt.columns()]
        rows = [self.following(body, row) for row in transposed(half)]
        own = [self.giving(body, force) for force in UNIT_FORCES]
        return Mobility.from_columns([row + motion for row, motion in zip(rows, own, strict=True)])  # Eq. 24


def placed(frame: Point) -> list[Force]:
    """The unit forces at a frame, in its body's frame."""
    return [frame.placement.to_parent(force) for force in UNIT_FORCES]  # Eq. 4


def unconnected(tree: PointedTree) -> Field[list[Motion]]:
    """Zero blocks for all pairs of points, which remain for points that share no body."""
    block: Field[list[Motion]] = tree.field()
    for point in tree.frames():
        for other in tree.frames_back_from(point):
            block[other, point] = block[point, other] = [Motion.zero()] * 6
    return block
