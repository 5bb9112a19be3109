"""What an algorithm may use of a mechanism: a tree that it walks, and fields that keep values at the tree's places.

``linkwork.model.tree`` has the plain form, in which a walk is an ordinary loop; engines have forms of their own. An
algorithm says by the type of its tree how much of it must be known when the text is read: of ``Tree`` nothing but the
joint of the body at hand, so that its loops may stay loops in code that serves any number of bodies; of
``SegmentedTree`` (``segmented_tree``) the same, and how a long chain is cut; of ``KnownTree`` everything.

One rule makes all forms possible: a value that outlives its iteration of a loop is kept in a field, never in a local
variable. Parameters that are places have no narrower type than Any, since each form has places of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from linkwork.joints import Joint
from linkwork.spatial import Coordinates, Force, Inertia, Motion, Scalar, Transform

if TYPE_CHECKING:
    from linkwork.model import tree as plain

Item = TypeVar("Item")
Value = TypeVar("Value")
Given = TypeVar("Given", covariant=True)


class Values(Protocol[Given]):
    """A value at each place, or at each pair of places: an argument of an algorithm."""

    def __getitem__(self, place: Any, /) -> Given: ...


class Field(Values[Value], Protocol[Value]):
    """The same to be written to: what an algorithm finds out."""

    def __setitem__(self, place: Any, value: Value, /) -> None: ...


JointValues = Values[Coordinates]
"""Numbers for each joint, such as q, v, a and τ."""
JointField = Field[Coordinates]
BodyForces = Values[Force]
"""A force on each body, in its own frame."""


class Body(Protocol):
    """A body, or the world, which has nothing but its number 0."""

    @property
    def index(self) -> int: ...
    @property
    def parent(self) -> Body: ...
    @property
    def joint(self) -> Joint:
        """What it hangs on."""

    @property
    def placement(self) -> Transform:
        """Of the joint in the parent."""

    @property
    def inertia(self) -> Inertia: ...
    @property
    def rotor(self) -> Sequence[Scalar]:
        """Rotor inertias of the joint; empty where there are none."""

    @property
    def doubtful(self) -> bool:
        """Whether rounding could hide that the joint moves no inertia."""

    @property
    def alone(self) -> bool:
        """Whether no other joint stands on its parent, or this is the world."""


class Point(Protocol):
    """A frame that was asked for, at ``placement`` on ``body``."""

    @property
    def index(self) -> int: ...
    @property
    def body(self) -> Body: ...
    @property
    def placement(self) -> Transform: ...


class Junction(Protocol):
    """A body at which the paths of points to the world meet; ``next`` is the junction that its own path comes to."""

    @property
    def body(self) -> Body: ...
    @property
    def next(self) -> Junction: ...


class Station(Protocol):
    """A body with points on it, or at which their paths meet."""

    @property
    def body(self) -> Body: ...


class Tree(Protocol):
    """A mechanism of which one body is looked at at a time."""

    @property
    def world(self) -> Body: ...
    @property
    def gravity(self) -> Motion: ...
    @property
    def doubtful(self) -> bool:
        """Whether a joint is."""

    def field(self) -> Field[Any]:
        """A new store of values."""

    def still(self) -> JointValues:
        """Zero for every degree of freedom."""

    def unloaded(self) -> BodyForces:
        """No force on any body."""

    def rotors(self) -> JointValues:
        """The rotor inertias of each joint; empty where there are none."""

    def outward(self) -> Iterator[Body]:
        """Every body after its parent."""

    def inward(self) -> Iterator[Body]:
        """Every body before its parent."""

    def path(self, body: Any, until: Any = None) -> Iterator[Body]:
        """The body and its ancestors, up to but without ``until``, an ancestor of it, or the world."""

    def ancestors(self, body: Any) -> Iterator[Body]:
        """The body's ancestors, nearest first, without the world."""

    def joint_before(self, body: Any) -> Iterator[Body]:
        """A body's parent, as one whose joint is looked at; nothing for the world."""


