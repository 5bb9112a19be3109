"""An object held by several hands: the augmented object of Khatib, and Chang, Holmberg and Khatib.

The object is a body of the model on a free joint; each hand is welded to a grip on it. With G the Jacobian of the grips
with respect to the object's motion, the hands move as V = G v, and W = Gᵀ, the grasp map, maps the wrenches of the
hands to the wrench on the object. With Λ the (coupled) operational inertia of the hands, the augmented object has, at
the hands' command,

    Λ⊕ = I + Gᵀ Λ G,     F⊕ = Gᵀ F = Λ⊕ v̇ + μ⊕ + p⊕

The wrenches in the null space of W are internal: they strain the object and do not move it. They are commanded
separately, as wrenches or as the forces of a virtual linkage between the hands; the wrench that moves the object is
distributed among the hands without any internal part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import finite_array, is_listed, text, with_old_names
from linkwork.control.gains import gains
from linkwork.control.goals import Goal, Situation, Wanted, as_placement, one_state, servo
from linkwork.control.references import Reference, Sample, as_reference
from linkwork.control.rotations import log
from linkwork.control.virtual_linkage import Links, VirtualLinkage
from linkwork.dynamics.arguments import Array, as_frames
from linkwork.dynamics.dynamics import gravity_torques, mass_matrix, nonlinear_effects
from linkwork.dynamics.inversion import inverted
from linkwork.dynamics.kinematics import forward_kinematics, jacobian, jacobian_drift, neutral
from linkwork.dynamics.operational import force_responses
from linkwork.errors import ArgumentError, shown
from linkwork.joints import Free
from linkwork.model.constraints import Weld
from linkwork.model.model import Model, Point
from linkwork.spatial import Transform


class HeldObject(Goal):
    """Let an object in several hands follow a reference, and squeeze it with given internal forces.

    The error of its pose obeys the equation of ``Task``.

    Args:
        body: the object: a body on a free joint of the world.
        welds: ``lw.Weld(hand, place)`` for each hand, ``place`` a frame on the object; the same as in the simulation.
        reference: for the pose of the body's frame: a ``Reference``, or a constant pose (4, 4).
        kp: K, 1/s²: one number, or six, linear first, in world axes.
        kd: D, 1/s, likewise; critical, 2 √K, if omitted.
        internal: wrenches (m, 6) of the hands on the object (N, N m), in the hands' own axes, of which only the
            internal part (with zero resultant) is commanded; or a ``Reference`` to a vector of these 6m numbers. Zero
            by default.
        links: for three or more hands, of a ``VirtualLinkage`` between them: 3m - 6 pairs of hands, or "auto".
            ``internal`` are then its 6m - 6 numbers: the links' tensions (N), then the moments at the hands (N m), or a
            ``Reference`` to these; and the object is carried by the smallest forces, without moments of the hands.

    Example:
        >>> import linkwork as lw
        >>> welds = [lw.Weld("left_hand", "left_grip"), lw.Weld("right_hand", "right_grip")]
        >>> squeeze = [[20, 0, 0, 0, 0, 0], [20, 0, 0, 0, 0, 0]]  # each hand pushes along its own x
        >>> box = lw.control.HeldObject("box", welds, reference=[[1,0,0,0.5], [0,1,0,0], [0,0,1,1], [0,0,0,1]],
        ...                             internal=squeeze)
        >>> box.hands
        ('left_hand', 'right_hand')
    """

    follows = ("reference", "internal")

    @with_old_names(stiffness="kp", damping="kd")
    def __init__(
        self,
        body: str,
        welds: Sequence[Weld],
        reference: Reference | ArrayLike,
        kp: ArrayLike = 100.0,
        kd: ArrayLike | None = None,
        internal: Reference | ArrayLike | None = None,
        links: Links | str | None = None,
    ) -> None:
        name = f"the held object {text('body', body)!r}"
        if not is_listed(welds) or not welds or not all(isinstance(weld, Weld) for weld in welds):
            raise ArgumentError(f"welds of {name} must be lw.Weld objects, one for each hand, not {shown(welds)}")
        self.body, self.welds = body, tuple(welds)
        if any(weld.placement != Transform.identity() for weld in self.welds):
            raise ArgumentError(f"welds of {name} must hold frames together as they are; name the places as frames")
        self.hands = tuple(weld.frame_a for weld in self.welds)
        self.places = tuple(weld.frame_b for weld in self.welds)
        self.reference = as_reference(f"reference of {name}", reference)
        if self.reference.shape != (4, 4):
            raise ArgumentError(f"reference of {name} must be a pose (4, 4), not {self.reference.shape}")
        self.kp, self.kd = gains(name, kp, kd, 6)
        self.links = _as_links(name, links)
        self.internal = _internal(name, internal, len(self.hands), self.links)
        self.points = tuple(Point(hand) if isinstance(hand, str) else hand for hand in self.hands)
        self.rows, self.seen = tuple(range(6 * len(self.hands))), (body,)

    def passive(self, model: Model) -> list[int]:
        own = self._grasp(model).own
        return list(range(own.start, own.stop))

    def linkage(self, model: Model) -> VirtualLinkage:
        """The ``VirtualLinkage`` between the hands of a model, whose frame is the object's: for wrenches of the hands
        on the object, in the hands' axes.
        """
        return _linkage(model, self.places, self.links if isinstance(self.links, tuple) else None)

    def _grasp(self, model: Model) -> Grasp:
        return _grasp(model, self.body, self.places, self.links)

    def error(self, t: float, placement: ArrayLike) -> Array:
        """The error of a placement (4, 4) of the object against the reference: (6,), m and rad, in world axes."""
        place, value = as_placement(placement), self.reference.at(t).value
        return np.concatenate([place[:3, 3] - value[:3, 3], log(place[:3, :3] @ value[:3, :3].T)])

    @property
    def structure(self) -> tuple[object, ...]:
        return *super().structure, self.body, self.places, self.links

    def asked(self, samples: Sequence[Sample], kp: Array, kd: Array, now: Situation, first: int, seen: int) -> Wanted:
        own, grasp, shares, strains = self._grasp(now.model)
        # A free joint's velocity is its body's twist, so that G is constant and the desired acceleration of the hands
        # is G v̇.
        rate = servo(samples[0], now.placements[seen], now.v[own], kp, kd)
        strain = samples[1].value if strains is None else strains @ samples[1].value
        wrench = strain + shares @ (now.mass[own, own] @ rate + now.bias[own] - grasp.T @ strain)
        return Wanted(grasp @ rate, wrench)


@dataclass(frozen=True)
class AugmentedObject:
    """An object together with the hands that hold it: F⊕ = Λ⊕ v̇ + μ⊕ + p⊕, in the object's own axes.

    Attributes:
        grasp_map: W (6, 6m): from the wrenches of the hands, each in its own axes, to the wrench on the object.
        shares: (6m, 6): from a wrench on the object to wrenches of the hands without an internal part; W shares = 1.
        inertia: Λ⊕ (6, 6).
        coriolis: μ⊕ (6,), N and N m.
        gravity: p⊕ (6,), N and N m.
    """

    grasp_map: Array
    shares: Array
    inertia: Array
    coriolis: Array
    gravity: Array

    def internal(self, wrenches: ArrayLike) -> Array:
        """The internal part (m, 6) of the hands' wrenches on the object (m, 6): the part with zero resultant."""
        given = finite_array("wrenches", wrenches)
        if given.shape not in ((len(self.shares) // 6, 6), (len(self.shares),)):
            raise ArgumentError(f"wrenches must have shape ({len(self.shares) // 6}, 6), not {given.shape}")
        wrenches = given.ravel()
        return (wrenches - self.shares @ (self.grasp_map @ wrenches)).reshape(given.shape)


def augmented_object(model: Model, q: ArrayLike, v: ArrayLike, held: HeldObject) -> AugmentedObject:
    """The inertia, the bias forces and the grasp map of an object with the hands that hold it, in one state.

    Args:
        model: the mechanism, with the object as one of its bodies.
        q: configuration (nq,), with the hands at their grips on the object.
        v: velocity (nv,), likewise.
        held: the object and its hands.

    Returns:
        An ``AugmentedObject``.

    Raises:
        SingularError: if the hands cannot move independently.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder()
        >>> for side in ("left", "right"):
        ...     _ = builder.add_body(side, joint=lw.joints.Free(), mass=1.0, inertia=(0.01, 0.01, 0.01))
        >>> _ = builder.add_body("plate", joint=lw.joints.Free(), mass=3.0, inertia=(0.1, 0.1, 0.1))
        >>> model = builder.build()
        >>> held = lw.control.HeldObject("plate", [lw.Weld("left", "plate"), lw.Weld("right", "plate")],
        ...                              reference=[[1,0,0,0], [0,1,0,0], [0,0,1,0], [0,0,0,1]])
        >>> lw.control.augmented_object(model, lw.neutral(model), [0.0] * 18, held).inertia.diagonal().round(9)
        array([5.  , 5.  , 5.  , 0.12, 0.12, 0.12])
    """
    if not isinstance(held, HeldObject):
        raise ArgumentError(f"held must be an lw.control.HeldObject, not {shown(held)}")
    q, v = one_state(model, q, v)
    own, grasp, shares, _ = held._grasp(model)
    responses = force_responses(model, q, held.hands)
    mobility = responses @ jacobian(model, q, held.hands).T
    inertia = inverted(as_frames(model, held.hands), 0.5 * (mobility + mobility.T))
    gravity = gravity_torques(model, q)
    moving = nonlinear_effects(model, q, v) - gravity
    drift = jacobian_drift(model, q, v, held.hands)
    felt = grasp.T @ inertia
    return AugmentedObject(
        grasp.T,
        shares,
        mass_matrix(model, q)[own, own] + felt @ grasp,
        moving[own] + felt @ (responses @ moving - drift),
        gravity[own] + felt @ (responses @ gravity),
    )


class Grasp(NamedTuple):
    """The object's degrees of freedom in v; G (6m, 6), which is the same in every state; the distribution of a load
    (6m, 6); and the wrenches (6m, 6m - 6) for the internal forces of a linkage, if there is one.
    """

    own: slice
    map: Array
    shares: Array
    strains: Array | None


@lru_cache(maxsize=256)
def _grasp(model: Model, body: str, places: tuple[str | Point, ...], links: Chosen) -> Grasp:
    """The grasp of an object.

    Without a linkage, of all wrenches of the hands with a given resultant, the smallest are taken, with a moment
    measured as the force that causes it at the mean distance of the grips from their centre.
    """
    index = model.body_index(body)
    joint = model.bodies[index].joint
    if not isinstance(joint, Free) or model.bodies[index].parent:
        raise ArgumentError(
            f"the held object {body!r} must be a body on a free joint of the world, "
            f"but is on a {type(joint).__name__} joint of model {model.name!r}"
        )
    for place in places:
        frame = place if isinstance(place, str) else place.frame
        if model.frame(frame).body != index + 1:
            raise ArgumentError(f"frame {frame!r} is no place on the held object {body!r}; weld hands to places on it")
    own = slice(model.v_start[index], model.v_start[index] + 6)
    grasp = jacobian(model, neutral(model), places)[:, own]
    if links is not None:
        linkage = _linkage(model, places, links if isinstance(links, tuple) else None)
        return Grasp(own, grasp, linkage.inverse[:, :6], linkage.inverse[:, 6:])
    positions = forward_kinematics(model, neutral(model), places)[:, :3, 3]
    spread = float(((positions - positions.mean(axis=0)) ** 2).sum(axis=1).mean())
    weighted = np.tile([1.0, 1.0, 1.0, *[spread or 1.0] * 3], len(places))[:, None] * grasp
    shares = np.asarray(np.linalg.solve(weighted.T @ grasp, weighted.T).T, dtype=np.float64)
    return Grasp(own, grasp, shares, None)


def _linkage(
    model: Model, places: tuple[str | Point, ...], links: tuple[tuple[int, int], ...] | None
) -> VirtualLinkage:
    """The linkage between places on an object, in the frame of its body."""
    points = [Point(place) if isinstance(place, str) else place for place in places]
    body = model.body_names[model.frame(points[0].frame).body - 1]
    here = forward_kinematics(model, neutral(model), [body, *points])
    return VirtualLinkage(np.linalg.inv(here[0]) @ here[1:], links, [point.frame for point in points])


Chosen = tuple[tuple[int, int], ...] | str | None


def _as_links(name: str, links: Links | str | None) -> Chosen:
    if links is None or (isinstance(links, str) and links == "auto"):
        return links
    if not is_listed(links) or not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in links):
        raise ArgumentError(f"links of {name} must be pairs of hands or 'auto', not {shown(links)}")
    return tuple((a, b) for a, b in links)


def _internal(name: str, internal: Reference | ArrayLike | None, hands: int, links: Chosen) -> Reference:
    """The internal wrenches as a reference of 6 numbers for each hand, or the internal forces of a linkage."""
    if links is not None:
        size = 6 * hands - 6
        given = np.zeros(size) if internal is None else internal
        found = as_reference(f"internal of {name}", given)
        if found.shape != (size,):
            raise ArgumentError(
                f"internal of {name} must be the {3 * hands - 6} tensions of links and {3 * hands} moments of its "
                f"linkage, ({size},), not {found.shape}"
            )
        return found
    if not isinstance(internal, Reference):
        wrenches = np.zeros((hands, 6)) if internal is None else finite_array(f"internal of {name}", internal)
        if wrenches.shape != (hands, 6):
            raise ArgumentError(f"internal of {name} must have shape ({hands}, 6), not {wrenches.shape}")
        internal = as_reference(f"internal of {name}", wrenches.ravel())
    if internal.shape != (6 * hands,):
        raise ArgumentError(f"internal of {name} must be {6 * hands} numbers, not {internal.shape}")
    return internal
