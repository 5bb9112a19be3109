"""The live view, without a browser: its server and access control, and the effect of its controls."""

from __future__ import annotations

import http.client
import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import cli
from linkwork.simulation.watching import Snapshot
from linkwork.viewer.browser.actor import LAYERS, sliders_of
from linkwork.viewer.browser.clock import Clock
from linkwork.viewer.browser.pulling import Pull
from linkwork.viewer.browser.view import View
from linkwork.viewer.forces import FORCES
from linkwork.viewer.skeleton import Skeleton

ARM = lw.mechanisms.serial_chain(3)


@pytest.fixture
def shown(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Makes views, and closes them."""
    pytest.importorskip("viser")
    views: list[View] = []

    def make(what: Any, **options: Any) -> View:
        views.append(lw.show(what, browser=False, **options))
        return views[-1]

    yield make
    for view in views:
        view.close()


def control(view: View, label: str) -> Any:
    """A control of the page by its label."""
    return next(h for h in view._server.gui._gui_input_handle_from_uuid.values() if h.label == label)


def status(view: View, path: str) -> tuple[int, bytes]:
    with closing(http.client.HTTPConnection("127.0.0.1", view._server.get_port(), timeout=600)) as there:
        there.request("GET", path)
        answer = there.getresponse()
        return answer.status, answer.read()


def test_a_view_is_served_to_this_machine_alone_and_nothing_but_its_page(shown: Any, capfd: Any) -> None:
    view = shown(ARM)
    port = view._server.get_port()
    assert view.url == f"http://127.0.0.1:{port}" and view.url in repr(view) and view.url in view._repr_html_()
    code, page = status(view, "/")
    assert code == 200 and b"<html" in page.lower()
    for path in (
        "/../pyproject.toml",
        "/%2e%2e/%2e%2e/__init__.py",
        "//etc/passwd",
        "/etc/passwd",
        "/..%5c..%5cx",
        "/a",
    ):
        assert status(view, path)[0] == 404, path
    if sys.platform == "linux":  # where all of 127.0.0.0/8 is this machine
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", port), timeout=600)
    assert view._server.request_share_url() is None  # what a page's request for a public address leads to
    with pytest.raises(lw.FileError, match="taken"):
        shown(ARM, port=port)
    view.close()
    view.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=600)
    with pytest.raises(lw.ArgumentError, match="closed"):
        lw.simulate(ARM, np.zeros(3), np.zeros(3), 0.01, 0.01, viewer=view)
    assert capfd.readouterr().out == ""


def test_a_page_of_another_site_is_refused(shown: Any) -> None:
    """Any page open in a browser can request a connection to this machine; the browser sends the page's origin."""
    client = pytest.importorskip("websockets.sync.client")
    import viser
    from websockets.exceptions import InvalidStatus

    view = shown(ARM)
    port = view._server.get_port()
    own: dict[str, Any] = {"subprotocols": [f"viser-v{viser.__version__}"], "compression": None, "open_timeout": None}
    for origin in (None, view.url):  # a program; the page itself
        with client.connect(f"ws://127.0.0.1:{port}", origin=origin, **own) as there:
            assert there.recv()
    with client.connect(f"ws://localhost:{port}", origin=f"http://localhost:{port}", **own) as there:
        assert there.recv()
    for origin in (
        "http://elsewhere.org",
        f"http://elsewhere.org:{port}",
        f"https://127.0.0.1:{port}",
        "null",
        view.url + "0",
    ):
        with pytest.raises(InvalidStatus, match="403"):
            client.connect(f"ws://127.0.0.1:{port}", origin=origin, **own)
    for host, refused in (("elsewhere.org", True), ("127.0.0.1", False)):  # a name that was made to lead here
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=600)) as there:
            there.request("GET", "/", headers={"Host": f"{host}:{port}", "Origin": f"http://{host}:{port}"})
            assert (there.getresponse().status == 403) == refused


