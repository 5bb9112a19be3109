"""LLVM IR, line by line: names, blocks, loops, loads and stores.

Values are names (``%x``) or literals. Every method that makes a value returns its name.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import product

Value = str | int

SUMS = 4
"""Sums that become NaN if a number is not finite."""


@cache
def vector(lanes: int) -> str:
    """The type of so many float64 numbers."""
    return "double" if lanes == 1 else f"<{lanes} x double>"


def suffix(lanes: int) -> str:
    """The suffix of that type in the names of LLVM's intrinsics."""
    return "f64" if lanes == 1 else f"v{lanes}f64"


def zero(lanes: int) -> str:
    return "0.0" if lanes == 1 else "zeroinitializer"


def bits(value: float) -> str:
    """A float64 literal."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def constant(value: float, lanes: int) -> str:
    """The same number in every lane."""
    return bits(value) if lanes == 1 else f"splat (double {bits(value)})"


class Iteration:
    """One iteration of a loop that is being written: its counter, and the loop-carried values."""

    def __init__(self, counter: str, carried: Sequence[str]) -> None:
        self.counter, self.carried, self.following = counter, list(carried), list(carried)

    def carry(self, *values: str) -> None:
        """Pass values on to the next iteration."""
        self.following = list(values)


class Writer:
    """The lines of one function's body."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.label = "entry"
        """The block that is being written."""
        self._fresh = 0

    def function(self, head: str) -> str:
        """The text of the function that has these lines as its body, given its return type, name and parameters."""
        return "\n".join([f"define {head} nounwind {{", "entry:", *self.lines, "}", ""])

    # Names and lines

    def name(self) -> str:
        self._fresh += 1
        return f"%t{self._fresh}"

    def let(self, text: str, name: str | None = None) -> str:
        """A new value."""
        name = name or self.name()
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    # Blocks

    def block(self, hint: str = "b") -> str:
        """A label for a later block."""
        self._fresh += 1
        return f"{hint}{self._fresh}"

    def begin(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.label = label

    def jump(self, label: str) -> None:
        self.do(f"br label %{label}")

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.do(f"br i1 {condition}, label %{yes}, label %{no}")

    @contextmanager
    def loop(
        self, first: Value, stop: Value, step: int = 1, carried: Sequence[tuple[str, str]] = ()
    ) -> Iterator[Iteration]:
        """Iterations with a counter from ``first`` on, while it is less than ``stop``; ``carried`` has type and initial
        value of the loop-carried values, which can be used after the loop.
        """
        head, body, done = (self.block(f"{part}") for part in ("head", "body", "done"))
        before = self.label
        self.jump(head)
        self.begin(head)
        start = len(self.lines)
        iteration = Iteration(self.name(), [self.name() for _ in carried])
        self.lines += [""] * (1 + len(carried))  # phis, once their operands are known
        self.branch(self.compare("slt", iteration.counter, stop), body, done)
        self.begin(body)
        yield iteration
        following = self.let(f"add i64 {iteration.counter}, {step}")
        merged = [("i64", str(first), following)]
        merged += [(kind, value, new) for (kind, value), new in zip(carried, iteration.following, strict=True)]
        for k, (name, (kind, value, new)) in enumerate(
            zip([iteration.counter, *iteration.carried], merged, strict=True)
        ):
            self.lines[start + k] = f"  {name} = phi {kind} [ {value}, %{before} ], [ {new}, %{self.label} ]"
        self.jump(head)
        self.begin(done)

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """Lines that run only if a condition holds."""
        then, end = self.block("then"), self.block("end")
        self.branch(condition, then, end)
        self.begin(then)
        yield
        self.jump(end)
        self.begin(end)

    def spin(self, until: Callable[[], str], wait: Callable[[str], None]) -> None:
        """Iterations until a condition holds; each failed one calls ``wait`` with the number of iterations so far."""
        look, again, done = (self.block(part) for part in ("look", "again", "done"))
        before, looks, following = self.label, self.name(), self.name()
        self.jump(look)
        self.begin(look)
        self.let(f"phi i64 [ 0, %{before} ], [ {following}, %{again} ]", looks)
        self.branch(until(), done, again)
        self.begin(again)
        self.let(f"add i64 {looks}, 1", following)
        wait(following)
        self.jump(look)
        self.begin(done)

    def one_of(self, condition: str, kind: str, yes: str, no: str) -> str:
        """The value of one of two lines, of which only that one runs."""
        then, other, end = (self.block(part) for part in ("then", "other", "end"))
        self.branch(condition, then, other)
        found = []
        for label, text in ((then, yes), (other, no)):
            self.begin(label)
            found.append(f"[ {self.let(text)}, %{label} ]")
            self.jump(end)
        self.begin(end)
        return self.let(f"phi {kind} {', '.join(found)}")

    # Integers

    def add(self, a: Value, b: Value) -> str:
        return self._folded("add", a, b, 0)

    def mul(self, a: Value, b: Value) -> str:
        return self._folded("mul", a, b, 1)

    def _folded(self, operation: str, a: Value, b: Value, neutral: int) -> str:
        a, b = str(a), str(b)
        if not (a.startswith("%") or b.startswith("%")):
            return str(int(a) + int(b) if operation == "add" else int(a) * int(b))
        if str(neutral) in (a, b):
            return b if a == str(neutral) else a
        return self.let(f"{operation} i64 {a}, {b}")

    def sub(self, a: Value, b: Value) -> str:
        return self.let(f"sub i64 {a}, {b}")

    def compare(self, how: str, a: Value, b: Value, kind: str = "i64") -> str:
        return self.let(f"icmp {how} {kind} {a}, {b}")

    def either(self, condition: str, kind: str, yes: Value, no: Value) -> str:
        """``yes`` where the condition holds, otherwise ``no``."""
        return self.let(f"select i1 {condition}, {kind} {yes}, {kind} {no}")

    def all_of(self, conditions: Sequence[str]) -> str:
        """Whether all conditions hold."""
        found = "true"
        for condition in conditions:
            found = self.let(f"and i1 {found}, {condition}")
        return found

    # Memory

    def at(self, base: str, index: Value, kind: str = "double") -> str:
        """A pointer to ``base[index]``."""
        return self.let(f"getelementptr inbounds {kind}, ptr {base}, i64 {index}")

    def load(self, pointer: str, kind: str = "double", align: int = 8, name: str | None = None) -> str:
        return self.let(f"load {kind}, ptr {pointer}, align {align}", name)

    def store(self, value: Value, pointer: str, kind: str = "double", align: int = 8) -> None:
        self.do(f"store {kind} {value}, ptr {pointer}, align {align}")

    # Vectors

    def vector(self, values: Sequence[str], name: str | None = None) -> str:
        """Doubles as one vector."""
        kind, last, found = vector(len(values)), len(values) - 1, "poison"
        for lane, value in enumerate(values):
            text = f"insertelement {kind} {found}, double {value}, i32 {lane}"
            found = self.let(text, name if lane == last else None)
        return found

    def columns(self, rows: Sequence[str]) -> list[str]:
        """As many numbers of each of as many rows, from these pointers on, as columns. Halves of two rows are loaded
        into one vector: that uses none of the few shuffle units.
        """
        lanes, half = len(rows), len(rows) // 2
        if half < 2:
            return self.transpose([self.load(row, vector(lanes)) for row in rows])
        kind, joined = vector(half), ", ".join(f"i32 {k}" for k in range(lanes))
        halves = []
        for offset in (0, half):
            parts = [self.load(self.at(row, offset), kind) for row in rows]
            for a, b in zip(parts[:half], parts[half:], strict=True):
                halves.append(self.let(f"shufflevector {kind} {a}, {kind} {b}, <{lanes} x i32> <{joined}>"))
        return self.transpose(halves, half, lanes)

    def transpose(self, rows: Sequence[str], blocks: int | None = None, lanes: int | None = None) -> list[str]:
        """As many vectors as they have lanes, rows to columns; or each of the square ``blocks`` that they consist of,
        of which a row of blocks is enough.
        """
        lanes = lanes or len(rows)
        kind, current, step = vector(lanes), list(rows), 1
        while step < (blocks or lanes):
            following = list(current)
            for i in (i for i in range(len(rows)) if not i & step):
                a, b = current[i], current[i + step]
                low = [k if not k & step else lanes + (k ^ step) for k in range(lanes)]
                high = [(k ^ step) if not k & step else lanes + k for k in range(lanes)]
                for slot, mask in ((i, low), (i + step, high)):
                    shown = ", ".join(f"i32 {m}" for m in mask)
                    following[slot] = self.let(f"shufflevector {kind} {a}, {kind} {b}, <{lanes} x i32> <{shown}>")
            current, step = following, 2 * step
        return current

    # Finite numbers

    def watch(self, total: str, value: str, kind: str) -> str:
        """A sum of zeros that becomes NaN, and stays so, if a value is not finite."""
        difference = self.let(f"fsub {kind} {value}, {value}")
        return self.let(f"fadd {kind} {total}, {difference}")

    def watch_all(self, sums: Sequence[str], values: Sequence[str], lanes: int) -> list[str]:
        """The same for several values, one operation each if the CPU has it, and several sums, to shorten the
        dependency chain.
        """
        found, kind = list(sums), vector(lanes)
        for k, value in enumerate(values):
            n = k % len(found)
            terms = f"{kind} {value}, {kind} {zero(lanes)}, {kind} {found[n]}"
            found[n] = self.let(f"call {kind} @llvm.fmuladd.{suffix(lanes)}({terms})")
        return found

    def total(self, sums: Sequence[str], kind: str) -> str:
        found, *others = sums
        for other in others:
            found = self.let(f"fadd {kind} {found}, {other}")
        return found

    def is_finite(self, total: str, lanes: int) -> str:
        """Whether no lane of such a sum is NaN."""
        if lanes == 1:
            return self.let(f"fcmp ord double {total}, 0.0")
        ordered = self.let(f"fcmp ord {vector(lanes)} {total}, zeroinitializer")
        found = [self.let(f"extractelement <{lanes} x i1> {ordered}, i32 {lane}") for lane in range(lanes)]
        return self.all_of(found)


def sweep(name: str, lanes: int, unsigned_zeros: bool = False) -> str:
    """i1 name(numbers, count): whether all of them are finite; may clear the sign of zeros on the way."""
    w = Writer()

    def look(index: str, total: str, width: int) -> str:
        kind, place = vector(width), w.at("%numbers", index)
        value = w.load(place, kind)
        if unsigned_zeros:
            value = w.let(f"fadd {kind} {value}, {zero(width)}")
            w.store(value, place, kind)
        return w.watch(total, value, kind)

    whole = w.let(f"and i64 %count, {-lanes}")
    with w.loop(0, whole, lanes, [(vector(lanes), zero(lanes))]) as many:
        many.carry(look(many.counter, many.carried[0], lanes))
    with w.loop(whole, "%count", 1, [("double", "0.0")]) as one:
        one.carry(look(one.counter, one.carried[0], 1))
    fine = w.all_of([w.is_finite(many.carried[0], lanes), w.is_finite(one.carried[0], 1)])
    w.do(f"ret i1 {fine}")
    return w.function(f"internal i1 @{name}(ptr nocapture %numbers, i64 %count)")


def past(lanes: int = 8) -> str:
    """i1 past(numbers, count, most): whether a square of so many numbers is larger than the most."""
    w, bits = Writer(), f"<{lanes} x i1>"

    def look(index: str, found: str, width: int) -> str:
        kind, value = vector(width), w.load(w.at("%numbers", index), vector(width))
        square = w.let(f"fmul {kind} {value}, {value}")
        most = "%most" if width == 1 else limit
        larger = w.let(f"fcmp ogt {kind} {square}, {most}")
        return w.let(f"or {bits if width > 1 else 'i1'} {found}, {larger}")

    limit = "%most" if lanes == 1 else w.vector(["%most"] * lanes)
    whole = w.let(f"and i64 %count, {-lanes}")
    with w.loop(0, whole, lanes, [(bits, "zeroinitializer")]) as many:
        many.carry(look(many.counter, many.carried[0], lanes))
    with w.loop(whole, "%count", 1, [("i1", "false")]) as one:
        one.carry(look(one.counter, one.carried[0], 1))
    some = w.compare("ne", w.let(f"bitcast {bits} {many.carried[0]} to i{lanes}"), 0, f"i{lanes}")
    w.do(f"ret i1 {w.let(f'or i1 {some}, {one.carried[0]}')}")
    return w.function("internal i1 @past(ptr nocapture %numbers, i64 %count, double %most)")


def declarations(widths: set[int]) -> str:
    """Declarations of the intrinsics for values of so many lanes."""
    called = ["!0 = !{i32 1}\n"]
    for n, (name, taken) in product(sorted(widths), (("sqrt", 1), ("fmuladd", 3))):
        called.append(f"declare {vector(n)} @llvm.{name}.{suffix(n)}({', '.join([vector(n)] * taken)})\n")
    return "".join(called)
