"""Operational-space quantities at points of a model, written over arrays: one kernel each where that pays, otherwise
several kernels combined by NumPy.

Traced, such a function becomes machine code with the points' offsets as an argument, so that points may move from call
to call. States in which a matrix is singular, and mechanisms or points too many for one kernel, are computed by the
same function on floats.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms import INVERSION, REFERENCES, Algorithm
from linkwork.algorithms.consistent_inverse import consistent_inverse, inertia_inverse
from linkwork.arguments import choice
from linkwork.batches import Given, put_into, spread
from linkwork.compiled.arrays import is_traced, numbers
from linkwork.dynamics.arguments import Array, Frames, PointSet, as_frames, as_given, check_finite
from linkwork.dynamics.call import call, kernel_at
from linkwork.dynamics.dynamics import forward_dynamics
from linkwork.dynamics.inversion import inverted, triples
from linkwork.dynamics.operational import chosen
from linkwork.engine.plans import looped
from linkwork.engine.plans.costs import within
from linkwork.engine.spaces import SPACES
from linkwork.model.model import Model
from linkwork.model.queries import weightless
from linkwork.spatial.small_matrices import motion_matrix, times, transposed

if TYPE_CHECKING:
    from linkwork.compiled.compiled_function import CompiledFunction


@dataclass(frozen=True)
class AtPoints:
    """Points, and the quantities computed at them. Arrays have those of the six rows of each point that it asks for."""

    asked: PointSet
    method: str
    """The method for Λ⁻¹."""
    reference: str
    """The axes and origin in which motions and forces are expressed."""
    offsets: Sequence[Any]
    pseudo_inverse: bool = False

    def jacobian(self, q: Array) -> Array:
        return self.asked.rows(self._whole(f"jacobian/{self.reference}", q), -2)

    def drift(self, q: Array, v: Array) -> Array:
        return self.asked.rows(self._whole(f"jacobian_drift/{self.reference}", q, v), -1)

    def accelerations_under(self, model: Model, q: Array, v: Array) -> Array:
        """J̇v - J M⁻¹ (c + g): the accelerations of a model, which may be without gravity, under no joint forces."""
        a = forward_dynamics(model, q, v, np.zeros(model.nv))
        found = self._whole(f"frame_accelerations/{self.reference}", q, v, a)
        return self.asked.rows(found.reshape(*found.shape[:-2], 6 * found.shape[-2]), -1)

    def coasting(self, q: Array, v: Array) -> Array:
        """J̇v - J M⁻¹ c: the accelerations without gravity and joint forces."""
        return self.accelerations_under(weightless(self.asked.model), q, v)

    def free_fall(self, q: Array) -> Array:
        """-J M⁻¹ g, for the gravity torques g: the accelerations from rest."""
        return self.accelerations_under(self.asked.model, q, np.zeros(self.asked.model.nv))

    def inertia_inverse(self, q: Array, by_rows: bool = False) -> Array:
        """Λ⁻¹; set ``by_rows`` if ``consistent_inverse`` follows, which uses the same rows."""
        if by_rows and self.method == "sparse" and self._one_kernel(q):
            found = self._traced("inertia_inverse", inertia_inverse, "operational", q)
        else:
            found = self._whole(f"operational/{self.method}", q)
        if self.reference != "local":
            turn = self._turn(q)
            found = turn @ found @ transposed(turn)
            found = 0.5 * (found + transposed(found))
        return self.asked.rows(self.asked.rows(found, -1), -2)

    def responses(self, q: Array) -> Array:
        """J M⁻¹."""
        found = self._whole("force_responses", q)
        return self.asked.rows(found if self.reference == "local" else self._turn(q) @ found, -2)

    def consistent_inverse(self, q: Array, inertia: Array) -> Array:
        """J̄ = M⁻¹ Jᵀ Λ."""
        asked = self.asked
        if not self._one_kernel(q) or not is_traced(inertia) or inertia.ndim > 2:
            return transposed(self.responses(q)) @ inertia
        size = 6 * len(asked.frames)
        kept = list(range(size) if asked.kept is None else asked.kept)
        seen = np.eye(size) if self.reference == "local" else self._turn(q)
        weights = np.zeros((size, size), dtype=object)
        weights[kept] = numbers(inertia @ seen[kept])
        text = partial(consistent_inverse, weights=weights.tolist())
        return transposed(asked.rows(self._traced("consistent_inverse", text, "responses", q), -2))

    def accelerations(self, q: Array, tau: Array) -> Array:
        """J M⁻¹ τ."""
        if not is_traced(q) and not is_traced(tau):
            return times(self.responses(q), tau)
        free = weightless(self.asked.model)
        return times(self.jacobian(q), forward_dynamics(free, q, np.zeros(free.nv), tau))

    def inertia(self, inverse: Array, damping: Any) -> Array:
        """Λ from Λ⁻¹."""
        if not is_traced(inverse):
            return inverted(self.asked, inverse, float(damping), self.pseudo_inverse)
        size = inverse.shape[-1]
        frames = triples(self.asked, size // 3).frames
        return call(INVERSION.name, self.asked.model, [inverse + damping * np.eye(size)], frames)[0]

    def _one_kernel(self, q: Array) -> bool:
        """Whether a single state of few bodies is being traced."""
        return is_traced(q) and q.ndim == 1 and not looped(self.asked.model)

    def _traced(self, name: str, text: Callable[..., Any], result: str, q: Array) -> Array:
        """The result of a function that is not an algorithm of the catalogue."""
        from linkwork.dynamics.traced import traced_call

        algorithm = Algorithm(name, text, (("q", "configuration"),), (result,))
        return traced_call(algorithm, self.asked.model, [q], self.asked.frames, self.offsets)[0]

    def _whole(self, name: str, *values: Array) -> Array:
        """The result of an algorithm, six rows for each point."""
        asked = self.asked
        table = asked.quick if asked.kept is None else asked.whole
        return call(name, asked.model, values, asked.frames, self.offsets, table)[0]

    def _turn(self, q: Array) -> Array:
        """(6m, 6m): maps motions in the points' own axes to the reference."""
        places = self._whole("frame_placements", q)
        if self.reference == "local_world_aligned":
            places = places * np.array([[1.0, 1.0, 1.0, 0.0]] * 3 + [[0.0, 0.0, 0.0, 1.0]])
        blocks = motion_matrix(places)
        count = len(self.asked.frames)
        rows = []
        for i in range(count):
            nothing = np.zeros_like(blocks[..., i, :, :])
            rows.append(np.concatenate([blocks[..., i, :, :] if i == k else nothing for k in range(count)], axis=-1))
        return np.concatenate(rows, axis=-2)


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

    def at(self, model: Model, points: Frames, method: str, reference: str = "local") -> Answer:
        """The answer for some points, cached."""
        asked = as_frames(model, points)
        if type(method) is type(reference) is str:  # anything else is refused as a choice, whatever it equals
            found: Answer | None = asked.answers.get((self.name, method, reference))
            if found is not None:
                return found
        choice("reference", reference, REFERENCES)
        found = asked.answers[self.name, method, reference] = Answer(self, asked, chosen(asked, method), reference)
        return found


