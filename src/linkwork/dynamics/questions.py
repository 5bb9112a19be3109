"""Functions of points of a model, such as their operational inertia: one kernel each where that pays, otherwise several
kernels combined by NumPy.

Traced, such a function becomes machine code with the points' offsets and the placements that constraints hold as
arguments, so that they may change from call to call. States in which a matrix is singular, and mechanisms or points too
many for one kernel, are computed by the same function on floats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from linkwork.algorithms import REFERENCES
from linkwork.arguments import choice
from linkwork.batches import Given, put_into, spread
from linkwork.compiled.arrays import is_traced
from linkwork.dynamics.arguments import Array, Frames, PointSet, as_frames, as_given, check_finite
from linkwork.dynamics.at_points import AtPoints
from linkwork.dynamics.call import kernel_at
from linkwork.dynamics.constrained_points import constrained_points, with_ends
from linkwork.dynamics.held import HeldBy, held_by
from linkwork.dynamics.operational import METHODS, chosen
from linkwork.engine.plans.costs import within
from linkwork.engine.spaces import SPACES
from linkwork.model.constraints import Constraint
from linkwork.model.model import Model

if TYPE_CHECKING:
    from linkwork.compiled.compiled_function import CompiledFunction

Constraints = Sequence[Constraint] | Constraint | None


@dataclass(frozen=True)
class Question:
    """A function of points, written over arrays.

    Attributes:
        name: of the public function.
        text: (points, arguments...) -> arrays.
        arguments: their names and spaces.
        results: the shapes of the arrays, with "v" for the degrees of freedom and "r" for the rows of the points.
        columns: whether its products have a column for each degree of freedom.
    """

    name: str
    text: Callable[..., tuple[Array, ...]]
    arguments: tuple[tuple[str, str], ...]
    results: tuple[str, ...]
    columns: bool = True

    def at(
        self, model: Model, points: Frames, method: str, reference: str = "local", constraints: Constraints = None
    ) -> Answer:
        """The answer for some points, under constraints if there are any; cached."""
        asked = as_frames(model, points)
        held = None if constraints is None else held_by(model, constraints)
        answers = asked.answers if held is None else held.answers_at(asked)
        if type(method) is type(reference) is str:  # anything else is refused as a choice, whatever it equals
            found: Answer | None = answers.get((self.name, method, reference))
            if found is not None:
                return found
        choice("reference", reference, REFERENCES)
        choice("method", method, METHODS)
        if held is None or not held.constraints or not asked.frames:
            answer: Answer = Answer(self, asked, chosen(asked, method), reference)
        else:
            answer = ConstrainedAnswer(self, asked, method, reference, held)
        answers[self.name, method, reference] = answer
        return answer


class Answer:
    """A question for some points of a model.

    Attributes:
        law: the kernel; None if there is none, or before the first call that is not traced.
        fixed: its last arguments: the points' offsets, if there are any.
        rate: the kernel of its derivative in time (``dynamics.operational_rates``), once it has been used.
    """

    def __init__(self, question: Question, asked: PointSet, method: str, reference: str) -> None:
        self.question, self.asked, self.method, self.reference = question, asked, method, reference
        self.rows = 6 * len(asked.frames) if asked.kept is None else len(asked.kept)
        self.law: CompiledFunction | None = None
        self.fixed: tuple[Array, ...] = asked.fixed
        self.rate: CompiledFunction | None = None
        self._new = True

    def __call__(self, out: Any, *values: ArrayLike, pseudo_inverse: bool = False) -> Any:
        """The array or arrays, for the arguments of a public function."""
        law = self.law
        if law is not None and not pseudo_inverse:
            answer = law.quick(out, *values, *self.fixed)
            if answer is None:
                answer = law.converted(out, *values, *self.fixed)
            if answer is not None:
                return answer
        return self._checked(out, values, pseudo_inverse)

    def _checked(self, out: Any, values: Sequence[ArrayLike], pseudo_inverse: bool) -> Any:
        """The array or arrays for any valid arguments."""
        names = [name for name, _ in self.question.arguments]
        given, batch = as_given(self.asked.model, self.question.arguments, values, finite=False)
        present = [each for each in given if each is not None]
        if any(is_traced(array) for array, _ in present):
            traced = self._text([array for array, _ in present], None, pseudo_inverse)
            return traced[0] if len(traced) == 1 else traced
        if self._new:  # a program may be traced to tell its length, so not while another is
            self.law, self._new = self._kernel() if self.rows else None, False
        by_kernel = self.law is not None and not pseudo_inverse and 0 not in batch
        results = self._by_kernel(present, batch) if by_kernel else self._joined(present, batch, pseudo_inverse)
        return put_into(out, *results, apart=dict(zip(names, values, strict=True)))

    def _by_kernel(self, given: Sequence[Given], batch: tuple[int, ...]) -> Sequence[Array]:
        """The arrays by the kernel; where it has no result, on floats, as then an error says why."""
        assert self.law is not None
        results, _, fine = self.law.attempt([*(array for array, _ in given), *self.fixed])
        if not fine.all():
            for own, other in zip(results, self._joined(given, batch), strict=True):
                flat = own.reshape(len(fine), -1)
                flat[~fine] = other.reshape(len(fine), -1)[~fine]
        return results

    def _joined(self, given: Sequence[Given], batch: tuple[int, ...], pseudo_inverse: bool = False) -> Sequence[Array]:
        """The arrays computed on floats, for all states at once."""
        model, arguments = self.asked.model, self.question.arguments
        for (name, space), (array, _) in zip(arguments, given, strict=True):
            check_finite(model, name, space, array)
        spread_out = [spread(array, axes, batch) if axes else array for array, axes in given]
        return self._text(spread_out, None, pseudo_inverse)

    def _text(self, values: Sequence[Any], fixed: Any, pseudo_inverse: bool = False) -> tuple[Array, ...]:
        return self.question.text(self._points(fixed or self._unmoved, pseudo_inverse), *values)

    @property
    def _unmoved(self) -> tuple[Any, ...]:
        """The last arguments of the text in every state: the points' offsets."""
        return (self.asked.offsets,)

    def _points(self, fixed: Sequence[Any], pseudo_inverse: bool) -> AtPoints:
        return AtPoints(self.asked, self.method, self.reference, fixed[0], pseudo_inverse)

    def _kernel(self) -> CompiledFunction | None:
        """The kernel, shared by points that differ only in their offsets."""
        nv, rows = self.asked.model.nv if self.question.columns else 0, self.rows
        if not within("dense_products", (nv + rows) * rows * rows):
            return None
        return self.text_of()

    def text_of(self) -> CompiledFunction:
        """The text traced, however long it is: for derivatives."""
        return self._traced_kernel({})

    @property
    def key(self) -> tuple[object, ...]:
        """What the text depends on besides its name."""
        asked = self.asked
        return asked.frames, bool(asked.offsets), self.method, self.reference, asked.kept

    def _traced_kernel(self, more: Mapping[str, tuple[int, ...]], *what: object, **options: Any) -> CompiledFunction:
        asked, question, names = self.asked, self.question, [name for name, _ in self.question.arguments]
        shapes = {name: SPACES[space].shape(asked.model, len(asked.frames)) for name, space in question.arguments}
        sizes = {"v": asked.model.nv, "r": self.rows}
        results = [tuple(sizes[letter] for letter in shape) for shape in question.results]

        def text(offsets: Any, **values: Any) -> Any:
            fixed = *(values[name] for name in more), offsets
            found = self._text([values[name] for name in names], fixed)
            return found if len(found) > 1 else found[0]

        what = self.method, self.reference, asked.kept, *what
        return kernel_at(asked, question.name, text, {**shapes, **more}, results, *what, **options)


class ConstrainedAnswer(Answer):
    """The same under constraints, whose placements are an argument of the kernel, before the offsets."""

    def __init__(self, question: Question, asked: PointSet, method: str, reference: str, held: HeldBy) -> None:
        self.held, self.every = held, with_ends(held, asked)
        super().__init__(question, asked, chosen(self.every, method), reference)
        self.fixed = held.placements, *asked.fixed

    @property
    def _unmoved(self) -> tuple[Any, ...]:
        return self.held.placements, self.asked.offsets

    def _points(self, fixed: Sequence[Any], pseudo_inverse: bool) -> AtPoints:
        placements, offsets = fixed
        points = self.asked, self.every, self.method, self.reference
        return constrained_points(self.held, placements, *points, offsets, pseudo_inverse)

    def _kernel(self) -> CompiledFunction | None:
        kernel = self.text_of()
        return kernel if kernel.fits else None

    def text_of(self) -> CompiledFunction:
        return self._traced_kernel({"placements": self.held.placements.shape}, *self._kinds, optional=True)

    @property
    def _kinds(self) -> tuple[object, ...]:
        return tuple(self.held.frames), repr(self.held.kinds)

    @property
    def key(self) -> tuple[object, ...]:
        return *super().key, *self._kinds
