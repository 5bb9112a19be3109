"""Bounds on meshes: everything is counted before it is built, and what is too large is refused by name."""

from __future__ import annotations

import struct
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.viewer import looks, mesh, meshes
from linkwork.viewer.looks import Looks
from linkwork.viewer.meshes import bounds, collada, reading

SOURCE = '<source id="s"><float_array>{numbers}</float_array></source>'
FACES = '<triangles material="{material}"><input semantic="VERTEX" source="#v" offset="0"/><p>{index}</p></triangles>'


def dae(nodes: str, scene: str, faces: str = "", numbers: str = "0 0 0 1 0 0 0 1 0", rest: str = "") -> str:
    """A COLLADA file with one geometry, g, of one triangle unless it is given others."""
    source, faces = SOURCE.format(numbers=numbers), faces or FACES.format(material="", index="0 1 2")
    vertices = '<vertices id="v"><input semantic="POSITION" source="#s"/></vertices>'
    return (
        f'<COLLADA><library_geometries><geometry id="g"><mesh>{source}{vertices}{faces}</mesh></geometry>'
        f"</library_geometries>{rest}<library_nodes>{nodes}</library_nodes>"
        f"<library_visual_scenes><visual_scene>{scene}</visual_scene></library_visual_scenes></COLLADA>"
    )


def nested(levels: int, fan: int) -> str:
    """A node that places another ``fan`` times, and so on: ``fan ** levels`` triangles from 2 kB."""
    again = '<translate>1 0 0</translate><instance_node url="#n{}"/>' * fan
    nodes = "".join(f'<node id="n{k}">{again.replace("{}", str(k + 1))}</node>' for k in range(levels))
    end = f'<node id="n{levels}"><instance_geometry url="#g"/></node>'
    return dae(nodes + end, '<node><instance_node url="#n0"/></node>')


def refused(path: Path, data: str | bytes) -> str:
    """The message for a file that must not be read."""
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    with pytest.raises(lw.FormatError) as error:
        meshes.read(str(path))
    assert str(error.value).startswith(f"{path}: ") and len(str(error.value)) < 400 + len(str(path))
    return str(error.value)


def test_a_scene_that_places_nodes_in_nodes_is_counted_before_it_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "nested.dae"
    path.write_text(nested(3, 10))
    (part,) = meshes.read(str(path))
    assert part.corners.shape == (1000, 3, 3)
    assert part.corners[:11, 0, 0].tolist() == [3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 4.0]
    with monkeypatch.context() as patch:
        patch.setattr(collada._Document, "colour", None)  # nothing is built before the count ends
        assert "more than 20,000 instances" in refused(path, nested(5, 10))
        assert "more than 20,000 instances" in refused(path, nested(40, 2))
    ring = '<node id="a"><instance_node url="#b"/></node><node id="b"><instance_node url="#a"/></node>'
    assert "circle" in refused(path, dae(ring, '<node><instance_node url="#a"/></node>'))
    wide = '<node id="a">' + '<instance_node url="#a"/>' * 3 + "</node>"
    assert "circle" in refused(path, dae(wide, '<node><instance_node url="#a"/></node>'))
    lists = FACES.format(material="", index="0 1 2") * 300  # lists of faces count, as nodes do
    placed = '<instance_geometry url="#g"/>' * 100
    assert "instances" in refused(path, dae("", f"<node>{placed}</node>", lists))


def test_every_list_of_a_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, read = tmp_path / "many.dae", list[str]()
    numbers = collada._Document.numbers

    def counted(document: Any, element: Any) -> np.ndarray:
        read.append(element.tag)
        return numbers(document, element)

    monkeypatch.setattr(collada._Document, "numbers", counted)
    lists = FACES.format(material="red", index="0 1 2") * 50
    red = '<library_effects><effect id="e"><diffuse><color>1 0 0 1</color></diffuse></effect></library_effects>'
    red += '<library_materials><material id="red"><instance_effect url="#e"/></material></library_materials>'
    path.write_text(dae("", "<node>" + '<instance_geometry url="#g"/>' * 20 + "</node>", lists, rest=red))
    (part,) = meshes.read(str(path))
    assert len(part.corners) == 1000 and part.colour == (1.0, 0.0, 0.0, 1.0)
    assert sorted(read) == ["color", "float_array", *["p"] * 50]


