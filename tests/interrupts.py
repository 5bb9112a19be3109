"""Ctrl-C at any moment of a first call: it ends that call with KeyboardInterrupt, and the next one gives the same bits.

A first call imports modules, traces, emits, compiles, writes the cache and fills tables; a call of a new model finds
its code on disk, or compiles it. Child processes make such calls and are interrupted:

- by an exception at a chosen event of the interpreter, the entry of a Python function or the return of a C function:
  there the interpreter looks for signals. It is any event ("anywhere"), one in ``linkwork.engine.code`` ("code") or in
  llvmlite ("llvmlite"). The same seed and number give the same event again.
- by a signal after a chosen time ("signal"), which also interrupts waiting.

    python tests/interrupts.py --count 3000 --seed 7
    python tests/interrupts.py --seed 7 --only 12      # one child again, with its tracebacks
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

ROUNDS = 15
"""Interrupts in one process. The first may come while modules are imported."""
EVENTS = {
    "anywhere": ("", 60_000),
    "code": (os.path.join("linkwork", "engine", "code"), 3000),
    "llvmlite": (f"{os.sep}llvmlite{os.sep}", 600),
}
"""Where an event is, by a part of its file's path; and how many there are, until a call has been counted."""
HOWS = (*EVENTS, *(["signal"] if hasattr(signal, "setitimer") else []))
MOST_SECONDS = 120
"""Until a call that only waits is reported, with its traceback."""


# Calls


def _lw() -> Any:
    return importlib.import_module("linkwork")


def _state(model: Any, *further: int) -> list[Any]:
    rng = np.random.default_rng(5)
    q, v = _lw().random_state(model, 5)
    return [q, v, *(rng.normal(size=n) for n in further)]


def _batch(model: Any, states: int) -> list[Any]:
    return [np.stack([x] * states) for x in _state(model, model.nv)]


def _chain(count: int) -> Callable[[], Any]:
    return lambda: _lw().mechanisms.serial_chain(count)


def _rolled(model: Any) -> Any:
    with importlib.import_module("linkwork.engine.mode").form("rolled"):
        return _lw().inverse_dynamics(model, *_state(model, model.nv))


def _simulated(model: Any) -> Any:
    motion = _lw().simulate(model, *_state(model), 0.05, 0.01)
    if motion.interrupted:  # what there was by then
        raise KeyboardInterrupt
    return motion.q


def _function() -> Any:
    return _lw().compile(lambda x, y: (np.sin(x) @ y, x.sum() + y), x=(3,), y=(3, 3))


CASES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "one state": (_chain(3), lambda m: _lw().forward_dynamics(m, *_state(m, m.nv))),
    "batch": (_chain(3), lambda m: _lw().mass_matrix(m, _batch(m, 37)[0])),
    "threads": (_chain(2), lambda m: _lw().forward_dynamics(m, *_batch(m, 20_000))),
    "rolled": (_chain(4), _rolled),
    "compiled": (_function, lambda f: f([0.1, 0.2, 0.3], np.arange(9.0).reshape(3, 3))),
    "jacobian": (_function, lambda f: _lw().jacobian_of(f, "x")([0.1, 0.2, 0.3], np.arange(9.0).reshape(3, 3))),
    "rollout": (_chain(2), lambda m: _lw().rollout(m, *_state(m), steps=20, dt=0.01).q),
    "simulate": (_chain(2), _simulated),
    "search": (_chain(3), lambda m: _lw().inverse_kinematics(m, _lw().placement((0.5, 0.1, 0.2)), "tip").q),
    "contacts": (
        lambda: _lw().mechanisms.double_pendulum(),
        lambda m: _lw().contact_dynamics(m, *_state(m, m.nv), [_lw().Contact("tip", _lw().Sphere(3.0))])[0],
    ),
    "long chain": (_chain(60), lambda m: _lw().forward_dynamics(m, *_state(m, m.nv))),
    "derivatives": (_chain(3), lambda m: _lw().forward_dynamics_derivatives(m, *_state(m, m.nv))),
    "linearise": (_chain(2), lambda m: tuple(_lw().linearise(m, *_state(m), dt=0.01)[:2])),
    "constrained": (
        _chain(4),
        lambda m: _lw().constrained_dynamics(
            m, *_state(m, m.nv), [_lw().PointOnPlane("tip", "world", normal=(1, 2, 3))]
        ),
    ),
}


