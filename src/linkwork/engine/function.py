"""An algorithm made fast for one model: a plan of its code, the code itself (compiled, or from the cache), and calls
of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from linkwork.algorithms import Algorithm
from linkwork.engine import builtin, cache, fingerprint, jit, llvm, roll, rows, tables, threads
from linkwork.engine.abreast import abreast
from linkwork.engine.alike import Seed, seeds
from linkwork.engine.alone import Pieces
from linkwork.engine.ir import Program
from linkwork.engine.memory import address, aligned, empty, scratch
from linkwork.engine.single import Single, Words
from linkwork.engine.spaces import shape, shifted, size
from linkwork.engine.tiles import Interface
from linkwork.engine.trace import specialise
from linkwork.model.model import Frame, Model

MOST_BODIES = 50
"""Up to here code is specialised: its size grows with the bodies, and LLVM's time more than that."""
MOST_INSTRUCTIONS = 40_000
"""And up to here, for algorithms whose code grows faster than the bodies."""
_WORTH_A_THREAD = 200e-6
"""Seconds of work below which another thread does not pay."""
_SECONDS = 60e-9
"""What a body takes in one state on one lane, roughly: enough to tell whether a thread pays."""

Array = NDArray[np.float64]
_codes: WeakValueDictionary[str, jit.Code] = WeakValueDictionary()


class Task:
    """What is to be computed: an algorithm for a model, some arguments left out, and frames that offsets may move."""

    def __init__(
        self,
        algorithm: Algorithm,
        model: Model,
        absent: tuple[str, ...] = (),
        frames: Sequence[Frame] = (),
        offsets: bool = False,
    ) -> None:
        self.algorithm, self.model, self.absent, self.frames = algorithm, model, absent, tuple(frames)
        self.offsets = offsets
        self.spaces = [space for name, space in algorithm.arguments if name not in absent]
        self.argument_shapes = [shape(space, model, len(frames)) for space in self.spaces]
        self.arguments = [size(space, model, len(frames)) for space in self.spaces]
        self.shapes = [shape(space, model, len(frames)) for space in algorithm.results]
        self.results = [size(space, model, len(frames)) for space in algorithm.results]


class Specialised:
    """Code for one model alone; frames' offsets are a last argument."""

    def __init__(self, task: Task, cpu: tuple[str, str]) -> None:
        self.task, self.cpu = task, cpu
        extra = [3 * len(task.frames)] if task.offsets else []
        self.interface = Interface((*task.arguments, *extra), tuple(task.results))

    @cached_property
    def program(self) -> Program:
        task = self.task
        return specialise(task.algorithm, task.model, task.absent, task.frames, task.offsets)

    @cached_property
    def identity(self) -> tuple[object, ...]:
        """What the code depends on besides the algorithm."""
        numbers = fingerprint.of_model(self.task.model, self.task.frames) or fingerprint.of_program(self.program)
        return "specialised", self.interface, numbers

    def names(self, lanes: int) -> list[str]:
        return ["batch", "single"] if lanes == 1 and builtin.available() else ["batch"]

    def text(self, lanes: int) -> str:
        if lanes > 1:
            return rows.module(self.program, self.interface, lanes, jit.register(self.cpu, lanes))
        task = self.task
        extra = [(3 * len(task.frames),)] if task.offsets else []
        more = builtin.text([*task.argument_shapes, *extra], task.shapes) if "single" in self.names(lanes) else ""
        return llvm.module(self.alone, self.interface, lanes, more)

    @cached_property
    def seeds(self) -> dict[tuple[str, int], Seed]:
        """Which numbers of the arguments are alike; none if no branches are."""
        task = self.task
        found = seeds(task.model, task.frames, [*task.spaces, *(["offsets"] if task.offsets else [])])
        return found if any(lane for _, lane in found.values()) else {}

    @property
    def alone(self) -> Program:
        """The program for one state, in which branches that are alike take the lanes."""
        task = self.task
        if not self.seeds:
            return self.program
        return abreast(
            specialise(task.algorithm, task.model, task.absent, task.frames, task.offsets, alike=True), self.seeds
        )

    def words(self, code: jit.Code, lanes: int) -> list[int]:
        return [scratch("work", lanes * sum(self.task.results)), 0, 0, 0]


