"""``routed``: a call that is identified by its choices, in LLVM IR.

Besides arrays, many public functions take arguments that select the code or are passed to it as numbers: constraints,
points, a method, a damping. A call that has been made before with the same choices has a *route*: a tuple of the
entry's capsule, what its results are converted to (or None), and for each argument of the entry an array, or None for
the next array of the call. Routes are in a table of the model, or of the function itself if it takes none, keyed by a
tuple of the function, the number of arrays, and each choice with its class, since 1, 1.0 and True are equal.
``run.routes`` makes the same key.
"""

from __future__ import annotations

from linkwork.engine.emit.python_calls import (
    BY_VALUE,
    CLASS,
    MOST_ARRAYS,
    PARAMETER,
    PUBLIC,
    SETTING,
    SLOT,
    PythonWriter,
)

HEAD = 2
"""Items of a key before the choices, and of a route before the arguments."""


def text() -> str:
    """All of it."""
    return "\n".join([_excuse(), _find(), _find_in_model(), _key(), _identities(), _Routed().text()])


def _excuse() -> str:
    """void excuse(setting): clears a Python error that an argument's own code has raised, which the checked path
    reports; any other, such as an interrupt, stays (``errors.excuse``).
    """
    w = PythonWriter()
    w.leave_if(w.null(w.call("PyErr_Occurred")), "end")
    parts = kind, error, trace = [w.variable("ptr", "null") for _ in range(3)]
    for function in ("PyErr_Fetch", "PyErr_NormalizeException"):
        w.call(function, *(("ptr", part) for part in parts))
    with w.when(w.compare("ne", w.load(trace, "ptr"), "null", "ptr")):
        w.call("PyException_SetTraceback", ("ptr", w.load(error, "ptr")), ("ptr", w.load(trace, "ptr")))
    given = ("ptr", error), ("i64", 1), ("ptr", "null")
    answer = w.call("PyObject_Vectorcall", ("ptr", SETTING.get(w, "%setting", "excuse")), *given)
    for owned in (answer, *(w.load(part, "ptr") for part in (kind, error, trace))):
        w.call("Py_DecRef", ("ptr", owned))
    w.jump("end")
    w.begin("end")
    w.do("ret void")
    return w.function("internal void @excuse(ptr %setting)")


def _find() -> str:
    """ptr find(setting, object, name, key): the item of a dictionary that is an attribute of an object, a new
    reference; null if there is none, with a Python error only if it does not come from an argument.
    """
    w = PythonWriter()
    table = w.call("PyObject_GetAttr", ("ptr", "%object"), ("ptr", "%name"))
    w.leave_if(w.null(table), "missing")
    w.do(f"ret ptr {w.call('item', ('ptr', '%setting'), ('ptr', table), ('ptr', '%key'))}")
    w.begin("missing")
    w.call("excuse", ("ptr", "%setting"))
    w.do("ret ptr null")
    return "\n".join([_item(), w.function("internal ptr @find(ptr %setting, ptr %object, ptr %name, ptr %key)")])


def _item() -> str:
    """ptr item(setting, table, key): the same for a dictionary, whose reference is released: keys may run Python."""
    w = PythonWriter()
    item = w.call("PyDict_GetItemWithError", ("ptr", "%table"), ("ptr", "%key"))
    found, missing = w.block("found"), w.block("missing")
    w.branch(w.null(item), missing, found)
    w.begin(found)
    w.call("Py_IncRef", ("ptr", item))
    w.call("Py_DecRef", ("ptr", "%table"))
    w.do(f"ret ptr {item}")
    w.begin(missing)
    w.call("Py_DecRef", ("ptr", "%table"))
    w.call("excuse", ("ptr", "%setting"))
    w.do("ret ptr null")
    return w.function("internal ptr @item(ptr %setting, ptr %table, ptr %key)")


