"""The specialised form: an algorithm traced over a model's tree with every body in turn, all its numbers folded in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.algorithms import Algorithm
from linkwork.engine.ir.address import Address
from linkwork.engine.ir.program import Program
from linkwork.engine.spaces import shifted, size
from linkwork.engine.trace.interpreter import evaluate
from linkwork.engine.trace.isomorphic import IsomorphicTree
from linkwork.engine.trace.tracer import Tracer
from linkwork.model.model import Frame, Model


def specialise(
    algorithm: Algorithm,
    model: Model,
    absent: Sequence[str] = (),
    frames: Sequence[Frame] = (),
    offsets: bool = False,
    expand: bool = True,
    isomorphic: bool = False,
    most: int | None = None,
    places: Sequence[Sequence[int]] | None = None,
) -> Program:
    """The program of an algorithm for one model, every body in turn, all geometry and inertias folded in.

    Its arrays are "argument0", ... for the arguments that are not absent, and "result0", ... With ``offsets`` a last
    argument moves the frames, three numbers each. With ``isomorphic``, isomorphic branches get the same instructions,
    and numbers that would prevent it are instructions themselves, "constant". Tracing ends with ``TooLong`` if there
    are more instructions than ``most``. Of each result, the numbers at its ``places`` are stored, if these are given.
    """
    tracer = Tracer(expand, isomorphic, most=most)
    present = [name for name, _ in algorithm.arguments if name not in absent]
    arguments: list[Sequence[Any] | None] = []
    for name, space in algorithm.arguments:
        if name in absent:
            arguments.append(None)
        else:
            array = f"argument{present.index(name)}"
            arguments.append([tracer.load(Address(array, k)) for k in range(size(space, model, len(frames)))])
    if offsets:
        moves = [tracer.load(Address(f"argument{len(present)}", k)) for k in range(3 * len(frames))]
        frames = [Frame(f.name, f.body, shifted(f.placement, moves[3 * i : 3 * i + 3])) for i, f in enumerate(frames)]
    tree = IsomorphicTree(model, frames, tracer.constant) if isomorphic else None
    results = evaluate(algorithm, model, arguments, frames, tree)
    for number, values in enumerate(results):
        stored = values if places is None else [values[k] for k in places[number]]
        for k, value in enumerate(stored):
            tracer.store(Address(f"result{number}", k), value)
    return tracer.program
