"""LLVM's text of a program for one state whose spread loops run over lanes and over a team of threads.

    kernel   the program; outside of spread loops one lane, there ``lanes`` turns at once
    batch    i64 (ptr to a list of 8-byte words): runs the kernel on one state; returns a status as in ``llvm``
    help     i64 (the same list): takes part in the spread loops of a call of ``batch`` that runs on another thread

Words: the team, then the addresses of arguments and results, of ``work``, ``square``, ``data`` and ``ints``, then the
sizes. A team is an array of whole numbers that are 0 at the start, or 0 for none: first the number of loops that were
begun (or OVER) and the address of a function that gives way to other threads (or 0), then for each loop how many of its
turns were taken and how many are done, each in a cache line of its own. Turns are taken one at a time by whoever is
free, so that nobody waits for a helper that has not come yet; a loop has ended when all turns are done. A helper that
comes late finds no turn left, and touches nothing but the words and the team. What a turn computes does not depend on
who takes it.
"""

from __future__ import annotations

from linkwork.engine.ir import Address, Loop, Operand, Program
from linkwork.engine.llvm import Kernel, declarations
from linkwork.engine.tiles import Interface, read_words, told, vector

LINE = 8
"""Whole numbers in a cache line."""
OVER = 1 << 30
"""More loops than there can be: the call has ended, or will never begin. The caller says so."""
_TEAM = ("ptr", "team")
"""The first word."""


def size(program: Program) -> int:
    """How many whole numbers a team has."""
    return LINE * (1 + 2 * len(_spreads(program)))


def _spreads(program: Program) -> list[Loop]:
    return [
        program.details[n]
        for n in program.root.order
        if program.operations[n] == "loop" and program.details[n].walk == "spread"
    ]


def module(program: Program, interface: Interface, lanes: int, more: str = "") -> str:
    """The text of an LLVM module; ``more`` is the text of further functions."""
    kernel = _Leader(program, interface, lanes)
    text = kernel.text()
    names = _passed(interface)
    parts = [text, *kernel.turns, *(_share(names, k) for k in range(len(kernel.turns)))]
    parts += [_batch(interface, names, lanes), _help(interface, names, _spreads(program)), _finite(lanes), _REST, more]
    parts.append(declarations({1, lanes}))
    return "\n".join(parts)


def _passed(interface: Interface) -> list[tuple[str, str]]:
    """Type and name of everything that functions hand on."""
    return [*(("ptr", name) for name in interface.arrays), *told(interface)]


def _parameters(names: list[tuple[str, str]]) -> str:
    return ", ".join(f"{kind} {'noalias nocapture ' if kind == 'ptr' else ''}%{name}" for kind, name in names)


def _arguments(names: list[tuple[str, str]]) -> str:
    return ", ".join(f"{kind} %{name}" for kind, name in names)


class _Grouped(Kernel):
    """Writes code in which numbers of ``work``, ``square`` and ``data`` lie in groups."""

    def __init__(self, program: Program, interface: Interface, lanes: int, group: int) -> None:
        super().__init__(program, interface, lanes)
        self.group = group

    def place(self, address: Address, lanes: int) -> str:
        if address.array not in ("work", "square", "data"):
            return super().place(address, 1)
        index = self.scaled(self.whole(address), self.group)
        if address.lane is not None:
            index = self.sum(index, f"%v{address.lane}")
        pointer = self.name()
        self.lines.append(f"  {pointer} = getelementptr inbounds double, ptr %{address.array}, i64 {index}")
        return pointer

    def load(self, n: int, address: Address) -> None:
        pointer = self.place(address, 1)
        if self.lanes == 1 or address.apart is None:
            self.lines.append(f"  %v{n} = load {self.type}, ptr {pointer}, align {self.align}")
            return
        current = "poison"
        for lane, where in enumerate(self.each(pointer, address.apart)):
            one, name = self.name(), f"%v{n}" if lane == self.lanes - 1 else self.name()
            self.lines.append(f"  {one} = load double, ptr {where}, align 8")
            self.lines.append(f"  {name} = insertelement {self.type} {current}, double {one}, i32 {lane}")
            current = name

    def store(self, x: Operand, address: Address) -> None:
        pointer, value = self.place(address, 1), self.value(x)
        if address.array.startswith("result"):  # a zero loses its sign
            zero = "0.0" if self.lanes == 1 else "zeroinitializer"
            name = self.name()
            self.lines.append(f"  {name} = fadd {self.type} {value}, {zero}")
            value = name
        if self.lanes == 1 or address.apart is None:
            self.lines.append(f"  store {self.type} {value}, ptr {pointer}, align {self.align}")
            return
        for lane, where in enumerate(self.each(pointer, address.apart)):
            one = self.name()
            self.lines.append(f"  {one} = extractelement {self.type} {value}, i32 {lane}")
            self.lines.append(f"  store double {one}, ptr {where}, align 8")

    def each(self, pointer: str, apart: str) -> list[str]:
        """A pointer for each lane."""
        found = [pointer]
        for _ in range(self.lanes - 1):
            name = self.name()
            self.lines.append(f"  {name} = getelementptr inbounds double, ptr {found[-1]}, i64 %{apart}")
            found.append(name)
        return found


