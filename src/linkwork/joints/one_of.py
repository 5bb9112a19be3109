"""A joint that is one of several types, selected by a number: bodies on different joints then share one code.

It evaluates all types and selects a result, where code for one type would skip the others. So it is for chains whose
joint types are in irregular order, as lanes of a vector, not for users.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.joints.joint import Joint
from linkwork.spatial import AnyWrenches, Columns, Coordinates, Force, Motion, Scalar, Subspace, Transform, where_less


@dataclass(frozen=True)
class OneOf(Joint):
    """Joint number ``which`` of ``joints``; it uses the first coordinates, the rest are ignored."""

    joints: tuple[Joint, ...]
    which: float

    @property
    def nq(self) -> int:  # type: ignore[override]
        return max(joint.nq for joint in self.joints)

    @property
    def nv(self) -> int:  # type: ignore[override]
        return max(joint.nv for joint in self.joints)

    @property
    def most_held(self) -> int:
        return max(joint.most_held for joint in self.joints)

    def neutral(self) -> list[float]:
        return max(self.joints, key=lambda joint: joint.nq).neutral()

    def integrate(self, q: Coordinates, dv: Coordinates) -> list[Scalar]:
        joint = self.joints[int(self.which)]
        return [*joint.integrate(q[: joint.nq], dv[: joint.nv]), *q[joint.nq :]]

    def numbers(self) -> list[Scalar]:
        return [self.which, *(number for joint in self.joints for number in joint.numbers())]

    def of(self, numbers: Sequence[Scalar]) -> OneOf:
        which, *rest = numbers
        joints = []
        for joint in self.joints:
            count = len(joint.numbers())
            joints.append(joint.of(rest[:count]))
            rest = rest[count:]
        return OneOf(tuple(joints), which)

    def kind(self) -> tuple[Any, ...]:
        return (OneOf, *(joint.kind() for joint in self.joints))

    def transform(self, q: Coordinates) -> Transform:
        return Transform.identity().of(
            self._chosen([joint.transform(q[: joint.nq]).numbers() for joint in self.joints])
        )

    def subspace(self, q: Coordinates) -> Subspace:
        spaces = [joint.subspace(q[: joint.nq]) for joint in self.joints]
        motions = self._columns([[column.numbers() for column in space.columns()] for space in spaces], self.nv)
        dual = self._columns([[wrench.numbers() for wrench in space.dual().units()] for space in spaces], self.nv)
        wrenches = [[wrench.numbers() for wrench in space.complement().units()] for space in spaces]
        columns = self._columns(wrenches, self.most_held)
        compliance = self._chosen([[0.0] * len(one) + [1.0] * (self.most_held - len(one)) for one in wrenches])
        return _SelectedSubspace(
            [Motion.from_numbers(column) for column in motions],
            AnyWrenches([Force.from_numbers(column) for column in dual]),
            _PaddedWrenches([Force.from_numbers(column) for column in columns], compliance),
        )

    def bias(self, q: Coordinates, v: Coordinates) -> Motion:
        biases = [joint.bias(q[: joint.nq], v[: joint.nv]).numbers() for joint in self.joints]
        return Motion.from_numbers(self._chosen(biases))

    def _chosen(self, rows: Sequence[Sequence[Scalar]]) -> list[Scalar]:
        """The row of the selected joint."""
        *before, last = rows
        chosen = list(last)
        for number, row in reversed(list(enumerate(before))):
            chosen = [where_less(self.which, number + 0.5, x, y) for x, y in zip(row, chosen, strict=True)]
        return chosen

    def _columns(self, sets: Sequence[Sequence[Sequence[Scalar]]], count: int) -> list[list[Scalar]]:
        """The columns of the selected joint, padded with zeros."""
        full = [[*columns, *([0.0] * 6 for _ in range(count - len(columns)))] for columns in sets]
        return [self._chosen([columns[k] for columns in full]) for k in range(count)]


class _PaddedWrenches(AnyWrenches):
    """Wrenches of which some do not exist: these are zero, with a compliance of their own."""

    __slots__ = ("_compliance",)

    def __init__(self, columns: Sequence[Force], compliance: Sequence[Scalar]) -> None:
        super().__init__(columns)
        self._compliance = list(compliance)

    @property
    def compliance(self) -> list[Scalar]:
        return self._compliance


class _SelectedSubspace(Columns):
    """Motions of which some do not exist, and the wrenches dual to them."""

    __slots__ = ("_dual", "_complement")

    def __init__(self, motions: Sequence[Motion], dual: AnyWrenches, complement: _PaddedWrenches) -> None:
        super().__init__(motions)
        self._dual, self._complement = dual, complement

    def dual(self) -> AnyWrenches:
        return self._dual

    def complement(self, rotor: Coordinates = ()) -> _PaddedWrenches:
        return self._complement
