"""Every algorithm with its argument and result spaces: the interface for engines and public functions.

Spaces of arguments and results, with the shape of one state (nb bodies, m frames):

    configuration (nq,)     velocity (nv,): v, a and tau too     wrenches (nb, 6)     matrix (nv, nv)
    poses (m, 4, 4)         twists (m, 6)     jacobian (6m, nv)     vector (3,)     wrench (6,)     scalar ()
    operational (6m, 6m)    responses (6m, nv)     triples (3m, 3m)     full_matrix (nv, nv)
    parameters (nb, 10)     regressor (nv, 10 nb)     momentum_matrix (6, nv)     conditions (m, 6, 6)
    stiffnesses (m, 21)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from linkwork.late import LateFunction

if TYPE_CHECKING:
    from linkwork.algorithms.closed_motion import Condition
    from linkwork.spatial import ArticulatedInertia


@dataclass(frozen=True)
class Algorithm:
    """An algorithm's function, the names and spaces of its arguments, the spaces of its results, and its forms."""

    name: str
    text: Callable[..., tuple[Any, ...]]
    arguments: tuple[tuple[str, str], ...]
    results: tuple[str, ...]
    forms: tuple[str, ...] = ("specialised", "rolled")
    """The forms of code it is traced into: "specialised" code for one model; "rolled" code, in which loops stay loops
    because the algorithm does not depend on the model; or "segmented" code, for an algorithm that cuts a chain into
    segments. Algorithms for comparison have none: they are interpreted, unless a form is requested.
    """
    segmented: Algorithm | None = None
    """The algorithm that replaces it for a mechanism with a long chain, whose bodies are lined up."""
    on_request: tuple[str, ...] = ()
    """Further forms that it has if they are requested."""
    split: Algorithm | None = None
    """The algorithm that replaces it in rolled code, for the mechanism with split links."""
    families: bool = False
    """Whether it uses ``Body.alone``, so that rolled code treats only children separately."""
    by_levels: bool = False
    """Whether it assembles the tree pairwise, so that rolled code goes level by level."""
    of_mechanism: bool = True
    """Whether it uses the mechanism; if not, its code serves all models."""
    of_loops: bool = False
    """Whether frames are the holds of loops; holds of the same loop have the same name."""
    quadratic: bool = False
    """Whether the first result, numbers or rows of joints, is a quadratic form of v plus terms without v."""


Q, V, A, TAU = ("q", "configuration"), ("v", "velocity"), ("a", "velocity"), ("tau", "velocity")
F_EXT = ("f_ext", "wrenches")

FRAMES = ("child", "parent", "world")
"""The frames in which a joint's wrench can be expressed."""

REFERENCES = ("local", "world", "local_world_aligned")
"""The references in which a frame's motion can be expressed."""


@cache
def _text(where: str, package: str = "linkwork.algorithms") -> LateFunction:
    """A function by its module and, if that differs, its own name: "centroid:energy"."""
    return LateFunction(f"{package}.{where}")


OPERATIONAL = {name: _text(name) for name in ("chang_khatib", "extended_propagator", "pv", "sparse", "dense")}
"""The methods of ``lw.operational_inertia``, by their names."""


def _entry(where: str, arguments: tuple[tuple[str, str], ...], *results: str) -> Algorithm:
    text = _text(where)
    return Algorithm(text.__name__, text, arguments, results)


def _quadratic(entry: Algorithm) -> Algorithm:
    return replace(entry, quadratic=True)


def _forward(where: str, *forms: str, segmented: Algorithm | None = None) -> Algorithm:
    """A method of forward dynamics, with these forms."""
    entry = _quadratic(_entry(where, (Q, V, TAU, F_EXT), "velocity"))
    return replace(entry, forms=forms, segmented=segmented)


def _study(where: str, *forms: str) -> Algorithm:
    """A method of forward dynamics for study, whose text is in the package beside linkwork."""
    text = _text(where, "linkwork_lab.studies")
    return replace(_forward(where, *forms), name=text.__name__, text=text)