def _made(case: str) -> Any:
    return CASES[case][0]()


def _computed(case: str, of: Any) -> list[bytes]:
    result = CASES[case][1](of)
    return [np.asarray(each).tobytes() for each in (result if isinstance(result, tuple) else (result,))]


# Interrupts


class Interrupt:
    """Raises KeyboardInterrupt inside of a ``with`` block: at an event of the interpreter, or after some seconds."""

    def __init__(self, how: str, when: float) -> None:
        self.how, self.when, self.place = how, when, ""
        self.passed = 0.0
        """Events, or seconds."""

    def __enter__(self) -> None:
        if self.how == "signal":
            self.passed = -time.perf_counter()
            signal.signal(signal.SIGALRM, self._signalled)
            signal.setitimer(signal.ITIMER_REAL, max(self.when, 1e-6))
        else:
            self.where = EVENTS[self.how][0]
            sys.setprofile(self._count)

    def __exit__(self, *_: object) -> None:
        if self.how == "signal":
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            self.passed += time.perf_counter()
        else:
            sys.setprofile(None)

    def _count(self, frame: FrameType, event: str, _: object) -> None:
        if event in ("call", "c_return") and self.where in frame.f_code.co_filename:
            self.passed += 1
            if self.passed == self.when:
                self._raise(frame)

    def _signalled(self, _: int, frame: FrameType | None) -> None:
        self._raise(frame)

    def _raise(self, frame: FrameType | None) -> None:
        if frame is not None:
            self.place = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno} {frame.f_code.co_name}"
        raise KeyboardInterrupt


def interrupted(case: str, interrupt: Interrupt, objects: list[Any]) -> str | list[bytes]:
    """The result of a call that is interrupted, "interrupted", or what else came of it."""
    try:
        with interrupt:
            objects.append(_made(case))
            return _computed(case, objects[0])
    except KeyboardInterrupt:
        return "interrupted"
    except BaseException as error:
        if "__set_name__" in str(error) and isinstance(error.__cause__, KeyboardInterrupt):
            return "interrupted"  # Python 3.11 says it so
        return "".join(traceback.format_exception(error)[-12:])


# Processes


class Child:
    """The calls of one process."""

    def __init__(self, seed: int, number: int, hows: tuple[str, ...], cases: tuple[str, ...]) -> None:
        self.random = random.Random(f"{seed} {number}")
        self.hows, self.cases = hows, cases
        self.whole: dict[tuple[str, str, str], float] = {}
        """Events or seconds of calls that were not interrupted, by case, phase and kind of interrupt."""
        self.expected: dict[str, list[bytes]] = {}
        self.unraisable: list[str] = []

    def rounds(self, count: int) -> None:
        sys.unraisablehook = self._unraisable
        for number in range(count):
            case = self.random.choice(self.cases)
            phase = "start" if number == 0 else self.random.choice(["compiled", "cached"])
            how = self.random.choice(self.hows)
            print(json.dumps(["begin", f"{phase}, {case}, {how}"]), flush=True)  # noqa: T201
            faulthandler.dump_traceback_later(MOST_SECONDS, exit=True)
            print(json.dumps(["end", *self.round(case, phase, how)]), flush=True)  # noqa: T201
        faulthandler.cancel_dump_traceback_later()

    def round(self, case: str, phase: str, how: str) -> tuple[str, str]:
        """What came of a call that was interrupted, and where it was; and of the same call afterwards."""
        if phase != "start":
            forget(phase == "compiled")
        objects: list[Any] = []
        most = self.whole.get((case, phase, how), EVENTS[how][1] if how in EVENTS else 0.5)
        when = self.random.random() ** self.random.choice([1, 3]) * most
        interrupt = Interrupt(how, when if how == "signal" else 1 + int(when))
        first = interrupted(case, interrupt, objects)
        if isinstance(first, list):
            self.whole[case, phase, how] = interrupt.passed
        elif first != "interrupted":
            return first, interrupt.place
        try:
            wanted = self._wanted(case)
            again = [_computed(case, each) for each in [*objects, _made(case)]]
        except BaseException as error:
            return f"afterwards {''.join(traceback.format_exception(error)[-12:])}", interrupt.place
        results = [*([first] if isinstance(first, list) else []), *again]
        if any(result != wanted for result in results):
            return f"other bits: {[result == wanted for result in results]}", interrupt.place
        if bad := held_locks():
            return f"still locked: {bad}", interrupt.place
        if self.unraisable:
            return f"unraisable: {self.unraisable.pop()}", interrupt.place
        return "interrupted" if first == "interrupted" else "completed", interrupt.place

    def _wanted(self, case: str) -> list[bytes]:
        """Computed by the interpreter."""
        if case not in self.expected:
            with _lw().interpreted():
                self.expected[case] = _computed(case, _made(case))
        return self.expected[case]

    def _unraisable(self, what: Any) -> None:
        if what.exc_type is not KeyboardInterrupt:
            self.unraisable.append(f"{what.exc_type.__name__}: {what.exc_value} in {what.object!r}")


