"""Visual and collision geometry of model files: read with the model, with meshes opened only when shown, and only in
permitted folders.
"""

from __future__ import annotations

import pickle
import struct
import warnings
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import linkwork as lw
from linkwork.model.geometry import Geometry
from linkwork.viewer import meshes
from linkwork.viewer.looks import Looks
from robots import robot as published

CORNERS = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
FACES = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
TRIANGLES = CORNERS[FACES]

ROBOT = """<robot name="looks">
  <material name="blue"><color rgba="0 0 1 1"/></material>
  <link name="base"><visual><geometry><box size="1 2 3"/></geometry><material name="blue"/></visual></link>
  <link name="arm">
    <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><origin xyz="1 2 3" rpy="0 0 1"/><geometry><mesh filename="MESH" scale="2 2 2"/></geometry></visual>
    <visual><geometry><sphere radius="many"/></geometry></visual>
    <visual><geometry><torus/></geometry></visual>
    <collision><geometry><cylinder radius="0.1" length="0.5"/></geometry></collision>
  </link>
  <link name="tool"><visual><geometry><sphere radius="0.1"/></geometry>
    <material name="own"><color rgba="1 0 0 0.5"/></material></visual></link>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>
  <joint name="weld" type="fixed"><parent link="arm"/><child link="tool"/><origin xyz="0 0 1"/></joint>
</robot>"""


def robot(folder: Path, mesh: str = "meshes/part.stl") -> lw.Model:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "robot.urdf").write_text(ROBOT.replace("MESH", mesh))
    return lw.load(folder / "robot.urdf")


def stl(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *one.ravel(), 0) for one in TRIANGLES)
    path.write_bytes(b"solid but binary".ljust(80) + struct.pack("<I", len(TRIANGLES)) + body)
    return path


def test_a_urdf_s_shapes_come_with_the_model_and_move_nothing(tmp_path: Path) -> None:
    model = robot(tmp_path)
    found = [(shape.body, shape.kind, shape.size, shape.visual, shape.colour) for shape in model.geometry]
    assert found == [
        (0, "box", (1.0, 2.0, 3.0), True, (0.0, 0.0, 1.0, 1.0)),
        (1, "mesh", (2.0, 2.0, 2.0), True, None),
        (1, "cylinder", (0.1, 0.5), False, None),
        (1, "sphere", (0.1,), True, (1.0, 0.0, 0.0, 0.5)),
    ]
    assert model.geometry[1].placement.numbers() == lw.placement((1, 2, 3), (0, 0, 1)).numbers()
    assert model.geometry[3].placement.translation.numbers() == [0.0, 0.0, 1.0]  # where the fixed joint has it
    copy = pickle.loads(pickle.dumps(model))
    assert copy == model and copy.geometry == model.geometry
    (tmp_path / "bare").mkdir()
    bare = tmp_path / "bare" / "robot.urdf"
    bare.write_text(ROBOT.replace("<visual>", "<was>").replace("</visual>", "</was>").replace("MESH", "x"))
    other = lw.load(bare)
    assert [shape.kind for shape in other.geometry] == ["cylinder"]
    assert lw.load(bare) == other and hash(lw.load(bare)) == hash(other)
    with pytest.raises(lw.ModelError, match="on body 7"):
        lw.Model("m", (), (), geometry=(Geometry(7, lw.placement(), "box", (1.0, 1.0, 1.0)),))


def test_a_mesh_is_found_in_the_model_s_folders_and_given_roots_only(tmp_path: Path) -> None:
    package = tmp_path / "some" / "arm_description"
    model = package / "urdf"
    model.mkdir(parents=True)
    inside, beside, outside = (stl(folder / "part.stl") for folder in (model, package / "meshes", tmp_path))
    (model / "link.stl").symlink_to(outside)

    def found(reference: str, *roots: Path) -> str | None:
        return meshes.find(reference, str(model), [str(root) for root in roots])

    assert found("part.stl") == found("./part.stl") == found(inside.as_uri()) == str(inside)
    for escape in (
        "../meshes/part.stl",
        "../../../part.stl",
        str(outside),
        outside.as_uri(),
        "link.stl",
        "a\0b",
        "",
    ):
        assert found(escape) is None
    for escape in ("package://arm_description/meshes/part.stl", "http://arm_description/meshes/part.stl"):
        assert found(escape) is None
    (package / "package.xml").write_text("<package/>")  # now it is the package that the model lies in
    for reference in ("package://arm_description/meshes/part.stl", "package:///arm_description/meshes/part.stl"):
        assert found(reference) == str(beside)
    assert found("package://arm_description/../../part.stl") is None
    assert found("package://../part.stl") is None and found("package://arm_description") is None
    assert found("http://arm_description/meshes/part.stl") is None
    assert found("package://other/part.stl") is None and found("part.stl", tmp_path) == str(inside)
    stl(tmp_path / "other" / "part.stl")
    assert found("package://other/part.stl", tmp_path) == str(tmp_path / "other" / "part.stl")
    assert found("package://other/part.stl", tmp_path / "other") == str(tmp_path / "other" / "part.stl")
    assert found("../../../part.stl", tmp_path) is None and found("../meshes/part.stl", package) is None
    assert found("meshes/part.stl", package) == str(beside)