def _seen(where: str, arguments: tuple[tuple[str, str], ...], *results: str) -> list[Algorithm]:
    """One entry for each reference, named "algorithm/reference"."""
    text = _text(where)
    return [
        Algorithm(f"{text.__name__}/{reference}", partial(text, reference=reference), arguments, results)
        for reference in REFERENCES
    ]


def _reactions(where: str, cause: tuple[str, str]) -> list[Algorithm]:
    """One entry for each frame, named "algorithm/frame"."""
    text = _text(where)
    arguments, results = (Q, V, cause, F_EXT), ("velocity", "wrenches")
    return [
        Algorithm(f"{text.__name__}/{frame}", partial(text, frame=frame), arguments, results, quadratic=True)
        for frame in FRAMES
    ]


def _inertias() -> list[Algorithm]:
    """Λ by each method; the algorithm depends on the number of frames."""
    arguments = (Q, ("kept", "twists"), ("damping", "twists"))
    return [
        Algorithm(
            f"operational_inertia/{name}",
            partial(_text("operational_inertia"), method=text),
            arguments,
            ("operational",),
            ("specialised",),
        )
        for name, text in OPERATIONAL.items()
    ]


PRODUCTS: dict[str, tuple[tuple[tuple[str, str], ...], dict[str, str]]] = {
    "inverse_dynamics_vjp": ((Q, V, A), {"q": "velocity", "v": "velocity", "a": "velocity"}),
    "forward_dynamics_vjp": ((Q, V, TAU), {"q": "velocity", "v": "velocity", "tau": "velocity"}),
}
"""Vector-Jacobian products: the state arguments, and the spaces of the default arguments to differentiate with."""
_MORE = {"f_ext": "wrenches", "parameters": "parameters"}


def pulling_back(name: str, wrt: Sequence[str] = ()) -> Algorithm:
    """A vector-Jacobian product of ``PRODUCTS`` with respect to these arguments, or the default ones."""
    text, (state, usual) = _text(f"dynamics_products:{name}"), PRODUCTS[name]
    chosen = tuple(wrt) or tuple(usual)
    own = name if chosen == tuple(usual) else f"{name}/{'+'.join(chosen)}"
    arguments = (*state, ("weights", "velocity"), F_EXT)
    return Algorithm(own, partial(text, wrt=chosen), arguments, tuple((usual | _MORE)[one] for one in chosen))


def _products() -> list[Algorithm]:
    """Products with vectors; Jacobian-vector products also with changes of the inertial parameters."""
    changes = (("dq", "velocity"), ("dv", "velocity"))
    forces = (F_EXT, ("df_ext", "wrenches"))
    parameters = ("dparameters", "parameters")
    of_inverse = (Q, V, A, *changes, ("da", "velocity"), *forces)
    of_forward = (Q, V, TAU, *changes, ("dtau", "velocity"), *forces)
    entries = [pulling_back(name) for name in PRODUCTS]
    for name, arguments in (("inverse_dynamics_jvp", of_inverse), ("forward_dynamics_jvp", of_forward)):
        entry = _entry(f"dynamics_products:{name}", arguments, "velocity")
        entries += [entry, replace(entry, name=f"{name}/parameters", arguments=(*arguments, parameters))]
    return entries


INVERSION = Algorithm(
    "inversion", _text("inversion"), (("matrix", "triples"),), ("triples",), ("specialised",), of_mechanism=False
)
"""The inversion of a matrix with three rows for each frame, for any model."""

SEGMENTS = replace(_forward("constraint_force_segments", "segmented"), name="constraint_force")
"""``constraint_force`` for a mechanism with a long chain, whose bodies are lined up."""

UNSPLIT = replace(_study("link_splitting:virtual_work_unsplit"), on_request=("rolled",))
"""Virtual work as its paper prints it."""

