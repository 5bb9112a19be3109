"""MuJoCo with the same bodies and joints and nothing else: no geometry, contacts, limits or constraints.

Its conventions differ for a floating base: quaternions are (w, x, y, z), and the linear velocity is in world axes.
States and results are converted outside the timed call.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from importlib import import_module
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from linkwork import Model, forward_kinematics
from linkwork.joints import Free, Joint, Prismatic, Revolute, Spherical
from linkwork_lab.bench.cases import Case, States
from linkwork_lab.bench.contest import Contestant, UnavailableError, by_loop, library

Array = NDArray[np.float64]


def note() -> str:
    return (
        f"MuJoCo {_mujoco().__version__}, without contacts, limits or other constraints; its batch is one step of "
        f"mujoco.rollout, position update included"
    )


def create(model: Model) -> MuJoCo:
    return MuJoCo(_mujoco(), model)


def _mujoco() -> Any:
    return library("mujoco", "MuJoCo", "mujoco")


class MuJoCo:
    """A model and its data."""

    def __init__(self, mujoco: Any, model: Model) -> None:
        self.mujoco, self.ours = mujoco, model
        try:
            self.model = mujoco.MjModel.from_xml_string(mjcf(model))
        except (ValueError, RecursionError) as error:  # bodies nested too deeply are one or the other
            raise UnavailableError(f"MuJoCo cannot load {model.name!r}: {error}") from None
        self.data = mujoco.MjData(self.model)

    def single(self, case: Case, states: States) -> Contestant | None:
        entry = self._functions().get(case.base)
        if entry is None or (
            case.base == "nonlinear_effects" and any(isinstance(b.joint, Free) for b in self.ours.bodies)
        ):
            return None  # zero acceleration is another motion in its coordinates of a floating base
        how, function = entry
        there = Coordinates(self.ours, states)
        inputs = list(zip(*(there.fields[name] for name in case.arguments), strict=True))
        return Contestant(
            how, function, inputs, len(states), lambda raw, k: there.back(case.base, np.array(raw)[None], k)
        )

    def batch(self, case: Case, states: States, threads: int) -> Contestant | None:
        if case.base != "forward_dynamics":
            return by_loop(self.single, case, states, threads)
        there = Coordinates(self.ours, states)
        function = self._steps(self.model, there, there.fields["tau"][:, None, :].copy(), threads)

        def answer(raw: Any, _: int) -> Array:
            return there.back(case.base, (raw[:, 0, 1 + self.model.nq :] - there.fields["v"]))  # the step is 1 s

        return function and Contestant("mujoco.rollout", function, [()], len(states), answer)

    def rollout(self, states: States, tau: Array, dt: float, answer: Callable[[Array], Array]) -> Contestant | None:
        """Trajectories from states with joint forces (states, steps, nv); ``answer`` takes (states, steps, nq + nv)."""
        if any(isinstance(body.joint, Free) for body in self.ours.bodies):
            return None  # within a step it moves a free body along another path
        model = copy(self.model)
        model.opt.timestep = dt
        there = Coordinates(self.ours, states)
        function = self._steps(model, there, tau, 1)
        back = partial(_quaternions_last, self.ours)
        count = tau.shape[0] * tau.shape[1]
        return function and Contestant(
            "mujoco.rollout", function, [()], count, lambda raw, _: answer(back(raw[:, :, 1:]))
        )

    def simulation(self, states: States, tau: Array, dt: float, steps: int, integrator: str) -> Contestant | None:
        """Steps from one state with constant joint forces; the last state is kept."""
        if any(isinstance(body.joint, Free) for body in self.ours.bodies):
            return None
        mujoco, model = self.mujoco, copy(self.model)
        model.opt.timestep = dt
        if integrator == "runge_kutta_4":
            model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
        there, data = Coordinates(self.ours, states), mujoco.MjData(model)
        q, v = there.fields["q"][0], there.fields["v"][0]

        def function() -> Array:
            mujoco.mj_resetData(model, data)
            data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, tau
            mujoco.mj_step(model, data, steps)
            return np.concatenate([data.qpos, data.qvel])

        return Contestant("mj_step", function, [()], steps, lambda raw, _: _quaternions_last(self.ours, raw))

    def _steps(self, model: Any, there: Coordinates, forces: Array, threads: int) -> Callable[[], Array] | None:
        """Its own rollout: a step for each row of forces (states, steps, nv); the state after each is kept."""
        mujoco, nq, nv = self.mujoco, model.nq, model.nv
        rollout = import_module("mujoco.rollout")
        start = np.concatenate([np.zeros((len(forces), 1)), there.fields["q"], there.fields["v"]], axis=1)
        after = np.empty((*forces.shape[:2], 1 + nq + nv))
        data = [mujoco.MjData(model) for _ in range(threads)]
        spec = mujoco.mjtState.mjSTATE_QFRC_APPLIED.value
        if mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS) != 1 + nq + nv:
            return None  # another memory layout than this code expects
        roll = rollout.Rollout(nthread=threads if threads > 1 else 0)

        def function() -> Array:
            roll.rollout(model, data, start, forces, control_spec=spec, nstep=forces.shape[1], state=after)
            return after

        return function

    def _functions(self) -> dict[str, tuple[str, Callable[..., Any]]]:
        mujoco, model, data = self.mujoco, self.model, self.data
        forces, matrix = np.zeros(model.nv), np.zeros((model.nv, model.nv))

        def forward(q: Array, v: Array, tau: Array) -> Any:
            data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, tau
            mujoco.mj_forward(model, data)
            return data.qacc

        def inverse(q: Array, v: Array, a: Array) -> Any:
            data.qpos[:], data.qvel[:], data.qacc[:] = q, v, a
            mujoco.mj_inverse(model, data)
            return data.qfrc_inverse

        def bias(q: Array, v: Array) -> Any:
            data.qpos[:], data.qvel[:] = q, v
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_comVel(model, data)
            mujoco.mj_rne(model, data, 0, forces)
            return forces

        def inertia(q: Array) -> Any:
            data.qpos[:] = q
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_makeM(model, data)
            mujoco.mj_fullM(model, data, matrix)
            return matrix

        return {
            "forward_dynamics": ("mj_forward", forward), "inverse_dynamics": ("mj_inverse", inverse),
            "nonlinear_effects": ("mj_rne", bias), "mass_matrix": ("mj_makeM, mj_fullM", inertia),
        }  # fmt: skip


class Coordinates:
    """States in MuJoCo's coordinates, and the conversion of results to ours."""

    def __init__(self, model: Model, states: States) -> None:
        self.fields = {name: array.copy() for name, array in states.fields.items()}
        self.rotations: list[tuple[int, Array]] = []
        q = self.fields["q"]
        for body, start, rate in zip(model.bodies, model.q_start, model.v_start, strict=True):
            if isinstance(body.joint, Free | Spherical):
                first = start + body.joint.nq - 4
                q[:, first : first + 4] = np.roll(q[:, first : first + 4], 1, axis=1)
            if isinstance(body.joint, Free):
                rotation = forward_kinematics(model, states.fields["q"], [body.name])[:, 0, :3, :3]
                linear, angular = slice(rate, rate + 3), slice(rate + 3, rate + 6)
                v, a = self.fields["v"], self.fields["a"]
                a[:, linear] += np.cross(v[:, angular], v[:, linear])
                self.rotations.append((rate, rotation))
                for name in ("v", "a", "tau"):
                    self.fields[name][:, linear] = np.einsum("nij,nj->ni", rotation, self.fields[name][:, linear])
        self.velocity = states.fields["v"]

    def back(self, function: str, result: Array, first: int = 0) -> Array:
        """Results of states from ``first`` on, in the form of the public function."""
        count = len(result)
        result = result.copy()
        for rate, rotations in self.rotations:
            rotation, linear = rotations[first : first + count], slice(rate, rate + 3)
            result[:, linear] = np.einsum("nji,nj...->ni...", rotation, result[:, linear])
            if function == "mass_matrix":
                result[:, :, linear] = np.einsum("nij,njk->nik", result[:, :, linear], rotation)
            if function == "forward_dynamics":
                v = self.velocity[first : first + count]
                result[:, linear] -= np.cross(v[:, rate + 3 : rate + 6], v[:, linear])
        return result.ravel()


