"""A humanoid of 24 links on 1-DoF joints with two hands as operational points, as in Chang-Khatib's Figure 2.

The paper draws the mechanism and gives n = 24 and m = 2, but no sizes and no layout; these are ours. Lengths and
masses are those of a person of 1.7 m and 70 kg by the usual anthropometric fractions (Drillis and Contini 1966,
Dempster 1955, as tabulated by Winter, Biomechanics and Motor Control of Human Movement); the distance of the hips,
the heights of waist and neck and the thickness of the parts are estimates. x is forward, y left, z up; the floor is
z = 0, and at the neutral configuration the humanoid stands upright with its arms hanging.

    waist 3 (yaw, roll, pitch), neck 1, each arm 7 (shoulder 3, elbow 1, wrist 3), each leg 3 (hip, knee, ankle pitch)

The pelvis is the root: a part of the world, or with a floating base a body of its own. If ``standing``, the left foot
is fixed to the floor and the pelvis is one of the 24 moving links; the joints have the same names and angles. Where
several joint axes intersect, the links between them are balls with a share of their segment's mass: small, but none
without inertia.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from linkwork.arguments import switch
from linkwork.errors import ArgumentError
from linkwork.joints import Fixed, Free, Revolute
from linkwork.model.builder import Builder
from linkwork.model.mechanisms.links import ball, box, rod
from linkwork.model.model import WORLD, Model
from linkwork.model.placements import placement
from linkwork.spatial import Transform

HEIGHT, MASS = 1.7, 70.0

# Heights above the floor and lengths, as fractions of the body's height.
_HIP, _KNEE, _ANKLE, _WAIST, _SHOULDER, _CHIN = 0.530, 0.285, 0.039, 0.580, 0.818, 0.870
_UPPER_ARM, _FOREARM, _HAND, _FOOT = 0.186, 0.146, 0.108, 0.152
_HALF_SHOULDERS, _HALF_HIPS = 0.129, 0.052

_BALL_SHARE = 0.1
"""The fraction of its segment's mass that a ball between two joints has."""


class _Segment(NamedTuple):
    """Mass as a fraction of the body's; centre of mass and radius of gyration as fractions of the part's length."""

    mass: float
    centre: float
    gyration: float
    radius: float  # m


_PARTS = {
    "upper_arm": _Segment(0.028, 0.436, 0.322, 0.045),
    "forearm": _Segment(0.016, 0.430, 0.303, 0.035),
    "palm": _Segment(0.006, 0.506, 0.297, 0.03),
    "thigh": _Segment(0.100, 0.433, 0.323, 0.08),
    "shank": _Segment(0.0465, 0.433, 0.302, 0.055),
}
_FOOT_MASS, _PELVIS_MASS, _ABDOMEN_MASS, _THORAX_MASS, _HEAD_MASS = 0.0145, 0.142, 0.139, 0.216, 0.081


def humanoid(floating_base: bool = False, standing: bool = False) -> Model:
    """A person of 1.7 m and 70 kg: 24 links on hinges, with the hands as operational points.

    Args:
        floating_base: let the pelvis (9.94 kg) float on the free joint "root_joint"; otherwise it is a part of the
            world and only the 24 links move, 60.06 kg.
        standing: fix the left foot to the floor instead, so that the legs carry the pelvis; 70 kg, of which the foot's
            1.015 kg do not move.

    Returns:
        A Model with the frames "left_hand", "right_hand", "left_sole", "right_sole", "head_top" and "pelvis", and
        position (rad), velocity (rad/s) and torque (N m) limits. With a floating base the free joint's neutral
        position puts the pelvis at its standing height above the floor.

    Example:
        >>> import linkwork as lw
        >>> person = lw.mechanisms.humanoid()
        >>> person.nv, round(person.mass, 2), round(lw.mechanisms.humanoid(floating_base=True).mass, 2)
        (24, 60.06, 70.0)
        >>> feet_and_head = lw.forward_kinematics(person, lw.neutral(person), ["left_sole", "right_sole", "head_top"])
        >>> feet_and_head[:, 2, 3].round(6) + 0.0
        array([0. , 0. , 1.7])
    """
    floating_base, standing = switch("floating_base", floating_base), switch("standing", standing)
    if floating_base and standing:
        raise ArgumentError("a humanoid cannot both float and have a foot fixed to the floor; choose one")
    body = _Body(floating_base, standing)
    body.trunk()
    for side, sign in (("left", 1.0), ("right", -1.0)):
        body.arm(side, sign)
        if side == "right" or not standing:
            body.leg(side, sign)
    if standing:
        body.stance_foot()
    return body.builder.build()


