"""Fields of the rolled form.

A value at a place has a row of ``work``, one at a pair of places a cell of ``square``, wide enough for any that is
stored there. A field whose values are blocks of a matrix, with a row for each degree of freedom of one joint and a
column for each of another, is a matrix instead, ``matrix`` with its number: numbers that are used together are
contiguous, whatever other joints there are, and one that is a result is kept where results are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from linkwork.engine.ir.address import ONE, Address, Terms
from linkwork.engine.ir.program import Block, Program
from linkwork.engine.spaces import flatten, rebuild
from linkwork.engine.trace.tracer import Traced

if TYPE_CHECKING:
    from linkwork.engine.trace.rolled import RolledTree


class InResult(NamedTuple):
    """Where a matrix is kept in a result: rows are so many times nv long, and it begins at such an offset."""

    array: str
    wide: int = 1
    before: Terms = ()

    def place(self, address: Address, begin: Terms) -> Address:
        terms = ((i, f"nv{self.wide * int(s[2:])}" if isinstance(s, str) else s) for i, s in address.terms)
        return address._replace(array=self.array, terms=(*terms, *begin))


def put_in_results(program: Program, results: Mapping[str, InResult]) -> Program:
    """Have matrices stored in results, by their names."""
    begins: dict[Terms, Terms] = {(): ()}
    for n, address in enumerate(program.details):
        if isinstance(address, Address) and address.array in results:
            found = results[address.array]
            if found.before not in begins:
                begin = program.instruction(Block(), "affine", (), Address("", 0, found.before))
                begins[found.before] = ((begin, 1),)
                program.root.order.insert(0, begin)
            program.details[n] = found.place(address, begins[found.before])
    return program


Stored = dict[Any, dict[int, set[float | None]]]
"""What was stored in a field, for each kind, or pair of kinds, and slot: constants, and None for everything else."""


class Field:
    """Values in ``work``: written when stored, loaded when read, cached while nothing can have changed them."""

    def __init__(self, tree: RolledTree, name: str) -> None:
        self.tree, self.name = tree, name
        self.matrix: str | None = None
        """What it is called as a matrix, if something was stored in it as such."""
        self.shapes: list[tuple[Any, Any]] = []  # what was stored, newest last: for which kind, and a template
        self.values: Stored = {}
        self.taken: list[tuple[Any, list[float | None]]] = []  # what was assumed constant: of which kind

    def _key(self, key: Any) -> tuple[tuple[int | None, ...], Any]:
        if isinstance(key, tuple):
            return (key[0].index, key[1].index), (key[0].kind, key[1].kind)
        return (key.index,), key.kind

    def __setitem__(self, key: Any, value: Any) -> None:
        indices, kind = self._key(key)
        numbers = flatten(value)
        self.shapes.append((kind, value))
        slots = self.values.setdefault(kind, {}) if numbers else {}
        for k, number in enumerate(numbers):
            slots.setdefault(k, set()).add(None if isinstance(number, Traced) else float(number))
        self.tree.remember(self, indices, numbers)
        for place, number in zip(self.places(key, value), numbers, strict=True):
            self.tree.tracer.store(place, number)

    def __getitem__(self, key: Any) -> Any:
        indices, kind = self._key(key)
        template = self._template(kind)
        numbers = self.tree.recall(self, indices)
        if numbers is None:
            places = self.places(key, template)
            constants = self._constants(kind, len(places))
            self.taken.append((kind, constants))
            both = zip(places, constants, strict=True)
            numbers = [self.tree.read(place) if constant is None else constant for place, constant in both]
            self.tree.remember(self, indices, numbers)
        return rebuild(template, iter(numbers))

    @property
    def settled(self) -> bool:
        """Whether everything assumed to be constant, or a block of a matrix, is so by what the tree knows now."""
        same = (repr(self._constants(kind, len(taken))) == repr(taken) for kind, taken in self.taken)  # signs of zeros
        return not (self.matrix and self.name in self.tree.scattered) and all(same)

    @property
    def item_size(self) -> int:
        """How many numbers a motion or a force has, if lists of these were stored, some of several; otherwise 0."""
        lists = [value for _, value in self.shapes]
        if not all(isinstance(value, list) and all(hasattr(item, "numbers") for item in value) for value in lists):
            return 0
        sizes = {len(item.numbers()) for value in lists for item in value}
        return sizes.pop() if len(sizes) == 1 and max(map(len, lists)) > 1 else 0

    def places(self, key: Any, template: Any) -> list[Address]:
        """The addresses of the numbers stored at a place, or at a pair of places."""
        if isinstance(key, tuple) and self.name not in self.tree.scattered:
            if self.tree.matrices and _is_block(key, template):
                self.matrix = f"matrix{self.name.removeprefix('field')}"
                return self._of_block(self.matrix, key, template)
            self.tree.scattered.add(self.name)
        return [self.tree.address(self.name, key, k) for k in range(len(flatten(template)))]

    @staticmethod
    def _of_block(array: str, key: Any, rows: Sequence[Sequence[Any]]) -> list[Address]:
        if not flatten(rows):
            return []
        corner: Terms = ((key[0].integer("v"), "nv1"), (key[1].integer("v"), 1))
        below: list[Terms] = [((ONE, f"nv{row}"),) if row else () for row in range(len(rows))]
        both = zip(below, rows, strict=True)
        return [Address(array, k, (*corner, *down)) for down, row in both for k in range(len(row))]

    def _constants(self, kind: Any, count: int) -> list[float | None]:
        """The constant that is always stored in each slot for the possible kinds, if there is only one: in the earlier
        trace, and so far in this one.
        """
        if not self.tree.assumes:
            return [None] * count
        earlier = self.tree.known.stored.get(self.name, {}) if self.tree.known else {}
        meant = [slots for values in (earlier, self.values) for at, slots in values.items() if _may_be(at, kind)]
        found = [set[float | None]().union(*(slots.get(k, ()) for slots in meant)) for k in range(count)]
        return [stored.pop() if len(stored) == 1 else None for stored in found]

    def _template(self, kind: Any) -> Any:
        """The newest value stored for the possible kinds: for the same kind, or for a body whose kind is not known."""
        for stored, template in reversed(self.shapes):
            if _may_be(stored, kind):
                return template
        raise KeyError(f"nothing was stored in this field for {kind}")


class PathField(Field):
    """Values at the bodies of a path, a row for each distance from the world."""

    def places(self, key: Any, template: Any) -> list[Address]:
        terms: Terms = () if key.index is None else ((self.tree.place("depth", key), "row"),)
        return [Address(self.name, k, terms) for k in range(len(flatten(template)))]


class StoredField(Field):
    """A field that knows where it was stored: the block, the instruction, the place and the slot."""

    def __init__(self, tree: RolledTree, name: str) -> None:
        super().__init__(tree, name)
        self.stored: list[tuple[Block, int, Any, int]] = []

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        block, count = self.tree.tracer.block, len(flatten(value))
        self.stored += [(block, n, key, k) for k, n in enumerate(block.order[len(block.order) - count :])]


def _may_be(stored: Any, asked: Any) -> bool:
    """Whether something was stored for the kind, or pair of kinds, that is asked for."""
    both = zip(stored, asked, strict=True) if isinstance(stored, tuple) else [(stored, asked)]
    return all(s is None or a is None or not _several(s).isdisjoint(_several(a)) for s, a in both)


def _several(kind: Any) -> frozenset[Any]:
    return kind if isinstance(kind, frozenset) else frozenset({kind})


def _is_block(key: tuple[Any, Any], value: Any) -> bool:
    """Whether a value for a pair of joints is a block of a matrix over degrees of freedom."""
    if any(node.kind is None or node.kind == -1 for node in key):
        return False
    rows, columns = (node.tree.kinds[min(_several(node.kind))].joint.nv for node in key)
    shape = [len(row) if isinstance(row, list) else -1 for row in value] if isinstance(value, list) else None
    return shape == [columns] * rows and len(flatten(value)) == rows * columns
