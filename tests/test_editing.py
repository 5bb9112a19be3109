"""Models derived from others: with bodies locked, loaded, removed, renamed or added, they move as the whole does."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import linkwork as lw
from linkwork.joints import Free, Planar, Revolute
from linkwork.model import Model
from robots import robot
from strategies import JOINTS, close, random_inertia, random_placement, random_tree


@pytest.fixture(autouse=True)
def interpreted() -> Iterator[None]:
    """Editing is independent of the form."""
    with lw.interpreted():
        yield


def panda(**options: Any) -> Model:
    return lw.load(robot("panda.urdf"), **options)


def anymal() -> Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its base has an inertia that no body has
        return lw.load(robot("anymal.urdf"), floating_base=True)


def test_a_locked_model_is_pinocchio_s_reduced_one() -> None:
    lock = {"panda_joint3": 0.4, "panda_joint6": 1.5, "panda_finger_joint1": 0.02, "panda_finger_joint2": 0.02}
    whole, there = panda(), pin.buildModelFromUrdf(str(robot("panda.urdf")))
    q = whole.configuration(lock)
    reduced = pin.buildReducedModel(there, [there.getJointId(name) for name in lock], q)
    model = whole.locked(lock)
    assert list(model.joint_names) == list(reduced.names)[1:]
    close(model.lower_limit, reduced.lowerPositionLimit, 0.0)
    close(model.effort_limit, reduced.upperEffortLimit, 0.0)
    q, v = lw.random_state(model, 0)
    a, data = v[::-1].copy(), reduced.createData()
    close(lw.inverse_dynamics(model, q, v, a), pin.rnea(reduced, data, q, v, a), 1e-12)
    close(lw.forward_dynamics(model, q, v, a), pin.aba(reduced, data, q, v, a), 1e-12)
    pin.framesForwardKinematics(reduced, data, q)
    assert model.frame_names == whole.frame_names
    for name in set(model.frame_names) - {"world"}:
        close(lw.forward_kinematics(model, q, [name])[0], data.oMf[reduced.getFrameId(name)].homogeneous, 1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_a_locked_joint_is_one_that_does_not_accelerate(seed: int) -> None:
    """Any kinds, loads at any frames: forces of the others are those of the whole with these joints at rest."""
    rng = np.random.default_rng(seed)
    whole = random_tree(300 + seed, JOINTS, 9)
    frozen = [str(name) for name in rng.permutation(whole.joint_names)[:4]]
    q, v = lw.random_state(whole, rng)
    a = rng.normal(size=whole.nv)
    for name in frozen:
        v[whole.v_slice(name)] = a[whole.v_slice(name)] = 0.0
    model = whole.locked(frozen, q)
    assert model == whole.locked({name: q[whole.q_slice(name)] for name in frozen})
    kept = [name for name in whole.joint_names if name not in frozen]
    assert list(model.joint_names) == kept and model.frame_names == whole.frame_names
    of_q, of_v = whole.permutation(kept, "q"), whole.permutation(kept)
    loads = {f"f{k}": rng.normal(size=6) for k in range(9)}

    def forces(of: Model, q: Any, v: Any, a: Any) -> Any:
        f_ext = lw.external_wrench(of, q, loads)
        return lw.inverse_dynamics(of, q, v, a, f_ext)

    close(forces(model, q[of_q], v[of_v], a[of_v]), forces(whole, q, v, a)[of_v], 1e-11)
    frames = list(whole.frame_names)
    close(lw.forward_kinematics(model, q[of_q], frames), lw.forward_kinematics(whole, q, frames), 1e-12)
    for got, expected in zip(
        lw.energy(model, q[of_q], v[of_v]), _energy_without_world(whole, frozen, q, v), strict=True
    ):
        close(got, expected, 1e-11)


def _energy_without_world(whole: Model, frozen: list[str], q: Any, v: Any) -> tuple[float, float]:
    """The energy of the whole, except for bodies frozen to the world, which no longer belong to it."""
    still, bodies = {0}, []
    for number, body in enumerate(whole.bodies, 1):
        if body.parent in still and body.joint_name in frozen:
            still.add(number)
            body = replace(body, inertia=body.inertia.zero())
        bodies.append(body)
    kinetic, potential = lw.energy(replace(whole, bodies=tuple(bodies)), q, v)
    return float(kinetic), float(potential)


def test_what_is_coupled_to_a_locked_joint_is_locked_with_it() -> None:
    whole = panda()
    assert whole.constraints == (lw.Coupling("panda_finger_joint2", "panda_finger_joint1"),)
    for first in ("panda_finger_joint1", "panda_finger_joint2"):
        model = whole.locked({first: 0.03})
        assert model.nv == 7 and model.constraints == ()
        at = lw.forward_kinematics(model, np.zeros(7), ["panda_leftfinger", "panda_rightfinger"])
        q = whole.configuration({"panda_finger_joint1": 0.03, "panda_finger_joint2": 0.03})
        close(at, lw.forward_kinematics(whole, q, ["panda_leftfinger", "panda_rightfinger"]), 1e-13)
    assert whole.locked({"panda_joint1": 0.1}).constraints == whole.constraints
    with pytest.warns(
        lw.LinkworkWarning, match="joint 'panda_finger_joint1' is locked at 20, outside of its range, 0 to"
    ):
        whole.locked({"panda_finger_joint1": 20})  # mm
    names = ["panda_joint2", "panda_joint4"]
    assert whole.locked(np.array(names)) == whole.locked(set(names)) == whole.locked(names)


def test_constraints_and_actuators_go_along() -> None:
    arm = lw.mechanisms.serial_chain(3)
    loop = (lw.Ball("tip"), lw.Weld("body1", "body2"), lw.Coupling("joint3", "joint1", 2.0, 0.1))
    motors = (lw.Actuator("m", {"joint1": 1.0, "joint2": 2.0}), lw.Actuator("n", frame="tip", wrench=(1.0,) * 6))
    model = replace(arm, constraints=loop, actuators=motors)
    stiff = model.locked({"joint2": 0.3})
    assert stiff.constraints == (loop[0], loop[2])  # the weld is within one body
    assert stiff.actuators == (replace(motors[0], joints={"joint1": 1.0}), motors[1])
    other = model.renamed("left_")
    assert [each.frame_names() for each in other.constraints[:2]] == [
        ("left_tip", "world"),
        ("left_body1", "left_body2"),
    ]
    assert other.constraints[2] == lw.Coupling("left_joint3", "left_joint1", 2.0, 0.1)
    assert other.actuators[0] == lw.Actuator("left_m", {"left_joint1": 1.0, "left_joint2": 2.0})
    beyond = model.subtree("body2")
    assert beyond.constraints == ()  # its world is body1: what held the tip to another is none of it
    assert beyond.actuators == (lw.Actuator("m", {"joint2": 2.0}), motors[1])
    builder = lw.Builder()
    builder.add_body("lift", joint=lw.joints.Prismatic("z"), mass=1.0)
    place = lw.placement((1.0, 0.0, 0.0), (0.0, 0.0, 0.5))
    builder.add_model(model, "lift", place, "left_")
    made = builder.build()
    assert made.constraints[0].frame_names() == ("left_tip", "left_world")  # the world that it had
    assert made.frame("left_world").placement == place and made.body_of("left_world") == "lift"
    assert made.actuators == other.actuators and made.constraints[1:] == other.constraints[1:]


def test_gravity_is_another() -> None:
    arm = lw.mechanisms.serial_chain(2, joint=Revolute("y"))
    moon = arm.with_gravity((0, 0, -1.62))
    close(lw.gravity_torques(moon, [0.3, 0.2]), lw.gravity_torques(arm, [0.3, 0.2]) * 1.62 / 9.81, 1e-14)
    assert moon.with_gravity(arm.gravity) == arm


def test_a_payload_is_a_body_fixed_to_a_frame() -> None:
    """By hand: the same as a body on a fixed joint, merged; and as an external force equal to its weight."""
    rng = np.random.default_rng(5)
    load, place = random_inertia(rng), random_placement(rng)
    builder = lw.Builder()
    builder.add_body("arm", joint=Revolute("y"), **random_inertia(rng))
    builder.add_body("hand", "arm", Revolute("x"), random_placement(rng), **random_inertia(rng))
    builder.add_frame("grip", "hand", place)
    bare = builder.build()
    builder.add_body("load", "grip", **load)
    together = lw.merge_fixed(builder.build())
    loaded = bare.with_payload("grip", **load)
    close(loaded.inertial_parameters, together.inertial_parameters, 1e-14)
    assert loaded.frames == bare.frames and loaded.mass == pytest.approx(bare.mass + load["mass"])
    q = [0.3, -0.4]
    point = lw.Point("grip", offset=tuple(load["com"]), axes="position")
    weight = lw.external_wrench(bare, q, {point: [0, 0, -9.81 * load["mass"]]})
    close(lw.gravity_torques(loaded, q), lw.inverse_dynamics(bare, q, [0, 0], [0, 0], weight), 1e-13)
    moved = bare.with_payload(lw.Point("grip", offset=(0.1, 0, 0)), 2.0)
    close(moved.inertial_parameters, bare.with_payload("grip", 2.0, com=(0.1, 0, 0)).inertial_parameters, 1e-14)


def test_inertias_of_some_bodies() -> None:
    arm = lw.mechanisms.serial_chain(3)
    parameters = arm.inertial_parameters
    parameters[1] = [2.0, 0.2, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0]
    assert arm.with_inertias({"body2": parameters[1]}) == arm.with_inertias(parameters)
    assert arm.with_inertias(parameters) == lw.with_inertial_parameters(arm, parameters)
    assert arm.with_inertias({}) == arm
    changed = arm.with_inertias({"body3": {"mass": 4.0}})
    before, after = arm.body("body3"), changed.body("body3")
    assert after.mass == 4.0 and after.com == before.com
    close(after.inertia, before.inertia, 1e-12)
    other = arm.with_inertias({"body3": {"com": (0.1, 0, 0), "inertia": (1, 2, 2.5)}}).body("body3")
    close(other.com, (0.1, 0, 0), 1e-15)
    close(other.inertia, np.diag([1, 2, 2.5]), 1e-14)


def test_a_subtree_moves_as_it_does_on_a_still_parent() -> None:
    dog = anymal()
    leg = dog.subtree("LF_HIP")
    assert leg.name == "LF_HIP" and leg.joint_names == ("LF_HAA", "LF_HFE", "LF_KFE")
    assert "LF_FOOT" in leg.frame_names and "base" not in leg.frame_names and leg.gravity == dog.gravity
    q, v = lw.random_state(leg, 1)
    whole = lw.neutral(dog)
    whole[dog.permutation(leg.joint_names, "q")] = q
    speed = np.zeros(dog.nv)
    speed[dog.permutation(leg.joint_names)] = v
    tau = lw.nonlinear_effects(dog, whole, speed)[dog.permutation(leg.joint_names)]
    close(lw.nonlinear_effects(leg, q, v), tau, 1e-12)
    close(lw.forward_kinematics(leg, q, ["LF_FOOT"]), lw.forward_kinematics(dog, whole, ["LF_FOOT"]), 1e-12)


def test_names_change_and_nothing_else() -> None:
    arm = panda()
    left = arm.renamed("left_")
    assert left.renamed(names={name: name.removeprefix("left_") for name in _names(left)}, name="panda") == arm
    assert left.frame_names[0] == "world" and left.name == "left_panda"
    q, v = lw.random_state(arm, 2)
    close(lw.nonlinear_effects(left, q, v), lw.nonlinear_effects(arm, q, v), 0.0)


def _names(model: Model) -> set[str]:
    return {*model.body_names, *model.joint_names, *model.frame_names} - {"world"}


def test_a_model_added_to_nothing_is_itself() -> None:
    for model in (panda(), anymal(), lw.mechanisms.humanoid()):
        builder = lw.Builder(model.name, model.gravity)
        assert builder.add_model(model) == model.body_names
        assert builder.build() == model


def test_two_arms_on_a_torso_move_as_each_alone() -> None:
    """On a base at rest, an arm has the same joint forces as by itself."""
    arm = panda().locked(["panda_finger_joint1"])
    builder = lw.Builder("two_arms")
    builder.add_body("base", joint=Planar(), mass=50.0, inertia=(5, 5, 5))
    builder.add_body("torso", "base", lw.joints.Prismatic("z"), mass=10.0, inertia=(1, 1, 1))
    places = {"left_": lw.placement((0, 0.3, 0.5), (-1.2, 0, 0)), "right_": np.array(lw.placement((0, -0.3, 0.5)))}
    builder.add_frame("left_mount", "torso", places["left_"])
    builder.add_model(arm, "left_mount", prefix="left_")
    builder.add_model(arm, "torso", places["right_"], "right_")
    robot = builder.build()
    assert robot.nv == 4 + 14 and robot.mass == pytest.approx(60.0 + 2.0 * (arm.mass + arm.base_inertia.mass))
    q, v = lw.random_state(arm, 3)
    a = v[::-1]
    rest, still = lw.neutral(robot), np.zeros((2, robot.nv))
    for side, place in places.items():
        of_q, of_v = (robot.permutation([side + name for name in arm.joint_names], of) for of in ("q", "v"))
        whole, speeds = rest.copy(), still.copy()
        whole[of_q], speeds[:, of_v] = q, (v, a)
        alone = arm.with_gravity(np.array(place)[:3, :3].T @ arm.gravity)
        close(lw.inverse_dynamics(robot, whole, *speeds)[of_v], lw.inverse_dynamics(alone, q, v, a), 1e-12)
        hand = lw.forward_kinematics(robot, whole, [f"{side}panda_hand_tcp"])[0]
        close(hand, np.array(place) @ lw.forward_kinematics(arm, q, ["panda_hand_tcp"])[0], 1e-13)
    assert robot.body_of("left_panda_link0") == "torso"  # what was a part of the world is one of the torso


def test_an_arm_on_a_base_is_pinocchio_s_joint_model(tmp_path: Any) -> None:
    """The arm's base, which was a part of the world, is carried along."""
    place = lw.placement((0.1, 0.2, 0.8), (0.3, 0.2, 0.1))
    there = pin.Model()
    base = there.addJoint(0, pin.JointModelRZ(), pin.SE3.Identity(), "base_joint")
    there.appendBodyToJoint(base, pin.Inertia(10.0, np.array([0, 0, 0.5]), np.eye(3)), pin.SE3.Identity())
    there.addFrame(pin.Frame("base", base, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    arm = pin.buildModelFromUrdf(str(robot("panda.urdf")))
    there = pin.appendModel(there, arm, there.getFrameId("base"), pin.SE3(np.array(place)))
    builder = lw.Builder()
    solid = {"mass": 10.0, "com": (0, 0, 0.5), "inertia": (1, 1, 1)}
    builder.add_body("base", joint=lw.joints.Revolute("z"), joint_name="base_joint", **solid)
    builder.add_model(panda(), "base", place)
    here = builder.build()
    p = here.permutation(list(there.names)[1:])
    q, v = lw.random_state(here, 1)
    close(lw.inverse_dynamics(here, q, v, v)[p], pin.rnea(there, there.createData(), q[p], v[p], v[p]), 1e-12)
    for each in (here, panda(), here.locked(["base_joint"])):
        assert lw.load(lw.save(each, tmp_path / "arm.urdf")) == each
    assert here.locked(["base_joint"]).base_inertia.mass == pytest.approx(10.0 + panda().base_inertia.mass)
    assert here.subtree("panda_link1").base_inertia.mass == 0.0


def test_edits_compose(tmp_path: Any) -> None:
    """Lock, load, name, put on another robot, save and load again."""
    tool = panda().locked({"panda_finger_joint1": 0.02}).with_payload("panda_hand_tcp", 1.5, (0, 0, 0.05)).renamed("a_")
    builder = lw.Builder("mobile", gravity=tool.gravity)
    builder.add_body("base", joint=Free(), mass=40.0, inertia=(2, 2, 2))
    builder.add_model(tool, "base", lw.placement((0.2, 0, 0.4)))
    box = lw.Builder("box")
    box.add_body("box", joint=Free(), mass=1.0, inertia=(0.1, 0.1, 0.1), joint_name="box_joint")
    builder.add_model(box.build())
    made = builder.build().locked({"a_panda_joint7": 0.3}).with_gravity((0, 0, -3.7))
    assert made.nv == 6 + 6 + 6 and "a_panda_link7" in made.frame_names
    back = lw.load(lw.save(made, tmp_path / "mobile.urdf"))
    assert back == made and hash(back) == hash(made)
    q, v = lw.random_state(made, 4)
    close(lw.forward_dynamics(back, q, v, v), lw.forward_dynamics(made, q, v, v), 0.0)


ARM = lw.mechanisms.serial_chain(3)
BALL = lw.mechanisms.serial_chain(1, joint="spherical")
WRONG: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "inertias of fewer bodies": (lambda: ARM.with_inertias(np.ones((1, 10))), lw.ArgumentError, "^inertias must have"),
    "lock an unknown joint": (lambda: ARM.locked({"joint7": 0.1}), lw.UnknownNameError, "no joint named 'joint7'"),
    "lock a body": (lambda: ARM.locked({"body1": 0.1}), lw.UnknownNameError, "'body1'; it is a body"),
    "lock with two numbers": (lambda: ARM.locked({"joint1": [0.1, 0.2]}), lw.ArgumentError, "joint1' has 1 coordinate"),
    "lock at nan": (lambda: ARM.locked({"joint1": float("nan")}), lw.ArgumentError, "joint1' must be finite"),
    "lock at no rotation": (
        lambda: BALL.locked({"joint1": [0, 0, 0, 0]}),
        lw.ArgumentError,
        "'joint1' has no configuration",
    ),
    "lock two ways": (lambda: ARM.locked({"joint1": 0.1}, [0, 0, 0]), lw.ArgumentError, "q is for names alone"),
    "lock against a coupling": (
        lambda: panda().locked({"panda_finger_joint1": 0.02, "panda_finger_joint2": 0.01}),
        lw.ArgumentError,
        "'panda_finger_joint2' cannot be locked at 0.01 with joint 'panda_finger_joint1' at 0.02.* lock one of the two",
    ),
    "a part of a name": (lambda: panda().with_payload("hand", 1.0), lw.UnknownNameError, "did you mean 'panda_hand'"),
    "lock a name": (lambda: ARM.locked("joint1"), lw.ArgumentError, "joints must be a dict, as in"),
    "lock in a batch": (lambda: ARM.locked(["joint1"], [[0, 0, 0]]), lw.ArgumentError, "q must be one configuration"),
    "gravity": (lambda: ARM.with_gravity(9.81), lw.ArgumentError, "gravity must be 3 number"),  # type: ignore[arg-type]
    "load on the world": (lambda: ARM.with_payload("world", 1.0), lw.ModelError, "'world' moves nothing"),
    "load on nothing": (lambda: ARM.with_payload("tipp", 1.0), lw.UnknownNameError, "did you mean 'tip'"),
    "a negative load": (lambda: ARM.with_payload("tip", -1.0), lw.ModelError, "mass of the payload on 'tip' must not"),
    "no body": (lambda: ARM.with_inertias({"tip": {"mass": 1.0}}), lw.UnknownNameError, "it is a frame on 'body3'"),
    "no such part": (lambda: ARM.with_inertias({"body1": {"weight": 1}}), lw.UnknownNameError, "it has 'mass', 'com'"),
    "nine numbers": (
        lambda: ARM.with_inertias({"body1": [1.0] * 9}),
        lw.ArgumentError,
        "body1' must be a dict of mass",
    ),
    "no subtree": (lambda: ARM.subtree("joint2"), lw.UnknownNameError, "it is the frame of a joint on 'body2'"),
    "a new name for none": (
        lambda: ARM.renamed(names={"x": "y"}),
        lw.UnknownNameError,
        "no body, joint or frame named",
    ),
    "two of one name": (lambda: ARM.renamed(names={"body1": "body2"}), lw.ModelError, "two of the body name 'body2'"),
    "named world": (lambda: ARM.renamed(names={"tip": "world"}), lw.ModelError, "'tip' cannot be named 'world'"),
    "no prefix": (lambda: _twice(""), lw.ModelError, "already a body named 'body1'.*give add_model a prefix"),
    "the same prefix": (lambda: _twice("a_"), lw.ModelError, "'a_body1'.*choose another prefix"),
    "no model": (lambda: lw.Builder().add_model("arm"), lw.ModelError, "takes a linkwork Model"),  # type: ignore[arg-type]
    "no parent": (lambda: lw.Builder().add_model(ARM, "torso"), lw.UnknownNameError, "no body named 'torso'"),
    "no placement": (lambda: lw.Builder().add_model(ARM, "world", np.eye(3)), lw.ModelError, "4×4 matrix"),
}


def _twice(prefix: str) -> None:
    builder = lw.Builder()
    builder.add_model(ARM, prefix=prefix)
    builder.add_model(ARM, prefix=prefix)


@pytest.mark.parametrize("case", WRONG)
def test_wrong_edits_are_told(case: str) -> None:
    call, kind, words = WRONG[case]
    with pytest.raises(kind, match=words):
        call()


def test_another_gravity_is_said() -> None:
    builder = lw.Builder()
    with pytest.warns(lw.LinkworkWarning, match=r"gravity \(0.0, 0.0, -1.62\), and is added to one of"):
        builder.add_model(ARM.with_gravity((0, 0, -1.62)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.Builder().add_model(ARM)


def test_a_failed_addition_changes_nothing() -> None:
    builder = lw.Builder()
    builder.add_body("body3", mass=1.0)
    before = builder.build()
    with pytest.raises(lw.ModelError, match="body3"):
        builder.add_model(ARM)
    assert builder.build() == before


def test_an_array_without_axes_has_no_names_of_joints() -> None:
    with pytest.raises(lw.ArgumentError, match="joints must be a dict"):
        lw.mechanisms.serial_chain(2).locked(np.array("joint1"))  # type: ignore[arg-type]
