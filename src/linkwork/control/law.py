"""The control law of a controller for regular states, as one kernel.

Whatever changes from call to call is passed as numbers: the state, the references at a time, gains. So gains and
references may change while a controller is in use, and controllers of the same structure share their code. Each call
checks whether any of them has been replaced, and passes the arrays themselves to the code. States for which the kernel
gives NaN, because a task is singular there, are computed by the controller's law over floats.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.arguments import finite_array, memory_for, real
from linkwork.batches import put_into
from linkwork.compiled.arrays import TracedArray
from linkwork.control.goals import one_state
from linkwork.control.references import Reference, Sample, form_of
from linkwork.dynamics.arguments import Array, as_batch, as_frames
from linkwork.engine.mode import current_form
from linkwork.engine.plans.task import moved
from linkwork.errors import TracingError, warn_caller
from linkwork.model.model import Model, Point
from linkwork.properties import cached_property

if TYPE_CHECKING:
    from linkwork.compiled.compiled_function import CompiledFunction

_MOST_RUNS = 16
"""The most runs of states, each in a time interval of its own, in a batch that are computed separately."""
Text = Callable[[Array, Array, list[Sample], list[Array]], Array]
"""(q, v, samples, settings) -> torque (nv,), over traced arrays."""
Places = Sequence[tuple[object, str]]
"""Objects and the names of their attributes."""


class _Kernel(NamedTuple):
    """The kernel with its arguments besides the state: numbers of the references, and settings. They are valid from
    ``begin`` until ``end`` (not included), as long as the ``watched`` attributes are the same objects. It is replaced
    as a whole, since threads may share a controller.
    """

    begin: float
    end: float
    law: Any
    numbers: tuple[Array, ...]
    watched: list[tuple[object, str, Any]]


_NOTHING = _Kernel(inf, -inf, None, (), [])


class ControlLaw:
    """The kernel of a controller, made when it is first called.

    Args:
        name: of the controller.
        model: the mechanism.
        points: those whose kinematics the law uses.
        references: the attributes that are references.
        settings: the attributes that are other numbers: gains, limits.
        owners: the attributes that are objects with some of these.
        text: the law, a traceable function.
        what: all else that the law depends on.
    """

    def __init__(
        self,
        name: str,
        model: Model,
        points: Sequence[str | Point],
        references: Places,
        settings: Callable[[], Places],
        owners: Places,
        text: Text,
        *what: object,
    ) -> None:
        self.name, self.model, self.points, self.what = name, model, tuple(points), what
        self._references, self._settings, self._owners, self._text = references, settings, owners, text
        self._law: CompiledFunction | None = None
        self._followed: list[tuple[type[Reference], Reference]] = []
        self._sizes: list[int] = []
        self._kernel = _NOTHING

    def served(self, t: float | Array, q: Array, v: Array, out: Array | None = None) -> Array | None:
        """Joint forces (..., nv) in one state or a batch, at one time or at several of one interval; None where the
        kernel does not serve them directly.
        """
        begin, end, law, numbers, watched = self._kernel
        if law is not None and (begin <= t < end if type(t) is float else begin == -end == -inf):
            for owner, name, value in watched:
                if getattr(owner, name) is not value:
                    break
            else:
                torque: Array | None = law.quick(out, t, q, v, *numbers)
                return law.converted(out, t, q, v, *numbers) if torque is None else torque
        times = np.asarray(t, dtype=np.float64)
        kernel = self._now(float(times.min(initial=inf)))
        if kernel is None or (times.ndim and not float(times.max(initial=-inf)) < kernel.end):
            return None
        return kernel.law.served(out, t, q, v, *kernel.numbers)

    def attempt(self, t: float, q: Array, v: Array) -> Array | None:
        """The same for one state, of checked arguments; None where there is no kernel, or the state is singular."""
        kernel = self._now(t) if current_form() != "rolled" else None
        if kernel is None:
            return None
        (torque,), _, fine = kernel.law.attempt([np.array(t, dtype=np.float64), q, v, *kernel.numbers])
        return torque if fine.all() else None

    def traced(self, t: Any, q: Any, v: Any) -> Array:
        """Joint forces while a function is traced: the law becomes a part of it. A singular state gives NaN."""
        moment = 0.0 if isinstance(t, TracedArray) else real(t)
        kernel = self._now(moment)
        if kernel is None:
            raise TracingError(f"{self.name}: t must be a finite time (s)")
        if isinstance(t, TracedArray) and kernel[:2] != (-inf, inf):
            raise TracingError(
                f"{self.name} follows a reference of several stretches of time, or of the user's own, which a traced "
                f"time cannot choose; pass a reference of one stretch, or the time as a number"
            )
        return kernel.law(t, q, v, *kernel.numbers)

    def attempts(self, t: Array, q: Array, v: Array) -> tuple[Array, NDArray[np.bool_]] | None:
        """The same for states (..., nq) and (..., nv) and times () or (...), and which of them are regular."""
        kernel = self._now(0.0) if current_form() != "rolled" else None
        if kernel is None:
            return None
        settings, moments = kernel.numbers[1:], t.ravel()
        codes = self._stretches(moments)
        runs = np.concatenate([[0], 1 + np.flatnonzero(codes[1:] != codes[:-1]), [len(codes)]])
        in_runs = t.ndim == 1 and len(runs) - 1 <= _MOST_RUNS
        _, firsts, groups = (None, runs[:-1], codes) if in_runs else np.unique(codes, True, True)
        pieces = [self._pieces(at) for at in moments[firsts].tolist()]
        parts = [part for part in pieces if part is not None]
        if len(parts) < len(pieces):
            return None
        if in_runs and len(parts) > 1:  # numbers that many states share are not copied for each
            return self._in_runs(kernel.law, (t, q, v), runs.tolist(), parts, settings)
        each = parts[0] if len(parts) == 1 else np.array(parts)[groups].reshape((*t.shape, -1))
        (torques,), _, flat = kernel.law.attempt([t, q, v, each, *settings])
        return torques, flat.reshape(q.shape[:-1])

    def _stretches(self, moments: Array) -> NDArray[np.intp]:
        """A number for each time, equal for times at which all references have the same numbers."""
        codes = np.zeros(len(moments), dtype=np.intp)
        for form, one in self._followed:
            code = form._stretches(one, moments)
            if code is not None:
                codes = codes * (1 + int(code.max())) + code
        return codes

    def _in_runs(
        self, law: CompiledFunction, states: Sequence[Array], runs: Sequence[int], parts: Sequence[Array],
        settings: tuple[Array, ...],
    ) -> tuple[Array, NDArray[np.bool_]]:  # fmt: skip
        """Joint forces of states whose numbers of the references differ from run to run; which are regular."""
        torques, fine = np.empty((len(states[1]), self.model.nv)), np.ones(len(states[1]), dtype=bool)
        for (first, last), part in zip(pairwise(runs), parts, strict=True):
            inputs = (*(each[first:last] for each in states), part, *settings)
            if current_form() != "auto" or law.served(torques[first:last], *inputs) is None:
                (torques[first:last],), _, fine[first:last] = law.attempt(inputs)
        return torques, fine

    def _now(self, t: float) -> _Kernel | None:
        """The kernel and its arguments at this time."""
        if not isfinite(t):
            return None
        places = [*self._references, *self._settings(), *self._owners]
        watched = [(owner, name, getattr(owner, name)) for owner, name in places]
        values = [value for _, _, value in watched[: len(watched) - len(self._owners)]]
        references, settings = values[: len(self._references)], values[len(self._references) :]
        law = self._law
        if law is None or any(new is not old for new, (_, old) in zip(references, self._followed, strict=True)):
            law = self._made(references, [np.asarray(each) for each in settings])
        if [np.shape(each) for each in settings] != list(law.shapes.values())[_BEFORE_SETTINGS:]:
            return None
        begin, end, _, numbers, _ = self._kernel
        if begin <= t < end:
            pieces = numbers[0]
        else:
            new = self._pieces(t)
            if new is None:
                return None
            begins, ends = zip(*(form._holds(one, t) for form, one in self._followed), strict=True)
            pieces, begin, end = new, max(begins), min(ends)
        self._kernel = kernel = _Kernel(begin, end, law, (pieces, *settings), watched)
        return kernel

    def _pieces(self, t: float) -> Array | None:
        """The numbers of all references at this time; None if one of them has others than those of the kernel."""
        parts = [form._piece(one, t) for form, one in self._followed]
        return np.concatenate([*parts, np.empty(0)]) if [part.size for part in parts] == self._sizes else None

    def _made(self, references: list[Reference], settings: list[Array]) -> CompiledFunction:
        """The kernel for references of these kinds, and this number of settings."""
        from linkwork.compiled.law import law

        model = self.model
        self._followed = followed = [(form_of(one), one) for one in references]
        self._sizes = sizes = [form._size(one) for form, one in followed]
        self._kernel = _NOTHING
        kinds = [form._kind(one) for form, one in followed]
        lengths = [each.size for each in settings]
        shapes = {"t": (), "q": (model.nq,), "v": (model.nv,), "pieces": (sum(sizes),)}
        shapes |= {name: (length,) for name, length in zip(self._names(), lengths, strict=True)}
        text = self._text

        def whole(t: Any, q: Any, v: Any, pieces: Any, **settings: Any) -> Any:
            parts = zip(followed, _cut(pieces, sizes), strict=True)
            return text(q, v, [form._sample(one, t, part) for (form, one), part in parts], list(settings.values()))

        laws = model._memo.laws
        key = (self.name, self.points, tuple(kinds), tuple(lengths), self.what)
        if key not in laws:
            at = as_frames(model, self.points)
            frames = moved(at.frames, at.offsets)
            laws[key] = law(self.name, whole, shapes, [(model.nv,)], model, frames, kinds, lengths, *self.what)
        self._law = kernel = cast("CompiledFunction", laws[key])
        return kernel

    def _names(self) -> list[str]:
        """Names of the settings in errors: "kp" of the controller, "task.kp" of a task, "task2.kp" of the next."""
        found: list[str] = []
        for owner, attribute in self._settings():
            name, of = attribute.lstrip("_"), type(owner).__name__.lower()
            names = (f"{of}{k or ''}.{name}" for k in (0, *range(2, 2 + len(found))))
            own = [name] if of == self.name.lower() else []
            found.append(next(one for one in (*own, *names) if one not in found))
        return found


_BEFORE_SETTINGS = 4
"""The number of arguments of the kernel before the settings: t, q, v and the references' numbers."""


