"""The rolled form: an algorithm traced once for each joint kind, with the body as a symbol; loops stay loops.

The program has the same size for any number of bodies. A body's properties come from ``tables``: integers in ``ints``,
its placement, inertia, rotor and joint parameters in ``data``. Numbers that are 0, 1 or -1 for all bodies of a kind are
folded into its code, so axis-aligned mechanisms get cheaper code.

A field lives in ``work``, a row for each body; one of pairs in a square of rows, or as a matrix (``rolled_fields``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from linkwork.algorithms import Algorithm
from linkwork.engine.ir.address import Address, Terms
from linkwork.engine.ir.lists import find_lists
from linkwork.engine.ir.program import Block, Loop, Program
from linkwork.engine.spaces import OFFSETS, SPACES
from linkwork.engine.trace.rolled_fields import Field, InResult, PathField, Stored, put_in_results
from linkwork.engine.trace.rolled_loops import LoopWalks
from linkwork.engine.trace.rolled_paths import PathWalks
from linkwork.engine.trace.rolled_symbols import FrameNode, Junction, Node, OneOfSeveral
from linkwork.engine.trace.tables import (
    ANCESTORS,
    BODIES,
    DEPTH_FIRST,
    FRAME_JUNCTIONS,
    RUN,
    RUNS,
    Kind,
)
from linkwork.engine.trace.tracer import Traced, Tracer
from linkwork.model.tree import Walks
from linkwork.spatial import Motion, Vec3


class Known(NamedTuple):
    """What an earlier trace found: what is stored in each field, and fields of pairs that are not matrices."""

    stored: dict[str, Stored]
    scattered: frozenset[str]


class RolledTree(PathWalks, LoopWalks, Walks):
    """A tree whose walks are loops in the code."""

    field_type = Field

    def __init__(
        self, tracer: Tracer, kinds: Sequence[Kind], width: int, known: Known | None, matrices: bool = True
    ) -> None:
        """Without ``matrices``, blocks of matrices are values at pairs of places like all others, and their rows are
        found one by one.
        """
        self.tracer, self.kinds, self.width, self.matrices = tracer, kinds, width, matrices
        self.known, self.scattered = known, set(known.scattered if known else ())
        self.results: dict[str, InResult] = {}
        self.assumes = True
        """Whether what has only been stored as one constant so far is assumed to be that constant."""
        self.rotor_values: Any = None
        """The field of rotor inertias, if they are an argument."""
        self.offsets: Any = None
        """The field of the frames' offsets, if they are an argument."""
        self.world = Node(self, None, None)
        self.world.kind = -1
        self.doubtful = any(kind.doubtful for kind in kinds)
        self.ground = Junction(self, None)
        self.gravity = Motion(Vec3(*(tracer.load(Address("data", k)) for k in range(3))), Vec3.zero())
        self.fields: list[Field] = []
        self._memory: list[dict[tuple[str, tuple[int | None, ...]], list[Any]]] = [{}]

    def address(self, field: str, key: Any, slot: int) -> Address:
        """The address of a number of a field at a node, or at a pair of nodes."""
        nodes, strides = (key, ("square_row", "cell")) if isinstance(key, tuple) else ((key,), ("row",))
        pairs = zip(nodes, strides, strict=True)
        return Address(field, slot, tuple((node.index, stride) for node, stride in pairs if node.index is not None))

    def field(self) -> Field:
        self.fields.append(self.field_type(self, f"field{len(self.fields)}"))
        return self.fields[-1]

    def path_field(self) -> Field:
        self.fields.append(PathField(self, f"field{len(self.fields)}"))
        return self.fields[-1]

    def outward(self) -> Iterator[Node]:
        return self._bodies("up")

    def inward(self) -> Iterator[Node]:
        return self._bodies("down")

    def depth_first(self) -> Iterator[Node]:
        return self.bodies_after(self.world)

    def rows_inward(self) -> Iterator[list[Node]]:
        if not self.matrices:
            start, before = self.place("before", self.world), partial(DEPTH_FIRST.address, "before")
            yield from ([body] for body in self._bodies("climb", start, None, before))
            return
        start, before = self.tracer.emit("index", (), RUNS.address("before", None)), partial(RUNS.address, "before")
        run, alike = len(self.kinds), frozenset(k for k, kind in enumerate(self.kinds) if kind.joint.nv == 1)
        cases = range(run + 1 if alike else run)
        for first, kind in self._loop(
            "climb", 1, "last_body", cases, partial(RUNS.address, "kind"), start, None, before
        ):
            rows: list[Node] = [Node(self, first, kind) if kind < run else OneOfSeveral(self, first, alike)]
            while kind == run and len(rows) < RUN:
                rows.append(OneOfSeveral(self, self.place("after", rows[-1]), alike))
            yield rows

    def bodies_before(self, body: Node) -> Iterator[Node]:
        return self._stretch(self.place("after", self.world), body.number)

    def bodies_after(self, body: Node) -> Iterator[Node]:
        return self._stretch(self.place("after", body))

    def carried_by(self, body: Node) -> Iterator[Node]:
        kinds = [number for number, kind in enumerate(self.kinds) if not kind.root]
        return self._stretch(self.place("after", body), self.place("stop", body), kinds)

    def place(self, column: str, body: Node) -> int:
        return self.tracer.emit("index", (), DEPTH_FIRST.address(column, body.index))

    def _stretch(self, start: int, stop: int | None = None, kinds: Sequence[int] | None = None) -> Iterator[Node]:
        return self._bodies("climb", start, stop, partial(DEPTH_FIRST.address, "after"), kinds)

    def path(self, body: Node, until: Node | None = None) -> Iterator[Node]:
        if body is self.world:
            return iter(())
        kinds = [body.kind] if isinstance(body.kind, int) and self.kinds[body.kind].root else None
        return self._bodies("climb", body.index, until.index if until else None, kinds=kinds)

    def ancestors(self, body: Node) -> Iterator[Node]:
        return self.path(body.parent)

    def frames(self) -> Iterator[FrameNode]:
        for counter, _ in self._loop("up", 0, "last_frame"):
            yield FrameNode(self, counter)

    def frames_back_from(self, frame: FrameNode) -> Iterator[FrameNode]:
        for counter, _ in self._loop("down", 0, "last_frame", start=frame.index):
            yield FrameNode(self, counter)

    def common_ancestor(self, a: FrameNode, b: FrameNode) -> Node:
        assert a.index is not None
        address = ANCESTORS.address("body", b.index, ((a.index, "frame_count"),))
        return Node(self, self.tracer.emit("index", (), address), None)

    def node(self, index: int, kind: int | None) -> Node:
        """A body, by the instruction that is its number."""
        return Node(self, index, kind)

    def frame(self, index: int) -> FrameNode:
        """A frame, by the instruction that is its number."""
        return FrameNode(self, index)

    def junctions(self) -> Iterator[Junction]:
        for counter, _ in self._loop("up", 1, "last_junction"):
            yield Junction(self, counter)

    def junctions_inward(self) -> Iterator[Junction]:
        for counter, _ in self._loop("down", 1, "last_junction"):
            yield Junction(self, counter)

    def junction_of(self, frame: FrameNode) -> Junction:
        address = FRAME_JUNCTIONS.address("junction", frame.index)
        return Junction(self, self.tracer.emit("index", (), address))

    def _bodies(
        self,
        walk: str,
        start: int | None = None,
        stop: int | None = None,
        successor: Callable[[int], Address] = lambda counter: BODIES.address("parent", counter),
        kinds: Sequence[int] | None = None,
    ) -> Iterator[Node]:
        kinds = range(len(self.kinds)) if kinds is None else kinds
        kind_of = partial(BODIES.address, "kind")
        for counter, kind in self._loop(walk, 1, "last_body", kinds, kind_of, start, stop, successor):
            yield Node(self, counter, kind)

    def _loop(
        self,
        walk: str,
        first: int | str,
        last: int | str,
        cases: Sequence[int] = (0,),
        kind: Callable[[int], Address] | None = None,
        start: int | None = None,
        stop: int | None = None,
        successor: Callable[[int], Address] = lambda counter: BODIES.address("parent", counter),
        fewest: int = 1,
    ) -> Iterator[tuple[int, int]]:
        """Yields once for each case, while everything that is traced goes into that case.

        ``kind`` gives the address of an iteration's kind, from the counter; ``successor`` that of a climb's next row;
        ``fewest`` is from how many iterations on threads share them.
        """
        program = self.tracer.program
        counter = program.instruction(Block(), "counter", ())
        loop = Loop(walk, counter, first, last, start, [], stop, kind(counter) if kind and len(cases) > 1 else None)
        if walk == "climb":
            loop.successor = successor(counter)
        loop.fewest = fewest
        outside = self.tracer.block
        for case in cases:
            block = Block()
            loop.cases.append((case, block))
            self.tracer.open(block, isolated=walk == "parallel")
            self._memory.append({})
            yield counter, case
            self._memory.pop()
            self.tracer.close(outside)
        self._memory[-1].clear()
        program.instruction(outside, "loop", (), loop)

    def is_result(self, array: str, field: Field, wide: int = 1, before: Terms = ()) -> bool:
        """Have a matrix field kept in a result, in whose rows there is space for so many, at an offset."""
        if field.matrix is None or field.matrix in self.results or field.name in self.scattered:
            return False
        self.results[field.matrix] = InResult(array, wide, before)
        return True

    def store_where_made(self, array: str, lane_stride: str, field: Any) -> bool:
        """Write a result without a loop of its own, if that can be done."""
        return False

    def read(self, address: Address) -> Traced:
        """A read of something that may change: never merged with an earlier read."""
        return Traced(self.tracer, self.tracer.program.instruction(self.tracer.block, "load", (), address))

    def remember(self, field: Field, indices: tuple[int | None, ...], numbers: list[Any]) -> None:
        memory = self._memory[-1]
        for key in [key for key in memory if key[0] == field.name and key[1] != indices]:
            if len(key[1]) != len(indices) or not self._differ(key[1], indices):
                del memory[key]
        memory[field.name, indices] = numbers

    def recall(self, field: Field, indices: tuple[int | None, ...]) -> list[Any] | None:
        return self._memory[-1].get((field.name, indices))

    def _differ(self, a: tuple[int | None, ...], b: tuple[int | None, ...]) -> bool:
        """Certainly two places: a body and its own parent, or the world and a body of a loop."""
        return any(self._is_parent(x, y) or self._is_parent(y, x) for x, y in zip(a, b, strict=True))

    def _is_parent(self, child: int | None, parent: int | None) -> bool:
        program = self.tracer.program
        if child is None or program.operations[child] != "counter":
            return False
        if parent is None:
            return True
        return program.operations[parent] == "index" and program.details[parent] == BODIES.address("parent", child)