def test_sliders_layers_and_shapes_of_a_model(shown: Any) -> None:
    view = shown([ARM, lw.mechanisms.free_box()], spacing=2.0, f_ext=np.ones((3, 6)))
    arm, box = view._actors
    assert arm.aside.tolist() == [0.0, -1.0, 0.0] and box.aside.tolist() == [0.0, 1.0, 0.0]
    control(view, "joint2").value = 0.5
    assert_soon(lambda: arm.q.tolist() == [0.0, 0.5, 0.0])
    there = lw.forward_kinematics(ARM, [0.0, 0.5, 0.0], ["body3"])[0]
    assert arm.frames[3].position == pytest.approx(there[:3, 3] + arm.aside)
    w, x, y, z = arm.frames[3].wxyz
    assert 1.0 - 2.0 * (y * y + z * z) == pytest.approx(there[0, 0]) and 2.0 * (x * y + w * z) == pytest.approx(
        there[1, 0]
    )
    for layer in (*LAYERS, *FORCES):
        view._layer(layer, True)
        assert layer in arm.shown
        view._layer(layer, False)
    view._layer("external forces", True)
    assert len(arm._forces["external forces"].points) == 3
    arm.show_inertia("body3")
    inverse = lw.operational_inertia_inverse(ARM, arm.q, [lw.Point("body3", axes="position")])
    heaviest = 0.5 * arm.length  # it cannot move up at all
    assert np.ptp(arm._ellipsoid.vertices[:, 2]) == pytest.approx(2.0 * heaviest, rel=1e-6)
    felt = np.linalg.inv(inverse[:2, :2])  # kg, in the plane
    wide = 0.5 * arm.length * np.sqrt(felt.diagonal() / ARM.mass)
    assert np.ptp(arm._ellipsoid.vertices[:, :2], axis=0) == pytest.approx(wide, rel=0.02)
    before = arm.meshes
    view._wear("skeleton")
    assert len(arm.meshes) == len(before) and arm.meshes[0][1] is not before[0][1]
    assert all(handle._impl.click_cb for _, handle in arm.meshes)  # bodies can be clicked as before
    names = [name for name, _, _ in sliders_of(lw.mechanisms.free_box(), 1.0)]
    assert len(names) == 6 and names[0].endswith(" 1")


def assert_soon(holds: Any) -> None:
    """A callback runs in a thread of its own; a minute is long, even on a busy machine."""
    for _ in range(6000):
        if holds():
            return
        sleep(0.01)
    raise AssertionError("it did not happen")


def test_a_motion_is_played_and_its_forces_drawn(shown: Any) -> None:
    held = [lw.Ball.at(ARM, [1.0, 0.5, 0.2], "body3")]
    settings: dict[str, Any] = {"constraints": held, "stabilisation": 0.1, "proximal": 1e-6}
    swing = lw.simulate(ARM, [1.0, 0.5, 0.2], [0.0, 0.0, 3.0], 1.0, 0.01, **settings)
    view = shown(swing, constraints=held)
    view._clock.go(0.5)
    view._layer("reaction forces", True)
    view._layer("constraint forces", True)
    view._at(0.5)
    (actor,) = view._actors
    assert actor.q == pytest.approx(swing.q[50], abs=1e-12)
    state = swing.q[50], swing.v[50], swing.tau[50], held
    _, forces, wrenches = lw.constrained_dynamics_and_reactions(ARM, *state, stabilisation=0.1, proximal=1e-6)
    assert np.linalg.norm(forces[0, :3]) > 1.0  # what the ball does is felt in the joints
    arrows = actor._forces["reaction forces"].points
    found = np.linalg.norm(arrows[:, 1] - arrows[:, 0], axis=1)
    wanted = view._metres(actor) * np.linalg.norm(wrenches[:, :3], axis=1)
    assert found == pytest.approx(wanted[wanted > 0.01 * actor.length], rel=1e-5)
    assert len(actor._forces["constraint forces"].points) <= 1


def resting_on_a_point() -> tuple[lw.Trajectory, list[lw.Contact]]:
    """A box at rest on a ball below its centre, which carries its weight."""
    box = lw.mechanisms.free_box()
    q, still, forces = np.tile(lw.neutral(box), (2, 1)), np.zeros((2, 6)), np.zeros((2, 1, 6))
    q[:, 2], forces[:, 0, 2] = 0.1, 9.81 * box.mass
    return lw.Trajectory(box, np.array([0.0, 1.0]), q, still, still, still, forces), [lw.Contact("box", lw.Sphere(0.1))]


