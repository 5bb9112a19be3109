"""A routine as LLVM modules for any machine: one state on one lane, and tiles of several states on the lanes that the
machine has. Everything that the engine keeps in Python while it calls its own code is in the modules: tables, sizes,
addresses.

    compute   the kernel for one state: arguments, results, workspace
    tiles     the same for a tile, where the machine has lanes
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.engine.emit.call_frame import Called, Interface, listed, parameters
from linkwork.engine.emit.kernel import Kernel
from linkwork.engine.emit.packing import pack, unpack
from linkwork.engine.emit.writer import Writer, bits, declarations, sweep
from linkwork.engine.targets.pieces import in_pieces
from linkwork.engine.targets.routine import Loops, Routine

ALIGNED = 8
"""Numbers to a multiple of which memory is aligned: the widest vector."""


class LlvmRoutine:
    """The functions of a routine for a machine whose addresses have so many ``bits``; ``symbol`` begins their names.
    Which of the ``problems`` was left unsolved, by its number, or 0, is what the memory of a call begins with. Long
    programs may be ``cut`` into functions.
    """

    def __init__(
        self, routine: Routine, bits_of_address: int, symbol: str, problems: tuple[str, ...] = (), cut: bool = False
    ) -> None:
        self.routine, self.bits, self.symbol = routine, bits_of_address, symbol
        called = tuple(_called(what, loops) for what, loops in routine.called.items())
        arguments, results = tuple(routine.arguments), tuple(routine.results)
        self.interface = Interface(arguments, results, called=called, problems=problems)
        self.told = ALIGNED if problems else 0
        self.programs, self._carried = in_pieces(routine.program) if cut else ([routine.program], 0)

    def kernel(self, lanes: int) -> tuple[str, int]:
        """The kernel ``symbol`` for so many lanes, with everything that it calls; and its memory for one lane."""
        interface = self.interface.with_room()
        if len(self.programs) == 1:
            parts = [Kernel(self.programs[0], interface, lanes, self.symbol).text()]
        else:
            parts, w = [], Writer()
            for k, program in enumerate(self.programs):
                symbol = f"{self.symbol}.piece{k}"
                parts.append(Kernel(program, interface, lanes, symbol).text())
                w.do(f"call void @{symbol}({listed((kind, f'%{name}') for kind, name in interface.kernel)})")
            w.do("ret void")
            parts.append(w.function(f"internal void @{self.symbol}({parameters(interface.kernel)})"))
        for k, loops in enumerate(self.routine.called.values()):
            parts += self._loops(k, loops, lanes)
        if interface.called:
            parts.append(self._addresses(len(interface.called)))
        return "\n".join(parts), interface.room_size + self._carried

    def call(self, w: Writer, arrays: Sequence[str], memory: str) -> None:
        """Call the kernel for arrays in the order of arguments and results."""
        ints = f"@{self.symbol}.addresses" if self.interface.called else "null"
        tables = (memory, "null", w.at(memory, self.told), ints)
        w.do(f"call void @{self.symbol}({listed(('ptr', each) for each in (*arrays, *tables))})")

    @property
    def widths(self) -> set[int]:
        """The numbers of lanes that values have, on one lane."""
        programs = [self.routine.program, *(loops.program for loops in self.routine.called.values())]
        return {1, *(width for program in programs for width in program.widths)}

    def _loops(self, k: int, loops: Loops, lanes: int) -> list[str]:
        """Code with loops, and its tables."""
        symbol = f"{self.symbol}.loops{k}"
        names = [*(f"count{i}" for i in range(len(loops.arguments))), *(f"size{i}" for i in range(len(loops.results)))]
        sizes = tuple(loops.sizes)
        assert set(names) <= set(sizes)
        arguments, results = names[: len(loops.arguments)], names[len(loops.arguments) :]
        interface = Interface(tuple(arguments), tuple(results), sizes)
        text = Kernel(loops.program, interface, lanes, symbol).text()
        data = listed(("double", bits(float(x))) for x in loops.data.tolist())
        ints = listed(("i64", str(int(x))) for x in loops.ints.tolist())
        return [
            text,
            f"@{symbol}.data = internal constant [{loops.data.size} x double] [{data}], align 64\n",
            f"@{symbol}.ints = internal constant [{loops.ints.size} x i64] [{ints}], align 64\n",
        ]

    def _addresses(self, count: int) -> str:
        """What ``calling.call`` reads: of the code, its data and its ints, in words of 64 bits."""
        symbols = [f"@{self.symbol}.loops{k}{part}" for k in range(count) for part in ("", ".data", ".ints")]
        kind = "ptr" if self.bits == 64 else "{ ptr, i32 }"
        words = [
            f"ptr {symbol}" if self.bits == 64 else f"{{ ptr, i32 }} {{ ptr {symbol}, i32 0 }}" for symbol in symbols
        ]
        return f"@{self.symbol}.addresses = internal constant [{3 * count} x {kind}] [{', '.join(words)}], align 8\n"


def _called(what: Any, loops: Loops) -> Called:
    sizes = tuple(loops.sizes.values())
    arguments, results = tuple(loops.arguments), tuple(loops.results)
    return Called(what, arguments, results, sizes, sizes, loops.work, loops.square, loops.zeroed)


class Functions:
    """The functions that an export has, for a routine and a machine.

    Args:
        name: of the exported function.
        lanes: of the machine.
        over_time: the number of its first arguments that are a state which its results advance; 0 for no step.
        problems: the names of those that may be left unsolved.
        cut: whether long programs become several functions.
        pivots: of the first argument, the inertias by which a singular joint is told, and what they are small beside.
    """

    def __init__(
        self,
        routine: Routine,
        name: str,
        bits_of_address: int,
        lanes: int,
        over_time: int = 0,
        problems: tuple[str, ...] = (),
        cut: bool = False,
        pivots: Routine | None = None,
    ) -> None:
        self.routine, self.name, self.bits, self.lanes = routine, name, bits_of_address, lanes
        self.over_time = over_time
        self.pivots = None if pivots is None else LlvmRoutine(pivots, bits_of_address, "pivots")
        self.one = LlvmRoutine(routine, bits_of_address, "compute", problems, cut)
        self.tile = LlvmRoutine(routine, bits_of_address, "tile", problems, cut)
        self.size = f"i{bits_of_address}"
        self.sizes = [*routine.arguments, *routine.results]
        self.arrays = [f"%array{k}" for k in range(len(self.sizes))]
        self.starts: list[int] = []
        number = 1
        for size in self.sizes:
            self.starts.append(number)
            number += size

    @property
    def workspace(self) -> int:
        """How many numbers the workspace has: tiles, and memory of calls, aligned."""
        _, room = self.one.kernel(1)
        tiles = (sum(self.sizes) + room) * self.lanes + self.tile.told if self.lanes > 1 else 0
        room += self.one.told
        if self.pivots is not None:
            room = max(room, sum(self.pivots.routine.results) + self.pivots.kernel(1)[1] + ALIGNED)
        following = sum(self.routine.results) if self.over_time else 0
        return following + max(room, tiles) + (ALIGNED if room or tiles else 0)

    def modules(self, texts: Sequence[tuple[int, str]], joints: int, end: int) -> list[str]:
        """The modules: ``texts`` are those of statuses, each with the first number for which it holds; ``joints`` is
        the first status of a singular joint, ``end`` follows the last one.
        """
        widths = self.one.widths | (self.pivots.widths if self.pivots else set())
        looks = [sweep("finite", self.lanes), sweep("settle", self.lanes, unsigned_zeros=True), _first_bad()]
        looks += self._singular(joints)
        first = "\n".join([self.one.kernel(1)[0], *looks, self._one(end), declarations(widths)])
        batch = self._tiles() if self.lanes > 1 else self._batch()
        return [*self._rest([first, batch]), _explained(self.name, texts, end)]

    def _rest(self, modules: list[str]) -> list[str]:
        return [*modules, self._run()] if self.over_time else modules

    # One state

    def _head(self, name: str, before: str = "", after: str = "") -> str:
        arrays = [("ptr", array) for array in (*self.arrays, "%workspace")]
        return f"i32 @{name}({before}{listed(arrays)}{after})"

    def _singular(self, joints: int) -> list[str]:
        """i32 singular(q, workspace, status): the status of the first joint from the tips that moves no inertia."""
        if self.pivots is None:
            return []
        kernel, _ = self.pivots.kernel(1)
        w, count = Writer(), self.pivots.routine.results[0]
        own = aligned(w, "%workspace", self.bits)
        beside = w.at(own, count)
        self.pivots.call(w, ["%q", own, beside], w.at(own, -(-2 * count // ALIGNED) * ALIGNED))
        with w.loop(0, count, 1, [("i32", "%status")]) as one:
            x, whole = w.load(w.at(own, one.counter)), w.load(w.at(beside, one.counter))
            least = w.let(f"fmul double {whole}, {bits(1e-14)}")
            small = w.let(f"fcmp ule double {x}, {least}")
            difference = w.let(f"fsub double {whole}, {whole}")
            finite = w.let(f"fcmp ord double {difference}, {difference}")
            here = w.let(f"add i32 {joints}, {w.let(f'trunc i64 {one.counter} to i32')}")
            one.carry(w.either(w.all_of([small, finite]), "i32", here, one.carried[0]))
        w.do(f"ret i32 {one.carried[0]}")
        return [kernel, w.function("internal i32 @singular(ptr %q, ptr %workspace, i32 %status)")]

    def _one(self, end: int) -> str:
        """The function for one state: arguments are checked, then problems and results. ``end`` follows the statuses,
        the last of which are those of problems.
        """
        w, inputs = Writer(), len(self.routine.arguments)
        status = "0"
        for k in range(inputs):
            status = self._checked(w, "finite", k, status)
        refused, fine = w.block("refused"), w.block("fine")
        w.branch(w.compare("ne", status, 0, "i32"), refused, fine)
        w.begin(refused)
        w.do(f"ret i32 {status}")
        w.begin(fine)
        own = aligned(w, "%workspace", self.bits)
        self.one.call(w, self.arrays, own)
        if problems := self.one.interface.problems:
            number = w.let(f"fptosi double {w.load(own)} to i32")
            with w.when(w.compare("ne", number, 0, "i32")):
                w.do(f"ret i32 {w.let(f'add i32 {number}, {end - len(problems) - 1}')}")
                w.begin(w.block("never"))
        status = "0"
        for k in range(inputs, len(self.sizes)):
            status = self._checked(w, "settle", k, status)
        if self.pivots is not None:
            look = f"call i32 @singular(ptr %array0, ptr %workspace, i32 {status})"
            status = w.one_of(w.compare("ne", status, 0, "i32"), "i32", look, "add i32 0, 0")
        w.do(f"ret i32 {status}")
        return w.function(self._head(self.name))

    def _places(self, w: Writer, memory: str) -> list[str]:
        """Where a tile's arrays are, and the memory behind them."""
        places = [memory]
        for size in self.sizes:
            places.append(w.at(places[-1], size * self.lanes))
        return places

    def _checked(self, w: Writer, function: str, k: int, status: str) -> str:
        """The status so far, or else that of an array, by a function that tells whether all its numbers are finite."""
        fine = w.let(f"call i1 @{function}(ptr {self.arrays[k]}, i64 {self.sizes[k]})")
        look = f"call i32 @first_bad(ptr {self.arrays[k]}, i64 {self.sizes[k]}, i32 {self.starts[k]})"
        own = w.one_of(fine, "i32", "add i32 0, 0", look)
        return w.either(w.compare("eq", status, 0, "i32"), "i32", own, status)

    # Batches

    def _states(self, w: Writer, name: str = "%states") -> str:
        """A number of states as i64."""
        return name if self.bits == 64 else w.let(f"zext i32 {name} to i64")

    def _say_where(self, w: Writer, number: str) -> None:
        """Store the number of a state for the caller, who may not want it."""
        with w.when(w.compare("ne", "%where", "null", "ptr")):
            index = number if self.bits == 64 else w.let(f"trunc i64 {number} to i32")
            w.store(index, "%where", self.size, self.bits // 8)

    @property
    def _declared(self) -> str:
        return f"declare i32 @{self.name}({', '.join(['ptr'] * (len(self.arrays) + 1))})\n"

    def _each(self, w: Writer, count: str) -> None:
        """Every state by itself: returns the first status, and stores where it is."""
        with w.loop(0, count) as state:
            rows = [
                w.at(array, w.mul(state.counter, size)) for array, size in zip(self.arrays, self.sizes, strict=True)
            ]
            arrays = listed(("ptr", each) for each in (*rows, "%workspace"))
            own = w.let(f"call i32 @{self.name}({arrays})")
            before = w.load("%status", "i32", 4)
            with w.when(w.all_of([w.compare("eq", before, 0, "i32"), w.compare("ne", own, 0, "i32")])):
                w.store(own, "%status", "i32", 4)
                self._say_where(w, state.counter)
        w.do(f"ret i32 {w.load('%status', 'i32', 4)}")

    def _batch(self) -> str:
        w = Writer()
        w.let("alloca i32, align 4", "%status")
        w.store(0, "%status", "i32", 4)
        self._each(w, self._states(w))
        return self._declared + w.function(self._head(f"{self.name}_batch", f"{self.size} %states, ", ", ptr %where"))

    def _tiles(self) -> str:
        """States in tiles; if any number is not finite, or a problem was not solved, every state again by itself, which
        finds the status.
        """
        lanes, w, inputs = self.lanes, Writer(), len(self.routine.arguments)
        tile = self.tile
        kernel, _ = tile.kernel(lanes)
        w.let("alloca i32, align 4", "%status")
        w.store(0, "%status", "i32", 4)
        w.let("alloca i1, align 1", "%all")
        w.store("true", "%all", "i1", 1)
        count, memory = self._states(w), aligned(w, "%workspace", self.bits)
        places = self._places(w, memory)
        with w.loop(0, count, lanes) as each:
            left = w.sub(count, each.counter)
            valid = w.either(w.compare("sge", left, lanes), "i64", lanes, left)
            fine = []
            rows = [w.at(array, w.mul(each.counter, size)) for array, size in zip(self.arrays, self.sizes, strict=True)]
            for row, size, place in zip(rows[:inputs], self.sizes, places, strict=False):
                fine.append(w.let(f"call i1 @pack(ptr {row}, i64 {size}, i64 {valid}, i64 {size}, ptr {place})"))
            tile.call(w, places[:-1], places[-1])
            for lane in range(lanes if tile.told else 0):
                fine.append(w.let(f"fcmp oeq double {w.load(w.at(places[-1], lane))}, 0.0"))
            for row, size, place in zip(rows[inputs:], self.sizes[inputs:], places[inputs:-1], strict=True):
                moved = f"ptr {place}, ptr {row}, i64 {size}, i64 {valid}, i64 {size}"
                fine.append(w.let(f"call i1 @unpack({moved})"))
            w.store(w.all_of([*fine, w.load("%all", "i1", 1)]), "%all", "i1", 1)
        good, bad = w.block("good"), w.block("bad")
        w.branch(w.load("%all", "i1", 1), good, bad)
        w.begin(good)
        w.do("ret i32 0")
        w.begin(bad)
        self._each(w, count)
        head = self._head(f"{self.name}_batch", f"{self.size} %states, ", ", ptr %where")
        parts = [kernel, pack(lanes), unpack(lanes), w.function(head)]
        return "\n".join([self._declared, *parts, declarations({1, lanes, *self.one.widths})])

    # Steps

    def _run(self) -> str:
        """The function that repeats a step: the state in place, which the step's results follow in the workspace."""
        w, inputs = Writer(), len(self.routine.arguments)
        following = ["%workspace"]
        for size in self.routine.results:
            following.append(w.at(following[-1], size))
        arrays = listed(("ptr", each) for each in (*self.arrays[:inputs], *following))
        with w.loop(0, self._states(w, "%steps")) as step:
            status = w.let(f"call i32 @{self.name}({arrays})")
            with w.when(w.compare("ne", status, 0, "i32")):
                self._say_where(w, step.counter)
                w.do(f"ret i32 {status}")
                w.begin(w.block("never"))
            for array, new, size in zip(self.arrays, following, self.routine.results, strict=False):
                with w.loop(0, size) as one:
                    w.store(w.load(w.at(new, one.counter)), w.at(array, one.counter))
        w.do("ret i32 0")
        arrays = listed(("ptr", each) for each in (*self.arrays[:inputs], "%workspace", "%where"))
        return self._declared + w.function(f"i32 @{self.name}_run({self.size} %steps, {arrays})")


def aligned(w: Writer, pointer: str, bits_of_address: int) -> str:
    """The first address from there on that is aligned."""
    beyond = w.let(f"getelementptr i8, ptr {pointer}, i64 {8 * ALIGNED - 1}")
    kind = f"i{bits_of_address}"
    return w.let(f"call ptr @llvm.ptrmask.p0.{kind}(ptr {beyond}, {kind} {-8 * ALIGNED})")


def _first_bad() -> str:
    """i32 first_bad(numbers, count, first): 0, or ``first`` plus the place of the first number that is not finite."""
    w = Writer()
    with w.loop(0, "%count", 1, [("i32", "0")]) as one:
        x = w.load(w.at("%numbers", one.counter))
        difference = w.let(f"fsub double {x}, {x}")
        bad = w.let(f"fcmp uno double {difference}, {difference}")
        new = w.all_of([bad, w.compare("eq", one.carried[0], 0, "i32")])
        here = w.let(f"add i32 %first, {w.let(f'trunc i64 {one.counter} to i32')}")
        one.carry(w.either(new, "i32", here, one.carried[0]))
    w.do(f"ret i32 {one.carried[0]}")
    return w.function("internal i32 @first_bad(ptr nocapture %numbers, i64 %count, i32 %first)")


def _explained(name: str, texts: Sequence[tuple[int, str]], end: int) -> str:
    """ptr name_status(i32): the text of a status."""
    w = Writer()
    constants = {"@fine": "fine", "@none": "no status of this function"}
    constants |= {f"@text{k}": text for k, (_, text) in enumerate(texts)}
    text = w.either(w.compare("eq", "%status", 0, "i32"), "ptr", "@fine", "@none")
    valid = w.all_of([w.compare("sgt", "%status", 0, "i32"), w.compare("slt", "%status", end, "i32")])
    with w.loop(0, w.either(valid, "i64", len(texts), 0), 1, [("ptr", text)]) as one:
        start = w.load(w.at("@starts", one.counter, "i32"), "i32", 4)
        text = w.load(w.at("@texts", one.counter, "ptr"), "ptr", 4)
        one.carry(w.either(w.compare("sle", start, "%status", "i32"), "ptr", text, one.carried[0]))
    w.do(f"ret ptr {one.carried[0]}")
    lines = [_string(symbol, text) for symbol, text in constants.items()]
    starts = listed(("i32", str(first)) for first, _ in texts)
    pointers = listed(("ptr", f"@text{k}") for k in range(len(texts)))
    lines.append(f"@starts = internal constant [{len(texts)} x i32] [{starts}]")
    lines.append(f"@texts = internal constant [{len(texts)} x ptr] [{pointers}]\n")
    return "\n".join([*lines, w.function(f"ptr @{name}_status(i32 %status)")])


def _string(symbol: str, text: str) -> str:
    data = text.encode("ascii", "backslashreplace") + b"\0"
    plain = "".join(chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\{c:02X}" for c in data)
    return f'{symbol} = internal constant [{len(data)} x i8] c"{plain}"'
