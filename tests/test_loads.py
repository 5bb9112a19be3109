"""Forces at frames, and joint reactions expressed in any frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms import REFERENCES
from strategies import JOINTS, close, few_kinds, random_tree, state_of

FRAMES = ("f0", "f3", "f6", "post")


@pytest.mark.parametrize("reference", REFERENCES)
def test_a_force_at_a_frame_does_the_work_of_its_jacobian(reference: str) -> None:
    """τ = -Jᵀ f, whatever the reference, the joints and the frames."""
    model = random_tree(7, JOINTS)
    s = state_of(model, 1, (3,))
    points: list[str | lw.Point] = [*FRAMES, lw.Point("f5", offset=(0.1, -0.2, 0.3)), "f0"]
    points[-1] = lw.Point("f0", offset=(0.0, 0.0, 0.5))
    wrenches = np.random.default_rng(2).normal(size=(3, len(points), 6))
    with lw.interpreted():
        f_ext = lw.external_wrench(model, s.q, dict(zip(points, np.moveaxis(wrenches, 1, 0), strict=True)), reference)
        assert f_ext.shape == (3, len(model.bodies), 6)
        loaded = lw.inverse_dynamics(model, s.q, s.v, s.a, f_ext)
        change = loaded - lw.inverse_dynamics(model, s.q, s.v, s.a)
        J = lw.jacobian(model, s.q, points, reference)
    close(change, -np.einsum("bij,bi->bj", J, wrenches.reshape(3, -1)), 1e-12)


def test_forces_and_moments_alone_and_batches() -> None:
    arm = lw.mechanisms.serial_chain(2)
    with lw.interpreted():
        pair = {lw.Point("tip", axes="position"): [1, 2, 3], lw.Point("body1", axes="rotation"): np.ones((4, 1, 3))}
        f_ext = lw.external_wrench(arm, np.zeros((5, 2)), pair)
        assert f_ext.shape == (4, 5, 2, 6)
        one = lw.external_wrench(arm, [0, 0], {"tip": [1, 2, 3, 0, 0, 0], "body1": [0, 0, 0, 1, 1, 1]})
        assert (f_ext == one).all()
        out = np.full((2, 6), np.nan)
        assert lw.external_wrench(arm, [0, 0], {}, out=out) is out and not out.any()
        assert not lw.external_wrench(arm, [0, 0], {"world": [1] * 6}).any()


def test_a_load_in_compiled_code_is_the_same() -> None:
    arm = lw.mechanisms.serial_chain(2)

    def held(q: Any, force: Any) -> Any:
        f_ext = lw.external_wrench(arm, q, {lw.Point("tip", axes="position"): force})
        tau, wrenches = lw.inverse_dynamics_and_reactions(arm, q, np.zeros(2), np.zeros(2), f_ext, "tip")
        return tau, wrenches

    fast = lw.compile(held, q=2, force=3)
    q, force = np.random.default_rng(0).normal(size=(2, 7, 3))
    for got, expected in zip(fast(q[:, :2], force), held(q[:, :2], force), strict=True):
        close(got, expected, 1e-13)


def test_reactions_of_a_motion_are_those_of_its_forces(engine: str) -> None:
    model = few_kinds()
    s = state_of(model, 4, (2,))
    for frame in ("child", "parent", "world", "f3", lw.Point("f3", offset=(0.1, 0.2, 0.3))):
        tau, wrenches = lw.inverse_dynamics_and_reactions(model, s.q, s.v, s.a, s.f_ext, frame)
        a, same = lw.forward_dynamics_and_reactions(model, s.q, s.v, tau, s.f_ext, frame=frame)
        close(a, s.a, 1e-9)
        close(wrenches, same, 1e-9)
        if engine != "interpreted" and frame != "child":
            break


def test_any_frame_sees_the_reactions() -> None:
    """The power of a wrench on a twist does not depend on the frame in which both are expressed."""
    model = few_kinds()
    s = state_of(model, 5)
    rng = np.random.default_rng(1)
    with lw.interpreted():
        _, world = lw.inverse_dynamics_and_reactions(model, s.q, s.v, s.a, frame="world")
        for frame in ("f2", "post", "joint_b3", lw.Point("f4", offset=(0.3, 0.2, 0.1))):
            out = np.empty(model.nv), np.empty((len(model.bodies), 6))
            found = lw.inverse_dynamics_and_reactions(model, s.q, s.v, s.a, frame=frame, out=out)
            assert found is out
            (place,) = lw.forward_kinematics(model, s.q, frame)
            v, w = rng.normal(size=(2, 3))
            seen = np.concatenate([place[:3, :3].T @ (v + np.cross(w, place[:3, 3])), place[:3, :3].T @ w])
            close(out[1] @ seen, world @ np.concatenate([v, w]), 1e-12)
        held, tau = [lw.Ball.at(model, s.q, "f4")], np.zeros(model.nv)
        motion, options = (model, s.q, s.v, tau, held), {"proximal": 1e-6}
        ours = [lw.constrained_dynamics_and_reactions(*motion, **options, frame=k)[2] for k in ("f2", "world")]
        (place,) = lw.forward_kinematics(model, s.q, "f2")
        seen = np.concatenate([place[:3, :3].T @ (v + np.cross(w, place[:3, 3])), place[:3, :3].T @ w])
        close(ours[0] @ seen, ours[1] @ np.concatenate([v, w]), 1e-12)


def test_a_wrist_bears_what_is_beyond_it() -> None:
    """By hand: the weight of the hand and of its load, and its moment about the wrist."""
    builder = lw.Builder(gravity=(0, 0, -10))
    builder.add_body("arm", joint=lw.joints.Revolute("y"), mass=3.0)
    builder.add_body("hand", "arm", lw.joints.Revolute("x"), lw.placement((1, 0, 0)), mass=1.0, com=(0.1, 0, 0))
    builder.add_frame("tcp", "hand", lw.placement((0.3, 0, 0), (0, 0.5, 0)))
    arm = builder.build().with_payload("tcp", 2.0)
    with lw.interpreted():
        _, wrenches = lw.inverse_dynamics_and_reactions(arm, [0, 0], [0, 0], [0, 0], frame="hand")
    close(wrenches[1], [0, 0, 30, 0, -(1.0 * 0.1 + 2.0 * 0.3) * 10, 0], 1e-14)


ARM = lw.mechanisms.serial_chain(2)
STILL: tuple[Any, ...] = ([0, 0], [0, 0], [0, 0])
WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "no dict": (lambda: lw.external_wrench(ARM, [0, 0], [1] * 6), "wrenches must be a dict, as in"),  # type: ignore[arg-type]
    "no frame": (lambda: lw.external_wrench(ARM, [0, 0], {"top": [1] * 6}), "no frame named 'top'"),
    "five numbers": (lambda: lw.external_wrench(ARM, [0, 0], {"tip": [1] * 5}), "wrench at 'tip' must be 6 numbers"),
    "a nan": (lambda: lw.external_wrench(ARM, [0, 0], {"tip": [np.nan] * 6}), "wrench at 'tip' must be finite"),
    "no reference": (lambda: lw.external_wrench(ARM, [0, 0], {}, "globe"), "reference must be one of 'local', 'world'"),
    "batches": (lambda: lw.external_wrench(ARM, np.zeros((2, 2)), {"tip": np.ones((3, 6))}), "do not broadcast"),
    "q": (lambda: lw.external_wrench(ARM, [0], {}), "q must have shape"),
    "where": (
        lambda: lw.inverse_dynamics_and_reactions(ARM, *STILL, frame="tap"),
        "frame must be one of 'child', 'parent'",
    ),
    "who": (lambda: lw.forward_dynamics_and_reactions(ARM, *STILL, frame="tap"), "did you mean 'tip'"),
    "what": (lambda: lw.inverse_dynamics_and_reactions(ARM, *STILL, frame=3), "frame must be"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_loads_are_told(case: str) -> None:
    call, words = WRONG[case]
    with pytest.raises(lw.ArgumentError, match=words):
        call()
