"""MJCF against MuJoCo itself, and rejected files."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import mujoco
import numpy as np
import pytest

from linkwork.algorithms import ALGORITHMS
from linkwork.errors import ArgumentError, FormatError, LinkworkWarning, MissingExtraError
from linkwork.formats import load
from linkwork.formats.mjcf_parts import BALL, FREE, HINGE, SLIDE, TRANSMISSIONS
from linkwork.inside import interpret
from strategies import Array

GEOM = '<geom type="box" size=".1 .2 .3" pos=".05 -.02 .1" euler="10 20 30"/>'
MODELS = {
    "hinges": f"""
      <body pos="0 0 1" euler="0 30 0"><joint axis="1 2 3" pos=".1 .2 -.1" armature=".2"/>{GEOM}
        <body name="fore" pos=".5 0 0"><joint type="slide" axis="0 -1 1" pos="1 1 1"/>{GEOM}</body>
        <body name="other" pos="0 .5 0"><joint name="z" axis="0 0 1"/>{GEOM}</body></body>""",
    "several joints": f"""
      <body name="base" pos="0 1 0" quat="1 2 3 4">
        <joint type="slide" axis="1 0 0"/><joint name="turn" axis="0 1 0" pos=".1 0 .2"/>
        <joint axis="1 1 0" pos="0 .3 0"/>
        {GEOM}<site name="tip" pos="1 2 3" euler="10 0 5"/>
        <body name="ball" pos=".2 .1 0" euler="5 6 7"><joint axis="0 0 1" pos="0 0 .1"/>
          <joint type="ball" pos=".1 .2 .3" armature=".05"/>{GEOM}</body></body>""",
    "free": f"""
      <body name="torso" pos="1 2 3" euler="20 0 40"><freejoint name="root"/>{GEOM}
        <body pos="0 0 .4"><joint type="ball"/>{GEOM}</body>
        <body pos="0 0 -.4"><joint axis="0 1 0" range="-30 45" damping="2" frictionloss=".3"
          actuatorfrcrange="-5 7"/>{GEOM}</body></body>
      <body name="box" pos="3 0 0"><freejoint/>{GEOM}</body>""",
    "reference": f"""
      <body pos="0 0 1"><joint axis="1 1 0" ref="30" pos=".1 0 0"/><joint type="slide" axis="0 0 2" ref=".3"/>{GEOM}
        <body pos="0 .3 0"><joint axis="0 1 0" ref="-70"/>{GEOM}<site name="s" pos="0 0 1"/></body></body>""",
    "fixed bodies": f"""
      <body name="post" pos="0 0 1" euler="0 10 0">{GEOM}<site name="top" pos="0 0 .5"/>
        <body name="arm" pos="0 0 .5"><joint axis="0 1 0" pos="0 0 .1"/>{GEOM}
          <body name="tool" pos=".5 0 0" euler="0 0 90">{GEOM}<site name="grip"/>
            <body name="finger" pos="0 .1 0"><joint type="slide" axis="1 0 0"/>{GEOM}</body></body></body></body>""",
}


def write(folder: Path, world: str, head: str = "") -> Path:
    path = folder / "robot.xml"
    path.write_text(f'<mujoco model="m">{head}<worldbody>{world}</worldbody></mujoco>')
    return path


def to_linkwork(m: mujoco.MjModel, qpos: Array, qvel: Array) -> tuple[Array, Array, Array]:
    """MuJoCo's qpos and qvel as our q and v, and the matrix T with qvel = T v."""
    q, turn = qpos.copy(), np.eye(m.nv)
    for joint in range(m.njnt):
        start, dof, kind = m.jnt_qposadr[joint], m.jnt_dofadr[joint], m.jnt_type[joint]
        if kind in (FREE, BALL):
            at = start + (3 if kind == FREE else 0)
            q[at : at + 4] = np.roll(qpos[at : at + 4], -1)
        if kind == FREE:
            rotation = np.empty(9)
            mujoco.mju_quat2Mat(rotation, qpos[start + 3 : start + 7])
            turn[dof : dof + 3, dof : dof + 3] = rotation.reshape(3, 3)
    return q, turn.T @ qvel, turn