class OrderedTree(Tree, Protocol):
    """A mechanism whose pairs of bodies are looked at."""

    def path_field(self) -> Field[Any]:
        """A new store of values for walks in depth-first order: what is stored at a body is lost when something is
        stored at another that is as far from the world.
        """

    def depth_first(self) -> Iterator[Body]:
        """Every body after its parent, and with all that it carries before any other."""

    def rows_inward(self) -> Iterator[Sequence[Body]]:
        """The same order backwards, in runs of one or more bodies, each run in that order: rows of a matrix that may be
        found side by side. How long runs are is left to the tree.
        """

    def bodies_before(self, body: Any) -> Iterator[Body]:
        """The bodies that come before a body in that order."""

    def bodies_after(self, body: Any) -> Iterator[Body]:
        """The bodies that come after it."""

    def carried_by(self, body: Any) -> Iterator[Body]:
        """The bodies that a body carries, in that order."""


class FamilyTree(Tree, Protocol):
    """A mechanism whose bodies look at their children and siblings."""

    def children_inward(self, body: Any) -> Iterator[Body]:
        """The bodies whose joints stand on a body, or on the world, the last first."""

    def siblings_behind(self, body: Any) -> Iterator[Body]:
        """The children of a body's parent that are numbered after it, the last first."""


class PointedTree(Tree, Protocol):
    """A mechanism, and points on it that are asked about."""

    def frames(self) -> Iterator[Point]:
        """The points, as frames."""

    def frames_back_from(self, frame: Any) -> Iterator[Point]:
        """A frame and those that were asked for before it: over all frames, every pair once."""

    def common_ancestor(self, a: Any, b: Any) -> Body:
        """The nearest body that is on both frames' paths; the world if there is none."""

    @property
    def ground(self) -> Junction:
        """Where all paths end."""

    def junctions(self) -> Iterator[Junction]:
        """Every junction after the one that its path leads to, without the ground."""

    def junctions_inward(self) -> Iterator[Junction]:
        """Every junction before the one that its path leads to, without the ground."""

    def junction_of(self, frame: Any) -> Junction:
        """The first junction on a frame's path; its own body may be one."""

    def paths(self) -> Iterator[Body]:
        """The bodies on the points' paths to the world, depth first: every body after its parent."""

    def stations(self) -> Iterator[Station]:
        """The stations in the order of that walk."""

    def stations_above(self, station: Any) -> Iterator[Station]:
        """Stations on a station's path that have a branch after it, nearest first."""

    def behind(self, station: Any) -> Iterator[Body]:
        """Bodies of the walk behind a station; without the last branch, if no points are on it."""

    def after(self, station: Any) -> Iterator[Body]:
        """Bodies of the walk that come after these and share a body with its path; none, if no points are on it."""

    def stations_behind(self, station: Any) -> Iterator[Station]:
        """Those among the bodies behind a station."""

    def points_on(self, station: Any) -> Iterator[Point]:
        """The points on a station's body."""

    def points_behind(self, point: Any) -> Iterator[Point]:
        """A point, those that come after it on its body, and those behind its body."""

    def points_after(self, point: Any) -> Iterator[Point]:
        """Points that come after these in the walk and share a body with its path. Over all points, this and
        ``points_behind`` name every pair that shares a body once.
        """

    def outermost(self, point: Any) -> Body:
        """The body nearest to the world at which a point's path meets another's; its own if there is none."""


class OpenLoop(Protocol):
    """A loop at a step of the joining of links; its unknowns are carried from one ``strand`` ``onward`` to the next."""

    @property
    def loop(self) -> Any: ...
    @property
    def strand(self) -> Any:
        """At the child of a joint; a strand of zeros, if the loop is not there yet."""

    @property
    def onward(self) -> Any:
        """At the parent of a joint, or at the body of a hold or a closing."""


