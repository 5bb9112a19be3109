"""Images: positions, projection, and rejected arguments. Their appearance is not tested."""

from __future__ import annotations

import shutil
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

import linkwork as lw
from linkwork import cli
from linkwork.viewer import animation
from linkwork.viewer.camera import Camera
from linkwork.viewer.shapes import box_faces, hull, rounded
from linkwork.viewer.skeleton import Skeleton
from linkwork.viewer.solids import solid

PERSON = lw.mechanisms.humanoid()


@pytest.fixture(scope="module")
def swing() -> lw.Trajectory:
    return lw.simulate(lw.mechanisms.double_pendulum(), [1.5, 0.5], [0.0, 0.0], 1.0, 0.01)


def outlines(axes: Any) -> list[np.ndarray]:
    """The outlines of the shapes, not of their shadows."""
    return [path.vertices for found in axes.collections if found.get_zorder() == 3 for path in found.get_paths()]


# Geometry


def test_the_camera_keeps_lengths_and_shows_what_is_up_as_up() -> None:
    for camera in (Camera(), Camera(30.0, 80.0), Camera(-170.0, -20.0)):
        np.testing.assert_allclose(camera.axes @ camera.axes.T, np.eye(3), atol=1e-15)
        assert np.linalg.det(camera.axes) == pytest.approx(1.0)
        assert camera.see(np.array([0.0, 0.0, 1.0]))[0] == pytest.approx(0.0)
        assert camera.see(np.array([0.0, 0.0, 1.0]))[1] > 0.0
    assert Camera(0.0, 0.0).see(np.array([2.0, 3.0, 4.0])) == pytest.approx([3.0, 4.0, 2.0])


def test_a_hull_holds_its_points_and_turns_one_way() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(50, 2))
    outline = hull(points)
    edges = np.roll(outline, -1, axis=0) - outline
    for corner, edge in zip(outline, edges, strict=True):
        to = points - corner
        assert (edge[0] * to[:, 1] - edge[1] * to[:, 0] > -1e-12).all()
    assert {tuple(p) for p in outline} <= {tuple(p) for p in points} and 3 < len(outline) < 50


def test_a_capsule_is_as_long_as_its_points_and_as_thick_as_its_radius() -> None:
    capsule = rounded(np.array([[0.0, 0.0], [2.0, 0.0]]), 0.5)
    assert np.ptp(capsule, axis=0) == pytest.approx([3.0, 1.0], rel=0.02)
    assert np.ptp(rounded(np.zeros((1, 2)), 0.5), axis=0) == pytest.approx([1.0, 1.0])


def test_a_box_has_six_faces_that_look_outward() -> None:
    placement = np.eye(4)
    placement[:3, 3] = [1.0, 2.0, 3.0]
    faces = box_faces(placement, np.array([2.0, 4.0, 6.0]))
    normals = np.array([normal for _, normal in faces])
    assert abs(normals).sum() == 6.0 and (normals.sum(axis=0) == 0.0).all()
    for corners, normal in faces:
        assert (corners.mean(axis=0) - placement[:3, 3]) @ normal > 0.0


def test_a_body_is_as_large_as_its_inertia_says() -> None:
    box = lw.mechanisms.free_box(mass=3.0, size=(0.3, 0.2, 0.1))
    found = solid(box.bodies[0])
    assert found is not None and sorted(found.edges) == pytest.approx([0.1, 0.2, 0.3])
    builder = lw.Builder()
    builder.add_body("none", joint=lw.joints.Revolute())
    assert solid(builder.build().bodies[0]) is None


def test_a_skeleton_joins_the_joints() -> None:
    parts = {part.body: part for part in Skeleton(PERSON).parts}
    forearm = parts[PERSON.body_index("left_forearm") + 1]
    wrist = PERSON.bodies[PERSON.body_index("left_wrist1")].placement.translation.numbers()
    assert [0.0, 0.0, 0.0] in forearm.points.tolist() and list(wrist) in forearm.points.tolist()
    assert forearm.radius < parts[PERSON.body_index("left_thigh") + 1].radius
    assert forearm.colour != parts[PERSON.body_index("right_forearm") + 1].colour


# Pictures


def test_a_person_is_drawn_as_tall_as_it_is_with_equal_axes() -> None:
    axes = lw.draw(PERSON, lw.neutral(PERSON), view=(-60.0, 0.0))
    every = np.concatenate(outlines(axes))
    assert np.ptp(every[:, 1]) == pytest.approx(1.7, abs=0.12)
    assert axes.get_aspect() == 1.0
    low, high = axes.get_ylim()
    assert low < every[:, 1].min() and high > every[:, 1].max()


