"""Random mechanisms and states, for every test that needs some.

Mechanisms come from a fixed pool of seeds, so that a form which compiles them does so a few dozen times only;
hypothesis chooses among them and chooses the states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from functools import cache, wraps
from itertools import product
from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

import linkwork as lw
from linkwork.algorithms import ALGORITHMS, FORWARD_DYNAMICS, FRAMES, OPERATIONAL, REFERENCES
from linkwork.joints import (
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from linkwork.model import Body, Model
from linkwork.spatial import Columns, Coordinates, Motion, Quaternion, Subspace, Transform, Vec3, X, Z, sin_cos

Array = NDArray[np.float64]

FORMS = ("interpreted", "specialised", "rolled")
"""The forms of ``linkwork.engine.mode``, in which an algorithm can run."""


@dataclass(frozen=True)
class Cam(Joint):
    """A user's own joint: as it rotates by q[0] about z, a cam lifts it by lift·sin(2 q[0]); it slides along x by q[1].

    Its subspace varies with q and its two motions do not commute, so that every term of an algorithm is used.
    """

    lift: float = 0.3
    nq, nv, angles = 2, 2, (0,)

    def transform(self, q: Coordinates) -> Transform:
        twice, _ = sin_cos(2.0 * q[0])
        return Transform(Z.rotation(*sin_cos(q[0])), Vec3(q[1], 0.0, self.lift * twice))

    def subspace(self, q: Coordinates) -> Subspace:
        sine, cosine = sin_cos(q[0])
        _, twice = sin_cos(2.0 * q[0])
        turn = Motion(Vec3(0.0, 0.0, 2.0 * self.lift * twice), Z.direction)
        return Columns([turn, Motion(Vec3(cosine, -sine, 0.0), Vec3.zero())])

    def bias(self, q: Coordinates, v: Coordinates) -> Motion:
        sine, cosine = sin_cos(q[0])
        twice, _ = sin_cos(2.0 * q[0])
        rise = -4.0 * self.lift * twice * v[0] * v[0]
        return Motion(Vec3(-sine * v[0] * v[1], -cosine * v[0] * v[1], rise), Vec3.zero())


@dataclass(frozen=True)
class Crank(Joint):
    """A user's own joint with an axis: an eccentric of radius ``arm``, turning by q[0] about an axis."""

    axis: Any = X
    arm: float = 0.2
    nq, nv, angles = 1, 1, (0,)

    def transform(self, q: Coordinates) -> Transform:
        turn = self.axis.rotation(*sin_cos(q[0]))
        return Transform(turn, turn.apply(Vec3(self.arm, self.arm, self.arm)))

    def subspace(self, q: Coordinates) -> Subspace:
        axis = self.axis.direction
        return Columns([Motion(axis.cross(Vec3(self.arm, self.arm, self.arm)), axis)])


KNOWN_TO_PINOCCHIO: tuple[Joint, ...] = (
    Revolute("x"),
    Revolute("y"),
    Revolute("z"),
    Revolute((1.0, 2.0, 3.0)),
    Prismatic("x"),
    Prismatic("z"),
    Prismatic((1.0, -1.0, 0.3)),
    Helical("z", 0.3),
    Helical((1.0, 2.0, 0.4), -0.2),
    Universal("x", "y"),
    Universal((1.0, 2.0, 0.5), (0.2, -0.4, 1.2)),
    Planar(),
    Spherical(),
    Free(),
)
JOINTS: tuple[Joint, ...] = (
    *KNOWN_TO_PINOCCHIO,
    Fixed(),
    Cylindrical("y"),
    Cylindrical((0.5, -1.0, 2.0)),
    Cam(),
    Crank(),
)
"""One of every joint kind, with coordinate axes and others."""


