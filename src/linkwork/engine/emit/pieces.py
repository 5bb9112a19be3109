"""A batch in pieces that several threads take, one after another, in LLVM IR.

    lead    i64 (ptr to the words of a ``PIECES``): runs a batch with as many helpers as pay and are free; its status,
            or NOBODY if a builtin asks and Python has to hire helpers first, or to enlarge their workspace
    help    i64 (ptr to a thread's own words): runs pieces until none is left

A ``PIECES`` describes the code of a batch, and where the words are that it is called with for all states at once; then
come a ``MOVING`` for each array and a ``SPACE`` for each part of a thread's workspace. A thread's own words are those
of a ``SHARE``, and a copy of the words of the code.

A piece is a fraction of what is left, so pieces become smaller towards the end: a thread that woke late, or has to
share its core, takes fewer, and the others need not wait for it. Pieces are whole tiles, except for the last. A state's
result does not depend on the thread that takes it. The leader claims helpers by their mailboxes, and releases them when
they have finished all pieces that they took: none can come late, to arrays that are gone.
"""

from __future__ import annotations

from linkwork.engine.emit import mailbox
from linkwork.engine.emit.call_frame import CallFrame
from linkwork.engine.emit.python_calls import LIMITS
from linkwork.engine.emit.spinning import acquired, release, wait
from linkwork.engine.emit.writer import Value, Writer

PIECES = CallFrame(
    (
        ("ptr", "batch"),  # the code
        ("ptr", "words"),  # its arguments
        ("i64", "length"),  # how many words these are
        ("i64", "states_at"),  # the position of the number of states there
        ("i64", "whole_at"),  # and of that of the whole batch
        ("i64", "lanes"),
        ("ptr", "limits"),  # LIMITS
        ("ptr", "threads"),  # where the wanted number of threads is stored
        ("ptr", "crew"),  # how many helpers there are, and their mailboxes
        ("ptr", "yield"),  # a function that yields to other threads, or 0
        ("i64", "room"),  # numbers of a helper's workspace: its words, and the scratch of the code
        ("i64", "zeroed"),  # whether that must be zeroed
        ("i64", "arrays"),  # how many there are
        ("i64", "spaces"),  # how many there are
        ("i64", "served"),  # whether a builtin calls
    )
)
MOVING = CallFrame((("i64", "at"), ("i64", "stride_at"), ("i64", "size")))
"""Of an array: the position of its address in the words of the code, and of the stride between its states; without such
a word, which is then -1, they are so many numbers apart.
"""
SPACE = CallFrame((("i64", "at"), ("i64", "first")))
"""Of a part of a workspace: the position of its address in the words of the code, and which number is its first."""
SHARE = CallFrame((("ptr", "pieces"), ("ptr", "shared")))
"""The ``PIECES``, and what all threads share."""
_TAKEN, _STATUS, _SHORTEST, _PARTS, _SHARED = 0, 8, 16, 17, 24
"""Where the shared memory has the number of states taken, and the status of those done, in separate cache lines; how
many states a piece has at least, and that it is one of so many parts of what is left; how many integers that takes.
"""


def text(triple: str) -> str:
    """The module, for a target."""
    return "\n".join([_help(), _ask(), _lead(), mailbox.claim(internal=True), wait(triple)])


def _words(w: Writer, pieces: str) -> tuple[str, str]:
    """The words of the code, and the number of states there."""
    words = PIECES.get(w, pieces, "words")
    return words, w.load(w.at(words, PIECES.get(w, pieces, "states_at"), "i64"), "i64")


def _least(w: Writer, a: Value, b: Value) -> str:
    return w.either(w.compare("slt", a, b), "i64", a, b)


def _most(w: Writer, a: Value, b: Value) -> str:
    return w.either(w.compare("slt", a, b), "i64", b, a)