def test_a_long_text_keeps_its_blanks(tmp_path: Path) -> None:
    """The parser passes a long text piece by piece, some of which may be blank."""
    path = tmp_path / "blank.dae"
    path.write_text(
        dae(
            "",
            '<node><instance_geometry url="#g"/></node>',
            numbers="0 0 0 1<!-- -->" + 9_000 * " " + "<!-- -->0 0 0 1 0",
        )
    )
    (part,) = meshes.read(str(path))
    assert part.corners.tolist() == [[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]


def test_sizes_beyond_a_bound_are_refused_with_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    square, corners = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n", bounds.MAX_CORNERS
    assert "more than 10,000 corners in a face" in refused(tmp_path / "a.obj", square + "f" + " 1 2 3" * 2_000_000)
    (tmp_path / "a.obj").write_text(square + "f " + "1/1/1 2 3 4 " * (corners // 4))
    (fan,) = meshes.read(str(tmp_path / "a.obj"))
    assert len(fan.corners) == corners - 2
    shape = '<node><instance_geometry url="#g"/></node>'
    polygon = '<polylist><input semantic="VERTEX" source="#v" offset="0"/><vcount>{}</vcount><p>{}</p></polylist>'
    face = dae("", shape, polygon.format(corners + 1, "0 1 2 " * corners))
    assert "corners in a face" in refused(tmp_path / "a.dae", face)
    assert "corners" in refused(tmp_path / "a.dae", dae("", shape, polygon.format("9e15 9e15", "0 1 2")))
    for wrong in ("1e300", "nan", "-inf"):
        assert "whole number" in refused(tmp_path / "a.dae", dae("", shape, polygon.format(wrong, "0 1 2")))
    assert "could not convert" in refused(tmp_path / "a.obj", "v " + "x" * 1_000_000 + " 0 0\n")
    assert "fewer than three" in refused(tmp_path / "a.obj", "v 1 2\n")
    for module in (reading, collada):
        monkeypatch.setattr(module, "MAX_TRIANGLES", 3)
        monkeypatch.setattr(module, "MAX_VERTICES", 5)
    monkeypatch.setattr(collada, "MAX_NUMBERS", 50)
    monkeypatch.setattr(collada, "MAX_COLOURS", 2)
    binary = b"\0" * 80 + struct.pack("<I", 4) + b"\0" * 200
    colours = "".join(FACES.format(material=f"m{k}", index="0 1 2") for k in range(3))
    rest = "".join(
        f'<material id="m{k}"><instance_effect url="#e{k}"/></material>'
        f'<effect id="e{k}"><diffuse><color>{k} 0.5 {0.1 * k} 1</color></diffuse></effect>'
        for k in range(3)
    )
    for name, data, message in (
        ("b.stl", binary, "more than 3 triangles"),
        ("c.stl", "solid x\n" + "vertex 1 2 3\n" * 12, "more than 3 triangles"),
        ("d.obj", square + "f 1 2 3\n" * 4, "more than 3 triangles"),
        ("e.obj", square * 2 + "f 1 2 3\n", "more than 5 vertices"),
        ("f.dae", dae("", shape, FACES.format(material="", index="0 1 2 " * 4)), "more than 3 triangles"),
        ("g.dae", dae("", shape * 4), "more than 3 triangles"),
        ("h.dae", dae("", shape, numbers="1 2 3 " * 6), "more than 5 vertices"),
        ("i.dae", dae("", shape, numbers="1 2 3 " * 17), "more than 50 numbers"),
        ("j.dae", dae("", shape, colours, rest=rest), "more than 2 colours"),
    ):
        assert message in refused(tmp_path / name, data), name


def test_memory_follows_the_triangles_that_are_kept() -> None:
    """Many triangles at a vertex are not compared with each other; those that form no surface are thinned out."""
    some = np.random.default_rng(0).random((50, 3, 3))
    many = np.repeat(some, 200, axis=0)
    tracemalloc.start()
    try:
        made = mesh.creased(many)
        assert tracemalloc.get_traced_memory()[1] < 30 * many.nbytes  # 410 times as much for all pairs of 64 at once
    finally:
        tracemalloc.stop()
    assert made.vertices.shape == (150, 3) and made.faces.shape == (10_000, 3)
    soup = np.random.default_rng(1).random((20_000, 3, 3))
    assert 5_000 < len(mesh.simplified(soup, 10_000)) <= 10_000


def test_pairs_of_corners_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds, multiply = list[int](), np.einsum

    def counted(how: str, *arrays: np.ndarray) -> Any:
        rounds.append(len(arrays[0]))
        return multiply(how, *arrays)

    monkeypatch.setattr(mesh.np, "einsum", counted)
    many = np.repeat(np.random.default_rng(0).random((5, 3, 3)), 100, axis=0)
    mesh.creased(many)
    assert rounds == [1500] * 64
    rounds.clear()
    monkeypatch.setattr(mesh, "_MOST_PAIRS", 1500 * 20)
    mesh.creased(many)
    assert rounds == [1500] * 16


def test_meshes_of_a_model_are_read_once_and_bounded_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\n" + "f 1 2 3\n" * 4)
    links = "".join(
        f'<link name="l{k}"><visual><geometry><mesh filename="{"./" * k}a.obj"/></geometry></visual></link>'
        for k in range(3)
    )
    links += "".join(
        f'<joint name="j{k}" type="continuous"><parent link="l{k - 1}"/><child link="l{k}"/></joint>' for k in (1, 2)
    )
    (tmp_path / "robot.urdf").write_text(f'<robot name="r">{links}</robot>')
    model = lw.load(tmp_path / "robot.urdf")
    calls = list[str]()

    def counted(name: str) -> Any:
        function = getattr(looks, name)

        def call(what: Any) -> Any:
            calls.append(name)
            return function(what)

        return call

    for name in ("read", "creased"):
        monkeypatch.setattr(looks, name, counted(name))
    assert [piece.body for piece in Looks(model, {}).pieces()] == [0, 1, 2]
    assert calls == ["read", "creased"]
    for bound, most, message in (
        ("MAX_TRIANGLES_OF_MODEL", 7, r"'l2' among them: '././a.obj': the model's meshes have more than"),
        ("MAX_SHAPES_OF_MODEL", 2, r"'l2' among them: .* the model has more than 2.* shapes"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(looks, bound, most)
            with pytest.warns(lw.LinkworkWarning, match=message):
                Looks(model, {}).pieces()
