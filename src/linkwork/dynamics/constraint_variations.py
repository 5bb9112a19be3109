"""Constraint rows and rates as functions of the frames' placements and motions, and their derivatives.

Written over arrays. Derivatives are taken through the trace of these functions, either as part of a larger kernel that
is being traced or in a kernel of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linkwork.compiled.arrays import is_traced, numbers, traced
from linkwork.compiled.tracing import Shape, trace
from linkwork.dynamics.arguments import Array
from linkwork.dynamics.constrained_state import rows_and_rates
from linkwork.dynamics.held import HeldBy, Rows, wrenches_of
from linkwork.engine.trace.differentiate import pushed
from linkwork.model.constraints import Coupling
from linkwork.spatial.small_matrices import skew, times, transposed

if TYPE_CHECKING:
    from linkwork.compiled.compiled_function import CompiledFunction


def unit_wrenches(held: HeldBy, rows: Sequence[Rows]) -> Array:
    """(..., 6k, r): maps the magnitudes of the constraint forces to the wrenches on the frames a."""
    blocks = [transposed(own[held.a[grips[0]]]) for grips, own in zip(held.grips, rows, strict=True)]
    widths = [block.shape[-1] for block in blocks]
    lines = []
    for k, block in enumerate(blocks):
        before, after = (np.zeros((*block.shape[:-1], sum(part))) for part in (widths[:k], widths[k + 1 :]))
        lines.append(np.concatenate([before, block, after], axis=-1))
    return np.concatenate(lines, axis=-2)


class Variations(NamedTuple):
    """Derivatives of rates (r), forces at all frames (6m) and wrenches (6k) with respect to the placements of moving
    frames, along their own axes, and to their motions; and of rates with respect to q directly (..., r, nv).
    """

    rates_places: Array
    rates_motions: Array
    rates_q: Array
    forces_places: Array
    wrenches_places: Array


def variations(
    held: HeldBy, q: Array, places: Array, V: Array, A: Array, placements: Array, settings: Array | None, sizes: Array
) -> Variations:
    gains = np.zeros(3) if settings is None else settings
    values = (q, places, V, A, placements, gains, sizes)
    if is_traced(values):
        return _varied(held, settings is not None, *values)
    kernel = held.kept_law(("variations", settings is not None), lambda: _variations_kernel(held, settings, sizes))
    leaves, _, _ = kernel.attempt(values)
    return Variations(*leaves)


def _shapes(held: HeldBy, size: int) -> dict[str, Shape]:
    m = len(held.ends)
    return {"q": (held.model.nq,), "places": (m, 4, 4), "V": (m, 6), "A": (m, 6),
            "placements": held.placements.shape, "settings": (3,), "sizes": (size,)}  # fmt: skip


def _variations_kernel(held: HeldBy, settings: Array | None, sizes: Array) -> CompiledFunction:
    from linkwork.compiled.law import law

    size, nv, k = sizes.shape[-1], held.model.nv, len(held.constraints)
    width = 6 * sum(map(bool, held.bodies))
    results = [(size, width), (size, width), (size, nv), (6 * len(held.ends), width), (6 * k, width)]

    def text(q: Any, places: Any, V: Any, A: Any, placements: Any, settings_: Any, sizes: Any) -> Any:
        return tuple(_varied(held, settings is not None, q, places, V, A, placements, settings_, sizes))

    shapes = {name if name != "settings" else "settings_": shape for name, shape in _shapes(held, size).items()}
    what = (held.kinds, settings is not None)
    return law("constraint_variations", text, shapes, results, held.model, held.frames, *what)


def _varied(
    held: HeldBy, stabilised: bool, q: Any, places: Any, V: Any, A: Any, placements: Any, settings: Any, sizes: Any
) -> Variations:
    """The derivatives through the trace of the constraint functions, over traced numbers."""

    def text(q: Any, places: Any, V: Any, A: Any, placements: Any, settings: Any, sizes: Any) -> Any:
        C, rates, rows = rows_and_rates(held, q, places, V, A, placements, settings if stabilised else None)
        return rates, times(transposed(C), sizes), wrenches_of(held, rows, sizes)

    shapes = _shapes(held, sizes.shape[-1])
    program, _, _ = trace("constraints", text, shapes)
    own = [numbers(each).ravel().tolist() for each in (q, places, V, A, placements, settings, sizes)]
    still = [[0.0] * len(each) for each in own]
    ends = [end for end, body in enumerate(held.bodies) if body]
    directions = []
    for end in ends:
        turn = places[end, :3, :3]
        for axis in range(6):
            change = traced(np.zeros((len(held.ends), 4, 4)).astype(object))
            if axis < 3:
                change[end, :3, 3] = turn[:, axis]
            else:
                change[end, :3, :3] = turn @ skew(np.eye(3)[axis - 3])
            directions.append([still[0], numbers(change).ravel().tolist(), *still[2:]])
    for end in ends:
        for axis in range(6):
            unit = [float(i == 6 * end + axis) for i in range(len(own[2]))]
            directions.append([*still[:2], unit, *still[3:]])
    coupled = _coupled(held) if stabilised else []
    for number, _ in coupled:
        directions.append([[float(i == number) for i in range(len(own[0]))], *still[1:]])
    _, changes = pushed(program, own, directions)
    width = 6 * len(ends)

    def matrix(result: int, first: int, last: int) -> Any:
        columns = [change[result] for change in changes[first:last]]
        count = len(changes[0][result])
        return traced(np.array(columns, dtype=object).reshape(last - first, count).T.copy())

    by_q = traced(np.zeros((len(changes[0][0]), held.model.nv)).astype(object))
    for k, (_, column) in enumerate(coupled):
        by_q[:, column] = matrix(0, 2 * width + k, 2 * width + k + 1)[:, 0]
    return Variations(matrix(0, 0, width), matrix(0, width, 2 * width), by_q, matrix(1, 0, width), matrix(2, 0, width))


def _coupled(held: HeldBy) -> list[tuple[int, int]]:
    """Indices in q and v of the coupled joints, whose errors depend on q directly."""
    model = held.model
    joints = {
        model.joint_index(name)
        for each in held.constraints
        if isinstance(each, Coupling)
        for name in each.joint_names()
    }
    return [(model.q_start[joint], model.v_start[joint]) for joint in sorted(joints)]
