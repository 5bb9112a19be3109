"""References of the builtins under a checking allocator, and calls without builtins, each in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw

HERE = Path(__file__).parent
CALLS = """
import hashlib, numpy as np, linkwork as lw
arm, point = lw.mechanisms.serial_chain(3), lw.Point("tip", (0.1, 0.2, 0.3))
inverse = lw.compile(lambda x: {"a": 1.0 / x, "b": [x + 1.0]}, x=3)
q, v, tau = np.random.default_rng(1).normal(size=(3, 5, 3))
bits = hashlib.sha256()

def add(found):
    for each in found.values() if isinstance(found, dict) else found if isinstance(found, tuple | list) else [found]:
        add(each) if isinstance(each, tuple | list) else bits.update(np.ascontiguousarray(each))

for states in (slice(0, 5), 0, 0):
    add(lw.forward_dynamics(arm, q[states], v[states], tau[states], out=np.empty_like(v[states])))
    add(lw.frame_velocity(arm, q[states], v[states], [point]))
    add(lw.constrained_dynamics(arm, q[states], v[states], tau[states], [lw.PointOnPlane("tip", normal="x")]))
    add(lw.external_wrench(arm, q[states], {point: np.ones(6)}))
    add(inverse(x=q[states]))
add(lw.simulate(arm, q[0], v[0], 0.1, 0.01, torque=lambda t, q, v: -v).q)
add(lw.rollout(arm, q, v, tau, dt=0.01, steps=5).q)
digest = bits.hexdigest()
"""


@pytest.mark.usefixtures("builtins")
def test_threads_that_compete_use_no_freed_memory() -> None:
    """Compiled and public functions, rollouts and simulations that succeed and fail. A C library that knows
    MALLOC_PERTURB_ overwrites what is freed beyond Python's own allocator, such as arrays.
    """
    environment = {**os.environ, "PYTHONMALLOC": "debug", "MALLOC_PERTURB_": "165"}
    command = [sys.executable, "-X", "faulthandler", str(HERE / "competing.py"), "1"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    counts = re.findall(r"(.+): (\d+) succeeded, (\d+) failed", done.stdout)
    assert len(counts) == 10 and all(int(good) and int(bad) for _, good, bad in counts), done.stdout


def test_the_builtins_can_be_turned_off() -> None:
    """Then the checked path serves every call, with the same bits."""
    text = f"{CALLS}print(digest, not arm._memo.quick, type(lw.forward_dynamics).__name__)"
    environment = {**os.environ, "LINKWORK_BUILTIN": "0"}
    command = [sys.executable, "-W", "error", "-c", text]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
    here: dict[str, str] = {}
    exec(CALLS, here)
    assert found == [here["digest"], "True", "function"]
    assert lw.forward_dynamics(here["arm"], *np.zeros((3, 3))).shape == (3,)
