"""Inertias that are only rounding errors are rejected, and lost digits are reported."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

import linkwork as lw
from exact import exact_tree
from linkwork.algorithms import ALGORITHMS, FORWARD_DYNAMICS, INVERTING
from linkwork.dynamics.lost_digits import estimated_error
from linkwork.inside import evaluate
from linkwork.joints import Cylindrical, Free, Joint, Planar, Prismatic, Revolute, Spherical, Universal
from linkwork.model import Model
from linkwork.model.doubtful import doubtful_joints
from linkwork.model.tree import Tree
from linkwork.spatial import Factor
from robots import robot

Array = NDArray[np.float64]
FACTORING = [method for method in FORWARD_DYNAMICS if method not in INVERTING]
MP = mpmath.MPContext()
MP.dps = 50


def unit(rng: np.random.Generator) -> Array:
    direction = rng.normal(size=3)
    return np.asarray(direction / np.linalg.norm(direction))


def place(rng: np.random.Generator) -> Any:
    return lw.placement(tuple(rng.normal(size=3)), tuple(rng.uniform(-3, 3, size=3)))


def solid(mass: float, size: float = 0.3) -> dict[str, Any]:
    return {
        "mass": mass,
        "com": (0.1 * size, 0.2 * size, -0.1 * size),
        "inertia": mass * size**2 * np.array([1, 0.8, 0.6]),
    }


def with_tip(rng: np.random.Generator, joint: Joint, links: int, rod: bool, direction: Array) -> Model:
    """A point mass, or a rod without thickness, in some direction from its joint, behind some links."""
    builder, parent = lw.Builder("tipped"), "world"
    for k in range(links):
        parent = builder.add_body(
            f"link{k}", parent, Revolute(unit(rng)), place(rng), **solid(10 ** rng.uniform(-2, 2))
        )
    mass, length = 10 ** rng.uniform(-3, 3), 10 ** rng.uniform(-1, 1)
    inertia = mass * length**2 / 12 * (np.eye(3) - np.outer(direction, direction)) if rod else (0, 0, 0)
    com = 10 ** rng.uniform(-2, 2) * direction
    builder.add_body("tip", parent, joint, place(rng), mass=mass, com=com, inertia=inertia)
    return builder.build()


def singular_models(count: int, seed: int) -> Iterator[Model]:
    rng = np.random.default_rng(seed)
    for k in range(count):
        axis = unit(rng)
        own = [Revolute(axis), Spherical(), Cylindrical(axis), Universal(unit(rng), axis), Free(), Planar()]
        joint = own[0] if k % 2 else own[k // 2 % len(own)]
        yield with_tip(rng, joint, k % 3, k % 5 == 0 and not isinstance(joint, Planar | Universal), axis)


def state(model: Model, seed: int = 0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    q, v = lw.random_state(model, rng)
    return q, v, rng.normal(size=model.nv)


# Joints without inertia but for rounding


@pytest.mark.parametrize("method", FORWARD_DYNAMICS)
def test_what_rounding_leaves_is_no_inertia(method: str) -> None:
    names = "body 'tip' has mass" if method in INVERTING else "joint 'joint_tip' can move without moving any inertia"
    with lw.interpreted():
        for model in singular_models(60, 1):
            with pytest.raises(lw.SingularError, match=names):
                lw.forward_dynamics(model, *state(model), method=method)


@pytest.mark.parametrize(
    ("engine", "joint", "methods"),
    [
        ("specialised", "revolute", FACTORING),
        ("specialised", "spherical", FACTORING),
        ("rolled", "revolute", ["articulated_body", "composite_body"]),
    ],
)
def test_compiled_code_has_the_same_verdict(engine: str, joint: str, methods: list[str]) -> None:
    rng = np.random.default_rng(3)
    axis = unit(rng)
    model = with_tip(rng, Revolute(axis) if joint == "revolute" else Spherical(), 1, False, axis)
    q, v, tau = state(model)
    with lw.form(engine):
        for method in methods:
            for some in (q, np.stack([q, q, q])):
                with pytest.raises(lw.SingularError, match="joint 'joint_tip' can move without moving any inertia"):
                    lw.forward_dynamics(model, some, v, tau, method=method)
        if engine == "specialised":
            with pytest.raises(lw.SingularError, match="joint 'joint_tip'"):
                lw.operational_inertia_inverse(model, q, ["tip"])


def test_a_rollout_has_the_same_verdict() -> None:
    axis = unit(np.random.default_rng(4))
    model = with_tip(np.random.default_rng(4), Revolute(axis), 0, False, axis)
    with pytest.raises(lw.SingularError, match="joint 'joint_tip' can move without moving any inertia"):
        lw.rollout(model, [0.1], [0.0], dt=1e-3, steps=2)


def hinges(rng: np.random.Generator, axis: Any, between: float) -> Model:
    """Two hinges on one axis, and a light link between them."""
    builder = lw.Builder("coaxial")
    builder.add_body("base", "world", Revolute(unit(rng)), **solid(1.0))
    builder.add_body("light", "base", Revolute(axis), mass=between, inertia=(between, between, between))
    builder.add_body("heavy", "light", Revolute(axis), **solid(1.0))
    return builder.build()


@pytest.mark.parametrize("method", FACTORING)
def test_hinges_on_one_axis_need_inertia_between_them(method: str) -> None:
    rng = np.random.default_rng(5)
    with lw.interpreted():
        for axis in (unit(rng), unit(rng), "x"):
            for light in (0.0, 1e-18):
                if isinstance(axis, str) and light and method == "articulated_body":
                    continue  # nothing is felt along x itself, so that there is nothing to round
                model = hinges(rng, axis, light)
                with pytest.raises(lw.SingularError, match="joint 'joint_light'"):
                    lw.forward_dynamics(model, *state(model), method=method)


@pytest.mark.parametrize("method", FACTORING)
def test_one_body_has_six_degrees_of_freedom_at_most(method: str) -> None:
    """Seven joints without bodies between them, on oblique axes, or four hinges through one point."""
    rng = np.random.default_rng(11)
    with lw.interpreted():
        for k in range(24):
            builder, parent = lw.Builder("redundant"), "world"
            joints = [Prismatic(unit(rng)) if rng.random() < 0.3 else Revolute(unit(rng)) for _ in range(7)]
            if k % 4 == 0:
                joints = [Revolute(unit(rng)) for _ in range(4)]
            for i, joint in enumerate(joints):
                at = lw.placement(rpy=tuple(rng.uniform(-3, 3, size=3))) if k % 4 == 0 else place(rng)
                own = solid(10 ** rng.uniform(-3, 3)) if i == len(joints) - 1 else {}
                parent = builder.add_body(f"b{i}", parent, joint, at, **own)
            model = builder.build()
            with pytest.raises(lw.SingularError, match=r"joint 'joint_b\d' can move without moving any inertia"):
                lw.forward_dynamics(model, *state(model), method=method)


def on_a_long_chain(limb: Callable[[lw.Builder, str], None]) -> Model:
    """Side branches on a chain that is cut into segments; one of them is of solid bodies."""
    builder, parent, rng = lw.Builder("long"), "world", np.random.default_rng(12)
    for k in range(48):
        parent = builder.add_body(f"link{k}", parent, Revolute(unit(rng)), place(rng), **solid(1.0))
    limb(builder, "link20")
    builder.add_body("solid", "link30", Revolute(unit(rng)), **solid(1.0))
    return builder.build()


@pytest.mark.filterwarnings("ignore::linkwork.LinkworkWarning")
def test_side_branches_of_a_long_chain_are_judged() -> None:
    """Light links between hinges on one axis: rejected by name, or as accurate as the articulated-body algorithm."""
    axis = unit(np.random.default_rng(13))
    for light, sound in ((1e-18, False), (1e-12, True)):

        def limb(builder: lw.Builder, parent: str, light: float = light) -> None:
            builder.add_body("light", parent, Revolute(axis), mass=light, inertia=(light, light, light))
            builder.add_body("heavy", "light", Revolute(axis), **solid(1.0))

        model = on_a_long_chain(limb)
        arguments = state(model)
        for engine in ("interpreted", "auto"):
            with lw.form(engine), contextlib.nullcontext() if sound else no_inertia("joint_light"):
                found = lw.forward_dynamics(model, *arguments, method="constraint_force")
        if sound:
            (expected,) = evaluate(ALGORITHMS["articulated_body"], model, [*(x.tolist() for x in arguments), None])
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * abs(np.array(expected)).max())


def no_inertia(joint: str) -> Any:
    return pytest.raises(lw.SingularError, match=f"joint '{joint}' can move without moving any inertia")


@pytest.mark.parametrize("rod", [False, True])
def test_point_masses_and_rods_beside_a_long_chain_are_refused_by_name(rod: bool) -> None:
    rng = np.random.default_rng(14)
    axis = unit(rng)
    inertia = (np.eye(3) - np.outer(axis, axis)) / 12 if rod else (0, 0, 0)
    for joint in (Revolute(axis), Spherical()):
        model = on_a_long_chain(
            lambda builder, parent, joint=joint: builder.add_body(  # type: ignore[misc]
                "tip", parent, joint, mass=1.0, com=0.3 * axis, inertia=inertia
            )
        )
        with pytest.raises(lw.SingularError, match=r"body 'tip' has mass .* on joint 'joint_tip'"):
            lw.forward_dynamics(model, *state(model), method="constraint_force")


def test_the_mass_matrix_may_lose_what_articulated_bodies_keep() -> None:
    model = hinges(np.random.default_rng(6), "x", 1e-18)
    with lw.interpreted():
        assert error("articulated_body", model) < 1e-12
        with pytest.raises(lw.SingularError, match=r"joint 'joint_light' moves so little .* method='articulated_body'"):
            lw.forward_dynamics(model, *state(model), method="composite_body")


def test_a_pivot_that_is_not_positive_is_none() -> None:
    for pivot in (0.0, -1.0, 1e-16):
        with pytest.raises(ZeroDivisionError):
            Factor.of_matrix([[pivot]], [1.0])
    assert Factor.of_matrix([[1e-14]], [1.0]).inverse_pivots == Factor.of_matrix([[1e-14]]).inverse_pivots


# No false alarm


def error(method: str, model: Model) -> float:
    """The error of the accelerations, relative to the largest, against 50 digits."""
    arguments = state(model)
    found = lw.forward_dynamics(model, *arguments, method=method)
    tree = exact_tree(model, MP.mpf)
    tree.doubtful = False
    exact = [[MP.mpf(float(x)) for x in numbers] for numbers in arguments]
    (truth,) = evaluate(ALGORITHMS["articulated_body"], model, [*exact, None], (), tree)
    return float(max(abs(a - b) for a, b in zip(found, truth, strict=True)) / max(map(abs, truth)))


@pytest.mark.filterwarnings("ignore::linkwork.LinkworkWarning")
@pytest.mark.parametrize("method", FACTORING)
def test_light_links_are_no_false_alarm(method: str) -> None:
    rng = np.random.default_rng(7)
    with lw.interpreted():
        for step in (1e-1, 1e-3, 1e-6):
            for k in range(4):
                masses = step ** np.arange(4.0)
                builder, parent = lw.Builder("light"), "world"
                for i, mass in enumerate(masses[:: 1 if k % 2 else -1]):
                    axis = unit(rng) if k < 2 else "xyz"[i % 3]
                    parent = builder.add_body(f"b{i}", parent, Revolute(axis), place(rng), **solid(float(mass)))
                model = builder.build()
                assert any(doubtful_joints(model)) == (step == 1e-6 and k % 2 == 0)
                assert error(method, model) < 1e-9


@pytest.mark.filterwarnings("ignore::linkwork.LinkworkWarning")
def test_judging_changes_no_bit_of_a_robot_with_massless_links() -> None:
    for name in ("human.urdf", "icub.urdf"):
        model = lw.load(robot(name))
        assert any(doubtful_joints(model))
        flat = [array.tolist() for array in state(model)]
        for method in ("articulated_body", "composite_body"):
            tree = Tree(model)
            tree.doubtful = False
            judged = evaluate(ALGORITHMS[method], model, [*flat, None])
            assert judged == evaluate(ALGORITHMS[method], model, [*flat, None], (), tree)


@pytest.mark.filterwarnings("ignore::linkwork.LinkworkWarning")
def test_robots_and_ready_mechanisms_pay_nothing() -> None:
    for name in ("panda.urdf", "ur5_robot.urdf", "g1_29dof_rev_1_0.urdf", "talos_full_v2.urdf"):
        assert not any(doubtful_joints(lw.load(robot(name), floating_base=True)))
    for name in ("humanoid", "rope:200", "serial_chain:20:spherical", "star:4", "serial_chain:20000"):
        assert not any(doubtful_joints(lw.mechanisms.by_name(name)))


# Rotations whose squares overflow


@pytest.mark.parametrize("joint", [Spherical(), Free(), Planar()])
def test_a_rotation_that_overflows_names_its_joint(joint: Joint) -> None:
    builder = lw.Builder("turned")
    builder.add_body("body", joint=joint, **solid(1.0))
    model = builder.build()
    q, v, _ = state(model)
    count = 2 if isinstance(joint, Planar) else 4
    calls: tuple[Callable[[Array], Any], ...] = (
        lambda q: lw.forward_kinematics(model, q, ["body"]),
        lambda q: lw.integrate(model, q, v),
        lambda q: lw.difference(model, lw.neutral(model), q),
    )
    for name in ("interpreted", "specialised", "rolled"):
        with lw.form(name):
            there, moved = lw.forward_kinematics(model, q, ["body"]), lw.integrate(model, q, v)
            for length in (1e-100, 1e100, 1e148, 1e151, 1e154, 1e200, 1e307):
                long = q.copy()
                long[-count:] *= length
                if length < 1e150:
                    np.testing.assert_allclose(lw.forward_kinematics(model, long, ["body"]), there, atol=1e-14)
                    np.testing.assert_allclose(lw.integrate(model, long, v), moved, atol=1e-14)
                    continue
                for call in calls:
                    with pytest.raises(
                        lw.SingularError, match=r"joint 'joint_body': the rotation in q\S* has a number of"
                    ):
                        call(long)


# Lost digits


def floating(mass: float) -> Model:
    """A base of some mass with two heavy limbs, which can rotate about one axis with little more than the base."""
    builder = lw.Builder("floating")
    builder.add_body("base", joint=Free(), **solid(mass))
    builder.add_body("left", "base", Revolute("x"), **solid(1.0))
    return builder.build()


def growing(factor: float) -> Model:
    builder, parent, rng = lw.Builder("growing"), "world", np.random.default_rng(8)
    for k in range(5):
        parent = builder.add_body(f"b{k}", parent, Revolute(unit(rng)), place(rng), **solid(factor**k))
    return builder.build()


def loaded(mass: float) -> Model:
    """A light chain that carries a heavy body."""
    builder, parent = lw.Builder("loaded"), "world"
    for k in range(20):
        at = lw.placement((0.25 if k else 0.0, 0.0, 0.0))
        parent = builder.add_body(f"b{k}", parent, Revolute("zy"[k % 2]), at, **solid(mass if k == 19 else 1.0))
    return builder.build()


def far(distance: float) -> Model:
    builder = lw.Builder("far")
    builder.add_body(
        "body", joint=Free(), mass=1.0, com=(distance / 3, distance / 7, 0.1 * distance), inertia=(1.0, 0.8, 0.6)
    )
    return builder.build()


LOSING = [
    ("composite_body", floating(1e-11), r"joint 'joint_base' .* method='virtual_work'"),
    ("unit_vector", floating(1e-11), r"joint 'joint_base' .* method='virtual_work'"),
    ("articulated_body", loaded(1e10), "method='virtual_work'"),
    ("articulated_body", far(1e6), "frames of bodies nearer to their centres of mass"),
    ("composite_body", far(1e6), "frames of bodies nearer to their centres of mass"),
    ("virtual_work", growing(1e3), "method='articulated_body'"),
    ("constraint_force", growing(1e3), "method='articulated_body'"),
    ("assembly", growing(1e3), "method='articulated_body'"),
]


@pytest.mark.parametrize(("method", "model", "words"), LOSING, ids=[f"{m}-{model.name}" for m, model, _ in LOSING])
def test_lost_digits_are_told_of_and_estimated(method: str, model: Model, words: str) -> None:
    told = pytest.warns(lw.LinkworkWarning, match=rf"{method}: about \d+ of 16 digits are lost .* {words}")
    with lw.interpreted(), told:
        true = error(method, model)
    assert true / 30 < estimated_error(method, model) < 300 * true


def test_a_method_is_not_warned_of_where_it_is_the_better_one() -> None:
    """A heavy load on a light chain: neighbours of very different mass, which virtual work does not mind."""
    model = loaded(1e7)
    with lw.interpreted(), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert error("virtual_work", model) < 1e-13 < 1e-11 < error("articulated_body", model)


@pytest.mark.parametrize("method", FORWARD_DYNAMICS)
def test_no_digits_are_missed_where_none_are_lost(method: str) -> None:
    with lw.interpreted(), warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (floating(1.0), growing(3.0), far(1.0), lw.mechanisms.humanoid()):
            lw.forward_dynamics(model, *state(model), method=method)


def test_a_long_chain_of_sound_links_is_not_doubtful() -> None:
    """Otherwise the doubt propagated from joint to joint would grow until the first of them was rejected."""
    assert not any(doubtful_joints(lw.mechanisms.serial_chain(6000, "spherical")))
