"""Inverse kinematics: against Pinocchio's kinematics and by laws; the same bits for a target in any batch."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import linkwork as lw
from linkwork.dynamics.searches import Problem
from robots import robot
from test_constraints import MECHANISMS, four_bar

Array = NDArray[np.float64]
HAND = "panda_hand_tcp"


@cache
def panda() -> lw.Model:
    return lw.load(robot("panda.urdf"))


def reachable(model: lw.Model, frames: Any, count: int, seed: int = 0) -> Array:
    return lw.forward_kinematics(model, lw.random_state(model, seed, shape=count)[0], frames)


def same(a: lw.IKResult, b: lw.IKResult) -> None:
    for one, other in zip(a, b, strict=True):
        np.testing.assert_array_equal(one, other)


def within(model: lw.Model, q: Array) -> bool:
    return bool(((q >= model.lower_limit) & (q <= model.upper_limit)).all())


@cache
def tree() -> lw.Model:
    """A floating trunk with two arms, whose joints are of many kinds."""
    builder = lw.Builder("many kinds")
    solid: dict[str, Any] = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
    builder.add_body("trunk", joint=lw.joints.Free(), **solid)
    builder.add_body(
        "slide", "trunk", lw.joints.Prismatic("z"), lw.placement((0, 0, 0.3)), lower=-0.2, upper=0.2, **solid
    )
    builder.add_body("ball", "slide", lw.joints.Spherical(), lw.placement((0.3, 0, 0)), **solid)
    builder.add_body("fore", "ball", lw.joints.Revolute("y"), lw.placement((0.3, 0, 0)), lower=0.1, upper=2.0, **solid)
    builder.add_body("other", "trunk", lw.joints.Cylindrical("x"), lw.placement((-0.3, 0, 0)), **solid)
    builder.add_body("idle", "trunk", lw.joints.Revolute("x"), **solid)
    builder.add_frame("right", "fore", lw.placement((0.2, 0, 0)))
    builder.add_frame("left", "other", lw.placement((0, 0, 0.4)))
    return builder.build()


def geared(free: bool) -> lw.Model:
    """A chain whose third hinge follows the second, the fourth the third, and whose fifth is locked."""
    solid: dict[str, Any] = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
    builder = lw.Builder("geared")
    builder.add_body("link0", joint=lw.joints.Free() if free else lw.joints.Revolute("y"), **solid)
    for k, (lower, upper) in enumerate([(-2.0, 2.0), (-3.0, 3.0), (-2.9, 0.7), (-1.0, 1.0), (-1.0, 1.0)], 1):
        here = lw.placement((0.3, 0.0, 0.0), (0.2 * k, 0.0, 0.1))
        builder.add_body(f"link{k}", f"link{k - 1}", lw.joints.Revolute("z"), here, lower=lower, upper=upper, **solid)
    gears = [("joint_link3", "joint_link2", 2.0, -0.1), ("joint_link2", "joint_link1", -0.7, 0.3)]
    held = lw.Coupling("joint_link4", "joint_link4", 0.0, 0.25)
    return builder.build(constraints=[*(lw.Coupling(*gear) for gear in gears), held])


@pytest.mark.parametrize("free", [False, True])
def test_joints_that_follow_others_do_so(free: bool) -> None:
    """They satisfy their couplings, within the limits of leader and follower, and the targets are reached."""
    model = geared(free)
    lead, second, third, fourth, last = (model.q_start[model.joint_index(f"joint_link{k}")] for k in range(1, 6))
    q, _ = lw.random_state(model, 3, shape=6)
    q[:, lead] = np.linspace(-0.14, 2.0, 6)  # below, the third would leave its limits
    q[:, second] = -0.7 * q[:, lead] + 0.3
    q[:, third], q[:, fourth] = 2.0 * q[:, second] - 0.1, 0.25
    frames = [lw.Point("link5", offset=(0.2, 0.0, 0.0), axes="position"), "link3"]
    targets = lw.forward_kinematics(model, q, frames)
    with lw.interpreted():
        found = lw.inverse_kinematics(model, targets, frames)
        loose = lw.inverse_kinematics(model, targets[:1], frames, couplings=False)
        still = lw.inverse_kinematics(model, targets[0, :1], ["world"], q0=q[0] + 0.3)
    assert found.converged.all() and within(model, found.q)
    np.testing.assert_allclose(lw.forward_kinematics(model, found.q, frames)[:, 1], targets[:, 1], rtol=0, atol=2e-6)
    if not free:  # there is one solution only
        np.testing.assert_allclose(found.q[:, [lead, last]], q[:, [lead, last]], rtol=0, atol=1e-4)
    for each in (*found.q, still.q):
        np.testing.assert_allclose(
            each[[second, third]], [-0.7 * each[lead] + 0.3, -1.4 * each[lead] + 0.5], atol=1e-15
        )
        assert each[fourth] == 0.25
    assert loose.converged.all()
    if not free:
        same(found, lw.inverse_kinematics(model, targets, frames))
        with pytest.warns(lw.LinkworkWarning, match="'joint_link1'"):  # begins beyond the limits
            out = lw.inverse_kinematics(model, targets, frames, q0=q[0] - 3.0, restarts=0)
        assert within(model, out.q)


def test_panda_reaches_what_it_can() -> None:
    model, pin = panda(), pytest.importorskip("pinocchio")
    targets = reachable(model, [HAND], 3000, 1)
    before = lw.get_threads()
    try:
        lw.set_threads(1)
        found = lw.inverse_kinematics(model, targets, [HAND])
        lw.set_threads(3)
        same(found, lw.inverse_kinematics(model, targets, [HAND]))
    finally:
        lw.set_threads(before)
    assert found.q.shape == (3000, 9) and found.error.shape == (3000, 1, 2) and found.iterations.dtype == np.int64
    assert found.converged.mean() > 0.995 and within(model, found.q)
    assert (found.error[found.converged] <= 1e-6).all() and (
        found.error[~found.converged].max(axis=(1, 2)) > 1e-6
    ).all()
    np.testing.assert_array_equal(found.q[:, 7:], 0.02)  # the fingers, which do not move it, in the middle

    oracle = pin.buildModelFromUrdf(str(robot("panda.urdf")))
    data, frame = oracle.createData(), oracle.getFrameId(HAND)
    for k in np.flatnonzero(found.converged)[:50]:
        pin.framesForwardKinematics(oracle, data, found.q[k])
        off = pin.log3(data.oMf[frame].rotation.T @ targets[k, 0, :3, :3])
        assert np.linalg.norm(data.oMf[frame].translation - targets[k, 0, :3, 3]) <= 1.001e-6
        assert np.linalg.norm(off) <= 1.001e-6

    # The same bits in any company: backwards, a few of them, and by the interpreter
    same(lw.IKResult(*(each[::-1] for each in found)), lw.inverse_kinematics(model, targets[::-1], [HAND]))
    few = [*np.argsort(found.iterations)[[0, 2800]], 7]
    expected = lw.IKResult(*(each[few] for each in found))
    same(expected, lw.inverse_kinematics(model, targets[few], [HAND]))
    with lw.interpreted():
        same(expected, lw.inverse_kinematics(model, targets[few], HAND))


@lw.interpreted()
def test_frames_of_a_floating_tree() -> None:
    model = tree()
    frames = ["right", lw.Point("left", offset=(0.1, 0.0, 0.0), axes="position"), lw.Point("trunk", axes="rotation")]
    q0 = lw.random_state(model, 5)[0]
    targets = reachable(model, frames, 12, 2)
    found = lw.inverse_kinematics(model, targets, frames, q0, restarts=6)
    assert found.converged.all() and within(model, found.q)
    placed = lw.forward_kinematics(model, found.q, frames)
    off = np.abs(lw.pose_error(placed, targets, "local_world_aligned"))
    assert off[:, 0].max() <= 1e-6 and off[:, 1, :3].max() <= 1e-6 and off[:, 2, 3:].max() <= 1e-6
    assert off[:, 1, 3:].max() > 0.01 and (found.error[:, 1, 1] == 0.0).all() and (found.error[:, 2, 0] == 0.0).all()
    idle = model.q_start[model.joint_index("joint_idle")]
    assert (found.q[:, idle] == q0[idle]).all()  # moves none of them
    turned = found.q.copy()
    turned[:, 3:7] *= -1.0
    same(found._replace(q=found.q), lw.inverse_kinematics(model, targets, frames, np.tile(q0, (12, 1)), restarts=6))


@lw.interpreted()
def test_what_cannot_be_reached_is_approached() -> None:
    arm, hand = lw.mechanisms.serial_chain(3), [lw.Point("tip", axes="position")]
    targets = np.tile(np.eye(4), (4, 1, 1, 1))
    targets[:, 0, :2, 3] = [[5.0, 0.0], [0.0, 4.0], [-3.5, 0.0], [0.0, 2.0]]
    found = lw.inverse_kinematics(arm, targets, hand, restarts=2)
    assert found.converged.tolist() == [False, False, False, True]
    np.testing.assert_allclose(found.error[:3, 0, 0], [2.0, 1.0, 0.5], rtol=1e-3)
    assert (found.iterations <= 180).all()
    one = lw.inverse_kinematics(arm, targets[0], hand, restarts=0)
    assert one.q.shape == (3,) and one.converged.shape == () and not one.converged and one.iterations <= 60
    with_limits = _limited()
    with pytest.warns(lw.LinkworkWarning, match=r"q0\[0\] \(joint 'joint_a'\) is 9, outside of its range"):
        found = lw.inverse_kinematics(with_limits, targets[:3], hand, [9.0, -9.0, 0.0])
    assert within(with_limits, found.q) and not found.converged.any()
    free = lw.inverse_kinematics(with_limits, _placed(-1.0, -1.0), hand, limits=False)
    assert free.converged and not within(with_limits, free.q)


def _limited() -> lw.Model:
    builder = lw.Builder("limited")
    builder.add_body("a", joint=lw.joints.Revolute("z"), lower=-0.2, upper=0.5, mass=1.0)
    builder.add_body("b", "a", lw.joints.Revolute("z"), lw.placement((1, 0, 0)), lower=0.0, upper=0.5, mass=1.0)
    builder.add_body("c", "b", lw.joints.Revolute("z"), lw.placement((1, 0, 0)), lower=0.0, mass=1.0)
    builder.add_frame("tip", "c", lw.placement((1, 0, 0)))
    return builder.build()


def _placed(x: float, y: float) -> Array:
    target = np.eye(4)
    target[:2, 3] = x, y
    return target


READY = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.6, 0.8, 0.0, 0.0])


def circle() -> Array:
    """200 poses of Panda's hand on an upright circle, pointing down; the farthest eight are out of reach."""
    angles = np.pi + np.linspace(0.0, 2.0 * np.pi, 200, endpoint=False)
    places = [(0.63 + 0.15 * np.cos(angle), 0.0, 0.3 + 0.15 * np.sin(angle)) for angle in angles]
    return np.array([[lw.placement(place, (np.pi, 0.0, 0.0))] for place in places])


