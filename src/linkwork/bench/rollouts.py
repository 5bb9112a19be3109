"""Steps of ``lw.rollout`` beside those of MuJoCo's rollout: the same scheme, forces and states, on one thread."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.bench.cases import States
from linkwork.bench.contest import Array, Contestant, UnavailableError, contest
from linkwork.bench.machine import resident_memory
from linkwork.bench.peers import Factory
from linkwork.bench.subjects import Subject
from linkwork.engine.run.threads import set_threads
from linkwork.simulation import Rollout, rollout

STEP = 1e-4
"""Seconds: short enough for the light fingers of a random robot."""


def measure_rollout(
    subject: Subject, available: dict[str, Factory], rounds: int, trajectories: int, steps: int, memory: int
) -> dict[str, Any]:
    """The time of a step, on a fixed base, without damping or limits: every state kept, and the last one only."""
    model = replace(subject, floating_base=False).model
    states = States.random(model, trajectories)
    tau = 0.1 * np.random.default_rng(1).normal(size=(trajectories, steps, model.nv))
    row: dict[str, Any] = {"name": subject.name, "nv": model.nv, "trajectories": trajectories, "steps": steps}
    set_threads(1)
    try:
        for kind, every in (("each", 1), ("last", steps)):
            mine = _ours(states, tau, every)
            best, others = contest(mine, _rivals(available, states, tau, kind), rounds, 0.0)
            row[kind] = {"seconds": best, "peers": others}
    finally:
        set_threads(None)
    row["memory"] = _growth(states.first(16), memory) if memory else None
    return row


def _ours(states: States, tau: Array, every: int) -> Contestant:
    model, q, v = states.model, states.fields["q"], states.fields["v"]
    options: dict[str, Any] = {"dt": STEP, "record": every, "damping": False, "friction": False, "effort_limits": False}
    earlier = rollout(model, q, v, tau, **options)

    def function() -> Rollout:
        return rollout(model, q, v, tau, **options, out=earlier)  # into memory of an earlier call, as MuJoCo does

    def answer(raw: Any, _: int) -> Array:
        return np.concatenate([raw.q[:, 1:], raw.v[:, 1:]], axis=-1).ravel()

    return Contestant("lw.rollout", function, [()], tau.shape[0] * tau.shape[1], answer)


def _rivals(available: dict[str, Factory], states: States, tau: Array, kind: str) -> dict[str, Contestant]:
    """Libraries that have a rollout."""
    chosen = slice(None) if kind == "each" else slice(-1, None)
    found = {}
    for name, factory in available.items():
        try:
            peer: Any = factory(states.model)
        except UnavailableError:
            continue
        rival = peer.rollout(states, tau, STEP, lambda raw: raw[:, chosen].ravel()) if name == "mujoco" else None
        if rival is not None:
            found[name] = rival
    return found


def _growth(states: States, steps: int) -> dict[str, Any]:
    """Resident memory before and after very many steps, damped, so that they stay finite."""
    model, q, v = states.model, states.fields["q"], states.fields["v"]
    rollout(model, q, v, dt=STEP, steps=1000, record=1000, damping=1.0)
    before = resident_memory()
    end = rollout(model, q, v, dt=STEP, steps=steps, record=steps, damping=1.0)
    return {"steps": steps, "before": before, "after": resident_memory(), "finite": bool(np.isfinite(end.q).all())}
