"""Forward dynamics of a mechanism by every method: ours, Pinocchio's in both its conventions, MuJoCo's."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from linkwork import Model, forward_dynamics
from linkwork.algorithms import ALGORITHMS
from linkwork_lab.bench import peers
from linkwork_lab.bench.cases import Case, States
from linkwork_lab.reproduce.rounding import Array, Method, by_form

OURS = ("articulated_body", "virtual_work", "constraint_force", "assembly", "composite_body", "unit_vector")
CONVENTIONS = ("WORLD", "LOCAL")
METHODS = (*OURS, *(f"pin {convention}" for convention in CONVENTIONS), "mujoco")
_FORWARD = Case("forward_dynamics", ("q", "v", "tau"), forward_dynamics)


def methods(model: Model) -> dict[str, Method]:
    """Those that can be run on a mechanism, in the order of ``METHODS``; of libraries those that can hold it."""
    runs = {name: by_form(ALGORITHMS[name], model) for name in OURS}
    factories, _ = peers.factories([*peers.NAMES])
    created, _ = peers.among(factories, lambda _, create: create(model))
    if pin := created.get("pin"):
        runs |= {f"pin {name}": partial(_pinocchio, pin, name) for name in CONVENTIONS}
    if mujoco := created.get("mujoco"):
        runs["mujoco"] = partial(_mujoco, mujoco, model)
    return runs


def _pinocchio(peer: Any, convention: str, q: Array, v: Array, tau: Array) -> Array:
    return np.array(peer.pin.aba(peer.model, peer.data, q, v, tau, getattr(peer.pin.Convention, convention)))


def _mujoco(peer: Any, model: Model, q: Array, v: Array, tau: Array) -> Array:
    states = States(model, {"q": q[None], "v": v[None], "a": np.zeros((1, model.nv)), "tau": tau[None]})
    one = peer.single(_FORWARD, states)
    return np.array(one.answers()[0])