def test_a_path_comes_back_from_outside_the_workspace() -> None:
    """From each solution to the next, without restarts: where joints got stuck at limits, they are moved off them."""
    model, targets = panda(), circle()
    out_of_reach = ~lw.inverse_kinematics(model, targets, [HAND], restarts=30).converged
    assert np.flatnonzero(out_of_reach).tolist() == [*range(107, 115)]
    q, stuck = READY, []
    for target in targets:
        found = lw.inverse_kinematics(model, target, [HAND], q, restarts=0)
        q = found.q
        stuck.append(not found.converged)
        assert within(model, q)
    assert stuck == out_of_reach.tolist()


@lw.interpreted()
def test_a_solution_at_the_limits_is_found() -> None:
    model, hand = _limited(), [lw.Point("tip", axes="position")]
    corner = lw.forward_kinematics(model, [0.5, 0.5, 0.3], ["tip"])
    found = lw.inverse_kinematics(model, corner, hand, [0.0, 0.1, 0.1], restarts=0)
    assert found.converged and within(model, found.q)
    np.testing.assert_allclose(found.q, [0.5, 0.5, 0.3], atol=1e-5)


@lw.interpreted()
def test_a_start_out_of_the_limits_is_brought_within_and_said() -> None:
    model, hand = _limited(), [lw.Point("tip", axes="position")]
    target = lw.forward_kinematics(model, [0.2, 0.3, 0.4], ["tip"])
    words = r"q0\[1, 1\] \(joint 'joint_b'\) is -3, outside of its range, 0 to 0.5; the search begins within it"
    with pytest.warns(lw.LinkworkWarning, match=words):
        found = lw.inverse_kinematics(model, target, hand, [[0.2, 0.3, 0.3], [0.2, -3.0, 0.3]])
    assert found.converged.all() and all(within(model, q) for q in found.q)
    for quiet in ({"limits": False}, {"q0": [0.2, -1e-9, 0.3]}, {"q0": None, "posture": [0.2, -3.0, 0.3]}):
        lw.inverse_kinematics(model, target, hand, **{"q0": [0.2, -3.0, 0.3], **quiet})  # type: ignore[arg-type]


