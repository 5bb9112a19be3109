"""Placements of one frame in another, and their action on spatial quantities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from numpy.typing import NDArray

from linkwork.spatial.functions import Scalar
from linkwork.spatial.inertia import ArticulatedInertia, Inertia
from linkwork.spatial.motion import Force, Motion
from linkwork.spatial.vectors import Mat3, Numbers, Vec3, as_array


class Transform(Numbers):
    """The placement of a child frame in a parent frame: x_parent = R x_child + p.

    As a NumPy array it is the 4×4 matrix [[R, p], [0, 1]].
    """

    __slots__ = ("rotation", "translation")

    def __init__(self, rotation: Mat3, translation: Vec3) -> None:
        self.rotation, self.translation = rotation, translation

    @staticmethod
    def identity() -> Transform:
        return Transform(Mat3.identity(), Vec3.zero())

    def numbers(self) -> list[Scalar]:
        return [*self.rotation.numbers(), *self.translation.numbers()]

    def of(self, numbers: Sequence[Scalar]) -> Transform:
        return Transform(Mat3(*numbers[:9]), Vec3(*numbers[9:]))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        r, p = self.rotation, self.translation
        rows = [r.xx, r.xy, r.xz, p.x, r.yx, r.yy, r.yz, p.y, r.zx, r.zy, r.zz, p.z, 0.0, 0.0, 0.0, 1.0]
        return as_array(rows, (4, 4), dtype, copy)

    def __mul__(self, inner: Transform) -> Transform:
        """The placement of a grandchild: (A in world) * (B in A) = B in world."""
        if not isinstance(inner, Transform):
            raise TypeError(
                f"a Transform times {type(inner).__name__}: * takes another Transform, such as "
                "lw.placement(matrix=...); @ multiplies matrices"
            )
        return Transform(self.rotation * inner.rotation, self.rotation.apply(inner.translation) + self.translation)

    def __matmul__(self, inner: Transform) -> Transform:
        """The same, as matrices multiply; with a NumPy array it gives an array."""
        return self * inner if isinstance(inner, Transform) else NotImplemented

    def over(self, inner: Transform) -> Transform:
        """The placement of a parent: (B in world) over (B in A) = A in world."""
        rotation = self.rotation * inner.rotation.transpose()
        return Transform(rotation, self.translation - rotation.apply(inner.translation))

    def inverse(self) -> Transform:
        back = self.rotation.transpose()
        return Transform(back, -back.apply(self.translation))

    @overload
    def to_parent(self, x: Motion) -> Motion: ...
    @overload
    def to_parent(self, x: Force) -> Force: ...
    @overload
    def to_parent(self, x: Inertia) -> Inertia: ...
    @overload
    def to_parent(self, x: ArticulatedInertia) -> ArticulatedInertia: ...
    def to_parent(
        self, x: Motion | Force | Inertia | ArticulatedInertia
    ) -> Motion | Force | Inertia | ArticulatedInertia:
        """A quantity of the child frame, expressed in the parent frame."""
        r, p = self.rotation, self.translation
        if isinstance(x, Motion):
            angular = r.apply(x.angular)
            return Motion(r.apply(x.linear) + p.cross(angular), angular)
        if isinstance(x, Force):
            linear = r.apply(x.linear)
            return Force(linear, r.apply(x.angular) + p.cross(linear))
        return x.rotated(r).moved(p)

    @overload
    def to_child(self, x: Motion) -> Motion: ...
    @overload
    def to_child(self, x: Force) -> Force: ...
    def to_child(self, x: Motion | Force) -> Motion | Force:
        """A quantity of the parent frame, expressed in the child frame."""
        r, p = self.rotation, self.translation
        if isinstance(x, Motion):
            return Motion(r.apply_transpose(x.linear - p.cross(x.angular)), r.apply_transpose(x.angular))
        return Force(r.apply_transpose(x.linear), r.apply_transpose(x.angular - p.cross(x.linear)))
