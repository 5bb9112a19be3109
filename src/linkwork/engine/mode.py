"""Which form of code runs: the one that the planner chooses, unless the caller requests another, or the interpreter."""

from __future__ import annotations

import ctypes
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

from linkwork.arguments import variable
from linkwork.engine.code import jit
from linkwork.engine.run.entries import Setting, setting
from linkwork.errors import ArgumentError, LinkworkWarning, shown
from linkwork.model.memo import requested

FORMS = {"auto": "auto", "interpreted": "interpreted", "straight": "specialised", "looped": "rolled"}
"""The names of the forms, with those that the engine has for them."""
_form: ContextVar[str] = ContextVar("linkwork_form", default="auto")
_lock = threading.Lock()
forced = ctypes.c_int64(0)
"""How many ``form`` blocks are open anywhere: while it is 0, nobody needs to check the context. The builtins read it,
too.
"""


@contextmanager
def interpreted() -> Iterator[None]:
    """Run the calls inside without compiled code: to step through an algorithm, or to check the engine.

    It holds for this thread (or asynchronous task) only. Inside ``lw.form``, what has been requested there is run by
    the interpreter.

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(2)
        >>> with lw.interpreted():
        ...     slow = lw.mass_matrix(arm, [0.1, 0.2])
        >>> bool((slow == lw.mass_matrix(arm, [0.1, 0.2])).all())
        True
    """
    with form("interpreted"):
        yield


@contextmanager
def form(name: str) -> Iterator[None]:
    """Run the calls inside in one form, whatever the size of the mechanism: for tests and measurements.

    It holds for this thread (or asynchronous task) only. Results are the same up to rounding. An algorithm that does
    not have the form runs in the nearest that it has. Functions of ``lw.compile`` and controllers keep the form in
    which they were first called.

    Args:
        name: "straight" (code for one mechanism, every body in turn), "looped" (code with loops over bodies, over the
            levels of an assembly or the segments of a long chain; the mechanism comes as tables), "interpreted" (no
            machine code), or "auto" (as outside: the planner chooses by its table of costs).

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(2)
        >>> with lw.form("looped"):
        ...     looped = lw.mass_matrix(arm, [0.1, 0.2])
        >>> bool((looped == lw.mass_matrix(arm, [0.1, 0.2])).all())
        True
    """
    chosen = engine_form(name)
    token, wanted = _form.set(chosen), requested.get() if chosen == "interpreted" else chosen.replace("auto", "")
    outer = requested.set(wanted)
    with _lock:
        forced.value += 1
    try:
        yield
    finally:
        with _lock:
            forced.value -= 1
        requested.reset(outer)
        _form.reset(token)


def engine_form(name: str) -> str:
    """The engine's name of a form, or an error."""
    if name not in FORMS and name not in FORMS.values():
        raise ArgumentError(f"form must be one of {', '.join(FORMS)}, not {shown(name)}")
    return FORMS.get(name, name)


@cache
def setting_of_calls() -> Setting:
    """What builtins are made with that serve calls while no form is requested."""
    return setting(ctypes.addressof(forced))


def current_form() -> str:
    return _form.get() if forced.value else _default()


@cache
def _default() -> str:
    """Machine code if possible, otherwise the interpreter, with one warning."""
    if variable("LINKWORK_ENGINE", "interpreter") is not None:
        return "interpreted"
    reason = jit.obstacle()
    if reason is None:
        return "auto"
    warnings.warn(f"linkwork runs without compiled code, slowly: {reason}", LinkworkWarning, stacklevel=2)
    return "interpreted"