def acceleration_bias(m: mujoco.MjModel, v: Array, turn: Array) -> Array:
    """Ṫ v: a free body's world acceleration has ω × v beyond the change of its body-frame velocity."""
    bias = np.zeros(m.nv)
    for joint in range(m.njnt):
        if m.jnt_type[joint] == FREE:
            dof = m.jnt_dofadr[joint]
            bias[dof : dof + 3] = np.cross(v[dof + 3 : dof + 6], v[dof : dof + 3])
    return turn @ bias


def random_state(m: mujoco.MjModel, rng: np.random.Generator) -> mujoco.MjData:
    d = mujoco.MjData(m)
    mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv), 1.0)
    d.qvel[:] = rng.normal(size=m.nv)
    return d


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("fixed_joints", ["merge", "keep"])
def test_dynamics_are_mujocos(tmp_path: Path, name: str, fixed_joints: str) -> None:
    path = write(tmp_path, MODELS[name], '<option gravity="1 -2 -9"><flag contact="disable"/></option>')
    model, m = load(path, fixed_joints=fixed_joints), mujoco.MjModel.from_xml_path(str(path))
    assert (model.nq, model.nv, model.gravity) == (m.nq, m.nv, (1.0, -2.0, -9.0))
    rng = np.random.default_rng(5)
    for _ in range(3):
        d = random_state(m, rng)
        tau = rng.normal(size=m.nv)
        d.qfrc_applied[:] = tau
        m.dof_damping[:] = m.dof_frictionloss[:] = 0.0
        m.jnt_limited[:] = 0
        mujoco.mj_forward(m, d)
        q, v, turn = to_linkwork(m, d.qpos, d.qvel)
        theirs = np.zeros((m.nv, m.nv))
        mujoco.mj_fullM(m, d, theirs)
        (mass,) = interpret(ALGORITHMS["mass_matrix"], model, [q], ())
        np.testing.assert_allclose(mass, turn.T @ theirs @ turn, rtol=0, atol=1e-9 * abs(theirs).max())
        drift = acceleration_bias(m, v, turn)
        (bias,) = interpret(ALGORITHMS["nonlinear_effects"], model, [q, v], ())
        expected = turn.T @ (d.qfrc_bias + theirs @ drift)
        np.testing.assert_allclose(bias, expected, rtol=0, atol=1e-9 * abs(expected).max())
        (a,) = interpret(ALGORITHMS["articulated_body"], model, [q, v, turn.T @ tau, None], ())
        np.testing.assert_allclose(turn @ a + drift, d.qacc, rtol=0, atol=1e-9 * abs(d.qacc).max())
        frames = [
            (named.name, position, rotation)
            for view, count in ((d.body, m.nbody), (d.site, m.nsite))
            for i in range(count)
            if (named := view(i)).name
            for position, rotation in [(named.xpos, named.xmat)]
        ]
        chosen = [model.frame(frame) for frame, _, _ in frames]
        (poses,) = interpret(ALGORITHMS["frame_placements"], model, [q], (), chosen)
        for pose, (_, position, rotation) in zip(poses, frames, strict=True):
            np.testing.assert_allclose(pose[:3, 3], position, rtol=0, atol=1e-9)
            np.testing.assert_allclose(pose[:3, :3], rotation.reshape(3, 3), rtol=0, atol=1e-9)


def test_names_order_and_limits(tmp_path: Path) -> None:
    model = load(write(tmp_path, MODELS["free"]))
    assert model.name == "m"
    assert model.body_names == ("torso", "body2", "body3", "box")
    assert model.joint_names == ("root", "joint1", "joint2", "joint3")
    hinge = model.bodies[2].limits
    assert hinge.lower == pytest.approx([np.radians(-30)]) and hinge.upper == pytest.approx([np.radians(45)])
    assert (hinge.damping, hinge.friction, hinge.effort) == ((2.0,), (0.3,), (7.0,))


def test_a_body_with_several_joints_is_a_chain(tmp_path: Path) -> None:
    model = load(write(tmp_path, MODELS["several joints"]))
    assert model.body_names == ("base_joint0", "base_turn", "base", "ball_joint3", "ball")
    assert [body.inertia.mass > 0 for body in model.bodies] == [False, False, True, False, True]
    assert "tip" in model.frame_names
    assert model.bodies[4].armature == (0.05,) * 3


