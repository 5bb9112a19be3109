"""Effective inverse masses, by which the softness of contacts, limits and constraints is scaled."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np
from numpy.typing import NDArray

from linkwork.algorithms import SUPPORTED
from linkwork.dynamics.arguments import Array
from linkwork.dynamics.call import call
from linkwork.dynamics.kinematics import neutral
from linkwork.engine.mode import interpreted
from linkwork.joints import Free, Spherical
from linkwork.model.all_contacts import Contacts
from linkwork.model.model import WORLD, Frame, Model
from linkwork.properties import cached_property
from linkwork.spatial import Vec3
from linkwork.spatial.small_matrices import skew

_NUMBERS = 400_000
"""The approximate size of what is processed at a time."""


def reference_configuration(model: Model, contacts: Contacts) -> Array:
    """The configuration (nq,) in which masses are measured."""
    return np.array(contacts.reference) if contacts.reference is not None else neutral(model)


class InverseMasses:
    """In the reference configuration, from the motions by unit forces.

    Args:
        model: the mechanism.
        contacts: all of them, with that configuration.
        ends: the frames that are held or touch something.
        interpreting: whether to interpret the recursion, since no code of the mechanism uses it.
    """

    def __init__(self, model: Model, contacts: Contacts, ends: Sequence[str], interpreting: bool) -> None:
        self.model, self._interpreting = model, interpreting
        self._q, self._centres = reference_configuration(model, contacts), dict(contacts.centres)
        self._ends = list(dict.fromkeys(ends))

    @cached_property
    def dofs(self) -> list[float]:
        """Of each degree of freedom; of free and spherical joints the means over three directions."""
        model, nv = self.model, self.model.nv
        masses = np.empty(nv)
        for some in _in_parts(nv, nv):
            units = np.eye(nv)[some]
            masses[some] = self._accelerations(units, np.zeros((len(units), 0, 6)))[0][np.arange(len(units)), some]
        for body, start in zip(model.bodies, model.v_start, strict=True):
            if isinstance(body.joint, Free | Spherical):
                for first in range(start, start + body.joint.nv, 3):
                    masses[first : first + 3] = masses[first : first + 3].mean()
        return masses.tolist()

    @cached_property
    def frames(self) -> dict[str, tuple[float, float]]:
        """The effective inverse mass (1/kg) and inertia (1/(kg m²)) of each frame's body at its centre of mass, means
        over three axes.
        """
        masses = dict.fromkeys(self._ends, (0.0, 0.0))
        ends = [end for end in self._ends if end != WORLD and self.model.frame(end).body]
        frames = [self.model.frame(end) for end in ends]
        for some in _in_parts(len(ends), 36 * len(ends)):
            f = np.zeros((len(some), 6, len(ends), 6))
            arms = [skew(np.array(self._centre_of(ends[k]))) for k in some]
            for k, (frame, arm) in enumerate(zip(some, arms, strict=True)):
                f[k, :, frame] = np.eye(6)
                f[k, :3, frame, 3:] = arm.T  # the moment of a force at the centre
            nothing = np.zeros((6 * len(some), self.model.nv))
            P = self._accelerations(nothing, f.reshape(-1, len(ends), 6), frames)[1]
            for k, (frame, arm) in enumerate(zip(some, arms, strict=True)):
                own = P[6 * k : 6 * k + 6, frame]
                moved = [own[i, i] - (arm @ own[i, 3:])[i] for i in range(3)]
                masses[ends[frame]] = float(np.mean(moved)), float(np.mean([own[i, i] for i in range(3, 6)]))
        return masses

    def _accelerations(self, tau: Array, f: Array, frames: Sequence[Frame] = ()) -> list[Array]:
        """Of joints and frames, by forces on them."""
        q, armature = (np.broadcast_to(x, (len(tau), x.size)) for x in (self._q, self.model.armature))
        values = [q, np.zeros_like(tau), tau, armature, f, np.zeros((*f.shape[:2], 21))]
        with interpreted() if self._interpreting else nullcontext():
            return call(SUPPORTED, self.model, values, frames)

    def _centre_of(self, end: str) -> tuple[float, float, float]:
        """The centre of mass of a frame's body, in the frame."""
        if end in self._centres:
            return self._centres[end]
        frame = self.model.frame(end)
        inertia = self.model.bodies[frame.body - 1].inertia
        mass = float(inertia.mass)
        com = Vec3(*(float(x) / mass if mass else 0.0 for x in inertia.numbers()[1:4]))
        x, y, z = frame.placement.inverse().rotation.apply(com - frame.placement.translation).numbers()
        return float(x), float(y), float(z)


def _in_parts(count: int, numbers: int) -> list[NDArray[np.intp]]:
    """A partition of ``count`` items, of so many numbers each, to be processed part by part."""
    size = max(1, _NUMBERS // max(1, numbers))
    return [np.arange(first, min(first + size, count)) for first in range(0, count, size)]
