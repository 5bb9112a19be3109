"""Parameters of a mechanism as data: inertias, rotors, damping, friction and placements of joints, one set a state.

The mechanism's own numbers take part in the text as arguments do, so that one kernel serves all mechanisms of its
shape: domain randomisation, identification, design. What depends on the joints' kinds alone is folded as ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.algorithms.step import SLOW
from linkwork.arguments import Array, array, choice, finite_array, once
from linkwork.compiled.arrays import is_traced, numbers
from linkwork.engine.mode import current_form
from linkwork.engine.plans import MOST_BODIES
from linkwork.engine.spaces import SPACES
from linkwork.errors import ArgumentError, LinkworkError, ModelError
from linkwork.model.doubtful import own_shares
from linkwork.model.inertias import about_centre, clearly_possible, warn_of_inertia
from linkwork.model.model import Model
from linkwork.model.parameters import with_inertial_parameters
from linkwork.spatial import Inertia, Mat3, Sym3, Transform, Vec3

if TYPE_CHECKING:
    from linkwork.compiled.compiled_function import CompiledFunction

METHODS = ("articulated_body", "composite_body", "unit_vector")
"""Of forward dynamics, those that look at no body's inertia beforehand."""
_IMPOSSIBLE, _OFF = -1e-6, 1e-6
_MANY = 5000
"""Sets of parameters from which on code looks at them first, and NumPy only at those that it doubts."""
_TOGETHER = 1000
"""Sets that NumPy looks at at a time."""
_DEARER = {"forward_dynamics": 2.0, "inverse_dynamics": 1.3}
"""What they take over an algorithm alone, roughly: enough to tell whether a thread pays."""
_ORDER = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]
"""From ``model.inertial_parameters`` to the numbers of an ``Inertia``, and back."""


def shapes_of(model: Model) -> dict[str, tuple[int, ...]]:
    """What may be data, for one state."""
    bodies, joints = len(model.bodies), (model.nv,)
    return {"inertias": (bodies, 10), "armature": joints, "damping": joints, "friction": joints,
            "placements": (bodies, 4, 4)}  # fmt: skip


def varied(model: Model, inertias: Any = None, armature: Any = None, placements: Any = None) -> Model:
    """The model with other numbers, floats or traced ones; its joints count as no more doubtful than they are."""
    bodies = list(model.bodies)
    for k, (body, start) in enumerate(zip(model.bodies, model.v_start, strict=True)):
        changes: dict[str, Any] = {}
        if inertias is not None:
            m, x, y, z, *second = (numbers(inertias)[k].tolist()[i] for i in _ORDER)
            changes["inertia"] = Inertia(m, Vec3(x, y, z), Sym3(*second))
        if armature is not None:
            changes["armature"] = tuple(numbers(armature)[start : start + body.joint.nv].tolist())
        if placements is not None:
            rows = numbers(placements)[k]
            changes["placement"] = Transform(Mat3(*rows[:3, :3].ravel().tolist()), Vec3(*rows[:3, 3].tolist()))
        bodies[k] = replace(body, **changes)
    made = Model(model.name, tuple(bodies), model.frames, model.gravity)
    made._memo.derived[own_shares.__wrapped__] = own_shares(model)  # type: ignore[attr-defined]
    return made


