"""Mechanisms defined in code."""

from __future__ import annotations

import math
import warnings
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from struct import pack
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import all_floats, is_listed, one_or_each, several, text
from linkwork.errors import LinkworkWarning, ModelError, UnknownNameError, shown
from linkwork.joints import Fixed, Joint
from linkwork.model.all_contacts import Contacts, as_contacts
from linkwork.model.contact_edits import joined_contacts, left_contacts
from linkwork.model.geometry import Geometry, carried
from linkwork.model.inertias import NO_INERTIA, NO_MASS, NO_OFFSET, NOTHING, as_inertia
from linkwork.model.model import WORLD, Body, Frame, Limits, Model
from linkwork.model.placements import IDENTITY, as_placement
from linkwork.model.queries import unused
from linkwork.spatial import Inertia, Transform

if TYPE_CHECKING:
    from linkwork.model.actuators import Actuator
    from linkwork.model.constraints import Constraint
    from linkwork.model.contacts import Contact, Softness


class Builder:
    """Collects bodies and frames, and builds a Model from them.

    Args:
        name: name of the mechanism.
        gravity: gravitational acceleration (3,) in the world's axes, m/s².

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
        self._frames: dict[str, Frame] = {WORLD: Frame(WORLD, 0, IDENTITY)}
        self._index = {WORLD: 0}
        self._joints: set[str] = set()
        self._same_limits: dict[tuple[bytes, int, int], Limits] = {}
        self._meshes: list[str] = []
        self._geometry: list[Geometry] = []
        self._constraints: list[Constraint] = []
        self._actuators: list[Actuator] = []
        self._contacts: list[tuple[str, Contacts]] = []
        self._references: dict[str, Sequence[float]] = {}  # of joints, in which contacts measure masses
        self._bonds: list[Softness | None] = []  # softness of the constraints so far, in contact problems
        self._base = NOTHING  # the inertia that added models have fixed to the world

    def __repr__(self) -> str:
        return f"<Builder {self.name!r}: {len(self._bodies)} bodies so far>"

    def add_body(
        self,
        name: str,
        parent: str = WORLD,
        joint: Joint | None = None,
        placement: Transform | ArrayLike | None = None,
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
            name: name of the body, and of its frame.
            parent: an earlier body, a frame on one, or "world".
            joint: the joint that carries the body; fixed if left out.
            placement: of the joint on the parent, from ``lw.placement`` or a 4×4 matrix; the identity if left out.
            mass: kg.
            com: centre of mass in the body's frame (m).
            inertia: about the centre of mass, in the body's axes (kg m²): three principal values, the six numbers
                xx, xy, xz, yy, yz, zz, or a 3×3 matrix.
            joint_name: by default "joint_" and the body's name.
            armature: rotor inertia (kg m² or kg) for each degree of freedom, or one for all.
            lower: lower position limit (rad or m) for each coordinate, or one for all.
            upper: upper position limit, likewise.
            velocity: velocity limit (rad/s or m/s) for each degree of freedom, or one for all.
            effort: limit of the joint force (N m or N), likewise.
            damping: viscous damping (N m s/rad or N s/m), likewise.
            friction: Coulomb friction (N m or N), likewise.
            stiffness: stiffness of a spring at the joint (N m/rad or N/m), likewise.
            springref: the coordinates in which the spring is at rest; neutral if left out.
            actuated: whether a motor drives the joint; if left out, every joint but a free one has a motor.

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
        carrier, on_carrier = self._place(parent)
        nothing = inertia is NO_INERTIA and com is NO_OFFSET and mass is NO_MASS
        solid = NOTHING if nothing else as_inertia(f"body {name!r}", mass, com, inertia)
        here = f"joint {joint_name!r}"
        rotor = one_or_each(f"armature of {here}", armature, joint.nv, ModelError)
        if rotor and not 0.0 <= min(rotor) <= max(rotor) < math.inf:
            raise ModelError(f"armature of {here} must be finite and not negative, but is {rotor}")
        if not isinstance(actuated, bool | np.bool_ | None):
            raise ModelError(f"actuated of {here} must be True or False, not {shown(actuated)}")
        limits = self._limits(here, joint, (lower, upper, velocity, effort, damping, friction, stiffness), springref)
        place, rotor = self._on(on_carrier, here, placement), rotor if any(rotor) else ()
        driven = None if actuated is None else bool(actuated)
        self._bodies.append(Body(name, joint_name, carrier, joint, place, solid, rotor, limits, driven))
        self._index[name] = len(self._bodies)
        self._joints.add(joint_name)
        return name

    def _limits(self, where: str, joint: Joint, values: tuple[Any, ...], rest: Any) -> Limits:
        """Checked limits; joints with bitwise equal limits share one object, since there may be many."""
        plain = all_floats(values) and rest is None
        key = pack("7d", *values) if plain else b"", joint.nq, joint.nv
        if plain and key in self._same_limits:
            return self._same_limits[key]
        names = ("lower limit", "upper limit", "velocity limit", "effort limit", "damping", "friction", "stiffness")
        counts = (joint.nq,) * 2 + (joint.nv,) * 5
        numbers = zip(names, values, counts, strict=True)
        *columns, spring = (one_or_each(f"{name} of {where}", value, n, ModelError) for name, value, n in numbers)
        if any(spring):
            if not 0.0 <= min(spring) <= max(spring) < math.inf:
                raise ModelError(f"stiffness of {where} must be finite and not negative, but is {spring}")
            rest = joint.neutral() if rest is None else [rest] * joint.nq if isinstance(rest, float | int) else rest
            at_rest = tuple(several(f"springref of {where}", rest, joint.nq, ModelError))
            columns += [spring, at_rest]
        limits = Limits(*columns)
        if plain:
            self._same_limits[key] = limits
        return limits

    def add_frame(
        self, name: str, body: str, placement: Transform | ArrayLike | None = None, *, kind: str = "frame"
    ) -> str:
        """Add a named frame on a body, or on "world".

        Args:
            name: unique among frames.
            body: the body that carries it, or a frame on it.
            placement: of the frame there, from ``lw.placement`` or a 4×4 matrix; the identity if left out.
            kind: the origin of its name: "frame", "link" or "joint".

        Returns:
            The frame's name.
        """
        text("the name of a frame", name, ModelError)
        carrier, on_carrier = self._place(body)
        if name in self._frames or name in self._index:
            raise ModelError(f"there is already a frame named {name!r}; names must be unique")
        self._frames[name] = Frame(name, carrier, self._on(on_carrier, f"frame {name!r}", placement), kind)
        return name

    def add_model(
        self,
        model: Model,
        parent: str = WORLD,
        placement: Transform | ArrayLike | None = None,
        prefix: str = "",
    ) -> tuple[str, ...]:
        """Add a whole model: an arm on a mobile base, a second arm on a torso, an object beside a robot.

        The model's world is fixed to ``parent``. Its frames, limits, constraints, actuators, contacts and geometry are
        added with it, and its floor moves with its world. Bodies that were fixed to the world, such as the base of an
        arm, become part of the parent. The gravity is the builder's.

        Args:
            model: the model to add.
            parent: the body that carries it: an earlier body, a frame, or "world".
            placement: of the model's world on the parent, from ``lw.placement`` or a 4×4 matrix; the identity if left
                out.
            prefix: put before all of its names, so that a model can be added twice.

        Returns:
            The names of the added bodies.

        Raises:
            ModelError: if a body, joint or frame of that name exists already; a prefix avoids this.

        Warns:
            LinkworkWarning: if the model has another gravity than the builder.

        Example:
            >>> import linkwork as lw
            >>> arm = lw.mechanisms.serial_chain(2)
            >>> builder = lw.Builder("two_arms")
            >>> _ = builder.add_body("torso", joint=lw.joints.Revolute("z"), mass=10.0, inertia=(1, 1, 1))
            >>> for side, y in (("left_", 0.3), ("right_", -0.3)):
            ...     _ = builder.add_model(arm, "torso", lw.placement(xyz=(0, y, 1)), prefix=side)
            >>> builder.build().joint_names
            ('joint_torso', 'left_joint1', 'left_joint2', 'right_joint1', 'right_joint2')
        """
        if not isinstance(model, Model):
            raise ModelError(f"add_model takes a linkwork Model, not {shown(model)}")
        carrier, on_carrier = self._place(parent)
        place = self._on(on_carrier, f"model {model.name!r}", placement)
        if model.gravity != self.gravity:
            message = f"model {model.name!r} has gravity {model.gravity}, and is added to one of {self.gravity}"
            warnings.warn(f"{message}, which holds for all", LinkworkWarning, stacklevel=2)
        added = model.renamed(prefix)
        self._check_names(added, "give add_model a prefix" if not prefix else "choose another prefix")
        if added.base_inertia != NOTHING:
            self._add_base(carrier, place.to_parent(added.base_inertia))
        first = len(self._bodies)

        def stands(body: int, there: Transform) -> tuple[int, Transform]:
            """The carrier and the placement of what is on a body of the added model; 0 is its world."""
            if body:
                return first + body, there
            return carrier, there if place is IDENTITY else place * there

        for body in added.bodies:
            on, there = stands(body.parent, body.placement)
            self._bodies.append(replace(body, parent=on, placement=there))
            self._index[body.name] = len(self._bodies)
            self._joints.add(body.joint_name)
        for frame in added.frames:
            if frame.name != WORLD:
                on, there = stands(frame.body, frame.placement)
                self._frames[frame.name] = replace(frame, body=on, placement=there)
        self._meshes += [mesh for mesh in added.meshes if mesh not in self._meshes]
        copies = [(first + number, IDENTITY) for number in range(1, 1 + len(added.bodies))]
        self._geometry += carried(added.geometry, [(carrier, place), *copies])
        self._add_references(added, self._base_of(added, carrier, place, prefix))
        return added.body_names

    def _check_names(self, added: Model, hint: str) -> None:
        """No body, joint, frame or actuator of this model has a name that exists already."""
        existing: list[tuple[str, Container[str], tuple[str, ...]]] = [
            ("body", self._index, added.body_names),
            ("joint", self._joints, added.joint_names),
            ("frame", self._index.keys() | self._frames.keys(), added.frame_names),
            ("actuator", [one.name for one in self._actuators], tuple(one.name for one in added.actuators)),
        ]
        for kind, there, names in existing:
            for name in names:
                if name in there and name != WORLD:
                    raise ModelError(f"there is already a {kind} named {name!r}; names must be unique: {hint}")

    def _add_base(self, carrier: int, inertia: Inertia) -> None:
        """Add an inertia that is fixed to a body, or to the world."""
        if carrier:
            body = self._bodies[carrier - 1]
            self._bodies[carrier - 1] = replace(body, inertia=body.inertia + inertia)
        else:
            self._base = self._base + inertia

    def _add_references(self, added: Model, base: str) -> None:
        """Add references to frames and joints by name; ``base`` stands for the world of the added model."""

        def new_name(name: str) -> str:
            return base if name == WORLD else name

        self._constraints += [one.renamed(new_name, str) for one in added.constraints]
        self._actuators += added.actuators
        self._contacts.append((added.name, left_contacts(added, added.frame_names, added.joint_names, new_name)))
        reference, bonds = added.contacts.reference, added.contacts.bonds
        if reference is not None:
            for start, body in zip(added.q_start, added.bodies, strict=True):
                self._references[body.joint_name] = reference[start : start + body.joint.nq]
        self._bonds += bonds if len(bonds) == len(added.constraints) else [None] * len(added.constraints)

    def _base_of(self, added: Model, carrier: int, place: Transform, prefix: str) -> str:
        """The frame that represents the world in an added model's constraints; created only if one needs it."""
        with_world = any(WORLD in one.frame_names() for one in added.constraints) or any(
            WORLD in (one.frame, one.on) for one in added.contacts
        )
        if not with_world or (carrier == 0 and place == IDENTITY):
            return WORLD
        name = unused(f"{prefix or f'{added.name}_'}{WORLD}", self._frames.keys() | self._index.keys())
        self._frames[name] = Frame(name, carrier, place)
        return name

    def _place(self, name: str) -> tuple[int, Transform]:
        """The number of a body and a placement on it, by the name of the body or of a frame."""
        if isinstance(name, str):
            if name in self._index:
                return self._index[name], IDENTITY
            if name in self._frames:
                return self._frames[name].body, self._frames[name].placement
        names = [*self._index, *self._frames]
        raise UnknownNameError("body", name, dict.fromkeys(names), f"mechanism {self.name!r} so far")

    @staticmethod
    def _on(on: Transform, where: str, placement: Any) -> Transform:
        """A placement relative to a placement on a body."""
        if placement is None:
            return on
        local = as_placement(where, placement)
        return local if on is IDENTITY else on * local

    def build(
        self,
        meshes: Sequence[str] = (),
        *,
        constraints: Sequence[Constraint] | Constraint = (),
        actuators: Sequence[Actuator] = (),
        contacts: Sequence[Contact] | Contact = (),
    ) -> Model:
        """The mechanism as an immutable Model. Bodies and joints get frames of their names, unless these are taken.

        Args:
            meshes: references to mesh files.
            constraints: constraints of the model, in addition to those of added models.
            actuators: actuators of the model, likewise.
            contacts: contacts of the model, likewise.

        Returns:
            The Model.
        """
        if not is_listed(meshes):
            raise ModelError(f"meshes must be a list of paths, not {shown(meshes)}")
        for mesh in meshes:
            text("a mesh", mesh, ModelError)
        ours: Any = constraints if is_listed(constraints) else _as_list(constraints)
        for what, parts in (("constraints", ours), ("actuators", actuators)):
            if not is_listed(parts) or isinstance(parts, range):
                raise ModelError(f"{what} must be a list of them, not {shown(parts)}")
        files = tuple(dict.fromkeys([*self._meshes, *meshes]))
        rest = (*self._constraints, *ours), (*self._actuators, *actuators), tuple(self._geometry)
        frames = with_own_frames(self._frames.values(), self._bodies)
        touching = self._all_contacts(as_contacts(contacts), len(ours))
        return Model(self.name, tuple(self._bodies), frames, self.gravity, files, *rest, touching, self._base)

    def _all_contacts(self, contacts: Contacts, more: int) -> Contacts:
        """The contacts of added models, and those given to ``build``, which adds ``more`` constraints."""
        joint_contacts = joined_contacts([*self._contacts, (self.name, contacts)])
        if any(bond is not None for bond in self._bonds):
            from linkwork.model.contacts import Softness

            joint_contacts = replace(
                joint_contacts, bonds=tuple(bond or Softness() for bond in [*self._bonds, *[None] * more])
            )
        if contacts.reference is not None or self._references:
            parts = (self._references.get(body.joint_name) or body.joint.neutral() for body in self._bodies)
            joint_contacts = replace(
                joint_contacts, reference=contacts.reference or tuple(x for part in parts for x in part)
            )
        return joint_contacts


def _as_list(constraints: Any) -> Any:
    """A single constraint as a list of one."""
    from linkwork.model.constraints import Constraint

    return [constraints] if isinstance(constraints, Constraint) else constraints


def with_own_frames(others: Iterable[Frame], bodies: Sequence[Body]) -> tuple[Frame, ...]:
    """The named frames, and frames for bodies and joints, unless these names are taken."""
    frames = {frame.name: frame for frame in others}
    for kind, names in (("link", [body.name for body in bodies]), ("joint", [body.joint_name for body in bodies])):
        for index, name in enumerate(names, 1):
            if name not in frames:
                frames[name] = Frame(name, index, IDENTITY, kind)
    return tuple(frames.values())
