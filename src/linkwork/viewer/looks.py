"""What a mechanism looks like in space: coloured meshes on its bodies, and tubes along chains of very many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from linkwork.dynamics.arguments import Array
from linkwork.joints import Joint
from linkwork.model.model import WORLD, Model
from linkwork.viewer.mesh import Mesh, box, rgba, rod, rounded_hull, sphere
from linkwork.viewer.scene import CARRIED, JOINT
from linkwork.viewer.skeleton import Chain, Skeleton


@dataclass(frozen=True, eq=False)
class Piece:
    """A coloured mesh on a body (0 is the world), in the body's frame."""

    body: int
    mesh: Mesh


class Looks:
    """The pieces and chains of a model; ``boxes`` are the edges (3,) of bodies that are boxes, by number from 1."""

    def __init__(self, model: Model, boxes: Mapping[int, Array], joints: bool = True) -> None:
        self.model, self.skeleton = model, Skeleton(model)
        self.names = (WORLD, *model.body_names)
        self._boxes, self._joints = boxes, joints

    @property
    def chains(self) -> tuple[Chain, ...]:
        return tuple(chain for chain in self.skeleton.chains if not set(chain.bodies) & set(self._boxes))

    def pieces(self) -> list[Piece]:
        """Every body as the drawn shape of its mass and joints."""
        skeleton, found = self.skeleton, []
        in_chains = {body for chain in self.chains for body in chain.bodies}
        for part in skeleton.parts:
            if part.body in in_chains or part.body in self._boxes:
                continue
            if part.box is not None:
                mesh = box(part.box.edges).moved(part.box.placement)
            else:
                mesh = rounded_hull(part.points, part.radius)
            found.append(Piece(part.body, mesh.coloured(rgba(part.colour))))
        for body, edges in self._boxes.items():
            found.append(Piece(body, box(edges).coloured(rgba(CARRIED))))
        thick = {part.body: part.radius for part in skeleton.parts}
        for body, _ in skeleton.joints if self._joints else ():
            if body not in self._boxes:
                radius = min(max(thick[body], thick.get(self.model.bodies[body - 1].parent, 0.0)), 1.5 * thick[body])
                found.append(Piece(body, _joint(self.model.bodies[body - 1].joint, radius).coloured(rgba(JOINT))))
        return found


def _joint(joint: Joint, radius: float) -> Mesh:
    """A pin along the axis of a hinge, a ball for others, on bodies so thick."""
    axis = getattr(joint, "axis", None)
    if axis is None or joint.nv != 1:
        return sphere(1.05 * radius)
    along = 1.2 * radius * np.array([float(x) for x in axis.direction.numbers()])
    return rod(-along, along, 0.5 * radius)
