"""Forces as arrows: their points of application and vectors, in the world, over the states of a motion."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any

import numpy as np

from linkwork.arguments import finite_array
from linkwork.dynamics.arguments import Array
from linkwork.dynamics.contact.law import touching
from linkwork.dynamics.kinematics import forward_kinematics
from linkwork.dynamics.loads import external_wrench
from linkwork.dynamics.reactions import inverse_dynamics_and_reactions
from linkwork.errors import ArgumentError
from linkwork.model.constraints import Constraint, Coupling, as_constraints
from linkwork.model.model import Model, Point
from linkwork.simulation.trajectory import Trajectory
from linkwork.viewer.motions import Motion
from linkwork.viewer.skeleton import Skeleton

FORCES = {
    "contact forces": "#e8590c",
    "reaction forces": "#7a3fb5",
    "constraint forces": "#c0392b",
    "external forces": "#1e8449",
}
"""Kinds of forces, and their colours."""


class Forces:
    """The forces in one motion, as far as they are known.

    Args:
        skeleton: of its model.
        recorded: the number of constraint or contact forces that its states have.
        driven: whether its accelerations are known.
        constraints: those of the recorded forces, if they are not of contacts; the model's own if there are as many.
        contacts: those of the recorded forces; None for none.
        f_ext: external wrenches (nbodies, 6) on the bodies of this model; None for none.

    Attributes:
        f_ext: these wrenches. They may be set anew for each state.
    """

    def __init__(
        self, skeleton: Skeleton, recorded: int, driven: bool, constraints: Sequence[Constraint], contacts: Any,
        f_ext: Array | None,
    ) -> None:  # fmt: skip
        self.model, self._skeleton, self.f_ext = skeleton.model, skeleton, f_ext
        touched = None if contacts is None or not recorded else touching(self.model, contacts)
        self._touched = touched if touched is not None and touched.points == recorded else None
        bonds = tuple(constraints) or self.model.constraints
        self._bonds = bonds if recorded and len(bonds) == recorded and self._touched is None else ()
        complete = not recorded or self._touched is not None or bool(self._bonds)
        pulled = any(not isinstance(one, Coupling) for one in self._bonds)
        there = self._touched is not None, complete and driven, pulled, f_ext is not None
        self.kinds = tuple(compress(FORCES, there))

    def at(self, kind: str, q: Array, states: Trajectory | None) -> tuple[Array, Array]:
        """Points (K, n, 3) and forces (K, n, 3), N, in configurations (K, nq), those of the states if there are any."""
        if kind == "contact forces":
            assert states is not None and self._touched is not None
            places, _ = self._touched.points_law(q)
            return places, states.constraint_forces[..., :3]
        if kind == "constraint forces":
            assert states is not None
            which = [k for k, one in enumerate(self._bonds) if not isinstance(one, Coupling)]
            poses = forward_kinematics(self.model, q, [_point(self._bonds[k].frame_a) for k in which])
            return poses[..., :3, 3], _in_world(poses, states.constraint_forces[:, which, :3])
        poses = self._skeleton.placements(q)[:, 1:]
        if kind == "external forces":
            assert self.f_ext is not None
            return poses[..., :3, 3], _in_world(poses, self.f_ext[None, :, :3])
        assert states is not None
        _, wrenches = inverse_dynamics_and_reactions(self.model, q, states.v, states.a, self._loads(q, states))
        return poses[..., :3, 3], _in_world(poses, wrenches[..., :3])

    def _loads(self, q: Array, states: Trajectory) -> Array | None:
        """All wrenches on bodies except those of joints (K, nbodies, 6), each in its own frame."""
        loads: dict[str | Point, Any] = {}  # at frames, in world axes, about the world's origin

        def act(on: str, wrenches: Array) -> None:
            loads[on] = loads.get(on, 0.0) + wrenches

        if self._touched is not None:
            ends = [(one.frame, one.on) for one in self._touched.contacts for _ in range(one.points)]
            for k, (frame, on) in enumerate(ends):
                act(frame, states.constraint_forces[:, k])
                act(on, -states.constraint_forces[:, k])
        for k, one in enumerate(self._bonds):
            if isinstance(one, Coupling):  # a coupling acts between joints, and exerts no wrench on bodies
                continue
            pose = forward_kinematics(self.model, q, [_point(one.frame_a)])
            force, moment = (_in_world(pose, states.constraint_forces[:, [k], part])[:, 0] for part in _HALVES)
            about = moment + np.cross(pose[:, 0, :3, 3], force)
            act(_point(one.frame_a).frame, np.concatenate([force, about], axis=-1))
            act(_point(one.frame_b).frame, -np.concatenate([force, about], axis=-1))
        if not loads:
            return self.f_ext
        return external_wrench(self.model, q, loads, "world") + (0.0 if self.f_ext is None else self.f_ext)


_HALVES = slice(0, 3), slice(3, 6)


def forces_of(
    motions: Sequence[Motion], skeletons: Sequence[Skeleton], constraints: Any, contacts: Any, f_ext: Any
) -> list[Forces]:
    """The forces in each of the motions; ``f_ext`` acts on the first model. Arguments as given by the user."""
    bonds, first = as_constraints(constraints), motions[0].model
    load = None if f_ext is None else finite_array("f_ext", f_ext)
    if load is not None and load.shape != (len(first.bodies), 6):
        raise ArgumentError(f"f_ext must have shape ({len(first.bodies)}, 6), not {load.shape}")
    forces = [
        Forces(skeleton, motion.recorded, motion.driven, bonds, contacts, load if motion.model is first else None)
        for motion, skeleton in zip(motions, skeletons, strict=True)
    ]
    with_contacts = any("contact forces" in one.kinds for one in forces)
    points = 0 if contacts is None or with_contacts else touching(first, contacts).points
    if points:
        raise ArgumentError(
            f"contacts have {points} points, but the motion has recorded {motions[0].recorded} forces; "
            "lw.simulate(..., contacts=contacts, contact_forces=True) records those of contacts"
        )
    return forces


def newton_length(model: Model, length: float) -> float:
    """The length (m) of an arrow per newton: the mechanism's weight is half of its length."""
    return 0.5 * length / max(model.mass * max(float(np.linalg.norm(model.gravity)), 1.0), 1e-9)


def _point(end: str | Point) -> Point:
    return end if isinstance(end, Point) else Point(end)


def _in_world(poses: Array, vectors: Array) -> Array:
    """Vectors (..., n, 3) in the axes of poses (..., n, 4, 4), rotated to world axes."""
    return np.asarray(np.einsum("...ij,...j->...i", poses[..., :3, :3], vectors))
