"""What an algorithm may use of a mechanism whose parts meet pairwise: its levels, and the parts in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from linkwork.algorithms.tree import Body, Item, Point, Tree

if TYPE_CHECKING:
    from linkwork.model import tree as plain


class Part(Protocol):
    """A part of a mechanism that is assembled pairwise (``model.assembly``)."""

    @property
    def made(self) -> str:
        """How: "link", "joined", "hung" or "gathered"."""

    @property
    def path(self) -> bool:
        """Whether it is a link or joined, and not what hangs on one."""

    @property
    def body(self) -> Body:
        """Its first link, or the one on which branches hang."""

    @property
    def on(self) -> Body | None:
        """Of a link, the next one of its path, if there is one; of what is joined, the first link of the second."""

    @property
    def behind(self) -> bool:
        """Whether its path goes on behind it."""

    @property
    def whole(self) -> bool:
        """Whether it is the mechanism."""

    @property
    def bare(self) -> bool:
        """Whether it is a link on which nothing hangs and that no loop holds; such parts are in no level."""

    @property
    def parts(self) -> Sequence[Part]: ...
    @property
    def holds(self) -> Sequence[Any]:
        """Of a link, the holds on it, each with the number of its ``loop`` and its ``frame``."""

    @property
    def loops(self) -> Sequence[int]:
        """Loops that are open in it before some are closed; their numbers hold for its own parts, too."""

    @property
    def closed(self) -> Sequence[int]: ...
    @property
    def open(self) -> Sequence[int]:
        """The others."""


class AssembledTree(Tree, Protocol):
    """A mechanism whose parts meet pairwise, perhaps with loops, whose holds its frames are."""

    def parallel(self, items: Iterable[Item]) -> Iterator[Item]:
        """Items whose iterations are independent: one step of a method on enough processors."""

    def all_bodies(self) -> Iterable[Body]:
        """Every body, to be looked at in parallel."""

    def levels(self) -> Iterator[Iterable[Part]]:
        """Parts in levels, to be looked at in parallel, each made of what is in levels before."""

    def levels_back(self) -> Iterator[Iterable[Part]]:
        """The same, the last first."""

    def frames(self) -> Iterator[Point]:
        """The holds of loops."""


if TYPE_CHECKING:

    def _has_it_all(tree: plain.Tree) -> AssembledTree:
        """The plain form is one."""
        return tree