def close(actual: Any, expected: Any, relative: float, scale: float = 0.0, what: str = "result") -> None:
    """Equal within ``relative`` of the largest number of the two, or of ``scale`` where that is larger."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    size = max(np.abs(expected).max(initial=0.0), np.abs(actual).max(initial=0.0), scale)
    worst = np.abs(actual - expected).max(initial=0.0)
    assert worst <= relative * size, f"{what} is off by {worst:.3g} where numbers are up to {size:.3g}"


def random_placement(rng: np.random.Generator) -> Transform:
    turn = Quaternion(*map(float, rng.normal(size=4))).normalized().matrix()
    return Transform(turn, Vec3(*map(float, rng.uniform(-0.6, 0.6, size=3))))


def random_inertia(rng: np.random.Generator) -> dict[str, Any]:
    """Mass, centre of mass and a physically consistent inertia, as arguments of ``add_body``."""
    mass = float(rng.uniform(0.5, 3.0))
    spread = rng.normal(size=(3, 3)) * 0.2
    scatter = mass * (spread @ spread.T + 0.01 * np.eye(3))
    return {"mass": mass, "com": rng.uniform(-0.3, 0.3, size=3), "inertia": np.trace(scatter) * np.eye(3) - scatter}


def random_tree(seed: int, joints: Sequence[Joint], size: int | None = None, name: str = "") -> Model:
    """A tree with its bodies in depth-first order, with ``size`` joints out of ``joints`` (all of them by default).

    About a third of the joints have rotors, and about one body in eight is attached to the world.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(joints)) if size is None else rng.integers(len(joints), size=size)
    builder = lw.Builder(name or f"tree{seed}", gravity=rng.normal(size=3) * 5.0)
    path = ["world"]  # from the world to the latest body: a child of any of these keeps the order depth first
    for number, kind in enumerate(order):
        joint = joints[int(kind)]
        up = int(rng.choice([0, 0, 0, 1, 2]))
        path = path[: 1 if rng.random() < 0.12 else max(min(2, len(path)), len(path) - up)]
        rotor = rng.uniform(0.1, 0.5, size=joint.nv) if rng.random() < 0.35 else 0.0
        body = builder.add_body(
            f"b{number}", path[-1], joint, random_placement(rng), armature=rotor, **random_inertia(rng)
        )
        builder.add_frame(f"f{number}", body, random_placement(rng))
        path.append(body)
    builder.add_frame("post", "world", random_placement(rng))
    return builder.build()


@cache
def pool() -> tuple[Model, ...]:
    """The mechanisms of the law tests: one with every joint kind, one of each difficult kind, small random trees."""
    return (
        random_tree(100, JOINTS, name="every_kind"),
        random_tree(101, (Cam(), Crank(), Universal()), 5, name="subspaces_that_vary"),
        random_tree(102, (Free(),), 3, name="free_boxes"),
        random_tree(103, (Fixed(), Revolute("y")), 7, name="many_fixed"),
        *(random_tree(seed, JOINTS, 1 + seed % 8) for seed in range(1, 9)),
    )


@cache
def pool_to_compile() -> tuple[Model, ...]:
    """The same for forms that compile: trees of four joint kinds each, which among them hold every kind.

    Rolled code with loops within loops has a case for every pair of kinds: trees of many kinds compile slowly.
    """
    parts = tuple(random_tree(110 + part, JOINTS[part::5], name=f"kinds{part}") for part in range(5))
    return (*parts, *pool()[1:4])


FEW_FRAMES = ("f4", "post")


@cache
def few_kinds() -> Model:
    """A small tree for tests of all functions in all forms: the same everywhere, so that its code is compiled once."""
    return random_tree(462, (Spherical(), Revolute((1.0, 2.0, 3.0)), Fixed()), 5, name="few_kinds")


_form = ContextVar("form of the test", default="auto")


def current_form() -> str:
    """The form that the fixture ``engine`` has requested."""
    return _form.get()


@contextmanager
def in_form(name: str) -> Iterator[None]:
    token = _form.set(name)
    try:
        with lw.form(name):
            yield
    finally:
        _form.reset(token)


def models_of_form() -> tuple[Model, ...]:
    """All mechanisms where nothing is compiled; otherwise a tree of many kinds. Laws test the algorithm's source, and
    test_bits compares the bits of every algorithm's code with the interpreter's, on trees that together have every
    kind.
    """
    trees = {"specialised": pool_to_compile()[2:3], "rolled": pool_to_compile()[3:4]}
    return pool() if current_form() == "interpreted" else trees.get(current_form(), pool_to_compile()[2:4])


@cache
def floating() -> tuple[Model, ...]:
    """Mechanisms in free flight: one free root, any joints behind it, and no rotors (they carry no momentum)."""
    return tuple(_on_free_root(random_tree(seed, JOINTS, 4)) for seed in (200, 201, 202))


def floating_of_form() -> tuple[Model, ...]:
    """All of these where nothing is compiled, otherwise one, as in ``models_of_form``; another in each form."""
    part = {"specialised": slice(0, 1), "rolled": slice(1, 2)}.get(current_form(), slice(None))
    return floating()[part]


def _on_free_root(tree: Model) -> Model:
    rng = np.random.default_rng(tree.nv)
    builder = lw.Builder(tree.name + "_floating", tree.gravity)
    builder.add_body("hull", joint=Free(), **random_inertia(rng))
    (hull,) = builder.build().bodies
    bodies = [hull, *(replace(body, parent=body.parent + 1, armature=()) for body in tree.bodies)]
    frames = [lw.Frame(body.name, index, Transform.identity()) for index, body in enumerate(bodies, 1)]
    return Model(builder.name, tuple(bodies), tuple(frames), tree.gravity)


