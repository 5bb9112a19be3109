"""Contact points with the ground, over any scalars, compiled once for all similar points: the batch is over states and
points.

A point is nine numbers in the axes of the frame that carries its shape: its position, the normal, the reference
acceleration, damping, and D, which is 0 without contact; then its coefficients of friction. With s of its rows, the
normal one first,

    asked      s = G (A + b V) - wanted       of the frame's velocity V and its rate A
    along      w = G P                        of any motion P of the frame
    response   Gᵀ f and Gᵀ h G                the force on the frame, and its derivative with the frame's motion
    line       slope, curvature, changes      the point's contribution to these along w

where f and h are those of ``costs``, and G has a row for each constrained direction of the point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.arrays import array_of, numbers
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.compiled.tracing import Shape, trace
from linkwork.dynamics.arguments import Array
from linkwork.dynamics.contact.collision import tangents, touches
from linkwork.dynamics.contact.costs import Cone, coefficients, cone_cost, cone_response, side_cost
from linkwork.dynamics.contact.kept import pushed
from linkwork.dynamics.contact.line import plus_cone, plus_side
from linkwork.engine.code import fingerprint
from linkwork.model.contacts import Contact, HeightField
from linkwork.spatial import Mat3, Scalar, Transform, Vec3, total, where_less
from linkwork.spatial.matrices import dot

AXES = (0, 0, 1, 3)
"""The number of axes, normal first and then tangents, about which friction of so many coefficients resists rotation."""
_HEAD = 9
"""Numbers of a point before its coefficients of friction."""
_SECONDS = 100e-9
"""Approximate time of a function for one point on one lane."""


def alike(one: Contact) -> tuple[object, ...]:
    """The data that determine the code of a contact's points; all else are arguments."""
    ground = one.against if isinstance(one.against, HeightField) else type(one.against)
    return type(one.shape), ground, one.softness, one.friction_rows


def data_of(one: Contact, ground: Transform, mass: float) -> list[float]:
    """The numbers of a contact, given the ground's placement in the world, and the effective inverse mass (1/kg)."""
    against = [] if isinstance(one.against, HeightField) else _numbers(one.against)
    places = [*one.placement.numbers(), *(ground * one.on_placement).numbers()]
    return [*_numbers(one.shape), *against, *(float(x) for x in places), one.margin, mass, *one.coefficients]


def meeting(one: Contact, stepped: bool) -> CompiledFunction:
    """The contact geometry of contacts similar to ``one``: from a frame's pose (4, 4), a contact's numbers and the step
    to the points (points, width), and their positions in the world with distances (points, 4).
    """
    size, width = len(data_of(one, Transform.identity(), 0.0)), rows_of(one.friction_rows, 1.0).width
    shapes: dict[str, Shape] = {"place": (4, 4), "data": (size,)} | ({"dt": ()} if stepped else {})

    def text(place: Any, data: Any, dt: Any = None) -> Any:
        there, left = numbers(place), iter(numbers(data).tolist())
        frame = Transform(Mat3(*there[:3, :3].ravel().tolist()), Vec3(*there[:3, 3].tolist()))
        shape = _with_numbers(one.shape, left)
        against = one.against if isinstance(one.against, HeightField) else _with_numbers(one.against, left)
        local, ground = (Transform.identity().of([next(left) for _ in range(12)]) for _ in range(2))
        margin, mass, *mu = left
        contact = object.__new__(Contact)
        for name, value in {"shape": shape, "against": against, "margin": margin}.items():
            object.__setattr__(contact, name, value)  # bypasses the checks, since the numbers are traced
        found, seen, back = [], [], frame.rotation.apply_transpose
        for touch in touches(contact, frame * local, ground):
            step = None if dt is None else numbers(dt).item()
            flag, *row = pushed(touch, one.softness, step, margin, mass)
            point, normal = back(touch.point - frame.translation), back(touch.normal)
            found += [*point.numbers(), *normal.numbers(), *row[6:8], where_less(0.5, flag, row[8], 0.0), *mu]
            seen += [*touch.point.numbers(), touch.distance]
        return array_of(found).reshape(one.points, width), array_of(seen).reshape(one.points, 4)

    results: list[Shape] = [(one.points, width), (one.points, 4)]
    return compiled("contact meeting", text, shapes, results, (*alike(one), stepped))


def _numbers(what: Any) -> list[float]:
    """All numbers of a shape, or of a plane."""
    values = [getattr(what, each.name) for each in fields(what)] if what is not None else []
    return [float(x) for value in values for x in (value if isinstance(value, tuple) else (value,))]


def _with_numbers(what: Any, left: Iterator[Scalar]) -> Any:
    """The same with other numbers, of any scalar type."""
    if what is None:
        return None
    made = object.__new__(type(what))
    for each in fields(what):
        value = getattr(what, each.name)
        object.__setattr__(
            made, each.name, tuple(next(left) for _ in value) if isinstance(value, tuple) else next(left)
        )
    return made


