"""The drawable parts of a model: for each body its points of connection to others, its thickness, its colour.

Mesh files are never opened for this. A body is as long as the distance between its joints, and as thick as a body of
its mass and inertia: that makes a humanoid look like one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork.dynamics.arguments import Array
from linkwork.dynamics.kinematics import forward_kinematics
from linkwork.model.model import WORLD, Model
from linkwork.model.tree import children_of
from linkwork.properties import cached_property
from linkwork.spatial import Transform
from linkwork.viewer.solids import Solid, solid

_IDENTITY = Transform.identity().numbers()
PALETTE = ("#4878a8", "#d1765a", "#5a9e6f", "#b08fc7", "#c9a227", "#5fa8b8", "#c56b8f", "#8a8f5a")
GROUNDED = "#8b8f96"
"""The colour of bodies that do not move."""

THINNEST, THICKEST = 0.008, 0.06
"""Radius of a body as a fraction of the mechanism's length."""

MOST_SOLID = 200
"""Bodies drawn one by one; in a mechanism with more, chains are drawn as lines."""


@dataclass(frozen=True)
class Part:
    """A body: its number (0 is the world), points on it (n, 3) in its own frame, its thickness (m), its colour, and the
    box of its mass and inertia if its shape is not known otherwise.
    """

    body: int
    points: Array
    radius: float
    colour: str
    box: Solid | None = None


@dataclass(frozen=True)
class Chain:
    """A chain of bodies, drawn as one line through their origins and on to a tip (3,) on the last."""

    bodies: tuple[int, ...]
    tip: Array
    radius: float
    colour: str

    def points(self, placements: Array) -> Array:
        """Its points (..., n + 1, 3) in the world, from placements (..., nbodies + 1, 4, 4)."""
        last = placements[..., self.bodies[-1], :, :]
        end = last[..., :3, :3] @ self.tip + last[..., :3, 3]
        return np.concatenate([placements[..., self.bodies, :, :][..., :3, 3], end[..., None, :]], axis=-2)


