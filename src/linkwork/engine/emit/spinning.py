"""How generated code waits for another thread: it spins with a pause instruction, and yields once in a while.

Memory shared between threads is read and written by atomic instructions with acquire and release, only in generated
code: a plain store from Python would do on x86, but is seen in any order on ARM.
"""

from __future__ import annotations

from dataclasses import dataclass

from linkwork.engine.emit.writer import Value, Writer


@dataclass(frozen=True)
class Spinning:
    """What a family of CPUs has: the pause instruction, and how long it takes."""

    pause: str
    """The call of LLVM's intrinsic; empty if there is none."""
    declaration: str
    looks: int
    """How many polls take about a millisecond: a power of two."""

    @property
    def patience(self) -> int:
        """How often it polls before it yields: about a hundred microseconds."""
        return self.looks >> 3


_X86 = Spinning("call void @llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()\n", 1 << 15)
_ARM = Spinning("call void @llvm.aarch64.hint(i32 1)", "declare void @llvm.aarch64.hint(i32)\n", 1 << 19)
_OTHER = Spinning("", "", 1 << 19)


def spinning(triple: str) -> Spinning:
    """Of the CPUs of a target triple."""
    family = triple.partition("-")[0]
    return {"x86_64": _X86, "aarch64": _ARM, "arm64": _ARM}.get(family, _OTHER)


def wait(triple: str) -> str:
    """void wait(function, looks): pauses, and calls a function that yields to other threads, if there is one, after
    many polls that found nothing new.
    """
    how, w = spinning(triple), Writer()
    if how.pause:
        w.do(how.pause)
    often = w.compare("eq", w.let(f"and i64 %looks, {how.patience - 1}"), 0)
    with w.when(w.all_of([often, w.compare("ne", "%function", "null", "ptr")])):
        w.let("call i32 %function()")
    w.do("ret void")
    return how.declaration + w.function("internal void @wait(ptr %function, i64 %looks)")


def acquired(w: Writer, pointer: str, kind: str = "i64", order: str = "acquire") -> str:
    """An acquire load: everything that the other thread wrote before its release is visible after this."""
    return w.let(f"load atomic {kind}, ptr {pointer} {order}, align 8")


def release(w: Writer, value: Value, pointer: str, order: str = "release") -> None:
    """A release store of an integer, and of everything written before it."""
    w.do(f"store atomic i64 {value}, ptr {pointer} {order}, align 8")