def _find_in_model() -> str:
    """ptr find_in_model(setting, model, slot, name, key): the same for a table of a model, at the offset of its slot if
    that is set.
    """
    w = PythonWriter()
    slot, look, item = (w.block(part) for part in ("slot", "look", "item"))
    w.branch(w.has_type("%model", SETTING.get(w, "%setting", "model")), slot, look)
    w.begin(slot)
    table = w.load(w.at("%model", "%slot", "i8"), "ptr")
    w.branch(w.null(table), look, item)
    w.begin(item)
    w.call("Py_IncRef", ("ptr", table))
    w.do(f"ret ptr {w.call('item', ('ptr', '%setting'), ('ptr', table), ('ptr', '%key'))}")
    w.begin(look)
    given = ("ptr", "%setting"), ("ptr", "%model"), ("ptr", "%name"), ("ptr", "%key")
    w.do(f"ret ptr {w.call('find', *given)}")
    return w.function("internal ptr @find_in_model(ptr %setting, ptr %model, i64 %slot, ptr %name, ptr %key)")


def _key() -> str:
    """ptr key(setting, value): the key of a value, a new reference; null, without an error, if there is none. A list is
    not hashable: a tuple of its items is the key, or a single name; the key of a dict is a tuple of its keys.
    """
    w = PythonWriter()
    other, known, several, only, mapping = (w.block(part) for part in ("other", "known", "several", "only", "mapping"))
    w.leave_if(w.compare("eq", w.has_type("%value", SETTING.get(w, "%setting", "list")), 0, "i1"), other)
    w.leave_if(w.compare("ne", w.call("PyList_Size", ("ptr", "%value")), 1), several)
    item = w.call("PyList_GetItem", ("ptr", "%value"), ("i64", 0))
    w.branch(w.has_type(item, SETTING.get(w, "%setting", "str")), only, several)
    w.begin(only)
    w.call("Py_IncRef", ("ptr", item))
    w.do(f"ret ptr {item}")
    w.begin(several)
    made = w.call("PyList_AsTuple", ("ptr", "%value"))
    with w.when(w.null(made)):
        w.call("PyErr_Clear")
    w.do(f"ret ptr {made}")
    w.begin(other)
    w.branch(w.has_type("%value", SETTING.get(w, "%setting", "dict")), mapping, known)
    w.begin(mapping)
    keys = w.call("PyDict_Keys", ("ptr", "%value"))
    w.leave_if(w.null(keys), "lost")
    made = w.call("PyList_AsTuple", ("ptr", keys))
    w.call("Py_DecRef", ("ptr", keys))
    w.leave_if(w.null(made), "lost")
    w.do(f"ret ptr {made}")
    w.begin("lost")
    w.call("PyErr_Clear")
    w.do("ret ptr null")
    w.begin(known)
    w.call("Py_IncRef", ("ptr", "%value"))
    w.do("ret ptr %value")
    return w.function("internal ptr @key(ptr %setting, ptr %value)")


def _identities() -> str:
    """ptr identities(setting, value): the addresses of the items of a list or tuple, as a tuple, or that of anything
    else; a new reference, or null, without an error.
    """
    w = PythonWriter()
    held = w.variable("ptr", "null")
    several, listed, alone = (w.block(part) for part in ("several", "listed", "alone"))
    w.leave_if(w.has_type("%value", SETTING.get(w, "%setting", "list")), listed)
    w.branch(w.has_type("%value", SETTING.get(w, "%setting", "tuple")), several, alone)
    w.begin(listed)
    copied = w.call("PyList_AsTuple", ("ptr", "%value"))
    w.leave_if(w.null(copied), "lost")
    w.store(copied, held, "ptr")
    w.jump("count")
    w.begin(several)
    w.call("Py_IncRef", ("ptr", "%value"))
    w.store("%value", held, "ptr")
    w.jump("count")
    w.begin("count")
    items = w.load(held, "ptr")
    count = w.call("PyTuple_Size", ("ptr", items))
    made = w.call("PyTuple_New", ("i64", count))
    w.leave_if(w.null(made), "drop")
    with w.each(count) as k:
        item = w.call("PyTuple_GetItem", ("ptr", items), ("i64", k))
        number = w.call("PyLong_FromVoidPtr", ("ptr", item))
        with w.when(w.null(number)):
            w.call("Py_DecRef", ("ptr", made))
            w.jump("drop")
            w.begin(w.block("after"))
        w.call("PyTuple_SetItem", ("ptr", made), ("i64", k), ("ptr", number))
    w.call("Py_DecRef", ("ptr", items))
    w.do(f"ret ptr {made}")
    w.begin("drop")
    w.call("Py_DecRef", ("ptr", items))
    w.jump("lost")
    w.begin(alone)
    number = w.call("PyLong_FromVoidPtr", ("ptr", "%value"))
    w.leave_if(w.null(number), "lost")
    w.do(f"ret ptr {number}")
    w.begin("lost")
    w.call("PyErr_Clear")
    w.do("ret ptr null")
    return w.function("internal ptr @identities(ptr %setting, ptr %value)")