def test_what_moves_in_q_moves_in_the_picture() -> None:
    pendulum = lw.mechanisms.pendulum()
    lowest = [
        min(outline[:, 1].min() for outline in outlines(lw.draw(pendulum, [angle], view=(-90.0, 0.0))))
        for angle in (0.0, np.pi / 3, np.pi / 2)
    ]
    assert lowest == pytest.approx([-1.0, -0.5, 0.0], abs=0.05)


def test_near_shapes_cover_far_ones() -> None:
    builder = lw.Builder("two")
    for name, y in (("near", -1.0), ("far", 1.0)):
        place = lw.placement(xyz=(0.0, y, 1.0))
        builder.add_body(name, joint=lw.joints.Free(), placement=place, mass=1.0, inertia=(0.1, 0.1, 0.1))
    model = builder.build()
    sizes = {"near": (0.2, 0.2, 0.2), "far": (0.6, 0.6, 0.6)}
    axes = lw.draw(model, lw.neutral(model), boxes=sizes, view=(-90.0, 0.0))
    widths = [np.ptp(outline[:, 0]) for outline in outlines(axes)]
    assert widths[0] == pytest.approx(0.6) and widths[-1] == pytest.approx(0.2)


def test_frames_trails_and_several_states() -> None:
    way = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 2.0]])
    q = np.stack([lw.neutral(PERSON), lw.neutral(PERSON) + 0.1])
    one = lw.draw(PERSON, q[0], ground=False)
    both = lw.draw(PERSON, q, frames=["left_hand", lw.Point("right_hand")], trails={"hand": way}, ground=False)
    assert len(outlines(both)) == 2 * len(outlines(one))
    (lines,) = [found for found in both.collections if found.get_zorder() == 4]
    assert len(lines.get_paths()) == 3 + 3 + 1
    np.testing.assert_allclose(lines.get_paths()[-1].vertices, Camera().see(way)[:, :2])
    assert [text.get_text() for text in both.texts] == ["left_hand", "right_hand"]
    assert len(lw.draw(PERSON, q[0], joints=False, ground=False).collections[0].get_paths()) < len(outlines(one))


def test_what_has_no_bodies_or_no_joints_can_be_drawn() -> None:
    builder = lw.Builder("nothing")
    lw.draw(builder.build(), [])
    builder.add_body("plinth", mass=1.0, inertia=(0.1, 0.1, 0.1))
    assert outlines(lw.draw(builder.build(), []))


def test_it_draws_on_axes_that_it_is_given_and_imports_no_pyplot(tmp_path: Path) -> None:
    before = "matplotlib.pyplot" in sys.modules
    axes = Figure().add_subplot()
    assert lw.draw(PERSON, lw.neutral(PERSON), ax=axes, path=tmp_path / "new" / "person.svg") is axes
    assert "<svg" in (tmp_path / "new" / "person.svg").read_text()
    assert ("matplotlib.pyplot" in sys.modules) == before


def test_a_sequence_shows_all_states_at_one_scale(swing: lw.Trajectory, tmp_path: Path) -> None:
    picture = lw.motion_sequence(swing, [0.0, 0.25, 1.0], tmp_path / "swing.png", trails=lw.Point("tip"), frames="tip")
    assert [axes.get_title() for axes in picture.axes] == ["0.00 s", "0.25 s", "1.00 s"]
    assert len({(axes.get_xlim(), axes.get_ylim()) for axes in picture.axes}) == 1
    with Image.open(tmp_path / "swing.png") as image:
        assert image.size[0] > 400
    assert len(lw.motion_sequence(swing).axes) == 6 and len(lw.motion_sequence(swing, 1).axes) == 1


def test_an_animation_has_its_frames_and_they_move(swing: lw.Trajectory, tmp_path: Path) -> None:
    path = lw.animate(swing, tmp_path / "new" / "swing.gif", fps=8, trails=["tip"], size=2.0)
    with Image.open(path) as film:
        assert getattr(film, "n_frames", 1) == 9 and film.info["duration"] == pytest.approx(125, abs=10)
        pictures = []
        for k in (0, 4, 8):
            film.seek(k)
            pictures.append(np.asarray(film.convert("L"), dtype=float))
    assert all(abs(a - b).max() > 100 for a, b in pairwise(pictures))
    with Image.open(lw.animate(swing, tmp_path / "slow.gif", fps=8, speed=0.5, size=2.0)) as film:
        assert getattr(film, "n_frames", 1) == 17


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")
def test_an_animation_as_video(swing: lw.Trajectory, tmp_path: Path) -> None:
    assert b"ftyp" in lw.animate(swing, tmp_path / "swing.mp4", fps=8, size=2.0).read_bytes()[:32]


