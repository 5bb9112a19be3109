"""What ``serve`` does with arrays, in LLVM's text: compares their shapes and places, makes and holds them."""

from __future__ import annotations

from linkwork.engine.emit.call_frame import CallFrame
from linkwork.engine.emit.python_calls import ARRAY, DATA, SETTING, VIEW, PythonWriter
from linkwork.engine.emit.writer import Value

PLACE = CallFrame((("ptr", "object"), ("ptr", "data"), ("i64", "axes"), ("ptr", "lengths"), ("i64", "bytes")))
"""What has been read of an array."""
_CACHE_LINE = 64
"""Bytes."""
_LARGE = 512
"""Numbers of a result from which on it begins at a cache line."""


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
    """i1 apart(places, count): whether the memory of an array overlaps that of none of the so many before it."""
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
    """ptr new_array(setting, array, leading, lengths, states): a new array for a result, with so many axes before its
    own. A large one begins at a cache line, so that a vector is not stored into two: it is a view of a larger one.
    """
    w = PythonWriter()
    empty = SETTING.get(w, "%setting", "empty")
    w.leave_if(w.compare("ne", "%leading", 0), "batch")
    w.do(f"ret ptr {w.call('PyObject_CallObject', ('ptr', empty), ('ptr', ARRAY.get(w, '%array', 'new')))}")

    def put(target: str, index: Value, item: str) -> None:
        w.leave_if(w.null(item), "lost")
        w.call("PyTuple_SetItem", ("ptr", target), ("i64", index), ("ptr", item))

    w.begin("batch")
    pack = w.call("PyTuple_New", ("i64", 4))  # what the array is made with: shape, dtype, memory and offset
    w.leave_if(w.null(pack), "nothing")
    axes = ARRAY.get(w, "%array", "axes")
    shape = w.call("PyTuple_New", ("i64", w.add("%leading", axes)))
    put(pack, 0, shape)
    own = ARRAY.pointer(w, "%array", "length0")
    for lengths, count, start in (("%lengths", "%leading", "0"), (own, axes, "%leading")):
        with w.each(count) as axis:
            length = w.load(w.at(lengths, axis, "i64"), "i64")
            put(shape, w.add(start, axis), w.call("PyLong_FromSsize_t", ("i64", length)))
    given = w.call("PyTuple_New", ("i64", 1))
    put(pack, 1, given)
    count = w.mul("%states", ARRAY.get(w, "%array", "size"))
    w.leave_if(w.compare("sge", count, _LARGE), "large")
    w.call("Py_IncRef", ("ptr", shape))
    put(given, 0, shape)
    made = w.call("PyObject_CallObject", ("ptr", empty), ("ptr", given))
    w.call("Py_DecRef", ("ptr", pack))
    w.do(f"ret ptr {made}")

    w.begin("large")
    put(given, 0, w.call("PyLong_FromSsize_t", ("i64", w.add(count, _CACHE_LINE // 8))))
    memory = w.call("PyObject_CallObject", ("ptr", empty), ("ptr", given))
    put(pack, 2, memory)
    dtype = SETTING.get(w, "%setting", "dtype")
    w.call("Py_IncRef", ("ptr", dtype))
    put(pack, 1, dtype)
    skip = w.let(f"and i64 {w.sub(0, w.field(memory, DATA, 'i64'))}, {_CACHE_LINE - 1}")
    put(pack, 3, w.call("PyLong_FromSsize_t", ("i64", skip)))
    made = w.call("PyObject_CallObject", ("ptr", SETTING.get(w, "%setting", "array")), ("ptr", pack))
    w.call("Py_DecRef", ("ptr", pack))
    w.do(f"ret ptr {made}")

    w.begin("lost")
    w.call("Py_DecRef", ("ptr", pack))
    w.jump("nothing")
    w.begin("nothing")
    w.do("ret ptr null")
    return w.function("internal ptr @new_array(ptr %setting, ptr %array, i64 %leading, ptr %lengths, i64 %states)")


def _hold() -> str:
    """i64 hold(places, count, views): takes the buffers of so many arrays; how many it could take."""
    w = PythonWriter()
    with w.each("%count") as k:
        target = PLACE.get(w, w.at("%places", w.mul(k, len(PLACE.words)), "i64"), "object")
        view = w.at("%views", w.mul(k, VIEW), "i8")
        failed = w.call("PyObject_GetBuffer", ("ptr", target), ("ptr", view), ("i32", 0))
        with w.when(w.compare("ne", failed, 0, "i32")):
            w.call("PyErr_Clear")
            w.do(f"ret i64 {k}")
            w.begin(w.block("after"))
    w.do("ret i64 %count")
    return w.function("internal i64 @hold(ptr %places, i64 %count, ptr %views)")


def _release() -> str:
    """void release(views, count): gives so many buffers back."""
    w = PythonWriter()
    with w.each("%count") as k:
        w.call("PyBuffer_Release", ("ptr", w.at("%views", w.mul(k, VIEW), "i8")))
    w.do("ret void")
    return w.function("internal void @release(ptr %views, i64 %count)")


def _forget() -> str:
    """void forget(objects, count): gives so many references back."""
    w = PythonWriter()
    with w.each("%count") as k:
        w.call("Py_DecRef", ("ptr", w.load(w.at("%objects", k, "ptr"), "ptr")))
    w.do("ret void")
    return w.function("internal void @forget(ptr %objects, i64 %count)")
