"""LLVM IR of a program for one state whose parallel loops run over lanes and over a team of threads.

    kernel   the program; one lane outside of parallel loops, ``lanes`` iterations at once inside them
    batch    i64 (ptr to the words of ``Interface.one_state``): runs the kernel on one state; returns a status as in
             ``kernel``; with a crew it first asks its members to help, and returns NOBODY if it has too few
    help     i64 (the same words): takes part in the parallel loops of a call of ``batch`` that runs on another thread

A team is an array of integers that are 0 at the start, or null for none: first the number of loops begun (or OVER) and
the address of a function that yields to other threads (or 0), then for each execution of a loop its number in the
program, how many iterations were taken, and how many are done, these in separate cache lines. Free threads take
iterations one at a time, so nobody waits for a helper that has not arrived yet. The thread that begins a loop takes
iterations from the front, helpers from the back, so that a thread mostly finds in its own caches what it wrote in the
previous loop. A loop has ended when all iterations are done. A late helper finds no iteration left, and touches nothing
except the words and the team. The result of an iteration does not depend on the thread that takes it.

A crew describes helpers that code calls on without Python (``CREW``, then ``MEMBER`` for each), for one call at a time.
They are asked only if all of them are free: one that arrives late would find the team, which is the same in every call,
in the next call.
"""

from __future__ import annotations

from collections.abc import Callable

from linkwork.engine.emit import mailbox
from linkwork.engine.emit.call_frame import CallFrame, Interface, parameters
from linkwork.engine.emit.packing import past_in
from linkwork.engine.emit.spinning import acquired, release, wait
from linkwork.engine.emit.writer import Writer, declarations, past, sweep
from linkwork.engine.ir.program import Program
from linkwork.engine.plans.one_state.parallel_kernel import ParallelKernel, handed_on

CACHE_LINE = 8
"""Integers in a cache line."""
OVER = 1 << 30
"""More loops than there can be: the call has ended, or will never begin. The caller sets it."""
BEGUN, YIELD, RUN = 0, 1, 2
"""Where a team has the number of loops begun, the function that yields, and the number of loops for the thread that
begins them.
"""
TAKEN, HELPED, WHICH, COUNT, LAST, DONE = 0, 1, 2, 3, 4, CACHE_LINE
"""Where a loop of a team has how many iterations were taken, and by helpers, its number in the program, how many there
are, the last of them, and how many are done.
"""


CREW = CallFrame((
    ("i64", "members"), ("i64", "most"), ("ptr", "threads"), ("ptr", "team"), ("i64", "size"), ("ptr", "yield"),
    ("i64", "taken"),
))  # fmt: skip
"""How many members there are and threads can work at once, where the wanted number of threads is stored; the team and
its size; the function that yields; whether a call has the crew.
"""
MEMBER = CallFrame((("ptr", "mailbox"), ("ptr", "words"), ("ptr", "work"), ("i64", "claimed")))


def team_size(loops: int) -> int:
    """How many integers a team has for so many runs of parallel loops."""
    return CACHE_LINE * (1 + 2 * loops)


def parallel_loops(program: Program) -> tuple[int, int]:
    """How many parallel loops there are that run once, and inside of other loops."""
    once = [program.details[n] for n in program.root.order if program.operations[n] == "loop"]
    every = [program.details[n] for n in program.walk() if program.operations[n] == "loop"]
    counts = [sum(loop.walk == "parallel" for loop in loops) for loops in (once, every)]
    return counts[0], counts[1] - counts[0]


def module(
    program: Program, interface: Interface, lanes: int, triple: str, more: str = "", group: int | None = None
) -> str:
    """The text of an LLVM module for a target; ``more`` is the text of further functions. So many numbers of a
    ``group`` are adjacent, as many as there are lanes by default.
    """
    kernel = ParallelKernel(program, interface, 1, lanes if group is None else group, lanes)
    parts = [kernel.text(), *kernel.iterations]
    count = len(kernel.iterations)
    for number in range(count):
        parts += [_share(interface, number), _take(interface, number, False), _take(interface, number, True)]
    parts += [
        mailbox.claim(),
        _state(interface),
        *_batch(interface),
        _help(interface, count),
        sweep("finite", lanes),
        past(),
        wait(triple),
        more,
    ]
    return "\n".join([*parts, declarations({1, lanes})])


