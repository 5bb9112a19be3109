"""Steps of ``lw.rollout`` and ``lw.simulate`` beside MuJoCo's: the same scheme, forces and states, on one thread."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from linkwork import (
    CompiledFunction,
    LinkworkWarning,
    Model,
    Rollout,
    Trajectory,
    compile,
    difference,
    neutral,
    rollout,
    set_threads,
    simulate,
)
from linkwork_lab.bench.cases import STEP, States
from linkwork_lab.bench.contest import Array, Contestant, contest
from linkwork_lab.bench.machine import resident_memory
from linkwork_lab.bench.peers import Factory, among
from linkwork_lab.bench.subjects import Subject

LONGER = 50
"""The ratio of the steps of a simulation to those of a rollout: for a few, machine code would not pay off."""
_UNDAMPED: dict[str, Any] = {"damping": False, "friction": False, "springs": False, "constraints": ()}
"""The model without damping, friction, springs and constraints, as the other libraries have it."""


@contextmanager
def _as_measured() -> Iterator[None]:
    """On one thread; without warnings of joints that leave their range, since there are no stops on purpose."""
    set_threads(1)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "prismatic joint", LinkworkWarning)
            yield
    finally:
        set_threads(None)


def measure_rollout(
    subject: Subject, available: dict[str, Factory], rounds: int, trajectories: int, steps: int, memory: int
) -> dict[str, Any]:
    """The time of a step, on a fixed base, without damping or limits: with every state kept, with only the last, with a
    law and a cost and no state kept; in model-predictive path integral control; and in one simulation, by both
    integrators, and with a law.
    """
    model = replace(subject, floating_base=False).model
    states = States.random(model, trajectories)
    tau = 0.1 * np.random.default_rng(1).normal(size=(trajectories, steps, model.nv))
    row: dict[str, Any] = {"name": subject.name, "nv": model.nv, "trajectories": trajectories, "steps": steps}
    measured: dict[str, tuple[Contestant, dict[str, Contestant]]] = {"law": (_with_law(states, steps), {})}
    with _as_measured():
        for kind, every, rows in (("each", 1, slice(None)), ("last", steps, slice(-1, None))):
            measured[kind] = (
                _ours(states, tau, every),
                _rivals(available, states, tau, partial(_flat, chosen=rows)),
            )
        measured["mppi"] = _mppi(states, tau, available)
        for kind in ("semi_implicit_euler", "runge_kutta_4", "simulated_law"):
            measured[kind] = _simulation(states.first(1), tau[0, 0], kind, available, LONGER * steps)
        for kind, contestants in measured.items():
            best, others = contest(*contestants, rounds, 0.0)
            row[kind] = {"seconds": best, "peers": others}
    row["memory"] = _growth(states.first(16), memory) if memory else None
    return row


def _ours(states: States, tau: Array, every: int) -> Contestant:
    model, q, v = states.model, states.fields["q"], states.fields["v"]
    options: dict[str, Any] = {"dt": STEP, "record": every, "effort_limits": False, **_UNDAMPED}
    earlier = rollout(model, q, v, tau, **options)

    def function() -> Rollout:
        return rollout(model, q, v, tau, **options, out=earlier)  # into memory of an earlier call, as MuJoCo does

    def answer(raw: Any, _: int) -> Array:
        return np.concatenate([raw.q[:, 1:], raw.v[:, 1:]], axis=-1).ravel()

    return Contestant("lw.rollout", function, [()], tau.shape[0] * tau.shape[1], answer)


def _laws(model: Model) -> tuple[CompiledFunction, CompiledFunction]:
    """A spring to the rest position with damping, and its cost."""
    sizes = {"t": (), "q": model.nq, "v": model.nv}

    def law(t: Any, q: Any, v: Any, gain: Any) -> Any:
        return -gain * difference(model, neutral(model), q) - 0.1 * v

    def cost(t: Any, q: Any, v: Any, tau: Any) -> Any:
        return v @ v + 0.01 * (tau @ tau)

    return compile(law, **sizes, gain=()), compile(cost, **sizes, tau=model.nv)


def _with_law(states: States, steps: int) -> Contestant:
    """A rollout as in sampling-based control."""
    model, q, v = states.model, states.fields["q"], states.fields["v"]
    law, cost = _laws(model)
    options: dict[str, Any] = {"torque": law, "parameters": (1.0,), "cost": cost, "record": 0, "steps": steps}

    def function() -> Rollout:
        return rollout(model, q, v, dt=STEP, effort_limits=False, **options, **_UNDAMPED)

    return Contestant("lw.rollout", function, [()], len(q) * steps, lambda raw, _: raw.cost.ravel())


def _mppi(states: States, tau: Array, available: dict[str, Factory]) -> tuple[Contestant, dict[str, Contestant]]:
    """A step of model-predictive path integral control: sampled forces from one state on, averaged with weights by
    their cost. MuJoCo's rollout keeps every state, and NumPy computes the cost.
    """
    model, start = states.model, states.first(1).repeated(len(tau))
    q, v = start.fields["q"], start.fields["v"]
    cost = _laws(model)[1]
    options: dict[str, Any] = {"dt": STEP, "record": 0, "effort_limits": False, "cost": cost, **_UNDAMPED}

    def plan(costs: Array) -> Array:
        weights = np.exp(-(costs - costs.min()) / (costs.max() - costs.min() + 1e-300))
        return np.tensordot(weights / weights.sum(), tau, 1)

    def function() -> Array:
        costs = rollout(model, q, v, tau, **options).cost
        assert costs is not None
        return plan(costs)

    rivals = {}
    for name, rival in _rivals(available, start, tau, np.asarray).items():

        def theirs(rival: Contestant = rival) -> Array:
            after = rival.answer(rival.function(), 0)[:, :-1, model.nq :]
            speeds = np.concatenate([v[:, None], after], axis=1)
            return plan(np.einsum("nti,nti->n", speeds, speeds) + 0.01 * np.einsum("nti,nti->n", tau, tau))

        rivals[name] = Contestant(f"{rival.how}, NumPy", theirs, [()], rival.states)
    return Contestant("lw.rollout", function, [()], tau.shape[0] * tau.shape[1]), rivals


def _simulation(
    states: States, tau: Array, kind: str, available: dict[str, Factory], steps: int
) -> tuple[Contestant, dict[str, Contestant]]:
    """One simulation of which the last state is kept, with constant forces, or with a law."""
    model, q, v = states.model, states.fields["q"][0], states.fields["v"][0]
    by_law = kind == "simulated_law"
    integrator = "semi_implicit_euler" if by_law else kind
    driven: dict[str, Any] = {"torque": _laws(model)[0], "parameters": (1.0,)} if by_law else {"tau": tau}

    def function() -> Trajectory:
        options: dict[str, Any] = {"integrator": integrator, "record": steps, "effort_limits": False}
        return simulate(model, q, v, steps * STEP, STEP, **options, **driven, **_UNDAMPED)

    def answer(raw: Any, _: int) -> Array:
        return np.concatenate([raw.q[-1], raw.v[-1]])

    rivals = (
        {} if by_law else _peers(available, model, lambda peer: peer.simulation(states, tau, STEP, steps, integrator))
    )
    return Contestant("lw.simulate", function, [()], steps, answer), rivals


def _flat(raw: Array, chosen: slice) -> Array:
    return raw[:, chosen].ravel()


def _rivals(
    available: dict[str, Factory], states: States, tau: Array, answer: Callable[[Array], Array]
) -> dict[str, Contestant]:
    """Libraries with a rollout function; ``answer`` takes its states (trajectories, steps, nq + nv)."""
    return _peers(available, states.model, lambda peer: peer.rollout(states, tau, STEP, answer))


def _peers(
    available: dict[str, Factory], model: Model, contestant: Callable[[Any], Contestant | None]
) -> dict[str, Contestant]:
    """Those that can step this model."""
    peers, _ = among(available, lambda _, factory: factory(model))
    rivals = {name: contestant(peer) for name, peer in peers.items() if name == "mujoco"}
    return {name: rival for name, rival in rivals.items() if rival is not None}


def _growth(states: States, steps: int) -> dict[str, Any]:
    """Resident memory before and after very many steps, with damping, so that they remain finite."""
    model, q, v = states.model, states.fields["q"], states.fields["v"]
    rollout(model, q, v, dt=STEP, steps=1000, record=1000, damping=1.0, constraints=())
    before = resident_memory()
    end = rollout(model, q, v, dt=STEP, steps=steps, record=steps, damping=1.0, constraints=())
    return {"steps": steps, "before": before, "after": resident_memory(), "finite": bool(np.isfinite(end.q).all())}