def test_fixed_bodies_are_merged_or_kept(tmp_path: Path) -> None:
    path = write(tmp_path, MODELS["fixed bodies"])
    merged, kept = load(path), load(path, fixed_joints="keep")
    assert merged.body_names == ("arm", "finger")
    assert kept.body_names == ("post", "arm", "tool", "finger")
    assert set(merged.frame_names) == {"world", "post", "top", "arm", "tool", "grip", "finger", "joint0", "joint1"}


def test_made_up_names_do_not_clash(tmp_path: Path) -> None:
    world = f'<body><joint/>{GEOM}<body name="body1"><joint name="joint0"/>{GEOM}<site name="body1"/></body></body>'
    model = load(write(tmp_path, world))
    assert model.body_names == ("body1_", "body1") and model.joint_names == ("joint0_", "joint0")
    assert "body1__" in model.frame_names


def test_constants_are_mujocos(tmp_path: Path) -> None:
    kinds = mujoco.mjtJoint
    assert [int(k) for k in (kinds.mjJNT_FREE, kinds.mjJNT_BALL, kinds.mjJNT_SLIDE, kinds.mjJNT_HINGE)] == [
        FREE,
        BALL,
        SLIDE,
        HINGE,
    ]
    weightless = load(write(tmp_path, MODELS["free"], '<option><flag gravity="disable"/></option>'))
    assert weightless.gravity == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("head", "world", "name"),
    [
        ("<tendon><fixed name='rope'><joint joint='a' coef='1'/></fixed></tendon>", "", r"tendons \(1: 'rope'\)"),
        (
            "<equality><joint name='tie' joint1='a' active='false'/></equality>",
            "",
            r"equality constraints that are off in the file \(1: 'tie'\)",
        ),
        (
            "<equality><joint name='tie' joint1='a' joint2='b' polycoef='0 1 2 0 0'/></equality>",
            f"<body><joint name='b'/>{GEOM}</body>",
            r"equality constraints of joints that are not linear \(1: 'tie'\)",
        ),
        (
            "<tendon><fixed name='rope'><joint joint='a' coef='1'/></fixed></tendon>"
            "<equality><tendon name='tie' tendon1='rope'/></equality>",
            "",
            r"left out are equality constraints of the kind tendon \(1: 'tie'\); tendons \(1: 'rope'\)$",
        ),
        ("", "<body name='hand' mocap='true'/>", "motions of mocap bodies.*'hand'"),
        ("", f"<body name='light' gravcomp='1'><joint/>{GEOM}</body>", "gravity compensation of bodies .*'light'"),
        ("", f"<body><joint name='sprung' type='free' stiffness='3'/>{GEOM}</body>", "springs .*'sprung'"),
        (
            "<actuator><general name='slow' joint='a' dyntype='filter'/></actuator>",
            "",
            r"of actuators a state of its own \(filter\) \(1: 'slow'\)",
        ),
        (
            "<actuator><adhesion name='pad' body='b' ctrlrange='0 1'/></actuator>",
            f"<body name='b'>{GEOM}</body>",
            r"of actuators a transmission of the kind body \(1: 'pad'\)",
        ),
        ("<actuator><muscle name='m' joint='a' lengthrange='0 1'/></actuator>", "", r"a gain that varies \(muscle\)"),
    ],
)
def test_what_is_left_out_is_said(tmp_path: Path, head: str, world: str, name: str) -> None:
    path = tmp_path / "robot.xml"
    body = f"<body><joint name='a'/>{GEOM}</body>"
    path.write_text(f"<mujoco><worldbody>{body}{world}</worldbody>{head}</mujoco>")
    with pytest.warns(LinkworkWarning, match=name):
        load(path)


def test_one_warning_counts_what_is_left_out(tmp_path: Path) -> None:
    """Not a line for each tendon of a hand, and not a megabyte for a name of a megabyte."""
    names = [*(f"rope{k}" for k in range(12)), "x" * 10_000]
    tendons = "".join(f"<fixed name='{name}'><joint joint='a' coef='1'/></fixed>" for name in names)
    path = tmp_path / "robot.xml"
    head = "<asset><mesh name='t' vertex='0 0 0 1 0 0 0 1 0 0 0 1'/></asset>"
    meshes = "".join(f"<geom name='g{k}' type='mesh' mesh='t'/>" for k in range(5))
    path.write_text(f"""<mujoco model="m">{head}<worldbody><geom name="floor" type="plane" size="1 1 1"/>
      <body><joint name="a"/>{meshes}</body></worldbody><tendon>{tendons}</tendon></mujoco>""")
    with pytest.warns(LinkworkWarning) as said:
        model = load(path)
    (warning,) = said
    assert str(warning.message) == f"{path}: left out are tendons (13: 'rope0', 'rope1', 'rope2', ...)"
    (contacts,) = model.contacts.left_out
    assert contacts == "contacts of a mesh and a plane (5: 'g0 and floor', 'g1 and floor', 'g2 and floor', ...)"


