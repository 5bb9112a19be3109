"""Parameters of a mechanism as data: inertias, rotors, damping, friction and placements of joints, one set per state.

The mechanism's own numbers become arguments of the algorithm, so that one kernel serves all mechanisms with the same
topology: domain randomisation, identification, design. Constants of the joint types are folded as usual.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms.joint_drive import SLOW
from linkwork.arguments import Array, array, choice
from linkwork.batches import leading_axes
from linkwork.compiled.arrays import is_traced, numbers
from linkwork.dynamics import call
from linkwork.dynamics.possible import check_parameters, guard, shapes_of
from linkwork.engine.plans import looped
from linkwork.engine.plans.costs import most
from linkwork.errors import ArgumentError, LinkworkError
from linkwork.model.doubtful import own_shares
from linkwork.model.model import Model
from linkwork.model.parameters import with_inertial_parameters
from linkwork.spatial import Inertia, Mat3, Sym3, Transform, Vec3

if TYPE_CHECKING:
    from linkwork.compiled.compiled_function import CompiledFunction

PARAMETERS = ("inertias", "armature", "damping", "friction", "placements")
"""Parameters of a mechanism that can be passed as data, in the order of the public functions."""
METHODS = ("articulated_body", "composite_body", "unit_vector")
"""Methods of forward dynamics that do not check the bodies' inertias beforehand."""
_DEARER = {"forward_dynamics": 2.0, "inverse_dynamics": 1.3}
"""Rough cost relative to the algorithm without parameters, to decide whether threads pay."""
_ZEROS = 0.2
"""The fraction of a model's inertial parameters that must be zero for a variant specialised to these zeros."""
_ORDER = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]
"""Permutation from ``model.inertial_parameters`` to the numbers of an ``Inertia``; it is its own inverse."""


def varied(model: Model, inertias: Any = None, armature: Any = None, placements: Any = None) -> Model:
    """The model with other parameters, floats or traced; its joints are judged by the original inertias."""
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


def often(model: Model, names: Iterable[str]) -> dict[str, dict[int, float]]:
    """Parameters, by name and index, that often equal the model's own: rotations of placements, which mostly fold away
    for quarter turns, while positions vary; and zeros of inertias, which stay zero when masses vary.
    """
    usual, names = {}, set(names)
    if "placements" in names:
        own = np.array([np.asarray(body.placement) for body in model.bodies]).ravel().tolist()
        usual["placements"] = {k: number for k, number in enumerate(own) if k % 4 < 3 or k % 16 == 15}
    if "inertias" in names:
        zeros = np.flatnonzero(model.inertial_parameters == 0.0).tolist()
        if len(zeros) > _ZEROS * model.inertial_parameters.size:
            usual["inertias"] = dict.fromkeys(zeros, 0.0)
    return usual


def _for_all(model: Model, name: str, value: Any) -> Any:
    """A single number for a joint parameter, repeated for all joints."""
    one = type(value) in (int, float) or isinstance(value, np.floating | np.integer)
    try:
        return np.full(model.nv, float(value)) if one and shapes_of(model)[name] == (model.nv,) else value
    except (TypeError, OverflowError):  # a NumPy time, or an integer beyond the range of floats
        return value


def _array(model: Model, name: str, value: Any) -> Array:
    """A parameter as an array of its shape."""
    numbers_of = array(name, value)
    leading_axes(name, numbers_of, shapes_of(model)[name], f" for model {model.name!r}")
    return numbers_of


def as_parameters(model: Model, parameters: Mapping[str, ArrayLike]) -> dict[str, tuple[str, Array, tuple[int, ...]]]:
    """Checked parameters of trajectories: for each its name, an array (..., 1, numbers), and its shape."""
    if not parameters:
        return {}
    check_bodies(model, parameters)
    fits = {name: _array(model, name, _for_all(model, name, value)) for name, value in parameters.items()}
    check_parameters(model, fits)
    parts = {}
    for name, numbers_of in fits.items():
        shape = shapes_of(model)[name]
        axes = numbers_of.shape[: numbers_of.ndim - len(shape)]
        parts[name] = name, numbers_of.reshape((*axes, 1, prod(shape))), shape
    return parts


