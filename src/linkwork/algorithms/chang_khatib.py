"""The inverse operational-space inertia by Chang and Khatib's recursion, O(n + m(p + m)) for n bodies and m points with
p bodies on their paths to the world; p is at most n.

    outward   Xᵢ for all bodies                                                                     Eq. 2, step 1
    inward    Lᵢ for all bodies                                                                     Eq. 8, step 2
    outward   Ωᵢ,ᵢ = Sᵢ Dᵢ⁻¹ Sᵢᵀ + Lᵢᵀ Ωₕ,ₕ Lᵢ                           over the paths of the points  Eq. 24, step 3
    outward   Ωᵢ,ⱼ with the nearest common ancestor h of i and j:                                   Eq. 29, step 4
              as it is if i = j = h;   Lᵢᵀ Ωⱼ,ₕᵢᵀ if j = h;   Ωᵢ,ₕⱼ Lⱼ otherwise
    blocks    Λ⁻¹ = Xᵀ Ωᵢ,ⱼ X of each two points                                                     Eq. 22, step 5

Chang, Khatib, Efficient recursive algorithm for the operational space inertia matrix of branching mechanisms (2000),
Table 1; hᵢ is the parent of i. Bodies off the paths enter by the articulated inertias in L alone (Fig. 4).

Step 4 begins at stations: bodies with points, and bodies where paths branch. The paths are walked depth first, so that
for each two points the first carries Ω to the other: j is its body, and each line is one or more steps of i outward.
Then the third case is Ωᵢ,ⱼ = Lᵢᵀ Ωₕᵢ,ⱼ too, by symmetry, on branches that leave the path of j after it; such a branch
begins with Ωₕ,ⱼ = Ωⱼ,ₕᵀ of the second case. Where points share no body, Ω is zero and nothing is computed. Points may
be on any bodies: several on one, one before another, or on the world.
"""

from __future__ import annotations

from linkwork.algorithms.force_propagators import Propagators, unconnected
from linkwork.algorithms.tree import Field, JointValues, Point, PointedTree, fields
from linkwork.spatial import Mobility, Motion, transposed


def chang_khatib(tree: PointedTree, q: JointValues) -> tuple[Field[list[Motion]]]:
    """Λ⁻¹ = J M⁻¹ Jᵀ, a block for each pair of frames."""
    L = Propagators(tree, q)  # steps 1 and 2
    own: Field[Mobility] = tree.field()
    Omega, found = fields(tree, list[Motion], 2)
    block = unconnected(tree)

    def move(point: Point, other: Point) -> None:
        """Transform Ω, carried from the body of a point to another's, to the points themselves."""
        rows = [point.placement.to_child(row) for row in transposed(Omega[other.body])]
        block[other, point] = [other.placement.to_child(column) for column in transposed(rows)]  # Eq. 22
        block[point, other] = transposed(block[other, point])

    own[tree.world] = Mobility.zero()
    for body in tree.paths():
        own[body] = L.carried(body, own[body.parent])  # Eq. 24

    for j in tree.stations():
        Omega[j.body] = own[j.body].columns()  # i = j = h
        for i in tree.behind(j):
            Omega[i] = [L.outward(i, motion) for motion in Omega[i.parent]]  # j = h
        for station in tree.stations_behind(j):
            found[station, j] = Omega[station.body]
        for point in tree.points_on(j):
            for other in tree.points_behind(point):
                move(point, other)
            block[point, point] = Mobility.from_columns(block[point, point]).columns()

    for j in tree.stations():
        for h in tree.stations_above(j):
            Omega[h.body] = transposed(found[j, h])
        for i in tree.after(j):
            Omega[i] = [L.outward(i, motion) for motion in Omega[i.parent]]  # otherwise
        for point in tree.points_on(j):
            for other in tree.points_after(point):
                move(point, other)

    return (block,)
