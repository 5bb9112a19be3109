"""Calls of ``lw.linearise`` that code of an earlier call serves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any

import numpy as np

from linkwork.batches import all_converted
from linkwork.dynamics.arguments import Array
from linkwork.dynamics.held import held_by
from linkwork.engine.mode import current_form
from linkwork.engine.run.entries import Serve
from linkwork.model.constraints import Constraint
from linkwork.model.model import Model
from linkwork.simulation.arguments import without_effort
from linkwork.simulation.jobs import Job

Code = tuple[Serve, Sequence[str], Mapping[str, Array]]
"""The builtin that serves plain arrays, the names of its arguments, and those that are no part of the step."""


class Served:
    """Serves plain arrays, or returns None, with all arguments but q, v, tau, dt and the drive as in a job."""

    def __init__(self, job: Job, code: Serve, names: Sequence[str], others: Mapping[str, Array]) -> None:
        same: dict[str, Any] = {name: array[0, 0].copy() for name, array in job.parts.items()}
        same |= {**others, "q": None, "v": None, "tau": np.zeros(job.model.nv)}
        self._code, self._names = code, names
        self._first = [names.index(name) for name in ("q", "v", "tau", "dt")]
        self._fixed = [same[name] for name in names]

    def __call__(self, out: Any, q: Any, v: Any, tau: Any, dt: float, drive: Mapping[str, Any]) -> Any:
        values, (at_q, at_v, at_tau, at_dt) = self._fixed.copy(), self._first
        values[at_q], values[at_v], values[at_dt] = q, v, dt
        if tau is not None:
            values[at_tau] = tau
        for name in drive:
            values[self._names.index(name)] = drive[name]
        return self._code(out, *values)


NOTHING: Mapping[str, Any] = {}


Known = tuple[dict[Any, Any], tuple[Any, ...], Mapping[str, Array]]
"""What identifies a step with nothing but the model's own parameters, some of them switched off, and its drive: where
its code is kept, by which key, and the rows of the drive.
"""
_DRIVES = ("q_target", "kp", "v_target", "kd", "f_ext")
_BOOLS, _NONE = frozenset((bool,)), frozenset((NoneType,))
_HUGE = 1e300
"""An integer from here on may be no float64."""


def known_step(
    model: Model,
    undriven: bool,
    dt: float,
    switches: tuple[Any, ...],
    settings: tuple[Any, ...],
    drives: tuple[Any, ...],
    others: tuple[Any, ...],
) -> Known | None:
    """Such a step; None for others."""
    if not (_NONE.issuperset(map(type, others)) and _BOOLS.issuperset(map(type, switches))):
        return None
    drive: Mapping[str, Array] | None = NOTHING
    if not _NONE.issuperset(map(type, drives)):
        drive = _rows(model, {name: x for name, x in zip(_DRIVES, drives, strict=True) if x is not None})
    place = _place(model, settings, dt)
    if drive is None or place is None:
        return None
    return place[0], ("linearise", undriven, switches, *drive, *place[1]), drive


def _place(model: Model, settings: tuple[Any, ...], dt: float) -> tuple[dict[Any, Any], tuple[Any, ...]] | None:
    """Where the code of a step with such constraints is kept, and what its key has of them; None for others."""
    constraints, stabilisation, proximal = settings
    if type(proximal) is not float or proximal:
        return None
    if constraints is None and not model.constraints:
        return (model._memo.derived, ()) if stabilisation is None else None
    if not isinstance(constraints, (NoneType, list, tuple, Constraint)) or type(stabilisation) not in (NoneType, float):
        return None
    if not constraints and stabilisation is not None:
        return None
    memo = held_by(model, constraints).quick if constraints else model._memo.derived
    return memo, (stabilisation, dt)  # the time step is a constant in the code that stabilises


def _rows(model: Model, given: Mapping[str, Any]) -> dict[str, Array] | None:
    """The given targets, gains and external forces as rows that all states share, as code takes them; None if they must
    be checked and broadcast first.
    """
    found: dict[str, Array] = {}
    for name, value in given.items():
        if type(value) in (float, int, np.float64) and name in ("kp", "kd") and abs(value) < _HUGE:
            found[name] = np.full(model.nv, value, dtype=np.float64)
        elif type(value) is np.ndarray and value.dtype == np.float64 and value.ndim == 1 + (name == "f_ext"):
            found[name] = value
        else:
            return None
    complete = ("q_target" in found) == ("kp" in found) and ("kd" in found or "v_target" not in found)
    return found if complete else None


def recalled(known: Known, out: Any, q: Any, v: Any, tau: Any, dt: float) -> Any:
    """The result by code of an earlier call; None if there is none, or if it cannot take these arrays."""
    memo, key, drive = known
    served = memo.get(key)
    if served is None:
        return None
    answer = served(out, q, v, tau, dt, drive)
    return served(out, *all_converted((q, v, tau), out), dt, drive) if answer is None else answer


def remember(known: Known, job: Job, code: Code, forced: bool) -> None:
    """Let this code serve such calls from now on, if they need no other checks; ``forced`` says whether they have
    driving forces.
    """
    memo, key, drive = known
    if current_form() == "auto" and len(job) and not (without_effort(job.model) and (drive or forced)):
        memo[key] = Served(job, *code)
