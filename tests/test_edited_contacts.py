"""Contacts of models derived from others: they are kept with the bodies that they belong to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import linkwork as lw

KNEE = '<joint name="knee" type="hinge" axis="0 1 0" range="-60 60" frictionloss="0.2"/>'
WALKER = """<mujoco model="walker"><option timestep="0.002" density="3" impratio="2" cone="elliptic" tolerance="0"
  iterations="200" ls_iterations="200"/><worldbody>
  <geom name="floor" type="plane" size="5 5 1"/>
  <body name="trunk" pos="0 0 0.4"><freejoint name="root"/><geom name="hull" type="box" size="0.2 0.1 0.1" mass="2"/>
    <body name="thigh" pos="0.1 0 -0.1"><joint name="hip" type="hinge" axis="0 1 0" range="-40 40"/>
      <geom name="bone" type="sphere" size="0.03" pos="0 0 -0.1" mass="0.5"/>
      <body name="shin" pos="0 0 -0.15">KNEE
        <geom name="foot" type="sphere" size="0.04" pos="0 0 -0.1" mass="0.3" friction="0.8"/>
        <geom name="heel" type="sphere" size="0.02" pos="-0.1 0 0" mass="0.1"/></body></body></body>
  <body name="lid" pos="1 0 0.5"><joint name="slide" type="slide" axis="0 0 1"/>
    <geom name="plate" type="box" size="0.1 0.1 0.1" mass="1"/></body>