def test_forces_of_contacts_and_joints_that_they_load(shown: Any, tmp_path: Path) -> None:
    rests, ball = resting_on_a_point()
    view = shown([rests, lw.mechanisms.free_box()], contacts=ball)
    box, other = view._actors
    view._layer("reaction forces", True)
    view._at(0.5)
    (arrow,) = box._forces["contact forces"].points
    assert arrow[0] == pytest.approx(box.aside, abs=1e-6)  # where the ball touches the ground
    assert arrow[1] - arrow[0] == pytest.approx([0.0, 0.0, 0.5 * box.length], abs=1e-6)  # its weight
    assert len(box._forces["reaction forces"].points) == 0  # the free joint bears nothing
    assert len(other._forces["contact forces"].points) == 0
    control(view, "see through").value = True
    assert_soon(lambda: all(handle.opacity == 0.35 for _, handle in box.meshes))
    box.name(1)
    assert view._server.scene.get_handle_by_name("/0/1/name").text == "box"
    box.name(1)
    assert view._server.scene.get_handle_by_name("/0/1/name") is None
    for wrong in (rests[:1], lw.mechanisms.free_box()):
        with pytest.raises(lw.ArgumentError, match=r"contacts have 8 points, but .* recorded [01] forces; lw.simulate"):
            lw.save_html(wrong, tmp_path / "box.html", contacts=[lw.Contact("box", lw.Box((0.1, 0.1, 0.1)))] * 2)


