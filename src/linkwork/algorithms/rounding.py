"""The terms that cancel in a pivot, so that a rounding error is not taken for inertia.

A joint's pivots are projections of inertias that were added and subtracted on the way. Each of these is a
positive semidefinite matrix, so its diagonal bounds all other entries:

    T = diagonal of the body's own inertia + the terms of its children, transmitted across their joints
    terms of the pivot of a column s of S:   Σ sᵢ² Tᵢ

Composite bodies pass on their T. Articulated bodies pass on the diagonal of Iᴬ, of which Iᵃ = Iᴬ - U D⁻¹ Uᵀ is
the remainder, and E, the error of U D⁻¹ Uᵀ due to the rounding of D: (U D⁻¹)² times the terms of D. Across a joint that
is doubtful itself E is passed on with the rest, and amplified again: between massless bodies there is no inertia beside
which earlier rounding errors would be small. Elsewhere one generation is enough: it passes through Iᵃ as inertias do,
and stays as small relative to it. ``Factor.of_matrix`` judges pivots by the terms. Joints that are not doubtful
(model/doubtful.py) are not judged, and a tree without doubtful joints costs nothing extra.
"""

from __future__ import annotations

from linkwork.algorithms.tree import Body, Field, JointValues, Tree
from linkwork.spatial import ArticulatedInertia, Mat3, Scalar, Subspace, Transform, Vec3, where_less
from linkwork.spatial.matrices import Column, plus
from linkwork.spatial.vectors import total


def own_terms(body: Body) -> Column:
    """The terms of the body alone. Its parameters are rounded when they are defined, which on oblique axes affects more
    than the diagonal: a row's squares over its diagonal entry sum to the largest moment there, and to nothing more on
    principal axes.
    """
    i, m = body.inertia.second, body.inertia.mass
    xy, xz, yz = i.xy * i.xy, i.xz * i.xz, i.yz * i.yz
    rows = (i.xx, xy + xz), (i.yy, xy + yz), (i.zz, xz + yz)
    return [m, m, m, *(number + where_less(0.0, number, squares, 0.0) / _safe(number) for number, squares in rows)]


def _safe(number: Scalar) -> Scalar:
    """The number made safe as a divisor."""
    return where_less(0.0, number, number, 1.0)


def diagonal(inertia: ArticulatedInertia) -> Column:
    """The six diagonal entries, three linear (kg) and three angular (kg m²)."""
    m, i = inertia.m, inertia.i
    return [m.xx, m.yy, m.zz, i.xx, i.yy, i.zz]


def to_parent(X: Transform, T: Column) -> Column:
    """The terms of a child transformed to its parent."""
    x, y, z = (c * c for c in X.translation.numbers())
    squares = Mat3(*(c * c for c in X.rotation.numbers()))
    m, i = squares.apply(Vec3(*T[:3])), squares.apply(Vec3(*T[3:]))
    lever = Vec3(y * m.z + z * m.y, z * m.x + x * m.z, x * m.y + y * m.x)
    return [*m.numbers(), *(i + lever).numbers()]


def of_pivots(S: Subspace, T: Column) -> list[Scalar]:
    """For each column of S, the terms that cancel in its pivot."""
    return [total(s * s * t for s, t in zip(column.numbers(), T, strict=True)) for column in S.columns()]


def composite_terms(tree: Tree, q: JointValues) -> Field[Column] | None:
    """The terms that cancel in each joint's pivots of the mass matrix; None in a tree without doubtful joints."""
    if not tree.doubtful:
        return None
    T: Field[Column] = tree.field()
    terms: Field[Column] = tree.field()
    for body in tree.outward():
        T[body] = own_terms(body)
    T[tree.world] = [0.0] * 6
    for body in tree.inward():
        terms[body] = of_pivots(body.joint.subspace(q[body]), T[body])
        X = body.placement * body.joint.transform(q[body])
        T[body.parent] = plus(T[body.parent], to_parent(X, T[body]))
    return terms
