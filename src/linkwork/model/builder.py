"""Mechanisms written in code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from struct import pack
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.arguments import all_floats, one_or_each, several, text
from linkwork.errors import ModelError, UnknownNameError, shown
from linkwork.joints import Fixed, Joint
from linkwork.model.actuators import Actuator
from linkwork.model.inertias import NO_INERTIA, NO_MASS, NO_OFFSET, as_inertia
from linkwork.model.model import WORLD, Body, Frame, Limits, Model
from linkwork.model.placements import as_placement
from linkwork.spatial import Inertia, Sym3, Transform, Vec3

if TYPE_CHECKING:
    from linkwork.model.constraints import Constraint

_IDENTITY = Transform.identity()  # one object for all, as for the next: a large model has many
_NOTHING = Inertia.from_com(NO_MASS, Vec3(*NO_OFFSET), Sym3.zero())


class Builder:
    """Collects bodies and frames, then makes a Model of them.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder("pendulum")
        >>> builder.add_body("rod", joint=lw.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
        'rod'
        >>> builder.add_frame("tip", "rod", lw.placement(xyz=(0, 0, -1)))
        'tip'
        >>> pendulum = builder.build()
        >>> float(lw.mass_matrix(pendulum, [0.0])[0, 0])
        0.35
    """

    def __init__(self, name: str = "mechanism", gravity: Sequence[float] = (0.0, 0.0, -9.81)) -> None:
        self.name = text("the name of a mechanism", name, ModelError)
        x, y, z = several("gravity", gravity, 3, ModelError)
        self.gravity = (x, y, z)
        self._bodies: list[Body] = []
        self._frames: dict[str, Frame] = {WORLD: Frame(WORLD, 0, _IDENTITY)}
        self._index = {WORLD: 0}
        self._joints: set[str] = set()
        self._same_limits: dict[tuple[bytes, int, int], Limits] = {}

    def add_body(
        self,
        name: str,
        parent: str = WORLD,
        joint: Joint | None = None,
        placement: Transform | None = None,
        *,
        mass: float = NO_MASS,
        com: Sequence[float] = NO_OFFSET,
        inertia: Any = NO_INERTIA,
        joint_name: str | None = None,
        armature: float | Sequence[float] = 0.0,
        lower: float | Sequence[float] = -math.inf,
        upper: float | Sequence[float] = math.inf,
        velocity: float | Sequence[float] = math.inf,
        effort: float | Sequence[float] = math.inf,
        damping: float | Sequence[float] = 0.0,
        friction: float | Sequence[float] = 0.0,
        stiffness: float | Sequence[float] = 0.0,
        springref: float | Sequence[float] | None = None,
        actuated: bool | None = None,
    ) -> str:
        """Add a body and the joint that carries it.

        Args:
            name: of the body, and of its frame.
            parent: an earlier body, or "world".
            joint: its kind; fixed if left out.
            placement: of the joint on the parent; see ``lw.placement``.
            mass: kg.
            com: centre of mass in the body's frame (m).
            inertia: about the centre of mass, in the body's axes (kg m²): three principal values, the six numbers
                xx, xy, xz, yy, yz, zz, or a 3×3 matrix.
            joint_name: by default "joint_" and the body's name.
            armature: rotor inertia for each degree of freedom, or one for all.
            lower: position limit for each coordinate, or one for all; ``upper`` likewise.
            upper: see ``lower``.
            velocity: limit for each degree of freedom, or one for all; effort, damping and friction likewise.
            effort: see ``velocity``.
            damping: see ``velocity``.
            friction: see ``velocity``.
            stiffness: of a spring at the joint, N/m or N m/rad, for each degree of freedom, or one for all.
            springref: the coordinates in which the spring is at rest; neutral if left out.
            actuated: whether a motor drives the joint; if left out, it has one unless it is free.

        Returns:
            The body's name.
        """
        joint = Fixed() if joint is None else joint
        text("the name of a body or joint", name, ModelError)
        if joint_name is not None:
            text("the name of a body or joint", joint_name, ModelError)
        if not isinstance(joint, Joint):
            raise ModelError(f"joint of body {name!r} must be one such as lw.joints.Revolute('z'), not {shown(joint)}")
        joint_name = f"joint_{name}" if joint_name is None else joint_name
        if name in self._index:
            raise ModelError(f"there is already a body named {name!r}; names must be unique")
        if joint_name in self._joints:
            raise ModelError(f"there is already a joint named {joint_name!r}; names must be unique")
        if not isinstance(parent, str) or parent not in self._index:
            raise UnknownNameError("body", parent, self._index, f"mechanism {self.name!r} so far")
        nothing = inertia is NO_INERTIA and com is NO_OFFSET and mass is NO_MASS
        solid = _NOTHING if nothing else as_inertia(f"body {name!r}", mass, com, inertia)
        here = f"joint {joint_name!r}"
        rotor = one_or_each(f"armature of {here}", armature, joint.nv, ModelError)
        if rotor and not 0.0 <= min(rotor) <= max(rotor) < math.inf:
            raise ModelError(f"armature of {here} must be finite and not negative, but is {rotor}")
        if not isinstance(actuated, bool | np.bool_ | None):
            raise ModelError(f"actuated of {here} must be True or False, not {shown(actuated)}")
        limits = self._limits(here, joint, (lower, upper, velocity, effort, damping, friction, stiffness), springref)
        self._bodies.append(
            Body(
                name,
                joint_name,
                self._index[parent],
                joint,
                _IDENTITY if placement is None else as_placement(here, placement),
                solid,
                rotor if any(rotor) else (),
                limits,
                None if actuated is None else bool(actuated),
            )
        )
        self._index[name] = len(self._bodies)
        self._joints.add(joint_name)
        return name

    def _limits(self, where: str, joint: Joint, given: tuple[Any, ...], rest: Any) -> Limits:
        """Checked limits; joints of the same ones, to the bit, share one object, since there may be many."""
        plain = all_floats(given) and rest is None
        key = pack("7d", *given) if plain else b"", joint.nq, joint.nv
        if plain and key in self._same_limits:
            return self._same_limits[key]
        names = ("lower limit", "upper limit", "velocity limit", "effort limit", "damping", "friction", "stiffness")
        counts = (joint.nq,) * 2 + (joint.nv,) * 5
        numbers = zip(names, given, counts, strict=True)
        *each, spring = (one_or_each(f"{name} of {where}", value, n, ModelError) for name, value, n in numbers)
        if any(spring):
            if not 0.0 <= min(spring) <= max(spring) < math.inf:
                raise ModelError(f"stiffness of {where} must be finite and not negative, but is {spring}")
            rest = joint.neutral() if rest is None else [rest] * joint.nq if isinstance(rest, float | int) else rest
            at_rest = tuple(several(f"springref of {where}", rest, joint.nq, ModelError))
            limits = Limits(*each, stiffness=spring, springref=at_rest)
        else:
            limits = Limits(*each)
        if plain:
            self._same_limits[key] = limits
        return limits

    def add_frame(self, name: str, body: str, placement: Transform | None = None) -> str:
        """Name a place on a body (or on "world").

        Args:
            name: unique among frames.
            body: which body carries it.
            placement: of the frame on the body; see ``lw.placement``.

        Returns:
            The frame's name.
        """
        text("the name of a frame", name, ModelError)
        if not isinstance(body, str) or body not in self._index:
            raise UnknownNameError("body", body, self._index, f"mechanism {self.name!r} so far")
        if name in self._frames or name in self._index:
            raise ModelError(f"there is already a frame named {name!r}; names must be unique")
        place = _IDENTITY if placement is None else as_placement(f"frame {name!r}", placement)
        self._frames[name] = Frame(name, self._index[body], place)
        return name

    def build(
        self,
        meshes: Sequence[str] = (),
        *,
        constraints: Sequence[Constraint] = (),
        actuators: Sequence[Actuator] = (),
    ) -> Model:
        """The mechanism as an immutable Model. Bodies and joints get frames of their names, where these are not
        taken. ``constraints`` and ``actuators`` become those of the model.
        """
        if isinstance(meshes, str) or not isinstance(meshes, Sequence):
            raise ModelError(f"meshes must be a list of paths, not {shown(meshes)}")
        for mesh in meshes:
            text("a mesh", mesh, ModelError)
        own = dict(self._frames)
        for index, body in enumerate(self._bodies, 1):
            if body.name not in own:
                own[body.name] = Frame(body.name, index, _IDENTITY)
        for index, body in enumerate(self._bodies, 1):
            if body.joint_name not in own:
                own[body.joint_name] = Frame(body.joint_name, index, _IDENTITY)
        for what, parts in (("constraints", constraints), ("actuators", actuators)):
            if isinstance(parts, str) or not isinstance(parts, Sequence):
                raise ModelError(f"{what} must be a list of them, not {shown(parts)}")
        frames, held = tuple(own.values()), (tuple(constraints), tuple(actuators))
        return Model(self.name, tuple(self._bodies), frames, self.gravity, tuple(meshes), *held)