@lw.interpreted()
def test_half_a_turn() -> None:
    """The hardest rotation: the largest distance, with no unique shortest path, and a sine of zero."""
    arm = lw.mechanisms.serial_chain(6, joint="spherical")
    for axis in np.eye(3):
        target = np.eye(4)
        target[:3, :3] = 2.0 * np.outer(axis, axis) - np.eye(3)
        target[:3, 3] = 1.0, 2.0, 0.5
        found = lw.inverse_kinematics(arm, target, "tip", lw.neutral(arm))
        assert found.converged
        np.testing.assert_allclose(lw.forward_kinematics(arm, found.q, ["tip"])[0], target, atol=2e-6)


@lw.interpreted()
def test_weights_and_postures() -> None:
    arm = lw.mechanisms.serial_chain(4)
    ends = [lw.Point("tip", axes="position"), lw.Point(arm.body_names[1], axes="position")]
    targets = np.tile(np.eye(4), (2, 1, 1))
    targets[:, :2, 3] = [[3.0, 2.9], [0.5, -0.5]]  # not both
    light, heavy = (lw.inverse_kinematics(arm, targets, ends, weights=w, restarts=2) for w in ([1, 9], [9, 1]))
    assert light.error[0, 0] > heavy.error[0, 0] and light.error[1, 0] < heavy.error[1, 0]
    assert not light.converged and not heavy.converged

    posture = np.array([0.4, -0.5, 0.6, 0.7])
    found = lw.inverse_kinematics(arm, _placed(1.5, 1.5), ends[:1], posture=posture)
    J = lw.jacobian(arm, found.q, ends[:1])
    along = np.linalg.svd(J)[2][2:]  # motions that leave the tip where it is
    assert found.converged and np.abs(along @ (posture - found.q)).max() < 1e-3  # none of them leads nearer


