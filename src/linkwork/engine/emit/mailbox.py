"""How one thread gives another a job, in LLVM IR: through a mailbox, an array of integers that both access.

A mailbox holds the address of a job's words, or 0; the address of the function that takes them; whether its owner is
busy with a job; whether it is asleep; the address of a function that yields to other threads, or 0; whether somebody is
about to offer; a lock, which is held except for a moment, and Python's functions that acquire and release it, which
need no interpreter. A thread claims the mailbox before it offers. Everything shared is read and written atomically.

    serve   i64 (mailbox): runs jobs; when none has come for a while, it sleeps until the lock is released
    idle    i64 (mailbox): whether the owner is free and nobody else is about to offer
    claim   i64 (mailbox): the same; if so, it is claimed

Whoever sets "asleep" from 1 to 0 wakes the owner: so the lock is released once each time that the owner sleeps.
"""

from __future__ import annotations

from linkwork.engine.emit.spinning import acquired, release, spinning, wait
from linkwork.engine.emit.writer import Value, Writer

JOB, FUNCTION, BUSY, ASLEEP, YIELD, CLAIMED, LOCK = 0, 8, 16, 24, 32, 40, 48
"""Places in a mailbox, each in its own cache line."""
ACQUIRE, RELEASE = 49, 50
"""Those beside the lock, which hardly change."""
SIZE = 56
NOBODY = 4
"""The status of code that needed help which was not available."""


def place(w: Writer, mailbox: str, where: int) -> str:
    """A pointer to a place of a mailbox."""
    return w.at(mailbox, where, "i64")


def text(triple: str) -> str:
    """The module of both sides of a mailbox, for a target."""
    return "\n".join([_serve(spinning(triple).looks), claim(), _idle(), wait(triple)])


def _serve(most: int) -> str:
    w = Writer()
    function_at, busy, asleep, yield_at = (place(w, "%mailbox", where) for where in (FUNCTION, BUSY, ASLEEP, YIELD))
    yielding = w.load(yield_at, "ptr")
    look, take, none, rest, sleep, late, wait_for_it, woken = (
        w.block(part) for part in ("look", "take", "none", "rest", "sleep", "late", "wait_for_it", "woken")
    )
    w.jump(look)
    w.begin(look)
    looks, following = w.name(), w.name()
    come = f"[ 0, %entry ], [ {following}, %{rest} ], [ 0, %{take} ], [ 0, %{woken} ]"
    w.let(f"phi i64 {come}", looks)
    w.branch(w.compare("ne", acquired(w, "%mailbox"), 0), take, none)
    w.begin(take)
    release(w, 1, busy, "seq_cst")  # before the job is cleared: in between, a helper is not free either
    words = w.let("atomicrmw xchg ptr %mailbox, i64 0 seq_cst")
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
    w.branch(w.compare("ne", acquired(w, "%mailbox", order="seq_cst"), 0), late, wait_for_it)
    w.begin(late)  # a job came; somebody may be about to wake
    still = w.let(f"atomicrmw xchg ptr {asleep}, i64 0 seq_cst")
    w.branch(w.compare("ne", still, 0), woken, wait_for_it)
    w.begin(wait_for_it)
    lock, acquire = (w.load(place(w, "%mailbox", where), "ptr") for where in (LOCK, ACQUIRE))
    w.let(f"call i32 {acquire}(ptr {lock}, i32 1)")
    w.jump(woken)
    w.begin(woken)
    w.jump(look)
    return w.function("i64 @serve(ptr nocapture %mailbox)")


def claim() -> str:
    """The text of ``claim``."""
    w = Writer()
    claimed = place(w, "%mailbox", CLAIMED)
    first = w.compare("eq", w.let(f"atomicrmw xchg ptr {claimed}, i64 1 seq_cst"), 0)
    with w.when(first):
        job = acquired(w, "%mailbox")  # in this order, since a helper sets them in the reverse one
        busy = acquired(w, place(w, "%mailbox", BUSY))
        free = w.compare("eq", w.let(f"or i64 {job}, {busy}"), 0)
        with w.when(free):
            w.do("ret i64 1")
            w.begin(w.block("never"))
        release(w, 0, claimed)
    w.do("ret i64 0")
    return w.function("internal i64 @claim(ptr nocapture %mailbox)")


def _idle() -> str:
    w = Writer()
    claimed = w.let("call i64 @claim(ptr %mailbox)")
    with w.when(w.compare("ne", claimed, 0)):
        leave(w, "%mailbox")
    w.do(f"ret i64 {claimed}")
    return w.function("i64 @idle(ptr nocapture %mailbox)")


def leave(w: Writer, mailbox: str) -> None:
    """Release the claim."""
    release(w, 0, place(w, mailbox, CLAIMED))


def offer(w: Writer, mailbox: str, words: Value) -> None:
    """Give the owner of a claimed mailbox its job, and wake it if it is asleep.

    A helper announces that it sleeps and then looks for a job; here it is the reverse. With sequentially consistent
    order, one of both sees what the other wrote.
    """
    release(w, words, mailbox, "seq_cst")
    asleep = w.let(f"atomicrmw xchg ptr {place(w, mailbox, ASLEEP)}, i64 0 seq_cst")
    with w.when(w.compare("ne", asleep, 0)):
        lock, function = (w.load(place(w, mailbox, where), "ptr") for where in (LOCK, RELEASE))
        w.do(f"call void {function}(ptr {lock})")
