"""A batch over threads, which take pieces of it without running any Python in between (``emit/pieces.py``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import accumulate

import numpy as np

from linkwork.engine.code import jit, loader
from linkwork.engine.emit.call_frame import CallFrame, Words
from linkwork.engine.emit.pieces import MOVING, PIECES, SHARE, SPACE, text
from linkwork.engine.run import threads
from linkwork.engine.run.helper_threads import crew, hire, yield_function
from linkwork.engine.run.memory import address
from linkwork.engine.run.threads import Pace


def pieces_of(
    code: jit.Code,
    frame: CallFrame,
    lanes: int,
    arguments: Mapping[str, str],
    results: Mapping[str, int],
    workspace: Mapping[str, int],
    zeroed: bool,
    pace: Pace,
) -> Words:
    """The words of a ``PIECES``, without those of a call.

    Args:
        code: that of a batch.
        frame: what it is called with.
        lanes: states of a tile.
        arguments: names of arrays, and of the words for the distance of their states.
        results: names of arrays, and how many numbers each has for one state.
        workspace: what a thread works in: how many numbers each part has.
        zeroed: whether that must be zeros.
        pace: of its states.
    """
    head = len(SHARE.words) + len(frame.words)
    firsts = list(accumulate([head, *workspace.values()], lambda first, size: -(-(first + size) // 8) * 8, initial=0))
    strides = frame.indices(arguments.values())
    moving = [(at, stride, 0) for at, stride in zip(frame.indices(arguments), strides, strict=True)]
    moving += [(at, -1, size) for at, size in zip(frame.indices(results), results.values(), strict=True)]
    words = {
        "batch": code.addresses["batch"],
        "words": 0,
        "length": len(frame.words),
        "states_at": frame.indices(["states"])[0],
        "whole_at": frame.indices(["whole"])[0],
        "lanes": lanes,
        "limits": address(pace.limits),
        "threads": address(threads.wanted),
        "crew": address(crew),
        "yield": yield_function(),
        "room": firsts[-1],
        "zeroed": int(zeroed),
        "arrays": len(moving),
        "spaces": len(workspace),
        "served": 0,
    }
    arrays = [MOVING.pack({"at": at, "stride_at": stride, "size": size}) for at, stride, size in moving]
    spaces = [SPACE.pack({"at": at, "first": k}) for at, k in zip(frame.indices(workspace), firsts[1:-1], strict=True)]
    return np.concatenate([PIECES.pack(words), *arrays, *spaces])


def led(pieces: Words, words: Words, helpers: int) -> tuple[Callable[[int], int], Words]:
    """The function that runs a batch over threads, for such words of its code; and its own words. There are so many
    helpers then, if the system has as many threads.
    """
    (room,) = PIECES.indices(["room"])
    hire(helpers, int(pieces[room]))
    return _code().function("lead"), PIECES.put(pieces.copy(), {"words": address(words)})


def served(pieces: Words) -> tuple[int, Words, jit.Code]:
    """The address of that function, its words except those of its code, and what keeps it alive."""
    return _code().addresses["lead"], PIECES.put(pieces.copy(), {"served": 1}), _code()


@cache
def _code() -> jit.Code:
    names = ("lead", "help")
    return loader.load(loader.key_of(jit.host(), "pieces", names), lambda: text(jit.triple()), jit.host(), names)
