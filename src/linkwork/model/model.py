"""The immutable description of a mechanism."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.arguments import choice, is_integer, is_listed, several, text
from linkwork.errors import ModelError, UnknownNameError, shown
from linkwork.joints import Joint
from linkwork.model import editing, queries
from linkwork.model.all_contacts import Contacts, as_contacts
from linkwork.model.geometry import Geometry
from linkwork.model.inertias import NOTHING
from linkwork.model.limits import Limits as Limits
from linkwork.model.memo import Memo, requested
from linkwork.model.placements import as_placement
from linkwork.model.points import Point as Point
from linkwork.model.queries import WORLD as WORLD
from linkwork.properties import cached_property
from linkwork.spatial import Inertia, Transform

if TYPE_CHECKING:
    from linkwork.model.actuators import Actuator
    from linkwork.model.constraints import Constraint

_KINDS = ("frame", "link", "joint")


@dataclass(frozen=True)
class Body:
    """A rigid body with the joint that connects it to its parent.

    Attributes:
        name: unique among bodies. joint_name: unique among joints. parent: the parent's number in the tree, where the
        world is 0: one more than its index in ``model.body_names``; ``model.body(name).parent`` is its name. joint: its
        type and parameters. placement: of the joint's frame in the parent's frame. The body's own frame is the joint's
        moving frame. inertia: about the body's frame (kg, kg m, kg m²). armature: rotor inertia of each degree of
        freedom, reflected to the joint (kg m² or kg); empty if there is none. limits: of the joint. actuated: whether
        a motor drives the joint; by default, every joint but a free one.
    """

    name: str
    joint_name: str
    parent: int
    joint: Joint
    placement: Transform
    inertia: Inertia
    armature: tuple[float, ...]
    limits: Limits
    actuated: bool | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            name: str,
            joint_name: str,
            parent: int,
            joint: Joint,
            placement: Transform | ArrayLike,
            inertia: Inertia,
            armature: tuple[float, ...],
            limits: Limits,
            actuated: bool | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        if not isinstance(self.placement, Transform):
            object.__setattr__(self, "placement", as_placement(f"joint {self.joint_name!r}", self.placement))


@dataclass(frozen=True)
class Frame:
    """A named frame at a ``placement`` on a body. ``body`` is its number in the tree that algorithms traverse, where
    the world is 0: one more than its index in ``model.body_names``. ``model.body_of(name)`` returns its name.

    ``kind`` is the origin of its name: "link", a body or a link of a file that is merged into one; "joint"; or
    "frame", a frame that was named explicitly.
    """

    name: str
    body: int
    placement: Transform
    kind: str = "frame"

    if TYPE_CHECKING:

        def __init__(self, name: str, body: int, placement: Transform | ArrayLike, kind: str = "frame") -> None: ...

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not (type(self.body) is int or is_integer(self.body)):
            raise ModelError(f"a frame is a name on a body's number, not {shown(self.name)} on {shown(self.body)}")
        if not isinstance(self.placement, Transform):
            object.__setattr__(self, "placement", as_placement(f"frame {self.name!r}", self.placement))
        if type(self.kind) is not str or self.kind not in _KINDS:
            choice(f"kind of frame {self.name!r}", self.kind, _KINDS, ModelError)


@dataclass(frozen=True)
class Model:
    """A mechanism: bodies in an order in which parents come first, named frames, and gravity.

    Made by ``lw.load``, ``lw.Builder`` or ``lw.mechanisms``. It is immutable, can be pickled and compared, and holds
    no state of any computation. ``gravity`` is the gravitational acceleration in the world's axes, m/s².
    """

    name: str
    bodies: tuple[Body, ...]
    frames: tuple[Frame, ...]
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    meshes: tuple[str, ...] = field(default=(), repr=False)
    """References to mesh files as the model file gives them; opened only where they are shown."""
    constraints: tuple[Constraint, ...] = field(default=(), repr=False)
    """Constraints between frames or joints, such as mimic joints: ``lw.simulate`` and ``lw.rollout`` apply them,
    ``lw.inverse_kinematics`` applies couplings, ``lw.constrained_dynamics`` takes them; other functions use the tree
    alone."""
    actuators: tuple[Actuator, ...] = field(default=(), repr=False)
    """The motors that the model file describes; ``lw.actuator_torques`` computes their joint forces."""
    geometry: tuple[Geometry, ...] = field(default=(), repr=False, compare=False)
    """The geometry of the model file; not part of the mechanism: models that differ only in it are equal."""
    contacts: Contacts = field(default=Contacts(), repr=False)
    """The contacts that the model file describes; they act only in functions that are given them."""
    base_inertia: Inertia = field(default=NOTHING, repr=False)
    """The inertia of parts fixed to the world, about its origin (kg, kg m, kg m²). It has no effect; if the model is
    added to a body, the body takes it over."""

    def __post_init__(self) -> None:
        text("the name of a model", self.name, ModelError)
        for what, one, parts in (
            ("bodies", Body, self.bodies),
            ("frames", Frame, self.frames),
            ("geometry", Geometry, self.geometry),
        ):
            if not isinstance(parts, tuple) or not all(isinstance(part, one) for part in parts):
                raise ModelError(f"{what} of model {self.name!r} must be a tuple of these, not {shown(parts)}")
        x, y, z = several(f"gravity of model {self.name!r}", self.gravity, 3, ModelError)
        if type(self.gravity) is not tuple or self.gravity != (x, y, z):
            object.__setattr__(self, "gravity", (x, y, z))
        self._check_names()
        self._check_bodies()
        object.__setattr__(self, "contacts", as_contacts(self.contacts))
        if not isinstance(self.base_inertia, Inertia):
            raise ModelError(f"base_inertia of model {self.name!r} must be an inertia, not {shown(self.base_inertia)}")
        with_lists = any(type(parts) is not tuple or parts for parts in (self.constraints, self.actuators))
        if with_lists or self.contacts != Contacts():
            from linkwork.model.references import check_references

            check_references(self)

    def _check_names(self) -> None:
        for kind, names in (("body", self.body_names), ("joint", self.joint_names), ("frame", self.frame_names)):
            if len(set(names)) != len(names):
                double = next(name for name in names if names.count(name) > 1)
                raise ModelError(f"model {self.name!r} has two of the {kind} name {double!r}; names must be unique")

    def _check_bodies(self) -> None:
        """Every body comes after the one that carries it; everything else is on a body that exists."""
        for index, body in enumerate(self.bodies, 1):
            if not 0 <= body.parent < index:
                raise ModelError(f"body {body.name!r} comes before its parent")
        on = [(f"frame {frame.name!r}", frame.body) for frame in self.frames]
        for what, carrier in [*on, *((f"a {shape.kind}", shape.body) for shape in self.geometry)]:
            if not 0 <= carrier <= len(self.bodies):
                raise ModelError(f"{what} is on body {shown(carrier)}, of {len(self.bodies)}")

    def __repr__(self) -> str:
        return f"<Model {self.name!r}: {len(self.bodies)} bodies, nq {self.nq}, nv {self.nv}>"

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}

    @property
    def _memo(self) -> Memo:
        """The cache of the model, for the form that is requested; no part of its value."""
        form = requested.get()
        return self._own_memo.forms.setdefault(form, Memo()) if form else self._own_memo

    @cached_property
    def _own_memo(self) -> Memo:
        return Memo()

    @cached_property
    def nq(self) -> int:
        """The number of coordinates of a configuration."""
        return sum(body.joint.nq for body in self.bodies)

    @cached_property
    def nv(self) -> int:
        """The number of degrees of freedom."""
        return sum(body.joint.nv for body in self.bodies)

    @cached_property
    def body_names(self) -> tuple[str, ...]:
        """The names of the bodies, in the order of ``f_ext``; the world is not among them."""
        return tuple(body.name for body in self.bodies)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """The names of the joints, in the order of q and v; joint i carries body i."""
        return tuple(body.joint_name for body in self.bodies)

    @cached_property
    def frame_names(self) -> tuple[str, ...]:
        """All names that ``frames`` arguments accept: named frames, links and joints, as ``frame(name).kind`` says."""
        return tuple(frame.name for frame in self.frames)

    @cached_property
    def q_start(self) -> tuple[int, ...]:
        """The index in q of each joint's first coordinate."""
        return _starts(body.joint.nq for body in self.bodies)

    @cached_property
    def v_start(self) -> tuple[int, ...]:
        """The index in v of each joint's first degree of freedom."""
        return _starts(body.joint.nv for body in self.bodies)

    @cached_property
    def depth(self) -> int:
        """The number of joints on the longest path from the world."""
        depths = [0]
        for body in self.bodies:
            depths.append(depths[body.parent] + 1)
        return max(depths)

    @cached_property
    def mass(self) -> float:
        """The total mass (kg) of the bodies."""
        return float(sum(body.inertia.mass for body in self.bodies))

    @cached_property
    def _hash(self) -> int:
        return hash((self.name, self.bodies, self.frames, self.gravity, self.meshes))

    def __hash__(self) -> int:
        return self._hash

    def body_index(self, name: str) -> int:
        """The index of a body in ``body_names``."""
        return self._index("body", name, self._body_index, self.body_names)

    def joint_index(self, name: str) -> int:
        """The index of a joint in ``joint_names``."""
        return self._index("joint", name, self._joint_index, self.joint_names)

    def frame(self, name: str) -> Frame:
        """The frame of that name."""
        return self.frames[self._index("frame", name, self._frame_index, self.frame_names)]

    @cached_property
    def _body_index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.body_names)}

    @cached_property
    def _joint_index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.joint_names)}

    @cached_property
    def _frame_index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.frame_names)}

    def _index(self, kind: str, name: str, index: dict[str, int], names: Sequence[str]) -> int:
        if not isinstance(name, str) or name not in index:
            raise UnknownNameError(kind, name, names, f"model {self.name!r}", queries.what_it_is(self, name))
        return index[name]

    def permutation(self, names: Sequence[str], of: str = "v") -> NDArray[np.intp]:
        """Indices that reorder a vector from this model's joint order to the order of ``names``, or select a part.

        Args:
            names: joint names, each at most once: all joints, or some.
            of: "v" for vectors of length nv (v, a, tau), "q" for configurations.

        Returns:
            An integer array ``p`` with ``v[p]`` in the order of ``names``. For all joints, ``w[np.argsort(p)]`` is the
            inverse; for some, ``v[p] = w`` writes their numbers into a whole vector.

        Example:
            >>> import linkwork as lw
            >>> model = lw.mechanisms.serial_chain(3)
            >>> model.permutation(["joint3", "joint1", "joint2"]), model.permutation(["joint3", "joint2"])
            (array([2, 0, 1]), array([2, 1]))
        """
        choice("of", of, ("q", "v"), ModelError)
        if not is_listed(names) and not (isinstance(names, np.ndarray) and names.ndim == 1):
            raise ModelError(f"names must be a list of joints' names, not {shown(names)}")
        starts = self.q_start if of == "q" else self.v_start
        indices = [self.joint_index(name) for name in names]
        if len(set(indices)) != len(indices):
            double = next(name for name in names if list(names).count(name) > 1)
            raise ModelError(f"names must hold each joint once; {double!r} is there twice")
        sizes = [body.joint.nq if of == "q" else body.joint.nv for body in self.bodies]
        return np.array([starts[i] + k for i in indices for k in range(sizes[i])], dtype=np.intp)

    def _gather(self, attribute: str) -> NDArray[np.float64]:
        values = np.array([x for body in self.bodies for x in getattr(body.limits, attribute)], dtype=np.float64)
        values.flags.writeable = False
        return values

    @property
    def lower_limit(self) -> NDArray[np.float64]:
        """Lower position limits (nq,), rad or m; minus infinity where there is none."""
        return self._gather("lower")

    @property
    def upper_limit(self) -> NDArray[np.float64]:
        """Upper position limits (nq,), rad or m; infinity where there is none."""
        return self._gather("upper")

    @property
    def velocity_limit(self) -> NDArray[np.float64]:
        """Velocity limits (nv,), rad/s or m/s."""
        return self._gather("velocity")

    @property
    def effort_limit(self) -> NDArray[np.float64]:
        """Limits of joint forces (nv,), N m or N."""
        return self._gather("effort")

    @property
    def damping(self) -> NDArray[np.float64]:
        """Viscous damping (nv,), N m s/rad or N s/m; the dynamics functions leave it to the caller's tau."""
        return self._gather("damping")

    @property
    def friction(self) -> NDArray[np.float64]:
        """Coulomb friction (nv,), N m or N; the dynamics functions leave it to the caller's tau."""
        return self._gather("friction")

    @property
    def stiffness(self) -> NDArray[np.float64]:
        """Stiffness of the joints' springs (nv,), N m/rad or N/m; ``lw.simulate`` and ``lw.rollout`` apply them, the
        dynamics functions leave them to the caller's tau.
        """
        return np.array([x for b in self.bodies for x in (b.limits.stiffness or (0.0,) * b.joint.nv)], dtype=np.float64)

    @property
    def springref(self) -> NDArray[np.float64]:
        """The configuration (nq,) in which the springs are at rest; neutral where there is no spring."""
        return np.array([x for b in self.bodies for x in (b.limits.springref or b.joint.neutral())], dtype=np.float64)

    @property
    def actuated(self) -> NDArray[np.bool_]:
        """Whether a motor drives each degree of freedom (nv,); false for a free joint, unless the model says otherwise.

        Example:
            >>> import linkwork as lw
            >>> lw.mechanisms.serial_chain(2, floating_base=True).actuated.astype(int)
            array([0, 0, 0, 0, 0, 0, 1, 1])
        """
        driven = [queries.is_driven(body) for body in self.bodies]
        values = np.repeat(np.array(driven, dtype=bool), [body.joint.nv for body in self.bodies])
        values.flags.writeable = False
        return values

    @property
    def armature(self) -> NDArray[np.float64]:
        """Rotor inertia of each degree of freedom (nv,), kg m² or kg; included in the dynamics."""
        return np.array(
            [x for body in self.bodies for x in (body.armature or (0.0,) * body.joint.nv)], dtype=np.float64
        )

    @property
    def inertial_parameters(self) -> NDArray[np.float64]:
        """Inertial parameters of each body (nbodies, 10): mass (kg), mass times centre of mass (kg m), Ixx, Ixy, Iyy,
        Ixz, Iyz, Izz (kg m²) about the origin of the body's frame; ``lw.torque_regressor`` has columns in this order,
        and ``lw.with_inertial_parameters`` takes them.
        """
        numbers = [body.inertia.numbers() for body in self.bodies]
        # contiguous, so that scaled copies for many mechanisms are, too
        return np.array(numbers, dtype=np.float64).reshape(-1, 10).take([0, 1, 2, 3, 4, 5, 7, 6, 8, 9], axis=1)

    # Queries by name, and edited models; each is a function with its own docstring

    link_names = cached_property(queries.link_names)
    frame_index = queries.frame_index
    joint, body, body_of = queries.joint, queries.body, queries.body_of
    q_slice, v_slice, configuration = queries.q_slice, queries.v_slice, queries.configuration
    tree, _repr_html_ = queries.tree, queries.html
    locked, subtree, renamed = editing.locked, editing.subtree, editing.renamed
    with_gravity, with_payload, with_inertias = editing.with_gravity, editing.with_payload, editing.with_inertias


def _starts(sizes: Iterable[int]) -> tuple[int, ...]:
    return tuple(accumulate(sizes, initial=0))[:-1]
