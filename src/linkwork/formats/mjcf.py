"""MJCF, through MuJoCo's own compiler (the extra ``mjcf``).

The order of bodies and joints is MuJoCo's. Its vectors and ours differ in two places only:

    free     qpos: position, quaternion (w, x, y, z)       q: position, quaternion (x, y, z, w)
             qvel: linear in world axes, angular in body axes    v: both in the body's axes
    ball     qpos: quaternion (w, x, y, z)                 q: quaternion (x, y, z, w)

If the file has actuators, joints without one have no motor (``model.actuated``); ``model.actuators`` describes each.
Equality constraints become ``model.constraints`` (``mjcf_parts``).

The coordinate of a hinge or slide is MuJoCo's: a reference value (``ref``) is included in the joint's placement, so q =
ref is the pose of the file. A body with several joints becomes a chain of bodies, massless except the last, which has
the body's name. A joint rotates about its anchor (``pos``), so a body's frame in the sense of ``f_ext`` is at the
anchor of its last joint, with the body's axes; the frame with the body's name is where MuJoCo has it.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.errors import FormatError, MissingExtraError, ModelError, warn_caller
from linkwork.formats.mjcf_contacts import contacts_of
from linkwork.formats.mjcf_files import check_files
from linkwork.formats.mjcf_geometry import geometry_of
from linkwork.formats.mjcf_parts import (
    FREE,
    HINGE,
    OVER_JOINT,
    SLIDE,
    TO_JOINT,
    TO_JOINT_IN_PARENT,
    TO_TENDON,
    Names,
    actuators_of,
    constraints_of,
    omissions_of,
    rotation,
    spring_of,
    unused_name,
)
from linkwork.formats.omissions import Omissions
from linkwork.formats.xml import Element, shortened
from linkwork.joints import Fixed, Free, Joint, Prismatic, Revolute, Spherical
from linkwork.model import WORLD, Builder, Model, merge_fixed
from linkwork.spatial import Mat3, Sym3, Transform, Vec3, sin_cos

_POSITION = re.compile(r"line (\d+)")
_ELEMENT = re.compile(r"Element '([^']+)'")


def model_of(root: Element, *, fixed_joints: str, folder: str) -> Model:
    """The mechanism of a <mujoco> file that may refer to files in a folder."""
    check_files(root, folder)
    compiled = _compile(root)
    conversion = _Conversion(compiled, root.attributes.get("model") or "mujoco", root.path, folder)
    try:
        model = conversion.model()
    except ModelError as error:
        raise root.error(str(error)) from None
    omissions_of(compiled, conversion.omissions)
    if texts := conversion.omissions.texts():
        warn_caller(f"{root.path}: left out are {'; '.join(texts)}")
    return merge_fixed(model) if fixed_joints == "merge" else model


def _compile(root: Element) -> Any:
    try:
        import mujoco
    except ImportError:
        raise MissingExtraError("MJCF files need the package mujoco: pip install 'linkwork[mjcf]'") from None
    warnings: list[str] = []
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(warnings.append)  # otherwise MuJoCo writes them to a file in the working directory
    try:
        compiled = mujoco.MjModel.from_xml_path(root.path)
    except (ValueError, RuntimeError, TypeError, mujoco.FatalError) as error:
        raise _located(root, "; ".join([str(error), *warnings])) from None
    finally:
        mujoco.set_mju_user_warning(before)
    for words in warnings:
        warn_caller(f"{root.path}: MuJoCo: {words}")
    return compiled


def _located(root: Element, message: str) -> FormatError:
    """MuJoCo's message, with the location that it names; it gives lines only, and none for some errors."""
    line, tag = _POSITION.search(message), _ELEMENT.search(message)
    words = " ".join(message.removeprefix("XML ").removeprefix("Error: ").split())
    if line is None:
        return root.error(f"MuJoCo: {words}")
    here = [element for element in root.walk() if element.line == int(line[1])]
    here = [element for element in here if tag is None or element.tag == tag[1]] or here
    if here:
        return here[0].error(f"MuJoCo: {words}")
    return FormatError(f"MuJoCo: {words}", root.path, int(line[1]), 1, shortened(tag[1]) if tag else None)


