"""Errors of the Builder, and properties of a Model: immutable, comparable, picklable."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.joints import Cylindrical, Free, Helical, Revolute
from linkwork.model import Body, Frame, Limits, Model
from linkwork.model.inertias import clearly_possible
from linkwork.model.placements import placements
from linkwork.spatial import Sym3
from strategies import pool, random_tree, renumbered

NAN, INF = math.nan, math.inf
REFLECTION = np.diag([1.0, 1.0, -1.0, 1.0])
SHEAR = [[1, 0.1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"name": "hull"}, "already a body named 'hull'"),
    ({"name": "world"}, "already a body named 'world'"),
    ({"name": 3}, "name of a body or joint must be text, not 3"),
    ({"joint_name": "joint_hull"}, "already a joint named 'joint_hull'"),
    ({"joint_name": 3}, "must be text"),
    ({"joint": Revolute}, "joint of body 'arm' must be"),
    ({"joint": "revolute"}, "joint of body 'arm' must be"),
    ({"mass": -1.0}, "mass of body 'arm' must not be negative, but is -1.0"),
    ({"mass": NAN}, "mass of body 'arm' must be finite"),
    ({"mass": "heavy"}, r"mass of body 'arm' must be 1 number\(s\)"),
    ({"com": (0, 0)}, r"com of body 'arm' must be 3 number\(s\), not 2"),
    ({"com": (0, 0, INF)}, "com of body 'arm' must be finite"),
    ({"com": None}, "com of body 'arm' must be"),
    ({"inertia": (1, 1)}, "inertia of body 'arm' must be 3 principal moments, 6 numbers or a 3×3 matrix"),
    ({"inertia": "big"}, "inertia of body 'arm' must be 3 principal"),
    ({"inertia": (1, 1, NAN)}, "inertia of body 'arm' must be finite"),
    ({"inertia": [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]}, "inertia of body 'arm' must be symmetric"),
    ({"armature": -0.1}, "armature of joint 'elbow' must be finite and not negative"),
    ({"armature": INF}, "armature of joint 'elbow' must be finite and not negative"),
    ({"armature": (0.1, 0.2)}, "armature of joint 'elbow' must be one number or 1, not 2"),
    ({"armature": "much"}, "armature of joint 'elbow' must be one number or 1"),
    ({"lower": NAN}, "lower limit of joint 'elbow' must not be NaN"),
    ({"upper": (1, 2, 3)}, "upper limit of joint 'elbow' must be one number or 1, not 3"),
    ({"velocity": NAN}, "velocity limit of joint 'elbow' must not be NaN"),
    ({"effort": None}, "effort limit of joint 'elbow' must be one number or 1"),
    ({"damping": (NAN,)}, "damping of joint 'elbow' must not be NaN"),
    ({"friction": [[1], [2]]}, "friction of joint 'elbow' must be one number or 1"),
    ({"placement": (1, 2, 3)}, r"placement of joint 'elbow' must come from lw.placement\(...\) or be a 4×4 matrix"),
    ({"placement": SHEAR}, "placement of joint 'elbow' is not a rotation"),
    ({"placement": REFLECTION}, "placement of joint 'elbow' is not a rotation"),
    ({"placement": np.full((4, 4), NAN)}, "placement of joint 'elbow'"),
]


def started() -> lw.Builder:
    builder = lw.Builder("robot")
    builder.add_body("hull", joint=Free(), mass=1.0, inertia=(1, 1, 1))
    builder.add_frame("camera", "hull", lw.placement((0, 0, 1)))
    return builder


@pytest.mark.parametrize(("bad", "message"), REFUSED, ids=lambda x: str(x)[:40])
def test_the_builder_refuses_and_says_what_and_where_and_stays_as_it_was(bad: dict[str, Any], message: str) -> None:
    builder = started()
    good = {"name": "arm", "parent": "hull", "joint": Revolute("y"), "joint_name": "elbow", "mass": 1.0}
    with pytest.raises(lw.ModelError, match=message):
        builder.add_body(**{**good, **bad})
    assert builder.build() == started().build()
    builder.add_body(**good)
    assert builder.build().body_names == ("hull", "arm")


@pytest.mark.parametrize("parent", ["hul", None, ["hull"]])
def test_an_unknown_parent_is_named(parent: Any) -> None:
    with pytest.raises(lw.UnknownNameError, match="mechanism 'robot' so far has no body named") as caught:
        started().add_body("arm", parent)
    assert repr(parent) in str(caught.value) and "'hull'" in str(caught.value)


def test_frames_are_checked_too() -> None:
    builder = started()
    for name in ("camera", "hull", "world"):
        with pytest.raises(lw.ModelError, match=f"already a frame named '{name}'"):
            builder.add_frame(name, "hull")
    with pytest.raises(lw.UnknownNameError, match="no body named 'head'"):
        builder.add_frame("hat", "head")
    with pytest.raises(lw.ModelError, match="placement of frame 'hat'"):
        builder.add_frame("hat", "hull", REFLECTION)  # type: ignore[arg-type]
    with pytest.raises(lw.ModelError, match="name of a frame must be text"):
        builder.add_frame(3, "hull")  # type: ignore[arg-type]


def test_an_inertia_is_given_by_moments_six_numbers_or_a_matrix() -> None:
    """Six numbers are the upper triangle, row by row: xx, xy, xz, yy, yz, zz."""
    matrix = np.array([[1.0, 0.01, 0.02], [0.01, 1.1, 0.03], [0.02, 0.03, 1.2]])
    upper = tuple(matrix[np.triu_indices(3)])
    for given, expected in (
        (matrix, matrix),
        (upper, matrix),
        ([*upper], matrix),
        ((1, 1.1, 1.2), np.diag([1, 1.1, 1.2])),
    ):
        builder = lw.Builder()
        builder.add_body("arm", mass=2.0, inertia=given)
        (body,) = builder.build().bodies
        np.testing.assert_array_equal(np.reshape(body.inertia.second.full().numbers(), (3, 3)), expected)


@pytest.mark.parametrize("inertia", [(1.0, 1.0, 3.0), (-0.1, 1.0, 1.0)])
def test_an_inertia_that_no_body_has_is_used_with_a_warning(inertia: tuple[float, ...]) -> None:
    with pytest.warns(lw.LinkworkWarning, match="inertia of body 'odd': no body of mass 2 has the principal moments"):
        lw.Builder().add_body("odd", mass=2.0, inertia=inertia)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.Builder().add_body("plate", mass=2.0, inertia=(1.0, 1.0, 2.0))


def test_gravity_placements_axes_and_points_are_checked() -> None:
    for gravity in ((0, 0), None, (0, 0, NAN)):
        with pytest.raises(lw.ModelError, match="gravity must be"):
            lw.Builder(gravity=gravity)  # type: ignore[arg-type]
    with pytest.raises(lw.ModelError, match="xyz must be 3"):
        lw.placement(xyz=(1, 2))
    with pytest.raises(lw.ModelError, match="rpy must be finite"):
        lw.placement(rpy=(0, 0, INF))
    for axis in ("w", (0, 0, 0), (0, 1), None, (NAN, 0, 0)):
        with pytest.raises(lw.ModelError, match="axis must be"):
            Revolute(axis)
    for pitch in (NAN, "steep", None):
        with pytest.raises(lw.ModelError, match="pitch must be"):
            Helical("z", pitch)  # type: ignore[arg-type]
    for offset in ((1, 2), "abc", (0, 0, NAN)):
        with pytest.raises(lw.ModelError, match="offset of point on 'hull' must be"):
            lw.Point("hull", offset)  # type: ignore[arg-type]
    with pytest.raises(lw.ModelError, match="axes of point on 'hull' must be"):
        lw.Point("hull", axes="all")


def test_a_model_made_by_hand_is_checked() -> None:
    model = started().build()
    (hull,) = model.bodies
    with pytest.raises(lw.ModelError, match="two of the body name 'hull'"):
        Model("double", (hull, hull), ())
    with pytest.raises(lw.ModelError, match="two of the frame name 'camera'"):
        Model("double", (hull,), (model.frame("camera"), model.frame("camera")))
    with pytest.raises(lw.ModelError, match="body 'hull' comes before its parent"):
        Model("loop", (dataclasses.replace(hull, parent=1),), ())


def test_one_number_or_one_each() -> None:
    builder = lw.Builder()
    builder.add_body("a", joint=Cylindrical(), armature=np.float32(0.5), lower=-1, upper=(1, 2), damping=np.array(3))
    model = builder.build()
    assert model.armature.tolist() == [0.5, 0.5] and model.damping.tolist() == [3.0, 3.0]
    assert model.lower_limit.tolist() == [-1.0, -1.0] and model.upper_limit.tolist() == [1.0, 2.0]
    assert model.friction.tolist() == [0.0, 0.0] and model.effort_limit.tolist() == [INF, INF]
    assert model.bodies[0].limits != Limits.none(Cylindrical())


@pytest.mark.parametrize("model", pool(), ids=lambda model: model.name)
def test_models_compare_hash_pickle_and_copy(model: Model) -> None:
    for same in (pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model)):
        assert same == model and hash(same) == hash(model) and repr(same) == repr(model)
        assert same.frame_names == model.frame_names and same.nq == model.nq
    assert dataclasses.replace(model, gravity=(0.0, 0.0, 1.0)) != model
    assert dataclasses.replace(model, name="other") != model
    lighter = dataclasses.replace(model.bodies[-1], inertia=model.bodies[-1].inertia + model.bodies[0].inertia)
    assert dataclasses.replace(model, bodies=(*model.bodies[:-1], lighter)) != model
    assert model != "model" and len({model, pickle.loads(pickle.dumps(model))}) == 1


def test_the_same_steps_build_the_same_model() -> None:
    assert random_tree(5, (Revolute(), Free()), 4) == random_tree(5, (Revolute(), Free()), 4)
    assert random_tree(5, (Revolute(), Free()), 4) != random_tree(6, (Revolute(), Free()), 4)


def test_pickles_hold_no_cached_results() -> None:
    model = pool()[0]
    before = pickle.dumps(copy.copy(model))
    s = lw.random_state(model, 0)
    lw.mass_matrix(model, s[0])
    _ = model.mass, model.depth, hash(model), model.frame_names
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("change", ["name", "bodies", "gravity", "nq", "anything"])
def test_models_do_not_change(change: str) -> None:
    model = started().build()
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(model, change, None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        delattr(model, change)
    for part in (model.bodies[0], model.frames[0], model.bodies[0].limits, lw.Point("hull")):
        assert isinstance(part, Body | Frame | Limits | lw.Point)
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(part, dataclasses.fields(part)[0].name, None)
    for array in (model.lower_limit, model.damping):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_permutations_bring_vectors_into_any_order() -> None:
    model = pool()[0]
    other = renumbered(model, np.random.default_rng(0))
    names = [body.joint_name for body in other.bodies]
    for of, size in (("v", model.nv), ("q", model.nq)):
        p = model.permutation(names, of)
        assert sorted(p.tolist()) == list(range(size))
        assert np.array_equal(np.arange(size)[p][np.argsort(p)], np.arange(size))
    q, v = lw.random_state(model, 1)
    kinetic, _ = lw.energy(model, q, v)
    moved, _ = lw.energy(other, q[model.permutation(names, "q")], v[model.permutation(names)])
    assert moved == pytest.approx(float(kinetic), rel=1e-12)
    with pytest.raises(lw.ModelError, match="of must be one of 'q', 'v'"):
        model.permutation(names, "a")


@pytest.mark.parametrize("what", ["constraints", "actuators"])
def test_parts_of_a_model_are_lists(what: str) -> None:
    for parts in ("weld", 3, range(10**12)):
        with pytest.raises(lw.ModelError, match=f"{what} must be a list of them"):
            started().build(**{what: parts})


def test_many_placements_have_the_bits_of_single_ones() -> None:
    rng = np.random.default_rng(0)
    turns = [0.0, -0.0, np.pi / 2, -np.pi / 2, np.pi, 1.5 * np.pi, 2 * np.pi, 1e-300, 1e6, 1e9, -1e14]
    angles = [*rng.normal(size=(200, 3)).tolist(), *([a, b, c] for a in turns for b in turns for c in (0.3, turns[3]))]
    xyz = (0.1, -0.0, 2.0)
    for made, rpy in zip(placements(np.tile(xyz, (len(angles), 1)), np.array(angles)), angles, strict=True):
        many, one = (np.nan_to_num(x.numbers(), nan=7.0) for x in (made, lw.placement(xyz, rpy)))  # which has a sign
        assert many.tobytes() == one.tobytes()
    same = placements(np.eye(3), np.tile((0.1, 0.2, 0.3), (3, 1)))
    assert same[0].rotation is same[1].rotation  # one object for all: a large model has many
    assert placements(np.empty((0, 3)), np.empty((0, 3))) == []


def test_an_inertia_that_is_clearly_possible_is_one() -> None:
    """Leading minors decide like the principal moments, except for borderline cases."""
    rng = np.random.default_rng(1)
    clear = 0
    for _ in range(2000):
        moments = rng.uniform(0.0, 1.0, 3) ** rng.integers(1, 6)
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        full = turn @ np.diag(moments) @ turn.T * 10.0 ** rng.uniform(-9, 9)
        second = Sym3(*(float(full[i, j]) for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))))
        a, b, c = np.linalg.eigvalsh(full)
        if clearly_possible(second):
            clear += 1
            assert a > 0.0 and a + b > c
        else:
            assert a + b < 1.00001 * c
    assert clear > 300
    for numbers in ((0.0,) * 6, (-1.0, 0.0, 0.0, -1.0, 0.0, -1.0), (1e300,) * 6, (np.nan,) * 6):
        assert not clearly_possible(Sym3(*numbers))


def test_which_joints_have_motors() -> None:
    builder = lw.Builder("motors")
    builder.add_body("base", joint=Free(), mass=1.0, inertia=(1, 1, 1))
    builder.add_body("hip", "base", Cylindrical("x"), mass=1.0, inertia=(1, 1, 1), actuated=False)
    builder.add_body("plate", "hip", mass=1.0)
    builder.add_body("knee", "plate", Revolute("y"), mass=1.0, inertia=(1, 1, 1))
    builder.add_body("drone", joint=Free(), mass=1.0, inertia=(1, 1, 1), actuated=True)
    model = builder.build()
    expected = [False] * 8 + [True] * 7
    for one in (model, pickle.loads(pickle.dumps(model)), lw.merge_fixed(model), copy.deepcopy(model)):
        assert one.actuated.tolist() == expected and not one.actuated.flags.writeable
    assert model != dataclasses.replace(
        model, bodies=tuple(dataclasses.replace(b, actuated=True) for b in model.bodies)
    )
    with pytest.raises(lw.ModelError, match="actuated of joint 'joint_wheel' must be True or False, not 'yes'"):
        builder.add_body("wheel", actuated="yes")  # type: ignore[arg-type]


def test_limits_that_stand_for_none_are_none_for_random_states() -> None:
    builder = lw.Builder()
    builder.add_body("rotor", joint=lw.joints.Revolute("z"), mass=1.0, inertia=(1, 1, 1), lower=-1e16, upper=1e16)
    q, v = lw.random_state(builder.build(), 0, shape=50)
    assert 2.0 < np.abs(q).max() < 3.2
    assert np.isfinite(lw.forward_dynamics(builder.build(), q, v, [0.0])).all()
