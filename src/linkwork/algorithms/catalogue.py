"""Every algorithm with the spaces that it maps between: what engines and public functions know of it.

Spaces of arguments and results, with the shape of one state (nb bodies, m frames):

    configuration (nq,)     velocity (nv,): v, a and tau too     wrenches (nb, 6)     matrix (nv, nv)
    poses (m, 4, 4)         twists (m, 6)     jacobian (6m, nv)     vector (3,)     wrench (6,)     scalar ()
    operational (6m, 6m)    responses (6m, nv)     triples (3m, 3m)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from linkwork.algorithms.articulated_body import articulated_body
from linkwork.algorithms.centroid import centre_of_mass, energy, momentum
from linkwork.algorithms.chang_khatib import chang_khatib, force_responses
from linkwork.algorithms.composite_body import composite_body
from linkwork.algorithms.configuration import difference, integrate
from linkwork.algorithms.constraint_force import constraint_force
from linkwork.algorithms.constraint_force_segments import constraint_force_segments
from linkwork.algorithms.dense import dense
from linkwork.algorithms.extended_propagator import extended_propagator
from linkwork.algorithms.inverse_dynamics import gravity_torques, inverse_dynamics, nonlinear_effects
from linkwork.algorithms.inversion import inversion
from linkwork.algorithms.jacobian import frame_accelerations, frame_velocities, jacobian, jacobian_drift
from linkwork.algorithms.kinematics import frame_placements
from linkwork.algorithms.mass_matrix import mass_matrix
from linkwork.algorithms.operational_inertia import operational_inertia
from linkwork.algorithms.pv import pv
from linkwork.algorithms.reactions import articulated_body_reactions, virtual_work_reactions
from linkwork.algorithms.sparse import sparse
from linkwork.algorithms.step import step
from linkwork.algorithms.studies.constraint_force_world import constraint_force_world
from linkwork.algorithms.studies.link_splitting import virtual_work_split, virtual_work_unsplit
from linkwork.algorithms.unit_vector import unit_vector
from linkwork.algorithms.virtual_work import virtual_work
from linkwork.spatial import ArticulatedInertia


@dataclass(frozen=True)
class Algorithm:
    """A text, the names and spaces of its arguments, and the spaces of its results."""

    name: str
    text: Callable[..., tuple[Any, ...]]
    arguments: tuple[tuple[str, str], ...]
    results: tuple[str, ...]
    rolled: bool = True
    """Whether its text needs to know nothing of the model, so that loops may stay loops."""
    pieces: bool = False
    """Whether its text cuts a chain into pieces: a rolled form of its own."""


Q, V, A, TAU = ("q", "configuration"), ("v", "velocity"), ("a", "velocity"), ("tau", "velocity")
F_EXT = ("f_ext", "wrenches")


def _entry(text: Callable[..., tuple[Any, ...]], arguments: tuple[tuple[str, str], ...], *results: str) -> Algorithm:
    return Algorithm(text.__name__, text, arguments, results)


def _seen(text: Callable[..., tuple[Any, ...]], arguments: tuple[tuple[str, str], ...], result: str) -> list[Algorithm]:
    """One entry for each reference, named "text/reference"."""
    return [
        Algorithm(f"{text.__name__}/{reference}", partial(text, reference=reference), arguments, (result,))
        for reference in REFERENCES
    ]


def _reactions(text: Callable[..., tuple[Any, ...]]) -> list[Algorithm]:
    """One entry for each frame, named "text/frame"."""
    arguments, results = (Q, V, TAU, F_EXT), ("velocity", "wrenches")
    return [Algorithm(f"{text.__name__}/{frame}", partial(text, frame=frame), arguments, results) for frame in FRAMES]


OPERATIONAL = {text.__name__: text for text in (chang_khatib, extended_propagator, pv, sparse, dense)}
"""The methods of ``lw.operational_inertia``, by their names."""

FRAMES = ("child", "parent", "world")
"""Where the wrench of a joint can be seen from."""

REFERENCES = ("local", "world", "local_world_aligned")
"""Where a frame's motion can be seen from."""


