"""Which engine runs: machine code, unless the caller asks for the interpreter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_form: ContextVar[str] = ContextVar("linkwork_form", default="auto")


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
    try:
        yield
    finally:
        _form.reset(token)


def current_form() -> str:
    return _form.get()
