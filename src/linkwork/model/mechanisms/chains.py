"""Chains, stars and trees of equal links."""

from __future__ import annotations

import math

from linkwork.arguments import integer, switch
from linkwork.joints import Free, Joint, Spherical
from linkwork.model.mechanisms.links import JointChoice, extent, joints, rod, whole
from linkwork.model.model import WORLD, Body, Frame, Limits, Model
from linkwork.model.placements import placement
from linkwork.spatial import Inertia, Sym3, Transform, Vec3


def serial_chain(
    n: int,
    joint: JointChoice = "revolute",
    *,
    link_length: float = 1.0,
    link_mass: float = 1.0,
    link_radius: float = 0.05,
    floating_base: bool = False,
) -> Model:
    """A chain of equal links, each a uniform cylinder along its x axis with its joint at the near end.

    Args:
        n: number of joints, and of links after the base.
        joint: a type in ``lw.joints.KINDS`` with its default axis (z for most), a joint, or several to cycle through.
        link_length: m.
        link_mass: kg.
        link_radius: m.
        floating_base: add one more link, "base", that carries the chain and floats on the free joint "root_joint".

    Returns:
        A Model with the bodies "body1"..., the joints "joint1"... and the frame "tip" at the end of the last link.

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(3)
        >>> arm.joint_names
        ('joint1', 'joint2', 'joint3')
        >>> lw.forward_kinematics(arm, [0.0, 0.0, 0.0], ["tip"])[0, :3, 3]
        array([3., 0., 0.])
        >>> lw.mechanisms.serial_chain(10, ["revolute", "spherical"], floating_base=True).nv
        26
    """
    count = whole("n", n)
    length, mass = extent("link_length", link_length), extent("link_mass", link_mass)
    radius = extent("link_radius", link_radius)
    chain = _Links("serial_chain", length, mass, radius, direction=(1.0, 0.0, 0.0))
    last = (
        chain.add("base", "root_joint", 0, Free(), Transform.identity())
        if switch("floating_base", floating_base)
        else 0
    )
    for k, kind in enumerate(joints(joint, count), 1):
        last = chain.add(f"body{k}", f"joint{k}", last, kind, chain.end if last else Transform.identity())
    return chain.build({"tip": last})


def binary_tree(
    depth: int, joint: JointChoice = "revolute", *, link_length: float = 1.0, link_mass: float = 1.0
) -> Model:
    """A full binary tree of equal links: each carries two at its end, spread by 60 degrees.

    Args:
        depth: links on the path from the world to a leaf; there are 2^depth - 1 links.
        joint: as in ``serial_chain``.
        link_length: m.
        link_mass: kg.

    Returns:
        A Model with the bodies "body1"... depth first, and the frames "tip1"... at the ends of the leaves.

    Example:
        >>> import linkwork as lw
        >>> tree = lw.mechanisms.binary_tree(4)
        >>> tree.nv, tree.depth, tree.frame_names[-1], round(tree.mass, 12)
        (15, 4, 'joint15', 15.0)
    """
    levels = integer("depth", depth, 1, 20)  # a million links
    length, mass = extent("link_length", link_length), extent("link_mass", link_mass)
    tree = _Links("binary_tree", length, mass, 0.05 * length, direction=(1.0, 0.0, 0.0))
    kinds = iter(joints(joint, 2**levels - 1))
    sides = [placement(xyz=(length, 0.0, 0.0), rpy=(0.0, 0.0, turn)) for turn in (math.pi / 6, -math.pi / 6)]
    tips: dict[str, int] = {}
    waiting = [(0, 1, Transform.identity())]  # parent, level, placement on the parent
    while waiting:
        parent, level, place = waiting.pop()
        k = len(tree.bodies) + 1
        index = tree.add(f"body{k}", f"joint{k}", parent, next(kinds), place)
        if level < levels:
            waiting += [(index, level + 1, side) for side in reversed(sides)]
        else:
            tips[f"tip{len(tips) + 1}"] = index
    return tree.build(tips)


def star(n: int, joint: JointChoice = "spherical", *, link_length: float = 1.0, link_mass: float = 1.0) -> Model:
    """End links that hang from one link, which hangs from the ground by a spherical joint: Yamane-Nakamura's Figure 7.

    The paper has 2 to 12 end links on spherical joints, 9 to 39 degrees of freedom. It gives no sizes; these are ours.

    Args:
        n: number of end links.
        joint: of the end links, as in ``serial_chain``.
        link_length: of each link (m), along -z.
        link_mass: of each link (kg).

    Returns:
        A Model with the bodies "hub" and "end1"..., and the frames "tip1"... at the end links' lower ends.

    Example:
        >>> import linkwork as lw
        >>> lw.mechanisms.star(2).nv, lw.mechanisms.star(12).nv
        (9, 39)
    """
    count = whole("n", n)
    length, mass = extent("link_length", link_length), extent("link_mass", link_mass)
    links = _Links("star", length, mass, 0.05 * length, direction=(0.0, 0.0, -1.0))
    hub = links.add("hub", "hub_joint", 0, Spherical(), Transform.identity())
    tips = {}
    for k, kind in enumerate(joints(joint, count), 1):
        angle = 2.0 * math.pi * k / count
        rim = placement(xyz=(0.3 * length * math.cos(angle), 0.3 * length * math.sin(angle), -length))
        tips[f"tip{k}"] = links.add(f"end{k}", f"joint{k}", hub, kind, rim)
    return links.build(tips)


