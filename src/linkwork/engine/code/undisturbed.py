"""Functions that must not be interrupted half-way, on a thread that gets no signals, one at a time.

Python raises KeyboardInterrupt in its main thread, at any call or loop there. In the middle of llvmlite that would
leave a lock held, or dispose of LLVM's objects in the wrong order. So llvmlite is called here alone. A caller that is
interrupted stops waiting at once; the function goes on, and frees what it made. A fork and the end of the interpreter
wait for it: the child finds LLVM idle, and LLVM's own destructors find nobody inside.
"""

from __future__ import annotations

import _thread
import atexit
import os
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_busy = threading.RLock()
"""Held by the thread while it runs, and from the end of the interpreter on."""
_ended = False


def run(function: Callable[Parameters, Result], *given: Parameters.args, **named: Parameters.kwargs) -> Result:
    """The result of a function, or its exception.

    Locks and threads of C alone, since those of the module ``threading`` can be interrupted half-way, too.
    """
    results: list[Result] = []
    errors: list[BaseException] = []
    done = _thread.allocate_lock()
    done.acquire()

    def work() -> None:
        with _busy:
            try:
                results.append(function(*given, **named))
            except BaseException as error:
                errors.append(error)
            done.release()

    if _ended or not _begins(work):
        work()
    done.acquire()
    if errors:
        raise errors.pop()
    return results.pop()


def _begins(work: Callable[[], None]) -> bool:
    """Whether a thread does it: there may be no more threads."""
    try:
        _thread.start_new_thread(work, ())
    except RuntimeError:
        return False
    return True


def _end() -> None:
    """Wait until the thread is done, whatever the user presses, and let none begin."""
    global _ended
    while not _ended:
        try:
            _busy.acquire()
            _ended = True
        except KeyboardInterrupt:
            pass


atexit.register(_end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_busy.acquire, after_in_parent=_busy.release, after_in_child=_busy.release)