@dataclass(frozen=True, repr=False)
class State:
    """Arguments for every function of one mechanism, all with the same batch dimensions."""

    model: Model
    q: Array
    v: Array
    a: Array
    tau: Array
    f_ext: Array
    q1: Array
    dq: Array
    dv: Array
    da: Array
    dtau: Array
    weights: Array
    df_ext: Array
    dparameters: Array
    seed: int = -1

    def __repr__(self) -> str:
        return f"state_of({self.model!r}, {self.seed}, {self.batch})"

    @property
    def batch(self) -> tuple[int, ...]:
        return self.q.shape[:-1]


def state_of(model: Model, seed: int, batch: tuple[int, ...] = ()) -> State:
    rng = np.random.default_rng(seed)
    q, v = lw.random_state(model, rng, shape=batch)
    q1, _ = lw.random_state(model, rng, shape=batch)
    a, tau = rng.normal(size=(2, *batch, model.nv)) * 3.0
    f_ext = rng.normal(size=(*batch, len(model.bodies), 6)) * 2.0
    dq, dv, da, dtau, weights = rng.normal(size=(5, *batch, model.nv))
    df_ext, dparameters = (rng.normal(size=(*batch, len(model.bodies), count)) for count in (6, 10))
    return State(model, q, v, a, tau, f_ext, q1, dq, dv, da, dtau, weights, df_ext, dparameters, seed)


ARRAYS = tuple(field.name for field in fields(State) if field.type == "Array")
"""The arguments that a state has, by name."""


def _calls() -> dict[str, Callable[[State, Sequence[str]], Any]]:
    every: dict[str, Callable[[State, Sequence[str]], Any]] = {
        "frame_placements": lambda s, frames: lw.forward_kinematics(s.model, s.q, frames),
        "centre_of_mass": lambda s, frames: lw.centre_of_mass(s.model, s.q),
        "energy": lambda s, frames: lw.energy(s.model, s.q, s.v),
        "momentum": lambda s, frames: lw.momentum(s.model, s.q, s.v),
        "inverse_dynamics": lambda s, frames: lw.inverse_dynamics(s.model, s.q, s.v, s.a, s.f_ext),
        "nonlinear_effects": lambda s, frames: lw.nonlinear_effects(s.model, s.q, s.v),
        "gravity_torques": lambda s, frames: lw.gravity_torques(s.model, s.q),
        "mass_matrix": lambda s, frames: lw.mass_matrix(s.model, s.q),
        "integrate": lambda s, frames: lw.integrate(s.model, s.q, s.dv),
        "difference": lambda s, frames: lw.difference(s.model, s.q, s.q1),
    }
    every |= {
        "inverse_dynamics_derivatives": lambda s, frames: lw.inverse_dynamics_derivatives(
            s.model, s.q, s.v, s.a, s.f_ext
        ),
        "forward_dynamics_derivatives": lambda s, frames: lw.forward_dynamics_derivatives(
            s.model, s.q, s.v, s.tau, s.f_ext
        ),
        "mass_matrix_inverse": lambda s, frames: lw.mass_matrix_inverse(s.model, s.q),
        "torque_regressor": lambda s, frames: lw.torque_regressor(s.model, s.q, s.v, s.a),
        "momentum_derivatives": lambda s, frames: lw.momentum_derivatives(s.model, s.q, s.v),
        "inverse_dynamics_vjp": lambda s, frames: lw.inverse_dynamics_vjp(s.model, s.q, s.v, s.a, s.weights, s.f_ext),
        "forward_dynamics_vjp": lambda s, frames: lw.forward_dynamics_vjp(s.model, s.q, s.v, s.tau, s.weights, s.f_ext),
        "inverse_dynamics_jvp": lambda s, frames: lw.inverse_dynamics_jvp(
            s.model, s.q, s.v, s.a, s.dq, s.dv, s.da, s.f_ext, s.df_ext
        ),
        "forward_dynamics_jvp": lambda s, frames: lw.forward_dynamics_jvp(
            s.model, s.q, s.v, s.tau, s.dq, s.dv, s.dtau, s.f_ext, s.df_ext
        ),
        "inverse_dynamics_jvp/parameters": lambda s, frames: lw.inverse_dynamics_jvp(
            s.model, s.q, s.v, s.a, s.dq, s.dv, s.da, s.f_ext, s.df_ext, s.dparameters
        ),
        "forward_dynamics_jvp/parameters": lambda s, frames: lw.forward_dynamics_jvp(
            s.model, s.q, s.v, s.tau, s.dq, s.dv, s.dtau, s.f_ext, s.df_ext, s.dparameters
        ),
    }
    every["force_responses"] = lambda s, frames: lw.force_responses(s.model, s.q, frames)
    for method in OPERATIONAL:
        every[f"operational/{method}"] = lambda s, frames, m=method: lw.operational_inertia_inverse(
            s.model, s.q, frames, method=m
        )
    for method in FORWARD_DYNAMICS:
        every[method] = lambda s, frames, m=method: lw.forward_dynamics(s.model, s.q, s.v, s.tau, s.f_ext, method=m)
    for method, frame in product(("articulated_body", "virtual_work"), FRAMES):
        every[f"{method}_reactions/{frame}"] = lambda s, frames, m=method, f=frame: lw.forward_dynamics_and_reactions(
            s.model, s.q, s.v, s.tau, s.f_ext, m, f
        )
    for frame in FRAMES:
        every[f"inverse_dynamics_reactions/{frame}"] = lambda s, frames, f=frame: lw.inverse_dynamics_and_reactions(
            s.model, s.q, s.v, s.a, s.f_ext, f
        )
    for reference in REFERENCES:
        every |= {
            f"jacobian/{reference}": lambda s, frames, r=reference: lw.jacobian(s.model, s.q, frames, r),
            f"frame_velocities/{reference}": lambda s, frames, r=reference: lw.frame_velocity(
                s.model, s.q, s.v, frames, r
            ),
            f"frame_accelerations/{reference}": lambda s, frames, r=reference: lw.frame_acceleration(
                s.model, s.q, s.v, s.a, frames, r
            ),
            f"frame_velocity_derivatives/{reference}": lambda s, frames, r=reference: lw.frame_velocity_derivatives(
                s.model, s.q, s.v, frames, r
            ),
            f"frame_acceleration_derivatives/{reference}": lambda s, frames, r=reference: (
                lw.frame_acceleration_derivatives(s.model, s.q, s.v, s.a, frames, r)
            ),
            f"jacobian_drift/{reference}": lambda s, frames, r=reference: lw.jacobian_drift(
                s.model, s.q, s.v, frames, r
            ),
        }
    return every


