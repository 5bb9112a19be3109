"""Programs inside a program, and other code: each becomes functions of its own, which are called.

Arguments and results of a call lie in the caller's memory; a state that is repeated or folded is advanced there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

from linkwork.engine.ir.program import Fold, Keep, Map, Operand, Repeat, Rows, Subroutine
from linkwork.engine.targets.function import Writer
from linkwork.engine.targets.statements import INNER, Body


def called(w: Writer, body: Body, n: int, operands: Sequence[Operand], what: Any) -> None:
    """A call of code with loops."""
    writer, loops = w.source.loops(what)
    count = sum(loops.results)
    edges = [*accumulate(loops.arguments, initial=0)]
    fixed = [w.given_at(body, operands[first:last]) for first, last in pairwise(edges)]
    made = w.regions[n] = w.region(count)
    if loops.zeroed:
        w.copy(body, count, f"memory[{made} + k]", "0.0")
    inner = w.inside(loops.work + loops.square + writer.memory)
    arrays = {f"argument{k}": place for k, place in enumerate(fixed)}
    arrays |= {f"result{k}": f"memory + {place}" for k, place in enumerate(_starts(made, loops.results))}
    arrays |= {"work": inner, "square": f"{inner} + {loops.work}"}
    arrays |= {"memory": f"{inner} + {loops.work + loops.square}"}
    writer.call(body, arrays)


def repeat(w: Writer, body: Body, n: int, operands: Sequence[Operand], what: Repeat) -> None:
    writer = Writer(w.source, what.program, f"{w.name}_repeat{n}")
    fixed = w.given_at(body, operands[what.state :])
    state = w.regions[n] = w.region(what.state)
    following, flag = w.region(what.state), w.region(1)
    w.put(body, state, operands[: what.state])
    kind = w.language.integer
    body.line("{")
    body.depth += 1
    body.line(f"{kind} turn;")
    body.line(f"for (turn = 0; turn < {what.most}; ++turn) {{")
    body.depth += 1
    places = {"argument0": state, "result0": following, "result1": flag}
    _run(w, body, writer, places, {"argument1": fixed})
    w.copy(body, what.state, f"memory[{state} + k]", f"memory[{following} + k]")
    body.line(f"if (!({w.number(body, flag)} > 0.5)) {{")
    body.line("    break;")
    body.line("}")
    body.depth -= 1
    body.line("}")
    if what.may_stop:
        body.line("(void)turn;")
    else:
        body.line(f"if (turn == {what.most}) {{")
        body.depth += 1
        _unsolved(w, body, what, state)
        body.depth -= 1
        body.line("}")
    body.depth -= 1
    body.line("}")


def _unsolved(w: Writer, body: Body, what: Repeat, state: int) -> None:
    """A problem was not solved: its results are NaN."""
    w.source.need("lw_number")
    w.source.need("lw_finite")
    problem, flag = w.source.problem(what.name), w.number(body, 0, "shared")
    body.line(f"{w.language.real} solvable = {problem}.0;")
    body.line(f"for ({w.language.integer} k = 0; k < {what.state}; ++k) {{")
    body.line(f"    solvable = lw_finite(memory[{state} + k]) ? solvable : 0.0;")
    body.line(f"    memory[{state} + k] = {w.language.nan};")
    body.line("}")
    body.line(f"{flag} = (solvable > 0.0) ? solvable : {flag};")


def subroutine(w: Writer, body: Body, n: int, operands: Sequence[Operand], what: Subroutine) -> None:
    writer = w.source.subroutine(what)
    fixed = w.given_at(body, operands)
    made = w.regions[n] = w.region(what.state)
    _run(w, body, writer, {"result0": made}, {"argument0": fixed})


def _run(w: Writer, body: Body, writer: Writer, places: Mapping[str, int], others: Mapping[str, str]) -> None:
    """Call the function of a program inside this one, with arrays in memory and others."""
    arrays = {array: f"memory + {place}" for array, place in places.items()}
    arrays |= {"memory": f"memory + {INNER}", "shared": "shared", **others}
    w.inner = max(w.inner, writer.memory)
    writer.call(body, arrays)


def keep(w: Writer, body: Body, _: int, operands: Sequence[Operand], what: Keep) -> None:
    flag, *values = [w.value(body, x) for x in operands]
    start, count = _rows(w, body, what.rows)
    if what.first:
        body.line(f"{count} = 0.0;")
    body.line(f"if ({flag} > 0.5) {{")
    body.depth += 1
    kind = w.language.integer
    body.line(f"const {kind} first = {start} + {what.rows.width} * ({kind}){count};")
    for k, value in enumerate(values):
        body.line(f"shared[first + {k}] = {value};")
    body.line(f"{count} = {count} + 1.0;")
    body.depth -= 1
    body.line("}")


def _rows(w: Writer, body: Body, rows: Rows) -> tuple[int, str]:
    """Where rows begin, and the number of them."""
    place = w.source.rows[rows]
    return place + 1, w.number(body, place, "shared")


def _over_rows(w: Writer, body: Body, rows: Rows) -> str:
    """The beginning of a loop over rows; where its row is."""
    start, count = _rows(w, body, rows)
    kind = w.language.integer
    body.line(f"for ({kind} row = 0; row < ({kind}){count}; ++row) {{")
    return f"shared + {start} + {rows.width} * row"


def map_rows(w: Writer, body: Body, n: int, operands: Sequence[Operand], what: Map) -> None:
    writer = Writer(w.source, what.program, f"{w.name}_map{n}")
    fixed, made = w.given_at(body, operands), w.region(1 + what.target.width)
    start, count = _rows(w, body, what.target)
    if what.first:
        body.line(f"{count} = 0.0;")
    row = _over_rows(w, body, what.source)
    body.depth += 1
    _run(w, body, writer, {"result0": made}, {"argument0": row, "argument1": fixed})
    body.line(f"if ({w.number(body, made)} > 0.5) {{")
    body.depth += 1
    kind = w.language.integer
    body.line(f"const {kind} first = {start} + {what.target.width} * ({kind}){count};")
    w.copy(body, what.target.width, "shared[first + k]", f"memory[{made + 1} + k]")
    body.line(f"{count} = {count} + 1.0;")
    for _ in range(2):
        body.depth -= 1
        body.line("}")


def fold(w: Writer, body: Body, n: int, operands: Sequence[Operand], what: Fold) -> None:
    """The program writes each next state over the last."""
    state = {"argument0": "state", "result0": "state"}
    writer = Writer(w.source, what.program, f"{w.name}_fold{n}", state, may_cut=False)
    fixed = w.given_at(body, operands[what.state :])
    place = w.regions[n] = w.region(what.state)
    w.put(body, place, operands[: what.state])
    row = _over_rows(w, body, what.rows)
    body.depth += 1
    _run(w, body, writer, {"state": place}, {"argument1": fixed, "argument2": row})
    body.depth -= 1
    body.line("}")


def _starts(first: int, sizes: Sequence[int]) -> list[int]:
    """Where arrays of these sizes begin, one after the other."""
    return [first + edge for edge in [*accumulate(sizes, initial=0)][: len(sizes)]]


INSIDE: dict[str, Callable[..., None]] = {
    "call": called,
    "repeat": repeat,
    "subroutine": subroutine,
    "map": map_rows,
    "fold": fold,
    "keep": keep,
}
"""What is written for an instruction that runs a program, or keeps a row."""
