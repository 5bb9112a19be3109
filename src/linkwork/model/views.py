"""What a model is asked about a joint or a body, in one piece."""

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

    ``index`` is its place in ``model.joint_names``. ``q`` and ``v`` are slices: ``v[..., joint.v]`` are its velocities.
    ``placement`` is that of the joint on the parent; ``limits`` has what ``model.lower_limit`` and its like have, for
    this joint; ``armature`` is in kg m² or kg.
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
    """A body of a model, what carries it, and what it carries, by name.

    ``index`` is its place in ``model.body_names``, and so its row of ``f_ext``. ``com`` is the centre of mass (m) in
    the body's frame, ``inertia`` (3, 3) about it in the body's axes (kg m²); ``frames`` are the names of all places on
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