ALGORITHMS: dict[str, Algorithm] = {
    entry.name: entry
    for entry in (
        _entry("kinematics:frame_placements", (Q,), "poses"),
        *_seen("jacobian", (Q,), "jacobian"),
        *_seen("jacobian:frame_velocities", (Q, V), "twists"),
        *_seen("jacobian:frame_accelerations", (Q, V, A), "twists"),
        *_seen("jacobian:jacobian_drift", (Q, V), "stacked_twists"),
        _entry("centroid:centre_of_mass", (Q,), "vector"),
        _entry("centroid:energy", (Q, V), "scalar", "scalar"),
        _entry("centroid:momentum", (Q, V), "wrench"),
        _quadratic(_entry("inverse_dynamics", (Q, V, A, F_EXT), "velocity")),
        _quadratic(_entry("inverse_dynamics:nonlinear_effects", (Q, V), "velocity")),
        _entry("inverse_dynamics:gravity_torques", (Q,), "velocity"),
        _entry("mass_matrix", (Q,), "matrix"),
        _forward("articulated_body", "specialised", "rolled"),
        _forward("composite_body", "specialised", "rolled"),
        _forward("unit_vector", "specialised", "rolled"),
        replace(_forward("virtual_work", "specialised", "rolled"), families=True),
        *_reactions("reactions:articulated_body_reactions", TAU),
        *(replace(entry, families=True) for entry in _reactions("reactions:virtual_work_reactions", TAU)),
        *_reactions("reactions:inverse_dynamics_reactions", A),
        *(Algorithm(f"operational/{name}", text, (Q,), ("operational",)) for name, text in OPERATIONAL.items()),
        _entry("force_responses", (Q,), "responses"),
        _quadratic(_entry("inverse_dynamics_derivatives", (Q, V, A, F_EXT), "matrix", "matrix", "matrix")),
        _quadratic(
            _entry("forward_dynamics_derivatives", (Q, V, TAU, F_EXT), "full_matrix", "full_matrix", "full_matrix")
        ),
        _entry("mass_matrix_inverse", (Q,), "full_matrix"),
        _entry("torque_regressor", (Q, V, A), "regressor"),
        _entry("momentum_derivatives", (Q, V), "momentum_matrix", "momentum_matrix"),
        *_seen("frame_derivatives:frame_velocity_derivatives", (Q, V), "jacobian", "jacobian"),
        *_seen("frame_derivatives:frame_acceleration_derivatives", (Q, V, A), "jacobian", "jacobian", "jacobian"),
        *_products(),
        _entry("configuration:integrate", (Q, ("dv", "velocity")), "configuration"),
        _entry("configuration:difference", (("q0", "configuration"), ("q1", "configuration")), "velocity"),
        # algorithms that depend on the model: the number of frames, the length of the main chain
        _forward("constraint_force", "specialised", segmented=SEGMENTS),
        _study("constraint_force_world", "specialised"),
        replace(_forward("assembly", "specialised", "rolled"), by_levels=True),
        *_inertias(),
        INVERSION,
        # for comparison
        UNSPLIT,
        replace(_study("link_splitting:virtual_work_split"), on_request=("rolled",), split=UNSPLIT),
    )
}
"""Every algorithm, by its name."""

FORWARD_DYNAMICS = ("articulated_body", "composite_body", "unit_vector", "virtual_work")
"""The methods of ``lw.forward_dynamics`` that do not depend on the model."""
CHAIN_METHODS = ("constraint_force", "constraint_force_world")
"""Further methods, with a main chain. The second is for study."""
STUDIES = ("virtual_work_split", "virtual_work_unsplit")
"""Further methods, for comparison only."""
INVERTING = ("virtual_work", "assembly", *STUDIES, *CHAIN_METHODS)
"""Methods that invert the inertia of every body, so that every body needs one."""


def along(method: str, tip: int) -> Algorithm:
    """A method of ``CHAIN_METHODS`` whose main chain ends with body number ``tip``."""
    entry = ALGORITHMS[method]
    return replace(entry, name=f"{method}/{tip}", text=partial(entry.text, tip=tip), segmented=None)


def weighed(method: str, I_X: Sequence[ArticulatedInertia], tip: int | None = None) -> Algorithm:
    """A method of ``CHAIN_METHODS`` with any I_X for each body, as in ``constraint_force_world``; not compiled."""
    entry = along(method, tip) if tip else ALGORITHMS[method]
    return replace(entry, text=partial(entry.text, I_X=lambda body: I_X[body.index - 1]), forms=(), segmented=None)


