"""Paths of poses: each configuration follows from the one before, within limits of position and velocity."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from test_inverse_kinematics import HAND, READY, circle, geared, panda, same, tree, within

OUT_OF_REACH = [*range(107, 115)]


def test_a_path_is_followed_as_by_one_search_after_another() -> None:
    model, targets = panda(), circle()
    motion = lw.follow_path(model, targets, [HAND], READY)
    assert np.flatnonzero(~motion.converged).tolist() == OUT_OF_REACH
    q = READY
    for k, target in enumerate(targets[:130]):
        found = lw.inverse_kinematics(model, target, [HAND], q, restarts=16 if k == 0 else 0)
        same(found, lw.IKResult(*(each[k] for each in motion)))
        q = found.q
    same(motion, lw.follow_path(model, targets[:, 0], HAND, READY))  # (steps, 4, 4)


def test_no_joint_is_faster_than_its_limit() -> None:
    """Where the way back is too far for one step, the arm goes there as fast as it may, and then is on its path."""
    model, targets = panda(), circle()
    wide = lw.follow_path(model, targets, [HAND], READY)
    most = 0.05 * model.velocity_limit
    assert (abs(np.diff(wide.q, axis=0)) > most).any()
    motion = lw.follow_path(model, targets, [HAND], READY, dt=0.05)
    assert (abs(np.diff(motion.q, axis=0)) <= most + 1e-15).all() and within(model, motion.q)
    late = np.flatnonzero(~motion.converged)
    assert late[0] == 107 and 114 < late[-1] < 140 and motion.converged[150:].all()
    slow = lw.follow_path(model, targets, [HAND], READY, dt=0.05, velocity_limit=0.5)
    assert (abs(np.diff(slow.q, axis=0)) <= 0.025 + 1e-15).all()
    placed = lw.forward_kinematics(model, slow.q, [HAND])
    off = lw.pose_error(placed, targets, "local_world_aligned")[:, 0]
    np.testing.assert_allclose(slow.error[:, 0, 0], np.linalg.norm(off[:, :3], axis=1), atol=1e-12)
    np.testing.assert_allclose(slow.error[:, 0, 1], np.linalg.norm(off[:, 3:], axis=1), atol=1e-12)
    assert (slow.converged == (slow.error.max(axis=(1, 2)) <= 1e-6)).all() and not slow.converged.all()


def test_a_posture_closes_a_path() -> None:
    model, targets = panda(), circle()[:40]
    there_and_back = np.concatenate([targets, targets[::-1]])
    motion = lw.follow_path(model, there_and_back, [HAND], READY, posture=READY)
    assert motion.converged.all()
    np.testing.assert_allclose(motion.q, motion.q[::-1], atol=1e-4)


def test_paths_of_a_batch_have_the_same_bits_alone() -> None:
    model, targets = panda(), circle()[90:130]
    paths = np.array([targets, targets[::-1], circle()[:40]])
    starts = lw.inverse_kinematics(model, paths[:, 0], [HAND], posture=READY).q
    together = lw.follow_path(model, paths, [HAND], starts, dt=0.05, posture=READY)
    assert together.q.shape == (3, 40, 9) and together.error.shape == (3, 40, 1, 2)
    for k in range(3):
        alone = lw.follow_path(model, paths[k], [HAND], starts[k], dt=0.05, posture=READY)
        same(alone, lw.IKResult(*(each[k] for each in together)))
    crossed = lw.follow_path(model, paths[:, None, :1], [HAND], starts[:2], posture=READY)
    assert crossed.q.shape == (3, 2, 1, 9)
    assert lw.follow_path(model, paths[:0], [HAND], READY).q.shape == (0, 40, 9)


@lw.interpreted()
def test_joints_that_follow_others_keep_their_velocity_limits() -> None:
    model = geared(False)
    k = [model.q_start[model.joint_index(f"joint_link{i}")] for i in range(1, 4)]
    q = np.zeros((30, model.nq))
    q[:, k[0]] = np.linspace(-0.1, 1.0, 30)
    q[:, k[1]] = -0.7 * q[:, k[0]] + 0.3
    q[:, k[2]] = 2.0 * q[:, k[1]] - 0.1
    q[:, model.q_start[model.joint_index("joint_link4")]] = 0.25
    hand = lw.Point("link5", offset=(0.2, 0.0, 0.0))
    targets = lw.forward_kinematics(model, q, [hand])
    motion = lw.follow_path(model, targets, [hand], q[0], dt=0.01, velocity_limit=3.0)
    assert abs(np.diff(motion.q, axis=0)).max() <= 0.03 + 1e-12
    np.testing.assert_allclose(motion.q[:, k[2]], 2.0 * motion.q[:, k[1]] - 0.1, atol=1e-12)
    assert not motion.converged.all()  # the third joint would need 5.3 rad/s


@lw.interpreted()
def test_a_floating_tree_follows_a_path_with_several_frames() -> None:
    model = tree()
    frames = ["right", lw.Point("left", offset=(0.1, 0.0, 0.0), axes="position")]
    start, v = lw.random_state(model, 5)
    q = np.array([lw.integrate(model, start, 0.02 * k * v) for k in range(6)])
    q[:, model.q_start[1]], fore = 0.1, model.q_start[model.joint_index("joint_fore")]
    q[:, fore] = np.linspace(0.5, 0.6, 6)
    targets = lw.forward_kinematics(model, q, frames)
    motion = lw.follow_path(model, targets, frames, q[0], dt=0.01, velocity_limit=20.0)
    assert motion.converged.all() and motion.error.shape == (6, 2, 2)


def test_mistakes_are_named() -> None:
    arm, targets = lw.mechanisms.serial_chain(3), np.tile(np.eye(4), (5, 1, 1, 1))
    for options, why in (
        ({"velocity_limit": 1.0}, "velocity_limit needs dt"),
        ({"dt": 0.0}, "dt must be"),
        ({"dt": 0.1, "velocity_limit": -1.0}, "velocity_limit must not be negative, but is -1"),
        ({"dt": 0.1, "velocity_limit": [1.0, 2.0]}, "velocity_limit must be one number or 3"),
        ({"posture": [0.0, 0.0]}, "posture must have shape"),
        ({"q0": np.zeros((2, 4))}, "q0 must have shape"),
        ({"frames": []}, "frames must name at least one"),
        ({"frames": ["tip", "world"]}, r"targets must have shape \(..., steps, 2, 4, 4\)"),
        ({"targets": np.eye(4)}, r"targets must have shape \(..., steps, 1, 4, 4\) for 1 frame\(s\), but has shape"),
        ({"targets": targets[:0]}, "targets must have shape"),
        ({"targets": 2.0 * targets}, r"targets\[0, 0\] is no placement"),
    ):
        given = {"targets": targets, "frames": ["tip"], **options}
        with pytest.raises(lw.ArgumentError, match=why):
            lw.follow_path(arm, **given)  # type: ignore[arg-type]
    with pytest.raises(lw.ArgumentError, match=r"follow_path cannot be part of a compiled function"):
        lw.compile(lambda X: lw.follow_path(arm, X, ["tip"]).q, X=(5, 4, 4))(targets[:, 0])
