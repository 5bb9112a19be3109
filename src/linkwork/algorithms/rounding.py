"""What a pivot is left over from: the terms that cancel in it, so that what rounding leaves is not taken for inertia.

A joint's pivots are what its motions move of inertias that were added and subtracted on the way. Each of these is a
positive semidefinite matrix, so the numbers on its diagonal bound all others:

    T = diagonal of the body's own inertia + what its children hand on, as it is felt across their joints
    terms of the pivot of a column s of S:   Σ sᵢ² Tᵢ

Composite bodies hand on their T. Articulated ones hand on the diagonal of Iᴬ, from which Iᵃ = Iᴬ - U D⁻¹ Uᵀ is what is
left, and E, what the rounding of D makes of U D⁻¹ Uᵀ: (U D⁻¹)² times the terms of D. Across a joint that is doubtful
itself E is handed on with the rest, and amplified again: between massless bodies there is nothing beside which older
rounding were small. Elsewhere one generation is enough: it passes through Iᵃ as inertias do, and is as small beside it.
``Factor.of_matrix`` judges by the terms;
joints that are not doubtful (model/doubtful.py) need no judging, and a tree without such joints pays nothing.
"""

from __future__ import annotations

from linkwork.algorithms.tree import Body, Field, JointValues, Tree
from linkwork.spatial import ArticulatedInertia, Mat3, Scalar, Subspace, Transform, Vec3, where_less
from linkwork.spatial.matrices import Column, plus
from linkwork.spatial.vectors import total


def own_terms(body: Body) -> Column:
    """Of the body alone. Its numbers are rounded where it was made, which on oblique axes is felt beyond the diagonal:
    a row's squares over its number on the diagonal come to the largest moment there, and to nothing more on principal
    axes.
    """
    i, m = body.inertia.second, body.inertia.mass
    xy, xz, yz = i.xy * i.xy, i.xz * i.xz, i.yz * i.yz
    rows = (i.xx, xy + xz), (i.yy, xy + yz), (i.zz, xz + yz)
    return [m, m, m, *(number + where_less(0.0, number, squares, 0.0) / _safe(number) for number, squares in rows)]


def _safe(number: Scalar) -> Scalar:
    """To divide by."""
    return where_less(0.0, number, number, 1.0)


def diagonal(inertia: ArticulatedInertia) -> Column:
    """The six numbers on the diagonal, three linear (kg) and three angular (kg m²)."""
    m, i = inertia.m, inertia.i
    return [m.xx, m.yy, m.zz, i.xx, i.yy, i.zz]


def to_parent(X: Transform, T: Column) -> Column:
    """Terms of a child as its parent has them."""
    x, y, z = (c * c for c in X.translation.numbers())
    squares = Mat3(*(c * c for c in X.rotation.numbers()))
    m, i = squares.apply(Vec3(*T[:3])), squares.apply(Vec3(*T[3:]))
    lever = Vec3(y * m.z + z * m.y, z * m.x + x * m.z, x * m.y + y * m.x)
    return [*m.numbers(), *(i + lever).numbers()]


def of_pivots(S: Subspace, T: Column) -> list[Scalar]:
    """For each column of S, what its pivot is left over from."""
    return [total(s * s * t for s, t in zip(column.numbers(), T, strict=True)) for column in S.columns()]


def composite_terms(tree: Tree, q: JointValues) -> Field[Column] | None:
    """What each joint's pivots are left over from when the mass matrix is factored; none in a tree without doubt."""
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
