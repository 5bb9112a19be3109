"""How the builtins see a plan: an entry, and the workspace of its code, one call at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from linkwork.engine.code import jit, loader
from linkwork.engine.emit import builtin
from linkwork.engine.emit.call_frame import CallFrame, Words
from linkwork.engine.emit.python_calls import (
    ARRAY,
    ENTRY,
    MOST_ARRAYS,
    MOST_AXES,
    SETTING,
    array_maker,
)
from linkwork.engine.run.memory import address

Shape = tuple[int, ...]
Serve = Callable[..., Any]
"""A builtin (out, arguments...): the result for plain arrays, one or a tuple; None for all else."""
Setting = tuple[Words, object]
"""What builtins are made with, and what must live as long as they do."""


_SLOWER = 4
"""A tile takes no less time than this part of its states one by one, in any code."""


class Entry:
    """The words of an entry, for arrays of these shapes; its code comes with ``add``.

    Args:
        arguments: shapes of one state's arrays.
        results: the same.
        busy: a word that is 1 while somebody works with the words of its code.
        limits: of a batch's states (``Pace``); others may come with its code.
    """

    def __init__(self, arguments: Sequence[Shape], results: Sequence[Shape], busy: Words, limits: Words) -> None:
        self.arguments, self.results, self.busy = len(arguments), len(results), busy
        self.forms: set[str] = set()
        self._kept: list[object] = [limits]
        arrays = [
            ARRAY.pack(
                {
                    "axes": len(shape),
                    **{f"length{axis}": length for axis, length in enumerate((*shape, 0, 0, 0)[:MOST_AXES])},
                    "size": prod(shape),
                    **dict.fromkeys(("one_at", "batch_at", "stride_at"), 0),
                }
            )
            for shape in (*arguments, *results)
        ]
        head = {
            **{name: 0 for _, name in ENTRY.words},
            "busy": address(busy),
            "arguments": len(arguments),
            "results": len(results),
            "limits": address(limits),
        }
        self.words = np.concatenate([ENTRY.pack(head), *arrays])

    def add(
        self,
        form: str,
        code: jit.Code,
        frame: CallFrame,
        words: Words,
        names: Sequence[str],
        limits: Words,
        lanes: int,
        *kept: object,
    ) -> None:
        """Code for "one" state or a "batch": its words in a call frame, the names of all arrays there, the limits of a
        batch, and the states of a tile.
        """
        self._kept += [code, words, limits, kept]
        arrays = self.words[len(ENTRY.words) :].reshape(-1, len(ARRAY.words))
        (column,) = ARRAY.indices([f"{form}_at"])
        arrays[:, column] = frame.indices(names)
        if form == "batch":
            (column,) = ARRAY.indices(["stride_at"])
            arrays[: self.arguments, column] = frame.indices([f"{name}_stride" for name in names[: self.arguments]])
            ENTRY.put(self.words, {"states_at": frame.indices(["states"])[0], "limits": address(limits)})
            ENTRY.put(self.words, {"tile": lanes - 1})
        ENTRY.put(self.words, {f"{form}_words": address(words)})
        ENTRY.put(self.words, {form: code.addresses["batch"]})  # last: another thread may look
        self.forms.add(form)
        if self.forms >= {"one", "batch"}:
            (tile,) = ENTRY.indices(["tile"])
            ENTRY.put(self.words, {"alone": (int(self.words[tile]) + 1) // _SLOWER})

    def followed_by(self, other: Entry) -> None:
        """The builtins look at another entry after this one, which keeps it alive: whoever has this may go there."""
        self._kept.append(other)
        ENTRY.put(self.words, {"next": address(other.words)})


def fit(arguments: Sequence[Shape], results: Sequence[Shape]) -> bool:
    """Whether there can be an entry for arrays of these shapes."""
    shapes = (*arguments, *results)
    return builtin.available() and len(shapes) <= MOST_ARRAYS and max(map(len, shapes)) <= MOST_AXES


def serving(entries: Sequence[Entry], made_with: Setting | None = None) -> Serve:
    """The builtin that serves calls by the entry for their number of arguments."""
    for entry, following in pairwise(entries):
        entry.followed_by(following)
    words, kept = made_with or setting()
    first = address(entries[0].words)
    return builtin.make(code().addresses[builtin.NAME], address(words), first, entries, words, kept, code())


def entries_of(serve: Any) -> list[Entry]:
    """The entries by which a builtin serves; none without a builtin."""
    return [] if serve is None else list(serve.__self__[3])


_NEVER = np.zeros(1, dtype=np.int64)


@cache
def setting(forced: int = 0) -> Setting:
    """What builtins are made with that serve while the number at an address is 0, if one is given."""
    objects = {"none": None, "array": np.ndarray, "float": float, "dtype": np.dtype(np.float64)}
    words, create = {name: id(value) for name, value in objects.items()}, array_maker()
    assert create is not None
    return SETTING.pack({**words, "create": create, "forced": forced or address(_NEVER)}), objects


@cache
def code() -> jit.Code:
    """That of all builtins."""
    key = loader.key_of(jit.host(), "builtins", object.__basicsize__)
    return loader.load(key, builtin.text, jit.host(), [builtin.NAME])
