"""Isomorphic branches, side by side in the lanes of a vector: found where they exist, and with the same bits."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms import ALGORITHMS
from linkwork.compiled import compiling
from linkwork.compiled.law import law
from linkwork.compiled.tracing import trace
from linkwork.errors import TracingError
from linkwork.inside import costs
from linkwork.joints import Free, Joint, Prismatic, Revolute
from linkwork.joints.joint import is_built_in
from linkwork.model import Model
from linkwork.model.isomorphism import MOST_LANES, roles
from linkwork.spatial import Columns, CoordinateAxis, Coordinates, Motion, Subspace, Transform, Vec3, Z, sin_cos
from programs import arguments_of, bits, evaluated, is_about_frames, planned, run_program
from programs import task_of as task_about
from robots import ROBOTS
from strategies import JOINTS, ONE_OF_EACH, random_inertia, random_placement, state_of

# Which branches are alike


def test_two_legs_and_a_tail() -> None:
    found = roles([0, 0, 1, 2, 1, 4, 1], "wabcbcd")
    assert [role.lane for role in found] == [(), (), (0,), (0,), (1,), (1,), ()]
    assert found[2].number == found[4].number != found[3].number == found[5].number


def test_the_order_of_children_does_not_matter() -> None:
    found = roles([0, 0, 1, 2, 2, 1, 5, 5], "wabxybyx")
    assert [role.lane for role in found[2:]] == [(0,)] * 3 + [(1,)] * 3
    assert found[3].number == found[7].number != found[4].number == found[6].number


def test_branches_of_other_kinds_or_shapes_are_not_alike() -> None:
    assert not any(role.lane for role in roles([0, 0, 1, 2, 1, 4], "wabcbd"))
    assert not any(role.lane for role in roles([0, 0, 1, 2, 1, 4, 5], "wabcbcc"))


def test_fingers_of_two_hands_have_lanes_within_lanes() -> None:
    found = roles([0, 0, 1, 2, 2, 1, 5, 5], "wtaffaff")
    assert [role.lane for role in found] == [(), (), (0,), (0, 0), (0, 1), (1,), (1, 0), (1, 1)]
    assert len({found[k].number for k in (3, 4, 6, 7)}) == 1


@pytest.mark.parametrize("branches", [3, 4, 5, 9])
def test_no_more_than_so_many_are_taken_together(branches: int) -> None:
    found = roles([0, *[0] * branches], "w" + "b" * branches)
    sizes = [sum(place.number == kin for place in found[1:]) for kin in {place.number for place in found[1:]}]
    assert max(sizes) <= MOST_LANES and sum(sizes) == branches


@dataclass(frozen=True)
class Screw(Joint):
    """A user's own joint, in degrees."""

    pitch: float = 30.0
    nq, nv, angles = 1, 1, (0,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pitch", self.pitch * math.pi / 180.0)

    def transform(self, q: Coordinates) -> Transform:
        return Transform(Z.rotation(*sin_cos(q[0])), Vec3(0.0, 0.0, self.pitch * q[0]))

    def subspace(self, q: Coordinates) -> Subspace:
        return Columns([Motion(Vec3(0.0, 0.0, self.pitch), Z.direction)])


def test_joints_of_ones_own_are_left_as_they_are() -> None:
    rng = np.random.default_rng(9)
    builder = lw.Builder("screws")
    builder.add_body("hull", joint=Free(), **random_inertia(rng))
    for number, joint in enumerate((Revolute("x"), Revolute("-x"), Screw(20.0), Screw(0.0), Screw())):
        builder.add_body(f"b{number}", "hull", joint, random_placement(rng), **random_inertia(rng))
    model = builder.build()
    s = state_of(model, 4, (3,))
    batch = lw.forward_dynamics(model, s.q, s.v, s.tau)
    for k in range(3):
        assert np.array_equal(bits(lw.forward_dynamics(model, s.q[k], s.v[k], s.tau[k])), bits(batch[k]))


# Programs


def opposite(joint: Joint) -> Joint:
    """With its coordinate axes reversed."""
    values = {field.name: getattr(joint, field.name) for field in fields(joint)}  # type: ignore[arg-type]
    axes = {name: CoordinateAxis("-" + axis.name) for name, axis in values.items() if isinstance(axis, CoordinateAxis)}
    return replace(joint, **axes)  # type: ignore[type-var]


def spider(seed: int, joints: tuple[Joint, ...], legs: int, toes: int) -> Model:
    """A hull with several legs of these joints, toes on each; with numbers that are 0, 1 or -1 in one leg only, and
    opposite axes.
    """
    rng = np.random.default_rng(seed)
    builder = lw.Builder(f"spider{seed}", gravity=(0.3, -0.2, -9.8))
    builder.add_body("hull", joint=Free(), **random_inertia(rng))
    builder.add_body("tail", "hull", Revolute("y"), random_placement(rng), **random_inertia(rng))
    for leg in range(legs):
        parent = "hull"
        for number, joint in enumerate(joints):
            joint = opposite(joint) if leg % 2 and is_built_in(joint) else joint
            plain = lw.placement((0.0, -0.2, 0.1 * number))
            placement = plain if leg == 1 and number % 2 == 0 else random_placement(rng)
            rotor = rng.uniform(0.1, 0.5, size=joint.nv) if number % 2 else 0.0
            name = f"leg{leg}.{number}"
            builder.add_body(name, parent, joint, placement, armature=rotor, **random_inertia(rng))
            parent = name
        for toe in range(toes):
            name = f"leg{leg}.toe{toe}"
            builder.add_body(name, parent, Revolute("x"), random_placement(rng), **random_inertia(rng))
            builder.add_frame(f"tip{leg}.{toe}", name, random_placement(rng) if leg else None)
    return builder.build()


@cache
def spiders() -> tuple[Model, ...]:
    return (
        *(spider(k, JOINTS[k::5], 3 if k == 2 else 2, k % 3) for k in range(5)),
        spider(5, (Revolute("x"), Revolute("y")), 5, 1),
    )


def task_of(name: str, model: Model) -> Any:
    names = [frame for frame in model.frame_names if frame.startswith(("tip", "leg0.0", "leg1.0", "tail"))]
    return task_about(ALGORITHMS[name], model, names if is_about_frames(ALGORITHMS[name], model) else ())


def plan_of(name: str, model: Model) -> Any:
    """Straight code without external forces."""
    return planned(task_about(ALGORITHMS[name], model, absent=("f_ext",)), "specialised")


def arithmetic(program: Any) -> int:
    """Instructions that compute, on however many lanes; those of a subroutine or repeat once."""
    moving, inside = ("load", "store", "vector", "extract", "shuffle", "final"), dict.fromkeys(program.details)
    own = sum(program.operations[n] not in moving for n in program.root.order)
    return own + sum(arithmetic(each.program) for each in inside if hasattr(each, "program"))


@pytest.mark.parametrize(("number", "name"), list(enumerate(name for name in ALGORITHMS if name in ONE_OF_EACH)))
def test_every_algorithm_keeps_its_bits(number: int, name: str) -> None:
    model = spiders()[number % 6]
    task = task_of(name, model)
    arguments = arguments_of(task, state_of(model, number))
    wide, narrow = (evaluated(task, form, arguments) for form in ("specialised, one state", "specialised"))
    for result, expected in zip(wide, narrow, strict=True):
        assert np.array_equal(bits(result), bits(expected)), model.name


@pytest.mark.parametrize("number", [0, 2, 5])
def test_a_text_over_arrays_keeps_its_bits(number: int) -> None:
    model = spiders()[number]
    legs, nv = [name for name in model.frame_names if name.startswith("leg")], model.nv

    def text(q: Any, v: Any, tau: Any) -> Any:
        a = lw.forward_dynamics(model, q, v, tau)
        J, (drift,) = lw.jacobian(model, q, legs[0]), lw.frame_acceleration(model, q, v, a, legs[-1])
        return np.tanh(lw.mass_matrix(model, q) @ a - tau), J.T @ drift

    shapes = {"q": (model.nq,), "v": (nv,), "tau": (nv,)}
    plan: Any = law("text", text, shapes, [(nv,), (nv,)], model, ()).plan
    wide, state = plan.one_state_program, state_of(model, number)
    assert arithmetic(wide) < 0.9 * arithmetic(plan.program)
    found, expected = (
        run_program(each, plan.task.results, [state.q, state.v, state.tau]) for each in (wide, plan.program)
    )
    assert all(np.array_equal(bits(a), bits(b)) for a, b in zip(found, expected, strict=True))


def test_no_instruction_is_wider_than_that() -> None:
    model = spider(11, (Revolute("x"), Revolute("y")), 12, 0)
    program = planned(task_of("articulated_body", model), "specialised").one_state_program
    assert max(program.lanes(n) for n in program.root.order) == MOST_LANES


@pytest.mark.parametrize("name", ["articulated_body", "inverse_dynamics"])
def test_legs_that_are_alike_cost_as_much_as_one(name: str) -> None:
    joints = (Revolute("z"), Revolute("x"), Revolute("y"), Revolute("y"))
    four, one = (spider(7, joints, legs, 0) for legs in (4, 1))
    wide, alone = (arithmetic(plan_of(name, model).one_state_program) for model in (four, one))
    assert wide < 1.3 * alone < 0.5 * arithmetic(plan_of(name, four).program)


def test_a_mechanism_without_such_branches_keeps_its_program() -> None:
    plan = plan_of("articulated_body", lw.mechanisms.rope(7))
    assert plan.one_state_program is plan.program


@pytest.mark.filterwarnings("ignore::linkwork.LinkworkWarning")
@pytest.mark.parametrize("part", ["g1_29dof_rev_1_0", "talos_reduced", "/a1", "anymal_c"])
def test_most_of_a_real_robot_is_alike(part: str) -> None:
    model = lw.load(next(path for path in ROBOTS if part in str(path)), floating_base=True)
    plan = plan_of("articulated_body", model)
    assert arithmetic(plan.one_state_program) < 0.62 * arithmetic(plan.program)


def test_several_roots_and_frames_on_the_world() -> None:
    builder, rng = lw.Builder("two arms"), np.random.default_rng(8)
    for side in ("left", "right"):
        parent = "world"
        for k in range(3):
            inertia = random_inertia(rng)
            parent = builder.add_body(f"{side}{k}", parent, Revolute("xyz"[k]), random_placement(rng), **inertia)
    model = builder.build()
    task = task_about(ALGORITHMS["operational/chang_khatib"], model, ("world", "left2", "right2", "right2", "left0"))
    (wide,), (narrow,) = (
        evaluated(task, form, [state_of(model, 3).q]) for form in ("specialised, one state", "specialised")
    )
    assert np.array_equal(wide, narrow)
    plan = planned(task, "specialised")
    assert arithmetic(plan.one_state_program) < 0.8 * arithmetic(plan.program)


# Machine code


@pytest.mark.parametrize("number", [2, 5])
def test_one_state_has_the_bits_of_the_interpreter(number: int) -> None:
    model = spiders()[number]
    state = state_of(model, number, (2,))
    tips = [name for name in model.frame_names if name.startswith(("leg0", "leg1"))]
    points = [lw.Point(name, (0.1, 0.2 * k, 0.0)) for k, name in enumerate(tips[:3])]
    for k in range(2):
        given = model, state.q[k], state.v[k], state.tau[k], state.f_ext[k]
        with lw.interpreted():
            a, inertia = lw.forward_dynamics(*given), lw.operational_inertia_inverse(model, state.q[k], points)
        assert np.array_equal(bits(lw.forward_dynamics(*given)), bits(a))
        assert np.array_equal(bits(lw.operational_inertia_inverse(model, state.q[k], points)), bits(inertia))


def test_a_zero_in_one_branch_only_does_not_meet_an_infinite_number() -> None:
    """A bob whirls so fast that its centrifugal force overflows, on an arm without an offset; the other arm has one."""
    builder = lw.Builder("whirling bobs")
    for side, offset in (("left", 0.0), ("right", 0.5)):
        wheel = builder.add_body(f"{side} wheel", joint=Revolute("z"), mass=1.0, inertia=np.eye(3))
        place = lw.placement((1.0, offset, 0.0))
        builder.add_body(f"{side} bob", wheel, Prismatic("z"), place, mass=1.0, inertia=np.eye(3))
    model, zero, v = builder.build(), np.zeros(4), np.array([1e200, 0.0, 0.0, 0.0])
    alone = plan_of("inverse_dynamics", model)
    assert alone.one_state_program is not alone.program
    for _ in range(3):
        assert np.array_equal(lw.inverse_dynamics(model, zero, v, zero), [0.0, 9.81, 0.0, 9.81])
        assert np.array_equal(lw.inverse_dynamics(model, zero, np.array([v, v]), zero), [[0.0, 9.81, 0.0, 9.81]] * 2)


def test_a_user_s_function_computes_branches_side_by_side_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    model = lw.mechanisms.binary_tree(3)

    def law(q: Any, v: Any) -> Any:
        return lw.forward_dynamics(model, q, v, -0.1 * v) + lw.mass_matrix(model, q) @ v

    fast = lw.compile(law, q=model.nq, v=model.nv)
    state = state_of(model, 2, (5,))
    many, alone = fast(state.q, state.v), fast(state.q[3], state.v[3])
    assert alone.tobytes() == many[3].tobytes()
    plan: Any = fast.plan
    assert arithmetic(plan.one_state_program) < 0.8 * arithmetic(plan.program)

    def refusing(*what: Any, isomorphic: bool = False, warns: bool = True) -> Any:
        if isomorphic:
            raise TracingError("a number that is hidden is asked for", "")
        return trace(*what)

    monkeypatch.setattr(compiling, "trace", refusing)
    plain = lw.compile(law, q=model.nq, v=model.nv)
    assert plain._task.branches is None and plain(state.q[3], state.v[3]).tobytes() == alone.tobytes()


def test_what_a_zero_of_other_branches_loses_is_not_hidden_by_a_choice() -> None:
    """A velocity overflows in one branch, where all others have a number for its zero; np.clip makes all finite."""
    builder, solid = lw.Builder("arms"), {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
    base = builder.add_body("base", joint=Revolute("z"), **solid)
    for k, rpy in enumerate([(0.0, 0.0, 0.0), (0.3, 0.2, 0.1), (0.5, 0.2, 0.3)]):
        arm = builder.add_body(f"arm{k}", base, Revolute("y"), lw.placement((2.0, 0.0, 0.0), rpy), **solid)
        builder.add_frame(f"tip{k}", arm, lw.placement((0.1, 0.0, 0.0)))
    model = builder.build()
    tips = [f"tip{k}" for k in range(3)]
    law = lw.compile(lambda q, w: np.clip(lw.frame_velocity(model, q, w, tips)[:, [0, 2]], -1.0, 1.0), q=4, w=4)
    q, w = np.zeros((5, 4)), np.full((5, 4), 0.5)
    w[2, 0] = 1.7e308
    plan: Any = law.plan
    assert arithmetic(plan.one_state_program) < arithmetic(plan.program)
    alone, many = law(q[2], w[2]), law(q, w)
    assert alone.tobytes() == many[2].tobytes() and np.array_equal(many[2, 0], [0.0, -0.05])


def test_over_time_branches_are_side_by_side_and_have_the_bits_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rollout of one trajectory, plain and with a law, one that diverges, and a simulation."""
    model = lw.mechanisms.binary_tree(3)
    state = state_of(model, 2, (3,))
    q, v = state.q, 0.1 * state.v
    law = lw.compile(lambda t, q, v: -0.1 * v * np.cos(t), t=(), q=model.nq, v=model.nv)
    fast = np.array([1.0, 1e160, 1.0])[:, None] * v  # velocities of which one is lost
    runs: list[tuple[Any, dict[str, Any]]] = [(v, {}), (v, {"torque": law}), (fast, {"diverged": "nan"})]
    for velocity, given in runs:
        many = lw.rollout(model, q, velocity, dt=1e-3, steps=6, **given)
        alone = lw.rollout(model, q[1], velocity[1], dt=1e-3, steps=6, **given)
        assert alone.q.tobytes() == many.q[1].tobytes() and alone.v.tobytes() == many.v[1].tobytes()
    assert not np.isfinite(alone.v).all()

    for integrator in ("semi_implicit_euler", "runge_kutta_4"):
        with costs(interpreted=0):
            found = lw.simulate(model, q[0], v[0], 0.01, 1e-3, integrator=integrator)
        with lw.interpreted():
            expected = lw.simulate(model, q[0], v[0], 0.01, 1e-3, integrator=integrator)
        assert found.q.tobytes() == expected.q.tobytes() and found.a.tobytes() == expected.a.tobytes()
    plans = [plan for plan in model._memo.plans.values() if "Traced" in type(getattr(plan, "source", None)).__name__]
    assert len(plans) == 4  # rollouts with a law and without, and two integrators
    for plan in plans:
        assert arithmetic(plan.one_state_program) < 0.8 * arithmetic(plan.program)
