"""One class for each space: shapes, conversion between flat numbers and values, and names for errors; those of matrices
over joints are in ``joint_matrices``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import isqrt, prod
from typing import Any, NamedTuple

from linkwork.engine.ir.address import ONE, Address, Terms
from linkwork.model.fields import Constant, Field
from linkwork.model.model import Model
from linkwork.spatial import Force, Scalar, Transform, Vec3


def flatten(value: Any) -> list[Any]:
    """All scalars of a spatial object, a number, or lists of these."""
    if isinstance(value, list | tuple):
        return [number for item in value for number in flatten(item)]
    return list(value.numbers()) if hasattr(value, "numbers") else [value]


def rebuild(template: Any, numbers: Iterator[Any]) -> Any:
    """The same structure with other scalars."""
    if isinstance(template, list | tuple):
        items = [rebuild(item, numbers) for item in template]
        return template._make(items) if hasattr(template, "_make") else items  # a NamedTuple keeps its names
    if hasattr(template, "of"):
        return template.of([next(numbers) for _ in template.numbers()])
    return next(numbers)


class Owner(NamedTuple):
    """Numbers of an argument that belong to one body (from 1) or to one frame (from 0)."""

    of_frame: bool
    number: int
    start: int
    length: int


class Space:
    """A space of arguments or results; ``shape`` gives that of one state's array, for a model and a number of frames.

    This one has so many numbers whatever the mechanism: a scalar, a vector, a wrench.
    """

    of_frames = False
    """Whether it has numbers for each frame, so that an algorithm with such results takes frames."""
    of_pairs = False
    """Whether it has numbers for pairs of frames, so that tables hold where the paths of these meet."""
    row_axes: tuple[int, ...] = ()
    """The axes that run over six rows for each frame, of which a point may use three."""
    patterned = False
    """Whether rolled code stores only the tree's sparsity pattern, among zeros."""

    def __init__(self, shape: Callable[[Model, int], tuple[int, ...]]) -> None:
        self.shape = shape

    def size(self, model: Model, frames: int) -> int:
        """How many numbers one state has."""
        return prod(self.shape(model, frames))

    def kept_shape(self, model: Model, frames: int, kept: Sequence[int] | None) -> tuple[int, ...]:
        """The shape with only those rows that are kept of six for each frame; with all if None."""
        shape = list(self.shape(model, frames))
        for axis in () if kept is None else self.row_axes:
            shape[axis] = len(kept or ())
        return tuple(shape)

    def kept_places(self, model: Model, frames: int, kept: Sequence[int] | None) -> list[int]:
        """The flat positions of the numbers of such a shape."""
        shape = self.shape(model, frames)
        axes = [range(length) for length in shape]
        for axis in () if kept is None else self.row_axes:
            axes[axis] = kept or ()  # type: ignore[call-overload]
        steps = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
        return [sum(k * step for k, step in zip(place, steps, strict=True)) for place in product(*axes)]

    def scatter(self, model: Model, numbers: Sequence[Scalar]) -> Any:
        """An argument's flat numbers in the form that an algorithm takes: a field, rows of a matrix, or a scalar."""
        return numbers[0]

    def gather(self, model: Model, frames: int, value: Any) -> list[Scalar]:
        """A result as flat numbers."""
        return flatten(value)

    def load(self, tree: Any, array: str) -> Any:
        """An argument of rolled code, which reads its numbers from the caller's array."""
        return tree.tracer.load(Address(array, 0))

    def store(self, tree: Any, array: str, value: Any) -> None:
        """Write a result of rolled code, in loops, into the caller's array."""
        for k, number in enumerate(flatten(value)):
            tree.tracer.store(Address(array, k), number)

    def owners(self, model: Model, frames: int = 0) -> Iterator[Owner]:
        """Which numbers of an argument belong to a body or to a frame."""
        return iter(())

    def describe(self, model: Model) -> str:
        """Where its shape comes from, for an error."""
        return "its shape follows from the frames asked for"

    def coordinate(self, model: Model, index: tuple[int, ...]) -> str:
        """Which joint or body a number belongs to, for an error."""
        return f"number {', '.join(map(str, index))}"


