"""All data of a joint or a body of a model in one object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linkwork.joints import Joint
    from linkwork.model.model import Limits
    from linkwork.spatial import Transform


@dataclass(frozen=True)
class JointView:
    """A joint of a model: ``kind`` with its axis, between the bodies ``parent`` and ``child``, by name.

    ``index`` is its index in ``model.joint_names``. ``q`` and ``v`` are slices: ``v[..., joint.v]`` are its velocities.
    ``placement`` is that of the joint on the parent; ``limits`` has this joint's part of ``model.lower_limit`` and the
    other limits; ``armature`` is in kg m² or kg.
    """

    name: str
    index: int
    kind: Joint
    parent: str
    child: str
    q: slice
    v: slice
    placement: Transform
    limits: Limits
    armature: tuple[float, ...]
    actuated: bool


@dataclass(frozen=True)
class BodyView:
    """A body of a model, its parent and its children, by name.

    ``index`` is its index in ``model.body_names``, and so its row of ``f_ext``. ``com`` is the centre of mass (m) in
    the body's frame, ``inertia`` (3, 3) about it in the body's axes (kg m²); ``frames`` are the names of all frames on
    it.
    """

    name: str
    index: int
    joint: str
    parent: str
    children: tuple[str, ...]
    frames: tuple[str, ...]
    mass: float
    com: tuple[float, float, float]
    inertia: tuple[tuple[float, float, float], ...]
