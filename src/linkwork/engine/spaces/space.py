"""One class for each space: shapes, the way between flat numbers and values, and names for errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from math import isqrt, prod
from typing import Any, NamedTuple

from linkwork.engine.ir.program import ONE, Address, Terms
from linkwork.engine.spaces.flatten import flatten
from linkwork.joints import Joint
from linkwork.model.model import Model
from linkwork.model.tree import Field
from linkwork.spatial import Force, Scalar, Transform, Vec3


class Owner(NamedTuple):
    """Numbers of an argument that belong to one body (from 1) or to one frame (from 0)."""

    of_frame: bool
    number: int
    start: int
    length: int


class Space(ABC):
    """A space of arguments or results. ``frames`` is always how many frames an algorithm is asked about."""

    of_frames = False
    """Whether it has numbers for each frame, so that an algorithm with such results is asked about frames."""
    patterned = False
    """Whether rolled code stores only what the tree's pattern has, among zeros."""
    of_pairs = False
    """Whether it has numbers for pairs of frames, so that tables tell where the paths of these meet."""

    @abstractmethod
    def shape(self, model: Model, frames: int) -> tuple[int, ...]:
        """Of one state's array."""

    def size(self, model: Model, frames: int) -> int:
        """How many numbers one state has."""
        return prod(self.shape(model, frames))

    def scatter(self, model: Model, numbers: Sequence[Scalar]) -> Any:
        """An argument's flat numbers as what an algorithm takes: a field, rows of a matrix, or a scalar."""
        raise TypeError(f"{type(self).__name__} is no space of arguments")

    def gather(self, model: Model, frames: int, value: Any) -> list[Scalar]:
        """A result as flat numbers."""
        raise TypeError(f"{type(self).__name__} is no space of results")

    def load(self, tree: Any, array: str) -> Any:
        """An argument of rolled code: what reads its numbers where the caller has them."""
        raise TypeError(f"{type(self).__name__} is no space of rolled code's arguments")

    def store(self, tree: Any, array: str, value: Any) -> None:
        """Write a result of rolled code, in loops, where the caller expects it."""
        raise TypeError(f"{type(self).__name__} is no space of rolled code's results")

    def owners(self, model: Model, frames: int) -> Iterator[Owner]:
        """Which numbers of an argument belong to a body or to a frame."""
        return iter(())

    def describe(self, model: Model) -> str:
        """What its shape comes from, for an error."""
        return "its shape follows from the frames asked for"

    def coordinate(self, model: Model, index: tuple[int, ...]) -> str:
        """Which joint or body a number belongs to, for an error."""
        return f"number {', '.join(map(str, index))}"


class _Loaded:
    """An argument of rolled code as a field: numbers are read when they are asked for."""

    def __init__(self, read: Callable[[Any], Any]) -> None:
        self._read = read

    def __getitem__(self, node: Any) -> Any:
        return self._read(node)


class _OfBodies(Space):
    """Numbers of each body, one body after the other."""

    lane_stride: str
    """The size that tells how far apart the bodies of lanes are in a parallel loop."""

    @abstractmethod
    def count(self, joint: Joint) -> int:
        """How many numbers a body with this joint has."""

    @abstractmethod
    def starts(self, model: Model) -> Sequence[int]:
        """Where each body's numbers begin."""

    @abstractmethod
    def address(self, array: str, body: Any, k: int) -> Address:
        """Where number k of a body is in an array, in rolled code."""

    def value(self, numbers: list[Any]) -> Any:
        """What an algorithm takes for a body."""
        return numbers

    def owners(self, model: Model, frames: int) -> Iterator[Owner]:
        for index, (body, start) in enumerate(zip(model.bodies, self.starts(model), strict=True), 1):
            yield Owner(False, index, start, self.count(body.joint))

    def scatter(self, model: Model, numbers: Sequence[Scalar]) -> Field:
        field = Field()
        for _, index, start, count in self.owners(model, 0):
            field.put(index, self.value(list(numbers[start : start + count])))
        return field

    def gather(self, model: Model, frames: int, value: Any) -> list[Scalar]:
        return [number for index in range(1, len(model.bodies) + 1) for number in flatten(value.get(index))]

    def load(self, tree: Any, array: str) -> Any:
        def read(body: Any) -> Any:
            addresses = [self.address(array, body, k) for k in range(self.count(body.joint))]
            return self.value([tree.tracer.load(address) for address in addresses])

        return _Loaded(read)

    def store(self, tree: Any, array: str, value: Any) -> None:
        if tree.store_where_made(array, self.lane_stride, value):
            return
        for body in tree.outward():
            for k, number in enumerate(flatten(value[body])):
                tree.tracer.store(self.address(array, body, k), number)

    def coordinate(self, model: Model, index: tuple[int, ...]) -> str:
        for owner in self.owners(model, 0):
            if owner.start <= index[0] < owner.start + owner.length:
                return f"joint {model.joint_names[owner.number - 1]!r}"
        return "no joint"