def test_a_compile_error_has_its_place(tmp_path: Path) -> None:
    path = tmp_path / "robot.xml"
    path.write_text("<mujoco>\n <worldbody>\n  <body><body name='x'><joint/></body></body></worldbody></mujoco>")
    with pytest.raises(FormatError, match="mass and inertia") as caught:
        load(path)
    assert (caught.value.path, caught.value.line, caught.value.column) == (str(path), 3, 3)
    path.write_text("<mujoco>\n <worldbody>\n  <body/><geom type='blob'/></worldbody></mujoco>")
    with pytest.raises(FormatError, match="blob") as caught:
        load(path)
    assert (caught.value.line, caught.value.column, caught.value.element) == (3, 10, "geom")
    path.write_text("<mujoco>\n <asset><mesh file='none.stl'/></asset></mujoco>")
    with pytest.raises(FormatError, match=r"none\.stl") as caught:
        load(path)
    assert caught.value.line is not None


def test_mujocos_warnings_are_passed_on_and_no_log_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FormatError, match="NaN"):
        load(write(tmp_path, '<body pos="nan 0 0"/>'))
    with pytest.warns(LinkworkWarning, match="NaN"):
        load(write(tmp_path, f'<body><joint/>{GEOM}</body><camera name="eye" pos="nan 0 0"/>'))
    assert [each.name for each in tmp_path.iterdir()] == ["robot.xml"]


@pytest.mark.parametrize(
    "body",
    [
        "<include file='../secret.xml'/>",
        "<include file='/etc/hostname'/>",
        "<include file='link.xml'/>",
        "<asset><mesh file='../../secret.stl'/></asset>",
        "<asset><texture type='2d' file='/secret.png'/></asset>",
        "<asset><texture type='cube' fileup='../secret.png'/></asset>",
        "<asset><hfield file='..\\secret.png'/></asset>",
        "<asset><skin file='http://host/secret.skn'/></asset>",
        "<asset><model file='../secret.xml'/></asset>",
        "<compiler meshdir='..'/><asset><mesh file='secret.stl'/></asset>",
        "<compiler assetdir='/tmp'/><asset><texture type='2d' file='secret.png'/></asset>",
        "<extension><plugin><instance name='i'><config key='k' value='/secret'/></instance></plugin></extension>",
        "<include file='inner/deeper.xml'/>",
    ],
)
def test_nothing_is_read_from_outside_the_folder(tmp_path: Path, body: str) -> None:
    folder = tmp_path / "model"
    (folder / "inner").mkdir(parents=True)
    (tmp_path / "secret.xml").write_text("<mujoco/>")
    (folder / "link.xml").symlink_to(tmp_path / "secret.xml")
    (folder / "inner" / "deeper.xml").write_text("<mujoco><include file='../../secret.xml'/></mujoco>")
    (folder / "robot.xml").write_text(f"<mujoco>\n{body}</mujoco>")
    with pytest.raises(FormatError, match="leads out of the model's root") as caught:
        load(folder / "robot.xml")
    assert caught.value.line and caught.value.column and caught.value.element


def test_files_inside_the_folder_are_read(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "arm.xml").write_text(f"<mujoco><body name='arm'><joint/>{GEOM}</body></mujoco>")
    (tmp_path / "parts" / "tetra.obj").write_text(TETRAHEDRON)
    head = "<compiler meshdir='parts/..//parts'/><asset><mesh name='t' file='tetra.obj'/></asset>"
    world = "<include file='parts/arm.xml'/><body name='rock'><freejoint/><geom type='mesh' mesh='t'/></body>"
    assert load(write(tmp_path, world, head)).body_names == ("arm", "rock")


TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"


