"""Pages in a real browser: Chromium of the system, without a window. ``make browser`` installs it.

A page loads without errors and shows the mechanism, its controls and the timeline move it, and it requests nothing from
elsewhere. Screenshots are small, since there may be no graphics card.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy.spatial.transform import Rotation

import linkwork as lw
from linkwork.plain import one_line
from test_plain import HOSTILE, hostile
from test_show import resting_on_a_point

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --use-angle=swiftshader --enable-unsafe-swiftshader"
).split()
SIZE = {"width": 420, "height": 320}

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here; make browser installs it")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        profile = tmp_path_factory.mktemp("profile")
        context = started.chromium.launch_persistent_context(
            profile, executable_path=CHROMIUM, headless=True, args=FLAGS, viewport=SIZE
        )
        yield context
        context.close()


class Page:
    """A page, its console messages, and its requests."""

    def __init__(self, browser: Any, url: str, **size: int) -> None:
        self.page, self.errors, self.asked = browser.new_page(), list[str](), list[str]()
        self.page.set_default_timeout(600_000)  # ms: a page may be slow on a busy machine
        self.page.on("console", lambda message: self.errors.extend([message.text] * (message.type == "error")))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        if size:
            self.page.set_viewport_size(size)
        self.page.goto(url)

    def until(self, holds: Callable[[], Any]) -> Any:
        """Wait for a condition; a minute is long, even on a busy machine."""
        for _ in range(600):
            if found := holds():
                return found
            sleep(0.1)
        raise AssertionError(f"it did not happen; the page's errors: {self.errors}")

    def picture(self, **clip: float) -> np.ndarray:
        image = Image.open(BytesIO(self.page.screenshot(clip=clip or None)))
        return np.asarray(image.convert("RGB"), dtype=int)


def matrix(wxyz: Any) -> np.ndarray:
    """The rotation of a quaternion."""
    w, *xyz = wxyz
    return np.asarray(Rotation.from_quat([*xyz, w]).as_matrix())


def seen(camera: Any, place: np.ndarray, wide: float, high: float) -> np.ndarray:
    """The pixel at which a camera of the live view sees a place (3,)."""
    x, y, far = (place - camera.position) @ matrix(camera.wxyz)
    return 0.5 * np.array([wide, high]) + 0.5 * high / np.tan(0.5 * camera.fov) * np.array([x, y]) / far


def coloured(picture: np.ndarray) -> int:
    """The number of coloured pixels; ground and background are grey."""
    return int((np.ptp(picture, axis=-1) > 40).sum())


def test_a_saved_page_plays_without_a_network(browser: Any, tmp_path: Path) -> None:
    swing = lw.simulate(lw.mechanisms.double_pendulum(), [1.5, 0.5], [0.0, 0.0], 2.0, 0.01)
    path = lw.save_html(swing, tmp_path / "swing.html", trails=["tip"])
    browser.set_offline(True)
    try:
        page = Page(browser, path.as_uri())
        page.until(lambda: page.page.evaluate("!!window.linkwork && linkwork.drawn > 1"))
        first = page.page.evaluate("linkwork.time")
        page.until(lambda: page.page.evaluate("linkwork.time") != first)  # it plays
        page.page.keyboard.press(" ")
        page.until(lambda: page.page.evaluate("!linkwork.playing && !linkwork.stale"))
        pictures = []
        for time in (0.0, 1.0):
            page.page.evaluate(f"linkwork.go({time})")
            page.until(lambda: page.page.evaluate("!linkwork.stale"))
            pictures.append(page.picture(x=0, y=30, width=420, height=230))
        assert all(coloured(picture) > 150 for picture in pictures)  # the pendulum, and later its trail
        assert (abs(pictures[0] - pictures[1]).max(axis=-1) > 40).sum() > 150  # it has moved
        assert page.page.inner_text("#clock").startswith("1.00")
        label = page.page.locator("#name")
        assert not label.is_visible()
        links = lw.forward_kinematics(swing.model, swing.q[100], swing.model.body_names)
        for name, link in zip(swing.model.body_names, links, strict=True):  # the mouse rests on the middle of a link
            seen = "([x, y, z]) => { const m = linkwork.camera.matrix(420, 320), at = (k) => m[k] * x + m[4 + k] * y + "
            seen += "m[8 + k] * z + m[12 + k]; return [210 * (1 + at(0) / at(3)), 160 * (1 - at(1) / at(3))]; }"
            page.page.mouse.move(*page.page.evaluate(seen, (link[:3, 3] - 0.5 * link[:3, 2]).tolist()))
            page.until(lambda name=name: label.is_visible() and label.inner_text() == name)  # type: ignore[misc]
        page.page.mouse.move(210, 100)
        assert not label.is_visible()
        page.page.mouse.down()
        page.page.mouse.move(300, 130)
        page.page.mouse.up()
        assert page.page.evaluate("linkwork.camera.azimuth") != -60
        assert not page.errors and page.asked == [path.as_uri()]
    finally:
        browser.set_offline(False)


def test_a_saved_page_has_arrows_of_contact_forces(browser: Any, tmp_path: Path) -> None:
    rests, ball = resting_on_a_point()
    orange = []
    for options in ({}, {"contacts": ball, "reactions": True}):
        path = lw.save_html(rests[:1], tmp_path / "box.html", **options)  # type: ignore[arg-type]
        page = Page(browser, path.as_uri())
        page.until(lambda page=page: page.page.evaluate("!!window.linkwork && linkwork.drawn > 0 && !linkwork.stale"))  # type: ignore[misc]
        red, green, blue = np.moveaxis(page.picture(), -1, 0)
        orange.append(int(((red > green + 60) & (green > blue + 20)).sum()))
        assert not page.errors
    assert orange[0] == 0 and orange[1] > 100  # the arrow is in front of the box that it pushes


def test_a_live_view_plays_a_motion_and_its_sliders_move_a_model(browser: Any) -> None:
    pytest.importorskip("viser")
    model = lw.mechanisms.double_pendulum()
    swing = lw.simulate(model, [1.5, 0.5], [0.0, 0.0], 2.0, 0.01)
    with lw.show([swing, model], browser=False) as view:
        page = Page(browser, view.url, width=640, height=300)
        beside = {"x": 0, "y": 100, "width": 330, "height": 200}  # the controls, and below a message
        page.until(lambda: coloured(page.picture(**beside)) > 100)
        time, joint = page.page.get_by_role("slider").first, page.page.get_by_role("slider").last
        before = time.get_attribute("aria-valuenow")
        page.until(lambda: time.get_attribute("aria-valuenow") != before)  # it plays
        page.page.get_by_role("checkbox").first.click()
        page.until(lambda: not view._clock.playing)
        pictures = []
        for key, there in (("Home", 0.0), ("End", 2.0)):
            time.focus()
            page.page.keyboard.press(key)
            page.until(lambda there=there: view._clock.now() == there)  # type: ignore[misc]
            state = swing.q[0 if there == 0.0 else -1]
            page.until(lambda state=state: np.allclose(view._actors[0].q, state))  # type: ignore[misc]
            page.page.wait_for_timeout(500)  # for the picture
            pictures.append(page.picture(**beside))
        assert (abs(pictures[0] - pictures[1]).max(axis=-1) > 40).sum() > 50  # it has moved
        (client,) = view._server.get_clients().values()
        label = page.page.locator("#linkwork-name")
        link = lw.forward_kinematics(model, swing.q[-1], ["body2"])[0]
        place = link[:3, 3] - 0.5 * link[:3, 2] + view._actors[0].aside
        page.page.mouse.move(*seen(client.camera, place, 640.0, 300.0))
        page.until(lambda: label.is_visible() and label.inner_text() == "body2")
        page.page.mouse.move(10, 290)
        page.until(lambda: not label.is_visible())
        joint.focus()
        page.page.keyboard.press("End")
        page.until(lambda: view._actors[1].q[-1] > 3.0)
        assert not page.errors
        assert all(url.startswith((view.url, "data:", "blob:")) for url in page.asked), page.asked
        asked = "paths => Promise.all(paths.map(path => fetch(path).then(answer => answer.status)))"
        assert page.page.evaluate(asked, ["/..%2f..%2f__init__.py", "/%2e%2e/%2e%2e/etc/passwd", "/a"]) == [404] * 3


def untouched(page: Page, url: str) -> None:
    """Nothing of a name has become an element or a script, and nothing was requested for one."""
    assert page.page.evaluate("window.hacked") is None and len(page.page.frames) == 1
    made = "iframe, [srcdoc], [onerror], [onload], img[src='x'], a[href*='javascript'], img[src*='picture'], strong, em"
    assert page.page.locator(made).count() == 0
    assert all(asked.startswith((url, "data:", "blob:")) for asked in page.asked), page.asked
    assert not any(word in asked for asked in page.asked for word in ("127.0.0.1:9/", "picture.png", "/x"))
    assert not page.errors


def test_a_saved_page_shows_hostile_names_as_text(browser: Any, tmp_path: Path) -> None:
    model = hostile()
    path = lw.save_html(model, tmp_path / "names.html", frames=[f"{name} frame" for name in HOSTILE])
    page = Page(browser, path.as_uri())
    page.until(lambda: page.page.evaluate("!!window.linkwork && linkwork.drawn > 0"))
    assert page.page.title() == page.page.inner_text("#title") == one_line(model.name)
    shown = (
        "names => names.map(name => { linkwork.picture.named = () => name; linkwork.name({clientX: 1, clientY: 1}); "
    )
    shown += "return document.getElementById('name').innerText; })"
    names = page.page.evaluate("linkwork.scene.moving.map(part => part.name)")
    assert set(map(one_line, HOSTILE)) < set(names) and page.page.evaluate(shown, names) == names
    untouched(page, path.as_uri())


def test_the_live_view_shows_hostile_names_as_text(browser: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names, shown by everything that a user can open or click, run nothing, request nothing and have no file read."""
    handles = pytest.importorskip("viser._gui_handles")
    read = list[str]()

    def data_url(url: str, _: object) -> str:
        read.append(url)
        return url

    monkeypatch.setattr(handles, "_get_data_url", data_url)
    names = [HOSTILE[k] for k in (0, 2, 3, 4, 5, 12, 13)]
    model = hostile(names)
    with lw.show(model, browser=False) as view:
        page = Page(browser, view.url, width=640, height=300)
        title = one_line(model.name)
        page.until(lambda: page.page.get_by_text(f"Joints of {title}", exact=True).count())
        assert page.page.get_by_text(title, exact=True).count()  # of the panel
        for name in names:
            assert page.page.get_by_text(f"{one_line(name)} joint", exact=True).count(), name
        picked = page.page.locator("input[disabled]")
        (client,) = page.until(lambda: list(view._server.get_clients().values()))
        links = lw.forward_kinematics(model, view._actors[0].q, names)
        label = page.page.locator("#linkwork-name")
        for body, (name, link) in enumerate(zip(names, links, strict=True), 1):
            if body in (1, 3):  # the others are shown by the same fields, without the time that a picture takes
                page.page.mouse.move(*seen(client.camera, link[:3, 3] - [0.0, 0.0, 0.5], 640.0, 300.0))
                page.until(lambda name=name: label.is_visible() and label.text_content() == one_line(name))  # type: ignore[misc]
                page.page.mouse.down()
                page.page.mouse.up()
            else:
                view._pick(view._actors[0], body)
            page.until(lambda name=name: picked.input_value() == f"{one_line(name)} of {title}")  # type: ignore[misc]
        page.page.get_by_label("names", exact=True).click()
        page.page.get_by_label("operational inertia").click()
        options = page.page.get_by_role("option")
        labels = ("nowhere (frame)" if name == "nowhere" else one_line(name) for name in model.frame_names[1:])
        assert options.all_text_contents() == ["nowhere", *labels]
        options.filter(has_text=f"{one_line(HOSTILE[0])} frame").click()
        page.until(lambda: view._actors[0].point == f"{HOSTILE[0]} frame")
        untouched(page, view.url)
        page.page.evaluate("fetch('/none').then(answer => answer.text())")  # uses a connection that a server waits for
    assert read == []