# What is refused


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": [0.0]}, "q must have shape"),
        ({"q": np.zeros((2, 2, 24))}, "for several"),
        ({"q": np.zeros((3000, 24))}, "up to 2000 configurations, not 3000"),
        ({"q": np.full(24, np.nan)}, r"q\[0\] \(joint 'waist_yaw'\) is nan"),
        ({"frames": ["hand"]}, "no frame named 'hand'"),
        ({"boxes": {"crate": (1, 1, 1)}}, "no body named 'crate'"),
        ({"boxes": {"head": (1, 1)}}, "the box of 'head' must be three edges above zero"),
        ({"boxes": {"head": (1, 1, -1)}}, "the box of 'head' must be three edges above zero"),
        ({"trails": np.array("auto")}, "trails must be a list or a dict of ways"),
        ({"trails": [[0.0, 0.0, 0.0]]}, r"a trail must hold points \(n, 3\)"),
        ({"view": (1.0,)}, "view must be azimuth and elevation"),
        ({"view": "front"}, "view must be azimuth and elevation"),
        ({"ax": Figure().add_subplot(projection="3d")}, "ax must be plain axes"),
        ({"path": "person.doc"}, "a picture's name must end in one of"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_bad_arguments_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(lw.ArgumentError, match=message):
        lw.draw(**({"model": PERSON, "q": lw.neutral(PERSON)} | change))


def test_bad_sequences_and_animations_are_named(
    swing: lw.Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(lw.ArgumentError, match="only from 0 to 1 s"):
        lw.motion_sequence(swing, [0.0, 2.0])
    with pytest.raises(lw.ArgumentError, match="how many pictures"):
        lw.motion_sequence(swing, 0)
    with pytest.raises(lw.ArgumentError, match="without states"):
        lw.motion_sequence(swing[200:])
    with pytest.raises(lw.ArgumentError, match="without states"):
        lw.animate(swing[200:], tmp_path / "none.gif")
    with pytest.raises(lw.ArgumentError, match=r"must end in \.gif or \.mp4"):
        lw.animate(swing, tmp_path / "swing.avi")
    with pytest.raises(lw.ArgumentError, match="fps must be a positive number"):
        lw.animate(swing, tmp_path / "swing.gif", fps=0)
    with pytest.raises(lw.ArgumentError, match="must be finite"):
        lw.animate(swing, tmp_path / "swing.gif", fps=5e-324)
    monkeypatch.setattr(animation.shutil, "which", lambda name: None)
    with pytest.raises(lw.MissingExtraError, match="needs the program ffmpeg"):
        lw.animate(swing, tmp_path / "swing.mp4")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(lw.MissingExtraError, match=r"pip install 'linkwork\[plot\]'"):
        lw.animate(swing, tmp_path / "swing.gif")
    assert list(tmp_path.iterdir()) == []


# The command line


def test_draw_writes_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["draw", "double_pendulum"]) == 0
    assert "double_pendulum.png: double_pendulum, 2 bodies" in capsys.readouterr().out
    pictures = []
    for name, q in (("a", "0.5,1"), ("b", "joint2=1,joint1=0.5"), ("c", "random")):
        assert cli.main(["draw", "double_pendulum", "--q", q, "--out", f"{name}.png", "--frames", "tip"]) == 0
        pictures.append((tmp_path / f"{name}.png").read_bytes())
    assert pictures[0] == pictures[1] != pictures[2]
    assert cli.main(["draw", "free_box", "--q", "box_joint=0:0:1:0:0:0:1", "--view", "20", "30"]) == 0


@pytest.mark.parametrize(
    ("q", "message"),
    [
        ("1", "--q holds 1 numbers, but 'double_pendulum' has nq = 2"),
        ("1,a", "--q must hold numbers, but has 'a'"),
        ("joint3=1", "has no joint named 'joint3'"),
        ("joint1=1:2", "--q gives 2 numbers for joint 'joint1', which has 1"),
    ],
)
def test_draw_says_what_is_wrong(q: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["draw", "double_pendulum", "--q", q]) == 2
    assert message in capsys.readouterr().err


def test_a_long_chain_is_drawn_as_lines() -> None:
    rope = lw.mechanisms.rope(300)
    q = lw.random_state(rope, 0)[0]
    axes = lw.draw(rope, np.stack([lw.neutral(rope), q]))
    lines = [
        found for found in axes.collections if found.get_zorder() == 3 and type(found).__name__ == "LineCollection"
    ]
    (ropes,) = lines
    assert len(ropes.get_segments()) == 6 and len(ropes.get_segments()[0]) == 301  # edge, middle and light, twice
    assert len(outlines(axes)) - 6 < 10  # what it hangs on, and no polygon a link
    end = Camera().see(Skeleton(rope).placements(q)[-1, :3, 3])[:2]
    assert abs(ropes.get_segments()[3][-2] - end).max() < 1e-12
    assert all(low < x < high for x, (low, high) in zip(end, (axes.get_xlim(), axes.get_ylim()), strict=True))
