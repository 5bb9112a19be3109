"""Which engine runs: machine code, unless the caller requests the interpreter."""

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
from linkwork.errors import LinkworkWarning

_form: ContextVar[str] = ContextVar("linkwork_form", default="auto")
_lock = threading.Lock()
forced = ctypes.c_int64(0)
"""How many ``form`` blocks are open anywhere: while it is 0, nobody needs to check the context. The builtins read it,
too.
"""


@contextmanager
def interpreted() -> Iterator[None]:
    """Run the calls inside without compiled code: to step through an algorithm, or to check the engine.

    It holds for this thread (or asynchronous task) only.

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
    """Force one form of running, for tests and measurements: "interpreted", "specialised", "rolled" or "auto"."""
    token = _form.set(name)
    with _lock:
        forced.value += 1
    try:
        yield
    finally:
        with _lock:
            forced.value -= 1
        _form.reset(token)


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
