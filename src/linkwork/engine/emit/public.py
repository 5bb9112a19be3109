"""``public``: the vectorcall of a public function's object (``run.public``), in LLVM IR.

It binds the arguments to the function's parameters, and finds the entry in the model's memo: by an algorithm's name, by
the frames and that name, or by a route (``emit.routes``). Calls that are not served go to the function itself.
"""

from __future__ import annotations

from linkwork.engine.emit.builtin import Builtin
from linkwork.engine.emit.python_calls import (
    MOST_ARRAYS,
    MOST_PARAMETERS,
    PARAMETER,
    PUBLIC,
    RECORD,
    SECOND_SLOT,
    SLOT,
    PythonWriter,
)
from linkwork.engine.emit.writer import Value


def text() -> str:
    """All of it."""
    return "\n".join([_parameter(), _Public().text()])


def _parameter() -> str:
    """i64 parameter(record, name, first): which parameter from the first on has a name; the number of all if none."""
    w = PythonWriter()
    count = PUBLIC.get(w, "%record", "parameters")
    with w.each(count, "%first") as k:
        same = w.compare("eq", PARAMETER.get(w, w.parameter("%record", k), "name"), "%name", "ptr")
        with w.when(same):
            w.do(f"ret i64 {k}")
            w.begin(w.block("after"))
    w.do(f"ret i64 {count}")
    return w.function("internal i64 @parameter(ptr %record, ptr %name, i64 %first)")