class _Solid(NamedTuple):
    """Mass (kg), centre of mass (m) and principal moments about it (kg m²) of a link."""

    mass: float
    com: tuple[float, float, float]
    inertia: tuple[float, float, float]


class _Body:
    """Adds the parts to a builder."""

    def __init__(self, floating_base: bool, standing: bool) -> None:
        self.builder = Builder("humanoid")
        height = placement(xyz=(0.0, 0.0, _HIP * HEIGHT))
        pelvis = _block(_PELVIS_MASS, (0.18, 0.28, 0.18), (0.0, 0.0, 0.03))
        self.root, self.root_place = "pelvis", placement()
        if standing:
            self.stance_leg(pelvis)
        elif floating_base:
            self.builder.add_body("pelvis", WORLD, Free(), height, joint_name="root_joint", **pelvis._asdict())
        else:
            self.root, self.root_place = WORLD, height
            self.builder.add_frame("pelvis", WORLD, height)

    def trunk(self) -> None:
        """Waist, chest and head, upward."""
        chest_height = (_SHOULDER - _WAIST) * HEIGHT
        neck = chest_height + 0.04
        top = (1.0 - _WAIST) * HEIGHT - neck
        waist = self.root_place * placement(xyz=(0.0, 0.0, (_WAIST - _HIP) * HEIGHT))
        lower, upper = (_block(0.5 * _ABDOMEN_MASS, (0.18, 0.26, 0.10), (0.0, 0.0, z)) for z in (0.03, 0.06))
        chest = _block(_THORAX_MASS, (0.20, 0.32, 0.30), (0.0, 0.0, 0.5 * chest_height))
        skull = _block(_HEAD_MASS, (0.18, 0.15, (1.0 - _CHIN) * HEIGHT), (0.02, 0.0, 0.5 * top))
        self.hinge("lower_abdomen", self.root, "waist_yaw", "z", waist, lower, (-0.8, 0.8), 150.0)
        self.hinge("upper_abdomen", "lower_abdomen", "waist_roll", "x", placement(), upper, (-0.5, 0.5), 200.0)
        self.hinge("chest", "upper_abdomen", "waist_pitch", "y", placement(), chest, (-0.5, 1.6), 300.0)
        self.hinge("head", "chest", "neck_pitch", "y", placement(xyz=(0.0, 0.0, neck)), skull, (-0.7, 0.7), 30.0)
        self.builder.add_frame("head_top", "head", placement(xyz=(0.0, 0.0, top)))

    def arm(self, side: str, sign: float) -> None:
        """Seven joints from shoulder to hand, downward."""
        shoulder = placement(xyz=(0.0, sign * _HALF_SHOULDERS * HEIGHT, (_SHOULDER - _WAIST) * HEIGHT))
        elbow, wrist = _below(_UPPER_ARM), _below(_FOREARM)
        upper, fore, palm = _limb("upper_arm", _UPPER_ARM, 2), _limb("forearm", _FOREARM, 1), _limb("palm", _HAND, 1)
        roll, yaw = _mirrored(-0.3, 2.8, sign), _mirrored(-1.6, 1.6, sign)
        wrist_yaw, wrist_roll = _mirrored(-1.5, 1.5, sign), _mirrored(-0.5, 0.5, sign)
        s = f"{side}_"
        self.hinge(s + "shoulder1", "chest", s + "shoulder_pitch", "y", shoulder, _ball("upper_arm"), (-3.0, 1.0), 90.0)
        self.hinge(
            s + "shoulder2", s + "shoulder1", s + "shoulder_roll", "x", placement(), _ball("upper_arm"), roll, 90.0
        )
        self.hinge(s + "upper_arm", s + "shoulder2", s + "shoulder_yaw", "z", placement(), upper, yaw, 50.0)
        self.hinge(s + "forearm", s + "upper_arm", s + "elbow_pitch", "y", elbow, fore, (-2.5, 0.0), 70.0)
        self.hinge(s + "wrist1", s + "forearm", s + "wrist_yaw", "z", wrist, _ball("forearm"), wrist_yaw, 15.0)
        self.hinge(s + "wrist2", s + "wrist1", s + "wrist_roll", "x", placement(), _ball("palm"), wrist_roll, 12.0)
        self.hinge(s + "palm", s + "wrist2", s + "wrist_pitch", "y", placement(), palm, (-1.2, 1.2), 12.0)
        self.builder.add_frame(s + "hand", s + "palm", placement(xyz=palm.com))

    def leg(self, side: str, sign: float) -> None:
        """Three joints from hip to foot, downward."""
        hip = self.root_place * placement(xyz=(0.0, sign * _HALF_HIPS * HEIGHT, 0.0))
        thigh, shank = _HIP - _KNEE, _KNEE - _ANKLE
        s = f"{side}_"
        self.hinge(s + "thigh", self.root, s + "hip_pitch", "y", hip, _limb("thigh", thigh), (-2.2, 0.6), 250.0)
        self.hinge(
            s + "shank", s + "thigh", s + "knee_pitch", "y", _below(thigh), _limb("shank", shank), (0.0, 2.5), 250.0
        )
        self.hinge(s + "foot", s + "shank", s + "ankle_pitch", "y", _below(shank), _foot(), (-0.6, 0.9), 180.0)
        self.builder.add_frame(s + "sole", s + "foot", _below(_ANKLE))

    def stance_leg(self, pelvis: _Solid) -> None:
        """The left leg from its sole to the pelvis, upward: the same joints, in the reverse direction."""
        thigh, shank = _HIP - _KNEE, _KNEE - _ANKLE
        centre = placement(xyz=(0.0, -_HALF_HIPS * HEIGHT, thigh * HEIGHT))  # on the hips' common axis
        ankle, down = placement(xyz=(0.0, _HALF_HIPS * HEIGHT, _ANKLE * HEIGHT)), "-y"
        lower, upper = _upward(_limb("shank", shank), shank), _upward(_limb("thigh", thigh), thigh)
        self.hinge("left_shank", WORLD, "left_ankle_pitch", down, ankle, lower, (-0.6, 0.9), 180.0)
        self.hinge("left_thigh", "left_shank", "left_knee_pitch", down, _below(-shank), upper, (0.0, 2.5), 250.0)
        self.hinge("pelvis", "left_thigh", "left_hip_pitch", down, centre, pelvis, (-2.2, 0.6), 250.0)

    def stance_foot(self) -> None:
        """The left foot, fixed to the floor."""
        ankle, foot = placement(xyz=(0.0, _HALF_HIPS * HEIGHT, _ANKLE * HEIGHT)), _foot()
        self.builder.add_body("left_foot", WORLD, Fixed(), ankle, joint_name="left_foot_fixed", **foot._asdict())
        self.builder.add_frame("left_sole", "left_foot", _below(_ANKLE))

    def hinge(
        self,
        name: str,
        parent: str,
        joint: str,
        axis: str,
        place: Transform,
        solid: _Solid,
        limits: tuple[float, float],
        effort: float,
    ) -> None:
        bounds: dict[str, Any] = {"lower": limits[0], "upper": limits[1], "velocity": 10.0, "effort": effort}
        self.builder.add_body(name, parent, Revolute(axis), place, joint_name=joint, **bounds, **solid._asdict())