class _Leader(_Grouped):
    """Writes the kernel and the turns of its spread loops."""

    def __init__(self, program: Program, interface: Interface, lanes: int) -> None:
        super().__init__(program, interface, 1, lanes)
        self.turns: list[str] = []
        self.passed = _passed(interface)

    def text(self) -> str:
        self.block(self.program.root)
        body = "\n".join(self.lines)
        return (
            f"define internal void @kernel({_parameters(self.passed)}, ptr %team) nounwind {{\nentry:\n{body}\n"
            "  ret void\n}\n"
        )

    def loop(self, loop: Loop) -> None:
        if loop.walk != "spread":
            super().loop(loop)
            return
        number = len(self.turns)
        turn = _Grouped(self.program, self.interface, self.group, self.group)
        turn.block(loop.cases[0][1])
        body = "\n".join(turn.lines)
        self.turns.append(
            f"define internal void @turn{number}({_parameters(self.passed)}, i64 %v{loop.counter}) nounwind {{\n"
            f"entry:\n{body}\n  ret void\n}}\n"
        )
        self.lines.append(f"  call void @share{number}({_arguments(self.passed)}, i64 %{loop.last}, ptr %team)")


def _share(names: list[tuple[str, str]], number: int) -> str:
    """void share(..., last, team): takes turns 0 to last, all of them without a team."""
    taken, done = LINE * (1 + 2 * number), LINE * (2 + 2 * number)
    passed = _arguments(names)
    return f"""
define internal void @share{number}({_parameters(names)}, i64 %last, ptr %team) nounwind {{
entry:
  %alone = icmp eq ptr %team, null
  br i1 %alone, label %own, label %begin
own:
  %k = phi i64 [ 0, %entry ], [ %k.next, %own ]
  call void @turn{number}({passed}, i64 %k)
  %k.next = add i64 %k, 1
  %more = icmp sle i64 %k.next, %last
  br i1 %more, label %own, label %end
begin:
  store atomic i64 {number + 1}, ptr %team release, align 8
  call void @take{number}({passed}, i64 %last, ptr %team)
  %done.at = getelementptr inbounds i64, ptr %team, i64 {done}
  br label %wait
wait:
  %looks = phi i64 [ 0, %begin ], [ %looks.next, %again ]
  %done = load atomic i64, ptr %done.at acquire, align 8
  %all = icmp sgt i64 %done, %last
  br i1 %all, label %end, label %again
again:
  %looks.next = add i64 %looks, 1
  call void @rest(ptr %team, i64 %looks.next)
  br label %wait
end:
  ret void
}}
define internal void @take{number}({_parameters(names)}, i64 %last, ptr %team) nounwind {{
entry:
  %taken.at = getelementptr inbounds i64, ptr %team, i64 {taken}
  %done.at = getelementptr inbounds i64, ptr %team, i64 {done}
  br label %head
head:
  %turn = atomicrmw add ptr %taken.at, i64 1 acq_rel
  %more = icmp sle i64 %turn, %last
  br i1 %more, label %body, label %end
body:
  call void @turn{number}({passed}, i64 %turn)
  %before = atomicrmw add ptr %done.at, i64 1 acq_rel
  br label %head
end:
  ret void
}}
"""