class Answer:
    """A question for some points of a model.

    Attributes:
        law: the kernel, with the points' offsets, if any, as its last argument; None if there is no kernel.
        fixed: those offsets.
    """

    def __init__(self, question: Question, asked: PointSet, method: str, reference: str) -> None:
        self.question, self.asked, self.method, self.reference = question, asked, method, reference
        self.rows = 6 * len(asked.frames) if asked.kept is None else len(asked.kept)
        self.law: CompiledFunction | None = None
        nv, rows = asked.model.nv if question.columns else 0, self.rows
        if rows and within("dense_products", (nv + rows) * rows * rows):
            self.law = self._kept_law()

    def __call__(self, out: Any, *values: ArrayLike, pseudo_inverse: bool = False) -> Any:
        """The array or arrays, for the arguments of a public function."""
        law = self.law
        if law is not None and not pseudo_inverse:
            answer = law.quick(out, *values, *self.asked.fixed)
            if answer is None:
                answer = law.converted(out, *values, *self.asked.fixed)
            if answer is not None:
                return answer
        return self._checked(out, values, pseudo_inverse)

    def _checked(self, out: Any, values: Sequence[ArrayLike], pseudo_inverse: bool) -> Any:
        """The array or arrays for any valid arguments."""
        law, names = self.law, [name for name, _ in self.question.arguments]
        given, batch = as_given(self.asked.model, self.question.arguments, values, finite=False)
        present = [each for each in given if each is not None]
        if any(is_traced(array) for array, _ in present):
            results: Sequence[Array] = self._text([array for array, _ in present], self.asked.offsets, pseudo_inverse)
            return results[0] if len(results) == 1 else tuple(results)
        if law is None or pseudo_inverse or 0 in batch:
            results = self._joined(present, batch, pseudo_inverse)
        else:
            results, _, fine = law.attempt([*(array for array, _ in present), *self.asked.fixed])
            if not fine.all():  # on floats, an error says why there is no result
                for own, other in zip(results, self._joined(present, batch), strict=True):
                    flat = own.reshape(len(fine), -1)
                    flat[~fine] = other.reshape(len(fine), -1)[~fine]
        return put_into(out, *results, apart=dict(zip(names, values, strict=True)))

    def _text(self, values: Sequence[Any], offsets: Sequence[Any], pseudo_inverse: bool = False) -> tuple[Array, ...]:
        return self.question.text(AtPoints(self.asked, self.method, self.reference, offsets, pseudo_inverse), *values)

    def _joined(self, given: Sequence[Given], batch: tuple[int, ...], pseudo_inverse: bool = False) -> Sequence[Array]:
        """The arrays computed on floats, for all states at once."""
        model, arguments = self.asked.model, self.question.arguments
        for (name, space), (array, _) in zip(arguments, given, strict=True):
            check_finite(model, name, space, array)
        spread_out = [spread(array, axes, batch) if axes else array for array, axes in given]
        return self._text(spread_out, self.asked.offsets, pseudo_inverse)

    def _result_shapes(self) -> list[tuple[int, ...]]:
        sizes = {"v": self.asked.model.nv, "r": self.rows}
        return [tuple(sizes[letter] for letter in shape) for shape in self.question.results]

    def _kept_law(self) -> CompiledFunction:
        asked, question, names = self.asked, self.question, [name for name, _ in self.question.arguments]
        shapes = {name: SPACES[space].shape(asked.model, len(asked.frames)) for name, space in question.arguments}

        def text(offsets: Any, **values: Any) -> Any:
            found = self._text([values[name] for name in names], offsets)
            return found if len(found) > 1 else found[0]

        what = self.method, self.reference, asked.kept
        return kernel_at(asked, question.name, text, shapes, self._result_shapes(), *what)