class Rows:
    """Functions of points with so many friction rows; ``ratio`` is the impedance of friction relative to the normal."""

    def __init__(self, friction: int, ratio: float) -> None:
        self.friction, self.ratio, self.size = friction, ratio, friction + 1
        self.width = _HEAD + max(1, coefficients(friction))
        point, size = {"point": (self.width,)}, (self.size,)

        def made(name: str, text: Callable[..., Any], shapes: dict[str, Shape], *results: Shape) -> CompiledFunction:
            return compiled(f"contact {name}", text, shapes, list(results), (friction, ratio))

        self.asked = made("asked", self._asked, {**point, "V": (6,), "A": (6,)}, size)
        self.along = made("along", self._along, {**point, "P": (6,)}, size)
        self.response = made("response", self._response, {**point, "s": size}, (6,), (21,))
        self.force = made("force", self._force, {**point, "s": size}, (6,))
        self.cost = made("cost", self._cost, {**point, "s": size}, ())
        self.line = made("line", self._line, {**point, "s": size, "w": size, "step": ()}, (3,))

    def _directions(self, point: Any) -> tuple[list[Vec3], list[list[Scalar]]]:
        """The normal and, with friction, the tangents; and G."""
        row = numbers(point).tolist()
        place, normal = Vec3(*row[:3]), Vec3(*row[3:6])
        directions = [normal, *(tangents(normal) if self.friction else ())]
        G = [[*each.numbers(), *place.cross(each).numbers()] for each in directions]
        G += [[0.0, 0.0, 0.0, *axis.numbers()] for axis in directions[: self._axes]]
        return directions, G

    @property
    def _axes(self) -> int:
        return AXES[coefficients(self.friction)]

    def _asked(self, point: Any, V: Any, A: Any) -> Any:
        row, (_, G) = numbers(point).tolist(), self._directions(point)
        lacking = [a + row[7] * v for a, v in zip(numbers(A).tolist(), numbers(V).tolist(), strict=True)]
        s = [dot(each, lacking) for each in G]
        return array_of([s[0] - row[6], *s[1:]])

    def _along(self, point: Any, P: Any) -> Any:
        return array_of([dot(each, numbers(P).tolist()) for each in self._directions(point)[1]])

    def _pushes(self, point: Any, s: Any) -> tuple[list[Scalar], list[list[Scalar]]]:
        """f, and the lower triangle of h."""
        own, sizes = self._cone(point), numbers(s).tolist()
        if self.friction:
            return cone_response(own, sizes, self.ratio)
        h = where_less(sizes[0], 0.0, own.D, 0.0)
        return [-(h * sizes[0])], [[h]]

    def _cone(self, point: Any) -> Cone:
        return Cone((), (), *numbers(point).tolist()[_HEAD - 1 :])

    def _response(self, point: Any, s: Any) -> Any:
        f, h = self._pushes(point, s)
        _, G = self._directions(point)
        r = range(self.size)
        columns = [list(each) for each in zip(*G, strict=True)]
        weighted = [[dot(x, [h[max(a, b)][min(a, b)] for a in r]) for b in r] for x in columns]
        K = [[dot(weighted[i], columns[j]) for j in range(6)] for i in range(6)]
        upper = [K[i][j] for i in range(3) for j in range(i, 3)]
        upper += [K[i][j] for i in range(3) for j in range(3, 6)]
        upper += [K[i][j] for i in range(3, 6) for j in range(i, 6)]
        return array_of([dot(column, f) for column in columns]), array_of(upper)

    def _force(self, point: Any, s: Any) -> Any:
        """Force and moment at the point, in the frame's axes."""
        f, _ = self._pushes(point, s)
        directions, _ = self._directions(point)
        force = [total(x * y for x, y in zip(each, f, strict=False)) for each in zip(*_listed(directions), strict=True)]
        turning = _listed(directions[: self._axes])
        moment = [total(x * y for x, y in zip(each, f[3:], strict=True)) for each in zip(*turning, strict=True)]
        return array_of([*force, *(moment or [0.0, 0.0, 0.0])])

    def _cost(self, point: Any, s: Any) -> Any:
        own, sizes = self._cone(point), numbers(s).tolist()
        cost = cone_cost(own, sizes, self.ratio) if self.friction else side_cost(sizes[0], own.D)
        return array_of([cost]).reshape(())

    def _line(self, point: Any, s: Any, w: Any, step: Any) -> Any:
        own, at = self._cone(point), numbers(step).item()
        here, rates = numbers(s).tolist(), numbers(w).tolist()
        nothing = [0.0, 0.0, 0.0]
        if self.friction:
            return array_of(plus_cone(nothing, at, here, rates, own, self.ratio))
        return array_of(plus_side(nothing, at, here[0], rates[0], own.D))


def _listed(vectors: Sequence[Vec3]) -> list[list[Scalar]]:
    return [vector.numbers() for vector in vectors]


rows_of = cache(Rows)
"""Cached, as compiled code is kept with the object."""


class Alike(NamedTuple):
    """Contacts that share one function: their numbers (contacts, k), the index of each one's frame in ``ends``, and the
    functions with and without a step.
    """

    members: list[Contact]
    data: Array
    frames: NDArray[np.intp]
    texts: tuple[CompiledFunction, CompiledFunction]


class Held(NamedTuple):
    """Points with the same number of friction rows: their functions, their contacts, the frame of each, a partition in
    which frames differ, and the index of each among all points.
    """

    rows: Rows
    alike: list[Alike]
    frames: NDArray[np.intp]
    ranks: list[tuple[Any, Any]]
    places: NDArray[np.intp]


def compiled(
    name: str, text: Callable[..., Any], shapes: dict[str, Shape], results: list[Shape], what: tuple[object, ...]
) -> CompiledFunction:
    identity = fingerprint.key(name, shapes, what)
    structure = None if len(results) == 1 else (tuple, [None] * len(results))
    return CompiledFunction(name, shapes, lambda: trace(name, text, shapes)[0], structure, results, identity, _SECONDS)
