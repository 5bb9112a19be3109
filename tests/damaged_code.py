"""Damaged object code for the linker: it links what it can check, refuses the rest, and writes into its memory alone.

An object of ours is damaged in one to three places: flipped bits, other bytes, extreme integers in its header and
tables, parts that are swapped, missing or repeated. A damaged constant or instruction, or a name that nobody reads, is
linked: that files of the cache are signed is what keeps these out. A child process links each object in memory between
pages that it may not touch.

    python tests/damaged_code.py --count 10000 --seed 7
    python tests/damaged_code.py --count 1000 --llvm       # what is refused is given to LLVM, too
"""

from __future__ import annotations

import argparse
import ctypes
import json
import mmap
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from linkwork.engine.code import jit, linker

TEXT = """
@numbers = internal constant [3 x double] [double 5.0, double 7.0, double 11.0]
@more = internal constant [5 x i64] [i64 5, i64 7, i64 11, i64 13, i64 17]
declare double @cosine(double) nounwind
define internal i64 @inner(ptr %p, i64 %k) nounwind noinline {
  %a = getelementptr [5 x i64], ptr @more, i64 0, i64 %k
  %n = load i64, ptr %a
  %m = load i64, ptr %p
  %s = add i64 %n, %m
  ret i64 %s
}
define i64 @batch(ptr %p) nounwind {
  %x = load double, ptr getelementptr ([3 x double], ptr @numbers, i64 0, i64 1)
  %y = fmul double %x, 0.333
  %c = call double @cosine(double %y)
  %i = fptosi double %c to i64
  %n = and i64 %i, 3
  %r = call i64 @inner(ptr %p, i64 %n)
  ret i64 %r
}
define i64 @integer(i64 %p) nounwind {
  ret i64 %p
}
"""
NAMES = ["batch", "integer"]
NEEDED = {"cosine": 4096}
EXTREME = (
    0,
    1,
    2,
    7,
    2**7,
    2**8 - 1,
    2**15,
    2**16 - 1,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**48,
    2**63 - 1,
    2**63,
    2**64 - 1,
)


def damaged(image: bytes, rng: random.Random) -> bytes:
    """The image with one to three damages."""
    for _ in range(rng.choice([1, 1, 2, 3])):
        image = rng.choice(DAMAGES)(image, rng) if image else image
    return image


def _place(image: bytes, rng: random.Random) -> int:
    """Somewhere in the header, in the table of sections behind it, or anywhere."""
    start = min(int.from_bytes(image[40:48], "little"), len(image) - 1)
    first, last = rng.choice([(0, 63), (start, len(image) - 1), (0, len(image) - 1)])
    return rng.randint(first, max(first, min(last, len(image) - 1)))


def _flipped(image: bytes, rng: random.Random) -> bytes:
    at = min(_place(image, rng), len(image) - 1)
    return image[:at] + bytes([image[at] ^ 1 << rng.randrange(8)]) + image[at + 1 :]


def _replaced(image: bytes, rng: random.Random) -> bytes:
    at, count = _place(image, rng), rng.randint(1, 16)
    return (image[:at] + rng.randbytes(count) + image[at + count :])[: len(image)]


def _extreme(image: bytes, rng: random.Random) -> bytes:
    size = rng.choice([2, 4, 8])
    at = _place(image, rng) // size * size
    number = rng.choice([*EXTREME, len(image), len(image) - 1]) % 2 ** (8 * size)
    return (image[:at] + number.to_bytes(size, "little") + image[at + size :])[: len(image)]


def _nearby(image: bytes, rng: random.Random) -> bytes:
    """An integer a little larger or smaller."""
    size = rng.choice([2, 4, 8])
    at = _place(image, rng) // size * size
    number = (int.from_bytes(image[at : at + size], "little") + rng.randint(-40, 40)) % 2 ** (8 * size)
    return (image[:at] + number.to_bytes(size, "little") + image[at + size :])[: len(image)]


def _cut(image: bytes, rng: random.Random) -> bytes:
    return image[: rng.randrange(len(image))]