def serial_30dof() -> Model:
    """Ten links that hang in a row on spherical joints: the 30-DoF serial chain of Yamane-Nakamura's Figure 4.

    The paper gives no sizes: links of 0.3 m and 1 kg are ours.

    Returns:
        A Model with the bodies "body1"... along -z and the frame "tip".

    Example:
        >>> import linkwork as lw
        >>> chain = lw.mechanisms.serial_30dof()
        >>> chain.nv, chain.depth, float(lw.forward_kinematics(chain, lw.neutral(chain), ["tip"])[0, 2, 3].round(9))
        (30, 10, -3.0)
    """
    chain = _Links("serial_30dof", 0.3, 1.0, 0.03, direction=(0.0, 0.0, -1.0))
    last = 0
    for k in range(1, 11):
        last = chain.add(f"body{k}", f"joint{k}", last, Spherical(), chain.end if last else Transform.identity())
    return chain.build({"tip": last})


def branched_30dof() -> Model:
    """Four links on spherical joints that hang in a row and carry two branches of three: Yamane-Nakamura's Figure 5.

    30 degrees of freedom. The paper gives neither sizes nor the position of the branch: links of 0.3 m and 1 kg, and
    this layout, are ours.

    Returns:
        A Model with the bodies "body1"... along -z and the frames "tip1" and "tip2".

    Example:
        >>> import linkwork as lw
        >>> chain = lw.mechanisms.branched_30dof()
        >>> chain.nv, chain.depth, [body.parent for body in chain.bodies]
        (30, 7, [0, 1, 2, 3, 4, 5, 6, 4, 8, 9])
    """
    chain = _Links("branched_30dof", 0.3, 1.0, 0.03, direction=(0.0, 0.0, -1.0))
    for k, parent in enumerate((0, 1, 2, 3, 4, 5, 6, 4, 8, 9), 1):
        chain.add(f"body{k}", f"joint{k}", parent, Spherical(), chain.end if parent else Transform.identity())
    return chain.build({"tip1": 7, "tip2": 10})


def rope(
    n: int = 100,
    joint: JointChoice = "universal",
    *,
    length: float = 5.0,
    mass_per_metre: float = 0.065,
    radius: float = 0.005,
) -> Model:
    """A rope that hangs from the world, modelled as many short rods; by default a 10 mm polyamide rope.

    Args:
        n: number of links.
        joint: as in ``serial_chain``; universal joints (about x and y) bend, spherical ones twist as well.
        length: of the rope (m).
        mass_per_metre: kg/m.
        radius: m.

    Returns:
        A Model with the bodies "body1"... along -z and the frame "tip".

    Example:
        >>> import linkwork as lw
        >>> line = lw.mechanisms.rope(50, length=2.0)
        >>> line.nv, round(line.mass, 9)
        (100, 0.13)
    """
    count = whole("n", n)
    step = extent("length", length) / count
    line = _Links(
        "rope",
        step,
        step * extent("mass_per_metre", mass_per_metre),
        extent("radius", radius),
        direction=(0.0, 0.0, -1.0),
    )
    last = 0
    for k, kind in enumerate(joints(joint, count), 1):
        last = line.add(f"body{k}", f"joint{k}", last, kind, line.end if last else Transform.identity())
    return line.build({"tip": last})


class _Links:
    """Equal links that share one inertia; links are not checked one by one, so that 100,000 of them take a second."""

    def __init__(
        self, name: str, length: float, mass: float, radius: float, direction: tuple[float, float, float]
    ) -> None:
        self.name = name
        self.bodies: list[Body] = []
        self.end = placement(xyz=[length * c for c in direction])
        along = "x" if direction[0] else "z"
        xx, yy, zz = rod(mass, length, radius, along)
        centre = Vec3(*(0.5 * length * c for c in direction))
        self._inertia = Inertia.from_com(mass, centre, Sym3(xx, 0.0, 0.0, yy, 0.0, zz))
        self._limits: dict[type[Joint], Limits] = {}

    def add(self, name: str, joint_name: str, parent: int, joint: Joint, place: Transform) -> int:
        """Add a link; returns its index, from 1."""
        limits = self._limits.setdefault(type(joint), Limits.none(joint))
        self.bodies.append(Body(name, joint_name, parent, joint, place, self._inertia, (), limits))
        return len(self.bodies)

    def build(self, tips: dict[str, int]) -> Model:
        """The Model, with a frame at the far end of each of the links in ``tips``."""
        here = Transform.identity()
        frames = [Frame(WORLD, 0, here), *(Frame(name, index, self.end) for name, index in tips.items())]
        frames += [Frame(body.name, index, here, "link") for index, body in enumerate(self.bodies, 1)]
        frames += [Frame(body.joint_name, index, here, "joint") for index, body in enumerate(self.bodies, 1)]
        return Model(self.name, tuple(self.bodies), tuple(frames))