def test_triangles_of_every_kind_of_file(tmp_path: Path) -> None:
    text = "solid x\n" + "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join("vertex {} {} {}\n".format(*c) for c in one)
        + "endloop\nendfacet\n"
        for one in TRIANGLES
    )
    (tmp_path / "text.stl").write_text(text + "endsolid x\n")
    vertices = "".join("v {} {} {}\n".format(*corner) for corner in CORNERS)
    (tmp_path / "a.OBJ").write_text(vertices + "vn 0 0 1\nf 1//1 3/2/1 2\nf 1 2 4\nf -4 -1 -2\nf 2 3 4\n")
    numbers = " ".join(map(str, CORNERS.ravel()))
    dae = f"""<?xml version="1.0" encoding="utf-8"?>
    <COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
     <asset><unit name="cm" meter="0.01"/><up_axis>Y_UP</up_axis></asset>
     <library_effects><effect id="e"><profile_COMMON><technique sid="t"><phong><diffuse><color>0.5 0.25 0 1</color>
      </diffuse></phong></technique></profile_COMMON></effect></library_effects>
     <library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
     <library_geometries><geometry id="g"><mesh><source id="s"><float_array id="f" count="12">{numbers}</float_array>
      <technique_common><accessor source="#f" count="4" stride="3"/></technique_common></source>
      <vertices id="v"><input semantic="POSITION" source="#s"/></vertices>
      <triangles material="sym" count="2"><input semantic="VERTEX" source="#v" offset="0"/>
       <input semantic="NORMAL" source="#s" offset="1"/><p>0 0 2 0 1 0 0 0 1 0 3 0</p></triangles>
      <polylist material="sym" count="2"><input semantic="VERTEX" source="#v" offset="0"/><vcount>3 3</vcount>
       <p>0 3 2 1 2 3</p></polylist></mesh></geometry></library_geometries>
     <library_visual_scenes><visual_scene id="x"><node><translate>100 0 0</translate><node>
      <rotate>0 0 1 90</rotate><scale>2 2 2</scale><instance_geometry url="#g"><bind_material><technique_common>
      <instance_material symbol="sym" target="#m"/></technique_common></bind_material></instance_geometry>
     </node></node></visual_scene></library_visual_scenes></COLLADA>"""
    (tmp_path / "a.dae").write_text(dae)
    for path in (stl(tmp_path / "binary.stl"), tmp_path / "text.stl", tmp_path / "a.OBJ"):
        (part,) = meshes.read(str(path))
        assert np.array_equal(part.corners, TRIANGLES) and part.colour is None
    (both,) = meshes.read(str(tmp_path / "a.dae"))
    turned = 0.02 * TRIANGLES @ np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]).T + [1.0, 0.0, 0.0]
    assert both.corners == pytest.approx(turned, abs=1e-15) and both.colour == (0.5, 0.25, 0.0, 1.0)
    for name, data, message in (
        ("a.stl", b"solid x\nvertex 1 2 3\n", "threes"),
        ("b.stl", b"solid x\nendsolid x\n", "no triangles"),
        ("c.stl", b"solid x\nvertex 1 2 nan\nvertex 1 2 3\nvertex 2 2 3", "no finite"),
        ("d.obj", b"v 0 0 0\nf 1 2 3\n", "not there"),
        ("e.dae", dae.replace("#g", "#nothing").encode(), "'nothing'"),
        ("f.dae", dae.replace("0 3 2 1 2 3", "0 3 2 1 2 9").encode(), "not there"),
        ("g.dae", dae.replace("<vcount>3 3", "<vcount>3 4").encode(), "other corners"),
        ("h.dae", b'<!DOCTYPE x [<!ENTITY e "e">]><COLLADA>&e;</COLLADA>', "document type"),
        ("i.mesh", b"Ogre", "not read"),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(lw.FormatError, match=message):
            meshes.read(str(tmp_path / name))


def test_a_missing_mesh_is_drawn_with_a_warning_and_a_present_one_as_it_is(tmp_path: Path) -> None:
    model = robot(tmp_path)
    with pytest.warns(lw.LinkworkWarning, match=r"'arm' among them: 'meshes/part.stl': there is no such file"):
        drawn = Looks(model, {}).pieces()
    assert [piece.body for piece in drawn] == [0, 1]  # the tool's sphere stands for the arm
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "part.stl").write_text("solid x\n" + "vertex 1 2 3\n" * 3)
    with pytest.warns(lw.LinkworkWarning, match="triangles are flat"):
        Looks(model, {}).pieces()
    stl(tmp_path / "meshes" / "part.stl")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        looks = Looks(model, {})
        seen, touching = looks.pieces(), looks.pieces("collision")
    assert [piece.body for piece in seen] == [0, 1, 1] and looks.kinds() == ["visual", "collision", "skeleton"]
    x, y = 2.0 * CORNERS[:, 0], 2.0 * CORNERS[:, 1]
    wanted = np.array([1.0 + np.cos(1.0) * x - np.sin(1.0) * y, 2.0 + np.sin(1.0) * x + np.cos(1.0) * y]).T
    mesh = seen[1].mesh
    assert mesh.vertices.min(axis=0)[:2] == pytest.approx(wanted.min(axis=0))
    assert mesh.vertices.max(axis=0)[2] == pytest.approx(9.0)
    assert [piece.body for piece in touching] == [1] and touching[0].mesh.colour[3] < 1.0
    page = lw.save_html(model, tmp_path / "page.html", shapes="collision", roots=[tmp_path])
    assert page.stat().st_size < 100_000
    for options in ({"shapes": "nice"}, {"roots": "here"}, {"roots": [3]}):
        with pytest.raises(lw.ArgumentError):
            lw.save_html(model, tmp_path / "bad.html", **options)