def _quaternions_last(model: Model, states: Array) -> Array:
    """States (..., nq + nv) with the scalar of each spherical joint's quaternion last."""
    states = states.copy()
    for body, start in zip(model.bodies, model.q_start, strict=True):
        if isinstance(body.joint, Spherical):
            states[..., start : start + 4] = np.roll(states[..., start : start + 4], -1, axis=-1)
    return states


def mjcf(model: Model) -> str:
    """The model as MJCF, written with all digits."""
    root = ElementTree.Element("mujoco", model="bench")
    ElementTree.SubElement(root, "compiler", angle="radian", inertiafromgeom="false", autolimits="false")
    option = ElementTree.SubElement(root, "option", gravity=_text(model.gravity), timestep="1", integrator="Euler")
    off = ("constraint", "contact", "limit", "frictionloss", "equality", "eulerdamp", "autoreset")
    ElementTree.SubElement(option, "flag", dict.fromkeys(off, "disable"))
    elements = [ElementTree.SubElement(root, "worldbody")]
    for index, body in enumerate(model.bodies, 1):
        place = body.placement
        if isinstance(body.joint, Free) and (body.parent or place.numbers() != place.identity().numbers()):
            raise UnavailableError(f"MuJoCo has free joints at the world's origin only, not like {body.joint_name!r}")
        r = np.array(place.rotation.numbers(), dtype=float).reshape(3, 3)
        where = {"pos": _text(place.translation.numbers()), "xyaxes": _text([*r[:, 0], *r[:, 1]])}
        element = ElementTree.SubElement(elements[body.parent], "body", {"name": f"b{index}", **where})
        solid = model.body(body.name)
        six = [solid.inertia[i][j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
        moments = {"fullinertia": _text(six)} if any(six[3:]) else {"diaginertia": _text(six[:3])}
        ElementTree.SubElement(element, "inertial", {"mass": repr(solid.mass), "pos": _text(solid.com), **moments})
        armature = {"armature": repr(float(body.armature[0]))} if body.armature else {}
        ElementTree.SubElement(element, "joint", {**_joint(body.joint), **armature})
        elements.append(element)
    return ElementTree.tostring(root, encoding="unicode")


def _joint(joint: Joint) -> dict[str, str]:
    match joint:
        case Revolute(axis):
            return {"type": "hinge", "axis": _text(axis.direction.numbers())}
        case Prismatic(axis):
            return {"type": "slide", "axis": _text(axis.direction.numbers())}
        case Spherical():
            return {"type": "ball"}
        case Free():
            return {"type": "free"}
    raise UnavailableError(f"MuJoCo has no joint like {type(joint).__name__}")


def _text(numbers: Any) -> str:
    return " ".join(repr(float(x)) for x in numbers)