def test_many_bodies_go_by_the_text_over_arrays() -> None:
    chain = lw.mechanisms.serial_chain(55)
    ends = [lw.Point("tip", axes="position")]
    targets = np.stack([_placed(20.0, 10.0), _placed(-5.0, 30.0)])[:, None]
    found = lw.inverse_kinematics(chain, targets, ends, np.full(55, 0.01))
    assert found.converged.all()
    np.testing.assert_allclose(
        lw.forward_kinematics(chain, found.q, ["tip"])[:, 0, :2, 3], targets[:, 0, :2, 3], atol=1e-6
    )


@lw.interpreted()
def test_a_frame_that_nothing_moves() -> None:
    arm = lw.mechanisms.serial_chain(2)
    found = lw.inverse_kinematics(arm, np.stack([np.eye(4), _placed(0.0, 3.0)])[:, None], ["world"], restarts=1)
    assert found.converged.tolist() == [True, False] and found.error[1, 0].tolist() == [3.0, 0.0]
    nothing = lw.inverse_kinematics(arm, np.zeros((0, 1, 4, 4)), ["tip"])
    assert nothing.q.shape == (0, 2) and nothing.error.shape == (0, 1, 2) and nothing.converged.shape == (0,)


@lw.interpreted()
def test_inside_compiled_functions() -> None:
    arm, hand = _limited(), [lw.Point("tip", axes="position")]
    pin = lw.PointOnPlane("tip", normal="y")

    def text(q: Any, target: Any) -> Any:
        found = lw.inverse_kinematics(arm, target, hand, q, restarts=2, posture=np.zeros(3))
        number = np.where(found.converged, 1.0, 0.0)
        return found.q, found.error, number, found.iterations, lw.close_loops(arm, q, [pin])

    code = lw.compile(text, q=3, target=(4, 4))
    q, target = np.array([0.1, 0.2, 0.3]), _placed(2.4, 1.2)
    plain = lw.inverse_kinematics(arm, target, hand, q, restarts=2, posture=np.zeros(3))
    *found, closed = code(q, target)
    assert plain.converged
    for one, other in zip(plain, found, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(closed, lw.close_loops(arm, q, [pin]))
    with pytest.raises(lw.SingularError):  # which loops stay open is not known there
        lw.compile(lambda q: lw.close_loops(arm, q, [lw.Ball("tip", placement=lw.placement((9, 0, 0)))]), q=3)(q)


def _bent() -> Array:
    bent = np.eye(4)
    bent[0, 1] = 1e-3
    return bent


MIRROR = np.diag([1.0, 1.0, -1.0, 1.0])
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"targets": np.eye(3)}, r"targets .*4, 4"),
    ({"targets": np.tile(np.eye(4), (2, 1, 1))}, r"shape \(\.\.\., 1, 4, 4\).*; targets\[\.\.\., None, :, :\]"),
    ({"targets": [0.5, 0.0, 0.0]}, r"targets must have shape .*\(3,\); lw.placement\(xyz\) makes a placement of a"),
    ({"targets": _bent()}, "no placement.*rotation"),
    ({"targets": MIRROR}, "no placement"),
    ({"targets": 2.0 * np.eye(4)}, "no placement"),
    ({"targets": np.full((4, 4), np.nan)}, "must be finite"),
    ({"frames": []}, "at least one frame"),
    ({"frames": ["tp"]}, "no frame named 'tp'.*tip"),
    ({"q0": [0.0]}, "q0 must have shape"),
    ({"q0": [np.inf, 0.0, 0.0]}, r"q0\[0\].*finite"),
    ({"posture": [0.0]}, "posture must have shape"),
    ({"limits": 1}, "limits must be True or False"),
    ({"tolerance": 0.0}, "tolerance must be a positive"),
    ({"tolerance": [1e-6, -1.0]}, "tolerance must be a positive"),
    ({"restarts": -1}, "restarts must be an integer"),
    ({"weights": [1.0, 2.0]}, "weights must have shape"),
    ({"weights": [0.0]}, "weights must be positive"),
    ({"q0": np.zeros((3, 3)), "targets": np.tile(np.eye(4), (2, 1, 1, 1))}, "do not broadcast"),
]


