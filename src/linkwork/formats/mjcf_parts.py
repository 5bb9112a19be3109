"""Equality constraints, actuators and springs of a compiled MuJoCo model, and its parts that a Model does not have.

MuJoCo's equality constraints are soft, with a stiffness and a damping each (solref, solimp); the constraints that they
become are rigid. The values of its enumerations are checked by a test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linkwork.formats.omissions import Omissions
from linkwork.model import Actuator, Point
from linkwork.model.constraints import Ball, Constraint, Coupling, Weld
from linkwork.model.queries import unused
from linkwork.spatial import Mat3, Quaternion, Transform, Vec3

FREE, BALL, SLIDE, HINGE = range(4)  # mjtJoint
TRANSMISSIONS = TO_JOINT, TO_JOINT_IN_PARENT, TO_TENDON, OVER_JOINT = 0, 1, 3, 1  # mjtTrn, mjtWrap
TO_SITE = 4
EQUALITIES = CONNECT, WELD, JOINT, SITES = 0, 1, 2, 6  # mjtEq, mjtObj
LAWS = NO_STATE, FIXED_GAIN, AFFINE_BIAS = 0, 0, 1  # mjtDyn, mjtGain, mjtBias


class Names:
    """The names of bodies, joints and sites in the Model."""

    def __init__(self, bodies: Sequence[str], joints: Sequence[str], sites: Sequence[str]) -> None:
        self.bodies, self.joints, self.sites = bodies, joints, sites


def rotation(wxyz: Any) -> Mat3:
    """The rotation of a quaternion in MuJoCo's order."""
    w, x, y, z = wxyz.tolist()
    return Quaternion(x, y, z, w).normalized().matrix()


def constraints_of(m: Any, names: Names, omissions: Omissions) -> list[Constraint]:
    """The equality constraints that are active initially, as far as a Model has their kinds."""
    constraints = []
    for e in range(m.neq):
        constraint = _equality(m, e, names) if m.eq_active0[e] else "that are off in the file"
        if isinstance(constraint, str):
            omissions.add(f"equality constraints {constraint}", [_name(m.equality, e)])
        else:
            constraints.append(constraint)
    return constraints


def _name(view: Callable[[int], Any], index: int) -> str:
    """The name of a thing in the file, or its number."""
    return view(index).name or str(index)


def _word(kind: str, value: int) -> str:
    """The word for a value of an enumeration of MuJoCo, such as "tendon" for mjEQ_TENDON."""
    import mujoco

    return str(getattr(mujoco, kind)(value).name).partition("_")[2].lower()


def _equality(m: Any, e: int, names: Names) -> Constraint | str:
    """The constraint, or which ones are not supported."""
    kind, one, other = int(m.eq_type[e]), int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
    data = m.eq_data[e]
    if kind == JOINT:
        joint, at = names.joints[one], float(m.qpos0[m.jnt_qposadr[one]]) + float(data[0])
        if other < 0:
            return Coupling(joint, joint, 0.0, at)
        if data[2:5].any():
            return "of joints that are not linear"
        ratio = float(data[1])
        return Coupling(joint, names.joints[other], ratio, at - ratio * float(m.qpos0[m.jnt_qposadr[other]]))
    if kind not in (CONNECT, WELD):
        return f"of the kind {_word('mjtEq', kind)}"
    frames = names.sites if int(m.eq_objtype[e]) == SITES else names.bodies
    a, b = frames[one], frames[other]
    if frames is names.sites:  # their origins, or the sites themselves, coincide
        return Ball(a, b) if kind == CONNECT else Weld(b, a)
    first, second = (Vec3(*data[start : start + 3].tolist()) for start in (0, 3))
    if kind == CONNECT:
        return Ball(Point(a, _numbers(first)), Point(b, _numbers(second)))
    if not data[10]:  # no torque: only the points coincide
        return Ball(Point(b, _numbers(first)), Point(a, _numbers(second)))
    return Weld(_anchored(b, first), _anchored(a, second), Transform(rotation(data[6:10]), Vec3.zero()))


def _anchored(frame: str, place: Vec3) -> Point | str:
    """A frame of a weld at its anchor."""
    return Point(frame, _numbers(place)) if any(place.numbers()) else frame


def _numbers(vector: Vec3) -> tuple[float, float, float]:
    return (float(vector.x), float(vector.y), float(vector.z))


def actuators_of(m: Any, names: Names, omissions: Omissions) -> list[Actuator]:
    """All actuators, as far as a Model has their parts."""
    actuators = []
    names_in_use = {m.actuator(i).name for i in range(m.nu)}
    for i in range(m.nu):
        name = m.actuator(i).name or unused_name(f"actuator{i}", names_in_use)
        joints, frame, lacks = _transmission(m, i, names)
        lacks += _law(m, i)
        affine, fixed = int(m.actuator_biastype[i]) == AFFINE_BIAS, int(m.actuator_gaintype[i]) == FIXED_GAIN
        options: dict[str, Any] = {
            f"{which}_range": tuple(getattr(m, f"actuator_{short}range")[i].tolist())
            for which, short in (("control", "ctrl"), ("force", "force"))
            if getattr(m, f"actuator_{short}limited")[i]
        }
        options["gain"] = float(m.actuator_gainprm[i][0]) if fixed else 0.0
        if affine:
            options["bias"] = tuple(m.actuator_biasprm[i][:3].tolist())
        gear = tuple(m.actuator_gear[i].tolist()) if frame is not None else ()
        actuators.append(Actuator(name, joints, frame, gear, left_out=", ".join(lacks), **options))
    for one in actuators:
        if one.left_out:
            omissions.add(f"of actuators {one.left_out}", [one.name])
    return actuators


