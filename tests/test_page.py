"""Web pages of motions: the file contains the computed data. ``test_browser.py`` checks them in a browser."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.viewer import mesh as meshes
from linkwork.viewer.mesh import Mesh
from linkwork.viewer.rotations import quaternions
from linkwork.viewer.skeleton import Skeleton

KINDS = {"i8": np.int8, "i16": np.int16, "u16": np.uint16, "u32": np.uint32, "f32": np.float32}


@pytest.fixture(scope="module")
def swing() -> lw.Trajectory:
    return lw.simulate(lw.mechanisms.double_pendulum(), [1.5, 0.5], [0.0, 0.0], 1.0, 0.01)


def opened(path: Path) -> tuple[dict[str, Any], str]:
    """The scene of a page with its arrays, and the page's text."""
    page = path.read_text(encoding="utf-8")
    scene = json.loads(re.findall(r'id="scene">(.*?)</script>', page, re.DOTALL)[0])
    data = zlib.decompress(base64.b64decode(re.findall(r'id="numbers">(.*?)</script>', page, re.DOTALL)[0]))

    def array(place: list[Any]) -> np.ndarray:
        kind, offset, count = place
        return np.frombuffer(data, KINDS[kind], count, offset)

    for part in scene["moving"]:
        changes = array(part["track"]).reshape(scene["frames"], -1)
        part["track"] = np.cumsum(changes, axis=0, dtype=np.int16).astype(float)
        places = part["track"][:, :3] if part.get("poses") else part["track"]
        steps = places.reshape(scene["frames"], -1, 3) + 32768.0
        part["places"] = np.array(part["low"]) + np.array(part["step"]) * steps
    for mesh in scene["meshes"]:
        mesh["faces"] = array(mesh["faces"]).reshape(-1, 3)
        mesh["vertices"] = array(mesh["vertices"]).reshape(-1, 4)[:, :3] / 65535.0 * mesh["size"] + mesh["low"]
    return scene, page


def test_a_page_has_every_body_where_it_is_at_every_time(swing: lw.Trajectory, tmp_path: Path) -> None:
    path = lw.save_html(swing, tmp_path / "swing.html", 20.0, trails=["tip"], frames=["tip"])
    scene, page = opened(path)
    assert scene["frames"] == 21 and scene["dt"] == pytest.approx(0.05)
    times = np.linspace(0.0, 1.0, 21)
    q = swing.resample(times).q
    for part in scene["moving"]:
        wanted = lw.forward_kinematics(swing.model, q, [part["name"]])[:, 0]
        assert abs(part["places"][:, 0] - wanted[:, :3, 3]).max() < 1e-4
        if part.get("poses"):
            x = part["track"][:, 3:] / 32767.0
            assert abs(abs(np.einsum("ij,ij->i", x, quaternions(wanted[:, :3, :3]))) - 1.0).max() < 1e-4
    assert {mesh["part"] for mesh in scene["meshes"]} == {0, 1, 2, 3}  # the world, two bodies, a frame
    assert [tube["part"] for tube in scene["tubes"]] == [4] and scene["tubes"][0]["trail"]
    axes = [mesh["vertices"] for mesh in scene["meshes"] if mesh["part"] == 3]  # red, green and blue
    assert [int(np.ptp(vertices, axis=0).argmax()) for vertices in axes] == [0, 1, 2]
    assert scene["ground"] < -1.9 and len(page) < 100_000
    assert not re.findall(r"(?:src|href)=(?!\"data:)|https?:|import\(|fetch\(|XMLHttpRequest|WebSocket", page)


def test_motions_stand_side_by_side_and_rest_at_their_ends(swing: lw.Trajectory, tmp_path: Path) -> None:
    short = swing[:51]
    scene, _ = opened(lw.save_html([swing, short, swing.model], tmp_path / "a.html", spacing=3.0, joints=False))
    names = [part["name"] for part in scene["moving"]]
    assert names[:3] == ["world (1)", "body1 (1)", "body2 (1)"] and names[-1] == "body2 (3)" and scene["frames"] == 31
    places = {part["name"]: part["places"][:, 0] for part in scene["moving"]}
    apart = places["body2 (2)"] - places["body2 (1)"]
    assert abs(apart[:16] - [0.0, 3.0, 0.0]).max() < 1e-3 and abs(apart[-1]).max() > 0.1
    assert np.ptp(places["body2 (2)"][16:], axis=0).max() == 0.0 and np.ptp(places["body2 (3)"], axis=0).max() == 0.0
    many = lw.rollout(swing.model, [[0.1, 0.0], [0.2, 0.0]], [0.0, 0.0], dt=0.01, steps=10)
    scene, _ = opened(lw.save_html(many, tmp_path / "b.html", spacing=0.0))
    assert len(scene["moving"]) == 6 and scene["start"] == 0.0
    scene, _ = opened(lw.save_html(swing.model, tmp_path / "c.html", ground=False))
    assert scene["frames"] == 1 and scene["ground"] is None


def test_no_name_gets_out_of_the_place_it_stands_in(tmp_path: Path) -> None:
    evil = '</script><script>alert(1)</script>{{script}}<!-- "\u2028&'
    builder = lw.Builder(evil)
    builder.add_body(evil, joint=lw.joints.Revolute("y"), mass=1.0, com=(0.0, 0.0, -1.0), inertia=(0.1, 0.1, 0.1))
    scene, page = opened(lw.save_html(builder.build(), tmp_path / "evil.html"))
    assert evil.replace("\u2028", "\\u2028") in [part["name"] for part in scene["moving"]]
    assert page.count("alert") == 4 and page.count("</script>") == 3 and page.count("class Player") == 1


