"""Physical consistency of a mechanism's parameters: fast checks in compiled code, and errors for impossible values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwork.arguments import Array, all_finite, finite_array, once
from linkwork.engine.mode import current_form
from linkwork.engine.spaces import SPACES
from linkwork.errors import ArgumentError, ModelError
from linkwork.model.inertias import about_centre, clearly_possible, warn_of_inertia
from linkwork.model.model import Model

if TYPE_CHECKING:
    from linkwork.compiled.compiled_function import CompiledFunction

_IMPOSSIBLE, _OFF = -1e-6, 1e-6
_WARPED, _SUMMED = 1e-13, 8
"""``warp`` may sum to this over the placements of so many joints without any of them being off by ``_OFF``."""
_MANY = 200
"""The number of parameter sets from which on compiled code checks them first, and NumPy only those in doubt."""
_TOGETHER = 1000
"""Parameter sets that NumPy checks at a time."""


def shapes_of(model: Model) -> dict[str, tuple[int, ...]]:
    """The shapes, for one state, of parameters that can be passed as data."""
    bodies, joints = len(model.bodies), (model.nv,)
    return {"inertias": (bodies, 10), "armature": joints, "damping": joints, "friction": joints,
            "placements": (bodies, 4, 4)}  # fmt: skip


def fitness(inertias: Any) -> tuple[Any, Any]:
    """For inertias (..., nbodies, 10): the least mass, -1 for a massless body with a first moment; and the least of the
    numbers that are not negative for a possible body, the minors of the second moment of mass about the centre of mass.
    These are relative to its trace, or to the magnitude of its terms where the trace is negligible or negative.
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
    extent = moved * per
    for number in (xx, yy, zz, xy, xz, yz):
        extent = extent + np.abs(number)
    size = np.maximum(np.maximum(a + b + c, 1e-9 * extent), 1e-300)
    a, b, c, d, e, f = (number / size for number in (a, b, c, d, e, f))
    minors = [a, b, c, a * b - d * d, a * c - e * e, b * c - f * f]
    minors.append(a * (b * c - f * f) - d * (d * c - e * f) + e * (d * f - b * e))
    least = minors[0]
    for each in minors[1:]:
        least = np.minimum(least, each)
    return mass, least


def soundness(clear: bool, inertia: Any) -> list[Any]:
    """For a body's ten parameters: numbers that are all positive if the body is clearly possible, by few operations.
    They are the mass and the pivots of the second moment about the centre of mass, multiplied by the previous pivots
    instead of divided. A body that is flat, a point, or massless in the model is not ``clear``: it has no such pivots,
    and is checked by ``fitness``.
    """
    if not clear:
        mass, least = fitness(inertia)
        return [np.where(mass < 0.0, -1.0, 1.0), np.where(least < _IMPOSSIBLE, -1.0, 1.0)]
    m, x, y, z, xx, xy, yy, xz, yz, zz = (inertia[k] for k in range(10))
    half = 0.5 * (xx + yy + zz)
    a, b, c = m * (half - xx) - x * x, m * (half - yy) - y * y, m * (half - zz) - z * z
    d, e, f = m * xy + x * y, m * xz + x * z, m * yz + y * z
    minor, rest = a * b - d * d, a * f + d * e
    return [m, a, minor, minor * (a * c - e * e) - rest * rest]


