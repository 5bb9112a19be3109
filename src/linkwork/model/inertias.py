"""Inertias from user input: a mass, a centre of mass and moments about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.arguments import all_floats, several
from linkwork.errors import ModelError, shown, warn_caller
from linkwork.model.placements import numbers_of
from linkwork.spatial import Inertia, Sym3, Vec3

NO_MASS = 0.0
NO_OFFSET = NO_INERTIA = (0.0, 0.0, 0.0)
NOTHING = Inertia.from_com(NO_MASS, Vec3(*NO_OFFSET), Sym3.zero())
"""One shared object for all bodies without inertia: a large model has many."""


def as_inertia(where: str, mass: Any, com: Any, inertia: Any) -> Inertia:
    """A checked inertia: from kg, m and kg m² about the centre of mass, as ``Builder.add_body`` takes them."""
    (kilograms,) = several(f"mass of {where}", [mass], 1, ModelError)
    if kilograms < 0.0:
        raise ModelError(f"mass of {where} must not be negative, but is {kilograms}")
    second = _second_moment(where, inertia)
    check_inertia(where, kilograms, second)
    return Inertia.from_com(kilograms, Vec3(*several(f"com of {where}", com, 3, ModelError)), second)


def check_inertia(where: str, mass: float, second: Sym3) -> None:
    """Warn of an inertia about the centre of mass that no body can have."""
    if clearly_possible(second) or not any(second.numbers()):
        return
    if second.xy == second.xz == second.yz == 0.0:
        least, middle, most = sorted((second.xx, second.yy, second.zz))
        if least >= 0.0 and least + middle >= most:
            return
    moments = np.linalg.eigvalsh(np.array(second.full().numbers()).reshape(3, 3))
    slack = 1e-9 * max(abs(moments)) + 1e-300
    if moments[0] < -slack or moments[0] + moments[1] < moments[2] * (1 - 1e-6) - slack:
        numbers = ", ".join(f"{m:.4g}" for m in moments)
        reason = f"no body of mass {mass:g} has the principal moments {numbers} kg m²"
        warn_caller(f"inertia of {where}: {reason}; used as it is")


def clearly_possible(second: Sym3) -> Any:
    """Whether the principal moments clearly satisfy the triangle inequality, without computing them: the second moment
    of the mass, half the trace minus the inertia, is positive definite by its leading minors. An array for many bodies.
    """
    half = 0.5 * (second.xx + second.yy + second.zz)
    x, y, z = half - second.xx, half - second.yy, half - second.zz
    xy, xz, yz = second.xy, second.xz, second.yz
    minor = x * y - xy * xy
    whole = z * minor - (2.0 * xy * xz * yz + x * yz * yz + y * xz * xz)
    sane = (half > 1e-50) & (half < 1e50)
    return sane & (x > 1e-9 * half) & (minor > 1e-9 * half * half) & (whole > 1e-9 * half * half * half)


def _second_moment(where: str, inertia: Any) -> Sym3:
    if inertia is NO_INERTIA:
        return Sym3.zero()
    if type(inertia) is list and len(inertia) == 6 and all_floats(inertia) and max(map(abs, inertia)) < 1e300:
        return Sym3(*inertia)
    matrix = numbers_of(inertia)
    if matrix.shape == (3,):
        matrix = np.diag(matrix)
    elif matrix.shape == (6,):
        xx, xy, xz, yy, yz, zz = matrix
        matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if matrix.shape != (3, 3):
        raise ModelError(
            f"inertia of {where} must be 3 principal moments, 6 numbers or a 3×3 matrix, not {shown(inertia)}"
        )
    if not abs(matrix).max() < 1e300:
        raise ModelError(f"inertia of {where} must be finite, and less than 1e300 kg m², not {shown(inertia)}")
    if abs(matrix - matrix.T).max() > 1e-9 * abs(matrix).max():
        raise ModelError(f"inertia of {where} must be symmetric, not {shown(inertia)}")
    return Sym3(*(float(matrix[i, j]) for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))))


def warn_of_inertia(where: str, parameters: Sequence[float]) -> None:
    """Warn of ten inertial parameters that no body can have, in the order of ``model.inertial_parameters``."""
    m, x, y, z, xx, xy, yy, xz, yz, zz = (float(number) for number in parameters)
    check_inertia(where, m, about_centre(Inertia(m, Vec3(x, y, z), Sym3(xx, xy, xz, yy, yz, zz))))


def about_centre(inertia: Inertia) -> Sym3:
    """The second moment about the centre of mass; a value at the level of rounding becomes zero."""
    c = inertia.moment * (1.0 / inertia.mass)
    about = inertia.second - Inertia.from_com(inertia.mass, c, Sym3.zero()).second
    size = max(map(abs, inertia.second.numbers()))
    return Sym3(*(0.0 if abs(x) <= 1e-12 * size else x for x in np.array(about.numbers()).tolist()))