def _swapped(image: bytes, rng: random.Random) -> bytes:
    size = rng.choice([8, 24, 64])
    a, b = (rng.randrange(1 + len(image) // size) * size for _ in range(2))
    first, second = image[a : a + size], image[b : b + size]
    return image if len(first) != len(second) else _put(_put(image, a, second), b, first)


def _repeated(image: bytes, rng: random.Random) -> bytes:
    at, count = _place(image, rng), rng.randint(1, 64)
    return image[:at] + image[at : at + count] + image[at:]


def _missing(image: bytes, rng: random.Random) -> bytes:
    at, count = _place(image, rng), rng.randint(1, 64)
    return image[:at] + image[at + count :]


def _put(image: bytes, at: int, part: bytes) -> bytes:
    return image[:at] + part + image[at + len(part) :]


DAMAGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _flipped, _replaced, _extreme, _extreme, _nearby, _nearby, _cut, _swapped, _repeated, _missing,
)  # fmt: skip


@contextmanager
def guarded() -> Iterator[None]:
    """The linker's memory between two pages: a write into these ends the process."""
    libc: Any = ctypes.CDLL(None, use_errno=True)
    libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    made = mmap.mmap

    def between(_: int, size: int, flags: int) -> memoryview:
        whole = made(-1, size + 2 * mmap.PAGESIZE, flags=flags)
        start = ctypes.addressof(ctypes.c_char.from_buffer(whole))
        for at in (start, start + mmap.PAGESIZE + size):
            assert libc.mprotect(at, mmap.PAGESIZE, 0) == 0
        return memoryview(whole)[mmap.PAGESIZE :][:size]

    mmap.mmap = between  # type: ignore[assignment, misc]
    try:
        yield
    finally:
        mmap.mmap = made  # type: ignore[misc]


def outcome(image: bytes, llvm: bool) -> str:
    """What comes of an image: "linked", "refused", and by LLVM; or another exception, by its name."""
    try:
        with guarded():
            found = linker.linked(image, NEEDED, NAMES)
    except linker.Damaged:
        return "refused"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    if found is not None or not llvm:
        return "left to LLVM" if found is None else "linked"
    try:
        jit._linked(image, NEEDED, NAMES)
    except RuntimeError:
        return "refused by LLVM"
    return "linked by LLVM"


def work(seed: int, first: int, last: int, llvm: bool) -> None:
    """The loop of a child."""
    image = jit.compile_object(TEXT, jit.BASELINE)
    for number in range(first, last):
        print(json.dumps(["begin", number]), flush=True)  # noqa: T201
        came = outcome(damaged(image, random.Random(f"{seed} {number}")), llvm)
        print(json.dumps(["end", came]), flush=True)  # noqa: T201


def run(seed: int, count: int, llvm: bool = False) -> Counter[str]:
    """What came of so many images, by child processes: each continues after the image that ended the one before."""
    counts: Counter[str] = Counter()
    first = 0
    while first < count:
        given = json.dumps([seed, first, count, llvm])
        child = subprocess.run(
            [sys.executable, __file__, "--worker", given], capture_output=True, text=True, errors="replace"
        )
        lines = [json.loads(line) for line in child.stdout.splitlines()]
        counts.update(came for what, came in lines if what == "end")
        begun = [number for what, number in lines if what == "begin"]
        if child.returncode:
            where = f"image {begun[-1]}" if begun else "before the first image"
            counts[f"{where}: ended with {child.returncode} {child.stderr[-800:]}"] += 1
        if not begun:
            break
        first = begun[-1] + 1
    return counts


ALLOWED = {"linked", "refused", "left to LLVM", "refused by LLVM", "linked by LLVM"}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--llvm", action="store_true", help="give what is refused to LLVM's linker")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(*json.loads(options.worker))
        return 0
    counts = run(options.seed, options.count, options.llvm)
    for came, number in counts.most_common():
        print(f"{number:6} {came}")  # noqa: T201
    return 1 if counts.keys() - ALLOWED else 0


if __name__ == "__main__":
    sys.exit(main())
