"""Inertial parameters: ten numbers for each body, in which the equations of motion are linear."""

from __future__ import annotations

from dataclasses import replace

from numpy.typing import ArrayLike

from linkwork.arguments import finite_array
from linkwork.errors import ArgumentError, ModelError, shown
from linkwork.model.inertias import about_centre, check_inertia
from linkwork.model.model import Model
from linkwork.spatial import Inertia, Sym3, Vec3


def with_inertial_parameters(model: Model, parameters: ArrayLike) -> Model:
    """The same mechanism with other masses, centres of mass and inertias.

    Args:
        model: the mechanism.
        parameters: (nbodies, 10) in the order of ``model.inertial_parameters``: mass (kg), mass times centre of mass
            (kg m), and Ixx, Ixy, Iyy, Ixz, Iyz, Izz (kg m²) about the origin of the body's frame, not about the centre
            of mass.

    Returns:
        A new model, otherwise unchanged.

    Raises:
        ModelError: if a mass is negative, or a body without mass has a first moment; the error names the body.

    Warns:
        LinkworkWarning: if an inertia is one that no body can have; it is used all the same.

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(2)
        >>> heavier = lw.with_inertial_parameters(arm, 2.0 * arm.inertial_parameters)
        >>> heavier.mass / arm.mass
        2.0
    """
    if not isinstance(model, Model):
        raise ArgumentError(f"model must be a linkwork Model, not {shown(model)}")
    return replaced(model, parameters, "parameters")


def replaced(model: Model, parameters: ArrayLike, name: str) -> Model:
    """The same, for an argument of this name."""
    rows = finite_array(name, parameters)
    expected = (len(model.bodies), 10)
    if rows.shape != expected:
        raise ArgumentError(
            f"{name} must have shape {expected} for model {model.name!r}, ten for each body, not {rows.shape}"
        )
    bodies = []
    for body, numbers in zip(model.bodies, rows.tolist(), strict=True):
        m, x, y, z, xx, xy, yy, xz, yz, zz = numbers
        if m < 0.0 or (m == 0.0 and (x or y or z)):
            raise ModelError(
                f"{name} of body {body.name!r}: mass must not be negative, nor zero with a first moment; they are "
                f"mass {m:g} kg and first moment ({x:g}, {y:g}, {z:g}) kg m"
            )
        inertia = Inertia(m, Vec3(x, y, z), Sym3(xx, xy, xz, yy, yz, zz))
        if m:
            check_inertia(f"body {body.name!r}", m, about_centre(inertia))
        bodies.append(replace(body, inertia=inertia))
    return replace(model, bodies=tuple(bodies))