def _help() -> str:
    w = Writer()
    pieces, shared = (SHARE.get(w, "%own", name) for _, name in SHARE.words)
    words = w.at("%own", len(SHARE.words), "i64")
    whole, states = _words(w, pieces)
    code, states_at, lanes, arrays = (PIECES.get(w, pieces, n) for n in ("batch", "states_at", "lanes", "arrays"))
    moving = w.at(pieces, len(PIECES.words), "i64")
    taken, status = (w.at(shared, where, "i64") for where in (_TAKEN, _STATUS))
    shortest, parts = (w.load(w.at(shared, where, "i64"), "i64") for where in (_SHORTEST, _PARTS))
    look, choose, take, end = (w.block(part) for part in ("look", "choose", "take", "end"))
    w.jump(look)
    w.begin(look)
    first = acquired(w, taken)
    w.branch(w.compare("slt", first, states), choose, end)
    w.begin(choose)
    left = w.sub(states, first)
    tiles = w.add(w.let(f"sdiv i64 {left}, {w.mul(parts, lanes)}"), 1)
    size = _least(w, _most(w, w.mul(tiles, lanes), shortest), left)
    mine = w.let(f"cmpxchg ptr {taken}, i64 {first}, i64 {w.add(first, size)} seq_cst seq_cst")
    w.branch(w.let(f"extractvalue {{ i64, i1 }} {mine}, 1"), take, look)  # unless another thread was faster
    w.begin(take)
    w.store(size, w.at(words, states_at, "i64"), "i64")
    w.store(states, w.at(words, PIECES.get(w, pieces, "whole_at"), "i64"), "i64")
    with w.loop(0, arrays) as array:
        place = w.at(moving, w.mul(array.counter, len(MOVING.words)), "i64")
        at, stride_at, numbers = (MOVING.get(w, place, name) for _, name in MOVING.words)
        fixed = w.compare("slt", stride_at, 0)
        word = w.load(w.at(whole, w.either(fixed, "i64", 0, stride_at), "i64"), "i64")
        stride = w.either(fixed, "i64", numbers, word)
        begin = w.load(w.at(whole, at, "i64"), "i64")
        w.store(w.add(begin, w.mul(w.mul(first, stride), 8)), w.at(words, at, "i64"), "i64")
    found = w.let(f"call i64 {code}(ptr {words})")
    w.let(f"atomicrmw or ptr {status}, i64 {found} seq_cst")
    w.jump(look)
    w.begin(end)
    w.do("ret i64 0")
    return w.function("i64 @help(ptr nocapture %own)")


def _own(w: Writer, own: str) -> None:
    """Make a thread's own words, for %pieces and %shared."""
    for (kind, name), value in zip(SHARE.words, ("%pieces", "%shared"), strict=True):
        w.store(value, SHARE.pointer(w, own, name), kind)
    words, copy = PIECES.get(w, "%pieces", "words"), w.at(own, len(SHARE.words), "i64")
    with w.loop(0, PIECES.get(w, "%pieces", "length")) as word:
        w.store(w.load(w.at(words, word.counter, "i64"), "i64"), w.at(copy, word.counter, "i64"), "i64")


def _ask() -> str:
    """i1 ask(pieces, shared, mailbox): offers a helper its share; false if it is busy or its workspace is too small."""
    w = Writer()
    with w.when(w.compare("eq", w.let("call i64 @claim(ptr %mailbox)"), 0)):
        w.do("ret i1 false")
        w.begin(w.block("never"))
    needed, there = PIECES.get(w, "%pieces", "room"), w.load(mailbox.place(w, "%mailbox", mailbox.ROOM), "i64")
    with w.when(w.compare("slt", there, needed)):
        release(w, 0, mailbox.place(w, "%mailbox", mailbox.CLAIMED))
        w.do("ret i1 false")
        w.begin(w.block("never"))
    workspace = mailbox.place(w, "%mailbox", mailbox.WORKSPACE)
    own = w.load(workspace, "ptr")
    with w.when(w.compare("ne", PIECES.get(w, "%pieces", "zeroed"), 0)), w.loop(0, needed) as number:
        w.store("0.0", w.at(own, number.counter))
    _own(w, own)
    words, arrays = w.at(own, len(SHARE.words), "i64"), PIECES.get(w, "%pieces", "arrays")
    spaces = w.at("%pieces", w.add(w.mul(arrays, len(MOVING.words)), len(PIECES.words)), "i64")
    with w.loop(0, PIECES.get(w, "%pieces", "spaces")) as space:
        place = w.at(spaces, w.mul(space.counter, len(SPACE.words)), "i64")
        at, first = (SPACE.get(w, place, name) for _, name in SPACE.words)
        w.store(w.at(own, first), w.at(words, at, "i64"), "ptr")
    w.store("@help", mailbox.place(w, "%mailbox", mailbox.FUNCTION), "ptr")
    mailbox.put(w, "%mailbox", w.load(workspace, "i64"))
    mailbox.wake(w, "%mailbox")
    w.do("ret i1 true")
    return w.function("internal i1 @ask(ptr %pieces, ptr %shared, ptr %mailbox)")