def test_an_mjcf_s_geoms_are_where_mujoco_has_them(tmp_path: Path) -> None:
    vertices = "".join("v {} {} {}\n".format(*corner) for corner in CORNERS)
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "t.obj").write_text(vertices + "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    path = tmp_path / "a.xml"
    path.write_text("""<mujoco><compiler meshdir="parts"/><asset><mesh name="t" file="t.obj" scale="2 1 1"/>
      <material name="red" rgba="1 0 0 1"/></asset><worldbody><geom type="plane" size="1 1 1"/>
      <body pos="0 0 1" euler="10 20 30"><joint pos="0.1 0.2 0.3" axis="0 1 0"/>
      <geom type="mesh" mesh="t" pos="1 0 0" euler="30 0 0" material="red" contype="0" conaffinity="0"/>
      <geom type="capsule" fromto="0 0 0 0 1 0" size="0.1" group="3"/><geom type="box" size="1 2 3"/></body>
      </worldbody></mujoco>""")
    model = lw.load(path)
    found = [(shape.kind, shape.visual, shape.collision) for shape in model.geometry]
    assert found == [("mesh", True, False), ("capsule", False, True), ("box", True, True)]
    assert model.geometry[1].size == pytest.approx((0.1, 1.0)) and model.geometry[2].size == (2.0, 4.0, 6.0)
    assert model.geometry[0].colour == (1.0, 0.0, 0.0, 1.0) and model.geometry[0].mesh == "parts/t.obj"
    looks = Looks(model, {})
    piece = looks.pieces()[0]
    pose = looks.skeleton.placements(np.array([0.7]))[piece.body]
    ours = piece.mesh.vertices @ pose[:3, :3].T + pose[:3, 3]
    m = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(m)
    data.qpos[:] = 0.7
    mujoco.mj_kinematics(m, data)
    theirs = m.mesh_vert @ data.geom_xmat[1].reshape(3, 3).T + data.geom_xpos[1]
    for corner in theirs:
        assert abs(ours - corner).max(axis=1).min() < 1e-6


def test_a_published_robot_has_all_its_meshes() -> None:
    model = lw.load(published("ur5_robot.urdf"))
    assert sum(shape.kind == "mesh" for shape in model.geometry) == 14
    looks = Looks(model, {}, most=2000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pieces = looks.pieces()
    assert {piece.body for piece in pieces} == set(range(7))
    corners: Any = np.concatenate([piece.mesh.vertices for piece in pieces])
    assert 0.2 < np.ptp(corners, axis=0).max() < 1.5
