"""Stops and friction in a step: what carries the inertia, and code that is skipped where nothing resists a joint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.compiled.arrays import array_of, numbers
from linkwork.compiled.subroutine import subroutine
from linkwork.dynamics.arguments import Array
from linkwork.dynamics.dynamics import mass_matrix
from linkwork.engine.plans.costs import looped
from linkwork.errors import SingularError
from linkwork.model.memo import kept_with_model
from linkwork.model.model import Model
from linkwork.model.rotors import with_rotors
from linkwork.simulation.coupled import Together, coupling_impulses, searched_together
from linkwork.simulation.impulses import Bodies, among, response_of, searched
from linkwork.simulation.stops import Joint, resisted
from linkwork.spatial import Inertia
from linkwork.unsolved import unsolved


class Armature(NamedTuple):
    """A model with the armature that stands for drag, in a subroutine: ``data`` are the traced numbers of the armature,
    if there are any, then those by which ``mechanism`` makes the model.
    """

    mechanism: Callable[..., Model]
    rotors: Sequence[Any] | None
    own: Sequence[Any]

    @property
    def _traced(self) -> list[Any]:
        return [x for x in self.rotors or () if not isinstance(x, float)]

    @property
    def data(self) -> list[Any]:
        """The traced numbers."""
        return [*([array_of(self._traced)] if self._traced else []), *self.own]

    def of(self, data: Sequence[Any]) -> tuple[Model, Sequence[Any] | None]:
        """The model without the armature, and the armature, from these numbers."""
        if not self._traced:
            return self.mechanism(data), self.rotors
        others = iter(numbers(data[0]).tolist())
        rotors = [x if isinstance(x, float) else next(others) for x in self.rotors or ()]
        return self.mechanism(data[1:]), rotors

    def model(self, data: Sequence[Any]) -> Model:
        """The model, from these numbers."""
        model, rotors = self.of(data)
        return model if rotors is None else with_rotors(model, rotors)


def with_stops(
    armature: Armature, joints: Sequence[Joint], together: Together | None, q: Any, end: Any, dt: Any
) -> tuple[Any, Any, Any]:
    """Velocities at the end of the step (nv,), the impulses of stops and friction (nv,), and those that couplings add
    (k,), for a tree with coupled joints. It is a subroutine, which is skipped for a tile of states in which no joint
    has friction or would exceed its limits.

    Args:
        armature: the model.
        joints: those with stops or friction.
        together: their couplings.
        q: configuration at the step's beginning (nq,).
        end: velocities at the step's end without stops and friction.
        dt: time step, s.
    """

    def text(beyond: Any, end: Any, q: Any, dt: Any, *more: Any) -> list[Any]:
        (model, rotors), added = armature.of(more), np.zeros(0)
        if looped(model):
            own = model.armature if rotors is None else array_of(list(rotors))
            inertia = Bodies(model, q, own, _moved_inertias(model), dofs)
            pushes, speeds = searched(inertia, joints, q, end, dt)
            impulses = among(len(end), dofs, pushes)
        else:
            M = mass_matrix(armature.model(more), q)
            impulses, speeds = searched_together(M, joints, together, q, end, dt)
            if together is not None:
                added = coupling_impulses(M, speeds - end, impulses, together)
        some = np.sum(beyond) > 0.0
        return [np.where(some, speeds, end), np.where(some, impulses, 0.0), np.where(some, added, 0.0)]

    leads, own, dofs = list(joints), end, [joint.dof for joint in joints]
    if together is not None:
        leads, own = together.joints(joints), end[together.leading]
    beyond = resisted(leads, own[[one.dof for one in leads]], q[[one.coordinate for one in leads]], dt)
    speeds, impulses, added = _guarded(text, joints, len(leads))(beyond, end, q, dt, *armature.data)
    return speeds, impulses, added


def with_stops_in_loops(
    moving: Callable[..., Sequence[Any]], free: tuple[Any, Any], model: Model, joints: Sequence[Joint], q: Any, v: Any,
    dt: Any, given: Sequence[Any],
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Accelerations, constraint wrenches, and the forces of stops and friction (nv,), of joints in loops, from the
    response of all joints to forces on those that may be stopped or rub.

    Args:
        moving: (extra joint forces, q, v, dt, *given) -> accelerations and wrenches.
        free: accelerations and wrenches without stops and friction.
        model: the mechanism, whose numbers may be others.
        joints: those with stops or friction.
        q: configuration at the step's beginning (nq,).
        v: velocity there (nv,).
        dt: time step, s.
        given: the traced arrays that ``moving`` uses besides these.
    """
    dofs, at, nv = [joint.dof for joint in joints], [joint.coordinate for joint in joints], v.shape[0]
    units, weights = np.eye(nv)[dofs], _weights(model, joints)
    once = subroutine(moving)

    def text(beyond: Any, a: Any, wrenches: Any, q: Any, v: Any, dt: Any, *those: Any) -> list[Any]:
        response = np.stack([(once(unit, q, v, dt, *those)[0] - a)[dofs] for unit in units])
        pushes, _ = searched(response_of(response, weights), joints, q, (v + dt * a)[dofs], dt)
        extra, some = among(nv, dofs, pushes / dt), np.sum(beyond) > 0.0
        both = zip((*once(extra, q, v, dt, *those), extra), (a, wrenches, 0.0 * v), strict=True)
        return [np.where(some, x, y) for x, y in both]

    beyond = resisted(joints, (v + dt * free[0])[dofs], q[at], dt)
    a, wrenches, extra = _guarded(text, joints, len(joints))(beyond, *free, q, v, dt, *given)
    return a, wrenches, extra


