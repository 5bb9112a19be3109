"""A model with contacts: the state-independent part, its text, and the compiled functions.

A traced step takes the ``text``, so that the contacts become part of it; a step in Python calls the ``step_law``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.compiled.arrays import array_of
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.compiled.law import law
from linkwork.compiled.tracing import Shape
from linkwork.dynamics.arguments import check_model
from linkwork.dynamics.contact.by_bodies import ByBodies
from linkwork.dynamics.contact.by_joints import ByJoints
from linkwork.dynamics.contact.joint_rows import friction_rows, limit_rows
from linkwork.dynamics.contact.masses import InverseMasses, reference_configuration
from linkwork.dynamics.contact.sparse import coupled
from linkwork.dynamics.contact.text import Text
from linkwork.dynamics.dynamics import mass_matrix
from linkwork.dynamics.held import held_by
from linkwork.engine.code import fingerprint
from linkwork.engine.mode import interpreted
from linkwork.engine.plans.costs import looped, within
from linkwork.errors import ArgumentError, warn_caller
from linkwork.model.all_contacts import Contacts, as_contacts
from linkwork.model.constraints import Constraint, Coupling
from linkwork.model.contacts import Contact, Softness
from linkwork.model.model import WORLD, Frame, Model
from linkwork.properties import cached_property
from linkwork.spatial import Transform

_LIMBS = 3
"""Pairs of limbs for which code is specialised to contacts between these two alone: the pairs with most contacts."""


class Touching:
    """A model with contacts, and their state-independent part.

    Args:
        model: the mechanism.
        contacts: all of them.
        limits: whether joints have position limits. friction: whether they have dry friction.
        constraints: soft ones, rows of the same problem.
    """

    def __init__(
        self,
        model: Model,
        contacts: Contacts,
        limits: bool = True,
        friction: bool = True,
        constraints: tuple[Constraint, ...] = (),
    ) -> None:
        self.model, self.contacts, self.constraints = model, contacts, constraints
        self.held = held_by(model, constraints) if constraints else None
        own = len(contacts.bonds) == len(constraints) and constraints == model.constraints
        self.bonds = contacts.bonds if own else (Softness(),) * len(constraints)
        met = (end for one in contacts for end in (one.frame, one.on))
        self.ends = tuple(dict.fromkeys((*met, *contacts.resisted)))
        for one in contacts:
            if self._carrier(one.frame) == self._carrier(one.on):
                raise ArgumentError(f"the contact of {one.frame!r} is with {one.on!r}, and no joint moves them apart")
        self.points = sum(one.points for one in contacts)
        self.begun = 0
        """The number of motions that were checked for deep initial penetration."""
        self._laws: dict[Any, CompiledFunction] = {}
        self.limited = limit_rows(model, contacts) if limits else []
        self.rough = friction_rows(model, contacts) if friction else []

    def body_of(self, frame: str) -> int:
        return 0 if frame == WORLD else self.model.frame(frame).body

    def _moves(self, frame: str) -> bool:
        """Whether any joint moves a frame."""
        return self._carrier(frame) > 0

    def _carrier(self, frame: str) -> int:
        """The last body on the path to a frame whose joint moves; 0 if none does."""
        return self._carriers[self.body_of(frame)]

    @cached_property
    def _carriers(self) -> list[int]:
        """That of the world, and of each body."""
        carriers = [0]
        for number, body in enumerate(self.model.bodies, 1):
            carriers.append(number if body.joint.nv else carriers[body.parent])
        return carriers

    def fixed_place(self, frame: str) -> Transform:
        """The placement of a frame that is fixed in the world."""
        return Transform.identity() if frame == WORLD else self.model.frame(frame).placement

    def path(self, frame: str) -> list[int]:
        """The degrees of freedom that move a frame."""
        return self._dofs(self.body_of(frame))

    def _dofs(self, body: int) -> list[int]:
        dofs: list[int] = []
        while body:
            start = self.model.v_start[body - 1]
            dofs += range(start, start + self.model.bodies[body - 1].joint.nv)
            body = self.model.bodies[body - 1].parent
        return sorted(dofs)

    @cached_property
    def groups(self) -> list[tuple[tuple[int, ...], int, list[Contact]]]:
        """Contacts whose rows are kept together: the degrees of freedom that move them, and the number of friction rows
        of each. One group for each limb with the ground, and one for all contacts between bodies.
        """
        moved = [(one, tuple(sorted({*self.path(one.frame)} ^ {*self.path(one.on)}))) for one in self.contacts]
        limbs = {dofs for one, dofs in moved if not self._pair(one)}
        longest = [dofs for dofs in limbs if not any(set(dofs) < set(other) for other in limbs)]
        paired = tuple(sorted({dof for one, dofs in moved if self._pair(one) for dof in dofs}))
        groups: dict[tuple[tuple[int, ...], int], list[Contact]] = {}
        for one, dofs in moved:
            own = paired if self._pair(one) else min(each for each in longest if set(dofs) <= set(each))
            groups.setdefault((own, one.friction_rows), []).append(one)
        return [(own, friction, members) for (own, friction), members in groups.items()]

    @cached_property
    def by_bodies(self) -> bool:
        """Whether articulated bodies carry the inertia of the problem, not a matrix."""
        coupled = bool(self.constraints) or any(map(self._pair, self.contacts))
        products, before = 0, [0] * (len(self.model.bodies) + 1)
        for k, body in enumerate(self.model.bodies, 1):
            before[k] = before[body.parent] + body.joint.nv
            products += sum(dof * dof for dof in range(before[body.parent], before[k]))
        return looped(self.model) or not within("dense_contacts", products // 4 if coupled else products)

    @cached_property
    def text(self) -> Text:
        return ByBodies(self) if self.by_bodies else ByJoints(self)

    def text_of(self, model: Model) -> Text:
        """The text for a model that differs in numbers only, which are traced: its mass matrix has them all."""
        return self.text if model is self.model else ByJoints(self, model)

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        """The entries of the Hessian that are not zero, for any contacts."""
        return coupled([*self._cliques, *self._pairs])

    @cached_property
    def often(self) -> list[list[tuple[int, int]]]:
        """Those for no contact between bodies, or for contacts of two limbs."""
        pairs = self._pairs
        limbs = [each for each in dict.fromkeys(pairs) if not any(set(each) < set(other) for other in pairs)]
        limbs.sort(key=lambda each: -sum(set(pair) <= set(each) for pair in pairs))
        touching = limbs[:_LIMBS] if len(limbs) > 1 else []
        return [coupled(self._cliques), *(coupled([*self._cliques, each]) for each in touching)]

    @cached_property
    def _pairs(self) -> list[tuple[int, ...]]:
        """The degrees of freedom that a contact between bodies couples, for each."""
        both = [(self.path(one.frame), self.path(one.on)) for one in self.contacts if self._pair(one)]
        return [tuple(sorted({*own, *other})) for own, other in both]

    @cached_property
    def _cliques(self) -> list[list[int]]:
        """Degrees of freedom that are coupled when no bodies touch each other."""
        bodies = [self._dofs(body) for body in range(1, len(self.model.bodies) + 1)]
        return bodies + [sorted({dof for end in ends for dof in self.path(end)}) for ends in self.bonded]

    @cached_property
    def bonded(self) -> list[list[str]]:
        """The frames that each constraint holds."""
        if self.held is None:
            return []
        names = [end if isinstance(end, str) else end.frame for end in self.held.ends]
        return [[names[end] for g in grips for end in (self.held.a[g], self.held.b[g])] for grips in self.held.grips]

    def _pair(self, contact: Contact) -> bool:
        return self._moves(contact.on) and self._moves(contact.frame)

    @cached_property
    def masses(self) -> InverseMasses:
        """Effective inverse masses in the reference configuration."""
        bonded = [end for ends in self.bonded for end in ends]
        return InverseMasses(self.model, self.contacts, [*self.ends, *bonded], interpreting=not self.by_bodies)

    @cached_property
    def bond_masses(self) -> list[list[float]]:
        """The effective inverse mass of each row of each constraint; inertias for the angular rows of welds and
        hinges.
        """
        masses = []
        for constraint, ends in zip(self.constraints, self.bonded, strict=True):
            if isinstance(constraint, Coupling):
                joints = dict.fromkeys((constraint.joint_a, constraint.joint_b))
                dofs = [self.model.v_start[self.model.joint_index(name)] for name in joints]
                masses.append([sum(self.masses.dofs[dof] for dof in dofs)] * 6)
                continue
            both = [self.masses.frames[end] for end in ends]
            masses.append([sum(each[k] for each in both) for k in (0, 0, 0, 1, 1, 1)])
        return masses

    @cached_property
    def enough(self) -> float:
        """Twice the decrease of the cost by a step below which the search ends."""
        if not self.contacts.tolerance:
            return 0.0
        with interpreted():
            inertia = mass_matrix(self.model, reference_configuration(self.model, self.contacts))
        return 2.0 * self.contacts.tolerance * float(inertia.trace())  # nv times the mean of the diagonal

    def step_law(self, loaded: bool, damped: bool, wanted: bool, warm: bool) -> CompiledFunction:
        """Accelerations in a step, and, if ``wanted``, wrenches (points, 6) about the world's origin; ``damped`` adds
        an argument with a diagonal that is added to the rotor inertias, ``warm`` one with the last accelerations, from
        which the search begins, and the next such ones to the results.
        """

        def text(q: Any, v: Any, tau: Any, dt: Any, drag: Any = None, start: Any = None, f_ext: Any = None) -> Any:
            motion = self.text.motion(q, v, tau, dt.item(), f_ext, start, drag)
            wrenches, ends = [self.text.wrenches(motion)] if wanted else [], [motion.a] if warm else []
            results = (motion.damped, *wrenches, *ends)
            return results if len(results) > 1 else results[0]

        names = ["q", "v", "tau", "dt", *["drag"] * damped, *["start"] * warm, *["f_ext"] * loaded]
        of_joints = (self.model.nv,)
        return self._law("contact step", text, names, of_joints, *[(self.points, 6)] * wanted, *[of_joints] * warm)

    def law(self, loaded: bool, stepped: bool) -> CompiledFunction:
        """The kernel, with or without external forces and an integration step."""

        def text(q: Any, v: Any, tau: Any, dt: Any = None, f_ext: Any = None) -> Any:
            a, _, forces = self.text.motion(q, v, tau, None if dt is None else dt.item(), f_ext)
            return a, forces().forces

        names = ["q", "v", "tau", *["dt"] * stepped, *["f_ext"] * loaded]
        return self._law("contact_dynamics", text, names, (self.model.nv,), (self.points, 3))

    @property
    def points_law(self) -> CompiledFunction:
        """Contact points and distances."""

        def text(q: Any) -> Any:
            touches = self.text.touches(q)
            places = array_of([x for touch in touches for x in touch.point.numbers()])
            return places.reshape(self.points, 3), array_of([touch.distance for touch in touches])

        return self._law("contact_points", text, ["q"], (self.points, 3), (self.points,))

    def _law(self, name: str, text: Any, arguments: Sequence[str], *results: Shape) -> CompiledFunction:
        """The kernel of a text with arguments of these names, cached."""
        model, key = self.model, (name, *arguments, *results)
        if key not in self._laws:
            sizes: dict[str, Shape] = {"q": (model.nq,), "dt": (), "f_ext": (len(model.bodies), 6)}
            shapes = {each: sizes.get(each, (model.nv,)) for each in arguments}
            self._laws[key] = law(name, text, shapes, list(results), model, self.placed, self.digest, list(key))
        return self._laws[key]

    @cached_property
    def placed(self) -> list[Frame]:
        """The frames that carry shapes."""
        if self.constraints:
            return list(self.model.frames)
        return [self.model.frame(end) for end in self.ends if end != WORLD]

    @cached_property
    def digest(self) -> str:
        """A digest of all data that determine the code, besides the model and the frames."""
        held = [(type(one).__name__, one.kind(), one.placement.numbers()) for one in self.constraints]
        names = (self.model.frame_names, self.model.joint_names) if held else ()
        rows = self.limited, self.rough, held, self.bonds
        return fingerprint.key(self.by_bodies, self.ends, self.contacts.digest, *rows, names)


def touching(
    model: Model, contacts: Any, limits: bool = True, friction: bool = True, constraints: Sequence[Constraint] = ()
) -> Touching:
    """The ``Touching`` of a model and its contacts, cached with the model."""
    check_model(model)
    listed = contacts if isinstance(contacts, Contacts) else as_contacts(contacts)
    ids = id(contacts) if listed is contacts else tuple(map(id, listed))
    key, laws = ("contact", ids, limits, friction, tuple(map(id, constraints))), model._memo.laws
    problem: Touching | None = laws.get(key)
    if problem is None:
        made = Touching(model, listed, limits, friction, tuple(constraints))
        alike = [one for one in list(laws.values()) if isinstance(one, Touching) and one.digest == made.digest]
        if alike:
            made._laws = alike[0]._laws
        if len(laws) >= 1000:  # contacts that are created for each call
            laws.clear()
        problem = laws[key] = made
        if listed.left_out and not alike:
            more = f" and {len(listed.left_out) - 5} more" if len(listed.left_out) > 5 else ""
            warn_caller(f"contacts of model {model.name!r} leave out {'; '.join(listed.left_out[:5])}{more}")
    return problem
