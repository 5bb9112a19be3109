"""The interface of a mechanism that is assembled pairwise, as algorithms use it: its levels, and the parts in them."""

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
        """How it is made: "link", "joined", "hung" or "gathered"."""

    @property
    def path(self) -> bool:
        """Whether it is a link or joined, rather than branches on a link."""

    @property
    def body(self) -> Body:
        """Its first link, or the link that carries the branches."""

    @property
    def entries(self) -> Sequence[int]:
        """For a link or a joined part, the joints between its links and those closer to the world, by number."""

    @property
    def exits(self) -> Sequence[Any]:
        """The joints between its links and those behind it, each with the ``entry`` on the way to its ``joint``."""

    @property
    def joints(self) -> Sequence[Any]:
        """The joints that are closed in it, or for a link those of its exits: each the ``number`` and the ``body``. The
        numbering also holds for its own parts.
        """

    @property
    def whole(self) -> bool:
        """Whether it is the whole mechanism."""

    @property
    def bare(self) -> bool:
        """Whether it is a link without branches and loop holds; such parts are in no level."""

    @property
    def parts(self) -> Sequence[Part]: ...
    @property
    def holds(self) -> Sequence[Any]:
        """For a link, the holds on it, each with the number of its ``loop`` and its ``frame``."""

    @property
    def loops(self) -> Sequence[int]:
        """Loops that are open in it before some are closed; the numbering also holds for its own parts."""

    @property
    def closed(self) -> Sequence[int]: ...
    @property
    def open(self) -> Sequence[int]:
        """The loops that remain open."""


class AssembledTree(Tree, Protocol):
    """A mechanism that is assembled pairwise, possibly with loops; its frames are the holds of the loops."""

    def parallel(self, items: Iterable[Item]) -> Iterator[Item]:
        """Items whose iterations are independent: one step of a method on enough processors."""

    def all_bodies(self) -> Iterable[Body]:
        """Every body, for iteration in parallel."""

    def levels(self) -> Iterator[Iterable[Part]]:
        """Parts in levels, for iteration in parallel, each made of parts in earlier levels."""

    def levels_back(self) -> Iterator[Iterable[Part]]:
        """The same, the last first."""

    def frames(self) -> Iterator[Point]:
        """The holds of loops."""


if TYPE_CHECKING:

    def _has_it_all(tree: plain.Tree) -> AssembledTree:
        """The plain form implements this."""
        return tree
