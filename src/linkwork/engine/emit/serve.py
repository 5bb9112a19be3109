"""``serve``: one call of code by its entry, in LLVM's text.

It takes the arguments' buffers, makes the results or takes the caller's, runs the code and gives everything back.
"""

from __future__ import annotations

from linkwork.engine.emit.python_calls import (
    ARRAY,
    CONTIGUOUS,
    ENTRY,
    FORMAT,
    LENGTH,
    MOST_ARRAYS,
    NDIM,
    SETTING,
    SHAPE,
    VIEW,
    WRITABLE,
    PythonWriter,
)
from linkwork.engine.emit.writer import Value

_CACHE_LINE = 64
"""Bytes."""
_LARGE = 512
"""Numbers of a result from which on it begins at a cache line."""


def text() -> str:
    """``serve``, and the functions that only it calls."""
    return "\n".join([_fits(), _same(), _apart(), _new_array(), _release(), _forget(), _Serve().text()])


def _fits() -> str:
    """i1 fits(view, array, leading): whether a buffer has doubles, and an array's own lengths behind so many axes."""
    w = PythonWriter()
    w.leave_if(w.compare("slt", "%leading", 0), "no")
    letters = w.load(w.field("%view", FORMAT, "ptr"), "i16", 1)
    w.leave_if(w.compare("ne", letters, ord("d"), "i16"), "no")  # "d" and the end of the string, little-endian
    lengths = w.at(w.field("%view", SHAPE, "ptr"), "%leading", "i64")
    own = ARRAY.pointer(w, "%array", "length0")
    w.do(f"ret i1 {w.call('same', ('ptr', lengths), ('ptr', own), ('i64', ARRAY.get(w, '%array', 'axes')))}")
    w.begin("no")
    w.do("ret i1 false")
    return w.function("internal i1 @fits(ptr %view, ptr %array, i64 %leading)")


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
    """i1 apart(views, count): whether the memory of a view overlaps that of none of the so many views before it."""
    w = PythonWriter()

    def span(view: str) -> tuple[str, str]:
        start = w.load(view, "i64")
        return start, w.add(start, w.field(view, LENGTH, "i64"))

    first, end = span(w.view("%views", "%count"))
    with w.each("%count") as k:
        other, other_end = span(w.view("%views", k))
        meets = w.all_of([w.compare("ult", first, other_end), w.compare("ult", other, end)])
        w.leave_if(meets, "no")
    w.do("ret i1 true")
    w.begin("no")
    w.do("ret i1 false")
    return w.function("internal i1 @apart(ptr %views, i64 %count)")


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
    view = w.let(f"alloca [{VIEW} x i8], align 8")
    failed = w.call("PyObject_GetBuffer", ("ptr", memory), ("ptr", view), ("i32", CONTIGUOUS))
    w.leave_if(w.compare("ne", failed, 0, "i32"), "lost")
    skip = w.let(f"and i64 {w.sub(0, w.load(view, 'i64'))}, {_CACHE_LINE - 1}")
    w.call("PyBuffer_Release", ("ptr", view))
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


def _release() -> str:
    """void release(views, count): gives so many buffers back."""
    w = PythonWriter()
    with w.each("%count") as k:
        w.call("PyBuffer_Release", ("ptr", w.view("%views", k)))
    w.do("ret void")
    return w.function("internal void @release(ptr %views, i64 %count)")


def _forget() -> str:
    """void forget(objects, count): gives so many references back."""
    w = PythonWriter()
    with w.each("%count") as k:
        w.call("Py_DecRef", ("ptr", w.load(w.at("%objects", k, "ptr"), "ptr")))
    w.do("ret void")
    return w.function("internal void @forget(ptr %objects, i64 %count)")