</worldbody><equality><joint joint1="slide" solref="0.05 1"/></equality></mujoco>"""


def walker(folder: Path, knee: str = KNEE) -> lw.Model:
    path = folder / "walker.xml"
    path.write_text(WALKER.replace("KNEE", knee))
    return lw.load(path)


def pressed(model: lw.Model, low: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """A state in which feet and boxes penetrate the ground."""
    _, v = lw.random_state(model, 3)
    return model.configuration({"root": [0.0, 0.1, low, 0.06, 0.08, 0.0, np.sqrt(0.99)]}), 0.3 * v


def forces(model: lw.Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    with lw.interpreted():
        still = np.zeros(model.nv)
        return lw.contact_dynamics(model, q, v, still, model.contacts, dt=0.002, constraints=model.constraints)[0]


def test_a_locked_joint_is_one_that_the_file_does_not_have(tmp_path: Path) -> None:
    whole = walker(tmp_path)
    stiff = whole.locked({"knee": 0.0})
    q, v = pressed(stiff)
    path = tmp_path / "stiff.xml"
    path.write_text(WALKER.replace("KNEE", ""))
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    turn = lw.forward_kinematics(stiff, q, "trunk")[0, :3, :3]
    d.qpos[:], d.qvel[:] = q[[0, 1, 2, 6, 3, 4, 5, 7, 8]], v
    d.qvel[:3] = turn @ v[:3]
    mujoco.mj_forward(m, d)
    assert d.ncon >= 3
    a = forces(stiff, q, v)
    theirs = d.qacc.copy()
    theirs[:3] = turn.T @ theirs[:3] - np.cross(v[3:6], v[:3])
    np.testing.assert_allclose(a, theirs, rtol=0, atol=1e-8 * abs(theirs).max())


def test_contacts_are_renamed_and_added_where_they_stand(tmp_path: Path) -> None:
    model = walker(tmp_path)
    q, v = pressed(model)
    alone = forces(model, q, v)
    assert abs(alone).max() > 50.0
    other = model.renamed("left_")
    assert {each.frame for each in other.contacts} == {f"left_{each.frame}" for each in model.contacts}
    np.testing.assert_array_equal(forces(other, q, v), alone)
    builder = lw.Builder("two")
    for side, place in (("left_", (0.0, 1.0, 0.0)), ("right_", (0.0, -1.0, 0.7))):
        builder.add_model(model, placement=lw.placement(place), prefix=side)
    two = builder.build()
    assert len(two.contacts) == 2 * len(model.contacts) and two.contacts.friction_ratio == 2.0
    a = forces(two, np.tile(q, 2), np.tile(v, 2))
    np.testing.assert_allclose(a, np.tile(alone, 2), rtol=0, atol=1e-9 * abs(alone).max())  # each on its own floor


def test_the_floor_of_a_part_is_left_behind(tmp_path: Path) -> None:
    leg = walker(tmp_path).subtree("thigh")
    assert all(each.on != "world" for each in leg.contacts) and leg.contacts.reference == (0.0, 0.0)
    assert [joint for joint, _, _ in leg.contacts.limits] == ["hip", "knee"]
    trunk = walker(tmp_path).subtree("trunk")
    assert any(each.on == "world" for each in trunk.contacts)
    welded = replace(leg, constraints=(lw.Weld("shin"), lw.Ball("shin", "thigh")))
    assert welded.subtree("shin").constraints == ()
    assert welded.subtree("thigh").constraints == welded.constraints
    assert welded.locked(["knee"]).constraints == (lw.Weld("shin"),)


def test_contacts_read_back_equal(tmp_path: Path) -> None:
    builder = lw.Builder("ball")
    builder.add_body("ball", joint=lw.joints.Free(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    hills = lw.HeightField([[0.0, 0.1], [0.2, 0.3]], (1.0, 2.0))
    touching = lw.Contact("ball", lw.Sphere(0.1), hills, placement=np.array(lw.placement((0, 0, 0.1), (0.1, 0.2, 0.3))))
    for model in (walker(tmp_path), walker(tmp_path).locked(["knee"]), builder.build(contacts=touching)):
        assert lw.load(lw.save(model, tmp_path / "saved.urdf")) == model


WRONG: dict[str, tuple[Callable[[lw.Model], Any], str]] = {
    "a frame": (lambda m: replace(m, contacts=[lw.Contact("tipp")]), "no frame named 'tipp'; did you mean 'tip'"),
    "a joint": (
        lambda m: replace(m, contacts=lw.Contacts(friction=(("joint9", lw.Softness()),))),
        "no joint named 'joint9'",
    ),
    "a reference": (
        lambda m: replace(m, contacts=lw.Contacts(reference=(0.0,))),
        r"reference of contacts has 1 number\(s\) for model 'serial_chain' of nq = 2",
    ),
    "a placement": (
        lambda m: lw.Contact("tip", placement=2.0 * np.eye(4)),  # type: ignore[arg-type]
        "placement of the contact of 'tip' must come from lw.placement.* or be a 4×4 matrix",
    ),
    "another": (
        lambda m: lw.Contact("tip", on_placement=np.diag([1.0, 1.0, -1.0, 1.0])),  # type: ignore[arg-type]
        "on_placement of the contact of 'tip' is not a rotation",
    ),
    "a box": (
        lambda m: lw.Medium(1.0, boxes=(("tip", (1, 2, 3), (1.0, 1.0, 1.0)),)),  # type: ignore[arg-type]
        "placement of the box of 'tip' must come from lw.placement.*makes one of a position",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_contacts_are_told(case: str) -> None:
    make, words = WRONG[case]
    with pytest.raises(lw.LinkworkError, match=words):
        make(lw.mechanisms.serial_chain(2))


def test_what_holds_for_all_is_said() -> None:
    ball = lw.mechanisms.free_box()
    builder = lw.Builder("pond")
    builder.add_model(replace(ball, contacts=lw.Contacts(friction_ratio=2.0, medium=lw.Medium(1.0))), prefix="a_")
    builder.add_model(replace(ball, contacts=lw.Contacts(friction_ratio=3.0, medium=lw.Medium(1000.0))), prefix="b_")
    with pytest.warns(lw.LinkworkWarning) as caught:
        pond = builder.build()
    words = [str(each.message) for each in caught]
    assert "have friction_ratio 3, and are added to ones of 2, which holds for all" in words[0]
    assert "model 'b_free_box' moves in Medium(density=1000.0" in words[1]
    assert pond.contacts.friction_ratio == 2.0 and pond.contacts.medium == lw.Medium(1.0)