def often_zero(model: Model, names: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Places of parameters that are mostly zero where the model's own numbers are: those of rotations, which fold away
    at quarter turns; positions vary in all directions.
    """
    if "placements" not in names:
        return {}
    own = np.array([np.asarray(body.placement) for body in model.bodies])
    own[:, :3, 3] = 1.0
    return {"placements": tuple(np.flatnonzero(own.ravel() == 0.0).tolist())}


def fitness(inertias: Any) -> tuple[Any, Any]:
    """Of inertias (..., nbodies, 10): the least mass, -1 for a body without mass that has a first moment; and the least
    of what is not negative for a body that can be: the minors of the second moment of mass about the centre, in units
    of its trace.
    """
    m = inertias[..., 0]
    x, y, z = inertias[..., 1], inertias[..., 2], inertias[..., 3]
    xx, xy, yy, xz, yz, zz = (inertias[..., k] for k in range(4, 10))
    moved = x * x + y * y + z * z
    mass = np.where(m > 0.0, m, np.where(moved > 0.0, -1.0, m))
    per = np.where(m > 0.0, 1.0 / np.where(m > 0.0, m, 1.0), 0.0)
    half = 0.5 * (xx + yy + zz)
    a, b, c = half - xx - x * x * per, half - yy - y * y * per, half - zz - z * z * per
    d, e, f = -xy - x * y * per, -xz - x * z * per, -yz - y * z * per
    trace = a + b + c
    size = np.maximum(np.maximum(trace, 1e-9 * half), 1e-300)
    a, b, c, d, e, f = (number / size for number in (a, b, c, d, e, f))
    minors = [a, b, c, a * b - d * d, a * c - e * e, b * c - f * f]
    minors.append(a * (b * c - f * f) - d * (d * c - e * f) + e * (d * f - b * e))
    least = minors[0]
    for each in minors[1:]:
        least = np.minimum(least, each)
    return mass, np.where(half == 0.0, 0.0, least)


def soundness(clear: bool, inertia: Any) -> list[Any]:
    """Of a body's ten numbers, numbers that are positive if it clearly can be, by few operations: mass, and leading
    minors of the second moment about the centre times the mass. A body that is flat, a point, or without mass in the
    model is not ``clear``: it has no such minors, and is judged by ``fitness``.
    """
    if not clear:
        mass, least = fitness(inertia)
        return [np.where(mass < 0.0, -1.0, 1.0), np.where(least < _IMPOSSIBLE, -1.0, 1.0)]
    m, x, y, z, xx, xy, yy, xz, yz, zz = (inertia[k] for k in range(10))
    half = 0.5 * (xx + yy + zz)
    a, b, c = m * (half - xx) - x * x, m * (half - yy) - y * y, m * (half - zz) - z * z
    d, e, f = m * xy + x * y, m * xz + x * z, m * yz + y * z
    minor = a * b - d * d
    return [m, a, minor, c * minor - a * (f * f) - b * (e * e) - 2.0 * (d * (e * f))]


def _least(values: Sequence[Any]) -> Any:
    """The least of them, by pairs, which do not wait for each other."""
    while len(values) > 1:
        rest = values[len(values) // 2 * 2 :]
        values = [*map(np.minimum, values[0:-1:2], values[1::2]), *rest]
    return values[0]


def _guard(model: Model, given: Mapping[str, Any]) -> Any:
    """Zero, or no number if a parameter of the mechanism cannot be; body by body, so that little is kept at a time."""
    least = []
    for k, body in enumerate(model.bodies):
        parts = []
        if "placements" in given:
            parts.append(_OFF**2 - skewness(given["placements"][k]))
        if "inertias" in given:
            clear = body.inertia.mass > 0.0 and clearly_possible(about_centre(body.inertia))
            parts += soundness(clear, given["inertias"][k])
        if parts:
            least.append(_least(parts))
    signs = [given[key][k] for key in ("armature", "damping", "friction") if key in given for k in range(model.nv)]
    found: Any = np.where(_least(least) > 0.0, 0.0, np.nan) if least else 0.0
    return np.where(_least(signs) < 0.0, np.nan, found) if signs else found


def check_inertias(model: Model, inertias: Array) -> None:
    """An error for a mass that cannot be, and a warning of an inertia that no body has."""
    every, doubted = _doubted(model, "inertias", inertias)
    for first in range(0, len(doubted), _TOGETHER):
        sets = doubted[first : first + _TOGETHER]
        some = every[sets]
        own, minors = fitness(some)
        for k, body in np.argwhere((own < 0.0) | (minors < _IMPOSSIBLE)).tolist():
            where = "" if inertias.ndim == 2 else f"[{', '.join(map(str, _index(inertias, int(sets[k]))))}]"
            name, number = f"inertias{where} of body {model.body_names[body]!r}", some[k, body]
            if own[k, body] < 0.0:
                raise ModelError(
                    f"{name}: mass must not be negative, nor zero with a first moment; they are mass {number[0]:g} kg "
                    f"and first moment ({number[1]:g}, {number[2]:g}, {number[3]:g}) kg m"
                )
            warn_of_inertia(name, number)
            return


def _index(inertias: Array, flat: int) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(flat, once(inertias).shape[:-2]))


def _doubted(model: Model, name: str, given: Array) -> tuple[Array, NDArray[np.intp]]:
    """Sets of a parameter (sets, ...), those of a broadcast once, and which of them may be impossible: all, or those
    that code doubts, if they are many.
    """
    shape = shapes_of(model)[name]
    every = once(given).reshape(-1, *shape)
    if len(every) < _MANY or current_form() == "interpreted":
        return every, np.arange(len(every))
    from linkwork.compiled.law import law

    known, key = model._memo.laws, ("possible", name)
    if key not in known:
        known[key] = law(name, lambda **one: _guard(model, one), {name: shape}, [()], model, (), *key)
    _, _, fine = known[key].attempt([every])
    return every, np.flatnonzero(~fine)


def _array(model: Model, name: str, value: Any) -> Array:
    """A parameter, in its shape."""
    numbers_of, shape = array(name, value), shapes_of(model)[name]
    if numbers_of.shape[numbers_of.ndim - len(shape) :] != shape or numbers_of.ndim < len(shape):
        wanted = ", ".join(("...", *map(str, shape)))
        raise ArgumentError(
            f"{name} must have shape ({wanted}) for model {model.name!r}, but has shape {numbers_of.shape}"
        )
    return numbers_of


def check_parameters(model: Model, given: Mapping[str, Array]) -> None:
    """An error for what cannot be; a warning of an inertia that no body has, which is used as it is."""
    for name, numbers_of in given.items():
        finite_array(name, numbers_of)
    for name in ("armature", "damping", "friction"):
        if name in given and (given[name] < 0.0).any():
            *_, dof = np.argwhere(given[name] < 0.0)[0].tolist()
            which = SPACES["velocity"].coordinate(model, (dof,))
            raise ArgumentError(f"{name} of {which} is {given[name].min()}; it must be 0 or more")
    if "inertias" in given:
        check_inertias(model, given["inertias"])
    if "placements" in given:
        check_placements(model, given["placements"])


def skewness(places: Any) -> Any:
    """How far placements (..., nbodies, 4, 4) are off a rotation and a position: the sum of squares of all that would
    be zero.
    """
    x, y = places[..., 0, :3], places[..., 1, :3]
    z = np.stack([x[..., i] * y[..., j] - x[..., j] * y[..., i] for i, j in ((1, 2), (2, 0), (0, 1))], axis=-1)
    terms = [(x * x).sum(axis=-1) - 1.0, (y * y).sum(axis=-1) - 1.0, (x * y).sum(axis=-1)]
    terms += [places[..., 2, k] - z[..., k] for k in range(3)]
    terms += [places[..., 3, 0], places[..., 3, 1], places[..., 3, 2], places[..., 3, 3] - 1.0]
    whole = terms[0] * terms[0]
    for each in terms[1:]:
        whole = whole + each * each
    return whole


def check_placements(model: Model, places: Array) -> None:
    """An error for one that is no rotation and position."""
    every, doubted = _doubted(model, "placements", places)
    for first in range(0, len(doubted), _TOGETHER):
        some = every[doubted[first : first + _TOGETHER]]
        for k, body in np.argwhere(skewness(some) > _OFF**2).tolist():
            raise ArgumentError(
                f"placements of joint {model.joint_names[body]!r} must be 4×4 matrices of a rotation and a position; "
                f"one is {some[k, body].tolist()}"
            )


def as_parameters(model: Model, given: Mapping[str, ArrayLike]) -> dict[str, tuple[str, Array, tuple[int, ...]]]:
    """Parameters of trajectories, checked: for each what to call it, an array (..., 1, numbers), and its shape."""
    if not given:
        return {}
    check_bodies(model, given)
    fits = {name: _array(model, name, value) for name, value in given.items()}
    check_parameters(model, fits)
    found = {}
    for name, numbers_of in fits.items():
        shape = shapes_of(model)[name]
        leading = numbers_of.shape[: numbers_of.ndim - len(shape)]
        found[name] = name, numbers_of.reshape((*leading, 1, prod(shape))), shape
    return found


def check_bodies(model: Model, given: Mapping[str, Any]) -> None:
    """An error for a mechanism whose code has loops, in which its numbers are tables."""
    if len(model.bodies) > MOST_BODIES:
        raise ArgumentError(
            f"{next(iter(given))} can be data for up to {MOST_BODIES} bodies; model {model.name!r} has "
            f"{len(model.bodies)}; lw.with_inertial_parameters makes a model of its own"
        )


# The functions


def with_parameters(
    name: str, model: Model, state: Mapping[str, ArrayLike | None], given: Mapping[str, ArrayLike | None],
    method: str = METHODS[0], out: Array | None = None,
) -> Array:  # fmt: skip
    """Forward or inverse dynamics with parameters that are data. ``state`` has q, v, and the forces or accelerations,
    and maybe f_ext.
    """
    values = {key: value for each in (state, given) for key, value in each.items() if value is not None}
    guarded = model._memo.laws.get(_key(name, values, method, True))
    if guarded is not None:
        answer: Array | None = guarded.quick(out, *values.values())
        if answer is not None:
            return answer
    choice("method", method, METHODS)
    parameters = {key: value for key, value in given.items() if value is not None}
    check_bodies(model, parameters)
    if any(map(is_traced, values.values())):
        traced: Array = _kernel(name, model, values, method, False)(*values.values())
        return traced
    guarded = _kernel(name, model, values, method, True)
    fits = {key: _array(model, key, value) for key, value in parameters.items()}
    (found,), batch, fine = guarded.attempt(list(values.values()), out)
    if fine.all():
        return found if out is None else out
    check_parameters(model, fits)
    (found,), batch, fine = _kernel(name, model, values, method, False).attempt(list(values.values()), out)
    if not fine.all():
        raise _explained(name, model, values, batch, int(np.argmin(fine)), method)
    return found if out is None else out


def _key(name: str, names: Iterable[str], method: str, guarded: bool) -> tuple[object, ...]:
    return "with parameters", name, tuple(names), method, guarded


def _kernel(name: str, model: Model, names: Iterable[str], method: str, guarded: bool) -> CompiledFunction:
    """The code; with ``guarded``, what has impossible parameters gets no number."""
    from linkwork.compiled.law import law

    known, key = model._memo.laws, _key(name, names, method, guarded)
    if key not in known:
        own = {"q": (model.nq,), "f_ext": (len(model.bodies), 6), **shapes_of(model)}
        shapes = {each: own.get(each, (model.nv,)) for each in names}
        text = lambda **given: _text(name, model, method, given, guarded)  # noqa: E731
        zeros = often_zero(model, shapes)
        known[key] = law(name, text, shapes, [(model.nv,)], model, (), *key, often_zero=zeros, dearer=_DEARER[name])
    found: CompiledFunction = known[key]
    return found


def _text(name: str, model: Model, method: str, given: Mapping[str, Any], guarded: bool) -> Any:
    from linkwork.dynamics.dynamics import forward_dynamics, inverse_dynamics

    guard: Any = _guard(model, given) if guarded else 0.0
    made = varied(model, *(given.get(key) for key in ("inertias", "armature", "placements")))
    q, v, f_ext = given["q"], given["v"], given.get("f_ext")
    drag = resistance(v, given.get("damping"), given.get("friction"))
    if name == "forward_dynamics":
        tau = given["tau"] if drag is None else given["tau"] - drag
        found = forward_dynamics(made, q, v, tau, f_ext, method)
    else:
        found = inverse_dynamics(made, q, v, given["a"], f_ext)
        found = found if drag is None else found + drag
    return found + guard if guarded else found


def resistance(v: Any, damping: Any, friction: Any) -> Any:
    """The forces (nv,) of damping and of smoothed Coulomb friction, as ``lw.rollout`` has it, against the motion; None
    for none.
    """
    found = None if damping is None else damping * v
    if friction is not None:
        rubbing = friction * (v / np.maximum(np.abs(v), SLOW))
        found = rubbing if found is None else found + rubbing
    return found


def _explained(
    name: str, model: Model, values: Mapping[str, Any], batch: tuple[int, ...], state: int, method: str
) -> LinkworkError:
    """What the function says of a model of that state's own."""
    from linkwork.dynamics.dynamics import forward_dynamics, inverse_dynamics

    own, shapes = {}, {"q": (model.nq,), "f_ext": (len(model.bodies), 6), **shapes_of(model)}
    for key, value in values.items():
        shape = shapes.get(key, (model.nv,))
        spread = np.broadcast_to(np.asarray(value, dtype=np.float64), (*batch, *shape)).reshape(-1, *shape)
        own[key] = spread[state]
    made = varied(model, None, own.get("armature"), own.get("placements"))
    made = with_inertial_parameters(made, own["inertias"]) if "inertias" in own else replace(made)
    function: Any = forward_dynamics if name == "forward_dynamics" else inverse_dynamics
    options = {"method": method} if name == "forward_dynamics" else {}
    forces = own["tau"] if name == "forward_dynamics" else own["a"]
    try:
        function(made, own["q"], own["v"], forces, own.get("f_ext"), **options)
    except LinkworkError as error:
        return error
    return ArgumentError(f"{name}: the result is not finite at state {state} of the batch")