CALLS = _calls()
"""Every public function as a function of a state and frames, by the name of its algorithm in the catalogue."""

FAMILIES = {
    name
    for name in {name if "operational" in name else name.partition("/")[0]: name for name in reversed(CALLS)}.values()
    if "_jvp" not in name and not ("frame" in name and "derivatives" in name)
}
"""One name for each algorithm source: names that differ only after a slash share one, with another reference or other
arguments.
"""
ONE_OF_EACH = list({ALGORITHMS[name].results: name for name in sorted(FAMILIES)}.values())
"""A function for each kind of results."""
ASKED = {"interpreted": set(CALLS), "specialised": set(ONE_OF_EACH[::2]), "rolled": set(ONE_OF_EACH[1::2])}
"""The functions that are tested in each form for behaviour that the engine has in common: of compiled code, which is
slow to make, one for each kind of results, in the two forms by turns. test_bits compiles all of it.
"""


batches = st.sampled_from([(), (), (1,), (3,), (2, 2)])


@dataclass(frozen=True)
class Choice:
    """An index of a mechanism of the pool, and of its state; the pool is known when the test runs."""

    number: int
    seed: int
    batch: tuple[int, ...]

    def state(self, models: Sequence[Model]) -> State:
        """Where code is compiled, single states in one form and batches in the other: each is code of its own."""
        batch = {"specialised": (), "rolled": self.batch or (2,)}.get(current_form(), self.batch)
        return state_of(models[self.number % len(models)], self.seed, batch)


choices = st.builds(Choice, st.integers(0, 11), st.integers(0, 2**32 - 1), batches)


def law(models: Sequence[Model] | Callable[[], Sequence[Model]] = models_of_form, *more: Any) -> Any:
    """A test of any mechanism in any state; the first five, which have every joint kind, are always included."""

    def decorate(test: Any) -> Any:
        @wraps(test)
        def run(s: Choice, **rest: Any) -> None:
            test(s.state(models() if callable(models) else models), **rest)

        law: Any = given(choices, *more)(run)
        for number in range(5) if not more else ():
            law = example(Choice(number, number, (3,) if number % 2 else ()))(law)
        return law

    return decorate


def renumbered(model: Model, rng: np.random.Generator) -> Model:
    """The same mechanism with its bodies in another order in which parents still come first."""
    waiting = list(range(1, len(model.bodies) + 1))
    new_index = {0: 0}
    bodies: list[Body] = []
    while waiting:
        ready = [index for index in waiting if model.bodies[index - 1].parent in new_index]
        index = int(rng.choice(ready))
        waiting.remove(index)
        bodies.append(replace(model.bodies[index - 1], parent=new_index[model.bodies[index - 1].parent]))
        new_index[index] = len(bodies)
    frames = tuple(replace(frame, body=new_index[frame.body]) for frame in model.frames)
    return Model(model.name + "_renumbered", tuple(bodies), frames, model.gravity)