def _least(values: Sequence[Any]) -> Any:
    """The least of them, by a pairwise reduction, whose operations are independent."""
    while len(values) > 1:
        rest = values[len(values) // 2 * 2 :]
        values = [*map(np.minimum, values[0:-1:2], values[1::2]), *rest]
    return values[0]


def guard(model: Model, parameters: Mapping[str, Any]) -> Any:
    """Zero, or nan if a parameter of the mechanism is impossible; body by body, so that few values are live."""
    least, warped = [], 0.0
    for k, body in enumerate(model.bodies):
        parts = []
        if "placements" in parameters:
            warped = warped + warp(parameters["placements"][k])
            if k % _SUMMED == _SUMMED - 1 or k == len(model.bodies) - 1:
                parts.append(_WARPED - warped)
                warped = 0.0
        if "inertias" in parameters:
            clear = body.inertia.mass > 0.0 and clearly_possible(about_centre(body.inertia))
            parts += soundness(clear, parameters["inertias"][k])
        if parts:
            least.append(_least(parts))
    signs = [
        parameters[key][k] for key in ("armature", "damping", "friction") if key in parameters for k in range(model.nv)
    ]
    guarding: Any = np.where(_least(least) > 0.0, 0.0, np.nan) if least else 0.0
    return np.where(_least(signs) < 0.0, np.nan, guarding) if signs else guarding


def check_inertias(model: Model, inertias: Array) -> None:
    """Raise an error for an impossible mass; warn of an inertia that no body can have."""
    every, doubted = _doubted(model, "inertias", inertias)
    for first in range(0, len(doubted), _TOGETHER):
        sets = doubted[first : first + _TOGETHER]
        some = every[sets]
        with np.errstate(over="ignore", invalid="ignore"):  # from impossible numbers
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


def _doubted(model: Model, name: str, numbers_of: Array) -> tuple[Array, NDArray[np.intp]]:
    """The sets of a parameter (sets, ...), without the repetitions of a broadcast, and the indices of those that may be
    impossible: all, or, for many sets, those that compiled code doubts.
    """
    every = _each_once(model, name, numbers_of)
    if not _many(every):
        return every, np.arange(len(every))
    _, _, fine = _look(model, name).attempt([every])
    return every, np.flatnonzero(~fine)


def _many(every: Array) -> bool:
    return len(every) >= _MANY and current_form() != "interpreted"


def _each_once(model: Model, name: str, numbers_of: Array) -> Array:
    return once(numbers_of).reshape(-1, *shapes_of(model)[name])


def _look(model: Model, name: str) -> CompiledFunction:
    """Compiled code that checks a parameter; nan for a set that may be impossible."""
    from linkwork.compiled.law import law

    laws, key, shapes = model._memo.laws, ("possible", name), {name: shapes_of(model)[name]}
    if key not in laws:
        laws[key] = law(name, lambda **one: guard(model, one), shapes, [()], model, (), *key)
    kernel: CompiledFunction = laws[key]
    return kernel


def _clear(model: Model, name: str, numbers_of: Array) -> bool:
    """Whether compiled code finds all of many sets possible and finite."""
    every = _each_once(model, name, numbers_of)
    if not _many(every):
        return False
    look = _look(model, name)
    return look.quick(None, every) is not None or bool(all_finite(every) and look.attempt([every])[2].all())


def check_parameters(model: Model, parameters: Mapping[str, Array]) -> None:
    """Raise an error for impossible values; warn of an inertia that no body can have, which is used all the same."""
    parameters = {name: numbers_of for name, numbers_of in parameters.items() if not _clear(model, name, numbers_of)}
    for name, numbers_of in parameters.items():
        finite_array(name, numbers_of)
    for name in ("armature", "damping", "friction"):
        each = once(parameters[name]) if name in parameters else np.zeros(0)
        if (each < 0.0).any():
            place = tuple(np.argwhere(each < 0.0)[0].tolist())
            which = SPACES["velocity"].coordinate(model, place[-1:])
            raise ArgumentError(f"{name} of {which} is {each[place]}; it must be 0 or more")
    if "inertias" in parameters:
        check_inertias(model, parameters["inertias"])
    if "placements" in parameters:
        check_placements(model, parameters["placements"])


def skewness(places: Any) -> Any:
    """The deviation of placements (..., nbodies, 4, 4) from a rotation and a position: the sum of squares of all terms
    that should be zero.
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


def warp(place: Any) -> Any:
    """The deviation of a placement (4, 4) from a rotation and a position, by few operations. It is never negative, so
    that it can be summed, and more than a seventh of ``skewness`` if it is small.

    With s the singular values of its matrix R, it is (Σs² - 1)/2 - det R + (Σs² - 3)²/8, which is zero only where all
    of them are 1 and det R is positive, and Σ(s - 1)² nearby; plus the squares of the other terms that should be zero.
    """
    (a, b, c), (d, e, f), (g, h, i), last = (place[k, :3] for k in range(4))
    det = a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g)
    more = (a * a + b * b + c * c) + (d * d + e * e + f * f) + (g * g + h * h + i * i) - 3.0
    rest = place[3, 3] - 1.0
    beside = (last[0] * last[0] + last[1] * last[1]) + (last[2] * last[2] + rest * rest)
    return (1.0 - det + more * (0.5 + 0.125 * more)) + beside


def check_placements(model: Model, places: Array) -> None:
    """Raise an error for a placement that is not a rotation and a position."""
    every, doubted = _doubted(model, "placements", places)
    for first in range(0, len(doubted), _TOGETHER):
        some = every[doubted[first : first + _TOGETHER]]
        for k, body in np.argwhere(skewness(some) > _OFF**2).tolist():
            raise ArgumentError(
                f"placements of joint {model.joint_names[body]!r} must be 4×4 matrices of a rotation and a position; "
                f"one is {some[k, body].tolist()}"
            )
