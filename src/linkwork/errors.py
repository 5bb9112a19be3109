"""Every exception that linkwork raises on purpose, as one tree.

    LinkworkError
    ├── ArgumentError (ValueError)       an argument of a call: shape, dtype, not finite, unknown option
    │   └── UnknownNameError (KeyError)  a joint, body, frame or mechanism that the model does not have
    ├── ModelError (ValueError)          an invalid mechanism
    │   └── FormatError                  a model file, with file, line, column and element
    ├── FileError (OSError)               a file that cannot be written, with the system's reason
    │   └── ProtectedFileError (PermissionError)
    ├── SingularError (ArithmeticError)  a state or a model for which the result does not exist
    │   └── SimulationError              a simulation that cannot continue, with time, joint and the motion so far
    ├── TracingError (TypeError)         a function that cannot be compiled, with file and line
    └── MissingExtraError (ImportError)  an optional package that a call needs

Warnings: LinkworkWarning (UserWarning).
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType

_LONGEST, _LONGEST_PATH = 300, 4096
"""The most characters of a value, and of a path, in a message."""


class LinkworkError(Exception):
    """The base class of all errors of linkwork."""


class ArgumentError(LinkworkError, ValueError):
    """An argument has the wrong shape, type or value; the message names it."""


class UnknownNameError(ArgumentError, KeyError):
    """A name that the model does not have; the message suggests similar ones."""

    def __init__(self, kind: str, name: object, known: Iterable[str], owner: str, hint: str = "") -> None:
        super().__init__(f"{owner} has no {kind} named {shown(name)}{hint or suggestion(name, known)}")

    def __str__(self) -> str:  # KeyError would print the repr
        return str(self.args[0])

    def __reduce__(self) -> tuple[object, ...]:
        return (_restore, (type(self), self.args))


class ModelError(LinkworkError, ValueError):
    """An invalid mechanism: a loop, a duplicate name, an impossible inertia."""


class FormatError(ModelError):
    """A model file that cannot be read.

    Attributes: ``path``, ``line`` and ``column`` (from 1, or None if the position is not known) and ``element``.
    """

    def __init__(
        self, message: str, path: str, line: int | None = None, column: int | None = None, element: str | None = None
    ) -> None:
        self.message, self.path, self.line, self.column, self.element = message, path, line, column, element
        file = path if len(path) <= _LONGEST_PATH else f"{path[:_LONGEST]}..."
        place = ":".join(str(part) for part in (file, line, column) if part is not None)
        super().__init__(f"{place}: {'<' + element + '>: ' if element else ''}{message}")

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.message, self.path, self.line, self.column, self.element))


class FileError(LinkworkError, OSError):
    """A file that cannot be written: a missing permission, a folder in its place, a full disk.

    Attributes: ``filename``, and the system's ``errno`` and ``strerror``.
    """


class ProtectedFileError(FileError, PermissionError):
    """A file without write permission."""


class SingularError(LinkworkError, ArithmeticError):
    """The result does not exist for this state or model, for instance a joint that moves no inertia."""


class SimulationError(SingularError):
    """A simulation that cannot continue: it has diverged, or a torque is not a number.

    Attributes: ``time`` (s), ``joint`` (its name, or None) and ``trajectory``, the ``lw.Trajectory`` up to there.
    """

    def __init__(self, message: str, time: float, joint: str | None, trajectory: object) -> None:
        self.message, self.time, self.joint, self.trajectory = message, time, joint, trajectory
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.message, self.time, self.joint, self.trajectory))


class TracingError(LinkworkError, TypeError):
    """A function that ``lw.compile`` cannot trace; the message names the line of the user's file, and what to do.

    Attribute: ``place``, "file, line n: text", or "" if it is not known.
    """

    def __init__(self, message: str, place: str | None = None) -> None:
        self.message, self.place = message, whereabouts() if place is None else place
        super().__init__(f"{self.place}: {message}" if self.place else message)

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.message, self.place))


class MissingExtraError(LinkworkError, ImportError):
    """An optional package is needed; the message says how to install it."""


class LinkworkWarning(UserWarning):
    """Something was read or computed in a way that the user should know about."""


def whereabouts(trace: TracebackType | None = None) -> str:
    """The user's line of code that is running, or that an error's traceback leads to: the innermost one that is
    neither linkwork's nor NumPy's, nor another library's if the traced function has any line of its own there.
    """
    from linecache import getline  # imported late, as only errors need it
    from traceback import walk_stack, walk_tb

    walk = walk_stack(sys._getframe(1)) if trace is None else reversed(list(walk_tb(trace)))
    frames = [(frame.f_code.co_filename, line) for frame, line in walk]
    here = str(Path(__file__).parent)
    tracing = [k for k, (file, _) in enumerate(frames) if file == os.path.join(here, "compiled", "tracing.py")]
    libraries = here, f"{os.sep}numpy{os.sep}", f"{os.sep}functools.py", "<__array_function__"
    lines = _outside(libraries, frames[: tracing[0]] if tracing else frames)
    installed = os.path.dirname(os.__file__), f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}"
    own = _outside(installed, lines) if tracing else []
    for file, line in own[:1] or lines[:1]:
        source = getline(file, line).strip()
        return f"{file}, line {line}" + (f": {source}" if source else "")
    return ""


def _outside(places: Sequence[str], lines: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Lines of files whose paths have none of these parts."""
    return [(file, line) for file, line in lines if not any(place in file for place in places)]