class _Serve(PythonWriter):
    """Writes ptr serve(setting, first, out, objects, count): the answer of an entry, of ``first`` or those that follow
    it; null, without an error of Python's, where it is not served.

    What has been taken is counted, and given back wherever it ends: ``taken`` buffers, ``made`` objects, the word busy.
    """

    def text(self) -> str:
        self.views = self.let(f"alloca [{MOST_ARRAYS * VIEW} x i8], align 8")
        self.results = self.let(f"alloca [{MOST_ARRAYS} x ptr], align 8")
        self.leading, self.taken, self.made = (self.variable("i64", 0) for _ in range(3))
        self.states, self.lengths = self.variable("i64", 1), self.variable("ptr", "null")
        self.record = self.entry()
        self.leave_if(self.compare("ne", self.locked(), 0), "nothing")
        arguments, results = (ENTRY.get(self, self.record, name) for name in ("arguments", "results"))
        with self.each(arguments) as k:
            self.take(k)
        code, words = self.chosen()
        with self.each(results) as k:
            self.target(k, arguments, results)
        with self.each(self.add(arguments, results)) as k:
            self.tell(k, arguments, words)
        self.store(
            self.load(self.states, "i64"), self.at(words, ENTRY.get(self, self.record, "states_at"), "i64"), "i64"
        )
        status = self.run(code, words)
        self.give_back()
        self.leave_if(self.compare("ne", status, 0), "drop")
        self.answer(results)
        self.begin("unserved")
        self.give_back()
        self.jump("drop")
        self.begin("drop")
        self.call("forget", ("ptr", self.results), ("i64", self.load(self.made, "i64")))
        self.jump("nothing")
        self.begin("nothing")
        self.do("ret ptr null")
        return self.function("internal ptr @serve(ptr %setting, ptr %first, ptr %out, ptr %objects, i64 %count)")

    def entry(self) -> str:
        """The one for so many arguments."""
        look, other, found = (self.block(part) for part in ("look", "other", "found"))
        before, record, following = self.label, self.name(), self.name()
        self.jump(look)
        self.begin(look)
        self.let(f"phi ptr [ %first, %{before} ], [ {following}, %{other} ]", record)
        self.leave_if(self.null(record), "nothing")
        self.branch(self.compare("eq", ENTRY.get(self, record, "arguments"), "%count"), found, other)
        self.begin(other)
        self.load(ENTRY.pointer(self, record, "next"), "ptr", name=following)
        self.jump(look)
        self.begin(found)
        return record

    def locked(self) -> str:
        """What the word busy was before it was set."""
        return self.let(f"atomicrmw xchg ptr {ENTRY.get(self, self.record, 'busy')}, i64 1 acquire")

    def give_back(self) -> None:
        """Buffers and words."""
        self.call("release", ("ptr", self.views), ("i64", self.load(self.taken, "i64")))
        self.do(f"store atomic i64 0, ptr {ENTRY.get(self, self.record, 'busy')} release, align 8")

    def buffer(self, target: str, flags: int) -> tuple[str, str]:
        """The next view, taken from an array of NumPy's own class, and its number of axes."""
        plain = self.has_type(target, SETTING.get(self, "%setting", "array"))
        self.leave_if(self.let(f"xor i1 {plain}, true"), "unserved")
        taken = self.load(self.taken, "i64")
        view = self.view(self.views, taken)
        failed = self.call("PyObject_GetBuffer", ("ptr", target), ("ptr", view), ("i32", flags))
        good, error = self.block("good"), self.block("error")
        self.branch(self.compare("eq", failed, 0, "i32"), good, error)
        self.begin(error)
        self.call("PyErr_Clear")
        self.jump("unserved")
        self.begin(good)
        self.store(self.add(taken, 1), self.taken, "i64")
        axes = self.let(f"sext i32 {self.field(view, NDIM, 'i32')} to i64")
        return view, axes

    def take(self, k: str) -> None:
        """Argument k: go on if it is an array for one state, or for as many as the others."""
        view, axes = self.buffer(self.load(self.at("%objects", k, "ptr"), "ptr"), CONTIGUOUS)
        array = self.array(self.record, k)
        leading = self.sub(axes, ARRAY.get(self, array, "axes"))
        fits = self.call("fits", ("ptr", view), ("ptr", array), ("i64", leading))
        self.leave_if(self.let(f"xor i1 {fits}, true"), "unserved")
        known = self.load(self.leading, "i64")
        lengths = self.field(view, SHAPE, "ptr")
        with self.when(self.compare("ne", leading, 0)):
            compare, learn, end = (self.block(part) for part in ("compare", "learn", "learned"))
            self.branch(self.compare("eq", known, 0), learn, compare)
            self.begin(compare)
            self.leave_if(self.compare("ne", leading, known), "unserved")
            shape = self.load(self.lengths, "ptr")
            same = self.call("same", ("ptr", lengths), ("ptr", shape), ("i64", leading))
            self.branch(same, end, "unserved")
            self.begin(learn)
            self.store(leading, self.leading, "i64")
            self.store(lengths, self.lengths, "ptr")
            with self.each(leading) as axis:
                length = self.load(self.at(lengths, axis, "i64"), "i64")
                self.store(self.mul(self.load(self.states, "i64"), length), self.states, "i64")
            self.jump(end)
            self.begin(end)

    def chosen(self) -> tuple[str, str]:
        """The code for so many states, and its words: go on if there is any."""
        states = self.load(self.states, "i64")
        self.leave_if(self.compare("eq", states, 0), "unserved")
        self.leave_if(self.compare("sgt", states, ENTRY.get(self, self.record, "most")), "unserved")
        single = self.compare("eq", states, 1)
        code, words = (
            self.either(single, "ptr", *(ENTRY.get(self, self.record, f"{form}{what}") for form in ("one", "batch")))
            for what in ("", "_words")
        )
        self.leave_if(self.null(code), "unserved")
        return code, words

    def target(self, k: str, arguments: str, results: str) -> None:
        """Result k: a new array, or the caller's, if it is fit for it."""
        array = self.array(self.record, self.add(arguments, k))
        place = self.at(self.results, k, "ptr")
        fresh, given, several, only, ready, check, end = (
            self.block(part) for part in ("fresh", "given", "several", "only", "ready", "check", "end")
        )
        leading, lengths = self.load(self.leading, "i64"), self.load(self.lengths, "ptr")
        none = self.compare("eq", "%out", "@_Py_NoneStruct", "ptr")
        self.branch(none, fresh, given)
        self.begin(fresh)
        made = self.call(
            "new_array",
            ("ptr", "%setting"),
            ("ptr", array),
            ("i64", leading),
            ("ptr", lengths),
            ("i64", self.load(self.states, "i64")),
        )
        self.leave_if(self.null(made), "unserved")
        self.store(made, place, "ptr")
        self.jump(ready)
        self.begin(given)
        self.branch(self.compare("eq", results, 1), only, several)
        self.begin(several)
        size = self.call("PyTuple_Size", ("ptr", "%out"))
        self.leave_if(self.compare("ne", size, results), "foreign")
        item = self.call("PyTuple_GetItem", ("ptr", "%out"), ("i64", k))
        self.store(item, place, "ptr")
        self.call("Py_IncRef", ("ptr", item))
        self.jump(ready)
        self.begin(only)
        self.store("%out", place, "ptr")
        self.call("Py_IncRef", ("ptr", "%out"))
        self.jump(ready)
        self.begin("foreign")
        self.call("PyErr_Clear")
        self.jump("unserved")
        self.begin(ready)
        self.store(self.add(k, 1), self.made, "i64")
        taken = self.load(self.taken, "i64")
        view, axes = self.buffer(self.load(place, "ptr"), CONTIGUOUS | WRITABLE)
        self.branch(none, end, check)
        self.begin(check)
        fits = self.call("fits", ("ptr", view), ("ptr", array), ("i64", leading))
        exact = self.compare("eq", axes, self.add(leading, ARRAY.get(self, array, "axes")))
        own = self.call("same", ("ptr", self.field(view, SHAPE, "ptr")), ("ptr", lengths), ("i64", leading))
        apart = self.call("apart", ("ptr", self.views), ("i64", taken))
        self.branch(self.all_of([fits, exact, own, apart]), end, "unserved")
        self.begin(end)

    def tell(self, k: str, arguments: str, words: str) -> None:
        """Put where array k is, and how far its states are apart, into the words."""
        array, view = self.array(self.record, k), self.view(self.views, k)
        single = self.compare("eq", self.load(self.states, "i64"), 1)
        index = self.either(single, "i64", *(ARRAY.get(self, array, name) for name in ("one_at", "batch_at")))
        self.store(self.load(view, "ptr"), self.at(words, index, "i64"), "ptr")
        axes = self.let(f"sext i32 {self.field(view, NDIM, 'i32')} to i64")
        several = self.let(f"xor i1 {single}, true")
        with self.when(self.all_of([self.compare("slt", k, arguments), several])):
            spread = self.compare("sgt", axes, ARRAY.get(self, array, "axes"))
            stride = self.either(spread, "i64", ARRAY.get(self, array, "size"), 0)
            self.store(stride, self.at(words, ARRAY.get(self, array, "stride_at"), "i64"), "i64")

    def run(self, code: str, words: str) -> str:
        """The status of the code; what takes longer runs without the interpreter's lock."""
        status = self.variable("i64", 0)
        quick, slow, done = (self.block(part) for part in ("quick", "slow", "done"))
        few = self.compare("sle", self.load(self.states, "i64"), ENTRY.get(self, self.record, "brief"))
        self.branch(few, quick, slow)
        self.begin(quick)
        self.store(self.let(f"call i64 {code}(ptr {words})"), status, "i64")
        self.jump(done)
        self.begin(slow)
        thread = self.call("PyEval_SaveThread")
        self.store(self.let(f"call i64 {code}(ptr {words})"), status, "i64")
        self.call("PyEval_RestoreThread", ("ptr", thread))
        self.jump(done)
        self.begin(done)
        return self.load(status, "i64")

    def answer(self, results: str) -> None:
        """Return the array, or a tuple of several; the caller's own, if it was given."""
        several, fresh, given = (self.block(part) for part in ("several", "fresh", "given"))
        self.leave_if(self.compare("ne", results, 1), several)
        self.do(f"ret ptr {self.load(self.results, 'ptr')}")
        self.begin(several)
        self.branch(self.compare("eq", "%out", "@_Py_NoneStruct", "ptr"), fresh, given)
        self.begin(given)
        self.call("forget", ("ptr", self.results), ("i64", results))
        self.call("Py_IncRef", ("ptr", "%out"))
        self.do("ret ptr %out")
        self.begin(fresh)
        pack = self.call("PyTuple_New", ("i64", results))
        self.leave_if(self.null(pack), "drop")
        with self.each(results) as k:
            item = self.load(self.at(self.results, k, "ptr"), "ptr")
            self.call("PyTuple_SetItem", ("ptr", pack), ("i64", k), ("ptr", item))
        self.do(f"ret ptr {pack}")