class LoopEnd(OpenLoop, Protocol):
    """A loop that is attached to a body, at a frame, or closed there."""

    @property
    def body(self) -> Body: ...
    @property
    def frame(self) -> Point: ...


class LoopedTree(Tree, Protocol):
    """A mechanism with loops. Its frames are their holds, those of one name of one loop, on bodies that it holds to
    each other; holds on the world have no steps.
    """

    def frames(self) -> Iterator[Point]:
        """The holds, as frames."""

    def loops(self) -> Iterator[Any]: ...
    def strands(self) -> Iterator[Any]:
        """Every place of a loop on its way, and the strand of zeros."""

    def couplings(self) -> Iterator[Any]:
        """Pairs of loops that are open together, in either order, and of each with itself."""

    def coupling(self, one: Any, other: Any) -> Any:
        """That of two loops at the same step."""

    def attached(self, body: Any) -> Iterator[LoopEnd]:
        """What is attached before a body is joined to its parent: holds on it, and on its parent of what is open."""

    def closed(self, body: Any, back: bool = False) -> Iterator[LoopEnd]:
        """Loops that are closed at a body before it is joined to its parent; or the same, the last first."""

    def closed_behind(self, body: Any, back: bool = False) -> Iterator[LoopEnd]:
        """Loops that are closed at the parent once a body is joined to it; or the same, the last first."""

    def crossings(self, body: Any) -> Iterator[OpenLoop]:
        """The loops that are open at a body or at its parent when they are joined."""

    def others(self, step: Any) -> Iterator[OpenLoop]:
        """The other loops that are open where one is attached or closed."""

    def from_here(self, crossing: Any) -> Iterator[OpenLoop]:
        """One of the loops of a step, and those that come after it."""


class Unknown(Protocol):
    """One of the unknowns in a row, in a step of their reduction (``model.reductions``). ``before`` and ``after`` are
    the places of those that went in the last step, ``lower`` and ``upper`` those of its neighbours, None for none.
    """

    @property
    def place(self) -> Any: ...
    @property
    def before(self) -> Any: ...
    @property
    def after(self) -> Any: ...
    @property
    def lower(self) -> Any: ...
    @property
    def upper(self) -> Any: ...
    @property
    def first(self) -> bool:
        """Whether this is the first step."""

    @property
    def goes(self) -> bool:
        """Whether it is eliminated now."""


class ReducedTree(Tree, Protocol):
    """A mechanism with unknowns in a row, of which every other is eliminated in each step."""

    def parallel(self, items: Iterable[Item]) -> Iterator[Item]:
        """Items whose iterations are independent: one step of a method on enough processors."""

    def reduction(self, places: Any) -> Iterator[Iterable[Unknown]]:
        """The steps for unknowns at these places, to be looked at in parallel."""

    def reduction_back(self, places: Any) -> Iterator[Iterable[Unknown]]:
        """The same, the last first, with those that go alone."""


class KnownTree(ReducedTree, Protocol):
    """A mechanism whose shape is known when the text is read."""

    def children(self, body: Any) -> Sequence[Body]:
        """The bodies whose joints stand on a body, or on the world."""

    def main_chain(self, tip: int | None = None) -> Sequence[Body]:
        """The longest path from the world, or the one to body number ``tip``, its first body first."""

    def branches(self, chain: Any) -> Sequence[Sequence[Body]]:
        """The bodies that are not on a chain from the world, in levels, each behind the level of its parents."""


def fields(tree: Tree, kind: type[Value], count: int) -> list[Field[Value]]:
    """New fields for values of one kind."""
    return [tree.field() for _ in range(count)]


if TYPE_CHECKING:

    def _has_it_all(
        tree: plain.Tree,
    ) -> tuple[OrderedTree, FamilyTree, PointedTree, LoopedTree, KnownTree]:
        """The plain form is each of these."""
        return tree, tree, tree, tree, tree
