"""Cliffs: sizes at which a call suddenly takes much longer, of every public function that computes arrays.

    python benchmarks/cliffs.py                  times all of it and lists the cliffs
    python benchmarks/cliffs.py --write          and puts them into docs/performance.md
    python benchmarks/cliffs.py --quick          a few functions and sizes, in about a minute once they are compiled
    python benchmarks/cliffs.py --only jacobian  functions whose names contain this
    python benchmarks/cliffs.py --times          prints every time as well

Each function is timed along four kinds of axes, on one thread:

- **states** of a UR5, and of ANYmal on a floating base: 1, 2, 4 ... 8,192 in a call. The time of a state should fall or
  stay; a cliff is a size at which it is more than twice that of the size before.
- **bodies** of a chain and of a binary tree, one state in a call: 1, 2, 4 ... 200, and both sides of 50 and 60.
- **loops** of a ladder (``linkwork reproduce closed-chains``: four bodies and a ball joint a loop), 1 ... 100; and
  **couplings** of the joints of a chain, 1 ... 32; one state.
- **contacts** of a block with the ground, 1 ... 40; one state.

Along the last three kinds, time grows with the size, by the power that a function's documentation implies: 1 for a
recursion, 2 for results that are matrices of the joints, 3 for dense equations of that size. A cliff is a time more
than twice what this power makes of the time of the size before; neighbours that differ by a quarter or less are
compared as they are. Every such jump is measured again, three times, on both sides in turns: it counts if the best
times still differ so much.

A time is the best of several samples, each of a millisecond or more, after calls that compile. Below 64 states in a
call, it is the mean over the same 64 states. After a call of more than 0.3 s, or more than 30 s to compile, larger
sizes are left out. All of it takes about a quarter of an hour, less if code is cached.
"""

from __future__ import annotations

import argparse
import inspect
import os
import re
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from textwrap import shorten
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import linkwork as lw
from linkwork.algorithms import CLOSING
from linkwork.control import ComputedTorque, HeldObject, PDPlusGravity, Support, WholeBodyController
from linkwork_lab.bench import pages, standard
from linkwork_lab.bench.cases import CASES, States
from linkwork_lab.bench.machine import machine
from linkwork_lab.bench.report import duration
from linkwork_lab.reproduce.closed_chains.ladders import ladder

PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"
JUMP, NEAR, AGAIN = 2.0, 1.25, 3
FEW = 64
PLACES = 4
"""So many states are timed at least, one call after another."""
LONGEST, COMPILING = 0.3, 30.0
"""Seconds of a call, and of a first call, after which larger sizes are left out."""
STEPS, DT = 10, 1e-4

STATES = tuple(2**k for k in range(14))
CHAIN = (1, 2, 4, 8, 16, 32, 49, 50, 51, 60, 61, 100, 200)
TREE = (3, 15, 50, 51, 100, 200)
LOOPS = (1, 2, 4, 8, 9, 12, 13, 25, 50, 100)
COUPLINGS = (1, 2, 4, 5, 8, 16, 19, 20, 32)
CONTACTS = (1, 2, 4, 8, 9, 16, 32, 40)
HANDS = (1, 2, 4, 8)
QUICK: dict[str, tuple[int, ...]] = {
    "UR5, states": (1, 64, 256, 2048), "ANYmal, states": (), "bodies of a chain": (8, 50, 51, 100),
    "bodies of a tree": (), "loops": (2, 8, 9), "couplings": (), "contacts": (4, 8, 16),
}  # fmt: skip
"""The sizes of ``--quick``."""
QUICKLY = ("forward_dynamics articulated_body", "inverse_dynamics", "mass_matrix", "jacobian", "energy")
"""Its functions, besides those of constraints and contacts."""


