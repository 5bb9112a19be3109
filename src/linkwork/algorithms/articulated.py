"""The articulated-body step: a body with all that hangs on it, as its parent feels it across a joint that gives way.

    inward    U = Iᴬ S,   D = Sᵀ U + rotor,   u = τ - Sᵀ pᴬ
              Iᵃ = Iᴬ - U D⁻¹ Uᵀ,   pᵃ = pᴬ + Iᵃ c + U D⁻¹ u
              Iᴬₚ += X Iᵃ Xᵀ,   pᴬₚ += X pᵃ
    outward   a′ = Xᵀ aₚ + c,   q̈ = D⁻¹ (u - Uᵀ a′),   a = a′ + S q̈

Featherstone 1983, in the form of Rigid Body Dynamics Algorithms (2008), table 7.1, in link coordinates. Iᵃ is formed
by the subspace, which knows that nothing is felt along the joint's own motions. Who only asks for inertias leaves out
u and pᴬ; who is at rest leaves out c.
"""

from __future__ import annotations

from linkwork.algorithms.tree import Body, Field, JointField, JointValues, Tree
from linkwork.spatial import (
    ArticulatedInertia,
    Coordinates,
    Factor,
    Force,
    Motion,
    Scalar,
    Subspace,
    Transform,
    combination,
    plus_diagonal,
)
from linkwork.spatial.matrices import minus


class ArticulatedBodies:
    """Iᴬ and pᴬ of each body, which others begin and this adds to; U, D and u of each joint."""

    def __init__(self, tree: Tree, rotor: JointValues | None = None, moving: bool = True) -> None:
        """``rotor`` stands in for the rotors of the bodies; not ``moving`` says that c is zero."""
        self.X: Field[Transform] = tree.field()
        self.S: Field[Subspace] = tree.field()
        self.c: Field[Motion] = tree.field()
        self.IA: Field[ArticulatedInertia] = tree.field()
        self.pA: Field[Force] = tree.field()
        self.U: Field[list[Force]] = tree.field()
        self.D: Field[Factor] = tree.field()
        self.u: Field[list[Scalar]] = tree.field()
        self.rotor, self.moving = rotor or tree.rotors(), moving

    def factor(self, body: Body) -> None:
        """U and D of the body's joint."""
        self.U[body] = self.S[body].through(self.IA[body])
        self.D[body] = Factor.of_matrix(plus_diagonal(self.S[body].project(self.U[body]), self.rotor[body]))

    def drive(self, body: Body, tau: Coordinates) -> None:
        """u of the body's joint."""
        self.u[body] = minus(tau, self.S[body].dot(self.pA[body]))

    def released(self, body: Body) -> ArticulatedInertia:
        """Iᵃ."""
        return self.S[body].released(self.IA[body], self.U[body], self.D[body], self.rotor[body])

    def hand_over(self, body: Body) -> None:
        """Iᵃ and pᵃ to the parent."""
        Ia = self.released(body)
        pa = self.pA[body] + Ia * self.c[body] if self.moving else self.pA[body]
        pa = pa + combination(self.U[body], self.D[body].solve(self.u[body]))
        self.IA[body.parent] = self.IA[body.parent] + self.X[body].to_parent(Ia)
        self.pA[body.parent] = self.pA[body.parent] + self.X[body].to_parent(pa)

    def follow(self, body: Body, a: Field[Motion], qdd: JointField) -> None:
        """q̈ of the body's joint and a of the body, from a of its parent."""
        carried = self.X[body].to_child(a[body.parent])
        carried = carried + self.c[body] if self.moving else carried
        qdd[body] = self.D[body].solve(
            [force - carried.dot(column) for force, column in zip(self.u[body], self.U[body], strict=True)]
        )
        a[body] = carried + self.S[body].times(qdd[body])