class Joints(Space):
    """Numbers of each joint, one after the other: q, or whatever has the length of v."""

    def __init__(self, letter: str) -> None:
        self.letter, self.count, self.lane_stride = letter, f"n{letter}", f"lane_{letter}"
        super().__init__(lambda model, frames: (getattr(model, self.count),))

    def value(self, numbers: list[Any]) -> Any:
        """The form that an algorithm takes for a body."""
        return numbers

    def owners(self, model: Model, frames: int = 0) -> Iterator[Owner]:
        starts: Sequence[int] = getattr(model, f"{self.letter}_start")
        for number, (body, start) in enumerate(zip(model.bodies, starts, strict=True), 1):
            yield Owner(False, number, start, getattr(body.joint, self.count))

    def addresses(self, array: str, body: Any) -> list[Address]:
        """The addresses of the numbers of a body in an array, in rolled code; its lanes are ``lane_stride`` apart."""
        count = getattr(body.joint, self.count)
        if (places := body.place_addresses(self.letter, count)) is not None:
            return [Address(array, 0, ((body.tree.tracer.emit("index", (), place), 1),)) for place in places]
        terms: Terms = ((body.integer(self.letter), 1),) if count else ()
        return [Address(array, k, terms, lane_stride=body.lane_stride(self.lane_stride)) for k in range(count)]

    def scatter(self, model: Model, numbers: Sequence[Scalar]) -> Field:
        field = Field()
        for _, number, start, length in self.owners(model):
            field.put(number, self.value(list(numbers[start : start + length])))
        return field

    def gather(self, model: Model, frames: int, value: Any) -> list[Scalar]:
        return [number for body in range(1, len(model.bodies) + 1) for number in flatten(value.get(body))]

    def load(self, tree: Any, array: str) -> Any:
        return Constant(lambda body: self.value([tree.tracer.load(place) for place in self.addresses(array, body)]))

    def store(self, tree: Any, array: str, value: Any) -> None:
        if not tree.store_where_made(array, self.lane_stride, value):
            for body in tree.outward():
                for number, address in zip(flatten(value[body]), self.addresses(array, body), strict=True):
                    tree.tracer.store(address, number)

    def describe(self, model: Model) -> str:
        return f"{self.count} = {getattr(model, self.count)}"

    def coordinate(self, model: Model, index: tuple[int, ...]) -> str:
        owner = next(owner for owner in self.owners(model) if index[0] < owner.start + owner.length)
        return f"joint {model.joint_names[owner.number - 1]!r}"


class Wrenches(Joints):
    """Force and moment on each body, or through each joint."""

    of_each, what = 6, "force and moment"  # how many numbers a body has, and what they are

    def __init__(self) -> None:
        super().__init__("f")
        self.shape = lambda model, frames: (len(model.bodies), self.of_each)

    def value(self, numbers: list[Any]) -> Any:
        return Force.from_numbers(numbers)

    def owners(self, model: Model, frames: int = 0) -> Iterator[Owner]:
        n = self.of_each
        return (Owner(False, number, n * number - n, n) for number in range(1, len(model.bodies) + 1))

    def addresses(self, array: str, body: Any) -> list[Address]:
        n, lanes = self.of_each, body.lane_stride(self.lane_stride)
        return [Address(array, k - n, ((body.number, n),), lane_stride=lanes) for k in range(n)]

    def describe(self, model: Model) -> str:
        return f"{len(model.bodies)} bodies, {self.what} of each"

    def coordinate(self, model: Model, index: tuple[int, ...]) -> str:
        return f"body {model.body_names[index[0]]!r}"


class Parameters(Wrenches):
    """The inertial parameters of each body."""

    of_each, what = 10, "ten parameters"

    def value(self, numbers: list[Any]) -> Any:
        return numbers


