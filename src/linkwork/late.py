"""Lazy imports: most scripts use a small part of the library, and start faster if the rest is not imported.

Threads may use names for the first time at the same time. Their late imports are serialised: if one thread imports a
package, and that its modules, while another imports such a module, and that its package, Python would give one of them
a partially initialised module. A thread inside an import statement does not wait: others may be waiting for that
module.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module
from types import FrameType
from typing import Any

_OURS = ("linkwork.", "linkwork_lab.")
_lock = threading.RLock()
"""Held during a late import, and while a process forks: otherwise the child would wait for the unfinished import."""
_PATIENCE = 5.0
"""Seconds that a fork waits for imports of other threads."""


def imported(name: str) -> Any:
    """A module, imported on first use."""
    if name in sys.modules and not _is_half_imported(name):
        return sys.modules[name]
    if _imports():
        return import_module(name)
    with _lock:
        return import_module(name)


def _is_half_imported(name: str) -> bool:
    """Whether a thread is importing a module."""
    return getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False)


def _imports() -> bool:
    """Whether this thread is importing a module of ours. It must then not wait for a thread that may wait for that
    module; if the import is late, it has waited already.
    """
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "<module>" and str(frame.f_globals.get("__name__")).startswith(_OURS):
            return True
        frame = frame.f_back
    return False


def _before_fork() -> None:
    _lock.acquire()
    end = time.monotonic() + _PATIENCE
    while any(_is_half_imported(name) for name in list(sys.modules) if name.startswith(_OURS)):
        if time.monotonic() > end:  # the unfinished import is this thread's own
            return
        time.sleep(0.001)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_lock.release, after_in_child=_lock.release)


def late(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """The functions ``__getattr__`` and ``__dir__`` of a package, and its ``__all__``: the names that the stub beside
    its file imports, where type checkers and editors find them, too.
    """
    with open(f"{file.rpartition('.')[0]}.pyi", encoding="utf-8") as stub:
        lines = re.findall(r"^from (\S+) import (\([^)]*\)|.*)$", stub.read(), re.MULTILINE)
    modules = {name: module for module, names in lines for name in re.findall(r"(\w+) as ", names)}
    everything = sorted(modules)

    def found(name: str) -> Any:
        if name not in modules:
            from importlib.util import find_spec

            if name.startswith("_") or find_spec(f"{package}.{name}") is None:
                raise AttributeError(f"module {package!r} has no attribute {name!r}")
            return imported(f"{package}.{name}")  # a module of the package, such as linkwork.errors
        module = imported(modules[name])
        value = vars(module).get(name) or imported(f"{module.__name__}.{name}")
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return [*everything, *(name for name in vars(sys.modules[package]) if name.startswith("__"))]

    return found, names, everything


class LateFunction:
    """A function whose module is imported when it is first called.

    Args:
        where: the module's name, and after a colon the function's if it differs.
    """

    __slots__ = ("__name__", "module")

    def __init__(self, where: str) -> None:
        self.module, _, name = where.partition(":")
        self.__name__ = sys.intern(name or self.module.rpartition(".")[2])  # as functions' own names are

    def __call__(self, *given: Any, **named: Any) -> Any:
        return getattr(imported(self.module), self.__name__)(*given, **named)