class _Conversion:
    """Converts a compiled MuJoCo model (symbols as in its documentation) to a Model."""

    def __init__(self, compiled: Any, name: str, path: str, folder: str) -> None:
        self.m, self.path, self.folder = compiled, path, folder
        no_gravity = 1 << 7  # mjDSBL_GRAVITY, checked by a test
        gravity = [0.0] * 3 if compiled.opt.disableflags & no_gravity else compiled.opt.gravity.tolist()
        self.builder = Builder(name, gravity)
        self.bodies = _names(compiled.nbody, compiled.body, "body")
        self.joints = _names(compiled.njnt, compiled.joint, "joint")
        self.body_names = set(self.bodies)
        self.taken = {*self.bodies, *self.joints, *(compiled.site(site).name for site in range(compiled.nsite))}
        self.carrier = [WORLD] * compiled.nbody  # for each MuJoCo body, the name of the Model's body that carries it
        self.driven = _driven(compiled)
        self.on_carrier = [Transform.identity()] * compiled.nbody  # and its placement on that body
        self.omissions = Omissions()

    def model(self) -> Model:
        for body in range(1, self.m.nbody):
            self.add(body)
        sites = [self.add_site(site) for site in range(self.m.nsite)]
        names = Names(self.bodies, self.joints, sites)
        constraints = constraints_of(self.m, names, self.omissions)
        actuators = actuators_of(self.m, names, self.omissions)
        model = self.builder.build()
        # Builder adds frames of bodies and joints at the body's own frame; MuJoCo's body frame may differ from it, and
        # generated joints need no frame.
        places = {self.bodies[body]: self.on_carrier[body] for body in range(1, self.m.nbody)}
        generated = {body.joint_name for body in model.bodies} - set(self.joints)
        frames = tuple(
            dataclasses.replace(frame, placement=places.get(frame.name, frame.placement))
            for frame in model.frames
            if frame.name not in generated
        )
        numbers = {name: index for index, name in enumerate((WORLD, *model.body_names))}
        carriers = [(numbers[name], place) for name, place in zip(self.carrier, self.on_carrier, strict=True)]
        looks = geometry_of(self.m, self.path, self.folder, carriers, rotation)
        equalities, motors = tuple(constraints), tuple(actuators)
        model = dataclasses.replace(model, frames=frames, constraints=equalities, actuators=motors, geometry=looks)
        active = np.flatnonzero(self.m.eq_active0).tolist()
        bonds = active if len(active) == len(equalities) else []
        contacts = contacts_of(self.m, self.bodies, self.joints, self.reference(model), bonds)
        return dataclasses.replace(model, contacts=contacts)

    def reference(self, model: Model) -> tuple[float, ...]:
        """The configuration of the file, at which inertias that depend on it are taken."""
        q = []
        for body in model.bodies:
            part = [0.0, 0.0, 0.0, 1.0] if body.joint.nq == 4 else [0.0] * body.joint.nq
            if isinstance(body.joint, Free):
                part = [*part[:6], 1.0]
            elif body.joint.nq == 1:
                part = [float(self.m.qpos0[self.m.jnt_qposadr[self.joints.index(body.joint_name)]])]
            q += part
        return tuple(q)

    def add(self, body: int) -> None:
        m, name = self.m, self.bodies[body]
        parent = int(m.body_parentid[body])
        carrier, place = self.carrier[parent], self.on_carrier[parent]
        place = place * Transform(rotation(m.body_quat[body]), Vec3(*m.body_pos[body].tolist()))
        first, count = int(m.body_jntadr[body]), int(m.body_jntnum[body])
        if not count:
            fixed = unused_name(f"fixed_{name}", self.taken)
            self.builder.add_body(name, carrier, Fixed(), place, joint_name=fixed, **self.inertia(body, Vec3.zero()))
        anchor = Vec3.zero()
        for joint in range(first, first + count):
            last = joint == first + count - 1
            kind, before, anchor = self.joint(joint)
            # x on the body sits at x - anchor on the joint's moved frame.
            place = Transform.identity() if isinstance(kind, Free) else place * before
            link = name if last else unused_name(f"{name}_{self.joints[joint]}", self.taken)
            inertia = self.inertia(body, anchor) if last else {}
            options = {"joint_name": self.joints[joint], **self.limits(joint, kind), **inertia}
            options["actuated"] = joint in self.driven if self.m.nu else None
            carrier = self.builder.add_body(link, carrier, kind, place, **options)
            place = Transform(Mat3.identity(), -anchor)
        self.carrier[body] = name
        self.on_carrier[body] = Transform(Mat3.identity(), -anchor)

    def joint(self, joint: int) -> tuple[Joint, Transform, Vec3]:
        """The joint, its placement on the body before the joint moves, and the anchor."""
        m, kind = self.m, int(self.m.jnt_type[joint])
        if kind == FREE:
            return Free(), Transform.identity(), Vec3.zero()
        anchor, axis = Vec3(*m.jnt_pos[joint].tolist()), m.jnt_axis[joint].tolist()
        reference = float(m.qpos0[m.jnt_qposadr[joint]])
        if kind == HINGE:
            hinge = Revolute(axis)
            return hinge, Transform(hinge.axis.rotation(*sin_cos(-reference)), anchor), anchor
        if kind == SLIDE:
            slide = Prismatic(axis)
            return slide, Transform(Mat3.identity(), anchor - slide.axis.direction * reference), anchor
        return Spherical(), Transform(Mat3.identity(), anchor), anchor

    def inertia(self, body: int, anchor: Vec3) -> dict[str, Any]:
        """Mass, centre of mass and inertia, relative to the anchor, in the body's axes."""
        m = self.m
        xx, yy, zz = m.body_inertia[body].tolist()
        second = Sym3(xx, 0.0, 0.0, yy, 0.0, zz).congruence(rotation(m.body_iquat[body]))
        com = Vec3(*m.body_ipos[body].tolist()) - anchor
        return {"mass": float(m.body_mass[body]), "com": com.numbers(), "inertia": second.numbers()}

    def limits(self, joint: int, kind: Joint) -> dict[str, Any]:
        m = self.m
        dofs = slice(m.jnt_dofadr[joint], m.jnt_dofadr[joint] + kind.nv)
        limits: dict[str, Any] = {
            "armature": m.dof_armature[dofs].tolist(),
            "damping": m.dof_damping[dofs].tolist(),
            "friction": m.dof_frictionloss[dofs].tolist(),
        }
        if m.jnt_limited[joint] and kind.nv == 1:  # a ball's range is a cone, not a range of coordinates
            limits["lower"], limits["upper"] = m.jnt_range[joint].tolist()
        if m.jnt_actfrclimited[joint]:
            limits["effort"] = float(abs(m.jnt_actfrcrange[joint]).max())
        return limits | spring_of(m, joint)

    def add_site(self, site: int) -> str:
        m = self.m
        body = int(m.site_bodyid[site])
        place = Transform(rotation(m.site_quat[site]), Vec3(*m.site_pos[site].tolist()))
        name = m.site(site).name
        if not name or name in self.body_names:
            name = unused_name(name or f"site{site}", self.taken)
        return self.builder.add_frame(name, self.carrier[body], self.on_carrier[body] * place)


def _driven(m: Any) -> set[int]:
    """The joints that an actuator acts on, directly or by a tendon over joints."""
    joints = set()
    for kind, target in zip(m.actuator_trntype.tolist(), m.actuator_trnid[:, 0].tolist(), strict=True):
        if kind in (TO_JOINT, TO_JOINT_IN_PARENT):
            joints.add(target)
        elif kind == TO_TENDON:
            parts = slice(m.tendon_adr[target], m.tendon_adr[target] + m.tendon_num[target])
            over = zip(m.wrap_type[parts].tolist(), m.wrap_objid[parts].tolist(), strict=True)
            joints |= {joint for wrapped, joint in over if wrapped == OVER_JOINT}
    return joints


def _names(count: int, view: Callable[[int], Any], kind: str) -> list[str]:
    """The names of bodies or joints, generated where the file has none."""
    names = [view(index).name for index in range(count)]
    taken = set(names)
    return [name or unused_name(f"{kind}{index}", taken) for index, name in enumerate(names)]