@pytest.mark.parametrize(("change", "words"), WRONG, ids=[str(k) for k in range(len(WRONG))])
def test_wrong_use_is_said(change: dict[str, Any], words: str) -> None:
    arm = lw.mechanisms.serial_chain(3)
    given: dict[str, Any] = {"targets": np.eye(4), "frames": ["tip"], **change}
    with pytest.raises(lw.ArgumentError, match=words):
        lw.inverse_kinematics(arm, given.pop("targets"), given.pop("frames"), **given)


# Errors of poses


def test_pose_errors_of_several_frames_are_traced() -> None:
    arm = lw.mechanisms.serial_chain(3)
    q, frames = np.array([0.3, -0.5, 0.8]), ["joint2", "tip"]
    target = lw.placement((0.1, 0.2, 0.3), (0.4, -0.2, 0.1))
    text = lw.compile(lambda q: lw.pose_error(lw.forward_kinematics(arm, q, frames), target), q=3)
    expected = lw.pose_error(lw.forward_kinematics(arm, q, frames), target)
    assert expected.shape == (2, 6) and np.array_equal(text(q), expected)
    moved = [text(q + step * np.eye(3)[1]) for step in (1e-6, -1e-6)]
    np.testing.assert_allclose(lw.jacobian_of(text)(q)[..., 1], (moved[0] - moved[1]) / 2e-6, atol=1e-8)
    with pytest.raises(lw.ArgumentError, match=r"X must have shape \(\.\.\., 4, 4\), but has shape \(3,\)"):
        lw.compile(lambda q: lw.pose_error(q, target), q=3)


