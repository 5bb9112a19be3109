"""The interface of a mechanism whose long chain is cut into segments, as algorithms use it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

from linkwork.algorithms.tree import Body, Field, ReducedTree

if TYPE_CHECKING:
    from linkwork.model import tree as plain


class Segment(Protocol):
    """A stretch of a chain, or a side branch, with bodies numbered from 0."""

    def outward(self, start: int = 0, stop: int | None = None) -> Iterator[Body]:
        """The bodies from ``start`` up to but excluding ``stop``; -1 is the last."""

    def inward(self, start: int = 0, stop: int | None = None) -> Iterator[Body]:
        """The same in reverse order."""

    @property
    def before(self) -> Any:
        """The seam before a stretch of a chain."""

    @property
    def behind(self) -> Any:
        """The seam behind it, with its last joint."""


class SegmentedTree(ReducedTree, Protocol):
    """A mechanism with a long chain, cut into segments of equal length behind a head of single bodies, and possibly
    with side branches.
    """

    @property
    def branched(self) -> bool:
        """Whether there are side branches."""

    @property
    def most_constraints(self) -> int:
        """The largest number of constraint wrenches of a joint of the chain, those of rotors included."""

    @property
    def along(self) -> Any:
        """The place for values that are carried along the chain from one body, or one segment, to the next."""

    @property
    def seams(self) -> Any:
        """The joint before the first segment and the last joints of all segments, in order."""

    @property
    def first_seam(self) -> Any: ...
    @property
    def last_seam(self) -> Any: ...
    def all_seams(self) -> Iterator[Any]:
        """The seams; iterations are independent."""

    def persistent_field(self) -> Field[Any]:
        """A new field whose values at bodies of a segment outlive its iteration of a loop over segments."""

    def head(self) -> Iterator[Body]:
        """The bodies of the chain before its segments, in outward order."""

    def head_inward(self) -> Iterator[Body]:
        """The same in inward order."""

    def segments(self, brief: bool = False) -> Iterator[Segment]:
        """The segments of the chain; iterations are independent, and ``brief`` if they visit few bodies."""

    def segments_outward(self) -> Iterator[Segment]:
        """The segments of the chain in sequence, from the first."""

    def limbs(self) -> Iterator[Segment]:
        """The side branches, each with its whole subtree; iterations are independent. The parent of every body but the
        first is in the same branch.
        """

    def limbs_in_turn(self) -> Iterator[Segment]:
        """The same in sequence."""

    def limbs_to_fill(self) -> Iterator[Segment]:
        """The same, but a branch may occur several times, once for each processor that needs it."""


if TYPE_CHECKING:

    def _has_it_all(tree: plain.Tree) -> SegmentedTree:
        """The plain form implements this."""
        return tree
