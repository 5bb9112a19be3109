"""``served``: one call of code by its entry, in LLVM IR.

It checks the arguments' arrays, allocates the results or takes the caller's, and runs the code. The arrays are read in
place, which is safe while the GIL is held; code that takes longer runs without it, and then their buffers are held, so
that nobody can free the memory.
"""

from __future__ import annotations

from linkwork.engine.emit import python_arrays
from linkwork.engine.emit.python_arrays import PLACE
from linkwork.engine.emit.python_calls import (
    ALIGNED,
    ARRAY,
    AXES,
    CONTIGUOUS,
    DATA,
    DTYPE,
    ENTRY,
    FLAGS,
    LENGTHS,
    LIMITS,
    MOST_ARRAYS,
    NUMBER,
    SETTING,
    VIEW,
    WRITEABLE,
    PythonWriter,
)
from linkwork.engine.emit.writer import Value


def text() -> str:
    """``served``, and the functions that it calls."""
    return "\n".join([python_arrays.text(), _Serve().text()])


class _Serve(PythonWriter):
    """Writes ptr served(self, objects, count), a METH_FASTCALL function: the answer of the first entry for so many
    arguments, or of one that follows it, for ``out`` and arguments without trailing Nones; None if it is not served.

    Everything acquired is released on every exit: ``made`` objects, and the word busy.
    """

    def text(self) -> str:
        self.views = self.let(f"alloca [{MOST_ARRAYS * VIEW} x i8], align 8")
        self.places = self.let(f"alloca [{MOST_ARRAYS * len(PLACE.words)} x i64], align 8")
        self.results = self.let(f"alloca [{MOST_ARRAYS} x ptr], align 8")
        self.leading, self.made, self.status = (self.variable("i64", 0) for _ in range(3))
        self.states = self.variable("i64", 1)
        self.lengths = self.variable("ptr", "null")
        for at, name in enumerate(("%setting", "%first")):
            own = self.call("PyTuple_GetItem", ("ptr", "%self"), ("i64", at))
            self.let(f"call ptr @PyLong_AsVoidPtr(ptr {own})", name)
        self.leave_if(self.compare("slt", "%given", 1), "nothing")
        forced = self.load(SETTING.get(self, "%setting", "forced"), "i64")
        self.leave_if(self.compare("ne", forced, 0), "nothing")
        self.load("%all", "ptr", name="%out")
        self.let("getelementptr ptr, ptr %all, i64 1", "%objects")
        self.present()
        self.record = self.entry()
        self.lock()
        arguments, results = (ENTRY.get(self, self.record, name) for name in ("arguments", "results"))
        with self.each(arguments) as k:
            self.take(k)
        code, words = self.chosen()
        with self.each(results) as k:
            self.target(k, arguments, results)
        total = self.add(arguments, results)
        with self.each(total) as k:
            self.tell(k, arguments, words)
        left = self.left_alone()
        with self.when(self.compare("sgt", self.load(self.states, "i64"), 1)):
            place = self.at(words, ENTRY.get(self, self.record, "states_at"), "i64")
            self.store(self.sub(self.load(self.states, "i64"), left), place, "i64")
        status = self.run(code, words, arguments, total, left)
        self.unlock()
        self.leave_if(self.compare("ne", status, 0), "drop")
        self.answer(results)
        self.begin("unserved")
        self.unlock()
        self.jump("drop")
        self.begin("drop")
        self.call("forget", ("ptr", self.results), ("i64", self.load(self.made, "i64")))
        self.jump("nothing")
        self.begin("nothing")
        with self.when(self.compare("ne", self.call("PyErr_Occurred"), "null", "ptr")):
            self.do("ret ptr null")
            self.begin(self.block("never"))
        none = SETTING.get(self, "%setting", "none")
        self.call("Py_IncRef", ("ptr", none))
        self.do(f"ret ptr {none}")
        return self.function("ptr @served(ptr %self, ptr %all, i64 %given)")

    def present(self) -> None:
        """How many arguments there are, without trailing Nones: %count."""
        look, last, less, done = (self.block(part) for part in ("look", "last", "less", "done"))
        before, every, fewer = self.label, self.sub("%given", 1), self.name()
        self.jump(look)
        self.begin(look)
        self.let(f"phi i64 [ {every}, %{before} ], [ {fewer}, %{less} ]", "%count")
        self.branch(self.compare("sgt", "%count", 0), last, done)
        self.begin(last)
        item = self.load(self.at("%all", "%count", "ptr"), "ptr")
        self.branch(self.compare("eq", item, SETTING.get(self, "%setting", "none"), "ptr"), less, done)
        self.begin(less)
        self.let("sub i64 %count, 1", fewer)
        self.jump(look)
        self.begin(done)

    def entry(self) -> str:
        """The one for these arguments."""
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

    def lock(self) -> None:
        """Set the word busy: continue if it was not set. Both happen with the GIL held, so that no other thread
        intervenes.
        """
        busy = ENTRY.get(self, self.record, "busy")
        self.leave_if(self.compare("ne", self.load(busy, "i64"), 0), "nothing")
        self.store(1, busy, "i64")

    def unlock(self) -> None:
        self.store(0, ENTRY.get(self, self.record, "busy"), "i64")

    def place(self, k: Value) -> str:
        return self.at(self.places, self.mul(k, len(PLACE.words)), "i64")

    def look(self, target: str, k: Value, array: str, flags: int) -> tuple[str, str]:
        """Read an array, number k of all: continue if it is of NumPy's own class, has float64 numbers, these flags, and
        the right lengths after its leading axes. Their number, and the lengths of all axes.
        """
        self.expect(self.has_type(target, SETTING.get(self, "%setting", "array")))
        own = self.compare("eq", self.field(target, DTYPE, "ptr"), SETTING.get(self, "%setting", "dtype"), "ptr")
        bits = self.let(f"and i32 {self.field(target, FLAGS, 'i32')}, {flags}")
        self.expect(self.all_of([own, self.compare("eq", bits, flags, "i32")]))
        axes = self.let(f"sext i32 {self.field(target, AXES, 'i32')} to i64")
        lengths = self.field(target, LENGTHS, "ptr")
        leading = self.sub(axes, ARRAY.get(self, array, "axes"))
        self.expect(self.compare("sge", leading, 0))
        behind, expected = self.at(lengths, leading, "i64"), ARRAY.pointer(self, array, "length0")
        count = ARRAY.get(self, array, "axes")
        self.expect(self.call("same", ("ptr", behind), ("ptr", expected), ("i64", count)))
        self.note(k, target, self.field(target, DATA, "ptr"), axes, lengths)
        return leading, lengths

    def note(self, k: Value, *found: str) -> None:
        """Record what has been read of array k: the object, its data, axes and lengths."""
        place = self.place(k)
        for (kind, name), value in zip(PLACE.words, found, strict=False):
            self.store(value, PLACE.pointer(self, place, name), kind)

    def expect(self, condition: str) -> None:
        """Continue if a condition holds."""
        onward = self.block("onward")
        self.branch(condition, onward, "unserved")
        self.begin(onward)

    def take(self, k: str) -> None:
        """Argument k: continue if it is an array for one state, or has the same leading axes as others. A number may be
        a Python float.
        """
        target = self.load(self.at("%objects", k, "ptr"), "ptr")
        array = self.array(self.record, k)
        number, arrayed, taken = (self.block(part) for part in ("number", "arrayed", "taken"))
        self.branch(self.has_type(target, SETTING.get(self, "%setting", "float")), number, arrayed)
        self.begin(number)
        self.expect(self.compare("eq", ARRAY.get(self, array, "axes"), 0))
        self.note(k, target, self.at(target, NUMBER, "i8"), "0", "null")
        self.jump(taken)
        self.begin(arrayed)
        self.take_array(k, target, array)
        self.jump(taken)
        self.begin(taken)

    def take_array(self, k: str, target: str, array: str) -> None:
        leading, lengths = self.look(target, k, array, CONTIGUOUS | ALIGNED)
        with self.when(self.compare("ne", leading, 0)):
            learn, compare, end = (self.block(part) for part in ("learn", "compare", "learned"))
            known, shape = self.load(self.leading, "i64"), self.load(self.lengths, "ptr")
            self.branch(self.compare("eq", known, 0), learn, compare)
            self.begin(compare)
            self.expect(self.compare("eq", leading, known))
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
        """The code for so many states, and its words: continue if there is any."""
        states = self.load(self.states, "i64")
        self.leave_if(self.compare("eq", states, 0), "unserved")
        self.leave_if(self.compare("sgt", states, self.limit("most")), "unserved")
        single = self.compare("eq", states, 1)
        code, words = (
            self.either(single, "ptr", *(ENTRY.get(self, self.record, f"{form}{what}") for form in ("one", "batch")))
            for what in ("", "_words")
        )
        self.leave_if(self.null(code), "unserved")
        return code, words

    def limit(self, name: str) -> str:
        return LIMITS.get(self, ENTRY.get(self, self.record, "limits"), name)

    def target(self, k: str, arguments: str, results: str) -> None:
        """Result k: a new array, or the caller's, if it is suitable."""
        array = self.array(self.record, self.add(arguments, k))
        place = self.at(self.results, k, "ptr")
        fresh, given, several, only, ready, check, end = (
            self.block(part) for part in ("fresh", "given", "several", "only", "ready", "check", "end")
        )
        leading, lengths = self.load(self.leading, "i64"), self.load(self.lengths, "ptr")
        none = self.compare("eq", "%out", SETTING.get(self, "%setting", "none"), "ptr")
        self.branch(none, fresh, given)
        self.begin(fresh)
        made = self.call("new_array", ("ptr", "%setting"), ("ptr", array), ("i64", leading), ("ptr", lengths))
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
        number = self.add(arguments, k)
        own, shape = self.look(self.load(place, "ptr"), number, array, CONTIGUOUS | ALIGNED | WRITEABLE)
        self.branch(none, end, check)
        self.begin(check)
        self.expect(self.compare("eq", own, leading))  # before the lengths are read: there may be fewer
        self.expect(self.call("same", ("ptr", shape), ("ptr", lengths), ("i64", leading)))
        with self.each(self.add(number, 1)) as other:
            self.measure(other)
        self.expect(self.call("apart", ("ptr", self.places), ("i64", number)))
        self.jump(end)
        self.begin(end)

    def measure(self, k: str) -> None:
        """How many bytes array k has, for the overlap check."""
        place, array = self.place(k), self.array(self.record, k)
        axes = PLACE.get(self, place, "axes")
        spread = self.compare("sgt", axes, ARRAY.get(self, array, "axes"))
        states = self.either(spread, "i64", self.load(self.states, "i64"), 1)
        count = self.mul(states, ARRAY.get(self, array, "size"))
        self.store(self.mul(count, 8), PLACE.pointer(self, place, "bytes"), "i64")

    def tell(self, k: str, arguments: str, words: str) -> None:
        """Put the address of array k, and the stride between its states, into the words."""
        array, place = self.array(self.record, k), self.place(k)
        single = self.compare("eq", self.load(self.states, "i64"), 1)
        index = self.either(single, "i64", *(ARRAY.get(self, array, name) for name in ("one_at", "batch_at")))
        self.store(PLACE.get(self, place, "data"), self.at(words, index, "i64"), "ptr")
        several = self.let(f"xor i1 {single}, true")
        with self.when(self.all_of([self.compare("slt", k, arguments), several])):
            spread = self.compare("sgt", PLACE.get(self, place, "axes"), ARRAY.get(self, array, "axes"))
            stride = self.either(spread, "i64", ARRAY.get(self, array, "size"), 0)
            self.store(stride, self.at(words, ARRAY.get(self, array, "stride_at"), "i64"), "i64")

    def left_alone(self) -> str:
        """How many states of a batch, after whole tiles, the code for one state does one by one."""
        states, alone = self.load(self.states, "i64"), ENTRY.get(self, self.record, "alone")
        over = self.let(f"and i64 {states}, {ENTRY.get(self, self.record, 'tile')}")
        several = self.compare("sgt", states, 1)
        return self.either(self.all_of([several, self.compare("sle", over, alone)]), "i64", over, 0)

    def run_code(self, code: str, words: str, total: str, left: str) -> None:
        """Run whole tiles, or one state, then the states that are ``left``; the union of all statuses is the status."""
        self.store(0, self.status, "i64")
        tiled = self.sub(self.load(self.states, "i64"), left)
        with self.when(self.compare("ne", tiled, 0)):
            self.store(self.let(f"call i64 {code}(ptr {words})"), self.status, "i64")
        with self.each(left) as n:
            self.run_alone(total, self.add(tiled, n))

    def run_alone(self, total: str, before: str) -> None:
        """Run the code for one state on the one after so many."""
        words = ENTRY.get(self, self.record, "one_words")
        with self.each(total) as k:
            array, place = self.array(self.record, k), self.place(k)
            spread = self.compare("sgt", PLACE.get(self, place, "axes"), ARRAY.get(self, array, "axes"))
            first = self.either(spread, "i64", self.mul(before, ARRAY.get(self, array, "size")), 0)
            data = self.at(PLACE.get(self, place, "data"), first)
            self.store(data, self.at(words, ARRAY.get(self, array, "one_at"), "i64"), "ptr")
        status = self.let(f"call i64 {ENTRY.get(self, self.record, 'one')}(ptr {words})")
        self.store(self.let(f"or i64 {status}, {self.load(self.status, 'i64')}"), self.status, "i64")

    def run(self, code: str, words: str, arguments: str, total: str, left: str) -> str:
        """The status of the code; that for one state runs those that are ``left``."""
        brief, long, free, released, done = (self.block(p) for p in ("brief", "long", "free", "released", "done"))
        few = self.compare("sle", self.load(self.states, "i64"), self.limit("brief"))
        self.branch(few, brief, long)
        self.begin(brief)
        self.run_code(code, words, total, left)
        self.jump(done)
        self.begin(long)
        none = self.compare("eq", "%out", SETTING.get(self, "%setting", "none"), "ptr")
        known = self.either(none, "i64", arguments, total)  # nobody else has references to new arrays
        held = self.call("hold", ("ptr", "%setting"), ("ptr", self.places), ("i64", known), ("ptr", self.views))
        self.store(1, self.status, "i64")
        self.branch(self.compare("eq", held, known), free, released)
        self.begin(free)
        thread = self.call("PyEval_SaveThread")
        self.run_code(code, words, total, left)
        self.call("PyEval_RestoreThread", ("ptr", thread))
        self.jump(released)
        self.begin(released)
        self.call("release", ("ptr", self.views), ("i64", held))
        self.jump(done)
        self.begin(done)
        return self.load(self.status, "i64")

    def answer(self, results: str) -> None:
        """Return the array, or a tuple of several; the caller's own, if it was given."""
        several, fresh, given = (self.block(part) for part in ("several", "fresh", "given"))
        self.leave_if(self.compare("ne", results, 1), several)
        self.do(f"ret ptr {self.load(self.results, 'ptr')}")
        self.begin(several)
        self.branch(self.compare("eq", "%out", SETTING.get(self, "%setting", "none"), "ptr"), fresh, given)
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
