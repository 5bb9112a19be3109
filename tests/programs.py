"""Programs of intermediate code run in two ways: by their definition, and as machine code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import verifier
from linkwork.engine.code import jit
from linkwork.engine.emit import kernel
from linkwork.engine.emit.call_frame import TABLES, Interface
from linkwork.engine.ir import evaluator
from linkwork.engine.ir.lists import pack_lists
from linkwork.engine.ir.program import Program
from linkwork.engine.plans import Task
from linkwork.engine.plans.loops import BodyLoops, Loops
from linkwork.engine.plans.specialised import Specialised
from strategies import ARRAYS, Array, State

BASELINE = jit.BASELINE
"""The oldest CPU that code is made for, whose vectors have two lanes."""


def evaluated(task: Task, form: str, arguments: Sequence[Array]) -> list[Array]:
    """The results of one state, by the verified program of a form and the evaluator."""
    if form != "specialised":
        return run_loops(BodyLoops(task), arguments, packed=form == "rolled, one state")
    arrays = _arrays(task, arguments)
    program = Specialised(task).program
    verifier.verify(program, arrays)
    evaluator.run(program, arrays)
    return _results(task, arrays)


def run_loops(loops: Loops, arguments: Sequence[Array], packed: bool = False) -> list[Array]:
    """The same by a program with loops; packed, items of lists are on lanes as for one state."""
    program, widths = loops.laid_out
    program, tables = pack_lists(program) if packed else program, loops.tables(False)
    arrays = _arrays(loops.task, arguments)
    arrays |= {name: np.full(size, np.nan) for name, size in loops.memory(widths, False).items()}
    arrays |= {"data": tables.data, "ints": tables.ints}
    sizes = loops.sizes(widths, False)
    verifier.verify(program, arrays, sizes)
    evaluator.run(program, arrays, sizes)
    return _results(loops.task, arrays)


def _arrays(task: Task, arguments: Sequence[Array]) -> dict[str, Any]:
    arrays: dict[str, Any] = {f"result{k}": np.zeros(size) for k, size in enumerate(task.results)}
    return arrays | {f"argument{k}": np.ravel(argument) for k, argument in enumerate(arguments)}


def _results(task: Task, arrays: dict[str, Any]) -> list[Array]:
    return [arrays[f"result{k}"] + 0.0 for k in range(len(task.results))]  # a zero has no sign


def arguments_of(task: Task, state: State) -> list[Array]:
    given = {"q0": state.q} | {key: getattr(state, key) for key in ARRAYS}
    return [given[name] for name, _ in task.algorithm.arguments if name not in task.absent]


def machine(program: Program, inputs: Array, results: int, lanes: int, cpu: tuple[str, str] | None = None) -> Array:
    """The results (states, numbers) of a program without loops for inputs (states, numbers), as machine code."""
    interface = Interface((inputs.shape[1],), (results,))
    image = jit.compile_object(kernel.module(program, interface, lanes), cpu or jit.host())
    code = jit.link(image, ["batch"])
    inputs, output = np.ascontiguousarray(inputs), np.empty((len(inputs), results))
    tile = np.empty(lanes * (inputs.shape[1] + results) + 8)
    place = tile.ctypes.data + -tile.ctypes.data % 64
    arrays = {"argument0": inputs.ctypes.data, "argument0_stride": inputs.shape[1], "result0": output.ctypes.data}
    words = interface.batch.pack(
        {"states": len(inputs), "whole": 0, "buffer": place, **arrays, **dict.fromkeys(TABLES, 0)}
    )
    code.function("batch")(words.ctypes.data)
    return output


def bits(array: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The bits of floats, for comparing; a zero has no sign."""
    return (np.asarray(array, dtype=np.float64) + 0.0).view(np.int64)
