"""Forms: which one the planner chooses, and which one a caller requests."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms import ALGORITHMS, CHAIN_METHODS, STUDIES
from linkwork.inside import costs, form_of, size
from linkwork.model import Model
from linkwork.model.tree import depth_first
from linkwork.spatial import Columns, Coordinates, Motion, Subspace, Transform, Vec3, Z, sin_cos
from linkwork_lab.studies import ORIGINAL
from programs import planned, task_of
from strategies import Array, state_of


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
        ("articulated_body", CHAIN, "auto", "StraightLine"),
        ("articulated_body", CHAIN, "rolled", "Looped"),
        ("articulated_body", CHAIN, "interpreted", "Interpreted"),
        ("articulated_body", LONG, "auto", "Looped"),
        ("articulated_body", LONG, "specialised", "StraightLine"),
        ("operational_inertia/pv", CHAIN, "rolled", "StraightLine"),
        ("constraint_force", CHAIN, "auto", "StraightLine"),
        ("constraint_force", CHAIN, "rolled", "StraightLine"),
        ("constraint_force", LONG, "auto", "Looped"),
        ("constraint_force", LONG, "rolled", "Looped"),
        ("constraint_force", LONG, "specialised", "StraightLine"),
        ("constraint_force", LONG, "interpreted", "Interpreted"),
        ("constraint_force", COMB, "auto", "Permuted"),
        ("constraint_force", COMB, "interpreted", "Permuted"),
        ("constraint_force", STAR, "auto", "Interpreted"),
        ("constraint_force_world", LONG, "auto", "Interpreted"),
        ("virtual_work_split", CHAIN, "auto", "Interpreted"),
        ("virtual_work_split", CHAIN, "specialised", "StraightLine"),
        ("virtual_work_split", CHAIN, "rolled", "Permuted"),
        ("virtual_work_unsplit", CHAIN, "rolled", "Looped"),
        ("inversion", LONG, "auto", "StraightLine"),
    ],
)
def test_the_planner_decides(name: str, model: Model, form: str, plan: str) -> None:
    task = task_of(ALGORITHMS[name], model, ["world"] * 2)
    assert type(planned(task, form)).__name__ == plan


def test_code_that_would_be_too_long_is_rolled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless straight code of it is on disk. Batches are rolled where straight code is long."""
    monkeypatch.setenv("LINKWORK_CACHE_DIR", str(tmp_path))
    kinds = [lw.joints.Helical("y", 0.3), lw.joints.Universal("z", "x"), lw.joints.Cylindrical("x")]
    model = lw.mechanisms.serial_chain(6, kinds)  # no other test has loaded code for these joints
    task, q = task_of(ALGORITHMS["mass_matrix"], model), lw.random_state(model, 0, 3)[0]
    plan = planned(task)
    assert type(plan).__name__ == "StraightLine" and plan.for_batches is plan
    with costs(straight_alone=10):
        assert type(planned(task)).__name__ == "Looped"
        assert type(planned(task, "straight")).__name__ == "StraightLine"
    with costs(straight_in_batches=10):
        plan = planned(task)
        assert type(plan).__name__ == "StraightLine" and type(plan.for_batches).__name__ == "Looped"
        (many,), status = plan.run([q], 3)
        assert status == 0
        for row, one in zip(many, q, strict=True):
            assert np.array_equal(row, plan.run([one[None]], 1)[0][0][0])
    with costs(straight_alone=10):
        assert type(planned(task)).__name__ == "StraightLine"


def test_a_walk_of_one_state_hands_over_what_the_next_body_reads() -> None:
    loops = planned(task_of(ALGORITHMS["inverse_dynamics"], lw.mechanisms.binary_tree(4)), "rolled").loops
    assert ".left0 = phi" in loops.text(1) and ".left0 = phi" not in loops.text(2)


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
            assert size(space, CHAIN, 1) > 0


