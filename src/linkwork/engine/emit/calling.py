"""Calls of code with loops by other code, for the tile that it is working on.

    tile    the function of called code: its kernel, for arrays with an element k of ``lanes`` numbers at k * lanes

The caller's ``data`` is memory for what all called code works in, and for arguments and results of each call
(``Room``); its ``ints`` has three addresses for each: of its code, of its data and of its ints.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from linkwork.engine.emit.call_frame import Interface, listed, parameters
from linkwork.engine.emit.writer import Writer, constant, vector


def exported(interface: Interface, teams: bool = False) -> str:
    """The function ``tile``; a kernel for ``teams`` of threads gets none."""
    w, arrays = Writer(), [f"%{name}" for name in (*interface.argument_names, *interface.result_names)]
    w.do(f"call void @kernel({interface.kernel_call(arrays)}{', ptr null' if teams else ''})")
    w.do("ret void")
    return w.function(f"void @tile({parameters(interface.kernel)})")


def call(w: Writer, result: str, what: object, values: Sequence[str], interface: Interface, lanes: int) -> None:
    """Call code for values; ``result`` points to all its results, one after the other."""
    room, kind, align = interface.room, vector(lanes), 8 * lanes
    assert room is not None
    index = next(k for k, each in enumerate(interface.called) if each.callee == what)
    called = interface.called[index]
    count = sum(called.results)
    given, made = room.take(len(values)), room.take(count)
    for k, value in enumerate(values):
        w.store(value, w.at("%data", (given + k) * lanes), kind, align)
    w.let(f"getelementptr double, ptr %data, i64 {made * lanes}", result)
    if called.zeroed:
        with w.loop(0, count * lanes, lanes) as each:
            w.store(constant(0.0, lanes), w.at(result, each.counter), kind, align)
    starts = [given + edge for edge in accumulate(called.arguments[:-1], initial=0)] if called.arguments else []
    starts += [made + edge for edge in accumulate(called.results[:-1], initial=0)]
    arrays = [w.at("%data", start * lanes) for start in starts]
    arrays += ["%data", w.at("%data", room.square * lanes)]
    code, *tables = (w.load(w.at("%ints", 3 * index + k, "i64"), "ptr") for k in range(3))
    takes = [*(("ptr", array) for array in (*arrays, *tables)), *(("i64", str(size)) for size in called.sizes(lanes))]
    w.do(f"call void {code}({listed(takes)})")