def _share(interface: Interface, number: int) -> str:
    """void share(..., first, last, team): runs iterations first to last, without a team all of them."""
    w, passed = Writer(), handed_on(interface)
    serial, together, end = (w.block(part) for part in ("serial", "together", "end"))
    w.branch(w.compare("eq", "%team", "null", "ptr"), serial, together)
    w.begin(serial)
    with w.loop("%first", w.add("%last", 1)) as own:
        w.do(f"call void @iteration{number}({passed}, i64 {own.counter})")
    w.jump(end)
    w.begin(together)
    run_at = w.at("%team", RUN, "i64")
    run = w.load(run_at, "i64")
    following = w.add(run, 1)
    w.store(following, run_at, "i64")
    loop, count = _loop_at(w, run), w.add(w.sub("%last", "%first"), 1)
    for place, value in ((WHICH, number), (COUNT, count), (LAST, "%last")):
        w.store(value, w.at(loop, place, "i64"), "i64")
    release(w, following, "%team")
    w.do(f"call void @take{number}({passed}, i64 %first, ptr {loop})")
    done = w.at(loop, DONE, "i64")
    _wait_until(w, lambda: w.compare("sge", acquired(w, done), count))
    w.jump(end)
    w.begin(end)
    w.do("ret void")
    head = f"{parameters(interface.kernel)}, i64 %first, i64 %last, ptr %team"
    return w.function(f"internal void @share{number}({head})")


def _loop_at(w: Writer, run: str) -> str:
    """Where a team has the record of a loop's execution."""
    return w.at("%team", w.add(w.mul(run, 2 * CACHE_LINE), CACHE_LINE), "i64")


def _wait_until(w: Writer, condition: Callable[[], str]) -> None:
    function = w.load(w.at("%team", YIELD, "i64"), "ptr")
    w.spin(condition, lambda looks: w.do(f"call void @wait(ptr {function}, i64 {looks})"))


def _take(interface: Interface, number: int, helping: bool) -> str:
    """void take(..., next, loop), or aid for helpers: takes iterations of a loop, from ``next`` up or down, until
    none is left.
    """
    w = Writer()
    taken, helped, done = (w.at("%loop", place, "i64") for place in (TAKEN, HELPED, DONE))
    count = w.load(w.at("%loop", COUNT, "i64"), "i64")
    head, body, end = (w.block(part) for part in ("head", "body", "end"))
    before, own, following = w.label, w.name(), w.name()
    w.jump(head)
    w.begin(head)
    w.let(f"phi i64 [ 0, %{before} ], [ {following}, %{body} ]", own)
    w.branch(w.compare("slt", w.let(f"atomicrmw add ptr {taken}, i64 1 acq_rel"), count), body, end)
    w.begin(body)
    w.let(f"add i64 {own}, 1", following)
    back = w.let(f"atomicrmw add ptr {helped}, i64 1 acq_rel") if helping else ""
    iteration = w.sub("%next", back) if helping else w.add("%next", own)
    w.do(f"call void @iteration{number}({handed_on(interface)}, i64 {iteration})")
    w.let(f"atomicrmw add ptr {done}, i64 1 acq_rel")
    w.jump(head)
    w.begin(end)
    w.do("ret void")
    name = f"{'aid' if helping else 'take'}{number}"
    return w.function(f"internal void @{name}({parameters(interface.kernel)}, i64 %next, ptr %loop)")


def _state(interface: Interface) -> str:
    """i64 state(words): one state, with the team that its words have."""
    w = Writer()
    interface.one_state.read(w)
    given = len(interface.arguments)

    def finite(names: list[str], counts: list[str], status: int) -> str:
        found = [w.let(f"call i1 @finite(ptr %{name}, i64 {n})") for name, n in zip(names, counts, strict=True)]
        return w.either(w.all_of(found), "i64", 0, status)

    before = finite(interface.argument_names, interface.counts[:given], 1)
    w.do(f"call void @kernel({handed_on(interface)}, ptr %team)")
    after = finite(interface.result_names, interface.counts[given:], 2)
    large = past_in(w, interface, [f"%{name}" for name in interface.argument_names])
    w.do(f"ret i64 {w.let(f'or i64 {large}, ' + w.let(f'or i64 {before}, {after}'))}")
    return w.function("internal i64 @state(ptr nocapture %words)")


def _batch(interface: Interface) -> list[str]:
    w, frame = Writer(), interface.one_state
    crew = frame.get(w, "%words", "crew")
    with w.when(w.compare("eq", crew, "null", "ptr")):
        w.do(f"ret i64 {w.let('call i64 @state(ptr %words)')}")
        w.begin(w.block("never"))
    members, most = (CREW.get(w, crew, name) for name in ("members", "most"))
    wanted = w.load(CREW.get(w, crew, "threads"), "i64")
    wanted = w.sub(w.either(w.compare("slt", wanted, most), "i64", wanted, most), 1)
    with w.when(w.compare("sgt", wanted, members)):
        w.do(f"ret i64 {mailbox.NOBODY}")
        w.begin(w.block("never"))
    asked = f"call i1 @begin(ptr %words, ptr {crew}, i64 {members}, i64 {wanted})"
    begun = w.one_of(w.compare("sgt", wanted, 0), "i1", asked, "and i1 false, false")
    team = CREW.get(w, crew, "team")
    w.store(w.either(begun, "ptr", team, "null"), frame.pointer(w, "%words", "team"), "ptr")
    status = w.let("call i64 @state(ptr %words)")
    with w.when(begun):
        release(w, OVER, team)
        release(w, 0, CREW.pointer(w, crew, "taken"))
    w.do(f"ret i64 {status}")
    return [_begin(interface), w.function("i64 @batch(ptr nocapture %words)")]