@dataclass(frozen=True, eq=False)
class Setting:
    """What a function is called with at one size: a model, arrays of one state or several, constraints, contacts."""

    model: lw.Model
    fields: dict[str, Any]
    constraints: tuple[lw.Constraint, ...] = ()
    contacts: tuple[lw.Contact, ...] = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self.fields[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def end(self) -> str:
        return self.model.body_names[-1]

    @property
    def point(self) -> lw.Point:
        """Of which a task asks three rows."""
        return _point(self.end)

    def part(self, states: slice | int) -> Setting:
        return replace(self, fields={name: array[states].copy() for name, array in self.fields.items()})


@dataclass(frozen=True)
class Case:
    """A public function, whatever else tells it apart, its call, and the axes that it is timed along; the power of its
    time in the size of the mechanism, and in the number of constraints or contacts.
    """

    name: str
    call: Callable[[Setting], Any]
    axes: tuple[str, ...] = ("states", "bodies")
    power: int = 1
    per: int = 1
    """Steps of a call, by which its time is divided."""
    least: int = 0
    """The least number of degrees of freedom that it needs."""


@cache
def _point(frame: str) -> lw.Point:
    return lw.Point(frame, axes="position")


@cache
def _controller(kind: Any, model: lw.Model) -> Any:
    return kind(model, lw.neutral(model))


@cache
def _standing(s: Setting) -> WholeBodyController:
    return WholeBodyController(
        s.model, [], [Support(s.end, [np.asarray(each.placement)[:3, 3] for each in s.contacts])], limits="none"
    )


@cache
def _object(model: lw.Model) -> HeldObject:
    """An object, the last body, held by the others, of which none moves another."""
    *hands, item = model.body_names
    return HeldObject(item, [lw.Weld(hand, item) for hand in hands], np.eye(4))


@cache
def _compiled(kind: str, model: lw.Model) -> Any:
    def text(q: Any, v: Any, tau: Any) -> Any:
        return lw.forward_dynamics(model, q, v, tau)

    return getattr(lw, kind)(text, q=model.nq, v=model.nv, tau=model.nv)


@cache
def _basis(s: Setting) -> Any:
    return lw.mass_matrix(s.model, s.q), np.eye(s.model.nv)[:, :1]


@cache
def _pulled(s: Setting) -> Any:
    run = _rolled_out(s, **_held(s))
    return partial(run.pullback, q=np.ones((*run.q.shape[:-1], s.model.nv)))


def _held(s: Setting) -> dict[str, Any]:
    """The constraints of a mechanism with loops; robots are free in what differentiates or repeats steps, since that
    raises an error in states where constraints are redundant.
    """
    return {"constraints": s.constraints if s.q.ndim == 1 and not s.contacts else ()}


def _rolled_out(s: Setting, **more: Any) -> Any:
    return lw.rollout(s.model, s.q, s.v, s.steps, dt=DT, record=STEPS, **{"constraints": (), **more})


def _simulated(s: Setting, **more: Any) -> Any:
    return lw.simulate(s.model, s.q, s.v, STEPS * DT, DT, tau=s.tau, record=STEPS, progress=False, **_held(s), **more)


def _linearised(s: Setting, **more: Any) -> Any:
    return lw.linearise(s.model, s.q, s.v, s.tau, dt=DT, **_held(s), **more)


def _path(s: Setting) -> Any:
    """A path to the goal: the placement that the end has, then the goal."""
    return np.stack([s.place, *[s.goal] * (PLACES - 1)], axis=-4)


def _of_benchmark() -> Iterator[Case]:
    """The cases of ``linkwork bench``."""
    matrices = ("mass_matrix", "derivatives", "regressor", "linearise")
    for case in CASES:
        if "constrained" in case.name or " 4" in case.name or " 2" in case.name:
            continue

        def call(s: Setting, case: Any = case) -> Any:
            frames = ([s.end] * case.frames,) if case.frames else ()
            return case.function(s.model, *(s.fields[name] for name in case.arguments), *frames)

        dense = "composite_body" in case.name or "unit_vector" in case.name
        power = 3 if dense else 2 if any(each in case.name for each in matrices) else 1
        yield Case(case.name, call, power=power, least=case.least_nv)


HELD = ("states", "loops", "couplings")
ONE = ("bodies",)
TOUCHING = ("states", "bodies", "contacts")
TABLE: tuple[Case, ...] = (
    *_of_benchmark(),
    Case("forward_dynamics constraint_force", lambda s: lw.forward_dynamics(
        s.model, s.q, s.v, s.tau, method="constraint_force"), ONE),
    Case("inverse_dynamics_and_reactions", lambda s: lw.inverse_dynamics_and_reactions(s.model, s.q, s.v, s.a)),
    Case("operational_space", lambda s: lw.operational_space(s.model, s.q, s.v, s.point), least=6),
    Case("operational_inertia", lambda s: lw.operational_inertia(s.model, s.q, s.point), least=6),
    Case("operational_inertia_rate", lambda s: lw.operational_inertia_rate(s.model, s.q, s.v, s.point), least=6),
    Case(
        "operational_inertia_derivatives", lambda s: lw.operational_inertia_derivatives(s.model, s.q, s.point), least=6
    ),
    Case("operational_bias", lambda s: lw.operational_bias(s.model, s.q, s.v, s.point), least=6),
    Case("dynamically_consistent_inverse", lambda s: lw.dynamically_consistent_inverse(s.model, s.q, s.point), least=6),
    Case("null_space_torque", lambda s: lw.null_space_torque(s.model, s.q, s.tau, s.point), least=6),
    Case("effective_mass", lambda s: lw.effective_mass(s.model, s.q, s.end, (0.0, 0.0, 1.0))),
    Case("external_wrench", lambda s: lw.external_wrench(s.model, s.q, {s.end: s.wrench})),
    Case("actuator_torques", lambda s: lw.actuator_torques(s.model, s.q, s.v, s.control)),
    Case("evaluate", lambda s: lw.evaluate("inverse_dynamics", s.model, s.q, s.v, s.a), ONE),
    Case("pose_error", lambda s: lw.pose_error(s.place, s.goal), ("states",)),
    Case("random_state", lambda s: lw.random_state(s.model, 0, s.q.shape[:-1])),
    Case("neutral", lambda s: lw.neutral(s.model), ONE),
    Case("inverse_kinematics", lambda s: lw.inverse_kinematics(s.model, s.goal, s.end, s.q, limits=False)),
    Case("follow_path", lambda s: lw.follow_path(s.model, _path(s), s.end, s.q, limits=False), per=PLACES),
    Case("change_of_basis", lambda s: lw.change_of_basis(*_basis(s)), ONE, power=3),
    Case("compile", lambda s: _compiled("compile", s.model)(s.q, s.v, s.tau)),
    Case("jvp", lambda s: _compiled("jvp", s.model)(s.q, s.v, s.tau, s.change, s.v, s.tau)),
    Case("vjp", lambda s: _compiled("vjp", s.model)(s.q, s.v, s.tau, s.a)),
    Case("jacobian_of", lambda s: _compiled("jacobian_of", s.model)(s.q, s.v, s.tau), power=2),
    Case("control.ComputedTorque", lambda s: _torque(ComputedTorque, s)),
    Case("control.PDPlusGravity", lambda s: _torque(PDPlusGravity, s)),
    *(Case(f"constrained_dynamics {method}", lambda s, method=method: lw.constrained_dynamics(
        s.model, s.q, s.v, s.tau, s.constraints, method=method), HELD, power)
        for method, power in (("articulated_body", 3), *((method, 1) for method in CLOSING))),
    Case("constrained_dynamics_and_reactions", lambda s: lw.constrained_dynamics_and_reactions(
        s.model, s.q, s.v, s.tau, s.constraints), HELD, 3),
    Case("constrained_dynamics_derivatives", lambda s: lw.constrained_dynamics_derivatives(
        s.model, s.q, s.v, s.tau, s.constraints), HELD, 3),
    Case("constrained_inverse_dynamics", lambda s: lw.constrained_inverse_dynamics(
        s.model, s.q, s.v, s.a, s.constraints), HELD, 3),
    Case("impact", lambda s: lw.impact(s.model, s.q, s.v, s.constraints), HELD, 3),
    Case("close_loops", lambda s: lw.close_loops(s.model, s.q, s.constraints, limits=False), ("loops", "couplings"), 3),
    Case("simulate", _simulated, ONE, 1, STEPS),
    Case("rollout", _rolled_out, ("states", "bodies"), 1, STEPS),
    Case("Rollout.pullback", lambda s: _pulled(s)(), ("states", "bodies"), 2, STEPS),
    Case("simulate, constrained", _simulated, ("loops", "couplings"), 3, STEPS),
    Case("rollout, constrained", lambda s: _rolled_out(s, **_held(s)), ("loops", "couplings"), 3, STEPS),
    Case("linearise, constrained", _linearised, ("loops", "couplings"), 3),
    Case("Rollout.pullback, constrained", lambda s: _pulled(s)(), ("loops", "couplings"), 3, STEPS),
    Case("contact_dynamics", lambda s: lw.contact_dynamics(s.model, s.q, s.v, s.tau, s.contacts, dt=1e-3), TOUCHING, 3),
    Case("contact_points", lambda s: lw.contact_points(s.model, s.q, s.contacts), TOUCHING, 1),
    Case("simulate, contacts", lambda s: _simulated(s, contacts=s.contacts), ("bodies", "contacts"), 3, STEPS),
    Case("rollout, contacts", lambda s: _rolled_out(s, contacts=s.contacts), TOUCHING, 3, STEPS),
    Case("linearise, contacts", lambda s: _linearised(s, contacts=s.contacts), TOUCHING, 3),
    Case("control.WholeBodyController", lambda s: _standing(s).torque(0.0, s.q, s.rest), ("contacts",), 3),
    Case("control.augmented_object", lambda s: lw.control.augmented_object(s.model, s.q, s.v, _object(s.model)),
         ("hands",), 3),
)  # fmt: skip
"""Every case; ``missing`` names the public functions that have none."""

WITHOUT = {
    "animate", "draw", "motion_sequence", "save_html", "show",  # pictures
    "load", "save", "merge_fixed", "with_inertial_parameters", "placement", "collision_contacts",  # models
    "export",  # files
    "get_threads", "set_threads", "interpreted", "form", "system_check",  # settings
}  # fmt: skip
"""Public functions that compute no arrays from states."""


def missing() -> set[str]:
    """Public functions, and controllers, that neither the table nor ``WITHOUT`` has."""
    public = {name for name in lw.__all__ if callable(getattr(lw, name)) and not inspect.isclass(getattr(lw, name))}
    for name in lw.control.__all__:
        one = getattr(lw.control, name)
        if hasattr(one, "command") or hasattr(one, "torque") or not inspect.isclass(one):
            public.add(f"control.{name}")
    return public - WITHOUT - {re.split("[ ,]", case.name)[0] for case in TABLE}


def _torque(kind: Any, s: Setting) -> Any:
    controller = _controller(kind, s.model)
    return controller.torque(0.0, s.q, s.v) if s.q.ndim == 1 else controller.torques(0.0, s.q, s.v)


TABLE_OF_COSTS = "a value of the table of costs, where both ways cost about the same in other cases"
LOOPED = "stays until products and factors of large matrices are code with loops, too"
INTERPRETED = f"interpreted, as a warning says: its matrices alone are too long for machine code; {LOOPED}"
CALLED = "calls code with loops where straight code would be too long"
REASONS: tuple[tuple[str, str, tuple[int, int] | None, str], ...] = (
    ("UR5", "derivatives|impact|constrained|Operational", (256, 512),
     "one of the 512 states is nearly singular, and computed by NumPy, 0.1 ms to 1 ms; no matter of the size"),
    ("states", "regressor|derivatives", (1024, 2048), "results of more than 32 MB, in fresh pages: see above"),
    ("states", "regressor|derivatives", (2048, 4096), "results of more than 32 MB, in fresh pages: see above"),
    ("states", "regressor|derivatives", (4096, 8192), "results of more than 32 MB, in fresh pages: see above"),
    ("states", "", (1, 2), "one state has code of its own; two take as long as a full tile of lanes"),
    ("bodies", "contact", None, f"{CALLED}; interpreted where that is too long as well: {LOOPED}"),
    ("tree", "constraint_force", None, "interpreted beyond 50 bodies: it has code with loops for chains, and for trees "
     f"that are one but for side branches; {TABLE_OF_COSTS}"),
    ("", "assembly", (20, 32), "interpreted where parts are many and of different shape, as its documentation says; "
     f"{TABLE_OF_COSTS}"),
    ("", "jacobian_of", None, f"{CALLED}, once for each column; {TABLE_OF_COSTS}"),
    ("couplings", "linearise", (8, 16), f"a column at a time beyond 14 degrees of freedom; {TABLE_OF_COSTS}"),
    ("", "linearise, c|pullback, c|rollout, c", None, INTERPRETED),
    ("bodies", "", (50, 51), f"code with loops beyond 50 bodies, some of it called from other code; {TABLE_OF_COSTS}"),
    ("bodies", "", None, f"code with loops beyond 40,000 instructions; {TABLE_OF_COSTS}"),
    ("loops", "derivatives", (9, 12), f"how constraints vary is {INTERPRETED}"),
    ("loops", "derivatives", None, f"on floats beyond 70 bodies times pairs of frames; {TABLE_OF_COSTS}"),
    ("couplings", "derivatives", None, f"on floats beyond 9 degrees of freedom; {TABLE_OF_COSTS}"),
    ("loops", "", None, f"{CALLED}; on floats where that is too long as well: {LOOPED}"),
    ("couplings", "", None, f"{CALLED}; on floats where that is too long as well: {LOOPED}"),
)  # fmt: skip
"""Why there is a cliff, and until when: the first that fits its axis, a pattern of its function, and its sizes."""


# The mechanisms


def _fields(model: lw.Model, count: int, spread: float | None = None) -> dict[str, Any]:
    """Arrays of so many states; with a ``spread``, these are near the neutral configuration."""
    fields = States.random(model, count).fields
    rng = np.random.default_rng(1)
    if spread is not None:
        fields["q"] = lw.integrate(model, lw.neutral(model), spread * rng.normal(size=(count, model.nv)))
    fields["change"] = rng.normal(size=(count, model.nq))
    fields["steps"] = np.repeat(fields["tau"][:, None], STEPS, axis=1)
    fields["wrench"] = rng.normal(size=(count, 6))
    fields["control"] = rng.normal(size=(count, len(model.actuators)))
    fields["place"] = lw.forward_kinematics(model, fields["q"], model.body_names[-1])
    near = lw.integrate(model, fields["q"], 0.2 * fields["dv"])
    fields["goal"] = lw.forward_kinematics(model, near, model.body_names[-1])
    return fields


def _driven(model: lw.Model) -> lw.Model:
    """The model with a motor on each joint of one degree of freedom."""
    moved = [body.joint_name for body in model.bodies if body.joint.nv == 1]
    return replace(model, actuators=tuple(lw.Actuator(f"{name}_motor", joints={name: 1.0}) for name in moved))


def _robot(name: str) -> Setting:
    subject = next(one for one in standard()[0] if one.name == name)
    model = _driven(subject.model)
    ends = [f"{leg}_FOOT" for leg in ("LF", "LH", "RF", "RH")] if name == "ANYmal" else [model.body_names[-1]]
    fields = _fields(model, max(STATES), 0.3 if name == "ANYmal" else None)
    if name == "ANYmal":
        fields["q"][:, 2] += 0.5  # some feet of some states touch the ground
    constraints = tuple(lw.Ball(end) for end in ends)
    return Setting(model, fields, constraints, tuple(lw.Contact(end, lw.Sphere(0.03)) for end in ends))


def _one(model: lw.Model, *more: Any, spread: float | None = None) -> Setting:
    return Setting(model, _fields(model, 1, spread), *more).part(0)


def _chain(bodies: int) -> Setting:
    axes = [lw.joints.Revolute("z"), lw.joints.Revolute("y")]
    model = _driven(lw.mechanisms.serial_chain(bodies, axes, link_length=0.1))
    return _one(model, (), (lw.Contact(model.body_names[-1], lw.Sphere(1.0)),))


def _solid(**more: Any) -> dict[str, Any]:
    return {"mass": 1.0, "com": (0.05, 0.0, 0.02), "inertia": (0.02, 0.03, 0.025), **more}


def _tree(bodies: int) -> Setting:
    """Every body carries two."""
    builder = lw.Builder(f"tree_{bodies}")
    for k in range(bodies):
        parent = f"b{(k - 1) // 2}" if k else "world"
        place = lw.placement((0.1, 0.1 * (k % 2), 0.0))
        builder.add_body(f"b{k}", parent, lw.joints.Revolute("yzx"[(k + 1).bit_length() % 3]), place, **_solid())
    model = _driven(builder.build())
    return _one(model, (), (lw.Contact(model.body_names[-1], lw.Sphere(1.0)),))


def _ladder(loops: int) -> Setting:
    found = ladder(loops)
    return _one(found.model, tuple(found.constraints), spread=0.1)


def _coupled(couplings: int) -> Setting:
    """Each joint of a chain turns in proportion to the first."""
    builder = lw.Builder(f"coupled_{couplings}")
    for k in range(couplings + 1):
        parent = f"b{k - 1}" if k else "world"
        place = lw.placement((0.2, 0.0, 0.0))
        builder.add_body(f"b{k}", parent, lw.joints.Revolute("yz"[k % 2]), place, joint_name=f"j{k}", **_solid())
    return _one(builder.build(), tuple(lw.Coupling(f"j{k}", "j0", 0.5) for k in range(1, couplings + 1)))


def _block(contacts: int) -> Setting:
    """Spheres on a circle at the bottom of a free block, half of which are in the ground; it turns and slides."""
    builder = lw.Builder(f"block_{contacts}")
    builder.add_body("block", joint=lw.joints.Free(), **_solid())
    touching = []
    for k in range(contacts):
        angle = 2.0 * np.pi * k / contacts
        place = lw.placement((np.cos(angle), np.sin(angle), -0.1 - 0.001 * (k % 2)))
        touching.append(lw.Contact("block", lw.Sphere(0.01), placement=place))
    found = _one(builder.build(), (), tuple(touching), spread=0.0)
    found.q[2] = 0.1105
    return found


def _hands(hands: int) -> Setting:
    builder = lw.Builder(f"hands_{hands}")
    for name in (*(f"hand{k}" for k in range(hands)), "object"):
        builder.add_body(name, joint=lw.joints.Free(), **_solid())
    return _one(builder.build(), spread=0.0)


@dataclass(frozen=True)
class Axis:
    """Sizes, and the setting of each; ``kind`` names it in the table of cases."""

    kind: str
    sizes: tuple[int, ...]
    setting: Callable[[int], Setting]


def _axes() -> dict[str, Axis]:
    arm, dog = cache(partial(_robot, "UR5")), cache(partial(_robot, "ANYmal"))
    return {
        "UR5, states": Axis("states", STATES, lambda _: arm()),
        "ANYmal, states": Axis("states", STATES, lambda _: dog()),
        "bodies of a chain": Axis("bodies", CHAIN, cache(_chain)),
        "bodies of a tree": Axis("bodies", TREE, cache(_tree)),
        "loops": Axis("loops", LOOPS, cache(_ladder)),
        "couplings": Axis("couplings", COUPLINGS, cache(_coupled)),
        "contacts": Axis("contacts", CONTACTS, cache(_block)),
        "hands": Axis("hands", HANDS, cache(_hands)),
    }


# Times


@dataclass
class Point:
    """A call of one size: its time for one state, s, and the function that measures it again."""

    size: int
    seconds: float
    again: Callable[[], float]


def _calls(axis: Axis, case: Case, size: int) -> tuple[list[Callable[[], Any]], int]:
    """Calls that together compute so many states."""
    whole = axis.setting(size)
    if axis.kind != "states":
        return [partial(case.call, whole)], 1
    count = max(size, FEW)
    parts = [whole.part(k if size == 1 else slice(k, k + size)) for k in range(0, count, size)]
    return [partial(case.call, part) for part in parts], count


def _sample(calls: list[Callable[[], Any]], passes: int) -> float:
    """Seconds of a pass over the calls."""
    start = time.perf_counter()
    for _ in range(passes):
        for call in calls:
            call()
    return (time.perf_counter() - start) / passes


def measured(axis: Axis, case: Case, size: int) -> tuple[Point, bool]:
    """The time of one size, and whether larger ones would take too long."""
    calls, states = _calls(axis, case, size)
    first = _sample(calls[:1], 1)
    enough = max(1, int(0.1 / max(_sample(calls[:1], 1), 1e-9)))
    states, calls = states * min(enough, len(calls)) // len(calls), calls[:enough]
    _sample(calls, 1)
    once = _sample(calls, 1)
    passes = max(1, round(1e-3 / once))

    def again() -> float:
        samples = 7 if once < 0.01 else 3 if once < 0.3 else 1
        return min(_sample(calls, passes) for _ in range(samples)) / (states * case.per)

    return Point(size, again(), again), first > COMPILING or once / len(calls) > LONGEST


@dataclass(frozen=True)
class Cliff:
    """A jump from one size to the next: times of one state, s."""

    axis: str
    case: str
    sizes: tuple[int, int]
    seconds: tuple[float, float]

    @property
    def ratio(self) -> float:
        return self.seconds[1] / self.seconds[0]


def _jumps(axis: Axis, case: Case, one: Point, two: Point) -> bool:
    wider = two.size / one.size
    expected = 1.0 if axis.kind == "states" or wider <= NEAR else wider**case.power
    return two.seconds > JUMP * expected * one.seconds


def along(name: str, axis: Axis, case: Case, shown: bool) -> tuple[list[Cliff], str]:
    """The cliffs of one function along one axis, and where it stops, if it does."""
    points: list[Point] = []
    stopped = ""
    for size in axis.sizes:
        if axis.setting(size).model.nv < case.least:
            continue
        try:
            point, enough = measured(axis, case, size)
        except lw.LinkworkError as error:
            stopped = f"refused at {size:,}: {shorten(str(error), 140, placeholder=' ...')}"
            if points:
                break
            continue  # a few supports do not balance a block, for instance
        points.append(point)
        if enough and size != axis.sizes[-1]:
            stopped = f"not measured beyond {size:,}"
            break
    cliffs = []
    for one, two in pairwise(points):
        for _ in range(AGAIN):
            if not _jumps(axis, case, one, two):
                break
            one.seconds, two.seconds = min(one.seconds, one.again()), min(two.seconds, two.again())
        else:
            cliffs.append(Cliff(name, case.name, (one.size, two.size), (one.seconds, two.seconds)))
    if shown:
        print(f"  {case.name}: " + ", ".join(f"{each.size}: {duration(each.seconds)}" for each in points), flush=True)
    return cliffs, stopped


# The table


def reason(cliff: Cliff) -> str:
    for axis, names, sizes, text in REASONS:
        if axis in cliff.axis and re.search(names, cliff.case) and sizes in (None, cliff.sizes):
            return text
    return ""


def markdown(cliffs: list[Cliff]) -> str:
    """Cliffs of the same sizes for the same reason in one row."""
    rows: dict[tuple[str, tuple[int, int], str], list[Cliff]] = {}
    for cliff in cliffs:
        rows.setdefault((cliff.axis, cliff.sizes, reason(cliff)), []).append(cliff)
    lines = ["| along | from, to | time of a state | why, and until when |", "| --- | --- | --- | --- |"]
    for (axis, (one, two), why), found in rows.items():
        times = "; ".join(f"{each.case} {duration(each.seconds[0])}, {duration(each.seconds[1])}" for each in found)
        lines.append(f"| {axis} | {one:,}, {two:,} | {times} | {why} |")
    return "\n".join(lines)


def page(cliffs: list[Cliff], stops: list[str], count: str, host: dict[str, Any]) -> str:
    """The table, what is refused and what takes too long, and where it was measured."""
    where = f"{host['cpu']} ({host['llvm_cpu']}), {host['lanes']} lanes; {host['system']}"
    listed = "\n".join(f"- {stop}" for stop in stops)
    listed = f"Refused by name, or too slow to go on:\n\n{listed}\n\n" if stops else ""
    return f"{markdown(cliffs)}\n\n{listed}{count}, one thread; {where}; load {host['load']} when it began."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="into docs/performance.md")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", metavar="NAME")
    parser.add_argument("--axis", default="", metavar="NAME", help="axes whose names contain this")
    parser.add_argument("--times", action="store_true", help="every time as well")
    options = parser.parse_args()
    if absent := missing():
        parser.error(f"public functions without a case: {', '.join(sorted(absent))}")
    if options.write and (options.quick or options.only or options.axis):
        parser.error("--write is for all functions and sizes")
    lw.set_threads(1)
    warnings.simplefilter("ignore")
    host, begin = machine(), time.perf_counter()
    cliffs, stops, count = list[Cliff](), list[str](), 0
    for name, axis in _axes().items():
        if options.quick:
            axis = replace(axis, sizes=QUICK.get(name, ()))
        start = time.perf_counter()
        print(f"{name}: {', '.join(map(str, axis.sizes))}", flush=True)
        for case in TABLE:
            quickly = not options.quick or case.name in QUICKLY or axis.kind in ("loops", "contacts")
            if axis.kind not in case.axes or not axis.sizes or not quickly:
                continue
            if options.only not in case.name or options.axis not in name:
                continue
            found, stopped = along(name, axis, case, options.times)
            count += 1
            cliffs += found
            for cliff in found:
                one, two = cliff.seconds
                times = f"{duration(one)}, {duration(two)} ×{cliff.ratio:.1f}"
                print(f"    {cliff.case}, {cliff.sizes}: {times}", flush=True)
            if stopped:
                stops.append(f"{case.name}, {name}: {stopped}")
        print(f"  {time.perf_counter() - start:.0f} s", flush=True)
    text = page(cliffs, stops, f"{count} functions and axes", host)
    print(f"\n{text}\n\n{time.perf_counter() - begin:.0f} s")
    if options.write:
        pages.put(PAGE, "cliffs", text)


if __name__ == "__main__":
    main()
