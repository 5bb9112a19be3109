"""Threads that make the same calls at the same time, calls that succeed and calls that fail, for an allocator that
checks memory.

    PYTHONMALLOC=debug MALLOC_PERTURB_=165 python tests/competing.py 3

The calls of a group share code: of a compiled function, of a public function, of simulations. For each group in turn,
so many times, threads make all of them in random order: for one state, and for batches that run without the GIL;
with results that are not finite, arguments that do not fit, and functions that raise. Another thread keeps Python's
lists of free tuples full, so that whatever the others drop goes back to the allocator at once. Each result must have
the bits of the first call; each error must be of the same class.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import linkwork as lw

Call = Callable[[], Any]
STATES = (1, 70, 2000, 10000)
"""Of a batch: code for one state, and for tiles with the GIL and without it."""
FREE = 2100
"""More tuples of one size than Python keeps for reuse."""
SPELL = 10
"""How often a thread repeats a call."""
ARM = lw.mechanisms.serial_chain(3)
CART = lw.mechanisms.double_pendulum()
PLANE = [lw.PointOnPlane("tip", normal="x")]


class Pair(NamedTuple):
    x: Any
    y: Any


class Checked(Pair):
    """Is made by Python code, which may run anything."""

    def __new__(cls, x: Any, y: Any) -> Checked:
        gc.get_count()
        return super().__new__(cls, x, y)


class Refusal(Exception):
    """What a user's function raises."""


def compiled() -> dict[str, list[Call]]:
    """Functions that return an array, a dict and a named tuple, and take a while."""

    def inverse(x: Any) -> Any:
        y = 1.0 / x
        for _ in range(20):
            y = np.sin(y) + x
        return y

    functions = {
        "array": lw.compile(inverse, x=4),
        "dict": lw.compile(lambda x: {"a": inverse(x), "b": [x * 2.0]}, x=4),
        "named tuple": lw.compile(lambda x: Checked(inverse(x), x + 1.0), x=4),
    }
    groups = {}
    for name, function in functions.items():
        calls: list[Call] = []
        for states in STATES[1:]:
            good = np.random.default_rng(states).uniform(1.0, 2.0, (states, 4))
            bad = good.copy()
            bad[-1, -1] = 0.0
            calls += [lambda f=function, x=x: f(x) for x in (good, good[0], bad, bad)]
            calls += [lambda f=function, x=good[0]: f(x=x), lambda f=function, x=good: f(x[:, :3])]
        groups[name] = calls
    return groups


def public() -> dict[str, list[Call]]:
    """Functions whose code is found by a name, by frames and by a route."""
    point = lw.Point("tip", (0.1, 0.2, 0.3))
    functions: dict[str, Callable[[Any, Any, Any], Any]] = {
        "forward_dynamics": lambda q, v, tau: lw.forward_dynamics(ARM, q, v, tau),
        "inverse_dynamics": lambda q, v, tau: lw.inverse_dynamics(ARM, q, v, tau, out=np.empty_like(tau)),
        "frame_velocity": lambda q, v, tau: lw.frame_velocity(ARM, q, v, [lw.Point("tip", point.offset), "body1"]),
        "constrained_dynamics": lambda q, v, tau: lw.constrained_dynamics(ARM, q, v, tau, PLANE),
        "external_wrench": lambda q, v, tau: lw.external_wrench(ARM, q, {point: tau[..., [0] * 6]}),
    }
    groups = {}
    for name, function in functions.items():
        calls: list[Call] = [lambda: lw.jacobian(ARM, [0.0] * 3, [{}]), lambda: lw.jacobian(ARM, [0.0] * 3, ["none"])]
        for states in STATES:
            q, v, tau = np.random.default_rng(states).normal(size=(3, states, ARM.nv))
            fast = v.copy()
            fast[-1, 0] = 1e200  # accelerations are not finite
            calls += [lambda f=function, given=(q, rates, tau): f(*given) for rates in (v, fast)]
            calls += [lambda f=function, given=(q[0], v[0], tau[0]): f(*given)]
            calls += [lambda f=function, given=(q, v, tau[..., :2]): f(*given)]
        groups[name] = calls
    return groups


