"""How one thread gives another a job, in LLVM's text: by a mailbox, an array of integers that both look into.

A mailbox has the address of a job's words, or 0; the address of the function that takes them; whether its owner is busy
with a job; whether it is asleep; the address of a function that yields to other threads, or 0; the address of words
that are about to be offered; and whether somebody is about to offer. Who offers claims the mailbox first. What both
sides use is read and written atomically.

    serve   i64 (mailbox): does jobs until none has come for a while; the owner then sleeps
    claim   i64 (mailbox): whether the owner is free and nobody else is about to offer
    offer   i64 (mailbox), claimed: makes what is offered the owner's job; whether it is asleep
"""

from __future__ import annotations

from linkwork.engine.emit.spinning import acquired, release, spinning, wait
from linkwork.engine.emit.writer import Value, Writer

JOB, FUNCTION, BUSY, ASLEEP, YIELD, OFFERED, CLAIMED = 0, 8, 16, 24, 32, 40, 48
"""Places in a mailbox, each in a cache line of its own."""
SIZE = 56


def place(w: Writer, mailbox: str, where: int) -> str:
    """A pointer to a place of a mailbox."""
    return w.at(mailbox, where, "i64")


def text(triple: str) -> str:
    """The module of what both sides of a mailbox do, for a target."""
    return "\n".join([_serve(spinning(triple).looks), claim(), _offer(), wait(triple)])


def _serve(most: int) -> str:
    w = Writer()
    function_at, busy, asleep, yield_at = (place(w, "%mailbox", where) for where in (FUNCTION, BUSY, ASLEEP, YIELD))
    yielding = w.load(yield_at, "ptr")
    release(w, 0, asleep, "seq_cst")
    look, take, gone, do, none, rest, sleep, wake, end = (
        w.block(part) for part in ("look", "take", "gone", "do", "none", "rest", "sleep", "wake", "end")
    )
    w.jump(look)
    w.begin(look)
    looks, following = w.name(), w.name()
    come = f"[ 0, %entry ], [ {following}, %{rest} ], [ 0, %{gone} ], [ 0, %{do} ], [ 0, %{wake} ]"
    w.let(f"phi i64 {come}", looks)
    w.branch(w.compare("ne", acquired(w, "%mailbox"), 0), take, none)
    w.begin(take)
    release(w, 1, busy, "seq_cst")  # before the job goes: in between, a helper is not free either
    words = w.let("atomicrmw xchg ptr %mailbox, i64 0 seq_cst")
    w.branch(w.compare("eq", words, 0), gone, do)
    w.begin(gone)  # who offered it took it back
    release(w, 0, busy, "seq_cst")
    w.jump(look)
    w.begin(do)
    w.let(f"call i64 {w.load(function_at, 'ptr')}(ptr {w.let(f'inttoptr i64 {words} to ptr')})")
    release(w, 0, busy, "seq_cst")
    w.jump(look)
    w.begin(none)
    w.let(f"add i64 {looks}, 1", following)
    w.branch(w.compare("sge", following, most), sleep, rest)
    w.begin(rest)
    w.do(f"call void @wait(ptr {yielding}, i64 {following})")
    w.jump(look)
    w.begin(sleep)
    w.let(f"atomicrmw xchg ptr {asleep}, i64 1 seq_cst")
    late = acquired(w, "%mailbox", order="seq_cst")
    w.branch(w.compare("ne", late, 0), wake, end)
    w.begin(wake)
    release(w, 0, asleep, "seq_cst")
    w.jump(look)
    w.begin(end)
    w.do("ret i64 0")
    return w.function("i64 @serve(ptr nocapture %mailbox)")


def claim(internal: bool = False) -> str:
    """The text of ``claim``."""
    w = Writer()
    claimed = place(w, "%mailbox", CLAIMED)
    first = w.compare("eq", w.let(f"atomicrmw xchg ptr {claimed}, i64 1 seq_cst"), 0)
    with w.when(first):
        job = acquired(w, "%mailbox")  # in this order, since a helper sets them in the other
        busy = acquired(w, place(w, "%mailbox", BUSY))
        free = w.compare("eq", w.let(f"or i64 {job}, {busy}"), 0)
        with w.when(free):
            w.do("ret i64 1")
            w.begin(w.block("never"))
        release(w, 0, claimed)
    w.do("ret i64 0")
    return w.function(f"{'internal ' if internal else ''}i64 @claim(ptr nocapture %mailbox)")


def _offer() -> str:
    """A helper says that it sleeps and then looks for a job; here it is the other way round. In one order that all
    agree on, one of both sees what the other wrote.
    """
    w = Writer()
    asleep = put(w, "%mailbox", w.load(place(w, "%mailbox", OFFERED), "i64"))
    release(w, 0, place(w, "%mailbox", CLAIMED))
    w.do(f"ret i64 {asleep}")
    return w.function("i64 @offer(ptr nocapture %mailbox)")


def put(w: Writer, mailbox: str, words: Value) -> str:
    """Give the owner of a claimed mailbox its job; whether it is asleep."""
    release(w, words, mailbox, "seq_cst")
    return acquired(w, place(w, mailbox, ASLEEP), order="seq_cst")
