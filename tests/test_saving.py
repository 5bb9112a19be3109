"""Models written to URDF: they read back equal, other programs read the same tree, and edits by hand count."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import linkwork as lw
from linkwork.formats.urdf_writer import as_urdf
from linkwork.joints import Cylindrical, Fixed, Free, Helical, Planar, Prismatic, Revolute, Spherical, Universal
from robots import robot
from strategies import close, random_tree

IN_URDF = (
    Revolute("x"),
    Revolute((1.0, 2.0, 3.0)),
    Prismatic("-y"),
    Prismatic((0.3, -1.0, 2.0)),
    Planar(),
    Free(),
    Fixed(),
)
OTHERS = (Spherical(), Universal("x", (0.3, -1.0, 2.0)), Cylindrical("-y"), Helical((1.0, 2.0, 3.0), 0.02))


def quiet_load(path: Any, **options: Any) -> lw.Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return lw.load(path, **options)


@pytest.mark.parametrize("floating_base", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("name", ["panda", "anymal", "baxter"])
def test_robots_read_back_equal(name: str, floating_base: bool, tmp_path: Path) -> None:
    for fixed_joints in ("merge", "keep"):
        model = quiet_load(robot(f"{name}.urdf"), floating_base=floating_base, fixed_joints=fixed_joints)
        assert quiet_load(lw.save(model, tmp_path / "robot.urdf")) == model


@pytest.mark.parametrize("seed", range(4))
def test_any_tree_reads_back_equal(seed: int, tmp_path: Path) -> None:
    """In any order, with rotors, several bodies on the world, limits of all kinds; joints that URDF does not have."""
    rng = np.random.default_rng(seed)
    tree = random_tree(400 + seed, (*IN_URDF, *OTHERS) if seed % 2 else IN_URDF, 12, name=f'tree "{seed}" <&>\n')
    bodies = []
    for body in tree.bodies:
        numbers = [rng.choice([np.inf, 1.5, float(rng.normal() ** 2)], size=n) for n in (body.joint.nq, body.joint.nv)]
        lower, other = (tuple(map(float, each)) for each in numbers)
        limits = replace(
            body.limits, lower=tuple(-x for x in lower), velocity=other, effort=other[::-1], damping=(0.1, *other[1:])
        )
        if body.joint.nv and rng.random() < 0.5:
            limits = replace(limits, stiffness=(2.0,) * body.joint.nv, springref=(0.5,) * body.joint.nq)
        if not body.joint.nv:
            limits = body.limits
        bodies.append(replace(body, limits=limits, actuated=[None, True, False][int(rng.integers(3))]))
    tip = replace(tree.frames[1], name="a tip", kind="link")
    elsewhere = replace(tree.frame("f3"), name="b2")  # not where its body is, as MuJoCo's frames may be
    frames = [elsewhere if frame.name == "b2" else frame for frame in tree.frames if frame.name != "joint_b4"]
    first, last = tree.joint_names[0], tree.body_names[-1]
    model = replace(
        tree,
        bodies=tuple(bodies),
        frames=(*frames[::-1], tip),
        meshes=("a.stl",),
        constraints=(lw.Hinge(last, axis=(1, 2, 3)), lw.Rolling("post", last, radius=0.2), lw.Ball(lw.Point("f1"))),
        actuators=(lw.Actuator("motor", {first: [1.0] * bodies[0].joint.nv}, control_range=(-1, np.inf)),),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert quiet_load(lw.save(model, tmp_path / "tree.urdf")) == model
        bare = replace(tree, frames=())
        assert quiet_load(lw.save(bare, tmp_path / "bare.urdf")) == bare


def test_joints_that_urdf_does_not_have_are_floating_for_others(tmp_path: Path) -> None:
    """They read back unchanged, with limits and couplings; edits of the file take precedence; others are reported."""
    builder = lw.Builder("screws")
    builder.add_body("nut", joint=Helical("z", 0.01), mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.add_body("ball", "nut", Spherical(), lw.placement((0, 0, 1)), mass=2.0, inertia=(0.1, 0.2, 0.2))
    builder.add_body("arm", "nut", Revolute("x"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    screws = replace(builder.build(), constraints=(lw.Coupling("joint_arm", "joint_nut", 2.0),))
    nut = replace(screws.bodies[0], limits=replace(screws.bodies[0].limits, lower=(-1.0,), effort=(3.0,)))
    screws = replace(screws, bodies=(nut, *screws.bodies[1:]))
    words = "joint 'joint_nut' is helical.*, which URDF does not have: it is floating in the file, as 1 more"
    with pytest.warns(lw.LinkworkWarning, match=words):
        path = lw.save(screws, tmp_path / "screws.urdf")
    assert lw.load(path) == screws
    there = pin.buildModelFromUrdf(str(path))
    assert (there.nv, list(there.names[1:])) == (13, ["joint_nut", "joint_arm", "joint_ball"])
    assert np.isclose(sum(inertia.mass for inertia in there.inertias), 4.0)
    text = path.read_text()
    path.write_text(text.replace('name="joint_ball" type="floating"', 'name="joint_ball" type="fixed"'))
    assert [body.name for body in lw.load(path).bodies] == ["nut", "arm"]
    for wrong in ("Sphere", "Helical"):
        path.write_text(text.replace('"Spherical", {', f'"{wrong}", {{"pitch": "a"'))
        with pytest.raises(lw.ModelError, match="attribute 'joint' does not say what it is"):
            lw.load(path)


def test_pinocchio_reads_the_same_robot(tmp_path: Path) -> None:
    panda = lw.load(robot("panda.urdf"))
    model = panda.locked({"panda_joint3": 0.4}).with_payload("panda_hand_tcp", 2.0, (0, 0, 0.1)).renamed("left_")
    path = lw.save(model, tmp_path / "left.urdf")
    there = pin.buildModelFromUrdf(str(path))
    assert list(there.names)[1:] == list(model.joint_names)
    q, v = lw.random_state(model, 0)
    data = there.createData()
    with lw.interpreted():
        close(lw.nonlinear_effects(model, q, v), pin.nonLinearEffects(there, data, q, v), 1e-12)
        pin.framesForwardKinematics(there, data, q)
        for name in model.frame_names[1:]:
            close(lw.forward_kinematics(model, q, [name])[0], data.oMf[there.getFrameId(name)].homogeneous, 1e-12)


def test_the_order_of_a_saved_file_is_kept_unless_told(tmp_path: Path) -> None:
    builder = lw.Builder()
    for name in ("b", "a"):
        builder.add_body(name, joint=Revolute("x"), mass=1.0)
    path = lw.save(builder.build(), tmp_path / "order.urdf")
    assert lw.load(path).body_names == ("b", "a")
    assert lw.load(path, joint_order="pinocchio").body_names == ("a", "b")
    assert quiet_load(path, floating_base=True).body_names == ("world_link", "b", "a")


def test_edits_by_hand_count(tmp_path: Path) -> None:
    """The digits that only linkwork reads are used as long as they agree with those that others read."""
    arm = lw.load(robot("panda.urdf")).with_payload("panda_hand_tcp", 1.0)
    path = lw.save(arm, tmp_path / "arm.urdf")
    text = path.read_text()
    assert text.count('<mass value="2.465522"/>') == 1 and 'name="panda_link7" inertia=' in text
    path.write_text(
        text.replace('<mass value="2.465522"/>', '<mass value="5.0"/>').replace('upper="2.8973"', 'upper="1.0"')
    )
    edited = lw.load(path)
    assert edited.body("panda_link7").mass == 5.0 and edited.upper_limit[0] == 1.0
    assert edited.bodies[:6] == tuple(
        replace(body, limits=replace(body.limits, upper=(1.0,))) if body.limits.upper == (2.8973,) else body
        for body in arm.bodies[:6]
    )
    path.write_text(
        text.replace('<link name="panda_hand_tcp"/>', '<link name="tool"/>').replace('="panda_hand_tcp"/>', '="tool"/>')
    )
    assert "tool" in lw.load(path).frame_names and "panda_hand_tcp" not in lw.load(path).frame_names


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    class Own(Spherical):
        pass

    with pytest.raises(lw.ModelError, match=r"joint 'joint1' is of a class of your own \(Own\), and cannot be written"):
        lw.save(lw.mechanisms.serial_chain(1, joint=Own()), tmp_path / "a.urdf")
    arm = lw.mechanisms.serial_chain(1)
    with pytest.raises(lw.ArgumentError, match=r"must end in '.urdf', not 'arm.xml'"):
        lw.save(arm, "arm.xml")
    with pytest.raises(lw.ModelError, match=r"the name 'a\\x00' of a body has characters that XML cannot hold"):
        lw.save(arm.renamed(names={"body1": "a\0"}), tmp_path / "a.urdf")
    with pytest.raises(lw.ModelError, match="a frame without a name cannot be written"):
        lw.save(arm.renamed(names={"tip": ""}), tmp_path / "a.urdf")
    with pytest.raises(lw.ArgumentError, match="model must be a linkwork Model, not 'arm'"):
        lw.save("arm", tmp_path / "a.urdf")  # type: ignore[arg-type]

    class Mine(lw.Ball):
        pass

    with pytest.raises(lw.ModelError, match="of a class of your own"):
        lw.save(replace(arm, constraints=(Mine("tip"),)), tmp_path / "a.urdf")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('armature="0.5"', 'armature="-1"', "armature of body 'body1' must not be negative"),
        ('armature="0.5"', 'armature="x"', "must be finite numbers"),
        ('actuated="true"', 'actuated="yes"', "must be true or false, not 'yes'"),
        ('effort="inf"', 'effort="1 2"', "'effort' must be 1 number"),
        ('kind="frame"', 'kind="place"', "must be frame, link or joint, not 'place'"),
        ("is='{", "is='", "attribute 'is' does not say what it is"),
        ('"tip", "frame_b"', '"top", "frame_b"', "no frame named 'top'"),
        ('gravity="', 'gravity="1 ', "'gravity' must be 3 number"),
        ("</linkwork>", "</linkwork><linkwork/>", "there is already a <linkwork>"),
    ],
)
def test_a_damaged_file_is_told(old: str, new: str, words: str, tmp_path: Path) -> None:
    builder = lw.Builder("arm")
    builder.add_body("body1", joint=Revolute("x"), mass=1.0, armature=0.5, actuated=True, lower=0.0)
    builder.add_frame("tip", "body1")
    text = as_urdf(builder.build(constraints=[lw.Ball("tip")], actuators=[lw.Actuator("m", {"joint_body1": 1.0})]))
    assert old in text
    path = tmp_path / "arm.urdf"
    path.write_text(text.replace(old, new))
    with pytest.raises(lw.FormatError, match=words):
        lw.load(path)