class CompiledController(ABC):
    """A controller whose law for regular states is one kernel; other states are computed over floats."""

    model: Model

    @cached_property
    def _law(self) -> ControlLaw | None:
        return self._compiled_law()

    @abstractmethod
    def _compiled_law(self) -> ControlLaw | None:
        """The kernel; None if a part of the law is user-defined."""

    @abstractmethod
    def _by_floats(self, t: float, q: Array, v: Array) -> Array:
        """Joint forces (nv,) in any one state, of checked arguments."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_law"}

    def torque(self, t: float, q: ArrayLike, v: ArrayLike) -> Array:
        """Joint forces (nv,), N or N m, at time t (s) in the state q (nq,), v (nv,)."""
        law = self._law
        if type(q) is TracedArray or type(v) is TracedArray:
            if law is None:
                raise TracingError(f"this {type(self).__name__} has no compiled law, so it cannot be traced")
            return law.traced(t, q, v)
        found = None if law is None else law.served(t if type(t) is float else real(t), q, v)  # type: ignore[arg-type]
        if found is not None and found.ndim == 1:
            return found
        here, speed = one_state(self.model, q, v)
        found = None if law is None else law.attempt(real(t), here, speed)
        return self._by_floats(t, here, speed) if found is None else found

    def torques(self, t: ArrayLike, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array:
        """Joint forces (..., nv), N or N m, for a batch of times t (...), s, and states q (..., nq), v (..., nv).

        They are written into ``out`` if that is given.
        """
        model, law = self.model, self._law
        times: Any = t if type(t) is float and isfinite(t) else finite_array("t", t)
        if law is not None:
            served = law.served(times, q, v, out)  # type: ignore[arg-type]
            if served is not None:
                return served
        times = np.asarray(times)
        spaces = (("q", "configuration"), ("v", "velocity"), ("t", "scalar"))
        (here, speed, moments), batch = as_batch(model, spaces, (q, v, times))
        assert here is not None and speed is not None and moments is not None
        with memory_for("torques", (*batch, model.nv)):
            found = None
            if law is not None and 0 not in batch:
                found = law.attempts(moments if times.ndim else times, here, speed)
            torques, fine = found or (np.empty((*batch, model.nv)), np.zeros(batch, dtype=bool))
        for where in np.argwhere(~fine):
            state = tuple(where.tolist())
            torques[state] = self._by_floats(float(moments[state]), here[state], speed[state])
        return put_into(out, torques, apart={"t": t, "q": q, "v": v})


def _cut(array: Any, sizes: Sequence[int]) -> list[Any]:
    """An array split into parts of these sizes."""
    ends = np.cumsum([0, *sizes]).tolist()
    return [array[begin:end] for begin, end in pairwise(ends)]


def warn_of_motors(name: str, model: Model, driven: NDArray[np.bool_]) -> None:
    """Warn of joints that are commanded and have no motor."""
    idle = driven & ~model.actuated
    if idle.any():
        joints = [
            body.joint_name
            for body, start in zip(model.bodies, model.v_start, strict=True)
            if idle[start : start + body.joint.nv].any()
        ]
        shown = ", ".join(map(repr, joints[:5])) + (", ..." if len(joints) > 5 else "")
        warn_caller(
            f"{name} commands {shown} of model {model.name!r}, which has no motor (model.actuated): a simulation will "
            f"hold it up by forces that the machine does not have"
        )
