"""``structured``: the arrays of an answer in the tuples, lists and dicts that a function returns, in LLVM IR.

A structure is None for an array, or a tuple of three: what makes the result of a tuple, None for the tuple itself; the
keys of a dict, or None; the structures of its parts.
"""

from __future__ import annotations

from linkwork.engine.emit.python_calls import SETTING, PythonWriter
from linkwork.engine.emit.writer import Value


def text() -> str:
    """ptr structured(setting, structure, answer): the answer of an entry, if there is any, in a structure that is more
    than an array or a tuple of several; the reference to it is released.
    """
    w = PythonWriter()
    none, place = SETTING.get(w, "%setting", "none"), w.variable("i64", 0)
    w.leave_if(w.null("%answer"), "same")
    w.leave_if(w.compare("eq", "%structure", none, "ptr"), "same")
    given = ("ptr", "%setting"), ("ptr", "%structure"), ("ptr", "%answer"), ("ptr", place)
    whole = w.call("part", *given)
    w.call("Py_DecRef", ("ptr", "%answer"))
    w.do(f"ret ptr {whole}")
    w.begin("same")
    w.do("ret ptr %answer")
    return "\n".join([_part(), w.function("internal ptr @structured(ptr %setting, ptr %structure, ptr %answer)")])


def _part() -> str:
    """ptr part(setting, structure, answer, place): a new reference, of the arrays of an answer from number ``place``
    on, which is advanced; null with a Python error if it fails.
    """
    w = PythonWriter()
    none = SETTING.get(w, "%setting", "none")
    only = w.let("alloca ptr, align 8")
    w.leave_if(w.compare("eq", "%structure", none, "ptr"), "array")

    def item(of: str, k: Value, otherwise: str) -> str:
        found = w.call("PyTuple_GetItem", ("ptr", of), ("i64", k))
        w.leave_if(w.null(found), otherwise)
        return found

    def part(k: Value) -> str:
        given = ("ptr", "%setting"), ("ptr", item(parts, k, "lost")), ("ptr", "%answer"), ("ptr", "%place")
        found = w.call("part", *given)
        w.leave_if(w.null(found), "lost")
        return found

    maker, keys, parts = (item("%structure", k, "failed") for k in range(3))
    size = w.call("PyTuple_Size", ("ptr", parts))
    w.leave_if(w.compare("slt", size, 0), "failed")
    w.leave_if(w.compare("ne", keys, none, "ptr"), "keyed")
    pack = w.call("PyTuple_New", ("i64", size))
    w.leave_if(w.null(pack), "failed")
    w.store(pack, only, "ptr")
    with w.each(size) as k:
        w.call("PyTuple_SetItem", ("ptr", pack), ("i64", k), ("ptr", part(k)))
    w.leave_if(w.compare("ne", maker, none, "ptr"), "make")
    w.do(f"ret ptr {pack}")
    w.begin("make")
    made = w.call("PyObject_Vectorcall", ("ptr", maker), ("ptr", only), ("i64", 1), ("ptr", "null"))
    w.call("Py_DecRef", ("ptr", pack))
    w.do(f"ret ptr {made}")

    w.begin("keyed")
    table = w.call("PyDict_New")
    w.leave_if(w.null(table), "failed")
    w.store(table, only, "ptr")
    with w.each(size) as k:
        key = item(keys, k, "lost")
        value = part(k)
        status = w.call("PyDict_SetItem", ("ptr", table), ("ptr", key), ("ptr", value))
        w.call("Py_DecRef", ("ptr", value))
        w.leave_if(w.compare("ne", status, 0, "i32"), "lost")
    w.do(f"ret ptr {table}")

    w.begin("array")
    number = w.load("%place", "i64")
    w.store(w.add(number, 1), "%place", "i64")
    w.leave_if(w.has_type("%answer", SETTING.get(w, "%setting", "tuple")), "several")
    w.call("Py_IncRef", ("ptr", "%answer"))
    w.do("ret ptr %answer")
    w.begin("several")
    array = item("%answer", number, "failed")
    w.call("Py_IncRef", ("ptr", array))
    w.do(f"ret ptr {array}")

    w.begin("lost")
    w.call("Py_DecRef", ("ptr", w.load(only, "ptr")))
    w.jump("failed")
    w.begin("failed")
    w.do("ret ptr null")
    return w.function("internal ptr @part(ptr %setting, ptr %structure, ptr %answer, ptr %place)")