def arm_with(mesh: str, compiler: str = "") -> str:
    """A model to attach, of a body shaped like a mesh."""
    return f"""<mujoco>{compiler}<asset><mesh name="t" file="{mesh}"/></asset>
      <worldbody><body name="arm"><freejoint/><geom type="mesh" mesh="t"/></body></worldbody></mujoco>"""


def attaching(file: str, head: str = "") -> str:
    return f"""<mujoco>{head}<asset><model name="sub" file="{file}"/></asset>
      <worldbody><frame><attach model="sub" body="arm" prefix="x"/></frame></worldbody></mujoco>"""


@pytest.mark.parametrize("head", ["", "<compiler meshdir='a/b'/>", "<compiler assetdir='a/b'/>"])
@pytest.mark.parametrize("mesh", ["../outside.obj", "a/../../outside.obj", "link.obj", "links/outside.obj"])
def test_an_attached_model_reads_nothing_from_outside(tmp_path: Path, head: str, mesh: str) -> None:
    """Its references are its own: the directories of the model that attaches it do not make them safe."""
    folder = tmp_path / "model"
    (folder / "a" / "b").mkdir(parents=True)
    (tmp_path / "outside.obj").write_text(TETRAHEDRON)
    (folder / "link.obj").symlink_to(tmp_path / "outside.obj")
    (folder / "links").symlink_to(tmp_path)
    (folder / "sub.xml").write_text(arm_with(mesh))
    (folder / "robot.xml").write_text(attaching("sub.xml", head))
    with pytest.raises(FormatError, match="leads out of the model's root") as caught:
        load(folder / "robot.xml")
    assert caught.value.path.endswith("sub.xml") and caught.value.element == "mesh"


@pytest.mark.parametrize("places", [("sub/sub.xml", "sub/t.obj"), ("sub/sub.xml", "t.obj"), ("sub.xml", "t.obj")])
def test_an_attached_model_has_directories_of_its_own(tmp_path: Path, places: tuple[str, str]) -> None:
    model, mesh = (tmp_path / "model" / place for place in places)
    model.parent.mkdir(parents=True, exist_ok=True)
    mesh.write_text(TETRAHEDRON)
    meshdir = Path("meshes", "..", *[".."] * (len(model.parents) - len(mesh.parents)))
    (model.parent / "meshes").mkdir()
    model.write_text(arm_with("t.obj", f"<compiler meshdir='{meshdir}'/>"))
    (tmp_path / "model" / "robot.xml").write_text(attaching(places[0], "<compiler meshdir='nowhere'/>"))
    assert load(tmp_path / "model" / "robot.xml").body_names == ("xarm",)


def test_models_that_attach_each_other_are_refused(tmp_path: Path) -> None:
    """MuJoCo would follow them until a stack overflow ends the process."""
    one, two = tmp_path / "one.xml", tmp_path / "two.xml"
    one.write_text(attaching("one.xml"))
    with pytest.raises(FormatError, match="attaches itself") as caught:
        load(one)
    assert (caught.value.line, caught.value.element) == (1, "model")
    one.write_text(attaching("two.xml"))
    two.write_text(attaching("part.xml"))
    (tmp_path / "part.xml").write_text("<mujoco><include file='more.xml'/></mujoco>")
    (tmp_path / "more.xml").write_text("<mujoco><asset><model file='two.xml'/></asset></mujoco>")
    with pytest.raises(FormatError, match="attaches itself"):
        load(one)


def nest(tag: str, counts: str, inner: str) -> str:
    for count in reversed(counts.split()):
        inner = f"<{tag} count='{count}'>{inner}</{tag}>"
    return inner


def doubling(world: str, of: str, name: str) -> str:
    """Bodies that each attach the one before twice."""
    for i in range(40):
        attach = "".join(f"<attach body='{of.format(i=i, copy='p' * i)}' prefix='{prefix}'/>" for prefix in "pq")
        world += f"<body name='{name.format(next=i + 1)}'>{attach}</body>" if name else f"<body>{attach}</body>"
    return world