def _transmission(m: Any, i: int, names: Names) -> tuple[dict[str, list[float]], str | None, list[str]]:
    """The gears of joints, the frame that it acts on, and its unsupported parts."""
    kind, target, gear = int(m.actuator_trntype[i]), int(m.actuator_trnid[i][0]), m.actuator_gear[i].tolist()
    if kind in (TO_JOINT, TO_JOINT_IN_PARENT):
        shape = int(m.jnt_type[target])
        if shape in (SLIDE, HINGE):
            return {names.joints[target]: gear[:1]}, None, []
        if shape == BALL and kind == TO_JOINT:
            gears = {names.joints[target]: gear[:3]}
            return gears, None, ["a length over a ball joint"] if _has_length(m, i) else []
        return {}, None, ["a transmission to the axes of another frame"]
    if kind == TO_TENDON:
        parts = range(m.tendon_adr[target], m.tendon_adr[target] + m.tendon_num[target])
        if all(int(m.wrap_type[part]) == OVER_JOINT for part in parts):
            over: dict[str, list[float]] = {}
            for part in parts:
                joint = names.joints[int(m.wrap_objid[part])]
                over[joint] = [over.get(joint, [0.0])[0] + gear[0] * float(m.wrap_prm[part])]
            return over, None, []
        return {}, None, ["a tendon in space"]
    if kind == TO_SITE and int(m.actuator_trnid[i][1]) < 0:
        return {}, names.sites[target], []
    return {}, None, [f"a transmission of the kind {_word('mjtTrn', kind)}{' to another' if kind == TO_SITE else ''}"]


def _has_length(m: Any, i: int) -> bool:
    return int(m.actuator_biastype[i]) == AFFINE_BIAS and bool(m.actuator_biasprm[i][1])


def _law(m: Any, i: int) -> list[str]:
    """The parts of an actuator's law beyond a gain and a bias."""
    lacks = []
    if int(m.actuator_dyntype[i]) != NO_STATE:
        lacks.append(f"a state of its own ({_word('mjtDyn', int(m.actuator_dyntype[i]))})")
    gain, affine = int(m.actuator_gaintype[i]), int(m.actuator_biastype[i]) in (0, AFFINE_BIAS)
    if gain != FIXED_GAIN or not affine:
        lacks.append(f"a gain that varies ({_word('mjtGain', gain)})")
    if any(
        getattr(m, f"actuator_{name}")[i].any() for name in ("armature", "damping") if hasattr(m, f"actuator_{name}")
    ):
        lacks.append("an armature or a damping")
    return lacks


def spring_of(m: Any, joint: int) -> dict[str, Any]:
    """The stiffness and the rest position of a joint's spring."""
    if not m.jnt_stiffness[joint] or _odd_spring(m, joint):
        return {}
    start, kind = int(m.jnt_qposadr[joint]), int(m.jnt_type[joint])
    rest = m.qpos_spring[start : start + (4 if kind == BALL else 1)].tolist()
    return {"stiffness": float(m.jnt_stiffness[joint]), "springref": rest[1:] + rest[:1]}


def _odd_spring(m: Any, joint: int) -> bool:
    """Whether the joint has a spring that a Model cannot represent."""
    poly = hasattr(m, "jnt_stiffnesspoly") and m.jnt_stiffnesspoly[joint].any()
    return bool(poly or (m.jnt_stiffness[joint] and int(m.jnt_type[joint]) == FREE))


def omissions_of(m: Any, omissions: Omissions) -> None:
    """Add other parts of MuJoCo's dynamics that a Model does not have."""

    def add(what: str, view: Callable[[int], Any], indices: Any) -> None:
        omissions.add(what, (_name(view, int(i)) for i in indices))

    add("tendons", m.tendon, (t for t in range(m.ntendon) if not _carries_an_actuator_alone(m, t)))
    omissions.add("flexible bodies", map(str, range(m.nflex)))
    add("motions of mocap bodies, which are fixed here", m.body, (m.body_mocapid >= 0).nonzero()[0])
    add("gravity compensation of bodies", m.body, m.body_gravcomp.nonzero()[0])
    add("springs that are no linear ones of a joint", m.joint, (j for j in range(m.njnt) if _odd_spring(m, j)))


def _carries_an_actuator_alone(m: Any, tendon: int) -> bool:
    """Whether a tendon only transmits the force of an actuator to joints, as its gears describe."""
    parts = range(m.tendon_adr[tendon], m.tendon_adr[tendon] + m.tendon_num[tendon])
    over_joints = all(int(m.wrap_type[part]) == OVER_JOINT for part in parts)
    acts = any(
        int(kind) == TO_TENDON and int(target) == tendon
        for kind, target in zip(m.actuator_trntype, m.actuator_trnid[:, 0], strict=True)
    )
    idle = not (m.tendon_stiffness[tendon] or m.tendon_damping[tendon] or m.tendon_frictionloss[tendon])
    return bool(over_joints and acts and idle and not m.tendon_limited[tendon])


def unused_name(name: str, taken: set[str]) -> str:
    """A name that is not taken yet; it is added to ``taken``."""
    taken.add(name := unused(name, taken))
    return name
