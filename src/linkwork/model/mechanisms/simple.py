"""The simplest mechanisms of textbooks."""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.arguments import several
from linkwork.joints import Free, Revolute
from linkwork.model.builder import Builder
from linkwork.model.mechanisms.links import box, extent, rod
from linkwork.model.model import Model
from linkwork.model.placements import placement


def pendulum(length: float = 1.0, mass: float = 1.0) -> Model:
    """A uniform rod that hangs from a hinge about y.

    Args:
        length: of the rod (m).
        mass: of the rod (kg).

    Returns:
        A Model with the body "body1", the joint "joint1" and the frame "tip".

    Example:
        A rod falls from the horizontal with an acceleration of 3/2 g/l, 7.3575 here if it were thin:

        >>> import linkwork as lw
        >>> rod = lw.mechanisms.pendulum(length=2.0)
        >>> round(float(lw.forward_dynamics(rod, [-1.5707963267948966], [0.0], [0.0])[0]), 3)
        7.355
    """
    return _hanging("pendulum", 1, length, mass)


def double_pendulum(length: float = 1.0, mass: float = 1.0) -> Model:
    """Two equal uniform rods that hang from each other, on hinges about y.

    Args:
        length: of each rod (m).
        mass: of each rod (kg).

    Returns:
        A Model with "body1", "body2", "joint1", "joint2" and the frame "tip".

    Example:
        >>> import linkwork as lw
        >>> model = lw.mechanisms.double_pendulum(length=0.5)
        >>> lw.forward_kinematics(model, [0.0, 0.0], ["tip"])[0, :3, 3]
        array([ 0.,  0., -1.])
    """
    return _hanging("double_pendulum", 2, length, mass)


def free_box(mass: float = 1.0, size: Sequence[float] = (0.3, 0.2, 0.1)) -> Model:
    """A free uniform box.

    Args:
        mass: kg.
        size: edges along x, y and z (m); the body's frame is at the centre.

    Returns:
        A Model with the body "box" on the free joint "box_joint".

    Example:
        >>> import linkwork as lw
        >>> box = lw.mechanisms.free_box(mass=2.0)
        >>> lw.forward_dynamics(box, lw.neutral(box), [0.0] * 6, [0.0] * 6)
        array([ 0.  ,  0.  , -9.81,  0.  ,  0.  ,  0.  ])
    """
    edges = [extent(f"size along {axis}", edge) for axis, edge in zip("xyz", several("size", size, 3), strict=True)]
    kilograms = extent("mass", mass)
    builder = Builder("free_box")
    builder.add_body("box", joint=Free(), mass=kilograms, inertia=box(kilograms, edges), joint_name="box_joint")
    return builder.build()


def _hanging(name: str, count: int, length: float, mass: float) -> Model:
    length, mass = extent("length", length), extent("mass", mass)
    below = placement(xyz=(0.0, 0.0, -length))
    builder = Builder(name)
    for k in range(1, count + 1):
        parent, place = (f"body{k - 1}", below) if k > 1 else ("world", None)
        com, inertia = (0.0, 0.0, -0.5 * length), rod(mass, length, 0.02 * length, along="z")
        joint = Revolute("y")
        builder.add_body(f"body{k}", parent, joint, place, mass=mass, com=com, inertia=inertia, joint_name=f"joint{k}")
    builder.add_frame("tip", f"body{count}", below)
    return builder.build()