def check_bodies(model: Model, parameters: Mapping[str, Any]) -> None:
    """Raise an error for a model whose code has loops over bodies, in which parameters are constant tables."""
    if looped(model):
        raise ArgumentError(
            f"{next(iter(parameters))} can be data for up to {most('straight')} bodies; model {model.name!r} has "
            f"{len(model.bodies)}; lw.with_inertial_parameters makes a model of its own"
        )


# Forward and inverse dynamics


def with_parameters(
    choices: tuple[Any, ...], model: Model, every: Sequence[ArrayLike | None], out: Array | None = None
) -> Array:
    """Forward or inverse dynamics with parameters as data: ``every`` has q, v, joint forces or accelerations, external
    forces, and those of ``PARAMETERS``. The first two ``choices``, by which code is recalled, are the name and method.
    """
    name, method = choices[:2]
    third = "tau" if name == "forward_dynamics" else "a"
    in_full = {key: _for_all(model, key, value) for key, value in zip(PARAMETERS, every[4:], strict=True)}
    parameters = _present(in_full)
    values = {**_present(zip(("q", "v", third, "f_ext"), every[:4], strict=True)), **parameters}
    choice("method", method, METHODS)
    check_bodies(model, parameters)
    if any(map(is_traced, values.values())):
        traced: Array = _kernel(name, model, values, method, False)(*values.values())
        return traced
    guarded = _kernel(name, model, values, method, True)
    answer: Array | None = call.serve_by(guarded, model._memo.quick, choices, (), out, *values.values())
    if answer is not None:
        return answer
    fits = {key: _array(model, key, value) for key, value in parameters.items()}
    (result,), batch, fine = guarded.attempt(list(values.values()), out)
    if fine.all():
        return result if out is None else out
    check_parameters(model, fits)
    (result,), batch, fine = _kernel(name, model, values, method, False).attempt(list(values.values()), out)
    if not fine.all():
        raise _explained(name, model, values, batch, int(np.argmin(fine)), method)
    return result if out is None else out


def _present(values: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> dict[str, Any]:
    return {key: value for key, value in dict(values).items() if value is not None}


def _kernel(name: str, model: Model, names: Iterable[str], method: str, guarded: bool) -> CompiledFunction:
    """The compiled code; if ``guarded``, impossible parameters give nan."""
    from linkwork.compiled.law import law

    laws, key = model._memo.laws, ("with parameters", name, tuple(names), method, guarded)
    if key not in laws:
        own = {"q": (model.nq,), "f_ext": (len(model.bodies), 6), **shapes_of(model)}
        shapes = {each: own.get(each, (model.nv,)) for each in names}
        text = lambda **given: _text(name, model, method, given, guarded)  # noqa: E731
        usual = often(model, shapes)
        laws[key] = law(name, text, shapes, [(model.nv,)], model, (), *key, often=usual, dearer=_DEARER[name])
    kernel: CompiledFunction = laws[key]
    return kernel


def _text(name: str, model: Model, method: str, values: Mapping[str, Any], guarded: bool) -> Any:
    from linkwork.dynamics.dynamics import forward_dynamics, inverse_dynamics

    guarding: Any = guard(model, values) if guarded else 0.0
    made = varied(model, *(values.get(key) for key in ("inertias", "armature", "placements")))
    q, v, f_ext = values["q"], values["v"], values.get("f_ext")
    drag = resistance(v, values.get("damping"), values.get("friction"))
    if name == "forward_dynamics":
        tau = values["tau"] if drag is None else values["tau"] - drag
        result = forward_dynamics(made, q, v, tau, f_ext, method)
    else:
        result = inverse_dynamics(made, q, v, values["a"], f_ext)
        result = result if drag is None else result + drag
    return np.concatenate([result[:1] + guarding, result[1:]]) if guarded else result


def resistance(v: Any, damping: Any, friction: Any) -> Any:
    """The resisting forces (nv,) of damping and of Coulomb friction, smoothed as in ``lw.rollout``; None if there are
    none.
    """
    drag = None if damping is None else damping * v
    if friction is not None:
        rubbing = friction * (v / np.maximum(np.abs(v), SLOW))
        drag = rubbing if drag is None else drag + rubbing
    return drag


def _explained(
    name: str, model: Model, values: Mapping[str, Any], batch: tuple[int, ...], state: int, method: str
) -> LinkworkError:
    """The error that the function raises for a model with that state's parameters."""
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
