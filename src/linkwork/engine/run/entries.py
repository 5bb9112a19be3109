"""How the builtins see a plan: an entry, and the workspace of its code, one call at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    ASKED,
    ENTRY,
    MOST_ARRAYS,
    MOST_AXES,
    PART,
    SETTING,
    array_makers,
    references_are_known,
)
from linkwork.engine.run.memory import address

Shape = tuple[int, ...]
Serve = Callable[..., Any]
"""A builtin (out, arguments...): the result for plain arrays, one or a tuple; None for all else."""
Setting = tuple[Words, object]
"""What builtins are made with, and what must live as long as they do."""


_WIDE = 4
"""Lanes from which on a tile for one state takes longer than the code for one state, unless both were timed."""


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
        self._tile, self._seconds = 0, dict[str, float | None]()
        new = [None] * len(arguments) + [(shape,) for shape in results]
        self._kept: list[object] = [new, limits]
        arrays = [
            ARRAY.pack(
                {
                    "axes": len(shape),
                    **{f"length{axis}": length for axis, length in enumerate((*shape, 0, 0, 0)[:MOST_AXES])},
                    "size": prod(shape),
                    **dict.fromkeys(("one_at", "batch_at", "stride_at"), 0),
                    "new": id(given) if given else 0,
                }
            )
            for shape, given in zip((*arguments, *results), new, strict=True)
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
        seconds: float | None,
        *kept: object,
    ) -> None:
        """Code for "one" state or a "batch": its words in a call frame, the names of all arrays there, the limits of a
        batch, the states of a tile, or 0 if none may be done apart from it, and what one state or a tile takes, if
        that is known.
        """
        self._kept += [code, words, limits, kept]
        arrays = self.words[len(ENTRY.words) :].reshape(-1, len(ARRAY.words))
        (column,) = ARRAY.indices([f"{form}_at"])
        arrays[:, column] = frame.indices(names)
        if form == "batch":
            (column,) = ARRAY.indices(["stride_at"])
            arrays[: self.arguments, column] = frame.indices([f"{name}_stride" for name in names[: self.arguments]])
            ENTRY.put(self.words, {"states_at": frame.indices(["states"])[0], "limits": address(limits)})
            self._tile = lanes
        ENTRY.put(self.words, {f"{form}_words": address(words)})
        ENTRY.put(self.words, {form: code.addresses["batch"]})  # last: another thread may look
        self.forms.add(form)
        self._seconds[form] = seconds
        if self._tile > 1 and self.forms >= {"one", "batch"}:
            ENTRY.put(self.words, {"tile": self._tile - 1, "alone": self._alone()})

    def _alone(self) -> int:
        """The states after whole tiles for which the code for one state takes no longer than a tile in all."""
        one, tile = self._seconds["one"], self._seconds["batch"]
        if one is None or tile is None:
            return int(self._tile >= _WIDE)
        return min(int(tile / one), self._tile - 1)

    def followed_by(self, other: Entry) -> None:
        """The builtins look at another entry after this one, which keeps it alive: whoever has this may go there."""
        self._kept.append(other)
        ENTRY.put(self.words, {"next": address(other.words)})

    def add_many(self, code: int, words: Words, *kept: object) -> None:
        """Code for batches that want threads: the words of a ``PIECES``, which in a call get those for a "batch"."""
        self._kept += [words, kept]
        ENTRY.put(self.words, {"many_words": address(words)})
        ENTRY.put(self.words, {"many": code})
        self.forms.add("many")


def fit(arguments: Sequence[Shape], results: Sequence[Shape]) -> bool:
    """Whether there can be an entry for arrays of these shapes."""
    shapes = (*arguments, *results)
    return builtin.available() and len(shapes) <= MOST_ARRAYS and max(map(len, shapes)) <= MOST_AXES


def serving(entries: Sequence[Entry], made_with: Setting | None = None) -> Serve:
    """The builtin that serves calls by the entry for their number of arguments."""
    for entry, following in pairwise(entries):
        entry.followed_by(following)
    words, kept = made_with or setting()
    return builtin.make(
        "served", code().addresses["served"], address(words), address(entries[0].words), entries, words, kept, code()
    )


def entries_of(serve: Any) -> list[Entry]:
    """The entries by which a builtin serves; none without a builtin."""
    return [] if serve is None else list(serve.__self__[3])


def by_turns(
    parts: Sequence[tuple[Entry, Sequence[int]]], head: Mapping[str, int], made_with: Setting
) -> tuple[Serve, Words]:
    """The builtin ``asked`` for the parts of a step's code, each with the arrays that it takes, given the other words
    of an ``ASKED`` that are not 0; and its words.
    """
    own = {"parts": len(parts), "again": int(references_are_known())}
    words = [ASKED.pack({**{name: 0 for _, name in ASKED.words}, **own, **head})]
    for entry, inputs in parts:
        taken = {f"input{k}": place for k, place in enumerate((*inputs, *[0] * (MOST_ARRAYS - len(inputs))))}
        words.append(PART.pack({"entry": address(entry.words), "count": len(inputs), **taken}))
    joined = np.concatenate(words)
    kept = joined, parts, made_with, code()
    asked = code().addresses["asked"]
    return builtin.make("asked", asked, address(made_with[0]), address(joined), *kept), joined


_NEVER = np.zeros(1, dtype=np.int64)


@cache
def setting(forced: int = 0) -> Setting:
    """What builtins are made with that serve while the number at an address is 0, if one is given."""
    objects = {"none": None, "array": np.ndarray, "float": float, "dtype": np.dtype(np.float64), "empty": np.empty}
    create, based = array_makers()
    words = {name: id(value) for name, value in objects.items()}
    return SETTING.pack({**words, "forced": forced or address(_NEVER), "create": create, "based": based}), objects


@cache
def code() -> jit.Code:
    """That of all builtins."""
    return loader.load(
        loader.key_of(jit.host(), "builtins", object.__basicsize__), builtin.text, jit.host(), builtin.NAMES
    )