def test_an_exported_robot_is_dragged_and_falls(browser: Any, tmp_path: Path) -> None:
    """The page of an exported step, whose WebAssembly moves the mechanism: by itself, by a slider, by the mouse."""
    model = lw.mechanisms.double_pendulum()
    lw.export("step", tmp_path, "wasm", model=model, dt=0.001, name="swing")
    browser.set_offline(True)
    try:
        url = (tmp_path / "swing.html").as_uri()
        page = Page(browser, url)
        ask = page.page.evaluate
        page.until(lambda: ask("!!window.linkwork && linkwork.drawn > 0"))
        page.page.locator("#joints input").first.fill("1.2")  # a slider places a joint
        assert ask("Array.from(linkwork.step.arrays.q)") == [1.2, 0.0]
        page.until(lambda: not ask("linkwork.stale"))
        held = page.picture(x=0, y=30, width=220, height=230)
        page.page.keyboard.press("Tab")
        page.page.mouse.click(5, 100)
        page.page.keyboard.press(" ")
        page.until(lambda: ask("linkwork.steps > 200"))
        page.page.keyboard.press(" ")
        page.until(lambda: ask("!linkwork.playing && !linkwork.stale"))
        steps, q = ask("[linkwork.steps, Array.from(linkwork.step.arrays.q)]")
        rolled = lw.rollout(model, [1.2, 0.0], [0.0, 0.0], np.zeros(2), dt=0.001, steps=steps, f_ext=np.zeros((2, 6)))
        assert np.allclose(q, rolled.q[-1], rtol=0.0, atol=1e-9)  # what falls in the browser is what falls here
        assert (abs(held - page.picture(x=0, y=30, width=220, height=230)).max(axis=-1) > 40).sum() > 50
        page.page.evaluate("linkwork.again()")
        seen = "(() => { for (let y = 40; y < 250; y += 3) for (let x = 20; x < 220; x += 3) "
        seen += "if (linkwork.picture.seen(linkwork.camera, x, y) > 0) return [x, y]; return null; })()"
        x, y = page.until(lambda: ask(seen))
        page.page.mouse.move(x, y)
        page.page.mouse.down()
        page.page.mouse.move(x - 60, y)
        page.until(lambda: ask("linkwork.time > 0.3"))
        assert ask("linkwork.pull.body") >= 1 and abs(ask("linkwork.step.arrays.v[0]")) > 1e-3
        page.page.mouse.up()
        assert ask("linkwork.pull") is None and not page.errors and page.asked == [url]
    finally:
        browser.set_offline(False)