def _limb(part: str, length: float, balls: int = 0) -> _Solid:
    """A long part along -z, without the mass of the balls beside it that are made of it."""
    segment, metres = _PARTS[part], length * HEIGHT
    mass = segment.mass * (1.0 - balls * _BALL_SHARE) * MASS
    across = mass * (segment.gyration * metres) ** 2
    return _Solid(
        mass, (0.0, 0.0, -segment.centre * metres), (across, across, rod(mass, metres, segment.radius, "z")[2])
    )


def _foot() -> _Solid:
    length, ankle = _FOOT * HEIGHT, _ANKLE * HEIGHT
    return _block(_FOOT_MASS, (length, 0.09, 0.8 * ankle), (0.25 * length, 0.0, -0.6 * ankle))


def _upward(solid: _Solid, length: float) -> _Solid:
    """A long part relative to its lower end."""
    x, y, z = solid.com
    return _Solid(solid.mass, (x, y, z + length * HEIGHT), solid.inertia)


def _ball(part: str) -> _Solid:
    """A link between two joints whose axes intersect."""
    mass = _PARTS[part].mass * _BALL_SHARE * MASS
    return _Solid(mass, (0.0, 0.0, 0.0), ball(mass, _PARTS[part].radius))


def _block(share: float, size: tuple[float, float, float], com: tuple[float, float, float]) -> _Solid:
    return _Solid(share * MASS, com, box(share * MASS, size))


def _below(length: float) -> Transform:
    return placement(xyz=(0.0, 0.0, -length * HEIGHT))


def _mirrored(lower: float, upper: float, sign: float) -> tuple[float, float]:
    """The range of a joint about x or z on the left (sign 1), or its mirror image on the right."""
    return (lower, upper) if sign > 0 else (-upper, -lower)