class Configuration(_OfBodies):
    lane_stride = "lane_q"

    def shape(self, model: Model, frames: int) -> tuple[int, ...]:
        return (model.nq,)

    def count(self, joint: Joint) -> int:
        return joint.nq

    def starts(self, model: Model) -> Sequence[int]:
        return model.q_start

    def address(self, array: str, body: Any, k: int) -> Address:
        return Address(array, k, ((body.integer("q"), 1),), lane_stride=body.lane_stride(self.lane_stride))

    def describe(self, model: Model) -> str:
        return f"nq = {model.nq}"


class Velocity(_OfBodies):
    """v, a and tau too."""

    lane_stride = "lane_v"

    def shape(self, model: Model, frames: int) -> tuple[int, ...]:
        return (model.nv,)

    def count(self, joint: Joint) -> int:
        return joint.nv

    def starts(self, model: Model) -> Sequence[int]:
        return model.v_start

    def address(self, array: str, body: Any, k: int) -> Address:
        return Address(array, k, ((body.integer("v"), 1),), lane_stride=body.lane_stride(self.lane_stride))

    def describe(self, model: Model) -> str:
        return f"nv = {model.nv}"


class Wrenches(_OfBodies):
    lane_stride = "lane_f"

    def shape(self, model: Model, frames: int) -> tuple[int, ...]:
        return (len(model.bodies), 6)

    def count(self, joint: Joint) -> int:
        return 6

    def starts(self, model: Model) -> Sequence[int]:
        return range(0, 6 * len(model.bodies), 6)

    def address(self, array: str, body: Any, k: int) -> Address:
        return Address(array, k - 6, ((body.number, 6),), lane_stride=body.lane_stride(self.lane_stride))

    def value(self, numbers: list[Any]) -> Force:
        return Force.from_numbers(numbers)

    def describe(self, model: Model) -> str:
        return f"{len(model.bodies)} bodies, force and moment of each"

    def coordinate(self, model: Model, index: tuple[int, ...]) -> str:
        return f"body {model.body_names[index[0]]!r}"


class _OfFrames(Space):
    """Numbers of each frame, one frame after the other."""

    of_frames = True
    count: int

    def numbers(self, value: Any) -> list[Any]:
        """Those of a value at a frame."""
        return flatten(value)

    def gather(self, model: Model, frames: int, value: Any) -> list[Scalar]:
        return [number for index in range(frames) for number in self.numbers(value.get(index))]

    def store(self, tree: Any, array: str, value: Any) -> None:
        for frame in tree.frames():
            for k, number in enumerate(self.numbers(value[frame])):
                tree.tracer.store(Address(array, k, ((frame.index, self.count),)), number)

    def owners(self, model: Model, frames: int) -> Iterator[Owner]:
        return (Owner(True, index, self.count * index, self.count) for index in range(frames))


