"""A controller's law for regular states as one kernel.

What changes from call to call comes in as numbers: the state, what references say of a time, gains. So gains and
references may change while a controller is used, and controllers of one structure share their code. States for which
the kernel gives no number, because a task is singular there, are left to the controller's text over floats.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import inf, isfinite
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.arguments import finite_array
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.compiled.law import law
from linkwork.control.references import Reference, Sample, form_of
from linkwork.dynamics.arguments import Array, as_batch, as_frames
from linkwork.engine.mode import current_form
from linkwork.engine.plans import MOST_BODIES
from linkwork.engine.plans.task import moved
from linkwork.errors import LinkworkWarning
from linkwork.model.model import Model, Point

Text = Callable[[Array, Array, list[Sample], list[Array]], Array]
"""(q, v, samples, settings) -> torque (nv,), over traced arrays."""


class ControlLaw:
    """The kernel of a controller, made when it is first asked.

    Args:
        name: of the controller.
        model: the mechanism.
        points: that the text asks about.
        references: that it follows, as they are now.
        settings: the numbers that it uses besides, as they are now: gains, limits.
        text: the law.
        what: the law follows from besides.
    """

    def __init__(
        self,
        name: str,
        model: Model,
        points: Sequence[str | Point],
        references: Callable[[], Sequence[Reference]],
        settings: Callable[[], Sequence[Array]],
        text: Text,
        *what: object,
    ) -> None:
        self.name, self.model, self.points, self.what = name, model, tuple(points), what
        self._references, self._settings, self._text = references, settings, text
        self._law: CompiledFunction | None = None
        self._followed: tuple[Reference, ...] = ()
        self._forms: list[type[Reference]] = []
        self._sizes: list[int] = []
        self._pieces: tuple[float, float, Array] = inf, -inf, np.empty(0)
        self.exists = len(model.bodies) <= MOST_BODIES

    def torque(self, t: float, q: Array, v: Array) -> Array | None:
        """Joint forces (nv,) in one state, of plain arrays; None for what is not served at once."""
        found = self._now(t)
        if found is None:
            return None
        law, pieces, settings = found
        answer: Array | None = law.quick(None, np.array(t, dtype=np.float64), q, v, pieces, settings)
        return answer if answer is None or answer.ndim == 1 else None

    def attempt(self, t: float, q: Array, v: Array) -> Array | None:
        """The same for checked arguments; None where there is no kernel, or the state is singular."""
        found = self._now(t) if current_form() != "rolled" else None
        if found is None:
            return None
        law, pieces, settings = found
        (torque,), _, fine = law.attempt([np.array(t, dtype=np.float64), q, v, pieces, settings])
        return torque if fine.all() else None

    def attempts(self, t: Array, q: Array, v: Array) -> tuple[Array, NDArray[np.bool_]] | None:
        """The same for a batch of states (..., nv) and of times, and for which of them (flat) it is regular."""
        found = self._now(0.0) if current_form() != "rolled" else None
        if found is None:
            return None
        law, _, settings = found
        parts = [form._pieces(one, t) for form, one in zip(self._forms, self._followed, strict=True)]
        if [part.shape[-1] for part in parts] != self._sizes:
            return None
        leading = t.shape if any(part.ndim > 1 for part in parts) else ()
        spread = [np.broadcast_to(part, (*leading, part.shape[-1])) for part in parts]
        pieces = np.concatenate([*spread, np.empty((*leading, 0))], axis=-1)
        (torques,), _, fine = law.attempt([t, q, v, pieces, settings])
        return torques, fine

    def _now(self, t: float) -> tuple[CompiledFunction, Array, Array] | None:
        """The kernel, and what it takes besides the state."""
        if not self.exists or not isfinite(t):
            return None
        followed, law = self._references(), self._law
        for new, old in zip(followed, self._followed, strict=False):
            if new is not old:
                law = None
        if law is None:
            law = self._made(tuple(followed))
        begin, end, pieces = self._pieces
        if not begin <= t < end:
            parts = [form._piece(one, t) for form, one in zip(self._forms, followed, strict=True)]
            if [part.size for part in parts] != self._sizes:
                return None
            spans = [form._holds(one, t) for form, one in zip(self._forms, followed, strict=True)]
            pieces = np.concatenate([*parts, np.empty(0)])
            self._pieces = max(span[0] for span in spans), min(span[1] for span in spans), pieces
        settings = np.concatenate(self._settings())
        if settings.shape != law.shapes["settings"]:
            return None
        return law, pieces, settings

    def _made(self, followed: tuple[Reference, ...]) -> CompiledFunction:
        """The kernel for references of these kinds."""
        model, settings = self.model, [np.asarray(each) for each in self._settings()]
        self._followed, self._forms = followed, [form_of(one) for one in followed]
        self._sizes = [form._size(one) for form, one in zip(self._forms, followed, strict=True)]
        self._pieces = inf, -inf, np.empty(0)
        kinds = [form._kind(one) for form, one in zip(self._forms, followed, strict=True)]
        lengths = [each.size for each in settings]
        shapes = {
            "t": (),
            "q": (model.nq,),
            "v": (model.nv,),
            "pieces": (sum(self._sizes),),
            "settings": (sum(lengths),),
        }
        forms, sizes, text = self._forms, self._sizes, self._text

        def whole(t: Any, q: Any, v: Any, pieces: Any, settings: Any) -> Any:
            samples = [
                form._sample(one, t, piece)
                for form, one, piece in zip(forms, followed, _cut(pieces, sizes), strict=True)
            ]
            return text(q, v, samples, _cut(settings, lengths))

        known = model._memo.laws
        key = (self.name, self.points, tuple(kinds), tuple(lengths), self.what)
        if key not in known:
            asked = as_frames(model, self.points)
            frames = moved(asked.frames, asked.offsets)
            known[key] = law(self.name, whole, shapes, [(model.nv,)], model, frames, kinds, lengths, *self.what)
        found: CompiledFunction = known[key]
        self._law = found
        return found


class _Controller(Protocol):
    model: Model

    def torque(self, t: float, q: ArrayLike, v: ArrayLike) -> Array: ...


def states_torques(law: ControlLaw | None, controller: _Controller, t: ArrayLike, q: ArrayLike, v: ArrayLike) -> Array:
    """Joint forces (..., nv) for a batch of states; those that the law leaves one by one."""
    model = controller.model
    times = finite_array("t", t)
    spaces = (("q", "configuration"), ("v", "velocity"), ("t", "scalar"))
    (here, speed, moments), batch = as_batch(model, spaces, (q, v, times))
    assert here is not None and speed is not None and moments is not None
    torques, fine = np.empty((*batch, model.nv)), np.zeros(batch, dtype=bool)
    found = law.attempts(times, here, speed) if law is not None and fine.size else None
    if found is not None:
        torques, fine = found[0], found[1].reshape(batch)
    for where in np.argwhere(~fine):
        state = tuple(where.tolist())
        torques[state] = controller.torque(float(moments[state]), here[state], speed[state])
    return torques


def _cut(array: Any, sizes: Sequence[int]) -> list[Any]:
    """An array in parts of these sizes."""
    ends = np.cumsum([0, *sizes]).tolist()
    return [array[begin:end] for begin, end in pairwise(ends)]


def warn_of_motors(name: str, model: Model, driven: NDArray[np.bool_]) -> None:
    """Say which joints are commanded and have no motor."""
    idle = driven & ~model.actuated
    if idle.any():
        joints = [
            body.joint_name
            for body, start in zip(model.bodies, model.v_start, strict=True)
            if idle[start : start + body.joint.nv].any()
        ]
        shown = ", ".join(map(repr, joints[:5])) + (", ..." if len(joints) > 5 else "")
        warnings.warn(
            f"{name} commands {shown} of model {model.name!r}, which has no motor (model.actuated): a simulation will "
            f"hold it up by forces that the machine does not have",
            LinkworkWarning,
            stacklevel=3,
        )


def limited(torque: Any, compensation: Any, limiting: str, most: Any) -> Any:
    """What ``TorqueLimits`` does, over traced arrays."""
    if limiting == "none":
        return torque
    if limiting == "clip":
        return np.clip(torque, -most, most)
    held = np.clip(compensation, -most, most)
    extra = torque - held
    size = np.abs(extra)
    room = np.where(extra > 0.0, most - held, most + held)
    share = np.where(size > 0.0, room / np.where(size > 0.0, size, 1.0), 1.0)
    factor = np.minimum(1.0, np.min(share))
    return np.where(np.all(np.abs(torque) <= most), torque, held + factor * extra)