def test_a_number_is_named_by_its_joint_or_body() -> None:
    model = lw.mechanisms.serial_chain(3, "spherical")
    s = state_of(model, 0)
    q, v, f_ext = s.q.copy(), s.v.copy(), s.f_ext.copy()
    q[4] = v[8] = f_ext[1, 5] = np.nan
    for given, named in (
        ((q, s.v, s.a), r"q\[4\] \(joint 'joint2'\)"),
        ((s.q, v, s.a), r"v\[8\] \(joint 'joint3'\)"),
        ((s.q, s.v, s.a, f_ext), r"f_ext\[1, 5\] \(body 'body2'\)"),
    ):
        with pytest.raises(lw.ArgumentError, match=named):
            lw.inverse_dynamics(model, *given)


def test_a_plan_is_made_once_and_kept_with_its_model_alone() -> None:
    model: Model = pickle.loads(pickle.dumps(CHAIN))
    s = state_of(model, 1)
    for _ in range(2):
        lw.energy(model, s.q, s.v)
        lw.energy(model, s.q[None], s.v)
    (plan,) = model._memo.plans.values()
    with lw.form("looped"):
        lw.energy(model, s.q, s.v)
    assert [*model._memo.plans.values()] == [plan]
    assert "_own_memo" not in pickle.loads(pickle.dumps(model)).__dict__


# Forms on request


ANGLES: list[object] = []


@dataclass(frozen=True)
class Seen(lw.joints.Joint):
    """A hinge that shows with which numbers its text is run: plain ones if the text is interpreted."""

    nq, nv, angles = 1, 1, (0,)

    def transform(self, q: Coordinates) -> Transform:
        if isinstance(q[0], float | np.ndarray):
            ANGLES.append(q[0])
        return Transform(Z.rotation(*sin_cos(q[0])), Vec3(0.0, 0.0, 0.0))

    def subspace(self, q: Coordinates) -> Subspace:
        return Columns([Motion(Vec3(0.0, 0.0, 0.0), Z.direction)])


def form_now() -> str:
    """The form in which calls run."""
    model, q = hinges(), np.array([0.1, 0.2])
    lw.gravity_torques(model, q)
    ANGLES.clear()
    lw.gravity_torques(model, q)  # by code, if there is some by now
    if ANGLES:
        return "interpreted"
    return "looped" if calls_loops() else "straight"


def calls_loops() -> bool:
    model = hinges()
    return "call" in lw.compile(lambda q: lw.gravity_torques(model, q), q=2).text()


def hinges() -> Model:
    builder, solid = lw.Builder("hinges"), {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": (0.1, 0.1, 0.1)}
    builder.add_body("upper", joint=Seen(), **solid)
    builder.add_body("lower", "upper", Seen(), **solid)
    return builder.build()


@pytest.mark.parametrize("name", ["straight", "looped", "interpreted", "auto"])
def test_a_form_can_be_requested_whatever_the_size(name: str) -> None:
    """For this thread; afterwards the planner chooses again, and what has been kept for it is served."""
    model = lw.mechanisms.serial_chain(4)
    q, v = lw.random_state(model, 0)
    expected = lw.inverse_dynamics(model, q, v, v)
    elsewhere: list[str] = []
    with lw.form(name):
        assert form_now() == name.replace("auto", "straight")
        np.testing.assert_array_equal(lw.inverse_dynamics(model, q, v, v), expected)
        thread = threading.Thread(target=lambda: elsewhere.append(form_now()))
        thread.start()
        thread.join()
    assert elsewhere == ["straight"] and form_now() == "straight"
    np.testing.assert_array_equal(lw.inverse_dynamics(model, q, v, v), expected)


def test_what_has_been_requested_can_be_interpreted() -> None:
    plane = lw.PointOnPlane("tip", normal="x")
    model = lw.mechanisms.serial_chain(4)
    q, v = lw.random_state(model, 0)
    with lw.form("looped"):
        with lw.interpreted():
            assert form_now() == "interpreted" and calls_loops()
            found = lw.constrained_dynamics(model, q, v, v, plane)[0]
        assert form_now() == "looped"
    with lw.interpreted():
        assert not calls_loops()
        plain = lw.constrained_dynamics(model, q, v, v, plane)[0]
    np.testing.assert_allclose(plain, found, rtol=0, atol=1e-9)


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