def roll(
    algorithm: Algorithm,
    kinds: Sequence[Kind],
    width: int,
    absent: Sequence[str] = (),
    expand: bool = True,
    form: Callable[..., RolledTree] = RolledTree,
    rotors: bool = False,
    offsets: bool = False,
) -> Program:
    """The rolled program, its fields not laid out; traced until what was assumed constant in fields proves to be. The
    last arguments are rotor inertias and offsets of frames, if it takes these.
    """
    known: Known | None = None
    while True:
        tree = form(Tracer(expand), kinds, width, known)
        try:
            program = _roll_once(algorithm, tree, absent, rotors, offsets)
        except ZeroDivisionError:  # by what is no constant: a later iteration of a loop changes it
            if known is not None:
                raise
            tree = form(Tracer(expand), kinds, width, known)
            tree.assumes = False
            program = _roll_once(algorithm, tree, absent, rotors, offsets)
        known = tree.known = Known({field.name: field.values for field in tree.fields}, frozenset(tree.scattered))
        if all(field.settled for field in tree.fields):  # another trace would be the same
            find_lists(program, {field.name: size for field in tree.fields if (size := field.item_size)})
            return put_in_results(program, tree.results)


def _roll_once(algorithm: Algorithm, tree: RolledTree, absent: Sequence[str], rotors: bool, offsets: bool) -> Program:
    present = [name for name, _ in algorithm.arguments if name not in absent]
    if rotors:
        tree.rotor_values = SPACES["velocity"].load(tree, f"argument{len(present)}")
    if offsets:
        tree.offsets = OFFSETS.load(tree, f"argument{len(present) + rotors}")
    arguments: list[Any] = [
        tree.unloaded() if name in absent else SPACES[space].load(tree, f"argument{present.index(name)}")
        for name, space in algorithm.arguments
    ]
    values = algorithm.text(tree, *arguments)
    for number, (space, value) in enumerate(zip(algorithm.results, values, strict=True)):
        SPACES[space].store(tree, f"result{number}", value)
    return tree.tracer.program
