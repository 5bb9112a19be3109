"""The reference acceleration of a row and its regularisation, over any scalars.

d(r) = d₀ + y (d₁ - d₀)     y(x) of x = min(|r| / width, 1): mid (x/mid)^p up to mid, then 1 - (1-mid) ((1-x)/(1-mid))^p
b = 2 / (d₁ tc),  k = 1 / (d₁ tc ratio)²      tc at least two steps of the integration
a_ref = -b v - k d r,       R = (1 - d) / d · A                      A the row's effective inverse mass
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.model.contacts import Softness
from linkwork.spatial import Scalar, absolute, where_less
from linkwork.spatial.powers import power

_SMALL = 1e-15


def spring(softness: Softness, dt: Scalar | None) -> tuple[Scalar, Scalar]:
    """Damping b, and stiffness k without the factor d(r)."""
    deep = softness.impedance[1]
    if softness.time_constant < 0.0:
        return -softness.damping_ratio / deep, -softness.time_constant / (deep * deep)
    time: Scalar = softness.time_constant
    if dt is not None:
        shortest = 2.0 * dt
        time = where_less(time, shortest, shortest, time)
    b = 2.0 / (deep * time)
    root = 1.0 / (deep * time * softness.damping_ratio)
    return b, root * root


def impedance(softness: Softness, r: Scalar) -> Scalar:
    """d(r)."""
    shallow, deep, width, middle, exponent = softness.impedance
    if width < _SMALL or shallow == deep:
        return 0.5 * (shallow + deep)
    if isinstance(r, float) and r == 0.0:
        return shallow
    x = absolute(r) * (1.0 / width)
    x = where_less(x, 1.0, x, 1.0)
    if exponent == 1.0:
        y = x
    else:
        rising = power(x, exponent) * (1.0 / middle ** (exponent - 1.0))
        falling = 1.0 - power(1.0 - x, exponent) * (1.0 / (1.0 - middle) ** (exponent - 1.0))
        y = where_less(middle, x, falling, rising)
    return shallow + y * (deep - shallow)


def regularisation(d: Scalar, inverse_mass: Scalar) -> Scalar:
    """1/R."""
    R = (1.0 - d) / d * inverse_mass
    return 1.0 / where_less(R, _SMALL, _SMALL, R)


def limit_row(
    place: Scalar, speed: Scalar, bounds: Sequence[tuple[float, Scalar]], softness: Softness, margin: Scalar,
    mass: Scalar, dt: Scalar | None,
) -> tuple[Scalar, Scalar, Scalar]:  # fmt: skip
    """Sign, reference acceleration and D of a degree of freedom between bounds, each with the sign of its push, of
    which at most one is violated.
    """
    sides = [(sign, sign * (place - limit) - margin) for sign, limit in bounds]
    sign, depth = sides[0]
    for other, there in sides[1:]:
        sign, depth = (where_less(depth, 0.0, *pair) for pair in ((sign, other), (depth, there)))
    b, k = spring(softness, dt)
    d = impedance(softness, depth)
    D = where_less(depth, 0.0, regularisation(d, mass), 0.0)
    return sign, -b * (sign * speed) - k * d * depth, D


def friction_row(speed: Scalar, softness: Softness, mass: Scalar, dt: Scalar | None) -> tuple[Scalar, Scalar]:
    """The reference acceleration of a degree of freedom with dry friction, and D."""
    b, _ = spring(softness, dt)
    return -b * speed, regularisation(impedance(softness, 0.0), mass)