def over_time() -> dict[str, list[Call]]:
    starts = np.random.default_rng(1).normal(size=(200, 2, 2))
    unbounded = starts.copy()
    unbounded[-1, 1] = 1e200

    def rolled(states: Any) -> Call:
        return lambda: lw.rollout(CART, states[:, 0], states[:, 1], dt=0.01, steps=20).q

    def simulated(torque: Any, integrator: str) -> Call:
        return lambda: lw.simulate(CART, [0.5, 0.2], [0.0, 0.0], 0.3, 0.01, torque=torque, integrator=integrator).q

    kept: list[Any] = []

    def keeping(t: float, q: Any, v: Any) -> Any:
        kept.append((q, v))  # a part of a later step must not write into these
        del kept[:-3]
        return -v

    def failing(t: float, q: Any, v: Any) -> Any:
        if t > 0.1:
            raise Refusal
        return -v

    def unbound(t: float, q: Any, v: Any) -> Any:
        return -v * (np.inf if t > 0.1 else 1.0)

    def misshapen(t: float, q: Any, v: Any) -> Any:
        return np.zeros(2 if t < 0.1 else 3)

    laws = (lambda t, q, v: -v, keeping, failing, unbound, misshapen, lambda t, q, v: [0.1, 0.2])
    integrators = ("semi_implicit_euler", "runge_kutta_4")
    simulations = [simulated(law, each) for law in laws for each in integrators]
    return {"rollouts": [rolled(starts), rolled(unbounded)], "simulations": simulations}


def leaves(value: Any) -> list[bytes]:
    """The bits of all arrays in a result."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple | list):
        return [bits for each in value for bits in leaves(each)]
    return [np.asarray(value).tobytes()]


def outcome(call: Call) -> list[bytes] | type[BaseException]:
    try:
        return leaves(call())
    except (lw.LinkworkError, Refusal) as error:
        return type(error)


def compete(calls: list[Call], rounds: int) -> tuple[Counter[str], set[str]]:
    """How many calls of several threads succeeded and failed, and what was wrong."""
    expected = [outcome(call) for call in calls]
    for each in calls * 2:  # the builtins' entries are made
        outcome(each)
    counts, wrong, ended = Counter[str](), set[str](), threading.Event()

    def call(seed: int) -> None:
        rng = np.random.default_rng(seed)
        try:
            for k in np.concatenate([rng.permutation(len(calls)) for _ in range(rounds)]):
                for _ in range(SPELL):
                    found = outcome(calls[k])
                    counts["failed" if isinstance(found, type) else "succeeded"] += 1
                    if found != expected[k]:
                        wrong.add(f"call {k}: {found if isinstance(found, type) else 'other bits'}")
        except BaseException as error:
            wrong.add(repr(error))
            raise

    def fill() -> None:
        while not ended.wait(1e-3):
            kept = [(None,) * size for size in range(1, 10) for _ in range(FREE)]
            del kept

    filling = threading.Thread(target=fill)
    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(3)]
    for thread in (filling, *threads):
        thread.start()
    for thread in threads:
        thread.join()
    ended.set()
    filling.join()
    return counts, wrong


def main(rounds: int) -> None:
    groups = compiled() | public() | over_time()
    sys.setswitchinterval(1e-5)
    gc.freeze()
    failures = []
    for name, calls in groups.items():
        counts, wrong = compete(calls, rounds)
        sys.stdout.write(f"{name}: {counts['succeeded']} succeeded, {counts['failed']} failed\n")
        failures += [f"{name}: {each}" for each in sorted(wrong)]
    sys.exit("\n".join(failures) or 0)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
