"""Which inertias a body can have."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from linkwork.errors import LinkworkWarning
from linkwork.spatial import Inertia, Sym3, Vec3


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
        shown = ", ".join(f"{m:.4g}" for m in moments)
        warnings.warn(
            f"inertia of {where}: no body of mass {mass:g} has the principal moments {shown} kg m²; used as it is",
            LinkworkWarning,
            stacklevel=3,
        )


def clearly_possible(second: Sym3) -> bool:
    """Whether the principal moments clearly fulfil the triangle inequality, without computing them: the second moment
    of the mass, half the trace less the inertia, is positive definite by its leading minors.
    """
    half = 0.5 * (second.xx + second.yy + second.zz)
    x, y, z = half - second.xx, half - second.yy, half - second.zz
    xy, xz, yz = second.xy, second.xz, second.yz
    minor = x * y - xy * xy
    whole = z * minor - (2.0 * xy * xz * yz + x * yz * yz + y * xz * xz)
    return 1e-50 < half < 1e50 and x > 1e-9 * half and minor > 1e-9 * half * half and whole > 1e-9 * half * half * half


def warn_of_inertia(where: str, parameters: Sequence[float]) -> None:
    """Warn of ten inertial parameters that no body can have, in the order of ``model.inertial_parameters``."""
    m, x, y, z, xx, xy, yy, xz, yz, zz = (float(number) for number in parameters)
    check_inertia(where, m, about_centre(Inertia(m, Vec3(x, y, z), Sym3(xx, xy, xz, yy, yz, zz))))


def about_centre(inertia: Inertia) -> Sym3:
    """The second moment about the centre of mass; what rounding leaves is none."""
    c = inertia.moment * (1.0 / inertia.mass)
    about = inertia.second - Inertia.from_com(inertia.mass, c, Sym3.zero()).second
    size = max(map(abs, inertia.second.numbers()))
    return Sym3(*(0.0 if abs(x) <= 1e-12 * size else x for x in np.array(about.numbers()).tolist()))