def excuse(error: BaseException) -> None:
    """Return if an argument's own code may have raised an error, for the caller to report in its own words. An error
    that has nothing to do with arguments, such as that of a signal handler which ran meanwhile, is raised again.
    """
    if not isinstance(error, Exception) or _is_of_a_signal(error):
        raise error


def _is_of_a_signal(error: Exception) -> bool:
    import signal  # imported late, as only errors need it
    from functools import partial
    from traceback import walk_tb

    codes = set()
    for handler in map(signal.getsignal, signal.valid_signals()):
        function: object = handler
        while isinstance(function, partial):
            function = function.func
        if not hasattr(function, "__code__") and callable(function):  # methods have it, of their function
            function = type(function).__call__
        codes.add(getattr(function, "__code__", None))
    return any(frame.f_code in codes for frame, _ in walk_tb(error.__traceback__))


def shown(value: object) -> str:
    """A value in a message: its repr, truncated, or its type if it has no repr."""
    try:
        text = repr(value)
    except Exception as error:  # an integer with more digits than Python prints, or an object's own repr
        excuse(error)
        return f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 4]} ..."


def warn_caller(message: str) -> None:
    """Warn at the user's line that called linkwork, from any depth."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "linkwork":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, LinkworkWarning, stacklevel=level)


def suggestion(name: object, known: Iterable[str]) -> str:
    """The end of a message: similar names, or all known ones."""
    names = list(known)
    near = near_names(name, names)
    if near:
        return near
    if not names:
        return ""
    shown = ", ".join(repr(n) for n in names[:8]) + (", ..." if len(names) > 8 else "")
    return f"; it has {shown}"


def near_names(name: object, names: Sequence[str]) -> str:
    """The end of a message: similar names, or nothing."""
    near: list[str] = []
    if isinstance(name, str) and len(name) <= _LONGEST:  # longer ones are similar to none, and take memory to compare
        from difflib import get_close_matches

        near = get_close_matches(name, names, n=3, cutoff=0.6)
        if not near and len(name) > 2:  # a part of the name, as in "hand" for "panda_hand"
            near = [known for known in names if name.lower() in known.lower()][:3]
    return f"; did you mean {' or '.join(repr(n) for n in near)}?" if near else ""


def _restore(cls: type[LinkworkError], args: tuple[object, ...]) -> LinkworkError:
    error = cls.__new__(cls)
    error.args = args
    return error
