"""Joints, bodies and configurations by name, the tree in words, and users' forms of placements."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import linkwork as lw
from linkwork import cli
from linkwork.joints import Free, Prismatic, Revolute, Spherical
from linkwork.model.constraints import Held
from linkwork.spatial import Force, Mat3, Motion, Quaternion, Sym3, Transform, Vec3
from robots import robot
from strategies import close, random_placement


def built() -> lw.Model:
    builder = lw.Builder("robot <b>")
    builder.add_body("base", joint=Free(), mass=10.0, inertia=(1, 1, 1))
    shoulder: Any = {"armature": (0.1, 0.2, 0.3), "damping": 0.5}
    builder.add_body("arm", "base", Spherical(), lw.placement((0, 0, 1)), mass=2.0, com=(0.1, 0, 0), **shoulder)
    builder.add_body("lift", "base", Prismatic("z"), mass=1.0, lower=-0.5, upper=0.5, effort=30.0)
    builder.add_body("hand", "arm", Revolute("y"), lw.placement((0.5, 0, 0)), mass=1.0, inertia=(0.1, 0.2, 0.25))
    builder.add_body("tool", "hand", placement=lw.placement((0.1, 0, 0)), mass=0.5, joint_name="flange")
    builder.add_frame("tip", "tool", lw.placement((0.2, 0, 0)))
    return lw.merge_fixed(builder.build())


MODEL = built()


def test_a_joint_and_a_body_by_name() -> None:
    shoulder = MODEL.joint("joint_arm")
    assert (shoulder.index, shoulder.kind, shoulder.parent, shoulder.child) == (1, Spherical(), "base", "arm")
    assert shoulder.q == slice(7, 11) == MODEL.q_slice("joint_arm") and shoulder.v == MODEL.v_slice("joint_arm")
    assert shoulder.armature == (0.1, 0.2, 0.3) and shoulder.limits.damping == (0.5,) * 3 and shoulder.actuated
    assert shoulder.placement == lw.placement((0, 0, 1)) and not MODEL.joint("joint_base").actuated
    assert MODEL.joint("joint_base").parent == "world"
    hand = MODEL.body("hand")
    assert (hand.index, hand.joint, hand.parent, hand.children) == (3, "joint_hand", "arm", ())
    assert hand.frames == ("tip", "hand", "tool", "joint_hand", "flange") and hand.mass == 1.5
    close(hand.com, [0.5 * 0.1 / 1.5, 0, 0], 1e-15)
    close(np.diag(hand.inertia), np.array([0.1, 0.2, 0.25]) + 1.0 * 0.5 / 1.5 * 0.1**2 * np.array([0, 1, 1]), 1e-14)
    assert MODEL.body("base").children == ("arm", "lift") and MODEL.body("base").parent == "world"


def test_indices_count_positions_in_the_lists_of_names() -> None:
    for index, name in enumerate(MODEL.body_names):
        assert MODEL.body_index(name) == MODEL.body(name).index == index
    for index, name in enumerate(MODEL.joint_names):
        assert MODEL.joint_index(name) == MODEL.joint(name).index == index
    for index, name in enumerate(MODEL.frame_names):
        assert MODEL.frame_index(name) == index
    assert [MODEL.body_of(name) for name in ("tip", "flange", "hand", "world")] == ["hand", "hand", "hand", "world"]


def test_links_and_joints_are_told_apart() -> None:
    panda = lw.load(robot("panda.urdf"))
    kinds = {frame.name: frame.kind for frame in panda.frames}
    assert [kinds[name] for name in ("panda_link0", "panda_hand", "panda_hand_joint", "world")] == [
        *("link", "link", "joint", "frame")
    ]
    assert panda.link_names == tuple(name for name in panda.frame_names if kinds[name] == "link")
    assert set(panda.link_names) == {
        f"panda_{part}" for part in (*(f"link{k}" for k in range(9)), "hand", "hand_tcp")
    } | {*("panda_leftfinger", "panda_rightfinger")}
    assert {frame.kind for frame in MODEL.frames} == {"link", "joint", "frame"}
    assert MODEL.frame("tip").kind == "frame" and MODEL.link_names == ("base", "arm", "lift", "hand", "tool")
    assert lw.mechanisms.serial_chain(2).link_names == ("body1", "body2")


def test_a_configuration_of_some_joints() -> None:
    rest = lw.neutral(MODEL)
    q = MODEL.configuration({"joint_lift": 0.3, "joint_arm": [0, 0, 1, 0]})
    assert q[MODEL.q_slice("joint_lift")] == 0.3 and (q[7:11] == [0, 0, 1, 0]).all()
    assert (MODEL.configuration({}) == rest).all() and (
        MODEL.configuration({"joint_lift": 0.0}, q)[7:11] == q[7:11]
    ).all()
    many = MODEL.configuration({"joint_lift": np.linspace(0, 1, 5)[:, None]})
    assert many.shape == (5, MODEL.nq) and (many[:, MODEL.q_slice("joint_lift")][:, 0] == np.linspace(0, 1, 5)).all()
    q[:] = 7.0
    assert (MODEL.configuration({}) == rest).all()
    place = lw.placement((1, 2, 3), (0.1, 0.2, 3.0))  # of the free joint
    for given in (place, np.asarray(place)):
        q = MODEL.configuration({"joint_base": given})
        np.testing.assert_allclose(lw.forward_kinematics(MODEL, q, ["base"])[0], np.asarray(place), atol=1e-15)
    with pytest.raises(lw.ModelError, match="placement of joint 'joint_base' must come from"):
        MODEL.configuration({"joint_base": np.ones((4, 4))})


def test_a_permutation_of_a_part() -> None:
    p, v = MODEL.permutation(["joint_hand", "joint_arm"]), np.arange(MODEL.nv)
    assert (v[p] == [10, 6, 7, 8]).all() and (MODEL.permutation(["joint_lift"], "q") == [11]).all()
    assert MODEL.permutation([]).shape == (0,)
    with pytest.raises(lw.ModelError, match="'joint_arm' is there twice"):
        MODEL.permutation(["joint_arm", "joint_hand", "joint_arm"])


def test_the_tree_is_what_the_command_line_prints(capsys: pytest.CaptureFixture[str]) -> None:
    model = lw.mechanisms.humanoid()
    model.tree()
    ours = capsys.readouterr().out
    cli.main(["info", "humanoid"])
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == ours.splitlines()
    model.tree(2)
    assert "... and 22 more" in capsys.readouterr().out
    MODEL.tree()
    assert capsys.readouterr().out.splitlines()[5].split()[-2:] == ["tip,", "tool"]


def test_a_notebook_shows_the_tree() -> None:
    page = MODEL._repr_html_()
    assert page.startswith("<table ") and html.escape("robot <b>") in page and "<b>" not in page
    assert page.count("<tr>") == 2 + len(MODEL.bodies)
    assert all(name in page for name in (*MODEL.body_names, *MODEL.joint_names, "spherical", "-0.5 to 0.5"))


# Placements


def test_spatial_quantities_are_arrays() -> None:
    place = random_placement(np.random.default_rng(1))
    matrix = np.array(place)
    assert matrix.shape == (4, 4) and (matrix[:3, 3] == list(place.translation)).all()
    assert (matrix[:3, :3] == np.array(place.rotation)).all() and (matrix[3] == [0, 0, 0, 1]).all()
    assert np.asarray(place, dtype=np.float32).dtype == np.float32 and np.array([place, place]).shape == (2, 4, 4)
    close(matrix @ place, np.array(place @ place), 1e-15)
    assert place @ place == place * place and (place @ matrix == matrix @ place).all()
    close(np.linalg.inv(place), np.array(place.inverse()), 1e-13)
    x, y, z = Vec3(1.0, 2.0, 3.0)
    assert (x, y, z) == (1.0, 2.0, 3.0) and len(Vec3.zero()) == 3 and Vec3(1.0, 2.0, 3.0)[-1] == 3.0
    assert (np.array(Motion(Vec3(1.0, 2.0, 3.0), Vec3.zero())) == [1, 2, 3, 0, 0, 0]).all()
    assert (
        list(Force(Vec3.zero(), Vec3(1.0, 2.0, 3.0))) == [0, 0, 0, 1, 2, 3] and len(Quaternion(0.0, 0.0, 0.0, 1.0)) == 4
    )
    assert (np.array(Sym3(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)) == [[1, 2, 3], [2, 4, 5], [3, 5, 6]]).all()
    several = Transform(Mat3.identity(), Vec3(np.arange(2.0), 0.0, 0.0))  # a batch keeps its leading axes
    assert np.array(several).shape == (2, 4, 4) and (np.array(several)[:, 0, 3] == [0, 1]).all()


def test_placements_from_rotations_of_any_kind() -> None:
    rpy, xyz = (0.3, -0.4, 0.5), (1.0, 2.0, 3.0)
    turn = Rotation.from_euler("xyz", rpy)
    expected = np.eye(4)
    expected[:3, :3], expected[:3, 3] = turn.as_matrix(), xyz
    same = [
        lw.placement(xyz, rpy),
        lw.placement(xyz, quaternion=5.0 * turn.as_quat()),
        lw.placement(xyz, quaternion=Quaternion(*map(float, turn.as_quat()))),
        lw.placement(xyz, matrix=turn.as_matrix()),
        lw.placement(matrix=expected),
        lw.placement(Vec3(*xyz), matrix=lw.placement(rpy=rpy).rotation),
        lw.placement(matrix=lw.placement(xyz, rpy)),
    ]
    for place in same:
        close(np.array(place), expected, 1e-15)


def test_a_4x4_goes_where_a_placement_does() -> None:
    place = lw.placement((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    for given in (place, np.array(place), np.array(place).tolist()):
        builder = lw.Builder()
        builder.add_body("a", joint=Revolute("x"), placement=given, mass=1.0)
        builder.add_frame("f", "a", given)
        model = builder.build()
        assert model.bodies[0].placement == model.frame("f").placement == place
        assert lw.Frame("g", 1, given).placement == place == lw.Weld("f", placement=given).placement
    task = lw.control.Task("tip", place)
    assert (task.reference.at(0.0).value == np.array(place)).all()


def test_a_frame_is_held_where_it_is() -> None:
    q, _ = lw.random_state(MODEL, 3)
    with lw.interpreted():
        (hand,) = lw.forward_kinematics(MODEL, q, ["tip"])
        close(np.array(lw.Weld.at(MODEL, q, "tip").placement), hand, 1e-14)
        point = lw.Point("tip", offset=(0.1, 0.2, 0.3))
        constraints: list[lw.Constraint] = [
            lw.Weld.at(MODEL, q, point),
            lw.Ball.at(MODEL, q, "tip", lw.Point("lift", offset=(1.0, 0.0, 0.0))),
            lw.Hinge.at(MODEL, q, "tip", axis="y"),
            lw.PointOnPlane.at(MODEL, q, "tip", normal=(1, 2, 3)),
            lw.Rolling.at(MODEL, q, "tip", radius=0.3, axis="x"),
            lw.Coupling.at(MODEL, q, "joint_hand", "joint_lift", ratio=2.0),
        ]
        for constraint in constraints:
            (frame_a, frame_b, place), *_ = constraint.grips(MODEL)
            at, to = lw.forward_kinematics(MODEL, q, [frame_a, frame_b])
            seen = np.linalg.inv(to @ np.array(place)) @ at
            held = Held(seen[:3, :3], seen[:3, 3], np.zeros(6))
            assert abs(constraint.all_errors(MODEL, q, [held])).max() < 1e-13, constraint
    assert constraints[3].placement.rotation == Mat3.identity()


PLANE = lw.PointOnPlane("tip", normal="x")


def test_one_constraint_is_a_list_of_one() -> None:
    arm = lw.mechanisms.serial_chain(3)
    state: tuple[Any, ...] = ([0.1, 0.2, 0.3], [0.0] * 3, [1.0] * 3)
    with lw.interpreted():
        one, listed = (lw.constrained_dynamics(arm, *state, held) for held in (PLANE, [PLANE]))
        assert (one[0] == listed[0]).all() and one[1].shape == (1, 6)
        given = lw.constrained_inverse_dynamics(arm, *state, PLANE)
        assert given[1].shape == (1, 6)
        here = lw.PointOnPlane.at(arm, state[0], "tip", normal="x")
        path = lw.simulate(arm, *state[:2], 0.002, 0.001, constraints=here)
        assert path.constraint_forces.shape == (3, 1, 6)


ARM = lw.mechanisms.serial_chain(2)
WRONG: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "two rotations": (
        lambda: lw.placement(rpy=(0, 0, 1), quaternion=(0, 0, 0, 1)),
        lw.ModelError,
        "rpy and quaternion",
    ),
    "two positions": (lambda: lw.placement((1, 0, 0), matrix=np.eye(4)), lw.ModelError, "has one position"),
    "a quaternion of zeros": (lambda: lw.placement(quaternion=[0] * 4), lw.ModelError, "length that is not zero"),
    "a quaternion of three": (lambda: lw.placement(quaternion=[0] * 3), lw.ModelError, "quaternion must be 4 number"),
    "no rotation": (lambda: lw.placement(matrix=2 * np.eye(3)), lw.ModelError, "matrix is not a rotation"),
    "a mirror": (lambda: lw.placement(matrix=-np.eye(3)), lw.ModelError, "is not a rotation"),
    "no matrix": (
        lambda: lw.placement(matrix=np.eye(2)),
        lw.ModelError,
        r"matrix must be a rotation \(3, 3\), or a placement",
    ),
    "a frame": (lambda: lw.Frame("f", 1, np.eye(3)), lw.ModelError, "frame 'f' must come from"),
    "a frame's kind": (lambda: lw.Frame("f", 1, np.eye(4), "limb"), lw.ModelError, "'limb'"),
    "a weld": (lambda: lw.Weld("f", placement=np.eye(3)), lw.ModelError, "constraint of 'f'"),
    "times a matrix": (
        lambda: lw.placement() * np.eye(4),
        TypeError,
        r"a Transform times ndarray: \* takes another Transform, such as lw.placement\(matrix=...\); @ multiplies",
    ),
    "a flat disc": (lambda: lw.Rolling.at(ARM, [0, 0], "tip"), lw.ArgumentError, "lies flat"),
    "a weld in a batch": (lambda: lw.Weld.at(ARM, [[0, 0]], "tip"), lw.ArgumentError, r"q must have shape \(2,\)"),
    "a weld to no frame": (lambda: lw.Weld.at(ARM, [0, 0], "tap"), lw.UnknownNameError, "did you mean 'tip'"),
    "a weld of no model": (lambda: lw.Weld.at("arm", [0, 0], "tip"), lw.ArgumentError, "a linkwork Model"),  # type: ignore[arg-type]
    "no constraint": (
        lambda: lw.constrained_dynamics(ARM, [0, 0], [0, 0], [0, 0], "tip"),
        lw.ArgumentError,
        "a list of",
    ),  # type: ignore[arg-type]
    "no joint": (lambda: ARM.joint("body1"), lw.UnknownNameError, "no joint named 'body1'; it is a body$"),
    "no such body": (lambda: ARM.body("world"), lw.UnknownNameError, "no body named 'world'; it is the world, which"),
    "a weld at a position": (
        lambda: lw.Weld("tip", placement=[0, 0, 1]),  # type: ignore[arg-type]
        lw.ModelError,
        r"not \[0, 0, 1\]; lw.placement\(xyz\) makes one of a position",
    ),
    "no reference": (
        lambda: lw.pose_error(np.eye(4), np.eye(4), reference="nope"),
        lw.ArgumentError,
        "reference must be one of 'local', 'world', 'local_world_aligned', not 'nope'$",
    ),
    "no path": (
        lambda: lw.load(""),
        lw.ArgumentError,
        "path must be the path of a file, or the name of a robot, not ''",
    ),
    "no body": (lambda: ARM.body("tip"), lw.UnknownNameError, "no body named 'tip'; it is a frame on 'body2'"),
    "no frame": (lambda: ARM.body_of("tap"), lw.UnknownNameError, "no frame named 'tap'; did you mean 'tip'"),
    "no coordinates": (lambda: ARM.configuration({"joint1": [1, 2]}), lw.ArgumentError, "joint1' has 1 coordinate"),
    "no names": (lambda: ARM.configuration([0.1]), lw.ArgumentError, "joints must map names"),  # type: ignore[arg-type]
    "another q": (lambda: ARM.configuration({}, [0.1]), lw.ArgumentError, r"q must have shape \(..., 2\)"),
    "other batches": (
        lambda: ARM.configuration({"joint1": np.zeros((3, 1))}, np.zeros((2, 2))),
        lw.ArgumentError,
        "leading axes do not go together",
    ),
    "too few bodies": (lambda: ARM.tree(-1), lw.ArgumentError, "most must be an integer"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_questions_are_told(case: str) -> None:
    call, kind, words = WRONG[case]
    with pytest.raises(kind, match=words):
        call()
