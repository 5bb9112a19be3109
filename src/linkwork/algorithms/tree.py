"""The interface of a mechanism as algorithms use it: a tree to traverse, and fields that store values at its places.

``linkwork.model.tree`` has the plain form, in which a traversal is an ordinary loop; engines have forms of their own.
An algorithm declares by the type of its tree how much of it must be known when it is traced: for ``Tree`` only the
joint of the current body, so that its loops may stay loops in code that serves any number of bodies; for
``SegmentedTree`` (``segmented_tree``) the same, and the segments of a long chain; for ``KnownTree`` everything.

One rule makes all forms possible: a value that outlives its iteration of a loop is stored in a field, never in a local
variable. Parameters that are places have the type Any, since each form has places of its own.
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
    """The same, writable: for the results of an algorithm."""

    def __setitem__(self, place: Any, value: Value, /) -> None: ...


JointValues = Values[Coordinates]
"""Numbers for each joint, such as q, v, a and τ."""
JointField = Field[Coordinates]
BodyForces = Values[Force]
"""A force on each body, in its own frame."""


class Body(Protocol):
    """A body, or the world, which has only its number 0."""

    @property
    def index(self) -> int: ...
    @property
    def parent(self) -> Body: ...
    @property
    def joint(self) -> Joint:
        """The joint that carries it."""

    @property
    def placement(self) -> Transform:
        """The placement of the joint in the parent."""

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
        """Whether it is its parent's only child, or its parent is the world."""


class Point(Protocol):
    """A frame that an algorithm is asked about, at ``placement`` on ``body``."""

    @property
    def index(self) -> int: ...
    @property
    def body(self) -> Body: ...
    @property
    def placement(self) -> Transform: ...


class Junction(Protocol):
    """A body at which the paths of points to the world meet; ``next`` is the next junction on its own path."""

    @property
    def body(self) -> Body: ...
    @property
    def next(self) -> Junction: ...


class Station(Protocol):
    """A body with points on it, or at which their paths meet."""

    @property
    def body(self) -> Body: ...


class Tree(Protocol):
    """A mechanism that is traversed one body at a time."""

    @property
    def world(self) -> Body: ...
    @property
    def gravity(self) -> Motion: ...
    @property
    def doubtful(self) -> bool:
        """Whether any joint is doubtful."""

    def field(self) -> Field[Any]:
        """A new field."""

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
        """The body and its ancestors, up to but excluding ``until``, one of its ancestors, or the world."""

    def ancestors(self, body: Any) -> Iterator[Body]:
        """The body's ancestors, nearest first, excluding the world."""

    def joint_before(self, body: Any) -> Iterator[Body]:
        """A body's parent, if it has a joint; nothing for the world."""


class OrderedTree(Tree, Protocol):
    """A mechanism that is traversed by pairs of bodies."""

    def path_field(self) -> Field[Any]:
        """A new field for depth-first traversals: a value at a body is lost when one is stored at another body at the
        same depth.
        """

    def depth_first(self) -> Iterator[Body]:
        """Every body after its parent, in depth-first order: each subtree is completed before the next begins."""

    def rows_inward(self) -> Iterator[Sequence[Body]]:
        """The same order backwards, in runs of one or more bodies, each run in that order: rows of a matrix that may be
        computed side by side. The tree chooses the length of runs.
        """

    def bodies_before(self, body: Any) -> Iterator[Body]:
        """The bodies that come before a body in that order."""

    def bodies_after(self, body: Any) -> Iterator[Body]:
        """The bodies that come after it."""

    def carried_by(self, body: Any) -> Iterator[Body]:
        """The bodies of the subtree behind a body, in that order."""


class FamilyTree(Tree, Protocol):
    """A mechanism in which a body can access its children and siblings."""

    def children_inward(self, body: Any) -> Iterator[Body]:
        """The children of a body, or of the world, the last first."""

    def siblings_behind(self, body: Any) -> Iterator[Body]:
        """The children of a body's parent that are numbered after it, the last first."""


class PointedTree(Tree, Protocol):
    """A mechanism with points at which quantities are computed."""

    def frames(self) -> Iterator[Point]:
        """The points, as frames."""

    def frames_back_from(self, frame: Any) -> Iterator[Point]:
        """A frame and those listed before it: over all frames, every pair once."""

    def common_ancestor(self, a: Any, b: Any) -> Body:
        """The nearest body that is on both frames' paths; the world if there is none."""

    @property
    def ground(self) -> Junction:
        """Where all paths end."""

    def junctions(self) -> Iterator[Junction]:
        """Every junction after the next one on its path, excluding the ground."""

    def junctions_inward(self) -> Iterator[Junction]:
        """Every junction before the next one on its path, excluding the ground."""

    def junction_of(self, frame: Any) -> Junction:
        """The first junction on a frame's path; its own body may be one."""

    def paths(self) -> Iterator[Body]:
        """The bodies on the points' paths to the world, depth first: every body after its parent."""

    def stations(self) -> Iterator[Station]:
        """The stations in the order of that walk."""

    def stations_above(self, station: Any) -> Iterator[Station]:
        """Stations on a station's path that have a branch after it, nearest first."""

    def behind(self, station: Any) -> Iterator[Body]:
        """Bodies of the walk behind a station; without the last branch, if the station has no points."""

    def after(self, station: Any) -> Iterator[Body]:
        """Bodies of the walk after these that share a body with the station's path; none, if it has no points."""

    def stations_behind(self, station: Any) -> Iterator[Station]:
        """The stations among the bodies behind a station."""

    def points_on(self, station: Any) -> Iterator[Point]:
        """The points on a station's body."""

    def points_behind(self, point: Any) -> Iterator[Point]:
        """A point, those after it on its body, and those behind its body."""

    def points_after(self, point: Any) -> Iterator[Point]:
        """Points after these in the walk that share a body with its path. Over all points, this and ``points_behind``
        list every pair that shares a body once.
        """

    def outermost(self, point: Any) -> Body:
        """The body nearest to the world at which a point's path meets another's; its own if there is none."""