class Skeleton:
    """The drawable parts of a model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._solids = [solid(body) for body in model.bodies]

    def placements(self, q: Array) -> Array:
        """Placements of the world and all bodies (..., nbodies + 1, 4, 4)."""
        bodies = forward_kinematics(self.model, q, self.model.body_names)
        for body, off in self._beside.items():
            bodies[..., body, :, :] = bodies[..., body, :, :] @ off
        world = np.broadcast_to(np.eye(4), (*bodies.shape[:-3], 1, 4, 4))
        return np.concatenate([world, bodies], axis=-3)

    def frame_on_body(self, body: int) -> Array:
        """The placement (4, 4) of the frame with a body's name in the body's own frame; bodies count from 1."""
        return matrix(self.model.frame(self.model.body_names[body - 1]).placement)

    @cached_property
    def _beside(self) -> dict[int, Array]:
        """Bodies whose named frame differs from their own, as in MJCF: the placement (4, 4) of the one in the other."""
        neighbours = {}
        for index, name in enumerate(self.model.body_names):
            placement = self.model.frame(name).placement
            if placement.numbers() != _IDENTITY:
                neighbours[index] = matrix(placement.inverse())
        return neighbours

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """All bodies that have a shape."""
        points, length, colours = self._points, self.length, self._colours()
        thick = (0.035 if len(points[0]) > 1 else 0.012) * length
        parts = [Part(0, points[0], thick, GROUNDED)] if len(points[0]) else []
        for index, body in enumerate(self.model.bodies, 1):
            here, mass = points[index], self._solids[index - 1]
            if len(here) == 1 and mass is None:
                continue
            if mass is not None and body.joint.nv == 6 and not self._children[index]:  # it floats alone
                parts.append(Part(index, here, 0.0, colours[index], mass))
                continue
            thick = 0.25 * float(np.sort(mass.edges)[:2].sum()) if mass is not None else 0.0
            reach = float(np.ptp(here, axis=0).max()) if len(here) > 1 else length
            least = THINNEST * length * min(1.0, (100.0 / len(self.model.bodies)) ** 0.5)
            most = max(least, min(THICKEST * length, 0.35 * reach))
            parts.append(Part(index, here, float(np.clip(thick, least, most)), colours[index]))
        return tuple(parts)

    @cached_property
    def joints(self) -> tuple[tuple[int, float], ...]:
        """The bodies whose joint, at their origin, is drawn as a dot, and its radius (m)."""
        moving = [part for part in self.parts if part.body and self.model.bodies[part.body - 1].joint.nv in (1, 2, 3)]
        if len(moving) > 80:
            return ()
        return tuple((part.body, 0.6 * min(part.radius, 0.02 * self.length)) for part in moving)

    @cached_property
    def chains(self) -> tuple[Chain, ...]:
        """Bodies drawn as lines: in a mechanism of very many, those that carry one other each, or end such a chain."""
        if len(self.parts) <= MOST_SOLID:
            return ()
        heavy, of_body = _heavy(self.model), {part.body: part for part in self.parts if part.body and part.box is None}
        carried = [[child for child in children if heavy[child]] for children in self._children]
        chains, members = [], set[int]()
        for first in of_body:
            if first in members:
                continue
            row = [first]
            while len(carried[row[-1]]) == 1 and carried[row[-1]][0] in of_body:
                row.append(carried[row[-1]][0])
            members.update(row)
            if len(row) > 2:
                points = of_body[row[-1]].points
                tip = points[int(np.linalg.norm(points, axis=1).argmax())]
                radius = float(np.median([of_body[body].radius for body in row]))
                chains.append(Chain(tuple(row), tip, radius, of_body[first].colour))
        return tuple(chains)

    @cached_property
    def _children(self) -> list[list[int]]:
        return children_of([0, *(body.parent for body in self.model.bodies)])

    @cached_property
    def _points(self) -> list[Array]:
        """The points at which each body, the world first, is connected to others or has a tip."""
        model = self.model
        ends: list[list[list[float]]] = [[], *([[0.0] * 3] for _ in model.bodies)]
        heavy = _heavy(model)
        for index, body in enumerate(model.bodies, 1):
            if heavy[index] and (body.parent or body.joint.nv < 6):
                ends[body.parent].append(_place(body.placement))
        tips = self._tips()
        for index, mass in enumerate(self._solids, 1):
            if len(ends[index]) == 1 and mass is not None:  # a leaf: to its tips, and as far as its mass extends
                ends[index] += tips.get(index, []) + mass.ends()
        roots = [body for body in model.bodies if not body.parent]
        if len(roots) == 1 and roots[0].joint.nv < 6:
            ends[0].append([0.0] * 3)  # the base that it is mounted on
        return [_distinct(np.array(points).reshape(-1, 3)) for points in ends]

    def _tips(self) -> dict[int, list[list[float]]]:
        """The origins of frames other than those of bodies and joints, by body."""
        default = {WORLD, *self.model.body_names, *self.model.joint_names}
        tips: dict[int, list[list[float]]] = {}
        for frame in self.model.frames:
            if frame.name not in default and frame.body:
                tips.setdefault(frame.body, []).append(_place(frame.placement))
        return tips

    @cached_property
    def length(self) -> float:
        """The size of the mechanism (m): the longest path along it."""
        reach = [0.0]
        for index, body in enumerate(self.model.bodies, 1):
            step = float(np.linalg.norm(_place(body.placement))) if body.parent else 0.0
            here = self._points[index]
            reach.append(reach[body.parent] + step)
            if len(here) > 1 and not self._children[index]:
                reach[index] += float(np.linalg.norm(here, axis=1).max())
        return max([*reach, *(float(mass.edges.max()) for mass in self._solids if mass is not None)]) or 1.0

    def _colours(self) -> list[str]:
        """A colour for each branch; a branch begins where a body carries several."""
        heavy = _heavy(self.model)
        colours, used = [GROUNDED], 0
        for body in self.model.bodies:
            siblings = [i for i in self._children[body.parent] if heavy[i]]
            if len(siblings) == 1 and body.parent:
                colours.append(colours[body.parent])
            else:
                colours.append(PALETTE[used % len(PALETTE)])
                used += 1
        return colours


def matrix(placement: Transform) -> Array:
    """A placement as an array (4, 4)."""
    result = np.eye(4)
    result[:3, :3] = np.array(placement.rotation.numbers(), dtype=np.float64).reshape(3, 3)
    result[:3, 3] = placement.translation.numbers()
    return result


def _place(placement: Transform) -> list[float]:
    return [float(x) for x in placement.translation.numbers()]


def _heavy(model: Model) -> list[bool]:
    """Which bodies carry mass, themselves or further out; the others are only named frames."""
    heavy = [True] + [body.inertia.mass > 0.0 for body in model.bodies]
    for index in range(len(model.bodies), 0, -1):
        if heavy[index]:
            heavy[model.bodies[index - 1].parent] = True
    return heavy


def _distinct(points: Array) -> Array:
    distinct: list[Array] = []
    for point in points:
        if all(np.abs(point - other).max() > 1e-6 for other in distinct):
            distinct.append(point)
    return np.array(distinct).reshape(-1, 3)
