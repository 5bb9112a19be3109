"""How rolled code reads its arguments and writes its results, where the caller has and expects them."""

from __future__ import annotations

from typing import Any

from linkwork.engine.fields import flatten
from linkwork.engine.ir import ONE, Address, Terms
from linkwork.spatial import Force


class Argument:
    """An argument of the algorithm as a field."""

    def __init__(self, tree: Any, array: str, space: str) -> None:
        self.tree, self.array, self.space = tree, array, space

    def __getitem__(self, node: Any) -> Any:
        load = self.tree.tracer.load
        if self.space == "twists":
            return [load(Address(self.array, k, ((node.index, 6),))) for k in range(6)]
        if self.space == "wrenches":
            return Force.from_numbers([load(_own(self.array, self.space, node, k)) for k in range(6)])
        count = node.joint.nq if self.space == "configuration" else node.joint.nv
        return [load(_own(self.array, self.space, node, k)) for k in range(count)]


def _own(array: str, space: str, body: Any, k: int) -> Address:
    """Where a body's own number k is in an argument or a result."""
    if space == "wrenches":
        return Address(array, k - 6, ((body._index, 6),), apart=body.apart(space))
    start = body._at(2 if space == "configuration" else 3)
    return Address(array, k, ((start, 1),), apart=body.apart(space))


def argument(tree: Any, array: str, space: str) -> Any:
    """An argument of the algorithm: a field, or a scalar."""
    return tree.tracer.load(Address(array, 0)) if space == "scalar" else Argument(tree, array, space)


def gather(tree: Any, array: str, space: str, value: Any) -> None:
    """Write a result, in loops, where the caller expects it."""
    store = tree.tracer.store
    if space in ("scalar", "vector", "wrench"):
        for k, number in enumerate(flatten(value)):
            store(Address(array, k), number)
    elif space in ("velocity", "configuration", "wrenches"):
        if tree.deliver(array, space, value):
            return
        for body in tree.outward():
            for k, number in enumerate(flatten(value[body])):
                store(_own(array, space, body, k), number)
    elif space == "twists":
        for frame in tree.frames():
            for k, number in enumerate(flatten(value[frame])):
                store(Address(array, k, ((frame.index, 6),)), number)
    elif space == "poses":
        for frame in tree.frames():
            r, p = value[frame].rotation.numbers(), value[frame].translation
            for k, number in enumerate([*r[:3], p.x, *r[3:6], p.y, *r[6:], p.z, 0.0, 0.0, 0.0, 1.0]):
                store(Address(array, k, ((frame.index, 16),)), number)
    elif space == "operational":
        for frame in tree.frames():
            for other in tree.frames():
                columns = [motion.numbers() for motion in value[frame, other]]
                for row in range(6):
                    place: Terms = ((frame.index, "wide6"), (other.index, 6), *_times("wide", row))
                    for k, column in enumerate(columns):
                        store(Address(array, k, place), column[row])
    elif space in ("jacobian", "responses"):
        for frame in tree.frames():
            for body in tree.path(frame.body) if space == "jacobian" else tree.outward():
                columns = [motion.numbers() for motion in value[frame, body]]
                for row in range(6 if columns else 0):
                    terms: Terms = ((frame.index, "nv6"), (body._at(3), 1), *_times("nv", row))
                    for k, column in enumerate(columns):
                        store(Address(array, k, terms), column[row])
    else:
        for body in tree.outward():
            _gather_block(tree, array, body, body, value)
            for other in tree.ancestors(body):
                _gather_block(tree, array, body, other, value)
                _gather_block(tree, array, other, body, value)


def _gather_block(tree: Any, array: str, a: Any, b: Any, value: Any) -> None:
    for i, row in enumerate(value[a, b]):
        terms: Terms = ((a._at(3), "nv1"), (b._at(3), 1), *_times("nv", i))
        for k, number in enumerate(row):
            tree.tracer.store(Address(array, k, terms), number)


def _times(size: str, row: int) -> Terms:
    """A row's distance from the first, in multiples of a size."""
    return ((ONE, f"{size}{row}"),) if row else ()
