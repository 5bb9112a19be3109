"""The form in which a task is computed, the arguments of its code, and the properties of spaces."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms import ALGORITHMS, CHAIN_METHODS, SEGMENTS, STUDIES, along
from linkwork.engine.emit import builtin
from linkwork.engine.emit.call_frame import Interface
from linkwork.engine.emit.carrying import carried
from linkwork.engine.function import function
from linkwork.engine.ir.layout import WIDTHS
from linkwork.engine.mode import current_form
from linkwork.engine.plans import Task, form_of, looped, plan_for
from linkwork.engine.plans.loops import BodyLoops, Looped
from linkwork.engine.plans.one_state import by_segments, segment_tree
from linkwork.engine.plans.permuted import Permuted
from linkwork.engine.plans.plan import Interpreted, Plan
from linkwork.engine.plans.specialised import Specialised
from linkwork.engine.plans.straight_line import StraightLine
from linkwork.engine.spaces import SPACES
from linkwork.engine.trace import tables
from linkwork.engine.trace.tables import BODIES, FRAMES, JUNCTIONS, packed
from linkwork.inside import costs
from linkwork.model import Model
from linkwork.model.tree import depth_first
from linkwork_lab.studies import ORIGINAL
from strategies import Array, pool, state_of

ROOT = Path(__file__).parent.parent


def comb(length: int) -> Model:
    """A chain with a side branch on its first link, numbered last."""
    builder, parent = lw.Builder("comb"), "world"
    for k in range(length):
        mass = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)}
        parent = builder.add_body(f"b{k}", parent, lw.joints.Revolute("xyz"[k % 3]), lw.placement((0.1, 0, 0)), **mass)
        if k == 0:
            builder.add_body("side", parent, lw.joints.Revolute("x"), lw.placement((0, 0.1, 0)), **mass)
    return builder.build()


CHAIN, LONG, STAR, COMB = (
    lw.mechanisms.serial_chain(4),
    lw.mechanisms.serial_chain(60),
    lw.mechanisms.star(60),
    comb(60),
)


@pytest.mark.parametrize(
    ("name", "model", "form", "plan"),
    [
        ("articulated_body", CHAIN, "auto", StraightLine),
        ("articulated_body", CHAIN, "rolled", Looped),
        ("articulated_body", CHAIN, "interpreted", Interpreted),
        ("articulated_body", LONG, "auto", Looped),
        ("articulated_body", LONG, "specialised", StraightLine),
        ("operational_inertia/pv", CHAIN, "rolled", StraightLine),
        ("constraint_force", CHAIN, "auto", StraightLine),
        ("constraint_force", CHAIN, "rolled", StraightLine),
        ("constraint_force", LONG, "auto", Looped),
        ("constraint_force", LONG, "rolled", Looped),
        ("constraint_force", LONG, "specialised", StraightLine),
        ("constraint_force", LONG, "interpreted", Interpreted),
        ("constraint_force", COMB, "auto", Permuted),
        ("constraint_force", COMB, "interpreted", Permuted),
        ("constraint_force", STAR, "auto", Interpreted),
        ("constraint_force_world", LONG, "auto", Interpreted),
        ("virtual_work_split", CHAIN, "auto", Interpreted),
        ("virtual_work_split", CHAIN, "specialised", StraightLine),
        ("virtual_work_split", CHAIN, "rolled", Permuted),
        ("virtual_work_unsplit", CHAIN, "rolled", Looped),
        ("inversion", LONG, "auto", StraightLine),
    ],
)
def test_the_planner_decides(name: str, model: Model, form: str, plan: type[Plan]) -> None:
    task = Task(ALGORITHMS[name], model, (), [model.frame(lw.mechanisms.serial_chain(1).frame_names[0])] * 2)
    assert type(plan_for(task, form)) is plan


def test_long_chains_are_interpreted_by_the_text_that_is_compiled() -> None:
    plan = plan_for(Task(ALGORITHMS["constraint_force"], LONG), "interpreted")
    assert isinstance(plan.task, Task) and plan.task.algorithm is SEGMENTS
    assert type(plan_for(Task(along("constraint_force", 60), LONG))) is Interpreted


def test_code_that_would_be_too_long_is_rolled(monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task(ALGORITHMS["articulated_body"], lw.mechanisms.rope(5))
    monkeypatch.setattr(StraightLine, "is_kept", False)
    with costs(straight_alone=10):
        assert type(plan_for(task)) is Looped
        assert type(plan_for(task, "straight")) is StraightLine
        monkeypatch.setattr(StraightLine, "is_kept", True)
        assert type(plan_for(task)) is StraightLine
    assert Specialised(task).fits(10_000) and not Specialised(task).fits(1000)  # by its end; not traced so far


def test_batches_are_rolled_where_straight_code_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkwork.engine.code.loader.is_kept", lambda key: False)
    task = Task(ALGORITHMS["mass_matrix"], CHAIN)
    plan, q = plan_for(task), np.random.default_rng(0).normal(size=(3, 4))
    assert isinstance(plan, StraightLine) and plan.for_batches is plan
    with costs(straight_in_batches=10):
        plan = plan_for(task)
        assert isinstance(plan, StraightLine) and type(plan.for_batches) is Looped
    (many,), status = plan.run([q], 3)
    assert status == 0 and not plan._codes
    for row, one in zip(many, q, strict=True):
        assert np.array_equal(row, plan.run([one[None]], 1)[0][0][0])


def test_a_walk_of_one_state_hands_over_what_the_next_body_reads() -> None:
    loops = BodyLoops(Task(ALGORITHMS["inverse_dynamics"], lw.mechanisms.binary_tree(4), absent=("f_ext",)))
    program = loops.program
    walks = [program.details[n] for n in program.root.order if program.operations[n] == "loop"]
    found = [carried(program, walk) for walk in walks]
    assert any(found) and ".left0 = phi" in loops.text(1) and ".left0 = phi" not in loops.text(2)
    for each in filter(None, found):
        for case in each.cases.values():
            assert set(case.loaded) <= set(each.places) == set(case.stored) and case.source != case.row

    walk, before = next((walk, each) for walk, each in zip(walks, found, strict=True) if each)
    block = walk.cases[0][1]
    stores = [n for n in block.order if program.operations[n] == "store" and program.details[n].array == "work"]
    twice = next(n for n in stores if program.details[n].offset == before.places[0][0])
    block.order.append(twice)  # what is stored twice, in whatever row, may not be the last one's
    after = carried(program, walk)
    assert after and set(before.places) - set(after.places) == {before.places[0]}


def test_bodies_that_a_body_carries_are_walked_depth_first() -> None:
    parents = [0, 0, 1, 1, 2, 0, 5]  # of the world and bodies 1 to 6, not numbered depth first
    assert depth_first(parents) == [
        *((6, 1, 0, 0), (0, 2, 5, 1), (1, 4, 3, 2), (4, 5, 5, 2), (2, 3, 3, 3), (3, 6, 0, 1), (5, 0, 0, 2))
    ]


def test_a_form_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="form must be one of auto, interpreted, straight, looped, not 'fast'"):
        form_of(ALGORITHMS["articulated_body"], CHAIN, "fast")


def test_every_algorithm_says_which_forms_it_has() -> None:

    for name, algorithm in ALGORITHMS.items():
        assert algorithm.name == name and {*algorithm.forms} <= {"specialised", "rolled", "segmented"}
        assert bool(algorithm.forms) == (name not in (*STUDIES, ORIGINAL.name))
        assert (algorithm.segmented is None) == (name != "constraint_force")
        assert "rolled" not in algorithm.forms or name not in CHAIN_METHODS
        for space in (*(space for _, space in algorithm.arguments), *algorithm.results):
            assert space in SPACES


# What code is called with


def test_words_are_packed_by_name_and_none_is_missing_or_unknown() -> None:
    frame = Interface((3,), (2,), ("last_body",)).batch
    values = {name: 10 + k for k, (_, name) in enumerate(frame.words)}
    assert list(values) == [
        *("states", "whole", "buffer", "argument0", "argument0_stride", "result0"),
        *("work", "square", "data", "ints", "last_body"),
    ]
    assert frame.pack(dict(reversed(values.items()))).tolist() == list(values.values())
    assert frame.indices(["result0", "states"]) == [5, 0]
    with pytest.raises(KeyError, match="last_body"):
        frame.pack({name: value for name, value in values.items() if name != "last_body"})
    with pytest.raises(KeyError, match="speed"):
        frame.pack({**values, "speed": 1})


def test_plans_tell_code_exactly_the_words_that_it_reads() -> None:
    batch = {"states", "whole", "buffer", "argument0", "argument0_stride", "result0"}
    one = {"team", "crew", "argument0", "argument1", "argument2", "result0"}
    task = Task(ALGORITHMS["mass_matrix"], CHAIN)
    plans: list[tuple[Looped, str, set[str]]] = [
        (Looped(task, BodyLoops(task)), "batch", batch),
        (by_segments(Task(SEGMENTS, LONG, ("f_ext",)), lanes=1), "one_state", one),
    ]
    for plan, name, call in plans:
        code, _ = plan.code(1)
        told = {**plan.tables(code, name), **plan.workspace(code, 1, name)}
        assert {*told, *call} == {word for _, word in getattr(plan.interface, name).words}
        assert not told.keys() & call and plan.words(name, 1).any()
    widths = dict.fromkeys(WIDTHS, 1)
    assert {*tables.SIZES} <= {*BodyLoops(Task(ALGORITHMS["energy"], CHAIN)).sizes(widths, False)}
    assert {*segment_tree.SIZES} <= {*by_segments(Task(SEGMENTS, LONG)).loops.tables(False).sizes}


def test_sections_of_integers_lie_one_behind_the_other() -> None:
    ints, begins = packed([(BODIES, np.arange(8)), (FRAMES, [7, 8, 9]), (JUNCTIONS, [(1, 2)])])
    assert ints.tolist() == [*range(8), 7, 8, 9, 1, 2] and begins == {"frame_ints": 8, "junction_ints": 11}
    assert BODIES.address("parent", 5).terms == ((5, 4),) and BODIES.address("parent", 5).offset == 1
    assert JUNCTIONS.address("next", None).terms == ((-1, "junction_ints"),)


# Spaces


@pytest.mark.parametrize("name", ["configuration", "velocity", "wrenches"])
def test_numbers_go_to_bodies_and_back(name: str) -> None:
    model, space = pool()[3], SPACES[name]
    numbers = [float(k) for k in range(space.size(model, 0))]
    assert space.gather(model, 0, space.scatter(model, numbers)) == numbers
    owners = list(space.owners(model))
    assert sum(owner.length for owner in owners) == len(numbers) and len(owners) == len(model.bodies)


def test_a_number_is_named_by_its_joint_or_body() -> None:
    model = lw.mechanisms.serial_chain(3, "spherical")
    assert SPACES["configuration"].coordinate(model, (4,)) == "joint 'joint2'"
    assert SPACES["velocity"].coordinate(model, (8,)) == "joint 'joint3'"
    assert SPACES["wrenches"].coordinate(model, (1, 5)) == "body 'body2'"


# What is kept with a model


def test_a_plan_is_made_once_and_kept_with_its_model_alone() -> None:
    model: Model = pickle.loads(pickle.dumps(CHAIN))
    algorithm = ALGORITHMS["energy"]
    assert function(algorithm, model) is function(algorithm, model) is not function(algorithm, model, form="rolled")
    assert function(algorithm, model, form="interpreted") is not function(algorithm, model, form="interpreted")
    assert len(model._memo.plans) == 2
    s = state_of(model, 1)
    lw.energy(model, s.q, s.v)
    assert ("energy" in model._memo.quick) is builtin.available()
    assert "_own_memo" not in pickle.loads(pickle.dumps(model)).__dict__


# The page


def test_the_architecture_names_every_module_of_the_engine() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text()
    engine = ROOT / "src" / "linkwork" / "engine"
    for path in engine.rglob("*.py"):
        assert path.stem == "__init__" or f"`{path.stem}`" in page, f"{path.stem} is not in ARCHITECTURE.md"
    for room in (path for path in engine.iterdir() if path.is_dir() and path.name != "__pycache__"):
        text = (room / "__init__.py").read_text()
        assert f"| `{room.name}` |" in page and "Comes in:" in text and "Goes out:" in text, room.name


# Forms on request


@pytest.mark.parametrize("name", ["straight", "looped", "interpreted", "auto"])
def test_a_form_can_be_requested_whatever_the_size(name: str) -> None:
    """For this thread; afterwards the planner chooses again, and what has been kept for it is served."""
    plans = {"straight": StraightLine, "looped": Looped, "interpreted": Interpreted, "auto": StraightLine}
    model = lw.mechanisms.serial_chain(4)
    q, v = lw.random_state(model, 0)
    expected = lw.inverse_dynamics(model, q, v, v)
    elsewhere: list[tuple[str, bool]] = []
    with lw.form(name):
        assert type(plan_for(Task(ALGORITHMS["inverse_dynamics"], model), current_form())) is plans[name]
        assert looped(model) == (name == "looped")
        np.testing.assert_array_equal(lw.inverse_dynamics(model, q, v, v), expected)
        thread = threading.Thread(target=lambda: elsewhere.append((current_form(), looped(model))))
        thread.start()
        thread.join()
    assert elsewhere == [("auto", False)] and current_form() == "auto" and not looped(model)
    if name in ("straight", "looped"):
        own = {"straight": "specialised", "looped": "rolled"}[name]
        assert model._memo.plans.keys().isdisjoint(model._memo.forms[own].plans)
    np.testing.assert_array_equal(lw.inverse_dynamics(model, q, v, v), expected)


def test_what_has_been_requested_can_be_interpreted() -> None:
    plane = lw.PointOnPlane("tip", normal="x")
    model = lw.mechanisms.serial_chain(4)
    q, v = lw.random_state(model, 0)
    with lw.form("looped"):
        with lw.interpreted():
            assert current_form() == "interpreted" and looped(model)
            found = lw.constrained_dynamics(model, q, v, v, plane)[0]
        assert current_form() == "rolled"
    with lw.interpreted():
        assert not looped(model)
    np.testing.assert_allclose(lw.constrained_dynamics(model, q, v, v, plane)[0], found, rtol=0, atol=1e-9)


@pytest.mark.parametrize("size", [3, 51])
def test_forms_hold_for_constraints_contacts_points_and_laws(size: int) -> None:
    """Straight code of a long chain, looped code of a short one; to rounding the same."""
    model = lw.mechanisms.rope(size)
    q, v = lw.random_state(model, 0)
    point = lw.Point("tip", offset=(0, 0.1, 0), axes="position")  # offsets are arguments of straight code
    calls: list[Callable[[], Array]] = [
        lambda: lw.impact(model, q, v, lw.PointOnPlane("tip", normal="x"))[0],
        lambda: lw.operational_inertia_inverse(model, q, ["tip"]),
        lambda: lw.forward_dynamics_and_reactions(model, q, v, v)[1],
        lambda: lw.effective_mass(model, q, point, (1.0, 0.0, 0.0)),
        lambda: lw.operational_bias(model, q, v, [point])[0],
        lambda: lw.external_wrench(model, q, {point: (1.0, 2.0, 3.0)}),
    ]
    for call in calls:
        found = []
        for name in ("straight", "looped", "auto"):
            with lw.form(name), lw.interpreted():
                found.append(call())
        assert np.array_equal(found[2], found[size > 50])
        np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-8 * abs(found[0]).max())


def test_a_wrong_form_and_a_wrong_cost_are_refused() -> None:
    wrong = "form must be one of auto, interpreted, straight, looped, not 'fast'"
    with pytest.raises(lw.ArgumentError, match=wrong), lw.form("fast"):
        pass
    with pytest.raises(KeyError, match="bodies"), costs(bodies=3):
        pass
    with costs(straight=3):
        assert form_of(ALGORITHMS["articulated_body"], CHAIN) == "rolled"
    assert form_of(ALGORITHMS["articulated_body"], CHAIN) == "specialised"
