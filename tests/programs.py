"""The doors into the engine that several tests need: plans of algorithms in any form, and programs of intermediate
code, which run in two ways: by their definition, and as machine code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import linkwork as lw
import verifier
from linkwork.algorithms import Algorithm
from linkwork.engine.code import jit
from linkwork.engine.emit import kernel, row_kernel
from linkwork.engine.emit.call_frame import TABLES, Interface
from linkwork.engine.ir import evaluator
from linkwork.engine.ir.address import Address
from linkwork.engine.ir.lists import pack_lists
from linkwork.engine.plans import Task, TracedTask, plan_for, plan_for_trace
from linkwork.engine.trace.tracer import Tracer
from linkwork.inside import size
from strategies import ARRAYS, Array, State

BASELINE = jit.BASELINE
"""The oldest CPU that code is made for, whose vectors have two lanes."""
GUARD = 16


# Plans


def task_of(algorithm: Algorithm, model: lw.Model, frames: Sequence[str | lw.Frame] = (), **more: Any) -> Task:
    """An algorithm for a model; ``more``: arguments that are absent, derivatives."""
    named = [model.frame(frame) if isinstance(frame, str) else frame for frame in frames]
    return Task(algorithm, model, frames=named, **more)


def planned(
    task: Task | TracedTask, form: str = "auto", cpu: tuple[str, str] | None = None, lanes: int | None = None
) -> Any:
    """The plan of a task in a form, for a CPU and a number of lanes."""
    if isinstance(task, TracedTask):
        return plan_for_trace(task, "a program", form, cpu, lanes)
    return plan_for(task, form, cpu, lanes)


def is_about_frames(algorithm: Algorithm, model: lw.Model) -> bool:
    return any(size(space, model, 1) != size(space, model, 0) for space in algorithm.results)


def arguments_of(task: Task, state: State) -> list[Array]:
    given = {"q0": state.q} | {key: getattr(state, key) for key in ARRAYS}
    return [given[name] for name, _ in task.algorithm.arguments if name not in task.absent]


# Programs by their definition


def evaluated(task: Task, form: str, arguments: Sequence[Array]) -> list[Array]:
    """The results of one state, by the verified program of a form and the evaluator."""
    if "rolled" in form:
        return run_loops(planned(task, "rolled").loops, arguments, packed=form == "rolled, one state")
    plan = planned(task, "specialised")
    program = plan.one_state_program if form == "specialised, one state" else plan.program
    return run_program(program, task.results, arguments)


def run_program(program: Any, results: Sequence[int], arguments: Sequence[Array]) -> list[Array]:
    """The same by a program without loops."""
    arrays = _arrays(results, arguments)
    verifier.verify(program, arrays)
    evaluator.run(program, arrays)
    return _results(results, arrays)


def run_loops(loops: Any, arguments: Sequence[Array], packed: bool = False) -> list[Array]:
    """The same by a program with loops, in memory full of NaN; packed, items of lists are on lanes as for one state."""
    program, widths = loops.laid_out
    program, tables = pack_lists(program) if packed else program, loops.tables(False)
    arrays = _arrays(loops.task.results, arguments)
    arrays |= {name: np.full(size, np.nan) for name, size in loops.memory(widths, False).items()}
    arrays |= {"data": tables.data, "ints": tables.ints}
    sizes = loops.sizes(widths, False)
    verifier.verify(program, arrays, sizes)
    evaluator.run(program, arrays, sizes)
    return _results(loops.task.results, arrays)


def operations_done(loops: Any, arguments: Sequence[Array]) -> tuple[list[Array], Counter[str]]:
    """The results of a program with loops, and how often each operation was done."""
    done: Counter[str] = Counter()

    def counting(name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*operands: Any) -> Any:
            done[name] += 1
            return operation(*operands)

        return counted

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluator, "ARITHMETIC", {k: counting(k, f) for k, f in evaluator.ARITHMETIC.items()})
        return run_loops(loops, arguments), done


def _arrays(results: Sequence[int], arguments: Sequence[Array]) -> dict[str, Any]:
    arrays: dict[str, Any] = {f"result{k}": np.zeros(size) for k, size in enumerate(results)}
    return arrays | {f"argument{k}": np.ravel(argument) for k, argument in enumerate(arguments)}


def _results(results: Sequence[int], arrays: dict[str, Any]) -> list[Array]:
    return [arrays[f"result{k}"] + 0.0 for k in range(len(results))]  # a zero has no sign


# Programs as machine code


def traced(text: Callable[..., Sequence[Any]], count: int, expand: bool = True) -> Any:
    """The program of a text over ``count`` scalars that returns several; with ``expand``, sine and the like are written
    out.
    """
    tracer = Tracer(expand)
    arguments = [tracer.load(Address("argument0", k)) for k in range(count)]
    for k, result in enumerate(text(*arguments)):
        tracer.store(Address("result0", k), result)
    return tracer.program


class Machine:
    """A program of ``traced`` as machine code, whose results leave it in tiles or as rows."""

    def __init__(
        self,
        program: Any,
        count: int,
        width: int,
        lanes: int,
        cpu: tuple[str, str] | None = None,
        way: str = "tiles",
        spared: Sequence[Any] = (),
    ) -> None:
        interface, cpu = Interface((count,), (width,)), cpu or jit.host()
        module = row_kernel.module if way == "rows" else kernel.module
        self.text = module(program, interface, lanes, spared=spared)
        self.width, self.frame, self.tile = width, interface.batch, aligned(lanes * (count + width))
        self.run = jit.link(jit.compile_object(self.text, cpu), ["batch"]).function("batch")

    def __call__(self, inputs: Array, begin: int = 0) -> tuple[Array, int]:
        """Results for inputs (states, numbers), at an offset of this many bytes from a cache line, and status; memory
        around the results must stay unchanged.
        """
        inputs = np.ascontiguousarray(inputs)
        size = 2 * GUARD + len(inputs) * self.width
        around = aligned(size + 8).view(np.uint8)[begin : begin + 8 * size].view(np.float64)
        around.fill(7.0)
        arrays = {"argument0": inputs.ctypes.data, "argument0_stride": inputs.shape[1]}
        words = {"states": len(inputs), "whole": 0, "buffer": self.tile.ctypes.data, **dict.fromkeys(TABLES, 0)}
        words["result0"] = around.ctypes.data + 8 * GUARD
        status = self.run(self.frame.pack({**words, **arrays}).ctypes.data)
        assert (around[:GUARD] == 7.0).all() and (around[-GUARD:] == 7.0).all()
        return around[GUARD:-GUARD].reshape(len(inputs), self.width), status


def machine(program: Any, inputs: Array, width: int, lanes: int, cpu: tuple[str, str] | None = None) -> Array:
    """The results (states, numbers) of a program for inputs (states, numbers), as machine code."""
    return Machine(program, inputs.shape[1], width, lanes, cpu)(inputs)[0]


def aligned(count: int) -> Array:
    """Uninitialised numbers, from the beginning of a cache line."""
    whole = np.empty(count + 8)
    begin = -(whole.ctypes.data // 8) % 8
    return whole[begin : begin + count]


def bits(array: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The bits of floats, for comparing; a zero has no sign."""
    return (np.asarray(array, dtype=np.float64) + 0.0).view(np.int64)
