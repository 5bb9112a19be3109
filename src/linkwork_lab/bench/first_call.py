"""The first call in a fresh process, with an empty cache and with a filled one."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from typing import Any

from linkwork import LinkworkError
from linkwork_lab.bench.cases import CASES
from linkwork_lab.bench.subjects import CACHE, Subject

_CHILD = """
import sys, time, warnings
warnings.simplefilter("ignore")
started, source, ready_made = float(sys.argv[1]), sys.argv[2], sys.argv[3]
floating, every = sys.argv[4] == "True", sys.argv[5] == "True"
import numpy
with_numpy, used = time.time(), time.process_time()
import linkwork as lw
imported = time.time()
model = (lw.load if ready_made == "False" else lw.mechanisms.by_name)(source, floating_base=floating)
q, v = lw.neutral(model), numpy.zeros(model.nv)
loaded = time.time()
result = lw.forward_dynamics(model, q, v, v)
ready, used = time.time(), time.process_time() - used
assert result.shape == v.shape
try:  # getrusage would tell the parent's peak, which a child inherits
    with open("/proc/self/status") as status:
        peak = next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
except (OSError, StopIteration):
    peak = None
calls = {}
if every:
    from linkwork_lab.bench.cases import CASES, States
    q, v = lw.random_state(model, 0)
    state = States(model, {"q": q, "v": v, "rest": 0.0 * v, "a": v, "tau": v, "dv": v, "q1": q})
    for case in (case for case in CASES[1:] if case.least_nv <= model.nv):
        frames = (state.frames(case),) if case.frames else ()
        start = time.perf_counter()
        try:
            result = case.function(model, *state.arguments(case), *frames)
        except lw.SingularError:  # this robot cannot be held, or moved, so
            continue
        calls[case.name] = time.perf_counter() - start
import json
print(json.dumps({"process": ready - started, "numpy": with_numpy - started, "import": imported - started,
                  "load": loaded - imported, "call": ready - loaded, "beyond": ready - with_numpy, "cpu": used,
                  "peak_bytes": peak, "calls": calls}))
"""
PARTS = ("process", "import", "load", "call", "beyond")
"""The time from the start of the process to the first result; its parts: import, loading the model, the call; and
everything after ``import numpy``.
"""


@cache
def _bytecode() -> dict[str, str]:
    """The environment of a process whose modules are compiled to bytecode once, as those of an installed package are,
    even if Python is configured to store none: compiling them would take longer than everything else.
    """
    if not sys.dont_write_bytecode:
        return {}
    folder = tempfile.TemporaryDirectory(prefix="linkwork-bytecode-", ignore_cleanup_errors=True)
    atexit.register(folder.cleanup)
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": folder.name}


def probe(subject: Subject, folder: str, every: bool = False) -> dict[str, Any]:
    """A fresh process with its cache in that folder: seconds from its start to the first result, and its parts."""
    arguments = [repr(time.time()), subject.source, *map(str, (subject.ready_made, subject.floating_base, every))]
    environment = {**os.environ, CACHE: folder, **_bytecode()}
    command = [sys.executable, "-c", _CHILD, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise LinkworkError(f"a fresh process could not compute the forward dynamics of {subject.name!r}: {reason}")
    return json.loads(done.stdout)


def first_calls(subject: Subject, rounds: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Cold and cached: the best of each number. "call" is forward dynamics alone, "calls" are the other functions,
    whose code is left in the subject's own cache; without one they are omitted.
    """
    say(f"{subject.name}: first calls")
    cold, cached = [], []
    for k in range(rounds):
        with tempfile.TemporaryDirectory(prefix="linkwork-bench-") as empty:
            cache = subject.cache if k == 0 else None
            every, folder = cache is not None, cache or empty  # others need no best: nothing is compared with them
            cold.append(probe(subject, folder, every))
            cached += [probe(subject, folder, every), probe(subject, folder)]
    return {"function": CASES[0].name, "cold": _best(cold), "cached": _best(cached)}


def _best(runs: list[dict[str, Any]]) -> dict[str, Any]:
    times: dict[str, Any] = {name: min(run[name] for run in runs) for name in PARTS}
    return {**times, "calls": runs[0]["calls"]}
