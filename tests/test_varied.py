"""Parameters of a mechanism as data: the same bits as a separate model has, and invalid values are named."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.joint_drive import SLOW
from linkwork.dynamics import possible, varied
from strategies import Array

N = 3


def tree() -> lw.Model:
    """A hinge, a slide on it, a ball on that, and a flat plate on a hinge beside."""
    builder = lw.Builder("tree")
    builder.add_body("a", joint=lw.joints.Revolute("y"), armature=0.1, mass=2.0, inertia=(0.2, 0.3, 0.25))
    place = lw.placement((0.3, 0.1, 0), (0.1, 0.2, 0.3))
    solid: dict[str, Any] = {"mass": 1.0, "com": (0.1, 0.02, 0.2), "inertia": (0.1, 0.01, 0.02, 0.12, 0.01, 0.15)}
    builder.add_body("b", "a", lw.joints.Prismatic("x"), place, **solid)
    builder.add_body("c", "b", lw.joints.Spherical(), lw.placement((0.2, 0, 0)), mass=0.5, inertia=(0.01, 0.02, 0.02))
    builder.add_body("plate", "a", lw.joints.Revolute("x"), mass=0.3, com=(0, 0.1, 0), inertia=(0.01, 0.02, 0.03))
    return builder.build()


MODEL = tree()
RNG = np.random.default_rng(0)
Q, V = lw.random_state(MODEL, 1, shape=N)
X = RNG.normal(size=(N, MODEL.nv))
LOAD = RNG.normal(size=(N, 4, 6))
INERTIAS = MODEL.inertial_parameters * RNG.uniform(0.7, 1.4, size=(N, 4, 1))
ARMATURE = RNG.uniform(0.0, 0.3, size=(N, MODEL.nv))
DAMPING, FRICTION = RNG.uniform(0.0, 1.0, size=(2, N, MODEL.nv))


def matrix(place: Any) -> Array:
    found = np.eye(4)
    found[:3, :3] = np.array(place.rotation.numbers()).reshape(3, 3)
    found[:3, 3] = place.translation.numbers()
    return found


PLACES = np.array(
    [[matrix(lw.placement(RNG.normal(size=3), RNG.normal(size=3))) for _ in MODEL.bodies] for _ in range(N)]
)


def own(k: int) -> lw.Model:
    """The model of world k."""
    heavy = lw.with_inertial_parameters(MODEL, INERTIAS[k])
    bodies = []
    for i, (body, start) in enumerate(zip(heavy.bodies, heavy.v_start, strict=True)):
        rotor = tuple(ARMATURE[k, start : start + body.joint.nv].tolist())
        place = lw.spatial.Transform(
            lw.spatial.Mat3(*PLACES[k, i, :3, :3].ravel().tolist()), lw.spatial.Vec3(*PLACES[k, i, :3, 3].tolist())
        )
        bodies.append(replace(body, armature=rotor, placement=place))
    return replace(heavy, bodies=tuple(bodies))


GIVEN: dict[str, Any] = {"inertias": INERTIAS, "armature": ARMATURE, "placements": PLACES}


def test_each_world_is_a_model_of_its_own() -> None:
    drag = DAMPING * V + FRICTION * (V / np.maximum(abs(V), SLOW))
    for name, function in (("forward", lw.forward_dynamics), ("inverse", lw.inverse_dynamics)):
        with lw.interpreted():
            found = function(MODEL, Q, V, X, LOAD, **GIVEN)
            braked = function(MODEL, Q, V, X, LOAD, damping=DAMPING, friction=FRICTION, **GIVEN)
            alone = np.array([function(own(k), Q[k], V[k], X[k], LOAD[k]) for k in range(N)])
            if name == "forward":
                slower = np.array([function(own(k), Q[k], V[k], X[k] - drag[k], LOAD[k]) for k in range(N)])
            else:
                slower = alone + drag
        np.testing.assert_array_equal(found, alone)
        np.testing.assert_allclose(braked, slower, rtol=0, atol=1e-12 * abs(slower).max())


def test_compiled_code_has_the_same_bits_and_takes_any_batch() -> None:
    with lw.interpreted():
        expected = lw.inverse_dynamics(MODEL, Q, V, X, inertias=INERTIAS)
    found = lw.inverse_dynamics(MODEL, Q, V, X, inertias=INERTIAS)
    np.testing.assert_array_equal(found, expected)
    again, out = lw.inverse_dynamics(MODEL, Q, V, X, inertias=INERTIAS, damping=None), np.empty_like(found)
    np.testing.assert_array_equal(again, expected)
    few, more = (lw.inverse_dynamics(MODEL, Q, V, X, f_ext=load, armature=ARMATURE) for load in (None, LOAD))
    laws = [code[0] for key, code in MODEL._memo.quick.items() if key[0] == "inverse_dynamics"]
    served = [law for law in laws if law._entry is not None]
    assert len(served) == 3 or os.environ.get("LINKWORK_BUILTIN") == "0"  # code serves them from now on
    np.testing.assert_array_equal(few, lw.inverse_dynamics(MODEL, Q, V, X, None, armature=ARMATURE))
    np.testing.assert_array_equal(more, lw.inverse_dynamics(MODEL, Q, V, X, LOAD, armature=ARMATURE))
    assert (few != more).all() and (few != found).any()
    assert lw.inverse_dynamics(MODEL, Q, V, X, inertias=INERTIAS, out=out) is out and (out == expected).all()
    for name in ("armature", "damping", "friction"):  # one number for all joints
        with lw.interpreted():
            both = [lw.inverse_dynamics(MODEL, Q, V, X, **{name: each}) for each in (0.3, np.full(MODEL.nv, 0.3))]
            many = [
                lw.rollout(MODEL, Q, V, dt=1e-3, steps=2, **{name: each}).q for each in (0.3, np.full(MODEL.nv, 0.3))
            ]
        np.testing.assert_array_equal(*both)
        np.testing.assert_array_equal(*many)
    one = lw.inverse_dynamics(MODEL, Q[1], V[1], X[1], inertias=INERTIAS)  # one state in many worlds
    assert one.shape == (N, MODEL.nv) and (one[1] == expected[1]).all()
    same = lw.inverse_dynamics(MODEL, Q[:, None], V[:, None], X[:, None], inertias=INERTIAS.tolist())
    assert same.shape == (N, N, MODEL.nv) and (same[2, 2] == expected[2]).all()
    law = lw.compile(
        lambda q, inertias: lw.inverse_dynamics(MODEL, q, np.zeros(6), np.ones(6), inertias=inertias),
        q=MODEL.nq, inertias=(4, 10),
    )  # fmt: skip
    with lw.interpreted():
        inside, outside = law(Q, INERTIAS), lw.inverse_dynamics(MODEL, Q, 0 * V, np.ones(6), inertias=INERTIAS)
    np.testing.assert_array_equal(inside, outside)


def test_quarter_turns_are_spared_with_the_same_bits() -> None:
    """Tiles of worlds with the model's own rotations, zeros of either sign, worlds without these, and both."""
    arm, worlds = lw.mechanisms.serial_chain(3), 19
    turned = [
        replace(body, placement=lw.placement((0.1, 0, k), (np.pi / 2, 0, 0))) for k, body in enumerate(arm.bodies)
    ]
    arm = replace(arm, bodies=tuple(turned))
    places = np.broadcast_to([matrix(body.placement) for body in arm.bodies], (worlds, 3, 4, 4)).copy()
    places[:, :, :3, 3] += RNG.normal(size=(worlds, 3, 3))
    places[1] = np.where(places[1] == 0.0, -0.0, places[1])
    places[8:11, 1] = PLACES[:, 1]
    usual, zeros = varied.often(arm, ["q", "placements", "inertias"]).values()
    assert len(zeros) == 15 and len(usual) == 39
    assert (places.reshape(worlds, -1)[:8, list(usual)] == list(usual.values())).all()
    q, v, x = RNG.normal(size=(3, worlds, 3))
    for function in (lw.forward_dynamics, lw.inverse_dynamics):
        with lw.interpreted():
            expected = function(arm, q, v, x, placements=places)
            for_all = function(arm, q, v, x, placements=places[9])
        np.testing.assert_array_equal(function(arm, q, v, x, placements=places), expected)
        np.testing.assert_array_equal(function(arm, q, v, x, placements=places[9]), for_all)
        some = function(arm, q[:8], v[:8], x[:8], placements=places[:8])
        np.testing.assert_array_equal(some, expected[:8])
        np.testing.assert_array_equal(function(arm, q[9], v[9], x[9], placements=places[9]), expected[9])
    kernel = varied._kernel("forward_dynamics", arm, ["q", "v", "tau", "placements"], varied.METHODS[0], True)
    plan: Any = kernel._plan("auto")
    (spared,) = plan.spared
    assert len(spared.program.root.order) < 0.8 * len(plan.program.root.order)
    inertias = arm.inertial_parameters * RNG.uniform(0.5, 2.0, size=(worlds, 3, 1))
    inertias[9:14, :, 5] = 1e-5  # tiles of each kind: the model's own rotations, zeros, both, none
    for given in ((inertias, places), (inertias[0], places), (inertias, places[0]), (inertias[9], places)):
        for function in (lw.forward_dynamics, lw.inverse_dynamics):
            both = {"inertias": given[0], "placements": given[1]}
            with lw.interpreted():
                expected = function(arm, q, v, x, **both)
            np.testing.assert_array_equal(function(arm, q, v, x, **both), expected)
    kernel = varied._kernel("inverse_dynamics", arm, ["q", "v", "a", "inertias", "placements"], varied.METHODS[0], True)
    plan = kernel._plan("auto")
    assert [len(each.often) for each in plan.spared] == [2, 1]
    driven: dict[str, Any] = {"dt": 1e-3, "steps": 3, "placements": places, "inertias": inertias, "tau": x[:, None]}
    with lw.interpreted():
        slow = lw.rollout(arm, q, v, **driven).q
    np.testing.assert_array_equal(lw.rollout(arm, q, v, **driven).q, slow)