UNFOLDING = {
    "replicate": ("replicate", nest("replicate", "30000000", GEOM), ""),
    "nested": ("replicate", nest("replicate", "40 40 40", GEOM), ""),
    "many": ("mujoco", 3000 * nest("replicate", "9", GEOM), ""),
    "infinite": ("replicate", nest("replicate", "1e999", GEOM), ""),
    "included": ("replicate", nest("replicate", "7000", "<include file='part.xml'/>"), ""),
    "attached": (
        "replicate",
        nest("replicate", "3000", "<attach model='part' prefix='p'/>"),
        "<asset><model file='part.xml'/></asset>",
    ),
    "doubled": ("attach", doubling("<body name='b0'/>", "b{i}", "b{next}"), ""),
    "doubled copies": ("attach", doubling("<body name='b'/>", "{copy}b", ""), ""),
    "doubled in itself": ("attach", "<body name='b'>" + 40 * "<attach body='b' prefix='p'/>" + "</body>", ""),
    "flexcomp": ("flexcomp", "<body name='b'><flexcomp name='f' type='grid' count='300 300 300'/></body>", ""),
    "cells": ("flexcomp", "<body name='b'><flexcomp name='f' dof='trilinear' cellcount='300 300 300'/></body>", ""),
    "composite": ("composite", "<composite type='cable' count='1000000 1 1'/>", ""),
    "hfield": ("hfield", "", "<asset><hfield name='h' nrow='100000' ncol='100000' size='1 1 1 1'/></asset>"),
    "texture": ("texture", "", "<default><texture width='100000' height='100000'/></default>"),
    "mesh": ("mesh", "", "<asset><mesh name='m' builtin='plate' params='30000 30000'/></asset>"),
    "keys": ("size", "", "<size nkey='100000000'/>"),
    "user data": ("mujoco", 10 * GEOM, "<size nuser_geom='100000000'/>"),
    "user sensor": ("user", "", "<sensor><user name='u' dim='1000000000'/></sensor>"),
    "history": ("motor", "", "<actuator><motor joint='j' nsample='1000000000'/></actuator>"),
}