class Twists(_OfFrames):
    count = 6

    def shape(self, model: Model, frames: int) -> tuple[int, ...]:
        return (frames, 6)

    def scatter(self, model: Model, numbers: Sequence[Scalar]) -> Field:
        field = Field()
        for index in range(len(numbers) // 6):
            field.put(index, list(numbers[6 * index : 6 * index + 6]))
        return field

    def load(self, tree: Any, array: str) -> Any:
        def read(frame: Any) -> list[Any]:
            return [tree.tracer.load(Address(array, k, ((frame.index, 6),))) for k in range(6)]

        return _Loaded(read)


class Poses(_OfFrames):
    count = 16

    def shape(self, model: Model, frames: int) -> tuple[int, ...]:
        return (frames, 4, 4)

    def numbers(self, value: Any) -> list[Any]:
        r, p = value.rotation.numbers(), value.translation
        return [*r[0:3], p.x, *r[3:6], p.y, *r[6:9], p.z, 0.0, 0.0, 0.0, 1.0]


class Offsets(_OfFrames):
    """Three numbers that move each frame, which specialised code takes as a last argument."""

    count = 3

    def shape(self, model: Model, frames: int) -> tuple[int, ...]:
        return (3 * frames,)


class _OfFramesAndBodies(Space):
    """A 6 × nv block of columns for each frame: one motion for each degree of freedom of each body."""

    of_frames = True

    def shape(self, model: Model, frames: int) -> tuple[int, ...]:
        return (6 * frames, model.nv)

    @abstractmethod
    def bodies(self, tree: Any, frame: Any) -> Iterator[Any]:
        """The bodies that have columns for a frame."""

    def gather(self, model: Model, frames: int, value: Any) -> list[Scalar]:
        flat: list[Scalar] = [0.0] * self.size(model, frames)
        for index, column in enumerate(model.v_start, 1):
            for frame in range(frames):
                for k, motion in enumerate(value.get((frame, index)) or ()):
                    for row, number in enumerate(motion.numbers()):
                        flat[(6 * frame + row) * model.nv + column + k] = number
        return flat

    def store(self, tree: Any, array: str, value: Any) -> None:
        for frame in tree.frames():
            for body in self.bodies(tree, frame):
                columns = [motion.numbers() for motion in value[frame, body]]
                for row in range(6 if columns else 0):
                    terms: Terms = ((frame.index, "nv6"), (body.integer("v"), 1), *_rows("nv", row))
                    for k, column in enumerate(columns):
                        tree.tracer.store(Address(array, k, terms), column[row])


class Jacobian(_OfFramesAndBodies):
    patterned = True

    def bodies(self, tree: Any, frame: Any) -> Iterator[Any]:
        return tree.path(frame.body)


class Responses(_OfFramesAndBodies):
    def bodies(self, tree: Any, frame: Any) -> Iterator[Any]:
        return tree.outward()


class Matrix(Space):
    """A block for each joint and its ancestors, above and below the diagonal."""

    patterned = True

    def shape(self, model: Model, frames: int) -> tuple[int, ...]:
        return (model.nv, model.nv)

    def gather(self, model: Model, frames: int, value: Any) -> list[Scalar]:
        flat: list[Scalar] = [0.0] * self.size(model, frames)
        starts = list(enumerate(zip(model.v_start, model.bodies, strict=True), 1))
        for index, (column, body) in starts:
            for other, (first, _) in starts:
                for i, row in enumerate(value.get((other, index)) or ()):
                    start = (first + i) * model.nv + column
                    flat[start : start + body.joint.nv] = row
        return flat

    def store(self, tree: Any, array: str, value: Any) -> None:
        for body in tree.outward():
            self._store_block(tree, array, body, body, value)
            for other in tree.ancestors(body):
                self._store_block(tree, array, body, other, value)
                self._store_block(tree, array, other, body, value)

    @staticmethod
    def _store_block(tree: Any, array: str, a: Any, b: Any, value: Any) -> None:
        for i, row in enumerate(value[a, b]):
            terms: Terms = ((a.integer("v"), "nv1"), (b.integer("v"), 1), *_rows("nv", i))
            for k, number in enumerate(row):
                tree.tracer.store(Address(array, k, terms), number)


class Operational(Space):
    """A 6 × 6 block, by columns, for each pair of frames."""

    of_frames = of_pairs = True

    def shape(self, model: Model, frames: int) -> tuple[int, ...]:
        return (6 * frames, 6 * frames)

    def gather(self, model: Model, frames: int, value: Any) -> list[Scalar]:
        flat: list[Scalar] = [0.0] * self.size(model, frames)
        for i in range(frames):
            for j in range(frames):
                for k, motion in enumerate(value.get((i, j))):
                    flat[36 * frames * i + 6 * j + k : 36 * frames * (i + 1) : 6 * frames] = motion.numbers()
        return flat

    def store(self, tree: Any, array: str, value: Any) -> None:
        for frame in tree.frames():
            for other in tree.frames():
                columns = [motion.numbers() for motion in value[frame, other]]
                for row in range(6):
                    terms: Terms = ((frame.index, "wide6"), (other.index, 6), *_rows("wide", row))
                    for k, column in enumerate(columns):
                        tree.tracer.store(Address(array, k, terms), column[row])


class Triples(Space):
    """A square matrix with three rows for each frame, whatever the mechanism."""

    def shape(self, model: Model, frames: int) -> tuple[int, ...]:
        return (3 * frames, 3 * frames)

    def scatter(self, model: Model, numbers: Sequence[Scalar]) -> list[list[Scalar]]:
        rows = isqrt(len(numbers))
        return [list(numbers[rows * r : rows * (r + 1)]) for r in range(rows)]

    def gather(self, model: Model, frames: int, value: Any) -> list[Scalar]:
        return [number for row in value for number in row]


class _Whole(Space):
    """Numbers of the whole mechanism."""

    def gather(self, model: Model, frames: int, value: Any) -> list[Scalar]:
        return flatten(value)

    def store(self, tree: Any, array: str, value: Any) -> None:
        for k, number in enumerate(flatten(value)):
            tree.tracer.store(Address(array, k), number)


class Vector(_Whole):
    def shape(self, model: Model, frames: int) -> tuple[int, ...]:
        return (3,)


class Wrench(_Whole):
    def shape(self, model: Model, frames: int) -> tuple[int, ...]:
        return (6,)


class ScalarSpace(_Whole):
    def shape(self, model: Model, frames: int) -> tuple[int, ...]:
        return ()

    def scatter(self, model: Model, numbers: Sequence[Scalar]) -> Scalar:
        return numbers[0]

    def load(self, tree: Any, array: str) -> Any:
        return tree.tracer.load(Address(array, 0))


SPACES: dict[str, Space] = {
    "configuration": Configuration(),
    "velocity": Velocity(),
    "wrenches": Wrenches(),
    "matrix": Matrix(),
    "poses": Poses(),
    "twists": Twists(),
    "jacobian": Jacobian(),
    "responses": Responses(),
    "operational": Operational(),
    "triples": Triples(),
    "vector": Vector(),
    "wrench": Wrench(),
    "scalar": ScalarSpace(),
}
"""The spaces by the names that algorithms give them."""

OFFSETS = Offsets()


def shape(space: str, model: Model, frames: int = 0) -> tuple[int, ...]:
    """The shape of one state's array in a space."""
    return SPACES[space].shape(model, frames)


def size(space: str, model: Model, frames: int = 0) -> int:
    """How many numbers one state has in a space."""
    return SPACES[space].size(model, frames)


def shifted(placement: Transform, offset: Sequence[Scalar]) -> Transform:
    """A placement moved by an offset in its own axes."""
    return Transform(placement.rotation, placement.rotation.apply(Vec3(*offset)) + placement.translation)


def _rows(size: str, row: int) -> Terms:
    """A row's distance from the first, in multiples of a size."""
    return ((ONE, f"{size}{row}"),) if row else ()