ALGORITHMS: dict[str, Algorithm] = {
    entry.name: entry
    for entry in (
        _entry(frame_placements, (Q,), "poses"),
        *_seen(jacobian, (Q,), "jacobian"),
        *_seen(frame_velocities, (Q, V), "twists"),
        *_seen(frame_accelerations, (Q, V, A), "twists"),
        *_seen(jacobian_drift, (Q, V), "twists"),
        _entry(centre_of_mass, (Q,), "vector"),
        _entry(energy, (Q, V), "scalar", "scalar"),
        _entry(momentum, (Q, V), "wrench"),
        _entry(inverse_dynamics, (Q, V, A, F_EXT), "velocity"),
        _entry(nonlinear_effects, (Q, V), "velocity"),
        _entry(gravity_torques, (Q,), "velocity"),
        _entry(mass_matrix, (Q,), "matrix"),
        _entry(articulated_body, (Q, V, TAU, F_EXT), "velocity"),
        _entry(composite_body, (Q, V, TAU, F_EXT), "velocity"),
        _entry(unit_vector, (Q, V, TAU, F_EXT), "velocity"),
        _entry(virtual_work, (Q, V, TAU, F_EXT), "velocity"),
        *_reactions(articulated_body_reactions),
        *_reactions(virtual_work_reactions),
        *(Algorithm(f"operational/{name}", text, (Q,), ("operational",)) for name, text in OPERATIONAL.items()),
        _entry(force_responses, (Q,), "responses"),
        _entry(integrate, (Q, ("dv", "velocity")), "configuration"),
        _entry(difference, (("q0", "configuration"), ("q1", "configuration")), "velocity"),
    )
}

INVERSION = Algorithm("inversion", inversion, (("matrix", "triples"),), ("triples",), rolled=False)
"""Of a matrix that has three rows for each frame, whatever the model."""

UNROLLED: dict[str, Algorithm] = {
    entry.name: entry
    for entry in (
        INVERSION,
        *(
            Algorithm(
                f"operational_inertia/{name}",
                partial(operational_inertia, method=text),
                (Q, ("kept", "twists"), ("damping", "twists")),
                ("operational",),
                rolled=False,
            )
            for name, text in OPERATIONAL.items()
        ),
    )
}
"""Algorithms whose text needs the number of frames: interpreted or specialised only."""

FORWARD_DYNAMICS = ("articulated_body", "composite_body", "unit_vector", "virtual_work")
"""The methods of ``lw.forward_dynamics``."""

STUDIES: dict[str, Algorithm] = {
    entry.name: entry
    for entry in (
        _entry(virtual_work_split, (Q, V, TAU, F_EXT), "velocity"),
        _entry(virtual_work_unsplit, (Q, V, TAU, F_EXT), "velocity"),
    )
}
"""More methods, which walk over children and so have no rolled form: to compare with, not to use."""

CHAINS: dict[str, Algorithm] = {
    text.__name__: Algorithm(text.__name__, text, (Q, V, TAU, F_EXT), ("velocity",), rolled=False)
    for text in (constraint_force, constraint_force_world)
}
"""More methods of ``lw.forward_dynamics``, whose text needs the length of the main chain: specialised code for few
bodies, interpreted for many. The second is for study.
"""

PIECES = Algorithm("constraint_force", constraint_force_segments, (Q, V, TAU, F_EXT), ("velocity",), pieces=True)
"""What ``constraint_force`` is for a mechanism with a long chain, its bodies lined up."""


def along(method: str, tip: int) -> Algorithm:
    """A method of ``CHAINS`` whose main chain ends with body number ``tip``."""
    entry = CHAINS[method]
    return Algorithm(f"{method}/{tip}", partial(entry.text, tip=tip), entry.arguments, entry.results, rolled=False)


def weighed(method: str, I_X: Sequence[ArticulatedInertia], tip: int | None = None) -> Algorithm:
    """A method of ``CHAINS`` with any I_X for each body, as ``constraint_force_world`` has it."""
    entry = along(method, tip) if tip else CHAINS[method]
    text = partial(entry.text, I_X=lambda body: I_X[body.index - 1])
    return Algorithm(entry.name, text, entry.arguments, entry.results, rolled=False)


STEP_PARTS = {
    "tau": "velocity", "q_target": "configuration", "kp": "velocity", "v_target": "velocity", "kd": "velocity",
    "effort": "velocity", "damping": "velocity", "friction": "velocity",
}  # fmt: skip
"""What a step may take into account, with its space."""


def stepping(parts: Iterable[str]) -> Algorithm:
    """A step in time with these of ``STEP_PARTS`` and nothing else, so that it pays only for what is there."""
    chosen = [name for name in STEP_PARTS if name in parts]

    def text(tree: Any, q: Any, v: Any, dt: Any, *given: Any) -> tuple[Any, Any]:
        return step(tree, q, v, dt, **dict(zip(chosen, given, strict=True)))

    arguments = (Q, V, ("dt", "scalar"), *((name, STEP_PARTS[name]) for name in chosen))
    return Algorithm("+".join(["step", *chosen]), text, arguments, ("configuration", "velocity"))


INVERTING = ("virtual_work", *STUDIES, *CHAINS)
"""The methods that invert the inertia of every body, so that none may be without."""