def in_python(
    moving: Callable[..., Any], a: Any, model: Model, joints: Sequence[Joint], q: Any, v: Any, dt: float
) -> Any:
    """The forces of stops and friction (nv,) over plain arrays; None if nothing resists a joint. ``moving`` are the
    accelerations for rows of extra joint forces.
    """
    dofs, at, end = [joint.dof for joint in joints], [joint.coordinate for joint in joints], v + dt * a
    if not resisted(joints, end[dofs], q[at], dt).any():
        return None
    units = np.eye(v.size)[dofs]
    response = response_of((moving(units) - a)[:, dofs], _weights(model, joints))
    with unsolved() as problems:
        pushes, _ = searched(response, joints, q, end[dofs], dt)
    if problems:
        raise SingularError(f"{problems[0]}; try a smaller dt")
    return among(v.size, dofs, pushes / dt)


def _guarded(text: Callable[..., Any], joints: Sequence[Joint], count: int) -> Callable[..., Any]:
    """A text as a subroutine that is skipped if its first ``count`` numbers are zero."""
    return subroutine(text, [] if any(joint.friction for joint in joints) else [range(count)])


def _weights(model: Model, joints: Sequence[Joint]) -> Array:
    """About the inertias that joints move."""
    found: Array = (_moved_inertias(model) + model.armature)[[joint.dof for joint in joints]]
    return np.where(found > 0.0, found, 1.0)


@kept_with_model
def _moved_inertias(model: Model) -> Array:
    """The inertia that each degree of freedom moves in the neutral configuration, without rotors: composite bodies."""
    found, bodies = np.zeros(model.nv), [Inertia.zero(), *(body.inertia for body in model.bodies)]
    for k in range(len(model.bodies), 0, -1):
        body, start = model.bodies[k - 1], model.v_start[k - 1]
        q = body.joint.neutral()
        S = body.joint.subspace(q)
        for i, row in enumerate(S.project(S.through(bodies[k]))):
            found[start + i] = row[i]
        bodies[body.parent] = bodies[body.parent] + (body.placement * body.joint.transform(q)).to_parent(bodies[k])
    return found