class Rolled:
    """Code for all models of the same joint kinds; the model comes as tables."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.tables = tables.tables_of(task.model, task.frames, together="operational" in task.algorithm.results)
        arguments = tuple(f"count{k}" for k in range(len(task.arguments)))
        results = tuple(f"size{k}" for k in range(len(task.results)))
        self.interface = Interface(arguments, results, (*roll.SIZES, *arguments, *results))
        self._sizes: list[int] | None = None

    @cached_property
    def program(self) -> tuple[Program, int, int]:
        return roll.roll(self.task.algorithm, self.tables.kinds, self.tables.width, self.task.absent)

    @cached_property
    def identity(self) -> tuple[object, ...]:
        kinds = fingerprint.of_kinds(self.tables.kinds) or fingerprint.of_program(self.program[0])
        return "rolled", self.tables.width, kinds

    def names(self, lanes: int) -> list[str]:
        return ["batch", "constant"]

    def text(self, lanes: int) -> str:
        program, *widths = self.program
        return llvm.module(program, self.interface, lanes, llvm.constants(widths))

    def words(self, code: jit.Code, lanes: int) -> list[int]:
        row, cell = code.constants
        rows = max(len(self.task.model.bodies) + 1, len(self.task.frames))
        return [
            scratch("work", rows * row * lanes), scratch("square", rows * rows * cell * lanes),
            self._data, self._ints, *self._told(cell),
        ]  # fmt: skip

    def moved(self, offsets: Sequence[float]) -> Rolled:
        """The same with its frames moved."""
        frames, moved = self.task.frames, copy(self)
        places = [shifted(f.placement, offsets[3 * i : 3 * i + 3]).numbers() for i, f in enumerate(frames)]
        data = self.tables.data.copy()
        data[data.size - 12 * len(frames) :] = np.array(places).ravel()
        moved.tables = replace(self.tables, data=data)
        moved._data = address(data)
        return moved

    @cached_property
    def _data(self) -> int:
        return address(self.tables.data)

    @cached_property
    def _ints(self) -> int:
        return address(self.tables.ints)

    def _told(self, cell: int) -> list[int]:
        """All sizes, found once: code for any number of lanes has the same cells."""
        if self._sizes is None:
            self._sizes = [*self.sizes(cell), *self.task.arguments, *self.task.results]
        return self._sizes

    def sizes(self, cell: int) -> list[int]:
        """What the code is told, in the order of ``roll.SIZES``; ``cell`` is the width of a cell of the square."""
        bodies, frames, junctions = len(self.task.model.bodies), len(self.task.frames), self.tables.junctions
        after_bodies = 4 * (bodies + 1)
        after_frames = after_bodies + frames
        after_junctions = after_frames + 2 * (junctions + 1)
        return [
            bodies, frames - 1, junctions, max(bodies + 1, frames) * cell, after_bodies,
            self.tables.width * (bodies + 1), after_frames, after_junctions, after_junctions + frames, frames,
            *(k * self.task.model.nv for k in range(1, 7)), *(6 * k * frames for k in range(1, 7)),
        ]  # fmt: skip


class Function:
    """A task made callable. ``form`` is "specialised", "rolled" or "auto"; cpu and lanes are the host's unless a
    test says.
    """

    specialised, rolled = Specialised, Rolled
    """The plans to choose from."""

    def __init__(
        self, task: Task, form: str = "auto", cpu: tuple[str, str] | None = None, lanes: int | None = None
    ) -> None:
        self.task = task
        self.cpu = cpu or jit.host()
        self.lanes = lanes or jit.lanes(self.cpu)
        self._codes: dict[int, tuple[jit.Code, Callable[[int], int]]] = {}
        with jit.lock:  # tracing too: cached_property of Python 3.11 holds a lock that a forked child would find taken
            self.plan = self._choose(form)
        extra = [3 * len(task.frames)] if task.offsets and isinstance(self.plan, Specialised) else []
        self.counts = [*task.arguments, *extra]

    @property
    def patterned(self) -> bool:
        """Whether code stores only what the tree's pattern has, among zeros."""
        return isinstance(self.plan, Rolled) and not {"matrix", "jacobian"}.isdisjoint(self.task.algorithm.results)

    def _choose(self, form: str) -> Specialised | Rolled | Pieces:
        if self.task.algorithm.pieces:
            return Pieces(self.task, self.lanes)
        plan = self.specialised(self.task, self.cpu)
        if not self.task.algorithm.rolled:
            return plan
        if form == "rolled" or (form == "auto" and len(self.task.model.bodies) > MOST_BODIES):
            return self.rolled(self.task)
        known = form == "specialised" or self._kept(plan, 1) or self._kept(plan, self.lanes)
        return plan if known or len(plan.program.root.order) <= MOST_INSTRUCTIONS else self.rolled(self.task)

    def _kept(self, plan: Specialised, lanes: int) -> bool:
        key = self._key(plan, lanes)
        return key in _codes or cache.holds(key)

    def _key(self, plan: Specialised | Rolled | Pieces, lanes: int) -> str:
        """A digest of all that the code depends on."""
        what = (self.task.algorithm.name, self.task.absent, *plan.identity, plan.names(lanes))
        return fingerprint.key(fingerprint.library(), jit.version(), self.cpu, lanes, what)

    def code(self, lanes: int) -> tuple[jit.Code, Callable[[int], int]]:
        """The linked code for a number of lanes, and its main function."""
        found = self._codes.get(lanes)
        if found is not None:
            return found
        with jit.lock:
            if lanes not in self._codes:
                key = self._key(self.plan, lanes)
                code = _codes.get(key) or self._link(key, lanes)
                self._codes[lanes] = code, code.function(self.plan.names(lanes)[0])
            return self._codes[lanes]

    def _link(self, key: str, lanes: int) -> jit.Code:
        image = cache.read(key)
        if image is None:
            image = jit.compile_object(self.plan.text(lanes), self.cpu)
            cache.write(key, image)
        code = _codes[key] = jit.link(image, self.plan.names(lanes))
        return code

    def single(self) -> Callable[..., Any] | None:
        """What takes one state of plain arrays, and says None to anything else; None where there is no such thing."""
        if not isinstance(self.plan, Specialised):
            return self._rolled_single()
        if "single" not in self.plan.names(1):
            return None
        code, _ = self.code(1)
        return builtin.make(code.addresses["single"], code, self.task.shapes)

    def _rolled_single(self) -> Single | None:
        task, plan = self.task, self.plan
        if task.frames or "matrix" in task.algorithm.results:
            return None
        code, batch = self.code(1)
        given, found = len(task.arguments), len(task.results)
        if isinstance(plan, Pieces):

            def words() -> list[int]:
                return plan.alone(code)

            def run(words: Words, where: int) -> int:
                return plan.run(code, batch, words, where)

            places = [*range(1, 1 + given + found)]
        else:

            def words() -> list[int]:
                tile = scratch("tile", sum(self.counts) + sum(task.results))
                return [1, tile, *[0] * (2 * given + found), *plan.words(code, 1)]

            def run(words: Words, where: int) -> int:
                return batch(where)

            places = [*range(2, 2 + 2 * given, 2), *range(2 + 2 * given, 2 + 2 * given + found)]
        return Single(task.argument_shapes, task.shapes, words, places, run)

    def run(self, arguments: Sequence[Array], states: int, offsets: Sequence[float] = ()) -> tuple[list[Array], int]:
        """Results for arrays (states, numbers of one state), each contiguous or with all states the same; and a status.

        Every array must have been checked: this is the door to machine code.
        """
        results, status = self._run(arguments, states, 1 if states == 1 else self.lanes, offsets)
        if states == 1 and status == 2 and isinstance(self.plan, Specialised) and self.plan.seeds:
            # code for branches side by side has zeros that may meet an infinite number
            return self._run(arguments, states, self.lanes, offsets)
        return results, status

    def _run(
        self, arguments: Sequence[Array], states: int, lanes: int, offsets: Sequence[float]
    ) -> tuple[list[Array], int]:
        results = [empty((states, count)) for count in self.task.results]
        if offsets and isinstance(self.plan, Specialised):
            arguments = [*arguments, np.broadcast_to(np.array(offsets, dtype=np.float64), (states, len(offsets)))]
        code, batch = self.code(lanes)
        plan = self.plan.moved(offsets) if offsets and isinstance(self.plan, Rolled) else self.plan
        room = lanes * (sum(self.counts) + sum(self.task.results))
        if states == 1 and isinstance(self.plan, Pieces):
            words = np.array(self.plan.alone(code), dtype=np.int64)
            words[1 : 1 + len(arguments) + len(results)] = [address(array) for array in (*arguments, *results)]
            return results, self.plan.run(code, batch, words, address(words))

        def part(first: int, count: int) -> Callable[[], int]:
            words = [count, 0]
            for array, numbers in zip(arguments, self.counts, strict=True):
                stride = 0 if array.strides[0] == 0 else numbers
                words += [address(array) + 8 * first * stride, stride]
            words += [address(array) + 8 * first * n for array, n in zip(results, self.task.results, strict=True)]

            def task(kept: object = (arguments, results)) -> int:  # an interrupted caller must not take them away
                zeros = aligned(room, 0.0) if self.patterned else None
                words[1] = scratch("tile", room) if zeros is None else address(zeros)
                table = np.array(words + plan.words(code, lanes), dtype=np.int64)
                return batch(address(table))

            return task

        return results, threads.run([part(*states_of) for states_of in self._parts(states, lanes)])

    def _parts(self, states: int, lanes: int) -> list[tuple[int, int]]:
        """The states of each thread: first and number, in whole tiles."""
        if states == 1:
            return [(0, 1)]
        seconds = states * _SECONDS * len(self.task.model.bodies) / lanes
        wanted = max(1, min(threads.get_threads(), int(seconds / _WORTH_A_THREAD)))
        tiles = -(-states // lanes)
        step = -(-tiles // wanted) * lanes
        return [(first, min(step, states - first)) for first in range(0, states, step)]