def test_forces_of_a_simulation_while_it_runs(shown: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rests, ball = resting_on_a_point()
    box, q, load = rests.model, rests.q[0] - [0.0, 0.0, 0.005, 0.0, 0.0, 0.0, 0.0], np.zeros((1, 6))
    load[0, 0] = 0.5 * 9.81 * box.mass
    view = shown(box)
    (actor,) = view._actors
    before = view._server.scene.get_handle_by_name("/ground").position[2]  # under the box, where it was shown
    along_y = np.array([0.0, 0.5 * actor.length, 0.0])
    view._pull.hold(1, np.zeros(3), q[:3] + along_y)
    pushed, arrows, see = list[np.ndarray](), list[dict[str, np.ndarray]](), view.see

    def look(state: Snapshot) -> bool:
        view._layer("reaction forces", True)
        going_on = bool(see(state))
        pushed.append(view._metres(actor) * state.constraint_forces[0, :3])
        arrows.append({kind: np.diff(each.points, axis=1)[:, 0] for kind, each in actor._forces.items()})
        return going_on

    monkeypatch.setattr(view, "see", look)
    with lw.interpreted():
        motion = lw.simulate(box, q, np.zeros(6), 0.002, 0.002, contacts=ball, f_ext=load, viewer=view)
    ground = view._server.scene.get_handle_by_name("/ground")
    assert ground.position[2] == 0.0 > before
    assert control(view, "contact forces").value and motion.constraint_forces.shape == (2, 0, 6)  # drawn, not kept
    assert arrows[0]["contact forces"] == pytest.approx(pushed[0][None], rel=1e-5, abs=1e-6)
    assert pushed[0][2] > 0.1 * actor.length
    external = np.array([[0.25 * actor.length, 0.0, 0.0], along_y])  # the load, and how far the hand pulls
    assert arrows[0]["external forces"] == pytest.approx(external, rel=1e-5, abs=1e-6)
    assert len(arrows[0]["reaction forces"]) == 0  # the free joint bears nothing, whatever pulls
    assert len(actor._forces["external forces"].points) == 0 and len(actor._forces["contact forces"].points) == 1
    view._refresh()
    assert len(actor._forces["contact forces"].points) == 0  # it may stand elsewhere now


def test_the_clock_runs_stands_and_goes_round() -> None:
    clock = Clock(1.0, 3.0)
    clock.go(5.0)
    assert clock.now() == 3.0 and not clock.playing
    clock.go(0.0)
    assert clock.now() == clock.now() == 1.0
    clock.speed = 1e9
    clock.go(2.0, playing=True)
    assert clock.now() == 1.0  # past the end: the first again
    assert not Clock(0.0, 0.0).playing


def test_a_hand_pulls_a_point_where_it_wants_it(shown: Any) -> None:
    pull = Pull(ARM, Skeleton(ARM))
    q, v = np.array([0.3, 0.2, -0.4]), np.zeros(3)
    assert not pull.wrenches(q, v).any()
    pose = Skeleton(ARM).placements(q)[3]
    point, away = np.array([0.4, 0.0, 0.0]), np.array([0.1, -0.2, 0.0])
    pull.hold(3, point, pose[:3, :3] @ point + pose[:3, 3] + away)
    (wrench,) = pull.wrenches(q, v)[2:]
    force = pose[:3, :3] @ wrench[:3]
    assert np.cross(force, away) == pytest.approx(np.zeros(3), abs=1e-9) and force @ away > 0.0
    assert wrench[3:] == pytest.approx(np.cross(point, wrench[:3]))
    view = shown(ARM)
    target = np.array([1.0, 1.5, 0.0])
    view.begin(ARM, (), None)
    event = {"client": None, "start_position": (2.5, 0.0, 0.0), "end_position": tuple(target), "phase": "start"}
    view._drag(type("Event", (), event), 3)
    assert view._pull.grip()[0] == 3 and view._pull.grip()[1] == pytest.approx([0.5, 0.0, 0.0])
    motion = lw.simulate(
        ARM, np.zeros(3), np.zeros(3), 0.2, 0.01, torque=lambda t, q, v: lw.gravity_torques(ARM, q), viewer=view
    )
    assert not motion.interrupted and view._pull.grip()[0] == 0 and view._live is None  # let go at the end
    assert abs(motion.q[-1]).max() > 0.01 and view._actors[0].q.shape == (3,)
    load = lw.simulate(ARM, np.zeros(3), np.zeros(3), 0.05, 0.01, f_ext=np.ones((3, 6)))
    seen = lw.simulate(ARM, np.zeros(3), np.zeros(3), 0.05, 0.01, f_ext=np.ones((3, 6)), viewer=view)
    assert np.array_equal(load.q, seen.q)


class Impatient:
    """A viewer that ends a simulation after some states."""

    def __init__(self, after: int) -> None:
        self.left, self.said = after, list[str]()

    def begin(self, model: lw.Model, constraints: Any, contacts: Any) -> None:
        self.said.append("begin")

    def pulled(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.zeros((3, 6))

    def see(self, state: Snapshot) -> bool:
        self.left -= 1
        return self.left > 0

    def done(self) -> None:
        self.said.append("done")


def test_a_viewer_may_end_a_simulation_and_no_other_thing_is_one() -> None:
    viewer = Impatient(4)
    motion = lw.simulate(ARM, np.zeros(3), np.zeros(3), 1.0, 0.01, viewer=viewer)
    assert motion.interrupted and len(motion) == 4 and viewer.said == ["begin", "done"]
    with pytest.raises(lw.ArgumentError, match="viewer must be a view"):
        lw.simulate(ARM, np.zeros(3), np.zeros(3), 1.0, 0.01, viewer=3)


def test_what_cannot_be_shown_is_said(
    shown: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for what, options in ((3, {}), (ARM, {"shapes": "x"}), (ARM, {"port": -1}), (ARM, {"f_ext": np.zeros((1, 6))})):
        with pytest.raises(lw.ArgumentError):
            lw.show(what, browser=False, **options)
    view = shown(ARM)
    with pytest.raises(lw.ArgumentError, match="the view shows"):
        lw.simulate(lw.mechanisms.pendulum(), [0.0], [0.0], 0.01, 0.01, viewer=view)
    monkeypatch.setattr(View, "wait", lambda self: self.close())
    assert cli.main(["view", "pendulum", "humanoid", "--no-browser"]) == 0
    assert "http://127.0.0.1:" in capsys.readouterr().out
    swing = lw.simulate(lw.mechanisms.pendulum(), [0.1], [0.0], 0.02, 0.01).save(tmp_path / "swing.npz")
    assert cli.main(["view", str(swing), "--no-browser"]) == 0
    other = lw.simulate(ARM, np.zeros(3), np.zeros(3), 0.02, 0.01).save(tmp_path / "arm.npz")
    assert cli.main(["view", str(other), "--model", "serial_chain:3", "--no-browser"]) == 0
    (tmp_path / "bad.npz").write_bytes(b"PK")
    for bad in (tmp_path / "bad.npz", tmp_path / "none.npz"):
        assert cli.main(["view", str(bad)]) == 2
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(lw.MissingExtraError, match=r"linkwork\[viewer\]"):
        lw.show(ARM)


def test_the_last_event_is_said(shown: Any) -> None:
    fall = lw.mechanisms.double_pendulum()
    hold = lw.Event(0.25, attach=lw.PointOnPlane(fall.frame_names[-1]), name="held")
    view = shown(lw.rollout(fall, [0.3, 0.3], [0.0, 0.0], dt=0.01, steps=100, events=hold).trajectory())
    for time, words in ((0.1, ""), (0.3, "0.25 s: held"), (0.2, "")):
        view._at(time)
        assert control(view, "event").value == words