class OpenLoop(Protocol):
    """A loop at a step of the joining of links; its unknowns are carried from a ``strand`` ``onward`` to the next."""

    @property
    def loop(self) -> Any: ...
    @property
    def strand(self) -> Any:
        """The strand at the child of a joint; a strand of zeros, if the loop is not open there yet."""

    @property
    def onward(self) -> Any:
        """The strand at the parent of a joint, or at the body of a hold or a closing."""


class LoopEnd(OpenLoop, Protocol):
    """A loop that is attached to a body, at a frame, or closed there."""

    @property
    def body(self) -> Body: ...
    @property
    def frame(self) -> Point: ...


class Pair(Protocol):
    """The two frames between which a loop is closed, with the number of its kind of condition."""

    @property
    def condition(self) -> int: ...
    @property
    def one(self) -> Point: ...
    @property
    def other(self) -> Point: ...


class LoopedTree(Tree, Protocol):
    """A mechanism with loops. Its frames are the holds of the loops, those of one loop with the same name, on the
    bodies that it constrains; holds on the world have no steps.
    """

    def frames(self) -> Iterator[Point]:
        """The holds, as frames."""

    def pairs(self, conditions: int) -> Iterator[Pair]:
        """The loops between two ends each, as pairs of frames, with so many kinds of conditions."""

    def loops(self) -> Iterator[Any]: ...
    def strands(self) -> Iterator[Any]:
        """Every place of a loop on its path, and the strand of zeros."""

    def couplings(self) -> Iterator[Any]:
        """Pairs of loops that are open together, in either order, and of each with itself."""

    def coupling(self, one: Any, other: Any) -> Any:
        """The coupling of two loops at the same step."""

    def attached(self, body: Any) -> Iterator[LoopEnd]:
        """Holds attached before a body is joined to its parent: those on it, and of open loops on its parent."""

    def closed(self, body: Any, back: bool = False) -> Iterator[LoopEnd]:
        """Loops that are closed at a body before it is joined to its parent; with ``back`` in reverse order."""

    def closed_behind(self, body: Any, back: bool = False) -> Iterator[LoopEnd]:
        """Loops that are closed at the parent once a body is joined to it; with ``back`` in reverse order."""

    def crossings(self, body: Any) -> Iterator[OpenLoop]:
        """The loops that are open at a body or at its parent when they are joined."""

    def others(self, step: Any) -> Iterator[OpenLoop]:
        """The other loops that are open where one is attached or closed."""

    def from_here(self, crossing: Any) -> Iterator[OpenLoop]:
        """One of the loops of a step, and those after it."""


class Unknown(Protocol):
    """One of the unknowns in a row, in a step of their reduction (``model.reductions``). ``before`` and ``after`` are
    the places of those eliminated in the last step, ``lower`` and ``upper`` those of its neighbours, None for none.
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
    """A mechanism with a row of unknowns, of which every other one is eliminated in each step."""

    def parallel(self, items: Iterable[Item]) -> Iterator[Item]:
        """Items whose iterations are independent: one step of a method on enough processors."""

    def reduction(self, places: Any) -> Iterator[Iterable[Unknown]]:
        """The steps for unknowns at these places, for iteration in parallel."""

    def reduction_back(self, places: Any) -> Iterator[Iterable[Unknown]]:
        """The same in reverse order, with the eliminated unknowns only."""


class KnownTree(ReducedTree, Protocol):
    """A mechanism whose topology is known when the algorithm is traced."""

    def children(self, body: Any) -> Sequence[Body]:
        """The children of a body, or of the world."""

    def main_chain(self, tip: int | None = None) -> Sequence[Body]:
        """The longest path from the world, or the path to body number ``tip``, in outward order."""

    def branches(self, chain: Any) -> Sequence[Sequence[Body]]:
        """The bodies off a chain from the world, in levels, each after the level of its parents."""


def fields(tree: Tree, kind: type[Value], count: int) -> list[Field[Value]]:
    """New fields for values of one kind."""
    return [tree.field() for _ in range(count)]


if TYPE_CHECKING:

    def _has_it_all(
        tree: plain.Tree,
    ) -> tuple[OrderedTree, FamilyTree, PointedTree, LoopedTree, KnownTree]:
        """The plain form implements each of these."""
        return tree, tree, tree, tree, tree
