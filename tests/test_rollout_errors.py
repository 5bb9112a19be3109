"""Errors of a rollout for bad arguments, and for trajectories that become non-finite."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any

import numpy as np
import pytest

import linkwork as lw

MODEL = lw.mechanisms.double_pendulum()
ROWS = np.zeros((3, 2))

BAD: dict[str, tuple[dict[str, Any], str]] = {
    "model": ({"model": 3}, "model must be a linkwork Model"),
    "q": ({"q": [0.0]}, r"q must have shape \(\.\.\., 2\)"),
    "v": ({"v": [0.0, np.nan]}, r"v\[1\] \(joint 'joint2'\) is nan"),
    "dt": ({"dt": 0.0}, "dt must be a positive number of seconds, not 0.0"),
    "dt_word": ({"dt": "fast"}, "dt must be a positive number"),
    "no_steps": ({"steps": None}, r"steps must be given, or a tau or target with a row for each step, \(T, nv\)"),
    "steps": ({"steps": 1.5}, "steps must be an integer of 0 or more, not 1.5"),
    "rows": ({"tau": ROWS}, "tau has 3 rows over time for 2 steps"),
    "targets": ({"q_target": ROWS, "kp": 1.0}, "q_target has 3 rows over time for 2 steps"),
    "two_lengths": (
        {"steps": None, "tau": ROWS, "v_target": ROWS[:2], "kd": 1.0},
        "v_target has 2 rows over time for 3 steps",
    ),
    "tau": ({"tau": [0.0, np.inf]}, r"tau\[1\] \(joint 'joint2'\) is inf; it must be finite"),
    "tau_late": ({"tau": [[0.0, 0.0], [np.nan, 0.0]]}, r"tau\[1, 0\] \(joint 'joint1'\) is nan"),
    "tau_words": ({"tau": "much"}, "tau must hold real numbers"),
    "batch": (
        {"q": np.zeros((4, 2)), "tau": np.zeros((3, 2, 2))},
        r"before the one over time, do not broadcast: q, v \(4,\), tau \(3,\)",
    ),
    "memory": (
        {"steps": 10**15},
        r"not enough memory for 1,000,000,000,000,001 records of 1 trajectories, .* 3\.2e\+07 GB.*larger record",
    ),
    "batch_memory": (
        {"tau": np.broadcast_to(np.zeros(2), (10**12, 2, 2))}
        | dict.fromkeys(("damping", "effort_limits"), np.broadcast_to(np.ones(2), (10**12, 2))),
        r"not enough memory for arguments of trajectories of shape \(1000000000000, 4\), which take 3\.2e\+04 GB",
    ),
    "record": ({"record": 0}, "record must be an integer of 1 or more, not 0"),
    "kp_alone": ({"kp": 1.0}, "kp needs q_target"),
    "target_alone": ({"q_target": [0.0, 0.0]}, "q_target needs kp, the gain that pulls to it"),
    "v_target_alone": ({"v_target": [0.0, 0.0]}, "v_target needs kd"),
    "kp": ({"q_target": [0.0, 0.0], "kp": [1.0, np.nan]}, r"kp\[1\] \(joint 'joint2'\) is nan"),
    "damping": ({"damping": [1.0, -2.0]}, "damping of joint 'joint2' is -2.0; it must be 0 or more"),
    "friction": ({"friction": np.inf}, r"friction\[0\] \(joint 'joint1'\) is inf; it must be finite"),
    "effort": ({"tau": [0.0, 0.0], "effort_limits": np.nan}, "effort_limits of joint 'joint1' is nan"),
    "effort_undriven": ({"effort_limits": -1.0}, "effort_limits of joint 'joint1' is -1.0"),
    "ragged": ({"damping": [[1.0], [1.0, 2.0]]}, "damping cannot be made an array"),
    "dt_truth": ({"dt": True}, "dt must be a positive number of seconds, not True"),
    "too_many": ({"steps": 10**20, "record": 10**20}, "steps must be at most 1,000,000,000,000,000"),
    "diverged": ({"diverged": "ignore"}, "diverged must be one of 'raise', 'nan', not 'ignore'"),
    "executor": ({"executor": 4}, "executor must have the interface of concurrent.futures"),
    "executor_class": ({"executor": ThreadPoolExecutor}, "executor must have the interface of concurrent.futures"),
    "chunk": ({"chunk": 0}, "chunk must be an integer of 1 or more"),
    "out": ({"out": lw.Rollout(np.zeros(2), np.zeros((2, 2)), np.zeros((2, 2)))}, "out must be an lw.Rollout of"),
}


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("case", BAD)
def test_a_bad_argument_is_named(case: str) -> None:
    changes, message = BAD[case]
    given: dict[str, Any] = {"model": MODEL, "q": [0.0, 0.0], "v": [0.0, 0.0], "dt": 0.01, "steps": 2, **changes}
    with pytest.raises(lw.ArgumentError, match=message):
        lw.rollout(**given)


@pytest.mark.usefixtures("engine")
def test_nothing_to_do_is_done() -> None:
    none = lw.rollout(MODEL, np.zeros((3, 2)), [0.0, 0.0], np.zeros((3, 0, 2)), dt=0.01)
    assert none.q.shape == (3, 1, 2) and none.t.tolist() == [0.0]
    ends = lw.rollout(MODEL, [0.3, 0.0], [0.0, 0.0], dt=0.01, steps=4, record=10**20)
    assert (ends.q == lw.rollout(MODEL, [0.3, 0.0], [0.0, 0.0], dt=0.01, steps=4).q[[0, 4]]).all()
    assert ends.t.tolist() == [0.0, 0.04]
    builder = lw.Builder("stones")
    empty = builder.build()
    builder.add_body("stone", joint=lw.joints.Fixed(), mass=1.0)
    for model in (empty, builder.build()):
        assert lw.rollout(model, np.zeros((5, 0)), [], np.zeros((5, 3, 0)), dt=0.01).v.shape == (5, 4, 0)


def wild() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """States of which one is far too fast for its time step."""
    q, v = np.full((3, 20, 2), 0.3), np.zeros((3, 20, 2))
    v[1, 4] = [0.0, 1e9]
    return q, v


@pytest.mark.usefixtures("engine")
def test_a_trajectory_that_blows_up_is_named_and_nothing_else_is_lost() -> None:
    q, v = wild()
    with pytest.raises(lw.SimulationError, match=r"trajectory \[1, 4\] becomes non-finite in step") as caught:
        lw.rollout(MODEL, q, v, dt=0.01, steps=40, record=10)
    error = pickle.loads(pickle.dumps(caught.value))
    assert error.joint == "joint2" and "1 of 60 do" in str(error)
    kept = lw.rollout(MODEL, q, v, dt=0.01, steps=40, record=10, diverged="nan")
    for array, same in zip(kept, error.trajectory, strict=True):
        assert np.array_equal(array, same, equal_nan=True)
    lost = np.isnan(kept.q).any(axis=-1)
    assert np.argwhere(lost.any(axis=-1)).tolist() == [[1, 4]] and not lost[1, 4, 0] and lost[1, 4, -1]
    assert np.array_equal(lost, np.isnan(kept.v).all(axis=-1))
    others = ~lost.any(axis=-1)
    calm = lw.rollout(MODEL, q[others], v[others], dt=0.01, steps=40, record=10)
    assert np.array_equal(kept.q[others], calm.q) and np.array_equal(kept.v[others], calm.v)


def test_the_time_of_the_step_that_leads_out_is_exact() -> None:
    q, v = wild()
    with pytest.raises(lw.SimulationError) as caught:
        lw.rollout(MODEL, q, v, dt=0.01, steps=40, record=40)
    step = round(caught.value.time / 0.01)
    seen = lw.rollout(MODEL, q, v, dt=0.01, steps=40, diverged="nan")
    assert int(np.isnan(seen.q[1, 4, :, 0]).argmax()) == step > 0
    push = np.zeros((5000, 2))
    push[4321] = 1e300
    with pytest.raises(lw.SimulationError, match=r"in step 432[2-4] ") as caught:  # found without keeping 5000 states
        lw.rollout(MODEL, q[0], v[0], push, dt=1e-4, record=5000)
    path = caught.value.trajectory
    assert isinstance(path, lw.Rollout) and path.q.shape == (20, 2, 2)


def test_a_state_that_no_step_can_leave_says_why() -> None:
    builder = lw.Builder("ball")
    builder.add_body("ball", joint=lw.joints.Spherical(), mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(lw.SimulationError, match=r"trajectory \[1\].*rotation in q has length zero") as caught:
        lw.rollout(builder.build(), [[0, 0, 0, 1], [0, 0, 0, 0]], [0.0] * 3, dt=0.01, steps=3)
    assert caught.value.joint == "joint_ball"
    with pytest.raises(lw.SimulationError, match=r"the trajectory becomes non-finite .* angle of 3e[+]08 rad"):
        lw.rollout(MODEL, [3e8, 0.0], [0.0, 0.0], dt=0.01, steps=3)


@pytest.mark.usefixtures("engine")
def test_a_joint_that_moves_no_inertia_is_named() -> None:
    builder = lw.Builder("light")
    builder.add_body("arm", joint=lw.joints.Revolute("z"), mass=1.0, com=(1, 0, 0))
    builder.add_body("tip", "arm", lw.joints.Revolute("z"))
    model = builder.build()
    with pytest.raises(lw.SingularError, match="joint 'joint_tip' can move without moving any inertia"):
        lw.rollout(model, [0.0, 0.0], [0.0, 0.0], dt=0.01, steps=3)
    assert lw.rollout(model, np.zeros((0, 2)), [0.0, 0.0], dt=0.01, steps=3).q.shape == (0, 4, 2)
    assert lw.rollout(model, [0.0, 0.0], [0.0, 0.0], dt=0.01, steps=0).q.shape == (1, 2)
    damped = lw.rollout(model, [0.0, 0.0], [0.0, 1.0], dt=0.01, steps=3, damping=0.1)  # which determines its motion
    assert np.isfinite(damped.q).all()


def test_it_can_be_interrupted(interruptible: None) -> None:
    lw.rollout(MODEL, np.zeros((40, 2)), [0.0, 0.0], dt=1e-3, steps=1)  # makes the code
    main = threading.get_ident()

    def interrupt() -> None:
        """Ctrl-C when the main thread has been in the time loop for a while, however long it takes to get there."""
        seen = 0
        while seen < 30:
            time.sleep(0.01)
            seen += any(frame.f_code.co_name == "run_over_time" for frame in stack(sys._current_frames()[main]))
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        threading.Thread(target=interrupt).start()
        lw.rollout(MODEL, np.zeros((40, 2)), [0.0, 0.0], dt=1e-3, steps=10**9, record=10**9)
    assert lw.rollout(MODEL, [0.0, 0.0], [0.0, 0.0], dt=1e-3, steps=3).q.shape == (4, 2)


def stack(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame and all its callers."""
    while frame is not None:
        yield frame
        frame = frame.f_back
