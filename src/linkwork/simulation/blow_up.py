"""Motions that diverge: which joint is to blame."""

from __future__ import annotations

from linkwork.model.model import Model

BLOWN_UP = 1e6
"""A velocity (rad/s, m/s) beyond that of any mechanism: the motion has diverged."""


def joint_of(model: Model, dof: int) -> str:
    """The name of the joint that has this degree of freedom."""
    return next(
        body.joint_name
        for body, start in zip(model.bodies, model.v_start, strict=True)
        if start <= dof < start + body.joint.nv
    )
