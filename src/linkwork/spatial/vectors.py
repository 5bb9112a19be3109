"""Three-dimensional vectors and matrices over any scalar."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linkwork.spatial.functions import Scalar


class Numbers:
    """A small fixed set of scalars: the base of every spatial type.

    A subclass names its scalars in ``__slots__``. ``numbers`` lists them and ``of`` makes the same type from such a
    list; storage, comparison, pickling and printing use only these two.
    """

    __slots__: tuple[str, ...] = ()

    def numbers(self) -> list[Scalar]:
        """All scalars, in the order of the slots."""
        return self._parts()

    def of(self, numbers: Sequence[Scalar]) -> Self:
        """The same type with other scalars."""
        return type(self)(*numbers)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.numbers() == other.numbers()

    def __hash__(self) -> int:
        return hash((type(self), tuple(self.numbers())))

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self._parts()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._parts()))})"

    def _parts(self) -> list[Any]:
        return [getattr(self, name) for name in _slots(type(self))]


def as_array(numbers: Sequence[Scalar], shape: tuple[int, ...], dtype: Any, copy: bool | None) -> NDArray[Any]:
    """Scalars as an array whose last axes are ``shape``; scalars that are arrays give it their leading (batch) axes."""
    if copy is False:
        raise ValueError("a spatial quantity is no array: its numbers must be copied into one")
    parts = np.broadcast_arrays(*numbers)
    array = np.stack(parts, axis=-1).reshape(*parts[0].shape, *shape)
    return array if dtype is None else array.astype(dtype, copy=False)


def _rebuild(cls: type[Numbers], parts: list[Any]) -> Numbers:
    new = cls.__new__(cls)
    for name, part in zip(_slots(cls), parts, strict=True):
        setattr(new, name, part)
    return new


def _slots(cls: type[Numbers]) -> list[str]:
    """The slots of a class and of its bases."""
    return [name for base in reversed(cls.__mro__) for name in getattr(base, "__slots__", ())]


class Listed(Numbers):
    """A sequence of numbers, with the interface of a Python list and a NumPy array."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Scalar]:
        return iter(self.numbers())

    def __len__(self) -> int:
        return len(self.numbers())

    def __getitem__(self, which: int) -> Scalar:
        return self.numbers()[which]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return as_array(self.numbers(), (len(self),), dtype, copy)


class Vec3(Listed):
    """A vector."""

    __slots__ = ("x", "y", "z")

    def __init__(self, x: Scalar, y: Scalar, z: Scalar) -> None:
        self.x, self.y, self.z = x, y, z

    @staticmethod
    def zero() -> Vec3:
        return Vec3(0.0, 0.0, 0.0)

    def numbers(self) -> list[Scalar]:
        return [self.x, self.y, self.z]

    def __add__(self, other: Vec3) -> Vec3:
        return Vec3(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: Vec3) -> Vec3:
        return Vec3(self.x - other.x, self.y - other.y, self.z - other.z)

    def __neg__(self) -> Vec3:
        return Vec3(-self.x, -self.y, -self.z)

    def __mul__(self, s: Scalar) -> Vec3:
        return Vec3(self.x * s, self.y * s, self.z * s)

    def dot(self, other: Vec3) -> Scalar:
        return self.x * other.x + self.y * other.y + self.z * other.z

    def cross(self, other: Vec3) -> Vec3:
        return Vec3(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )

    def outer(self, other: Vec3) -> Mat3:
        return Mat3(*(a * b for a in self.numbers() for b in other.numbers()))

    def cross_matrix(self) -> Mat3:
        """[v]x, the matrix of ``v.cross``."""
        return Mat3(0.0, -self.z, self.y, self.z, 0.0, -self.x, -self.y, self.x, 0.0)


