"""``batch`` of staged code (``plans.staged``), in LLVM IR: parts of other code, one by one, and copies of numbers from
array to array before each of them. One function serves all plans; the words that it is called with describe its work:

    STAGES     how many states, arrays and parts there are; then come a ``PLACED`` for each array, and for each part
    STEP       its code, then its moves and links
    MOVE       some numbers of each state from one array to another, which may be the caller's
    LINK       where the code of a part is given the address of an array

Many states go through all parts a few at a time, so that the arrays between the parts stay in the caches.
"""

from __future__ import annotations

from linkwork.engine.emit.call_frame import CallFrame
from linkwork.engine.emit.packing import TOO_LARGE
from linkwork.engine.emit.writer import Writer

STAGES = CallFrame((("i64", "states"), ("i64", "together"), ("i64", "arrays"), ("i64", "parts")))
"""``together``: states that go through all parts at a time, at most."""
PLACED = CallFrame((("ptr", "numbers"), ("i64", "stride"), ("i64", "whole")))
"""The address of an array, the stride between its states, and 1 if it has all states, 0 if those of one chunk."""
STEP = CallFrame((("ptr", "code"), ("ptr", "words"), ("ptr", "states"), ("i64", "moves"), ("i64", "links")))
"""``states``: where the code is given their number, or 0. There may be no code, only moves."""
MOVE = CallFrame(tuple(("i64", name) for name in ("source", "first", "target", "begin", "count")))
"""From the number ``first`` of a state on in array ``source`` to the number ``begin`` on in array ``target``."""
LINK = CallFrame((("i64", "array"), ("ptr", "numbers"), ("ptr", "stride")))
"""Where the code is given the address of an array, and the stride between its states, or 0."""


def text() -> str:
    """The module."""
    w = Writer()
    states, together, arrays, parts = (STAGES.get(w, "%words", name) for _, name in STAGES.words)
    placed = w.at("%words", len(STAGES.words), "i64")
    steps = w.at(placed, w.mul(arrays, len(PLACED.words)), "i64")
    rounds = w.let(f"sdiv i64 {w.sub(w.add(states, together), 1)}, {together}")
    with w.loop(0, rounds) as each:
        first = w.mul(each.counter, together)
        left = w.sub(states, first)
        few = w.either(w.compare("slt", left, together), "i64", left, together)
        with w.loop(0, parts, 1, [("ptr", steps)]) as part:
            part.carry(_part(w, part.carried[0], placed, first, few))
    w.do("ret i64 0")
    return w.function("i64 @batch(ptr nocapture %words)")


def _part(w: Writer, step: str, placed: str, first: str, few: str) -> str:
    """Run one part for a few states from the first on, and return if it finds a non-finite number; where the next part
    is.
    """
    code, words, states, moves, links = (STEP.get(w, step, name) for _, name in STEP.words)

    def array(number: str) -> tuple[str, str]:
        """The address of the few states of an array, and the stride between them."""
        own = w.at(placed, w.mul(number, len(PLACED.words)), "i64")
        numbers, stride, whole = (PLACED.get(w, own, name) for _, name in PLACED.words)
        return w.at(numbers, w.mul(w.mul(first, whole), stride)), stride

    move = w.at(step, len(STEP.words), "i64")
    with w.loop(0, moves) as each:
        own = w.at(move, w.mul(each.counter, len(MOVE.words)), "i64")
        source, from_number, target, to_number, count = (MOVE.get(w, own, name) for _, name in MOVE.words)
        (read, apart), (written, distance) = array(source), array(target)
        with w.loop(0, few) as state:
            taken = w.at(w.at(read, w.mul(state.counter, apart)), from_number)
            given = w.at(w.at(written, w.mul(state.counter, distance)), to_number)
            with w.loop(0, count) as k:
                w.store(w.load(w.at(taken, k.counter)), w.at(given, k.counter))
    link = w.at(move, w.mul(moves, len(MOVE.words)), "i64")
    with w.loop(0, links) as each:
        own = w.at(link, w.mul(each.counter, len(LINK.words)), "i64")
        number, told, told_stride = (LINK.get(w, own, name) for _, name in LINK.words)
        place, stride = array(number)
        w.store(place, told, "ptr")
        with w.when(w.compare("ne", told_stride, "null", "ptr")):
            w.store(stride, told_stride, "i64")
    with w.when(w.compare("ne", states, "null", "ptr")):
        w.store(few, states, "i64")
    with w.when(w.compare("ne", code, "null", "ptr")):
        failed, fine = w.block("failed"), w.block("fine")
        status = w.let(f"and i64 {w.let(f'call i64 {code}(ptr {words})')}, {~TOO_LARGE}")
        w.branch(w.compare("ne", status, 0), failed, fine)
        w.begin(failed)
        w.do(f"ret i64 {status}")
        w.begin(fine)
    return w.at(link, w.mul(links, len(LINK.words)), "i64")
