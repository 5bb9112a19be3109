"""The array operations of ``serve``, in LLVM IR: compares shapes and memory, creates arrays and holds their buffers."""

from __future__ import annotations

from linkwork.engine.emit.call_frame import CallFrame
from linkwork.engine.emit.python_calls import ARRAY, FLOAT64, OWNER, SETTING, VIEW, PythonWriter
from linkwork.engine.emit.writer import Value

PLACE = CallFrame((("ptr", "object"), ("ptr", "data"), ("i64", "axes"), ("ptr", "lengths"), ("i64", "bytes")))
"""What has been read of an array."""
_MOST_AXES = 32
"""Of an array in any version of NumPy."""


def text() -> str:
    """All of it."""
    return "\n".join([_same(), _apart(), _new_array(), _hold(), _release(), _forget()])


def _same() -> str:
    """i1 same(lengths, others, count): whether so many lengths are the same."""
    w = PythonWriter()
    with w.each("%count") as axis:
        w.leave_if(
            w.compare("ne", w.load(w.at("%lengths", axis, "i64"), "i64"), w.load(w.at("%others", axis, "i64"), "i64")),
            "no",
        )
    w.do("ret i1 true")
    w.begin("no")
    w.do("ret i1 false")
    return w.function("internal i1 @same(ptr %lengths, ptr %others, i64 %count)")


def _apart() -> str:
    """i1 apart(places, count): whether the memory of an array overlaps none of the ``count`` before it."""
    w = PythonWriter()

    def span(k: Value) -> tuple[str, str]:
        place = w.at("%places", w.mul(k, len(PLACE.words)), "i64")
        start = w.let(f"ptrtoint ptr {PLACE.get(w, place, 'data')} to i64")
        return start, w.add(start, PLACE.get(w, place, "bytes"))

    first, end = span("%count")
    with w.each("%count") as k:
        other, other_end = span(k)
        meets = w.all_of([w.compare("ult", first, other_end), w.compare("ult", other, end)])
        w.leave_if(meets, "no")
    w.do("ret i1 true")
    w.begin("no")
    w.do("ret i1 false")
    return w.function("internal i1 @apart(ptr %places, i64 %count)")


def _new_array() -> str:
    """ptr new_array(setting, array, leading, lengths): a new array for a result, with so many axes before its own."""
    w = PythonWriter()
    lengths = w.let(f"alloca [{_MOST_AXES} x i64], align 8")
    axes = ARRAY.get(w, "%array", "axes")
    own = ARRAY.pointer(w, "%array", "length0")
    parts = ("%lengths", "%leading", "0"), (own, axes, "%leading")
    create, kind = (SETTING.get(w, "%setting", name) for name in ("create", "array"))
    total = w.add("%leading", axes)
    w.leave_if(w.compare("sgt", total, _MOST_AXES), "nothing")
    for given, number, start in parts:
        with w.each(number) as axis:
            length = w.load(w.at(given, axis, "i64"), "i64")
            w.store(length, w.at(lengths, w.add(start, axis), "i64"), "i64")
    shape = f"ptr {kind}, i32 {w.let(f'trunc i64 {total} to i32')}, ptr {lengths}, i32 {FLOAT64}, ptr null"
    w.do(f"ret ptr {w.let(f'call ptr {create}({shape}, ptr null, i32 0, i32 0, ptr null)')}")
    w.begin("nothing")
    w.do("ret ptr null")
    return w.function("internal ptr @new_array(ptr %setting, ptr %array, i64 %leading, ptr %lengths)")


def _hold() -> str:
    """i64 hold(setting, places, count, views): acquires the buffers of so many arrays; how many it could acquire. A
    Python float has none, and its number never changes.
    """
    w = PythonWriter()
    with w.each("%count") as k:
        target = PLACE.get(w, w.at("%places", w.mul(k, len(PLACE.words)), "i64"), "object")
        view = w.at("%views", w.mul(k, VIEW), "i8")
        w.store("null", w.at(view, OWNER, "i8"), "ptr")
        number = w.has_type(target, SETTING.get(w, "%setting", "float"))
        with w.when(w.compare("eq", number, 0, "i1")):
            failed = w.call("PyObject_GetBuffer", ("ptr", target), ("ptr", view), ("i32", 0))
            with w.when(w.compare("ne", failed, 0, "i32")):
                w.call("PyErr_Clear")
                w.do(f"ret i64 {k}")
                w.begin(w.block("after"))
    w.do("ret i64 %count")
    return w.function("internal i64 @hold(ptr %setting, ptr %places, i64 %count, ptr %views)")


def _release() -> str:
    """void release(views, count): releases so many buffers."""
    w = PythonWriter()
    with w.each("%count") as k:
        w.call("PyBuffer_Release", ("ptr", w.at("%views", w.mul(k, VIEW), "i8")))
    w.do("ret void")
    return w.function("internal void @release(ptr %views, i64 %count)")


def _forget() -> str:
    """void forget(objects, count): releases so many references."""
    w = PythonWriter()
    with w.each("%count") as k:
        w.call("Py_DecRef", ("ptr", w.load(w.at("%objects", k, "ptr"), "ptr")))
    w.do("ret void")
    return w.function("internal void @forget(ptr %objects, i64 %count)")
