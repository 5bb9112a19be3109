"""Contact points: of many contacts as a subroutine for all similar ones, whose numbers are its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from linkwork.compiled.arrays import array_of, numbers
from linkwork.compiled.subroutine import subroutine
from linkwork.dynamics.contact.boxes import Touch
from linkwork.dynamics.contact.collision import touches
from linkwork.dynamics.contact.kept import HEAD, pushed
from linkwork.dynamics.contact.softness import spring
from linkwork.engine.plans.costs import within
from linkwork.model.contacts import Contact, HeightField
from linkwork.spatial import Mat3, Scalar, Transform, Vec3


def alike(one: Contact) -> tuple[object, ...]:
    """The data that determine the code of a contact's points; all else are arguments."""
    ground = one.against if isinstance(one.against, HeightField) else type(one.against)
    return type(one.shape), ground, one.softness, one.friction_rows


def shared(text: Callable[..., Sequence[Any]], contacts: int) -> Callable[..., Sequence[Any]]:
    """A text that each of so many contacts uses: a subroutine if they are many."""
    return text if within("inlined_contacts", contacts) else subroutine(text)


class Meetings:
    """The points of contacts in a step of length dt, or without one; ``mass`` is the effective inverse mass of one.
    Numbers that similar contacts have in common are constants of their text.
    """

    def __init__(self, contacts: Sequence[Contact], mass: Callable[[Contact], float], dt: Scalar | None) -> None:
        self.count, self.dt, self._mass = len(contacts), dt, mass
        self._alike: dict[object, list[Contact]] = {}
        for one in contacts:
            self._alike.setdefault(alike(one), []).append(one)
        self._known: dict[object, tuple[list[int], Callable[..., Sequence[Any]]]] = {}

    def meet(self, one: Contact, places: Mapping[str, Transform]) -> tuple[list[Touch], list[list[Scalar]]]:
        """The points of a contact, and of each, whether it touches and its numbers as in ``kept.pushed``."""
        both, own = [*places[one.frame].numbers(), *places[one.on].numbers()], self._data(one)
        still = tuple(k for k, x in enumerate(both) if isinstance(x, float))
        key = alike(one), still, tuple(both[k] for k in still)
        if key not in self._known:
            columns = list(zip(*(self._data(each) for each in self._alike[alike(one)]), strict=True))
            varying = [k for k, column in enumerate(columns) if len(set(column)) > 1]
            self._known[key] = varying, shared(self._text(one, both, own, varying), self.count)
        varying, text = self._known[key]
        given = [x for x in both if not isinstance(x, float)] + [own[k] for k in varying]
        (found,) = text(array_of([*given, *spring(one.softness, self.dt)]))
        flat, width = numbers(found).tolist(), 2 + HEAD
        rows = [flat[width * k : width * k + width] for k in range(one.points)]
        met = [Touch(row[0], Vec3(*row[2:5]), Vec3(*row[5:8])) for row in rows]
        return met, [row[1:] for row in rows]

    def _data(self, one: Contact) -> list[float]:
        """All numbers of a contact."""
        against = [] if isinstance(one.against, HeightField) else _numbers(one.against)
        placed = [float(x) for place in (one.placement, one.on_placement) for x in place.numbers()]
        return [*placed, *_numbers(one.shape), *against, one.margin, self._mass(one)]

    def _text(
        self, one: Contact, both: Sequence[Scalar], own: Sequence[float], varying: Sequence[int]
    ) -> Callable[[Any], list[Any]]:
        """The points of contacts like one, given what moves of the placements of both frames, the numbers in which
        contacts differ, and damping and stiffness.
        """
        constants = [x if isinstance(x, float) else None for x in both]

        def text(inputs: Any) -> list[Any]:
            left = iter(numbers(inputs).tolist())
            there = [next(left) if x is None else x for x in constants]
            data: list[Scalar] = list(own)
            for k in varying:
                data[k] = next(left)
            stiff, numbers_left = list(left), iter(data)
            place, ground = (
                _transform(there[k : k + 12]) * _transform([next(numbers_left) for _ in range(12)]) for k in (0, 12)
            )
            shape = _with_numbers(one.shape, numbers_left)
            against = one.against if isinstance(one.against, HeightField) else _with_numbers(one.against, numbers_left)
            margin, mass = numbers_left
            contact = object.__new__(Contact)
            for name, value in {"shape": shape, "against": against, "margin": margin}.items():
                object.__setattr__(contact, name, value)  # bypasses the checks, since the numbers are traced
            points: list[Scalar] = []
            for touch in touches(contact, place, ground):
                points += [touch.distance, *pushed(touch, one.softness, stiff, margin, mass)]
            return [array_of(points)]

        return text


def _transform(items: Sequence[Scalar]) -> Transform:
    return Transform(Mat3(*items[:9]), Vec3(*items[9:]))


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