def _lead() -> str:
    w = Writer()
    w.let(f"alloca [{_SHARED} x i64], align 64", "%shared")
    words, states = _words(w, "%pieces")
    limits, crew, lanes = (PIECES.get(w, "%pieces", name) for name in ("limits", "crew", "lanes"))
    piece, share = (LIMITS.get(w, limits, name) for name in ("piece", "share"))
    members = acquired(w, crew)
    wanted = _least(w, w.load(PIECES.get(w, "%pieces", "threads"), "i64"), w.let(f"sdiv i64 {states}, {share}"))
    count = _least(w, wanted, w.add(members, 1))
    with w.when(w.compare("ne", PIECES.get(w, "%pieces", "served"), 0)):
        with w.loop(1, count, carried=[("i64", count)]) as helper:
            box = w.load(w.at(crew, helper.counter, "i64"), "ptr")
            there = acquired(w, mailbox.place(w, box, mailbox.ROOM))
            fits = w.compare("sge", there, PIECES.get(w, "%pieces", "room"))
            helper.carry(w.either(fits, "i64", helper.carried[0], 0))
        with w.when(w.compare("slt", helper.carried[0], wanted)):
            w.do(f"ret i64 {mailbox.NOBODY}")
            w.begin(w.block("never"))
    with w.when(w.compare("slt", count, 2)):
        code = PIECES.get(w, "%pieces", "batch")
        w.do(f"ret i64 {w.let(f'call i64 {code}(ptr {words})')}")
        w.begin(w.block("never"))
    shortest = _least(w, piece, w.let(f"sdiv i64 {states}, {count}"))
    shortest = w.mul(_most(w, w.let(f"sdiv i64 {shortest}, {lanes}"), 1), lanes)
    for where, value in ((_TAKEN, 0), (_STATUS, 0), (_SHORTEST, shortest), (_PARTS, w.mul(count, 2))):
        w.store(value, w.at("%shared", where, "i64"), "i64")
    own = w.let(f"alloca i64, i64 {w.add(PIECES.get(w, '%pieces', 'length'), len(SHARE.words))}, align 8")
    asked = w.let(f"alloca ptr, i64 {members}, align 8")
    with w.loop(0, members, carried=[("i64", "0")]) as member:
        box = w.load(w.at(crew, w.add(member.counter, 1), "i64"), "ptr")
        w.store(box, w.at(asked, member.carried[0], "ptr"), "ptr")
        enough = w.compare("sge", w.add(member.carried[0], 1), count)
        offered = w.one_of(enough, "i1", "xor i1 0, 0", f"call i1 @ask(ptr %pieces, ptr %shared, ptr {box})")
        member.carry(w.add(member.carried[0], w.let(f"zext i1 {offered} to i64")))
    _own(w, own)
    w.let(f"call i64 @help(ptr {own})")
    yielding = PIECES.get(w, "%pieces", "yield")
    with w.loop(0, member.carried[0]) as each:
        box = w.load(w.at(asked, each.counter, "ptr"), "ptr")
        mailbox.take_back(w, box, yielding)
        release(w, 0, mailbox.place(w, box, mailbox.CLAIMED))
    w.do(f"ret i64 {acquired(w, w.at('%shared', _STATUS, 'i64'))}")
    return w.function("i64 @lead(ptr %pieces)")
