"""The contact problem whose inertia is the mass matrix, with the sparsity of a mechanism that touches something."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from linkwork.compiled.arrays import array_of
from linkwork.compiled.subroutine import subroutine
from linkwork.dynamics.contact.costs import FrameGroup, Group, Holds, as_cone, cone_response
from linkwork.dynamics.contact.line import Line, listed
from linkwork.dynamics.contact.newton import TINY, Direction
from linkwork.dynamics.contact.sparse import Matrix, solved, times
from linkwork.spatial import Scalar, absolute
from linkwork.spatial.matrices import dot


class Evaluation(NamedTuple):
    """Gradient and Hessian at a point, and M a."""

    gradient: list[Scalar]
    hessian: Matrix
    inertial: list[Scalar]


class Dense(NamedTuple):
    """½ aᵀ M a - aᵀ force + Σ s(J a - a_ref), to be minimised over accelerations a; ``energy`` is aᵀ M a of the free
    ones. ``often`` are patterns of the Hessian that frequently suffice, the sparsest first.
    """

    M: Matrix
    force: Sequence[Scalar]
    holds: Holds
    energy: Scalar
    often: Sequence[Collection[tuple[int, int]]]

    def data(self) -> list[Any]:
        """As in ``Problem``."""
        return [array_of(list(each)) for each in (self.M.values(), self.force, self.holds.flat(), [self.energy])]

    def of(self, data: Sequence[Any]) -> Dense:
        """As in ``Problem``."""
        matrix, force, scalars, energy = map(listed, data)
        return Dense(dict(zip(self.M, matrix, strict=True)), force, self.holds.of(scalars), energy[0], self.often)

    def direction(self, point: Sequence[Scalar]) -> Direction:
        """As in ``Problem``."""
        n = len(point)

        def newton_step(numbers: Any) -> list[Any]:
            g, H = listed(numbers)[:n], dict(zip(self.M, listed(numbers)[n:], strict=True))
            return [array_of([-y for y in solved(H, g)])]

        g, H, inertial = self.at(point)
        absent = [[n + k for k, place in enumerate(self.M) if place not in each] for each in self.often]
        solve = subroutine(newton_step, [each for each in absent if each]) if any(absent) else newton_step
        (step,) = solve(array_of([*g, *H.values()]))
        p = listed(step)
        slope = dot([i - f for i, f in zip(inertial, self.force, strict=True)], p)
        line = Line(self.holds, point, p, slope, dot(p, times(self.M, p)))
        return Direction(p, -dot(g, p), self.energy + absolute(dot(point, inertial)) + TINY, line)

    def at(self, a: Sequence[Scalar]) -> Evaluation:
        """Gradient and Hessian."""
        inertial, holds = times(self.M, a), self.holds
        g = [x - y for x, y in zip(inertial, self.force, strict=True)]
        H = dict(self.M)
        for i, slope, h in holds.of_joints(a):
            g[i], H[i, i] = g[i] + slope, H[i, i] + h
        for bond in holds.bonds:
            dofs = [i for i, x in enumerate(bond.J) if not (isinstance(x, float) and x == 0.0)]
            pull = bond.D * (dot(bond.J, a) - bond.wanted)
            for i in dofs:
                g[i] = g[i] + bond.J[i] * pull
                weighted = bond.D * bond.J[i]
                for j in dofs:
                    if j <= i:
                        H[i, j] = H[i, j] + weighted * bond.J[j]
        state = [*g, *H.values()]
        for group in holds.groups:
            state = _with_group(state, group, a, holds.ratio, list(H))
        return Evaluation(state[: len(g)], dict(zip(H, state[len(g) :], strict=True)), inertial)

    def begun(self, start: Sequence[Scalar], free: Sequence[Scalar]) -> list[Scalar]:
        """The initial point: about that of least cost on the way from the free accelerations towards ``start``."""
        way = [x - y for x, y in zip(start, free, strict=True)]
        step = Line(self.holds, free, way, 0.0, dot(way, times(self.M, way))).interpolated()
        return [x + step * y for x, y in zip(free, way, strict=True)]


def _with_group(
    state: Sequence[Scalar],
    group: Group | FrameGroup,
    a: Sequence[Scalar],
    ratio: float,
    places: Sequence[tuple[int, int]],
) -> list[Scalar]:
    """Gradient and entries of the Hessian, with the rows of a group added."""
    assert isinstance(group, Group)
    dofs = group.dofs

    def text(state: Sequence[Scalar], row: Sequence[Scalar], *inputs: Any) -> list[Scalar]:
        own, (x,) = as_cone(row, group.n, group.friction), group.coordinates(row, *inputs)
        return _with_rows(state, dofs, own.J, *cone_response(own, own.off(x), ratio), places)

    return group.rows.fold(text, state, *group.inputs(a))


def _with_rows(
    state: Sequence[Scalar],
    dofs: Sequence[int],
    J: Sequence[Sequence[Scalar]],
    f: Sequence[Scalar],
    h: Sequence[Sequence[Scalar]],
    places: Sequence[tuple[int, int]],
) -> list[Scalar]:
    """A gradient minus Jᵀ f, and the entries of a Hessian plus Jᵀ h J; J has some degrees of freedom only."""
    size, r, after = len(state) - len(places), range(len(J)), list(state)
    columns = {dof: [row[k] for row in J] for k, dof in enumerate(dofs)}
    for i, column in columns.items():
        after[i] = state[i] - dot(column, f)
    weighted = {i: [dot(x, [h[max(a, b)][min(a, b)] for a in r]) for b in r] for i, x in columns.items()}
    for at, (i, j) in enumerate(places, size):
        if i in columns and j in columns:
            after[at] = state[at] + dot(weighted[i], columns[j])
    return after