def test_one_world_with_isomorphic_branches_has_the_same_bits() -> None:
    builder = lw.Builder("hand")
    builder.add_body("palm", joint=lw.joints.Revolute("y"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    for side in (1.0, -1.0):
        solid: dict[str, Any] = {"mass": 0.2, "com": (0.0, 0.03 * (side > 0.0), 0.1), "inertia": (0.01, 0.02, 0.01)}
        builder.add_body(f"finger{side}", "palm", lw.joints.Revolute("x"), lw.placement((0.0, side, 0.0)), **solid)
        builder.add_body(f"tip{side}", f"finger{side}", lw.joints.Revolute("x"), lw.placement((0, 0, 0.2)), **solid)
    hand, rng = builder.build(), np.random.default_rng(4)
    q, v, x, armature = rng.normal(size=(4, 2, hand.nv))
    inertias = hand.inertial_parameters * rng.uniform(0.8, 1.2, size=(2, 5, 1))
    places = np.array([np.asarray(body.placement) for body in hand.bodies]) + np.zeros((2, 1, 1, 1))
    places[..., :3, 3] += rng.normal(size=(2, 5, 3))
    given = {"inertias": inertias, "armature": abs(armature), "placements": places}
    for names in (["placements"], ["inertias"], list(given)):
        for function in (lw.forward_dynamics, lw.inverse_dynamics):
            alone = function(hand, q[1], v[1], x[1], **{name: given[name][1] for name in names})
            with lw.interpreted():
                batch = function(hand, q, v, x, **{name: given[name] for name in names})
            assert alone.tobytes() == batch[1].tobytes()


def test_rollouts_of_many_worlds_and_their_gradient() -> None:
    options: dict[str, Any] = {"dt": 0.01, "steps": 5, "damping": DAMPING}
    with lw.interpreted():
        many = lw.rollout(MODEL, Q, V, **options, **GIVEN)
        for k in range(N):
            one = lw.rollout(own(k), Q[k], V[k], dt=0.01, steps=5, damping=DAMPING[k])
            np.testing.assert_array_equal(many.q[k], one.q)
        heavy = lw.rollout(MODEL, Q[0], V[0], dt=0.01, steps=3, inertias=INERTIAS[0])
        weights = np.ones((4, MODEL.nv))
        gradient = heavy.pullback(v=weights).parts["inertias"][0, 0].reshape(4, 10)
        step = 1e-6
        for body, number in ((0, 8), (1, 0), (2, 4)):
            ends = []
            for sign in (1.0, -1.0):
                changed = INERTIAS[0].copy()
                changed[body, number] += sign * step
                ends.append(lw.rollout(MODEL, Q[0], V[0], dt=0.01, steps=3, inertias=changed).v.sum())
            assert gradient[body, number] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5, abs=1e-8)


def spoiled(body: int, number: int, value: float) -> Array:
    wrong = INERTIAS.copy()
    wrong[1, body, number] = value
    return wrong


def turned(row: int) -> Array:
    wrong = PLACES.copy()
    wrong[2, 1, row] *= 1.1
    return wrong


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "mass": ({"inertias": spoiled(1, 0, -1.0)}, r"inertias\[1\] of body 'b': mass must not be negative, nor zero with"),
    "massless": ({"inertias": spoiled(1, 0, 0.0)}, r"inertias\[1\] of body 'b': mass must not be negative, nor zero"),
    "shape": (
        {"inertias": INERTIAS[:, :3]},
        r"inertias must have shape \(..., 4, 10\) for model 'tree', but has shape",
    ),
    "text": ({"inertias": "heavy"}, "inertias must hold real numbers"),
    "finite": (
        {"inertias": spoiled(1, 0, np.nan)},
        "inertias.* must be finite",
    ),
    "armature": ({"armature": -ARMATURE}, f"armature of .*joint_a.* is {-ARMATURE[0, 0]}; it must be 0 or more"),
    "friction": ({"friction": FRICTION - 2.0}, "friction of .*joint_a.* it must be 0 or more"),
    "rotation": ({"placements": turned(0)}, "placements of joint 'joint_b' must be 4×4 matrices of a rotation and a"),
    "last row": ({"placements": turned(3)}, "placements of joint 'joint_b' must be 4×4 matrices of a rotation and a"),
    "method": ({"inertias": INERTIAS, "method": "virtual_work"}, "method must be one of .*articulated_body"),
    "chain": ({"inertias": INERTIAS, "main_chain": "c"}, "main_chain does not go with parameters as data"),
    "batch": ({"inertias": INERTIAS[:2]}, "broadcast"),
    "time": ({"armature": np.timedelta64(1, "s")}, "armature must hold real numbers"),
    "large": ({"armature": 10**400}, "armature must hold real numbers"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_named(case: str) -> None:
    options, words = WRONG[case]
    calls: list[Callable[[], Any]] = [lambda: lw.forward_dynamics(MODEL, Q, V, X, **options)]
    if case not in ("method", "friction", "chain"):
        calls.append(lambda: lw.rollout(MODEL, Q, V, dt=0.01, steps=1, **options))
    with lw.interpreted():
        for call in calls:
            with pytest.raises((lw.ArgumentError, lw.ModelError), match=words):
                call()


def test_an_inertia_that_no_body_has_is_used_with_a_warning() -> None:
    wrong = spoiled(1, 4, 5.0)
    with lw.interpreted():
        with pytest.warns(
            lw.LinkworkWarning, match=r"inertia of inertias\[1\] of body 'b': no body of mass .* has the"
        ):
            found = lw.inverse_dynamics(MODEL, Q, V, X, inertias=wrong)
        with pytest.warns(lw.LinkworkWarning, match="no body of mass"):
            alone = lw.with_inertial_parameters(MODEL, wrong[1])
        np.testing.assert_array_equal(found[1], lw.inverse_dynamics(alone, Q[1], V[1], X[1]))


@pytest.mark.parametrize(
    "second", [(-1, 0, 0.1, 0, 0, 0.1), (-1, 0, -1, 0, 0, -1), (1, 0, -1, 0, 0, 0), (0, 5, 0, 0, 0, 0), (0,) * 6]
)
def test_inertias_far_from_any_body_s_are_named(second: tuple[float, ...]) -> None:
    """Negative ones, and those with zero trace, too; for models and for data alike."""
    wrong = INERTIAS.copy()
    wrong[1, 1, 1:] = 0.3, 0.0, 0.0, *second
    with pytest.warns(lw.LinkworkWarning, match="inertia of body 'b': no body of mass"):
        MODEL.with_inertias(wrong[1])
    with pytest.warns(lw.LinkworkWarning, match=r"inertia of inertias\[1\] of body 'b': no body of mass"):
        possible.check_parameters(MODEL, {"inertias": wrong})
    fine = INERTIAS.copy()
    fine[:, 1, 1:] = 0.0  # a point, and one with a turning part
    fine[2, 1, [4, 6, 9]] = 0.1
    possible.check_parameters(MODEL, {"inertias": fine})


def test_of_many_worlds_code_finds_those_that_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault anywhere is reported with its index, as by NumPy; elements repeated by broadcasting are checked once."""
    monkeypatch.setattr(possible, "_MANY", 2)
    worlds, places = np.tile(INERTIAS, (20, 2, 1, 1)).reshape(20, 6, 4, 10), np.tile(PLACES, (20, 1, 1, 1))
    possible.check_parameters(MODEL, {"inertias": worlds, "placements": places, "damping": DAMPING})
    with pytest.raises(lw.ArgumentError, match=f"damping of .* is {-DAMPING[0, 0]}; it must be 0 or more"):
        possible.check_parameters(MODEL, {"damping": -DAMPING})
    possible.check_parameters(MODEL, {"inertias": np.broadcast_to(INERTIAS, (10**7, *INERTIAS.shape))})
    wrong = worlds.copy()
    wrong[17, 4, 2, 0] = -1.0
    with pytest.raises(lw.ModelError, match=r"inertias\[17, 4\] of body 'c': mass must not be negative"):
        possible.check_parameters(MODEL, {"inertias": wrong})
    wrong[17, 4, 2, 0] = np.nan
    with pytest.raises(lw.ArgumentError, match="inertias must be finite"):
        possible.check_parameters(MODEL, {"inertias": wrong})
    skew = places.copy()
    skew[41, 3, 0, 1] += 1e-3
    with pytest.raises(lw.ArgumentError, match="placements of joint 'joint_plate' must be 4×4 matrices"):
        possible.check_parameters(MODEL, {"placements": skew})


def test_what_makes_no_motion_and_too_many_bodies_are_said() -> None:
    nothing = INERTIAS.copy()
    nothing[2, 2] = 0.0
    with lw.interpreted(), pytest.raises(lw.SingularError, match="joint_c"):
        lw.forward_dynamics(MODEL, Q, V, X, inertias=nothing)
    large = lw.mechanisms.serial_chain(51)
    with pytest.raises(lw.ArgumentError, match="inertias can be data for up to 50 bodies; model 'serial_chain' has 51"):
        lw.forward_dynamics(large, *np.zeros((3, 51)), inertias=large.inertial_parameters)


def test_inertias_of_many_worlds_are_served_as_they_lie() -> None:
    """Multiples of the model's parameters are contiguous, so that code reads them without a copy."""
    assert INERTIAS.flags.c_contiguous and INERTIAS.shape == (N, 4, 10)


def test_what_is_found_by_few_operations_is_none_else() -> None:
    """About half of random inertias are valid, by their eigenvalues; of distorted placements those with a slight
    distortion are rejected, and the rounding of float32 is accepted.
    """
    for _ in range(200):
        place = PLACES[0, 0] + RNG.normal(size=(4, 4)) * 10.0 ** RNG.uniform(-9.0, 1.0)
        place[3] = PLACES[0, 0, 3] if RNG.uniform() < 0.7 else place[3]
        assert possible.skewness(place) < 1e-12 or possible.warp(place) > 1e-13
        assert possible.warp(PLACES[0, 0].astype(np.float32).astype(float)) < 1e-14
        com, spread = RNG.normal(size=3), RNG.normal(size=(3, 3))
        second = spread @ spread.T + RNG.uniform(-1.0, 0.3) * np.outer(spread[0], spread[0])
        inertia = np.trace(second) * np.eye(3) - second + 2.0 * (com @ com * np.eye(3) - np.outer(com, com))
        numbers = [2.0, *(2.0 * com), *inertia[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]]
        real = np.linalg.eigvalsh(second)[0] > 0.0
        clear = min(possible.soundness(True, numbers)) > 0.0
        mass, least = possible.fitness(np.array([numbers]))
        assert clear == real and (mass[0], least[0] >= -1e-9) == (2.0, real)
