"""Ctrl-C in a first call, and what LLVM must not be left with: see ``interrupts.py``, which does the same at length."""

from __future__ import annotations

import gc
import os
import subprocess
import sys

import numpy as np
import pytest

import interrupts
import linkwork as lw
from linkwork.engine.code import jit, undisturbed

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and forks as on POSIX")


def run(script: str, **settings: str) -> str:
    """What a process writes that ends well; an interrupt that is not caught, or a crash, is an error."""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=900,
        cwd=os.path.dirname(__file__), env={**os.environ, **settings},
    )  # fmt: skip
    assert done.returncode == 0, f"{done.returncode} {done.stdout} {done.stderr}"
    return done.stdout


def test_interrupts_at_random_times_change_no_bit() -> None:
    counts = interrupts.run(7, [18, 22], interrupts.HOWS, ("one state", "batch", "compiled", "rollout"), 12)
    assert not interrupts.findings(counts) and counts["interrupted"] > 4, counts


CODE = """
from linkwork.engine.code import cache, jit, loader, undisturbed
TEXT = "define i64 @batch(ptr %p) nounwind { ret i64 14 }"
def linked(image):
    return jit.Code(*jit._linked(image, {}, ["batch"])).function("batch")(0)
"""
STEPS = f"""{CODE}
from interrupts import Interrupt
def value():
    cache.clear()
    return loader.load("0" * 64, lambda: TEXT, jit.host(), ["batch"]).function("batch")(0) + linked(image)
image = jit.compile_object(TEXT, jit.host())
assert value() == 28
for how in ("code", "llvmlite"):
    number, ended = 0, False
    while not ended:
        number += 1
        try:
            with Interrupt(how, number):
                value()
            ended = True
        except KeyboardInterrupt:
            pass
        if number % 8 == 0:
            assert value() == 28
    assert value() == 28 and cache.read("0" * 64) == image
    print(how, number)
"""


def test_an_interrupt_at_each_step_of_compiling_keeping_and_linking_leaves_all_in_order() -> None:
    assert int(run(STEPS).split()[1]) > 100


IMPORTS = f"""{CODE}
import sys
def interrupted(number):
    passed = [0]
    def profile(frame, event, _):
        names = ("__enter__", "__call__", "__exit__")
        here = frame.f_code.co_filename.endswith("ffi.py") and frame.f_code.co_name in names
        passed[0] += here and event in ("call", "c_return")
        if passed[0] == number:
            sys.setprofile(None)
            raise KeyboardInterrupt
    sys.setprofile(profile)
    try:
        jit._llvm()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
number = 1
while interrupted(number):
    number += 1
assert jit._by_llvm(jit._asked).triple
print(number)
"""


def test_an_interrupt_while_llvmlite_is_imported_leaves_its_lock_free() -> None:
    assert int(run(IMPORTS)) > 4


ERRORS = f"""{CODE}
import inspect, sys
import llvmlite.binding as llvm
from llvmlite.binding import context, ffi, module, orcjit, targets
def value():
    return linked(jit.compile_object(TEXT, jit.host()))
value()
left = [0]
NEVER = ("__del__", "detach")  # what is disposed of has no other way to know it
def step(function):
    def stepped(*given, **named):
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return function(*given, **named)
    return stepped
for part in (context, ffi, module, orcjit, targets):
    for kind in [each for each in vars(part).values() if inspect.isclass(each) and each.__module__ == part.__name__]:
        for name, function in list(vars(kind).items()):
            if inspect.isfunction(function) and name not in NEVER and kind is not ffi._LLVMLock:
                setattr(kind, name, step(function))
for part, name in ((llvm, "create_context"), (llvm, "parse_assembly")):
    setattr(part, name, step(getattr(part, name)))
sys.unraisablehook = lambda _: None  # of objects that were not complete
number, ended = 0, False
while not ended:
    number += 1
    left[0] = number
    try:
        ended = value() == 14 and left[0] > 0
    except KeyboardInterrupt:
        pass
    left[0] = 0
    assert value() == 14
print(number)
"""


def test_an_error_at_each_step_inside_llvmlite_leaves_llvm_in_order() -> None:
    assert int(run(ERRORS)) > 50


WAITING = f"""
import atexit, os, signal, sys, threading, time
done = []
atexit.register(lambda: print("end", done))  # after those of linkwork
{CODE}
def work():
    while not left.wait(0.05):  # again: a signal just before somebody waits does not wake him
        os.kill(os.getpid(), signal.SIGALRM)
    time.sleep(0.3)
    done.append("work")
def once(*_):
    if not heard:
        heard.append(True)
        raise KeyboardInterrupt
signal.signal(signal.SIGALRM, once)
for way in ("fork", "end"):
    done.clear()
    left, heard = threading.Event(), []
    try:
        with jit.lock:
            undisturbed.run(work)
    except KeyboardInterrupt:
        print("interrupted", done, flush=True)
    left.set()
    if way == "fork":
        child = os.fork()
        assert done == ["work"]
        if child == 0:
            os._exit(undisturbed.run(lambda: 7))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert undisturbed.run(lambda: 8) == 8
"""


def test_who_is_interrupted_stops_waiting_and_forks_and_the_end_wait_instead() -> None:
    """Nothing of LLVM may be under way in a process that ends, nor be missing in a child."""
    assert run(WAITING) == "interrupted []\ninterrupted []\nend ['work']\n"


IMPORTING = """
import _imp
import linkwork as lw
_imp.acquire_lock()  # as after an interrupt in the middle of an import
print(lw.mass_matrix(lw.mechanisms.serial_chain(2), [0.1, 0.2]).shape)
_imp.release_lock()
"""


def test_an_import_lock_that_an_interrupt_left_behind_does_not_stop_llvm() -> None:
    assert run(IMPORTING, LINKWORK_CACHE_DIR="") == "(2, 2)\n"


def test_errors_and_missing_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ZeroDivisionError):
        undisturbed.run(lambda: 1 // 0)

    def none(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(undisturbed._thread, "start_new_thread", none)
    assert undisturbed.run(divmod, 7, 4) == (1, 3)


def test_code_that_nobody_has_is_unloaded_with_the_next_link() -> None:
    image = jit.compile_object("define i64 @batch(ptr %p) nounwind { ret i64 14 }", jit.host())
    before = len(jit._loaded)
    for _ in range(5):
        assert jit.Code(*jit._linked(image, {}, ["batch"])).function("batch")(0) == 14
        gc.collect()
        assert len(jit._loaded) <= before + 1


def test_an_interrupt_in_a_loop_of_numpy_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy would go on with the next matrix of a stack, and lose the interrupt or call it a SystemError."""
    monkeypatch.setitem(interrupts.EVENTS, "tracer", (os.path.join("trace", "tracer.py"), 600))
    matrices, stack = np.ones((3, 2, 2)), np.ones((3, 2, 2))
    for number in range(1, 60, 6):
        with pytest.raises(KeyboardInterrupt), interrupts.Interrupt("tracer", number):
            lw.compile(lambda x: matrices @ x, x=(3, 2, 2))(stack)