def _batch(interface: Interface, names: list[tuple[str, str]], lanes: int) -> str:
    lines = ["define i64 @batch(ptr nocapture %words) nounwind {", "entry:", *read_words([_TEAM, *names])]

    def check(arrays: str, counts: tuple[int | str, ...], bit: int) -> str:
        fine = "true"
        for k, count in enumerate(counts):
            size = count if isinstance(count, int) else f"%{count}"
            lines.append(f"  %{arrays}.ok{k} = call i1 @finite(ptr %{arrays}{k}, i64 {size})")
            lines.append(f"  %{arrays}.fine{k} = and i1 {fine}, %{arrays}.ok{k}")
            fine = f"%{arrays}.fine{k}"
        lines.append(f"  %{arrays}.bad = select i1 {fine}, i64 0, i64 {bit}")
        return f"%{arrays}.bad"

    before = check("argument", interface.arguments, 1)
    lines.append(f"  call void @kernel({_arguments(names)}, ptr %team)")
    after = check("result", interface.results, 2)
    return "\n".join([*lines, f"  %status = or i64 {before}, {after}", "  ret i64 %status", "}", ""])


def _help(interface: Interface, names: list[tuple[str, str]], loops: list[Loop]) -> str:
    lines = ["define i64 @help(ptr nocapture %words) nounwind {", "entry:", *read_words([_TEAM, *names])]
    lines.append(f"  br label %{'wait0' if loops else 'end'}")  # no loops are left where no joint can move
    for k, loop in enumerate(loops):
        lines += [
            f"wait{k}:",
            f"  %looks{k} = phi i64 [ 0, %{'entry' if k == 0 else f'go{k - 1}'} ], [ %more{k}, %again{k} ]",
            f"  %begun{k} = load atomic i64, ptr %team acquire, align 8",
            f"  %over{k} = icmp eq i64 %begun{k}, {OVER}",
            f"  br i1 %over{k}, label %end, label %look{k}",
            f"look{k}:",
            f"  %on{k} = icmp sgt i64 %begun{k}, {k}",
            f"  br i1 %on{k}, label %go{k}, label %again{k}",
            f"again{k}:",
            f"  %more{k} = add i64 %looks{k}, 1",
            f"  call void @rest(ptr %team, i64 %more{k})",
            f"  br label %wait{k}",
            f"go{k}:",
            f"  call void @take{k}({_arguments(names)}, i64 %{loop.last}, ptr %team)",
            f"  br label %{'end' if k == len(loops) - 1 else f'wait{k + 1}'}",
        ]
    return "\n".join([*lines, "end:", "  ret i64 0", "}", ""])


_REST = """
define internal void @rest(ptr %team, i64 %looks) nounwind {
entry:
  %low = and i64 %looks, 1023
  %often = icmp eq i64 %low, 0
  br i1 %often, label %ask, label %end
ask:
  %way.at = getelementptr inbounds i64, ptr %team, i64 1
  %way = load ptr, ptr %way.at, align 8
  %none = icmp eq ptr %way, null
  br i1 %none, label %end, label %give
give:
  %status = call i32 %way()
  br label %end
end:
  ret void
}
"""
"""void rest(team, looks): gives way to other threads after many looks that found nothing new."""


def _finite(lanes: int) -> str:
    """i1 finite(array, count)."""
    kind = vector(lanes)
    zero = "0.0" if lanes == 1 else "zeroinitializer"
    reduce = "  %low = fadd double %wide, 0.0"
    if lanes > 1:
        reduce = f"  %low = call double @llvm.vector.reduce.fadd.v{lanes}f64(double 0.0, {kind} %wide)"
    declared = f"declare double @llvm.vector.reduce.fadd.v{lanes}f64(double, {kind})" if lanes > 1 else ""
    return f"""
{declared}
define internal i1 @finite(ptr nocapture %array, i64 %count) nounwind {{
entry:
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %k.next, %body ]
  %wide = phi {kind} [ {zero}, %entry ], [ %wide.next, %body ]
  %k.next = add i64 %k, {lanes}
  %more = icmp sle i64 %k.next, %count
  br i1 %more, label %body, label %rest
body:
  %at = getelementptr inbounds double, ptr %array, i64 %k
  %x = load {kind}, ptr %at, align 8
  %z = fsub {kind} %x, %x
  %wide.next = fadd {kind} %wide, %z
  br label %head
rest:
{reduce}
  br label %tail
tail:
  %j = phi i64 [ %k, %rest ], [ %j.next, %one ]
  %sum = phi double [ %low, %rest ], [ %sum.next, %one ]
  %left = icmp slt i64 %j, %count
  br i1 %left, label %one, label %end
one:
  %one.at = getelementptr inbounds double, ptr %array, i64 %j
  %y = load double, ptr %one.at, align 8
  %w = fsub double %y, %y
  %sum.next = fadd double %sum, %w
  %j.next = add i64 %j, 1
  br label %tail
end:
  %fine = fcmp ord double %sum, 0.0
  ret i1 %fine
}}
"""