def test_bad_arguments_are_named(swing: lw.Trajectory, tmp_path: Path) -> None:
    many = lw.rollout(swing.model, np.zeros((101, 2)), [0.0, 0.0], dt=0.01, steps=1)
    cases: list[tuple[str, Any, dict[str, Any]]] = [
        (r"must end in \.html", swing, {"path": "a.gif"}),
        ("trajectory must be an lw.Trajectory", 3, {}),
        ("1 to 100 motions", [], {}),
        ("101 trajectories", many, {}),
        ("fps must be a positive", swing, {"fps": 0.0}),
        ("view must be azimuth", swing, {"view": (1.0,)}),
        ("ground must be", swing, {"ground": "no"}),
        ("spacing must be", swing, {"spacing": "far"}),
        ("title must be text", swing, {"title": 3}),
        ("no body named|no frame named", swing, {"boxes": {"hat": (1.0, 1.0, 1.0)}}),
        ("without states", swing[:0], {}),
        ("recorded states", lw.Rollout(swing.t, swing.q, swing.v), {}),
    ]
    for message, what, options in cases:
        options = {"path": tmp_path / "x.html"} | options
        with pytest.raises(lw.LinkworkError, match=message):
            lw.save_html(what, **options)
    assert not list(tmp_path.iterdir())


def volume(mesh: Mesh) -> float:
    a, b, c = mesh.vertices[mesh.faces].swapaxes(0, 1)
    return float(np.einsum("ij,ij->", a, np.cross(b, c))) / 6.0


def test_solids_are_closed_and_as_large_as_they_should_be() -> None:
    edges, corner = np.array([1.0, 2.0, 3.0]), np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    rounded = 0.5 * 0.2 + 0.5 * np.pi * 0.01 * (2.0 + 2.0**0.5) + 4.0 / 3.0 * np.pi * 0.001
    for mesh, wanted in (
        (meshes.box(edges), 6.0),
        (meshes.sphere(1.0), 4.0 / 3.0 * np.pi),
        (meshes.ellipsoid(edges), 8.0 * np.pi),
        (meshes.cylinder(1.0, 2.0), 2.0 * np.pi),
        (meshes.rod(corner[1], corner[2], 0.1), np.pi * 0.01 * 2.0**0.5),
        (meshes.rounded_hull(corner[1:], 0.1), np.pi * 0.01 * 2.0**0.5 + 4.0 / 3.0 * np.pi * 0.001),
        (meshes.rounded_hull(corner, 0.1), rounded),
        (meshes.rounded_hull(corner[:1], 0.1), 4.0 / 3.0 * np.pi * 0.001),
    ):
        assert 0.94 * wanted < volume(mesh) < 1.0001 * wanted  # corners of a round thing lie on it
        assert abs(np.linalg.norm(mesh.normals, axis=1) - 1.0).max() < 1e-12
    assert abs(meshes.arrow(corner[1], corner[2], 0.01).vertices[:, :2].sum(axis=1) - 1.0).max() < 0.05


def test_edges_are_sharp_and_curves_smooth_in_a_mesh_of_triangles() -> None:
    cube = meshes.box(np.ones(3))
    sharp = meshes.creased(cube.vertices[cube.faces])
    assert len(sharp.vertices) == 24 and len(sharp.faces) == 12 and volume(sharp) == pytest.approx(1.0)
    ball = meshes._directions()
    smooth = meshes.creased(ball.vertices[ball.faces])
    assert len(smooth.vertices) == len(ball.vertices)
    assert np.einsum("ij,ij->i", smooth.vertices, smooth.normals).min() > 0.99
    few = meshes.simplified(ball.vertices[ball.faces], 300)
    assert 50 < len(few) <= 300 and volume(meshes.creased(few)) == pytest.approx(volume(ball), rel=0.2)
    assert meshes.creased(np.zeros((3, 3, 3))).faces.shape == (0, 3)


def test_a_long_chain_is_one_line_through_its_bodies() -> None:
    rope = lw.mechanisms.rope(300)
    skeleton = Skeleton(rope)
    (chain,) = skeleton.chains
    placements = skeleton.placements(lw.random_state(rope, 0)[0])
    points = chain.points(placements)
    assert chain.bodies == tuple(range(1, 301)) and points.shape == (301, 3)
    assert np.array_equal(points[:-1], placements[1:, :3, 3])
    assert not Skeleton(lw.mechanisms.rope(50)).chains and not Skeleton(lw.mechanisms.humanoid()).chains
    star = Skeleton(lw.mechanisms.binary_tree(8))  # branches everywhere: no long rows
    assert all(len(chain.bodies) > 2 for chain in star.chains)


def test_events_are_marked_and_said(tmp_path: Path) -> None:
    """Of one motion, and of several with their numbers; their names cannot end the page's script."""
    fall = lw.mechanisms.double_pendulum()
    hold = lw.Event([0.25, 0.5], attach=lw.PointOnPlane(fall.frame_names[-1]), name="</script>held")
    run = lw.rollout(fall, np.full((2, 2), 0.3), [0.0, 0.0], dt=0.01, steps=100, events=hold)
    scene, page = opened(lw.save_html(run.trajectory(0), tmp_path / "one.html"))
    assert scene["events"] == [[0.25, "0.250 s: </script>held"]] and "</script>held" not in page
    scene, _ = opened(lw.save_html(run, tmp_path / "two.html"))
    assert scene["events"] == [[0.25, "0.250 s: </script>held (1)"], [0.5, "0.500 s: </script>held (2)"]]