def test_pose_error_is_what_jacobians_lead_along() -> None:
    rng = np.random.default_rng(0)
    turns = [Rotation.random(200, random_state=rng) for _ in range(2)]
    X, target = np.tile(np.eye(4), (2, 200, 1, 1))
    X[:, :3, :3], target[:, :3, :3] = turns[0].as_matrix(), turns[1].as_matrix()
    X[:, :3, 3], target[:, :3, 3] = rng.normal(size=(2, 200, 3))
    local, aligned, world = (lw.pose_error(X, target, r) for r in ("local", "local_world_aligned", "world"))
    np.testing.assert_allclose(aligned[:, 3:], (turns[1] * turns[0].inv()).as_rotvec(), atol=1e-12)
    np.testing.assert_allclose(aligned[:, :3], target[:, :3, 3] - X[:, :3, 3])
    np.testing.assert_allclose(local[:, :3], turns[0].inv().apply(aligned[:, :3]), atol=1e-12)
    np.testing.assert_allclose(local[:, 3:], turns[0].inv().apply(aligned[:, 3:]), atol=1e-12)
    np.testing.assert_allclose(world[:, :3], aligned[:, :3] + np.cross(X[:, :3, 3], aligned[:, 3:]), atol=1e-12)
    half = np.diag([-1.0, 1.0, -1.0, 1.0])
    np.testing.assert_allclose(np.abs(lw.pose_error(np.eye(4), half)), [0, 0, 0, 0, np.pi, 0], atol=1e-15)
    assert not lw.pose_error(X[0], X[0]).any()
    with pytest.raises(lw.ArgumentError, match="X_target is no placement"):
        lw.pose_error(np.eye(4), MIRROR)
    with pytest.raises(lw.ArgumentError, match="reference"):
        lw.pose_error(np.eye(4), np.eye(4), "here")  # type: ignore[arg-type, unused-ignore]


@lw.interpreted()
def test_pose_error_in_every_reference_to_first_order() -> None:
    arm = lw.mechanisms.serial_chain(5, joint="universal")
    q, step = lw.random_state(arm, 3)
    step *= 1e-6
    X, target = (lw.forward_kinematics(arm, each, ["tip"])[0] for each in (q, lw.integrate(arm, q, step)))
    for reference in ("local", "world", "local_world_aligned"):
        moved = lw.jacobian(arm, q, ["tip"], reference) @ step
        np.testing.assert_allclose(lw.pose_error(X, target, reference), moved, atol=1e-9)


# Closed loops


@lw.interpreted()
@pytest.mark.parametrize("name", MECHANISMS)
def test_loops_are_closed_near_by(name: str) -> None:
    model, constraints, q = MECHANISMS[name]()
    rng = np.random.default_rng(0)
    kicks = 0.05 * rng.normal(size=(3, model.nv))
    start = lw.integrate(model, np.tile(q, (3, 1)), kicks)
    found = lw.close_loops(model, start, constraints, limits=False)
    assert np.abs(lw.difference(model, start, found)).max() < 0.3
    np.testing.assert_array_equal(found, lw.close_loops(model, found, constraints, limits=False))
    np.testing.assert_array_equal(found[1], lw.close_loops(model, start[1], constraints, limits=False))
    for constraint in constraints:
        if name != "rolling":  # whose frames do not meet
            a, b = lw.forward_kinematics(model, found, [constraint.frame_a, constraint.frame_b]).swapaxes(0, 1)
            held = np.array(constraint.placement.translation.numbers())
            np.testing.assert_allclose(a[:, :3, 3], b[:, :3, 3] + b[:, :3, :3] @ held, atol=2e-9)