class _Public(Builtin):
    """ptr public(self, objects, given, keywords): a vectorcall function, whose self has the words of a ``PUBLIC``."""

    def text(self) -> str:
        self.bound, self.owned = self.let(f"alloca [{MOST_PARAMETERS} x ptr], align 8"), self.variable("ptr", "null")
        arguments = self.let(f"alloca [{max(MOST_PARAMETERS, MOST_ARRAYS)} x ptr], align 8")
        self.record = self.field("%self", RECORD, "ptr")
        self.setting = PUBLIC.get(self, self.record, "setting")
        self.may_serve()
        self.bind(self.let(f"and i64 %given, {2**63 - 1}"))  # without the flag of vectorcall
        count = PUBLIC.get(self, self.record, "arguments")
        with self.each(count) as k:
            self.store(self.parameter_at("argument", k), self.at(arguments, k, "ptr"), "ptr")
        present = self.present(arguments, count)
        which = self.with_further(arguments, present)
        with self.when(self.null(PUBLIC.get(self, self.record, "algorithm"))):
            self.by_route(arguments, present)
        name = self.chosen()
        by_frames, by_model, found = (self.block(part) for part in ("by_frames", "by_model", "found"))
        asked = self.compare("sge", PUBLIC.get(self, self.record, "frames"), 0)
        self.branch(asked, by_frames, by_model)
        self.begin(by_frames)
        of_frames, from_frames = self.by_frames(name), self.label
        self.jump(found)
        self.begin(by_model)
        of_model = self.found_in_model(SLOT, "of_model", name)
        self.leave_if(self.null(of_model), "otherwise")
        from_model = self.label
        self.jump(found)
        self.begin(found)
        holder = self.let(f"phi ptr [ {of_frames}, %{from_frames} ], [ {of_model}, %{from_model} ]")
        self.store(holder, self.owned, "ptr")
        self.answer(holder, self.bound_at("out"), arguments, which)
        self.begin("otherwise")
        self.release()
        self.leave_if(self.compare("ne", self.call("PyErr_Occurred"), "null", "ptr"), "failed")
        given = ("ptr", "%objects"), ("i64", "%given"), ("ptr", "%keywords")
        other = self.call("PyObject_Vectorcall", ("ptr", PUBLIC.get(self, self.record, "function")), *given)
        self.do(f"ret ptr {other}")
        self.begin("failed")
        self.do("ret ptr null")
        return self.function("ptr @public(ptr %self, ptr %objects, i64 %given, ptr %keywords)")

    def bind(self, count: str) -> None:
        """Bind each parameter, to null if it is missing."""
        everything = PUBLIC.get(self, self.record, "parameters")
        self.leave_if(self.compare("sgt", count, PUBLIC.get(self, self.record, "positional")), "otherwise")
        with self.each(count) as k:
            self.store(self.item("%objects", k), self.at(self.bound, k, "ptr"), "ptr")
        with self.each(everything, count) as k:
            default = PARAMETER.get(self, self.parameter(self.record, k), "default")
            self.store(default, self.at(self.bound, k, "ptr"), "ptr")
        with self.when(self.compare("ne", "%keywords", "null", "ptr")):
            named = self.call("PyTuple_Size", ("ptr", "%keywords"))
            with self.each(named) as k:
                name = self.call("PyTuple_GetItem", ("ptr", "%keywords"), ("i64", k))
                which = self.call("parameter", ("ptr", self.record), ("ptr", name), ("i64", count))
                self.leave_if(self.compare("eq", which, everything), "otherwise")
                self.store(self.item("%objects", self.add(count, k)), self.at(self.bound, which, "ptr"), "ptr")

    def with_further(self, arguments: str, present: str) -> str:
        """Appends the further arguments that are given; what an entry for all is found by. Continue if no parameter is
        missing, and those that must be left out are.
        """
        count, which = (self.variable("i64", present) for _ in range(2))
        with self.each(PUBLIC.get(self, self.record, "parameters")) as k:
            value, parameter = self.item(self.bound, k), self.parameter(self.record, k)
            self.leave_if(self.null(value), "otherwise")
            given = self.compare("ne", value, PARAMETER.get(self, parameter, "default"), "ptr")
            with self.when(given):
                self.leave_if(self.compare("ne", PARAMETER.get(self, parameter, "fixed"), 0), "otherwise")
            adds = PARAMETER.get(self, parameter, "further")
            with self.when(self.all_of([self.compare("ne", adds, 0), given])):
                last = self.load(count, "i64")
                self.store(value, self.at(arguments, last, "ptr"), "ptr")
                self.store(self.add(last, 1), count, "i64")
                self.store(self.add(self.load(which, "i64"), self.add(adds, 1)), which, "i64")
        return self.load(which, "i64")

    def parameter_at(self, what: str, k: Value) -> str:
        """The value of the parameter whose number is this word of parameter k's."""
        return self.item(self.bound, PARAMETER.get(self, self.parameter(self.record, k), what))

    def bound_at(self, name: str) -> str:
        """The value of the parameter whose number is this word of the record."""
        return self.item(self.bound, PUBLIC.get(self, self.record, name))

    def chosen(self) -> str:
        """The algorithm's name, from a table for each parameter that chooses it: continue if there is one."""
        name = self.variable("ptr", PUBLIC.get(self, self.record, "algorithm"))
        with self.each(PUBLIC.get(self, self.record, "choosers")) as k:
            key = self.parameter_at("chooser", k)
            self.leave_if(self.compare("eq", self.has_type(key, self.python("str")), 0, "i1"), "otherwise")
            item = self.call("PyDict_GetItemWithError", ("ptr", self.load(name, "ptr")), ("ptr", key))
            self.leave_if(self.null(item), "otherwise")
            self.store(item, name, "ptr")
        return self.load(name, "ptr")

    def found_in_model(self, slot: int, table: str, key: str) -> str:
        """The item of a table of the model, a new reference, or null."""
        given = ("ptr", self.item(self.bound, 0)), ("i64", slot), ("ptr", self.python(table)), ("ptr", key)
        return self.call("find_in_model", ("ptr", self.setting), *given)

    def by_route(self, arguments: str, present: str) -> None:
        """Return the answer of the route for the call's choices."""
        bound, out = ("ptr", self.bound), ("ptr", self.bound_at("out"))
        given = ("ptr", "%self"), ("ptr", self.record), bound, ("ptr", arguments), ("i64", present), out
        self.give_back(self.call("routed", *given))
        self.begin(self.block("after"))

    def by_frames(self, name: str) -> str:
        key = self.call("key", ("ptr", self.setting), ("ptr", self.bound_at("frames")))
        self.leave_if(self.null(key), "otherwise")
        asked = self.found_in_model(SECOND_SLOT, "frames", key)
        self.call("Py_DecRef", ("ptr", key))
        self.leave_if(self.null(asked), "otherwise")
        item = self.call(
            "find", ("ptr", self.setting), ("ptr", asked), ("ptr", self.python("of_frames")), ("ptr", name)
        )
        self.call("Py_DecRef", ("ptr", asked))
        self.leave_if(self.null(item), "otherwise")
        return item
