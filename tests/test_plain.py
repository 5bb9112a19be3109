"""Names of a model are text wherever they are shown: consoles, notebooks, pictures; ``test_browser.py`` has pages."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import cli, pictures
from linkwork.model.describe import summary
from linkwork.plain import as_markdown, console, one_line

SOURCES = Path(lw.__file__).parent
RUN = "top.hacked=1"
ELSEWHERE = "http://127.0.0.1:9/name"
HOSTILE = (
    f'<iframe srcdoc="<script>{RUN}</script>"></iframe>',
    f"</script><script>{RUN}</script><!--",
    f"<img src=x onerror='{RUN}'>",
    f"<a href='javascript:{RUN}'>a</a><svg onload={RUN}><style>@import '{ELSEWHERE}/s.css'</style>",
    f"![x]({ELSEWHERE}.png)",
    "![x](/picture.png)",
    f"[x](javascript:{RUN}) ]( javascript:{RUN})",
    f"```mermaid\ngraph TD; a-->b; click a href '{ELSEWHERE}'\n```",
    "| **b** | *i* | `c` | ~~d~~ | __e__",
    "[red]x[/red][/] [link=http://127.0.0.1:9/name]y[/link] [bold",
    "$x^$ \\frac{ % _z ^ :100: :robot:",
    "_hidden",
    "back\x1b[2J\x9b2Jwards\u202egnp.exe\u2066\u200f\r\n\t\x00\u2028\ud800",
    "nowhere",
    "__proto__",
    "&lt;b&gt; {{title}} ${x} {0} %s",
)


def hostile(names: Sequence[str] = HOSTILE) -> lw.Model:
    """A row of bodies that hang from the world; all names mean something somewhere."""
    builder = lw.Builder(HOSTILE[0] + HOSTILE[4] + HOSTILE[9] + HOSTILE[12])
    for k, name in enumerate(names):
        frame = lw.placement(xyz=(0.3 * k, 0.0, 0.0))
        builder.add_body(
            name, joint=lw.joints.Revolute("y"), placement=frame, mass=1.0, com=(0.0, 0.0, -0.5),
            inertia=(0.1, 0.1, 0.001), joint_name=f"{name} joint",
        )  # fmt: skip
        builder.add_frame(f"{name} frame", name, lw.placement(xyz=(0.0, 0.0, -1.0)))
    return builder.build()


class Read(HTMLParser):
    """What a browser reads in a piece of HTML: its elements, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements, self.texts = list[str](), list[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_a_name_is_one_line_of_what_can_be_printed() -> None:
    assert one_line("left_arm 左 é") == "left_arm 左 é"
    for name in HOSTILE:
        assert one_line(name).isprintable() and one_line(one_line(name)) == one_line(name)
    assert one_line(HOSTILE[12]).startswith(r"back\x1b[2J\x9b2Jwards\u202egnp") and one_line("\ud800") == r"\ud800"


def test_a_console_prints_names_as_they_are(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = hostile()
    monkeypatch.setattr("linkwork.cli.info.load", lambda path, floating_base: model)
    (tmp_path / "robot.urdf").touch()
    for arguments in (["info"], ["count", "--method", "composite_body", "--frame", f"{HOSTILE[9]} frame"]):
        assert cli.main([*arguments[:1], str(tmp_path / "robot.urdf"), *arguments[1:]]) == 0
        printed = capsys.readouterr().out
        assert printed.splitlines()[0] == summary(model) and "[red]x[/red][/] [link=" in printed
        assert all(line.isprintable() for line in printed.splitlines())
        if arguments == ["info"]:
            for name in HOSTILE:
                assert f" {one_line(name)} " in printed and f"{one_line(name)} joint" in printed
    assert cli.main(["count", str(tmp_path / "robot.urdf"), "--frame", f"{HOSTILE[12]}[red]"]) == 2
    assert all(line.isprintable() for line in capsys.readouterr().err.splitlines())
    said = io.StringIO()
    console(file=said).print("serial_chain:100:spherical [red]x[/red]")
    assert said.getvalue() == "serial_chain:100:spherical [red]x[/red]\n"


def test_a_notebook_shows_names_as_text() -> None:
    model = hostile()
    page = Read(model._repr_html_())
    assert set(page.elements) == {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert page.texts[0] == summary(model)
    shown = {text.lstrip("├└│ ") for text in page.texts}
    assert {one_line(name) for name in HOSTILE} < shown
    assert '<table class="tex2jax_ignore mathjax_ignore">' in model._repr_html_()  # no formula of a name is typeset


def test_a_table_of_a_page_shows_names_as_text() -> None:
    assert as_markdown("go1_description 12 µs (3 µs)") == "go1_description 12 µs (3 µs)"
    for name in HOSTILE:
        text = as_markdown(name)
        assert re.sub(r"\\([\\`*<>\[\]|&$~_])", r"\1", text) == one_line(name)
        assert not re.search(r"[`*<>\[\]|&$~]", re.sub(r"\\.", "", text))


def test_pictures_show_names_as_text(tmp_path: Path) -> None:
    text, figures = pytest.importorskip("matplotlib.text"), pytest.importorskip("matplotlib.figure")
    model = hostile()
    still, frames = np.zeros((2, model.nv)), [f"{name} frame" for name in HOSTILE]
    motion = lw.Trajectory(model, np.array([0.0, 1.0]), still, still, still, still, np.zeros((2, 0, 6)))
    joints = [f"{name} joint" for name in HOSTILE[4:]]
    wide = figures.Figure(figsize=(20.0, 2.0)).add_subplot()  # no layout that makes room for the names
    drawn = [lw.draw(model, lw.neutral(model), frames=frames, ax=wide).figure, motion.plot(joints)]
    for figure, names in zip(drawn, (frames, joints), strict=True):
        shown = {one.get_text(): one for one in figure.findobj(text.Text)}
        for name in map(one_line, names):
            assert not shown[name].get_parse_math() and not shown[name].get_usetex(), name
        for kind in ("svg", "png"):
            pictures.write(figure, tmp_path / f"a.{kind}")
    assert drawn[1].get_suptitle() == one_line(model.name)


def test_each_place_that_gives_characters_a_meaning_has_one_owner() -> None:
    """Escapes are made in ``plain`` and ``pictures``, and the live view has no Markdown or HTML at all."""
    owners = {
        r"html\.escape|\\u003c": ["plain.py"],
        r"(?<!\w)Console\(": ["plain.py", "progress.py"],
        r"markup=|rich\.markup|from_markup": ["plain.py", "progress.py"],
        r"add_markdown|add_html|add_command|add_modal|add_notification": [],
        r"parse_math|usetex": ["pictures.py"],
    }
    for pattern, wanted in owners.items():
        found = [path.name for path in sorted(SOURCES.rglob("*.py")) if re.search(pattern, path.read_text("utf-8"))]
        assert [name for name in found if name not in wanted] == [], pattern
