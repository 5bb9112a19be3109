"""What a rolled tree is made of: bodies, frames and junctions whose numbers are known only at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linkwork.engine.ir.address import ONE, Address, Terms
from linkwork.engine.spaces import shifted
from linkwork.engine.trace.tables import BODIES, FRAMES, INERTIA, JUNCTIONS, PLACEMENT, Kind, Section
from linkwork.joints import Joint
from linkwork.spatial import Inertia, Transform

if TYPE_CHECKING:
    from linkwork.engine.trace.rolled import RolledTree


class _Symbol:
    """Something whose number is known only at run time: a row of a section of ``ints``."""

    section: Section
    kind: int | frozenset[int] | None = None
    """Its kind, those of which it may be, or None if nothing is known of it."""

    def __init__(self, tree: RolledTree, index: int | None) -> None:
        self.tree, self.index = tree, index

    def integer(self, column: str) -> int:
        """The value in a column of its row."""
        return self.tree.tracer.emit("index", (), self.section.address(column, self.index))


class Node(_Symbol):
    """A body."""

    section = BODIES

    def __init__(self, tree: RolledTree, index: int | None, kind: int | frozenset[int] | None) -> None:
        super().__init__(tree, index)
        self.kind = kind

    def integer(self, column: str) -> int:
        return self.tree.tracer.emit("index", (), BODIES.address(column, self.number))

    @property
    def number(self) -> int:
        if self.index is None:
            raise TypeError("the world has no joint, no parent and no inertia")
        return self.index

    @property
    def parent(self) -> Node:
        if isinstance(self.kind, int) and self.tree.kinds[self.kind].root:
            return self.tree.world
        return Node(self.tree, self.integer("parent"), None)

    def numbers(self, start: int, count: int) -> list[Any]:
        fixed = self._kind.fixed[start : start + count]
        return [x if x == x else self.tree.tracer.load(self.address(start + k)) for k, x in enumerate(fixed)]

    def address(self, slot: int) -> Address:
        """The address of one of the body's numbers in ``data``."""
        return Address("data", slot, ((self.number, self.tree.width),))

    def lane_stride(self, size: str) -> str | int | None:
        """The size or integer that is the stride between lanes in an argument or a result, if it stands for several."""
        return None

    def place_addresses(self, letter: str, count: int) -> list[Address] | None:
        """Where the position of each of its numbers in q or v is read; None for contiguous ones."""
        return None

    @property
    def _kind(self) -> Kind:
        if not isinstance(self.kind, int):
            raise TypeError("a parent's joint is not known while its child is at work; store what you need in a field")
        return self.tree.kinds[self.kind]

    @property
    def placement(self) -> Transform:
        return Transform.identity().of(self.numbers(0, PLACEMENT))

    @property
    def inertia(self) -> Inertia:
        return Inertia.zero().of(self.numbers(PLACEMENT, INERTIA))

    @property
    def rotor(self) -> list[Any]:
        if self.tree.rotor_values is not None:
            return list(self.tree.rotor_values[self])
        return self.numbers(PLACEMENT + INERTIA, self._kind.joint.nv) if self._kind.rotor else []

    @property
    def doubtful(self) -> bool:
        return self._kind.doubtful

    @property
    def alone(self) -> bool:
        if self._kind.alone is None:
            raise TypeError("whether a body is alone on its parent is known only to algorithms that say they ask")
        return self._kind.alone

    @property
    def joint(self) -> Joint:
        kind = self._kind
        start = PLACEMENT + INERTIA + (kind.joint.nv if kind.rotor else 0)
        count = len(kind.fixed) - start
        return kind.joint.of(self.numbers(start, count)) if count else kind.joint


class OneOfSeveral(Node):
    """A body whose joint is of one of several kinds, which have the same number of degrees of freedom."""

    @property
    def joint(self) -> Joint:
        """A joint of one of these kinds, which stands for their degrees of freedom alone."""
        assert isinstance(self.kind, frozenset)
        return self.tree.kinds[min(self.kind)].joint


class FrameNode(_Symbol):
    """A frame."""

    section = FRAMES

    @property
    def body(self) -> Node:
        return Node(self.tree, self.integer("body"), None)

    @property
    def placement(self) -> Transform:
        assert self.index is not None
        terms: Terms = ((ONE, "frame_data"), (self.index, PLACEMENT))
        load = self.tree.tracer.load
        fixed = Transform.identity().of([load(Address("data", k, terms)) for k in range(PLACEMENT)])
        return fixed if self.tree.offsets is None else shifted(fixed, self.tree.offsets[self])


class Junction(_Symbol):
    """A junction; without a number it is the ground."""

    section = JUNCTIONS

    @property
    def body(self) -> Node:
        return Node(self.tree, self.integer("body"), None)

    @property
    def next(self) -> Junction:
        return Junction(self.tree, self.integer("next"))