def forget(compiled: bool) -> None:
    """Forget code that is in memory, and, if it is to be compiled, on disk."""
    importlib.import_module("linkwork.engine.code.loader")._loaded.clear()
    if compiled:
        importlib.import_module("linkwork.engine.code.cache").clear()


def held_locks() -> list[str]:
    """Locks of ours that another thread cannot take at once."""
    found = []

    def look() -> None:
        for name, module in list(sys.modules.items()):
            for key, lock in list(vars(module).items()) if name.startswith("linkwork.") else ():
                if isinstance(lock, type(threading.RLock()) | type(threading.Lock())):
                    if lock.acquire(timeout=20):
                        lock.release()
                    else:
                        found.append(f"{name}.{key}")

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    return found


def run(seed: int, numbers: list[int], hows: tuple[str, ...], cases: tuple[str, ...], rounds: int) -> Counter[str]:
    """What came of all interrupts, by children with these numbers."""
    counts: Counter[str] = Counter()
    for number in numbers:
        with tempfile.TemporaryDirectory(prefix="linkwork-interrupts-") as folder:
            child = subprocess.run(
                [sys.executable, __file__, "--worker", json.dumps([seed, number, hows, cases, rounds])],
                capture_output=True, text=True, env={**os.environ, "LINKWORK_CACHE_DIR": folder},
            )  # fmt: skip
            parts = [path.name for path in Path(folder).iterdir() if path.suffix not in (".lwo", ".part", "")]
        lines = [json.loads(line) for line in child.stdout.splitlines()]
        for what, outcome, *rest in lines:
            if what == "end":
                good = outcome in ("interrupted", "completed")
                counts[outcome if good else f"child {number}, at {rest[0]}: {outcome}"] += 1
        if child.returncode or parts:
            begun = lines[-1][1] if lines else "at its start"
            counts[f"child {number}, {begun}: ended with {child.returncode} {parts} {child.stderr[-3000:]}"] += 1
    return counts


def findings(counts: Counter[str]) -> list[str]:
    return [outcome for outcome in counts if outcome not in ("interrupted", "completed")]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=3000, help="interrupted calls")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hows", default=",".join(HOWS))
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", type=int, help="the child of this number alone")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        seed, number, hows, cases, rounds = json.loads(options.worker)
        warnings.simplefilter("ignore")
        Child(seed, number, tuple(hows), tuple(cases)).rounds(rounds)
        return 0
    numbers = range(-(-options.count // options.rounds)) if options.only is None else [options.only]
    counts: Counter[str] = Counter()
    hows, cases = tuple(options.hows.split(",")), tuple(options.cases.split(","))
    for number in numbers:
        more = run(options.seed, [number], hows, cases, options.rounds)
        counts += more
        for finding in findings(more):
            print(finding, flush=True)  # noqa: T201
    print({name: counts[name] for name in ("interrupted", "completed")}, f"{len(findings(counts))} findings")  # noqa: T201
    return 1 if findings(counts) else 0


if __name__ == "__main__":
    sys.exit(main())