class Frames(Space):
    """So many numbers of each frame, one frame after the other."""

    of_frames = True

    def __init__(self, *shape: int) -> None:
        self.count = prod(shape)
        super().__init__(lambda model, frames: (frames, *shape))

    def numbers(self, value: Any) -> list[Any]:
        """Those of a value at a frame."""
        return flatten(value)

    def owners(self, model: Model, frames: int = 0) -> Iterator[Owner]:
        return (Owner(True, number, self.count * number, self.count) for number in range(frames))

    def scatter(self, model: Model, numbers: Sequence[Scalar]) -> Field:
        field = Field()
        for _, number, start, length in self.owners(model, len(numbers) // self.count):
            field.put(number, list(numbers[start : start + length]))
        return field

    def gather(self, model: Model, frames: int, value: Any) -> list[Scalar]:
        return [number for frame in range(frames) for number in self.numbers(value.get(frame))]

    def _addresses(self, array: str, frame: Any) -> list[Address]:
        return [Address(array, k, ((frame.index, self.count),)) for k in range(self.count)]

    def load(self, tree: Any, array: str) -> Any:
        return Constant(lambda frame: [tree.tracer.load(place) for place in self._addresses(array, frame)])

    def store(self, tree: Any, array: str, value: Any) -> None:
        for frame in tree.frames():
            for number, address in zip(self.numbers(value[frame]), self._addresses(array, frame), strict=True):
                tree.tracer.store(address, number)


class Pairs(Frames):
    """So many numbers of each loop between two frames."""

    def __init__(self, *shape: int) -> None:
        super().__init__(*shape)
        self.shape = lambda model, frames: (frames // 2, *shape)

    def owners(self, model: Model, frames: int = 0) -> Iterator[Owner]:
        return iter(())

    def scatter(self, model: Model, numbers: Sequence[Scalar]) -> Field:
        field = Field()
        for start in range(0, len(numbers), self.count):
            field.put(start // self.count, list(numbers[start : start + self.count]))
        return field

    def gather(self, model: Model, frames: int, value: Any) -> list[Scalar]:
        return super().gather(model, frames // 2, value)

    def store(self, tree: Any, array: str, value: Any) -> None:
        for pair in tree.pairs(1):
            for number, address in zip(self.numbers(value[pair]), self._addresses(array, pair), strict=True):
                tree.tracer.store(address, number)


class Several(Space):
    """So many numbers, which algorithms take as a list."""

    def scatter(self, model: Model, numbers: Sequence[Scalar]) -> list[Scalar]:
        return list(numbers)

    def load(self, tree: Any, array: str) -> Any:
        return [tree.tracer.load(Address(array, k)) for k in range(self.size(tree, 0))]


class StackedTwists(Frames):
    """Six numbers of each frame along one axis."""

    row_axes = (-1,)

    def __init__(self) -> None:
        super().__init__(6)
        self.shape = lambda model, frames: (6 * frames,)


class Poses(Frames):
    def numbers(self, value: Any) -> list[Any]:
        r, p = value.rotation.numbers(), value.translation
        return [*r[0:3], p.x, *r[3:6], p.y, *r[6:9], p.z, 0.0, 0.0, 0.0, 1.0]


class Columns(Space):
    """Six rows for each frame, a motion for each degree of freedom; zeros for those not on the frame's path."""

    of_frames = True
    row_axes = (-2,)

    def bodies(self, tree: Any, frame: Any) -> Iterator[Any]:
        """Those that have columns for a frame."""
        return tree.outward()

    def gather(self, model: Model, frames: int, value: Any) -> list[Scalar]:
        flat: list[Scalar] = [0.0] * self.size(model, frames)
        for body, column in enumerate(model.v_start, 1):
            for frame in range(frames):
                for k, motion in enumerate(value.get((frame, body)) or ()):
                    start = 6 * frame * model.nv + column + k
                    flat[start : start + 6 * model.nv : model.nv] = motion.numbers()
        return flat

    def store(self, tree: Any, array: str, value: Any) -> None:
        for frame in tree.frames():
            for body in self.bodies(tree, frame):
                if columns := [motion.numbers() for motion in value[frame, body]]:
                    terms: Terms = ((frame.index, "nv6"), (body.integer("v"), 1))
                    store_rows(tree, array, list(zip(*columns, strict=True)), terms, "nv")


class PathColumns(Columns):
    patterned = True

    def bodies(self, tree: Any, frame: Any) -> Iterator[Any]:
        return tree.path(frame.body)


class ForceColumns(Space):
    """Six rows, a column for each degree of freedom."""

    def gather(self, model: Model, frames: int, value: Any) -> list[Scalar]:
        columns = [force.numbers() for body in range(1, len(model.bodies) + 1) for force in value.get(body)]
        return [column[k] for k in range(6) for column in columns]

    def store(self, tree: Any, array: str, value: Any) -> None:
        for body in tree.outward():
            if columns := [force.numbers() for force in value[body]]:
                store_rows(tree, array, list(zip(*columns, strict=True)), ((body.integer("v"), 1),), "nv")


class Operational(Space):
    """A 6 × 6 block, by columns, for each pair of frames."""

    of_frames = of_pairs = True
    row_axes = (-1, -2)

    def gather(self, model: Model, frames: int, value: Any) -> list[Scalar]:
        flat: list[Scalar] = [0.0] * self.size(model, frames)
        for i, j in product(range(frames), repeat=2):
            for k, motion in enumerate(value.get((i, j))):
                flat[36 * frames * i + 6 * j + k : 36 * frames * (i + 1) : 6 * frames] = motion.numbers()
        return flat

    def store(self, tree: Any, array: str, value: Any) -> None:
        for frame in tree.frames():
            for other in tree.frames():
                columns = [motion.numbers() for motion in value[frame, other]]
                terms: Terms = ((frame.index, "wide6"), (other.index, 6))
                store_rows(tree, array, list(zip(*columns, strict=True)), terms, "wide")


class Triples(Space):
    """A square matrix with three rows for each frame, whatever the mechanism."""

    def scatter(self, model: Model, numbers: Sequence[Scalar]) -> list[list[Scalar]]:
        rows = isqrt(len(numbers))
        return [list(numbers[rows * r : rows * (r + 1)]) for r in range(rows)]


def store_rows(tree: Any, array: str, rows: Sequence[Sequence[Any]], terms: Terms, size: str, before: int = 0) -> None:
    """Store a block by rows, whose stride is a size; the first number is ``before`` from the terms' place."""
    for row, numbers in enumerate(rows):
        below: Terms = ((ONE, f"{size}{row}"),) if row else ()
        for k, number in enumerate(numbers):
            tree.tracer.store(Address(array, k + before, (*terms, *below)), number)


OFFSETS = Frames(3)
"""Three numbers that move each frame, which specialised code takes as a last argument."""


def shifted(placement: Transform, offset: Sequence[Scalar]) -> Transform:
    """A placement moved by an offset in its own axes."""
    return Transform(placement.rotation, placement.rotation.apply(Vec3(*offset)) + placement.translation)
