"""Requirements of forward dynamics methods on a model. All warn where many digits are lost to rounding; methods that
invert every body's inertia also refuse massless bodies and warn of large mass ratios and of very slender bodies."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from linkwork.algorithms import INVERTING
from linkwork.dynamics.lost_digits import METHODS, better, lost_digits
from linkwork.engine.plans.costs import within
from linkwork.errors import LinkworkWarning, SingularError
from linkwork.model.doubtful import own_shares
from linkwork.model.memo import kept_with_model
from linkwork.model.model import Body, Model
from linkwork.spatial.symmetric import ROUNDING

DEFAULT = "articulated_body"
RECURSIONS = (DEFAULT, "virtual_work")
"""The methods that advice names; the second needs an inertia for every body."""
LARGEST_MASS_RATIO = 1e4
LARGEST_INERTIA_RATIO = 1e6
"""The largest ratio between neighbours without a warning. About one digit is lost for each factor of ten above 1e3."""
LARGEST_SLENDERNESS = 1e6
"""The largest ratio of a body's principal moments without a warning: a rod a thousand times as long as it is thick."""


def check_inertias(method: str, model: Model, stacklevel: int = 3) -> None:
    """For a method that inverts inertias, refuse a body without inertia and warn of neighbours of very different mass;
    for any method, warn of lost digits.
    """
    shares, warning = own_shares(model), ""
    if method.startswith(INVERTING):
        problem, warning = _judged(model)
        if problem:
            raise SingularError(f"{method}: {problem}")
        if warning and method in METHODS and within("perturbed", model) and better(DEFAULT, model, [method]):
            warning = ""  # such bodies cost the default more digits
        shares = _free_shares(model)
    warning = warning or lost_digits(method, model, shares, lambda: [DEFAULT] if _judged(model)[0] else RECURSIONS)
    if warning:
        warnings.warn(f"{method}: {warning}", LinkworkWarning, stacklevel=stacklevel)


@kept_with_model
def _judged(model: Model) -> tuple[str, str]:
    """The error of a model, and a warning; empty if there is none."""
    sizes, slender = [], ""
    for body in model.bodies:
        moments, second = _moments(body), body.inertia.second
        rounding = ROUNDING * float(second.xx + second.yy + second.zz)  # error of moments about a distant origin
        if not (body.inertia.mass > 0.0 and moments[0] > max(1e-14 * moments[2], rounding)):
            return (
                f"body {body.name!r} has mass {body.inertia.mass:g} kg and principal moments "
                f"{', '.join(f'{m:.3g}' for m in moments)} kg m², on joint {body.joint_name!r}; this method "
                f"needs a mass and three moments above zero for every body. Give it some, merge it into its neighbour "
                f"(lw.merge_fixed) or use method='articulated_body'",
                "",
            )
        sizes.append((float(body.inertia.mass), float(moments.sum())))
        if moments[2] > LARGEST_SLENDERNESS * moments[0] and not slender:
            slender = (
                f"body {body.name!r} is so slender that its principal moments differ by {moments[2] / moments[0]:.1e}, "
                f"which costs this method digits; use method='articulated_body'"
            )
    worst, warning = 1.0, slender
    for body, size in zip(model.bodies, sizes, strict=True):
        if not body.parent:
            continue
        other = sizes[body.parent - 1]
        mass, inertia = (max(a, b) / min(a, b) for a, b in zip(size, other, strict=True))
        excess = max(mass / LARGEST_MASS_RATIO, inertia / LARGEST_INERTIA_RATIO)
        if excess > worst:
            worst = excess
            warning = (
                f"bodies {model.bodies[body.parent - 1].name!r} and {body.name!r} differ by {mass:.1e} in mass and "
                f"{inertia:.1e} in moments of inertia, which costs this method digits; use method='articulated_body'"
            )
    return "", warning


@kept_with_model
def _free_shares(model: Model) -> tuple[float, ...]:
    """The least of each joint's own share and that of its body if it were free, with a margin for further cancellation
    in these methods.
    """
    shares = []
    for body, share in zip(model.bodies, own_shares(model), strict=True):
        second = body.inertia.second
        shares.append(0.01 * min(share, float(_moments(body)[0] / (second.xx + second.yy + second.zz))))
    return tuple(shares)


def _moments(body: Body) -> NDArray[np.float64]:
    """The principal moments about the centre of mass, in ascending order."""
    inertia = body.inertia
    second = np.array(inertia.second.full().numbers(), dtype=np.float64).reshape(3, 3)
    if inertia.mass:
        com = np.array(inertia.moment.numbers(), dtype=np.float64) / inertia.mass
        second = second - inertia.mass * (com @ com * np.eye(3) - np.outer(com, com))
    return np.asarray(np.linalg.eigvalsh(second))