class Mat3(Numbers):
    """A 3×3 matrix, row by row, for instance a rotation."""

    __slots__ = ("xx", "xy", "xz", "yx", "yy", "yz", "zx", "zy", "zz")

    def __init__(
        self,
        xx: Scalar, xy: Scalar, xz: Scalar,
        yx: Scalar, yy: Scalar, yz: Scalar,
        zx: Scalar, zy: Scalar, zz: Scalar,
    ) -> None:  # fmt: skip
        self.xx, self.xy, self.xz = xx, xy, xz
        self.yx, self.yy, self.yz = yx, yy, yz
        self.zx, self.zy, self.zz = zx, zy, zz

    @staticmethod
    def identity() -> Mat3:
        return Mat3(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)

    @staticmethod
    def zero() -> Mat3:
        return Mat3(*[0.0] * 9)

    def numbers(self) -> list[Scalar]:
        return [self.xx, self.xy, self.xz, self.yx, self.yy, self.yz, self.zx, self.zy, self.zz]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return as_array(self.numbers(), (3, 3), dtype, copy)

    def __add__(self, other: Mat3) -> Mat3:
        return Mat3(*(a + b for a, b in zip(self.numbers(), other.numbers(), strict=True)))

    def __sub__(self, other: Mat3) -> Mat3:
        return Mat3(*(a - b for a, b in zip(self.numbers(), other.numbers(), strict=True)))

    def __neg__(self) -> Mat3:
        return Mat3(*(-a for a in self.numbers()))

    def transpose(self) -> Mat3:
        return Mat3(self.xx, self.yx, self.zx, self.xy, self.yy, self.zy, self.xz, self.yz, self.zz)

    def apply(self, v: Vec3) -> Vec3:
        """M v."""
        return Vec3(
            self.xx * v.x + self.xy * v.y + self.xz * v.z,
            self.yx * v.x + self.yy * v.y + self.yz * v.z,
            self.zx * v.x + self.zy * v.y + self.zz * v.z,
        )

    def apply_transpose(self, v: Vec3) -> Vec3:
        """Mᵀ v."""
        return Vec3(
            self.xx * v.x + self.yx * v.y + self.zx * v.z,
            self.xy * v.x + self.yy * v.y + self.zy * v.z,
            self.xz * v.x + self.yz * v.y + self.zz * v.z,
        )

    def columns(self) -> tuple[Vec3, Vec3, Vec3]:
        return Vec3(self.xx, self.yx, self.zx), Vec3(self.xy, self.yy, self.zy), Vec3(self.xz, self.yz, self.zz)

    @staticmethod
    def from_columns(a: Vec3, b: Vec3, c: Vec3) -> Mat3:
        return Mat3(a.x, b.x, c.x, a.y, b.y, c.y, a.z, b.z, c.z)

    def __mul__(self, other: Mat3) -> Mat3:
        return Mat3.from_columns(*(self.apply(column) for column in other.columns()))

    def congruence(self, m: Mat3) -> Mat3:
        """R M Rᵀ."""
        return self * (m * self.transpose())


class Sym3(Numbers):
    """A symmetric 3×3 matrix: its upper triangle, row by row."""

    __slots__ = ("xx", "xy", "xz", "yy", "yz", "zz")

    def __init__(self, xx: Scalar, xy: Scalar, xz: Scalar, yy: Scalar, yz: Scalar, zz: Scalar) -> None:
        self.xx, self.xy, self.xz, self.yy, self.yz, self.zz = xx, xy, xz, yy, yz, zz

    @staticmethod
    def zero() -> Sym3:
        return Sym3(*[0.0] * 6)

    @staticmethod
    def diagonal(x: Scalar, y: Scalar, z: Scalar) -> Sym3:
        return Sym3(x, 0.0, 0.0, y, 0.0, z)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return as_array(self.full().numbers(), (3, 3), dtype, copy)

    def numbers(self) -> list[Scalar]:
        return [self.xx, self.xy, self.xz, self.yy, self.yz, self.zz]

    def __add__(self, other: Sym3) -> Sym3:
        return Sym3(*(a + b for a, b in zip(self.numbers(), other.numbers(), strict=True)))

    def __sub__(self, other: Sym3) -> Sym3:
        return Sym3(*(a - b for a, b in zip(self.numbers(), other.numbers(), strict=True)))

    def __neg__(self) -> Sym3:
        return Sym3(*(-a for a in self.numbers()))

    def apply(self, v: Vec3) -> Vec3:
        return Vec3(
            self.xx * v.x + self.xy * v.y + self.xz * v.z,
            self.xy * v.x + self.yy * v.y + self.yz * v.z,
            self.xz * v.x + self.yz * v.y + self.zz * v.z,
        )

    def full(self) -> Mat3:
        return Mat3(self.xx, self.xy, self.xz, self.xy, self.yy, self.yz, self.xz, self.yz, self.zz)

    def congruence(self, r: Mat3) -> Sym3:
        """R S Rᵀ."""
        a, b, c = (self.apply(row) for row in r.transpose().columns())  # columns of S Rᵀ
        rx, ry, rz = r.transpose().columns()  # rows of R
        return Sym3(rx.dot(a), rx.dot(b), rx.dot(c), ry.dot(b), ry.dot(c), rz.dot(c))


def total(scalars: Iterable[Scalar]) -> Scalar:
    """The sum, from the left, without the zero that ``sum`` starts with; 0.0 for no scalars."""
    result: Scalar = None
    for s in scalars:
        result = s if result is None else result + s
    return 0.0 if result is None else result