@pytest.mark.parametrize("case", UNFOLDING)
def test_what_unfolds_to_too_much_never_reaches_mujoco(
    tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    element, world, head = UNFOLDING[case]
    monkeypatch.setattr(mujoco, "MjModel", None)
    (tmp_path / "part.xml").write_text(f"<mujoco><worldbody><body>{5 * GEOM}</body></worldbody></mujoco>")
    with pytest.raises(FormatError, match=r"further elements; at most|GB of data; at most") as caught:
        load(write(tmp_path, world, head))
    assert caught.value.element == element and caught.value.line == 1


def test_what_unfolds_to_little_is_read(tmp_path: Path) -> None:
    head = "<asset><hfield name='h' nrow='50' ncol='50' size='1 1 1 1'/></asset><size nkey='2' nuser_geom='3'/>"
    world = nest("replicate", "3 4", f"<body><joint/>{GEOM}</body>")
    assert len(load(write(tmp_path, world, head)).bodies) == 12


def test_files_that_multiply_are_refused(tmp_path: Path) -> None:
    """Ten sub-models, each with ten, and so on: MuJoCo would read each as often as it is attached."""
    for level in range(9):
        models = "".join(f"<model name='m{i}' file='{level + 1}.xml'/>" for i in range(10))
        (tmp_path / f"{level}.xml").write_text(f"<mujoco><asset>{models}</asset></mujoco>")
    (tmp_path / "9.xml").write_text("<mujoco/>")
    with pytest.raises(FormatError, match="more than 1000 files"):
        load(tmp_path / "0.xml")
    for level in range(30):
        (tmp_path / f"{level}.xml").write_text(f"<mujoco><include file='{level + 1}.xml'/></mujoco>")
    with pytest.raises(FormatError, match="more than 20 deep"):
        load(tmp_path / "0.xml")


def hanging(count: int, inner: str = "") -> str:
    return f"<body pos='0 0 -0.1'><joint axis='0 1 0'/>{GEOM}" * count + inner + "</body>" * count


def test_long_chains_are_read_as_deep_as_mujoco_reads_them(tmp_path: Path) -> None:
    """Its reader accepts elements nested up to 499 deep; included and attached elements count, as in its recursion."""
    assert load(write(tmp_path, hanging(120))).nv == 120
    (tmp_path / "part.xml").write_text(f"<mujoco><worldbody>{hanging(300)}</worldbody></mujoco>")
    (tmp_path / "more.xml").write_text(f"<mujocoinclude>{hanging(300)}</mujocoinclude>")
    for inner in ("<attach model='part' prefix='p'/>", "<include file='more.xml'/>"):
        with pytest.raises(FormatError, match="nested more than 499 deep, with what is included and attached"):
            load(write(tmp_path, hanging(300, inner), "<asset><model name='part' file='part.xml'/></asset>"))
    with pytest.raises(FormatError, match="nested more than 499 deep"):
        load(write(tmp_path, hanging(100_000)))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_in_the_folder_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.xml")
    os.mkfifo(tmp_path / "pipe.obj")
    for body in ("<include file='pipe.xml'/>", "<asset><mesh file='pipe.obj'/></asset>"):
        (tmp_path / "robot.xml").write_text(f"<mujoco>{body}</mujoco>")
        with pytest.raises(FormatError, match="no regular file"):
            load(tmp_path / "robot.xml")


def test_assets_of_absurd_size_are_refused(tmp_path: Path) -> None:
    with (tmp_path / "holes.stl").open("wb") as file:
        file.truncate(2**31)
    (tmp_path / "robot.xml").write_text("<mujoco><asset><mesh file='holes.stl'/></asset></mujoco>")
    with pytest.raises(FormatError, match="files of more than 1024 MiB"):
        load(tmp_path / "robot.xml")


def test_an_included_document_type_is_refused(tmp_path: Path) -> None:
    (tmp_path / "part.xml").write_text('<!DOCTYPE a [<!ENTITY x "y">]><mujoco/>')
    (tmp_path / "robot.xml").write_text("<mujoco><include file='part.xml'/></mujoco>")
    with pytest.raises(FormatError, match="document type") as caught:
        load(tmp_path / "robot.xml")
    assert caught.value.path.endswith("part.xml")


def test_floating_base_is_not_for_mjcf(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="freejoint"):
        load(write(tmp_path, MODELS["hinges"]), floating_base=True)


def test_without_mujoco_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'linkwork\[mjcf\]'"):
        load(write(tmp_path, MODELS["hinges"]))


def test_joints_with_an_actuator_have_motors(tmp_path: Path) -> None:
    driven = """<tendon><fixed name="cable"><joint joint="left" coef="1"/><joint joint="right" coef="2"/></fixed>
      </tendon>
      <actuator><motor joint="arm"/><position tendon="cable"/></actuator>"""
    world = f"""<worldbody><body><freejoint name="root"/>{GEOM}
      <body><joint name="arm"/>{GEOM}</body><body><joint name="left"/>{GEOM}</body>
      <body><joint name="right"/>{GEOM}</body><body><joint name="ball" type="ball"/>{GEOM}</body></body></worldbody>"""
    for more, expected in ((driven, [0] * 6 + [1, 1, 1] + [0] * 3), ("", [0] * 6 + [1] * 6)):
        path = tmp_path / "driven.xml"
        path.write_text(f"<mujoco>{world}{more}</mujoco>", encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LinkworkWarning)  # the tendon itself is left out
            assert load(path).actuated.astype(int).tolist() == expected
    kinds = mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT, mujoco.mjtTrn.mjTRN_TENDON
    assert (*map(int, kinds), int(mujoco.mjtWrap.mjWRAP_JOINT)) == TRANSMISSIONS


def test_generated_names_leave_those_of_the_file_alone(tmp_path: Path) -> None:
    """A fixed body needs a joint, and several joints need bodies between them; the file may have their names."""
    world = f"""<body name="fixed_hip">{GEOM}<joint name="a"/><site name="hip_b" pos="1 2 3"/><site name="hip"/>
      <body name="hip_c"><site name="fixed_hip_c" pos="3 2 1"/><site/><site name="site2"/></body>
      <body name="hip"><joint name="b"/><joint name="c" axis="1 0 0"/>{GEOM}</body></body>"""
    model = load(write(tmp_path, world), fixed_joints="keep")
    assert model.joint_names == ("a", "fixed_hip_c_", "b", "c")
    assert model.body_names == ("fixed_hip", "hip_c", "hip_b_", "hip")
    assert set(model.frame_names) == {
        *("world", "fixed_hip", "hip_b", "hip_", "hip_c", "fixed_hip_c", "site2", "site3", "hip_b_", "hip", "a", "b"),
        *("c",),
    }
    assert model.frame("hip_b").placement.translation.numbers() == [1.0, 2.0, 3.0]
    assert model.frame("fixed_hip_c").placement.translation.numbers() == [3.0, 2.0, 1.0]
