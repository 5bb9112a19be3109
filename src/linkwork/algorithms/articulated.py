"""The articulated-body step: a body and its subtree as a single articulated body, handed to the parent across a joint.

    inward    U = Iᴬ S,   D = Sᵀ U + rotor,   u = τ - Sᵀ pᴬ
              Iᵃ = Iᴬ - U D⁻¹ Uᵀ,   pᵃ = pᴬ + Iᵃ c + U D⁻¹ u
              Iᴬₚ += X Iᵃ Xᵀ,   pᴬₚ += X pᵃ
    outward   a′ = Xᵀ aₚ + c,   q̈ = D⁻¹ (u - Uᵀ a′),   a = a′ + S q̈

Featherstone 1983, in the form of Rigid Body Dynamics Algorithms (2008), table 7.1, in link coordinates. Iᵃ is formed
by the subspace, which uses that no force is transmitted along the joint's own motions. A caller that needs inertias
only omits u and pᴬ; one at rest omits c.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.algorithms.rounding import diagonal, of_pivots, own_terms, to_parent
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
from linkwork.spatial.matrices import Column, minus, plus


class Share(NamedTuple):
    """The contribution of a body and its subtree to its parent: Iᵃ and pᵃ, and to T and E if joints are judged."""

    IA: ArticulatedInertia
    pA: Force
    T: Column
    E: Column

    def together(self, other: Share) -> Share:
        """The sum of the shares of two bodies on one parent."""
        return Share(self.IA + other.IA, self.pA + other.pA, plus(self.T, other.T), plus(self.E, other.E))


class ArticulatedBodies:
    """Iᴬ and pᴬ of each body, which the caller initialises and this class adds to; U, D and u of each joint."""

    def __init__(self, tree: Tree, rotor: JointValues | None = None, moving: bool = True, begun: bool = True) -> None:
        """``rotor`` replaces the rotor inertias of the bodies. ``moving`` is False if c is zero, ``begun`` is False if
        the caller initialises the terms of each body.
        """
        self.X: Field[Transform] = tree.field()
        self.S: Field[Subspace] = tree.field()
        self.c: Field[Motion] = tree.field()
        self.IA: Field[ArticulatedInertia] = tree.field()
        self.pA: Field[Force] = tree.field()
        self.U: Field[list[Force]] = tree.field()
        self.D: Field[Factor] = tree.field()
        self.u: Field[list[Scalar]] = tree.field()
        self.T: Field[Column] = tree.field()
        self.E: Field[Column] = tree.field()
        """T: the terms of inertias that cancel in pivots (``rounding``); E: the rounding error of D in the joints
        beyond, expressed as such terms."""
        self.rotor, self.moving, self.judged = rotor or tree.rotors(), moving, tree.doubtful
        if self.judged and begun:
            self.T[tree.world], self.E[tree.world] = [0.0] * 6, [0.0] * 6
            for body in tree.outward():
                self.begin(body)

    def begin(self, body: Body) -> None:
        """T and E of a body alone."""
        if self.judged:
            self.T[body], self.E[body] = own_terms(body), [0.0] * 6

    def factor(self, body: Body) -> None:
        """U and D of the body's joint."""
        self.U[body] = self.S[body].through(self.IA[body])
        terms = self.terms(body) if self.judged and body.doubtful else ()
        self.D[body] = Factor.of_matrix(plus_diagonal(self.S[body].project(self.U[body]), self.rotor[body]), terms)

    def terms(self, body: Body) -> Column:
        """The terms that cancel in the pivots of D."""
        return of_pivots(self.S[body], plus(self.T[body], self.E[body]))

    def drive(self, body: Body, tau: Coordinates) -> None:
        """u of the body's joint."""
        self.u[body] = minus(tau, self.S[body].dot(self.pA[body]))

    def hand_over_inertia(self, body: Body) -> ArticulatedInertia:
        """Add Iᵃ to the parent, and return it."""
        Ia = self._released(body)
        self.IA[body.parent] = self.IA[body.parent] + self.X[body].to_parent(Ia)
        if self.judged:
            for field, handed in zip((self.T, self.E), self._judgement(body), strict=True):
                field[body.parent] = plus(field[body.parent], handed)
        return Ia

    def _released(self, body: Body) -> ArticulatedInertia:
        return self.S[body].released(self.IA[body], self.U[body], self.D[body], self.rotor[body])

    def _judgement(self, body: Body) -> list[Column]:
        """The contributions to T and E of the parent."""
        S, U, D = self.S[body], self.U[body], self.D[body]
        amplified = self.E[body] if body.doubtful else [0.0] * 6
        terms_of_D = of_pivots(S, plus(self.T[body], amplified))
        for column, inverse, terms in zip(U, D.inverse_pivots, terms_of_D, strict=True):
            weights = [u * inverse for u in column.numbers()]
            amplified = [t + w * w * terms for t, w in zip(amplified, weights, strict=True)]
        handed = (Force.from_numbers(numbers) for numbers in (diagonal(self.IA[body]), amplified))
        felt = (S.withheld(force, (), (), self.rotor[body]).numbers() for force in handed)  # zero along S itself
        return [to_parent(self.X[body], numbers) for numbers in felt]

    def hand_over(self, body: Body) -> None:
        """Add Iᵃ and pᵃ to the parent."""
        pa = self._passed_on(body, self.hand_over_inertia(body))
        self.pA[body.parent] = self.pA[body.parent] + self.X[body].to_parent(pa)

    def _passed_on(self, body: Body, Ia: ArticulatedInertia) -> Force:
        """pᵃ."""
        pa = self.pA[body] + Ia * self.c[body] if self.moving else self.pA[body]
        return pa + combination(self.U[body], self.D[body].solve(self.u[body]))

    def share(self, body: Body) -> Share:
        """The contribution that ``hand_over`` adds, for callers that sum several before adding them to the parent."""
        Ia, X = self._released(body), self.X[body]
        T, E = self._judgement(body) if self.judged else ([], [])
        return Share(X.to_parent(Ia), X.to_parent(self._passed_on(body, Ia)), T, E)

    def receive(self, body: Body, share: Share) -> None:
        """Add a share, or a sum of shares, of children to this body."""
        self.IA[body], self.pA[body] = self.IA[body] + share.IA, self.pA[body] + share.pA
        if self.judged:
            self.T[body], self.E[body] = plus(self.T[body], share.T), plus(self.E[body], share.E)

    def follow(self, body: Body, a: Field[Motion], qdd: JointField) -> None:
        """q̈ of the body's joint and a of the body, from a of its parent."""
        a[body] = self.moved(body, a[body.parent], qdd)

    def moved(self, body: Body, before: Motion, qdd: JointField) -> Motion:
        """a of the body, from a of its parent; q̈ of its joint is written to its field."""
        carried = self.X[body].to_child(before)
        carried = carried + self.c[body] if self.moving else carried
        qdd[body] = self.D[body].solve(
            [force - carried.dot(column) for force, column in zip(self.u[body], self.U[body], strict=True)]
        )
        return carried + self.S[body].times(qdd[body])