def _begin(interface: Interface) -> str:
    """i1 begin(words, crew, members, wanted): asks so many members of a crew, if no other call has it and all of them
    are free; whether it did.
    """
    w, frame = Writer(), interface.one_state

    def member(k: str) -> str:
        return w.at("%crew", w.add(w.mul(k, len(MEMBER.words)), len(CREW.words)), "i64")

    taken = CREW.pointer(w, "%crew", "taken")
    with w.when(w.compare("ne", w.let(f"atomicrmw xchg ptr {taken}, i64 1 acq_rel"), 0)):
        w.do("ret i1 false")
        w.begin(w.block("never"))
    with w.loop(0, "%members", carried=[("i64", "0")]) as own:
        each = member(own.counter)
        claimed = w.let(f"call i64 @claim(ptr {MEMBER.get(w, each, 'mailbox')})")
        w.store(claimed, MEMBER.pointer(w, each, "claimed"), "i64")
        own.carry(w.add(own.carried[0], claimed))
    ready = w.compare("eq", own.carried[0], "%members")
    with w.when(ready):
        team = CREW.get(w, "%crew", "team")
        with w.loop(0, CREW.get(w, "%crew", "size")) as place:
            w.store(0, w.at(team, place.counter, "i64"), "i64")
        w.store(CREW.get(w, "%crew", "yield"), w.at(team, YIELD, "i64"), "ptr")
        w.store(team, frame.pointer(w, "%words", "team"), "ptr")
        with w.loop(0, "%wanted") as asked:
            each = member(asked.counter)
            box, words = (MEMBER.get(w, each, name) for name in ("mailbox", "words"))
            with w.loop(0, len(frame.words)) as word:
                w.store(w.load(w.at("%words", word.counter, "i64"), "i64"), w.at(words, word.counter, "i64"), "i64")
            w.store(MEMBER.get(w, each, "work"), frame.pointer(w, words, "work"), "ptr")
            w.store("@help", mailbox.place(w, box, mailbox.FUNCTION), "ptr")
            mailbox.offer(w, box, w.let(f"ptrtoint ptr {words} to i64"))
    with w.loop(0, "%members") as own:
        each = member(own.counter)
        with w.when(w.compare("ne", MEMBER.get(w, each, "claimed"), 0)):
            mailbox.leave(w, MEMBER.get(w, each, "mailbox"))
    with w.when(w.let(f"xor i1 {ready}, true")):
        release(w, 0, taken)
    w.do(f"ret i1 {ready}")
    return w.function("internal i1 @begin(ptr %words, ptr %crew, i64 %members, i64 %wanted)")


def _help(interface: Interface, loops: int) -> str:
    w = Writer()
    interface.one_state.read(w)
    head, go, latch, end = (w.block(part) for part in ("head", "go", "latch", "end"))
    before = w.label
    w.jump(head)
    w.begin(head)
    run, following = w.name(), w.name()
    w.let(f"phi i64 [ 0, %{before} ], [ {following}, %{latch} ]", run)
    _wait_until(w, lambda: w.compare("sgt", acquired(w, "%team"), run))
    w.branch(w.compare("eq", acquired(w, "%team"), OVER), end, go)
    w.begin(go)
    loop = _loop_at(w, run)
    which, last = (w.load(w.at(loop, place, "i64"), "i64") for place in (WHICH, LAST))
    labels = [w.block(f"loop{number}.") for number in range(loops)]
    targets = " ".join(f"i64 {number}, label %{label}" for number, label in enumerate(labels))
    w.do(f"switch i64 {which}, label %{latch} [ {targets} ]")
    for number, label in enumerate(labels):
        w.begin(label)
        w.do(f"call void @aid{number}({handed_on(interface)}, i64 {last}, ptr {loop})")
        w.jump(latch)
    w.begin(latch)
    w.let(f"add i64 {run}, 1", following)
    w.jump(head)
    w.begin(end)
    w.do("ret i64 0")
    return w.function("i64 @help(ptr nocapture %words)")