CLOSING = {"virtual_work": "closed_chains", "assembly": "assembly:assembly_closed"}
"""The methods of ``lw.constrained_dynamics`` in which loops are joints, and their algorithms."""


def closing(frame: str = "child", judged: bool = True, method: str = "virtual_work") -> Algorithm:
    """Forward dynamics of closed chains, with joint wrenches expressed in one of ``FRAMES``. If ``judged``, results are
    non-finite where constraints are redundant.
    """
    whole = _text(CLOSING[method])
    name = f"{whole.__name__}/{frame}" if judged else f"{whole.__name__}/{frame}/damped"
    text = partial(whole, frame=frame, judged=judged)
    of_holds = (("conditions", "conditions"), ("bias", "twists"), ("compliance", "twists"))
    arguments, results = (Q, V, TAU, F_EXT, *of_holds), ("velocity", "wrenches", "twists")
    return Algorithm(name, text, arguments, results, of_loops=True, by_levels=method == "assembly")


def closing_pairs(conditions: Sequence[Condition], frame: str | None, stabilised: bool, damped: bool) -> Algorithm:
    """Forward dynamics with loops between pairs of frames, with these kinds of conditions, with joint wrenches
    expressed in one of ``FRAMES`` if one is given, and with damped forces.
    """
    text = partial(_text("closed_motion"), conditions=conditions, frame=frame, stabilised=stabilised)
    before = (("before", "pair_wrenches"),) if damped else ()
    arguments = (Q, V, TAU, F_EXT, ("held", "held_poses"), ("gains", "gains"), *before)
    results = ("velocity", "pair_wrenches", *(["wrenches"] if frame else []), *(["pair_wrenches"] if damped else []))
    name = "/".join(map(str, ("closed_motion", frame, stabilised, damped, *conditions)))
    return Algorithm(name, text, arguments, results, of_loops=True)


SUPPORTED = _entry(
    "supported",
    (Q, ("y", "velocity"), TAU, ("rotor", "velocity"), ("f", "twists"), ("K", "stiffnesses")),
    *("velocity", "twists", "scalar", "scalar", "scalar"),
)
"""Dynamics with soft supports: Newton steps of contacts for mechanisms of many bodies."""

STEP_PARTS = {
    "tau": "velocity", "q_target": "configuration", "kp": "velocity", "v_target": "velocity", "kd": "velocity",
    "effort": "velocity", "stiffness": "velocity", "springref": "configuration", "damping": "velocity",
    "friction": "velocity", "f_ext": "wrenches",
}  # fmt: skip
"""The optional parts of a step, with their spaces."""


def linearising(parts: Iterable[str]) -> Algorithm:
    """A time step with these of ``STEP_PARTS``, tau among them, and nothing else, linearised."""
    return _of_parts("linearised_step", "linearised_step", parts, ("of_states", "of_inputs"))


def step_forces(parts: Iterable[str]) -> Algorithm:
    """The joint forces of a step, the rotor inertias that represent its drag, and the forces of the motors alone."""
    return _of_parts(
        "forces", "joint_drive:forces_and_drive", [name for name in parts if name != "f_ext"], ("velocity",) * 3
    )


def named(name: str) -> Algorithm | None:
    """The algorithm of a name, the forces of steps included; None if the name does not identify it."""
    what, *parts = name.split("+")
    if what == "forces":
        return step_forces(parts)
    return SUPPORTED if name == SUPPORTED.name else ALGORITHMS.get(name)


def _of_parts(name: str, where: str, parts: Iterable[str], results: tuple[str, ...]) -> Algorithm:
    wanted = set(parts)
    return _with_parts(name, where, tuple(part for part in STEP_PARTS if part in wanted), results)


@cache
def _with_parts(name: str, where: str, chosen: tuple[str, ...], results: tuple[str, ...]) -> Algorithm:
    whole = _text(where)

    def text(tree: Any, q: Any, v: Any, dt: Any, *values: Any) -> tuple[Any, ...]:
        return whole(tree, q, v, dt, **dict(zip(chosen, values, strict=True)))

    arguments = (Q, V, ("dt", "scalar"), *((part, STEP_PARTS[part]) for part in chosen))
    return Algorithm("+".join([name, *chosen]), text, arguments, results)
