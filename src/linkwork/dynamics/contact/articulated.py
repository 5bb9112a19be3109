"""The contact problem whose inertia is that of articulated bodies, of any number: O(n) per iteration.

Contacts with the world connect frames to it, so that Newton's direction

    (M + Jᵀ H J) p = Jᵀ f - M y            y = a - a₀, the change of the free accelerations by contacts

is a forward dynamics problem of bodies whose inertias are increased by the impedance of the points on them
(``algorithms.supported``). A point is y, then the motions of all frames by it. Rows between moving frames, of contacts
or constraints, are no inertia of one body: conjugate gradients solve with them, preconditioned by the recursion without
them, so that there are as many iterations as such rows have impedances of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms import SUPPORTED
from linkwork.compiled.arrays import array_of, numbers
from linkwork.compiled.kept_rows import KeptRows, Table
from linkwork.compiled.repeating import repeat
from linkwork.compiled.subroutine import subroutine
from linkwork.dynamics.call import call
from linkwork.dynamics.contact.costs import FrameGroup, Holds, as_cone, cone_response
from linkwork.dynamics.contact.line import Line, listed
from linkwork.dynamics.contact.newton import TINY, Direction
from linkwork.model.model import Frame, Model
from linkwork.spatial import Scalar, absolute, where_less
from linkwork.spatial.matrices import dot

_WORLD: list[Scalar] = [0.0] * 6
"""The motion of the world."""
_UPPER = [
    *((i, j) for i in range(3) for j in range(i, 3)),
    *((i, j) for i in range(3) for j in range(3, 6)),
    *((i, j) for i in range(3, 6) for j in range(i, 6)),
]
"""The numbers of a symmetric 6×6 matrix, in the order of ``ArticulatedInertia``."""
_EXACT, MOST_GRADIENTS = 1e-28, 4000
"""Conjugate gradients end where the squared norm of what is left is this fraction of that at the beginning. What is not
solved after so many iterations is NaN: neither Newton's method, which may end with this step, nor derivatives would
notice.
"""
BETWEEN = "the problem of the contact forces between bodies, or beside constraints,"


class Mechanism(NamedTuple):
    """A model, and the frames whose motions rows are over."""

    model: Model
    frames: Sequence[Frame]

    def supported(
        self, q: Any, y: Any, tau: Any, rotor: Any, f: Sequence[Scalar], K: Sequence[Scalar]
    ) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
        """As ``algorithms.supported``, over lists of numbers; the last has the three sums."""
        count = len(self.frames)
        values = [q, *(array_of(list(x)) for x in (y, tau, rotor)), _rows(f, (count, 6)), _rows(K, (count, 21))]
        p, P, *sums = call(SUPPORTED, self.model, values, self.frames)
        return listed(p), numbers(P).ravel().tolist(), [numbers(x).item() for x in sums]


def _rows(items: Sequence[Scalar], shape: tuple[int, int]) -> Any:
    return array_of(list(items)).reshape(shape) if items else np.zeros(shape)


class Articulated(NamedTuple):
    """½ yᵀ M y + Σ s(J (a₀ + y) - a_ref), to be minimised over y and the motions of frames by it; ``energy`` is
    a₀ᵀ M a₀.
    """

    mechanism: Mechanism
    q: Any
    holds: Holds
    energy: Scalar

    def data(self) -> list[Any]:
        """As in ``Problem``."""
        return [self.q, array_of(self.holds.flat()), array_of([self.energy])]

    def of(self, data: Sequence[Any]) -> Articulated:
        """As in ``Problem``."""
        q, scalars, energy = data
        return Articulated(self.mechanism, q, self.holds.of(listed(scalars)), listed(energy)[0])

    def _groups(self, sides: int) -> list[FrameGroup]:
        return [each for each in self.holds.groups if isinstance(each, FrameGroup) and each.sides == sides]

    @property
    def coupled(self) -> bool:
        """Whether there may be rows between moving frames."""
        return bool(self._groups(2) or self.holds.bonds)

    def direction(self, point: Sequence[Scalar]) -> Direction:
        """As in ``Problem``."""
        nv, solve = self.mechanism.model.nv, self.mechanism.supported
        y, Y = point[:nv], [*point[nv:], *_WORLD]
        tau, rotor = self.of_joints(y)
        f, K = self.of_ground(Y)
        if self.coupled:
            f = [x + more for x, more in zip(f, self.of_pairs(Y), strict=True)]
        p, P, (yy, yp, pp) = solve(self.q, y, tau, rotor, f, K)
        if self.coupled:
            more = self.between(Y, P, self.q, rotor, K)
            both = [x + own for x, own in zip(f, more, strict=True)]
            p, P, (yy, yp, pp) = solve(self.q, y, tau, rotor, both, K)
        fall = dot(f, P) + dot(tau, p) - yp
        line = Line(self.holds, y, p, yp, pp, Y, [*P, *_WORLD])
        return Direction([*p, *P], fall, self.energy + absolute(yy) + TINY, line)

    def of_joints(self, y: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
        """The joint forces of limits and dry friction, and the rotor inertias with their impedances."""
        tau: list[Scalar] = [0.0] * len(y)
        rotor: list[Scalar] = listed(self.mechanism.model.armature)
        for dof, slope, h in self.holds.of_joints(y):
            tau[dof], rotor[dof] = tau[dof] - slope, rotor[dof] + h
        return tau, rotor

    def of_ground(self, Y: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
        """The force on each frame of contacts with the world (6 each), and its stiffness (21 each)."""
        count = len(self.mechanism.frames)
        table = Table([0.0] * (27 * count), 27)
        for group in self._groups(1):

            def pushed(row: Sequence[Scalar], *inputs: Any, group: FrameGroup = group) -> Any:
                J, f, h = _response(group, row, self.holds.ratio, *inputs)
                weighted = _times(h, J)
                stiff = [total_of(J, weighted, i, j) for i, j in _UPPER]
                return [(group.frames(row)[0], [*_transposed(J, f), *stiff])]

            table = group.rows.added(pushed, table, *group.inputs(Y))
        rows = [table.numbers[27 * k : 27 * k + 27] for k in range(count)]
        return [x for row in rows for x in row[:6]], [x for row in rows for x in row[6:]]

    def of_pairs(self, Y: Sequence[Scalar]) -> list[Scalar]:
        """The force on each frame of contacts between frames, and of constraints."""
        table = Table([0.0] * len(Y), 6)
        for group in self._groups(2):

            def pushed(row: Sequence[Scalar], *inputs: Any, group: FrameGroup = group) -> Any:
                J, f, _ = _response(group, row, self.holds.ratio, *inputs)
                return _on_both(group, row, _transposed(J, f))

            table = group.rows.added(pushed, table, *group.inputs(Y))
        f = list(table.numbers)
        for bond in self.holds.bonds:
            pull = bond.D * (dot(bond.J, Y) - bond.wanted)
            f = [x - own * pull for x, own in zip(f, bond.J, strict=True)]
        return f[: -len(_WORLD)]

    def between(
        self, Y: Sequence[Scalar], P: Sequence[Scalar], q: Any, rotor: Sequence[Scalar], K: Sequence[Scalar]
    ) -> list[Scalar]:
        """The change of the forces between frames by their motions along a direction, by conjugate gradients; P are
        their motions without it.
        """
        nv, count = self.mechanism.model.nv, len(P)
        stiff = [_stiff(group, Y, self.holds.ratio) for group in self._groups(2)]

        def resisted(D: Sequence[Scalar], bonds: Sequence[Any]) -> list[Scalar]:
            """The force that changes with motions D of the frames."""
            table = Table([0.0] * (count + 6), 6)
            for group, rows in stiff:
                table = rows.added(_resisting(group), table, *group.inputs([*D, *_WORLD]))
            f = list(table.numbers)
            for bond in bonds:
                pull = bond.D * dot(bond.J, [*D, *_WORLD])
                f = [x + own * pull for x, own in zip(f, bond.J, strict=True)]
            return f[: -len(_WORLD)]

        def moved(f: Sequence[Scalar], q: Any, rotor: Sequence[Scalar], K: Sequence[Scalar]) -> list[Scalar]:
            nothing = [0.0] * nv
            return self.mechanism.supported(q, nothing, nothing, rotor, f, K)[1]

        def iteration(forces: Any, D: Any, of_D: Any, left: Any, size: Any, *data: Any) -> Any:
            q, rotor, K, scalars, first = data
            bonds = self.holds.of(listed(scalars)).bonds
            way, own, rest = listed(D), listed(of_D), listed(left)
            there = resisted(way, bonds)
            curvature = dot(own, way) + dot(way, there)
            step = listed(size)[0] / where_less(0.0, curvature, curvature, TINY)
            total = [x + step * y for x, y in zip(listed(forces), own, strict=True)]
            rest = [x - step * (y + z) for x, y, z in zip(rest, own, there, strict=True)]
            Z = moved(rest, q, listed(rotor), listed(K))
            new = dot(rest, Z)
            turn = new / where_less(0.0, listed(size)[0], listed(size)[0], TINY)
            way = [x + turn * y for x, y in zip(Z, way, strict=True)]
            own = [x + turn * y for x, y in zip(rest, own, strict=True)]
            more = where_less(absolute(_EXACT * listed(first)[0]), absolute(new), 1.0, 0.0)
            return [*map(array_of, (total, way, own, rest)), array_of([new])], more

        def solved(P: Any, q: Any, rotor: Any, K: Any, scalars: Any) -> list[Any]:
            left = [-x for x in resisted(listed(P), self.holds.of(listed(scalars)).bonds)]
            D = moved(left, q, listed(rotor), listed(K))
            size = array_of([dot(left, D)])
            state = [array_of([0.0] * count), *map(array_of, (D, left, left)), size]
            fixed = [q, rotor, K, scalars, size]
            return repeat(iteration, state, fixed, most=MOST_GRADIENTS, name=BETWEEN)[:1]

        given = [array_of(list(each)) for each in (P, rotor, K, self.holds.flat())]
        (found,) = subroutine(solved, symmetric=True)(given[0], q, *given[1:])
        return listed(found)

    def begun(self, y: Sequence[Scalar], Y: Sequence[Scalar], energy: Scalar) -> list[Scalar]:
        """The initial point: about that of least cost on the way from zero towards y and motions Y by it, whose
        ``energy`` is yᵀ M y.
        """
        way, nothing = [*y, *Y], [0.0] * len(y)
        step = Line(self.holds, nothing, y, 0.0, energy, [0.0] * (len(Y) + 6), [*Y, *_WORLD]).interpolated()
        return [step * x for x in way]


# Rows over motions of frames

Rows = Sequence[Sequence[Scalar]]


def _response(group: FrameGroup, row: Sequence[Scalar], ratio: float, *inputs: Any) -> tuple[Rows, list[Scalar], Rows]:
    """J of a row, its forces, and the lower triangle of its impedance."""
    own, (x,) = as_cone(row, group.n, group.friction), group.coordinates(row, *inputs)
    return own.J, *cone_response(own, own.off(x), ratio)


def _stiff(group: FrameGroup, Y: Sequence[Scalar], ratio: float) -> tuple[FrameGroup, KeptRows]:
    """The rows of a group as J and impedance."""
    m = group.friction + 1

    def text(row: Sequence[Scalar], *inputs: Any) -> list[Scalar]:
        J, _, h = _response(group, row, ratio, *inputs)
        return [*(x for each in (*J, *h) for x in each), *group.frames(row)]

    width = m * group.n + m * (m + 1) // 2 + group.sides
    return group, group.rows.mapped(f"{group.rows.rows.name} stiff", text, width, *group.inputs(Y))


def _resisting(group: FrameGroup) -> Any:
    """A text over rows of ``_stiff``: the forces that change with motions of the frames."""
    m, n = group.friction + 1, group.n

    def text(row: Sequence[Scalar], *inputs: Any) -> Any:
        (x,) = group.coordinates(row, *inputs)
        J, left = [row[k * n : k * n + n] for k in range(m)], iter(row[m * n :])
        h = [[next(left) for _ in range(k + 1)] for k in range(m)]
        s = [dot(each, x) for each in J]
        return _on_both(group, row, _transposed(J, _times(h, [[x] for x in s])))

    return text


def _on_both(group: FrameGroup, row: Sequence[Scalar], f: Sequence[Scalar]) -> list[tuple[Scalar, Sequence[Scalar]]]:
    return [(which, f[6 * k : 6 * k + 6]) for k, which in enumerate(group.frames(row))]


def _transposed(J: Rows, f: Sequence[Any]) -> list[Scalar]:
    """Jᵀ f."""
    flat = [x[0] if isinstance(x, list) else x for x in f]
    return [dot(column, flat) for column in map(list, zip(*J, strict=True))]


def _times(h: Rows, J: Rows) -> list[list[Scalar]]:
    """h J, of the lower triangle of a symmetric matrix."""
    columns = [list(each) for each in zip(*J, strict=True)]
    r = range(len(h))
    return [[dot([h[max(a, b)][min(a, b)] for b in r], column) for column in columns] for a in r]


def total_of(J: Rows, weighted: Rows, i: int, j: int) -> Scalar:
    """An entry of Jᵀ h J."""
    return dot([row[i] for row in J], [row[j] for row in weighted])