@lw.interpreted()
def test_couplings_planes_and_hinges() -> None:
    arm = lw.mechanisms.serial_chain(4)
    a, b, c, _ = arm.joint_names
    gears = [lw.Coupling(b, a, 2.0, 0.1), lw.Coupling(c, a, -1.0), lw.PointOnPlane("tip", normal="y")]
    found = lw.close_loops(arm, [[0.3, 0.1, 0.5, 0.2], [0.0, 0.0, 0.0, 0.1]], gears)
    np.testing.assert_allclose(found[:, 1], 2.0 * found[:, 0] + 0.1, atol=1e-9)
    np.testing.assert_allclose(found[:, 2], -found[:, 0], atol=1e-9)
    np.testing.assert_allclose(lw.forward_kinematics(arm, found, ["tip"])[:, 0, 1, 3], 0.0, atol=1e-9)
    builder = lw.Builder("box")
    builder.add_body("box", joint=lw.joints.Free(), mass=1.0, inertia=(1, 1, 1))
    box, half = builder.build(), lw.placement((1.5, 0.0, 0.0), (np.pi, 0.0, 0.0))
    for constraint in (lw.Hinge("box", placement=half), lw.Weld("box", placement=half)):
        end = lw.forward_kinematics(box, lw.close_loops(box, lw.neutral(box), [constraint]), ["box"])[0]
        np.testing.assert_allclose(end[:3, 2], [0.0, 0.0, -1.0], atol=1e-8)  # half a turn away, where sines are zero
        np.testing.assert_allclose(end[:3, 3], [1.5, 0.0, 0.0], atol=1e-8)
    into = np.empty((2, 4))
    assert lw.close_loops(arm, found, gears, out=into) is into and np.array_equal(into, found)
    geared = replace(arm, constraints=tuple(gears))  # left out, it is the model's own that are satisfied
    assert np.array_equal(lw.close_loops(geared, [0.3, 0.1, 0.5, 0.2]), found[0])


def test_loops_that_cannot_be_closed_are_said() -> None:
    model, _, q = four_bar()
    far = [lw.Ball("end", placement=lw.placement((50.0, 0.0, 0.0)))]
    with lw.interpreted():
        with pytest.raises(lw.SingularError, match=r"state \[0\].*Ball\('end', 'world'\) stays off by 4"):
            lw.close_loops(model, np.stack([q, q]), far)
        assert np.array_equal(lw.close_loops(model, q, []), q)
        arm = _limited()
        with pytest.warns(lw.LinkworkWarning, match="there is nothing to close: model 'limited' has no constraints"):
            assert np.array_equal(lw.close_loops(arm, [0.1, 0.2, 0.3]), [0.1, 0.2, 0.3])
        for constraints in ([], [lw.Coupling("joint_c", "joint_b")]):
            with pytest.warns(lw.LinkworkWarning, match=r"q\[1\] \(joint 'joint_b'\) is 2, outside of its range"):
                assert within(arm, lw.close_loops(arm, [0.1, 2.0, 0.3], constraints))
    with pytest.raises(lw.ArgumentError, match="constraints must be a list"):
        lw.close_loops(model, q, 3)  # type: ignore[arg-type]
    with pytest.raises(lw.ArgumentError, match="tolerance"):
        lw.close_loops(model, q, far, tolerance=-1.0)


@pytest.mark.parametrize("height", [0.3, 0.6])
def test_problems_of_users_have_code_of_their_own(height: float) -> None:
    """Though two of them have the same name."""

    class Height(Problem):
        name, argument, what, size = "height", ("none", (1,)), (), 1.0

        def residuals(self, q: Any, argument: Any) -> tuple[Any, Any]:
            z = lw.forward_kinematics(self.model, q, ["tip"])[..., 0, 2, 3:]
            return height - z, lw.jacobian(self.model, q, ["tip"], "local_world_aligned")[..., 2:3, :]

    arm = lw.mechanisms.serial_chain(1, joint=lw.joints.Revolute("y"))
    search = Height(arm, [arm.frame("tip")], [1], [[0]])
    fixed = [*search.fixed(True, 1.0, 4), np.ones(1), np.array([1e-9])]
    q, off, _ = search.solved(np.full((1, 1), 0.1), *fixed, np.zeros((1, 1)))
    assert off[0, 0] < 1e-9
    assert abs(lw.forward_kinematics(arm, q, ["tip"])[0, 0, 2, 3] - height) < 1e-8
