"""The virtual linkage: the internal forces of an object in three or more hands, as those of a structure between the
grasps (Williams, Khatib 1993).

Telescopic links connect the grasps, and each link carries a tension; a moment acts at each grasp. With E the directions
of the links at the grasps, and forces f and moments m of the hands,

    f = E t + forces without an internal part,   t = E⁺ f,   τ = m
    resultant, t, τ = G (wrenches of the hands)                     6 + (3m - 6) + 3m = 6m numbers: G is invertible

Three grasps have three links, every further grasp three more: 3m - 6. They are independent unless all grasps are in one
line, or more than three in one plane, where no link resists forces out of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import finite_array, is_listed, memory_for
from linkwork.batches import broadcast
from linkwork.dynamics.arguments import Array
from linkwork.dynamics.pose_errors import as_placements
from linkwork.errors import ArgumentError, shown
from linkwork.spatial.small_matrices import skew, times

_DEPENDENT = 1e-6
"""A singular value of unit link directions below this is no independent link."""
Links = Sequence[tuple[int, int]]


class LinkForces(NamedTuple):
    """The wrenches of hands on an object, seen by a virtual linkage.

    Attributes:
        resultant: (..., 6), N and N m, at the origin of the object's frame.
        tensions: (..., 3m - 6), N, of the links: positive where the hands pull the object apart, negative where they
            squeeze it.
        moments: (..., m, 3), N m, at the grasps, in their own axes.
    """

    resultant: Array
    tensions: Array
    moments: Array


class VirtualLinkage:
    """Links between the grasps of an object, or between the feet of a robot on the ground.

    Args:
        placements: of the m grasps (m, 4, 4) in the object's frame, as ``lw.forward_kinematics`` gives them, or only
            their positions (m, 3), m; wrenches are in the axes of the placements, or those of the object.
        links: 3m - 6 pairs of grasps, by their indices; chosen if left out.
        names: of the grasps, for errors.

    Example:
        >>> import linkwork as lw
        >>> table = lw.control.VirtualLinkage([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
        >>> table.links
        ((0, 1), (0, 2), (1, 2))
        >>> squeeze = table.wrenches([0, 0, 10, 0, 0, 0], tensions=[-5.0, 0.0, 0.0])
        >>> squeeze[:, :3].round(9) + 0.0
        array([[ 5.,  0., 10.],
               [-5.,  0.,  0.],
               [ 0.,  0.,  0.]])
        >>> table.measured(squeeze).tensions.round(9) + 0.0
        array([-5.,  0.,  0.])
    """

    def __init__(self, placements: ArrayLike, links: Links | None = None, names: Sequence[str] = ()) -> None:
        given = finite_array("placements", placements)
        if given.shape[1:] not in ((3,), (4, 4)):
            raise ArgumentError(f"placements must have shape (m, 4, 4) or (m, 3), not {given.shape}")
        if given.ndim == 3:
            as_placements("placements", given)
        count = len(given)
        if not is_listed(names) or len(names) not in (0, count) or not all(isinstance(name, str) for name in names):
            raise ArgumentError(f"names must be those of {count} grasps, not {shown(names)}")
        self.names = tuple(names) or tuple(f"grasp {k}" for k in range(count))
        if count < 3:
            raise ArgumentError(
                f"a virtual linkage is between three or more grasps, not {count}; internal wrenches serve fewer"
            )
        turns = given[:, :3, :3] if given.ndim == 3 else np.broadcast_to(np.eye(3), (count, 3, 3))
        places = given[:, :3, 3] if given.ndim == 3 else given
        self.links = self._chosen(places) if links is None else self._checked(places, links)
        E = _directions(places, self.links)
        force, moment = np.zeros((3 * count, 6 * count)), np.zeros((3 * count, 6 * count))
        for k, turn in enumerate(turns):
            force[3 * k : 3 * k + 3, 6 * k : 6 * k + 3] = turn
            moment[3 * k : 3 * k + 3, 6 * k + 3 : 6 * k + 6] = np.eye(3)
        turned = np.concatenate([turn @ moment[3 * k : 3 * k + 3] for k, turn in enumerate(turns)])
        arms = np.concatenate([skew(place) for place in places], axis=1)
        resultant = np.concatenate(
            [np.tile(np.eye(3), count) @ force, arms @ force + np.tile(np.eye(3), count) @ turned]
        )
        self.matrix = np.concatenate([resultant, np.linalg.pinv(E) @ force, moment])
        self.inverse = np.linalg.inv(self.matrix)

    @property
    def count(self) -> int:
        """The number of grasps, m."""
        return len(self.names)

    def wrenches(
        self, resultant: ArrayLike = (0.0,) * 6, tensions: ArrayLike | None = None, moments: ArrayLike | None = None
    ) -> Array:
        """The wrenches (..., m, 6), N and N m, of the hands on the object, in the axes of the grasps.

        Args:
            resultant: (..., 6), N and N m, at the origin of the object's frame: the smallest forces for it are added.
            tensions: (..., 3m - 6), N, of the links, positive where the hands pull apart; zero if left out.
            moments: (..., m, 3), N m, at the grasps; zero if left out.
        """
        m = self.count
        parts = []
        given: Sequence[tuple[str, ArrayLike | None, tuple[int, ...]]] = (
            ("resultant", resultant, (6,)), ("tensions", tensions, (3 * m - 6,)), ("moments", moments, (m, 3)),
        )  # fmt: skip
        for name, value, shape in given:
            array = np.zeros(shape) if value is None else self._shaped(name, value, shape)
            parts.append(array.reshape(*array.shape[: array.ndim - len(shape)], prod(shape)))
        leading = broadcast([name for name, *_ in given], [part.shape[:-1] for part in parts])
        with memory_for("wrenches", (*leading, m, 6)):
            numbers = np.concatenate([np.broadcast_to(part, (*leading, part.shape[-1])) for part in parts], axis=-1)
            return times(self.inverse, numbers).reshape(*leading, m, 6)

    def measured(self, wrenches: ArrayLike) -> LinkForces:
        """The forces of the linkage for wrenches (..., m, 6), N and N m, of the hands on the object."""
        given = self._shaped("wrenches", wrenches, (self.count, 6))
        with memory_for("forces of links", given.shape):
            numbers = times(self.matrix, given.reshape(*given.shape[:-2], 6 * self.count))
        links = 6 + len(self.links)
        moments = numbers[..., links:].reshape(*given.shape[:-1], 3)
        return LinkForces(numbers[..., :6], numbers[..., 6:links], moments)

    def _shaped(self, name: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
        array = finite_array(name, value)
        if array.shape[array.ndim - len(shape) :] != shape:
            wanted = ", ".join(map(str, shape))
            raise ArgumentError(f"{name} of {self.count} grasps must have shape (..., {wanted}), not {array.shape}")
        return array

    def _chosen(self, places: Array) -> tuple[tuple[int, int], ...]:
        """Links that depend least on each other, one after another."""
        every = list(combinations(range(self.count), 2))
        left = _directions(places, every)
        found: list[tuple[int, int]] = []
        for _ in range(3 * self.count - 6):
            sizes = np.linalg.norm(left, axis=0)
            best = int(sizes.argmax())
            if sizes[best] < _DEPENDENT:
                raise self._deficient(len(found))
            unit = left[:, best] / sizes[best]
            left = left - np.outer(unit, unit @ left)
            found.append(every[best])
        return tuple(sorted(found))

    def _checked(self, places: Array, links: Links) -> tuple[tuple[int, int], ...]:
        count, wanted = self.count, 3 * self.count - 6
        pairs = links if is_listed(links) else ()
        good = all(
            isinstance(pair, list | tuple)
            and len(pair) == 2
            and all(isinstance(k, int | np.integer) and type(k) is not bool and 0 <= k < count for k in pair)
            and pair[0] != pair[1]
            for pair in pairs
        )
        if not good or len(pairs) != wanted or len({frozenset(pair) for pair in pairs}) != wanted:
            raise ArgumentError(
                f"links of {count} grasps must be {wanted} pairs of different grasps, numbers from 0 to {count - 1}, "
                f"not {shown(links)}"
            )
        found = tuple((int(a), int(b)) for a, b in pairs)
        rank = int((np.linalg.svd(_directions(places, found))[1] > _DEPENDENT).sum())
        if rank < wanted:
            raise self._deficient(rank)
        return found

    def _deficient(self, rank: int) -> ArgumentError:
        return ArgumentError(
            f"the links between {', '.join(map(repr, self.names))} carry only {rank} independent internal forces of "
            f"{3 * self.count - 6}: grasps lie in one line, more than three of them in one plane, or links are "
            f"redundant. Choose other places or links"
        )


def _directions(places: Array, links: Links) -> Array:
    """E (3m, links): the forces at the grasps of a unit tension in each link."""
    E = np.zeros((3 * len(places), len(links)))
    for k, (i, j) in enumerate(links):
        apart = 0.5 * places[i] - 0.5 * places[j]
        largest = float(np.abs(apart).max())
        apart = apart / largest if largest > 0.0 else apart  # so that no square overflows
        unit = apart / max(float(np.linalg.norm(apart)), 0.5)
        E[3 * i : 3 * i + 3, k], E[3 * j : 3 * j + 3, k] = unit, -unit
    return E
