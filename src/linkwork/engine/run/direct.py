"""Objects whose calls with plain arrays a builtin serves, so that no Python runs before the code."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import Any

from linkwork.engine.emit import builtin
from linkwork.engine.emit.call_frame import Words
from linkwork.engine.emit.python_calls import slots_are_known
from linkwork.engine.run.entries import Holder, code
from linkwork.engine.run.memory import address


class Direct(ABC):
    """An object that is called: by the builtin ``called`` as soon as any has an entry, which it finds in a slot;
    calls that it does not serve go to ``slowly``. ``serve_directly`` must have been called before.
    """

    __slots__ = ("_direct",)
    _direct: tuple[Any, ...]

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.slowly(*arguments, **named)

    @abstractmethod
    def slowly(self, /, *arguments: Any, **named: Any) -> Any:
        """The result of a call that no code serves."""

    def serve_directly(
        self, holder: Holder | None, setting: Words, names: Sequence[str], structure: Any = None
    ) -> None:
        """Serve calls by an entry from now on, given its holder, or None if there is none yet, the names of the
        arguments, and the structure of the result if it is more than an array or a tuple of several
        (``emit.structures``); ``setting`` is that of builtins, which must live as long as the process.
        """
        known = tuple(map(sys.intern, names))
        self._direct = (holder and holder[0], address(setting), "slowly", known, holder, structure)
        if holder is not None:
            _use_builtin(type(self))


@cache
def _use_builtin(kind: type[Direct]) -> None:
    """Have calls of all objects of a class go to the builtin, if this Python supports it."""
    if builtin.available() and slots_are_known(kind, "_direct"):
        kind.__call__ = builtin.method(kind, "__call__", code().addresses["called"])  # type: ignore[method-assign]
