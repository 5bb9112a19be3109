"""What an algorithm may use of a mechanism whose long chain is cut into segments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

from linkwork.algorithms.tree import Body, Field, ReducedTree

if TYPE_CHECKING:
    from linkwork.model import tree as plain


class Segment(Protocol):
    """A stretch of a chain, or a side branch, its bodies numbered from 0."""

    def outward(self, start: int = 0, stop: int | None = None) -> Iterator[Body]:
        """The bodies from number ``start`` up to but without ``stop``; -1 is the last."""

    def inward(self, start: int = 0, stop: int | None = None) -> Iterator[Body]:
        """The same, the last first."""

    @property
    def before(self) -> Any:
        """The seam before a stretch of a chain."""

    @property
    def behind(self) -> Any:
        """The seam behind it, with its last joint."""


class SegmentedTree(ReducedTree, Protocol):
    """A mechanism with a long chain, cut into segments of equal length behind a head of single bodies, and perhaps
    with side branches.
    """

    @property
    def branched(self) -> bool:
        """Whether there are side branches."""

    @property
    def most_constraints(self) -> int:
        """The most wrenches that a joint of the chain transmits, those of rotors included."""

    @property
    def along(self) -> Any:
        """Where to keep what goes along the chain from one body, or one segment, to the next."""

    @property
    def seams(self) -> Any:
        """The joint before the first segment and the last joints of all, in a row."""

    @property
    def first_seam(self) -> Any: ...
    @property
    def last_seam(self) -> Any: ...
    def all_seams(self) -> Iterator[Any]:
        """The seams; iterations are independent."""

    def persistent_field(self) -> Field[Any]:
        """A new store of values, which at bodies of a segment outlive its iteration of a loop over segments."""

    def head(self) -> Iterator[Body]:
        """The bodies of the chain that come before its segments, the first first."""

    def head_inward(self) -> Iterator[Body]:
        """The same, the last first."""

    def segments(self, brief: bool = False) -> Iterator[Segment]:
        """The segments of the chain; iterations are independent, and ``brief`` where they are about few bodies."""

    def segments_outward(self) -> Iterator[Segment]:
        """The segments of the chain, one after the other from the first."""

    def limbs(self) -> Iterator[Segment]:
        """The side branches, each with all that hangs on it; iterations are independent. All bodies but the first have
        their parents among them.
        """

    def limbs_in_turn(self) -> Iterator[Segment]:
        """The same, one after the other."""

    def limbs_to_fill(self) -> Iterator[Segment]:
        """The same; where one may come several times, since several processors know it."""


if TYPE_CHECKING:

    def _has_it_all(tree: plain.Tree) -> SegmentedTree:
        """The plain form is one."""
        return tree
