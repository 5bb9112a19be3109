"""A body pulled with the mouse: a spring from the point that was grabbed to the position of the mouse."""

from __future__ import annotations

from dataclasses import replace
from threading import Lock

import numpy as np

from linkwork.dynamics.arguments import Array
from linkwork.dynamics.kinematics import frame_velocity
from linkwork.dynamics.operational_inertia import operational_inertia_inverse
from linkwork.errors import LinkworkError
from linkwork.model.model import Model, Point
from linkwork.viewer.skeleton import Skeleton

_RATE = 12.0
"""The spring's natural frequency (rad/s) with the mechanism's effective mass at the point: stiffer for heavy ones."""
_DAMPING = 0.8  # fraction of critical damping


class Pull:
    """The grabbed point: written by the view's threads, read by a simulation's."""

    def __init__(self, model: Model, skeleton: Skeleton) -> None:
        self.model, self._skeleton = model, skeleton
        self._lock = Lock()
        self._body, self._point, self._target = 0, np.zeros(3), np.zeros(3)

    def hold(self, body: int, point: Array, target: Array) -> None:
        """Pull a point (3,) of a body, in its own frame, to a target (3,) in the world."""
        with self._lock:
            self._body, self._point, self._target = body, point, target

    def let_go(self) -> None:
        with self._lock:
            self._body = 0

    def grip(self) -> tuple[int, Array, Array]:
        """Body (0 if none), point and target."""
        with self._lock:
            return self._body, self._point, self._target

    def wrenches(self, q: Array, v: Array) -> Array:
        """The wrench on each body in its own frame (nbodies, 6)."""
        result = np.zeros((len(self.model.bodies), 6))
        body, point, target = self.grip()
        if body:
            pose = self._skeleton.placements(q)[body]
            force = pose[:3, :3].T @ self._force(q, v, body, point, target, pose)
            result[body - 1] = np.concatenate([force, np.cross(point, force)])
        return result

    def _force(self, q: Array, v: Array, body: int, point: Array, target: Array, pose: Array) -> Array:
        """The force in the world (N): of a nearly critically damped spring for the effective mass at the point."""
        name = self.model.body_names[body - 1]
        offset = np.linalg.solve(self._skeleton.frame_on_body(body), np.append(point, 1.0))[:3]
        at = Point(name, offset=tuple(offset.tolist()))
        try:
            mobility = operational_inertia_inverse(self.model, q, [replace(at, axes="position")])
        except LinkworkError:
            return np.zeros(3)
        mass = 3.0 / max(float(np.trace(mobility)), 3.0 / max(self.model.mass, 1e-9))
        velocity = pose[:3, :3] @ frame_velocity(self.model, q, v, [at])[0, :3]
        away = target - (pose[:3, :3] @ point + pose[:3, 3])
        return mass * (_RATE**2 * away - 2.0 * _DAMPING * _RATE * velocity)