class _Routed(PythonWriter):
    """Writes ptr routed(self, record, bound, arrays, present, out): the answer of a call's route, given the values of
    the parameters and the arrays among these, to which those of a dict are added; null if it is not served, with a
    Python error only if its results could not be converted, or the search for the route was interrupted.
    """

    def text(self) -> str:
        self.arguments = self.let(f"alloca [{MOST_ARRAYS} x ptr], align 8")
        self.setting = PUBLIC.get(self, "%record", "setting")
        self.values, self.key, self.route, self.found = (self.variable("ptr", "null") for _ in range(4))
        self.count, self.taken = self.variable("i64", "%present"), self.variable("i64", 0)
        self.take_values()
        self.make_key()
        self.find_route()
        count = self.line_up()
        capsule = self.call("PyTuple_GetItem", ("ptr", self.load(self.route, "ptr")), ("i64", 0))
        entry = self.call("PyCapsule_GetPointer", ("ptr", capsule), ("ptr", "null"))
        self.leave_if(self.null(entry), "clear")
        given = ("ptr", self.setting), ("ptr", entry), ("ptr", "%out"), ("ptr", self.arguments), ("i64", count)
        self.store(self.call("serve", *given), self.found, "ptr")
        self.leave_if(self.null(self.load(self.found, "ptr")), "end")
        self.make_into()
        self.jump("end")
        self.begin("clear")
        self.call("PyErr_Clear")
        self.jump("end")
        self.begin("end")
        for each in (self.values, self.key, self.route):
            self.call("Py_DecRef", ("ptr", self.load(each, "ptr")))  # a no-op for null
        self.do(f"ret ptr {self.load(self.found, 'ptr')}")
        return self.function(
            "internal ptr @routed(ptr %self, ptr %record, ptr %bound, ptr %arrays, i64 %present, ptr %out)"
        )

    def bound(self, k: str) -> str:
        return self.load(self.at("%bound", k, "ptr"), "ptr")

    def take_values(self) -> None:
        """Add the values of a dict to the arrays, if a parameter is one."""
        number = PUBLIC.get(self, "%record", "mapping")
        with self.when(self.compare("sge", number, 0)):
            mapping = self.bound(number)
            self.leave_if(self.compare("eq", self.has_type(mapping, self.python("dict")), 0, "i1"), "end")
            values = self.call("PyDict_Values", ("ptr", mapping))
            self.leave_if(self.null(values), "clear")
            self.store(values, self.values, "ptr")
            size = self.call("PyList_Size", ("ptr", values))
            total = self.add("%present", size)
            self.leave_if(self.compare("sgt", total, MOST_ARRAYS), "end")
            with self.each(size) as k:
                item = self.call("PyList_GetItem", ("ptr", values), ("i64", k))
                self.store(item, self.at("%arrays", self.add("%present", k), "ptr"), "ptr")
            self.store(total, self.count, "i64")

    def python(self, name: str) -> str:
        return SETTING.get(self, self.setting, name)

    def put(self, index: str, item: str) -> None:
        """Into the key, a new reference."""
        self.leave_if(self.null(item), "clear")
        self.call("PyTuple_SetItem", ("ptr", self.load(self.key, "ptr")), ("i64", index), ("ptr", item))

    def make_key(self) -> None:
        choices = PUBLIC.get(self, "%record", "choices")
        key = self.call("PyTuple_New", ("i64", self.add(self.mul(choices, 2), HEAD)))
        self.leave_if(self.null(key), "clear")
        self.store(key, self.key, "ptr")
        self.call("Py_IncRef", ("ptr", "%self"))
        self.put("0", "%self")
        self.put("1", self.call("PyLong_FromSsize_t", ("i64", self.load(self.count, "i64"))))
        part = self.variable("ptr", "null")
        with self.each(choices) as k:
            words = self.parameter("%record", k)
            value = self.bound(PARAMETER.get(self, words, "choice"))
            first = self.add(self.mul(k, 2), HEAD)
            by_value, by_identity, known = (self.block(name) for name in ("by_value", "by_identity", "known"))
            self.branch(self.compare("eq", PARAMETER.get(self, words, "known_by"), BY_VALUE), by_value, by_identity)
            self.begin(by_value)
            self.store(self.call("key", ("ptr", self.setting), ("ptr", value)), part, "ptr")
            self.jump(known)
            self.begin(by_identity)
            self.store(self.call("identities", ("ptr", self.setting), ("ptr", value)), part, "ptr")
            self.jump(known)
            self.begin(known)
            self.put(first, self.load(part, "ptr"))
            kind = self.field(value, CLASS, "ptr")
            self.call("Py_IncRef", ("ptr", kind))
            self.put(self.add(first, 1), kind)

    def find_route(self) -> None:
        """In the table of the model, which is the first parameter, or of the function."""
        own, key = self.compare("ne", PUBLIC.get(self, "%record", "model"), 0), self.load(self.key, "ptr")
        model, name = self.bound("0"), self.python("of_model")
        of_model = f"call ptr @find_in_model(ptr {self.setting}, ptr {model}, i64 {SLOT}, ptr {name}, ptr {key})"
        of_function = f"call ptr @find(ptr {self.setting}, ptr %self, ptr {self.python('of_frames')}, ptr {key})"
        route = self.one_of(own, "ptr", of_model, of_function)
        self.store(route, self.route, "ptr")
        self.leave_if(self.null(route), "end")

    def line_up(self) -> str:
        """The entry's arguments: those of the route, interleaved with those of the call; how many there are."""
        route = self.load(self.route, "ptr")
        count = self.sub(self.call("PyTuple_Size", ("ptr", route)), HEAD)
        with self.each(count) as k:
            item = self.call("PyTuple_GetItem", ("ptr", route), ("i64", self.add(k, HEAD)))
            place = self.at(self.arguments, k, "ptr")
            self.store(item, place, "ptr")
            with self.when(self.compare("eq", item, self.python("none"), "ptr")):
                number = self.load(self.taken, "i64")
                self.leave_if(self.compare("sge", number, self.load(self.count, "i64")), "end")
                self.store(self.load(self.at("%arrays", number, "ptr"), "ptr"), place, "ptr")
                self.store(self.add(number, 1), self.taken, "i64")
        return count

    def make_into(self) -> None:
        """Convert the results, if they are not returned as they are."""
        maker = self.call("PyTuple_GetItem", ("ptr", self.load(self.route, "ptr")), ("i64", 1))
        with self.when(self.compare("ne", maker, self.python("none"), "ptr")):
            found = self.load(self.found, "ptr")
            given = ("ptr", self.found), ("i64", 1), ("ptr", "null")
            made = self.call("PyObject_Vectorcall", ("ptr", maker), *given)
            self.call("Py_DecRef", ("ptr", found))
            self.store(made, self.found, "ptr")
