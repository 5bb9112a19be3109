"""The command line: what it prints, and what bad input gets."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import linkwork as lw
from linkwork import cli

URDF = """<?xml version="1.0"?>
<robot name="two_links">
  <link name="base"/>
  <link name="arm">
    <inertial><mass value="2.5"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-1.5" upper="0.5" effort="40" velocity="3"/>
  </joint>
</robot>
"""


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    path = tmp_path / "two_links.urdf"
    path.write_text(URDF)
    return path


def test_info_prints_the_tree(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["info", "humanoid"]) == 0
    first, heading, *rows = capsys.readouterr().out.splitlines()
    assert first == "humanoid: 24 bodies, 60.06 kg, 24 degrees of freedom (nq 24), depth 10"
    assert heading.split() == ["body", "joint", "kind", "mass", "kg", "range", "effort", "frames"]
    assert rows[0].split() == ["world", "pelvis"]
    assert len(rows) == 25
    palm = next(row for row in rows if "left_palm" in row)
    assert palm.split("└")[1].split() == "left_palm left_wrist_pitch revolute y 0.378 -1.2 to 1.2 12 left_hand".split()
    assert [row.split("  ")[0] for row in rows[1:4]] == ["├ lower_abdomen", "│ └ upper_abdomen", "│"]
    assert (
        rows[3].startswith("│   └ chest")
        and rows[4].startswith("│     ├ head")
        and rows[-1].startswith("    └ right_foot")
    )


def test_commands_are_imported_when_they_are_called() -> None:
    """The package beside linkwork only by the commands that use it."""
    code = "import sys; from linkwork import cli; cli.main({}); print('linkwork_lab' in sys.modules)"
    for words in (["info", "pendulum"], ["cache"]):
        done = subprocess.run([sys.executable, "-c", code.format(words)], capture_output=True, text=True)
        assert done.stdout.endswith("False\n"), done.stdout + done.stderr


def test_info_of_a_file(robot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["info", str(robot)]) == 0
    printed = capsys.readouterr().out
    assert "2.5 kg" in printed and "-1.5 to 0.5" in printed and "shoulder" in printed
    assert cli.main(["info", str(robot), "--floating-base", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["nv"] == 7


def test_json_holds_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["info", "humanoid", "--json", "--floating-base"]) == 0
    data = json.loads(capsys.readouterr().out)
    model = lw.mechanisms.humanoid(floating_base=True)
    assert (data["name"], data["nq"], data["nv"], data["depth"]) == ("humanoid", 31, 30, 11)
    assert data["mass"] == pytest.approx(70.0)
    assert [body["name"] for body in data["bodies"]] == list(model.body_names)
    assert [body["joint"]["name"] for body in data["bodies"]] == list(model.joint_names)
    assert [frame["name"] for frame in data["frames"]] == list(model.frame_names)
    root, thigh = data["bodies"][0], data["bodies"][model.body_index("left_thigh")]
    assert root["joint"]["lower"] == [None] * 7 and root["parent"] == "world"
    assert thigh["parent"] == "pelvis" and thigh["joint"]["upper"] == [0.6] and thigh["joint"]["effort"] == [250.0]


def test_a_long_chain_lists_parents_and_stops(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["info", "serial_chain:1000", "--most", "5"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:3] == ["body", "parent", "joint"]
    assert lines[3].split()[:3] == ["body2", "body1", "joint2"]
    assert lines[-1].split() == ["...", "and", "995", "more"] and len(lines) == 8


def test_names_with_brackets_are_printed_as_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "odd.urdf"
    path.write_text(URDF.replace("arm", "[red]arm"))
    assert cli.main(["info", str(path)]) == 0
    assert "[red]arm" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "humanod"], "no mechanism named 'humanod'; did you mean 'humanoid'?"),
        (["info", "panad"], "there is no such file, and no robot of that name among the"),
        (["info", "panad"], "(did you mean 'panda')"),
        (["info", "serial_chain"], "missing a required argument: 'n'"),
        (["info", "star:3", "--floating-base"], "has no floating base"),
        (["info", "nowhere.urdf"], "nowhere.urdf"),
        (["info", "no/such/file"], "no/such/file"),
        (["draw", "pendulum", "--out", f"{__file__}/no.png"], __file__),
        (["demo", "--out", f"{__file__}/no"], __file__),
    ],
)
def test_bad_input_gets_one_line_and_2(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and message in printed.err and printed.err.count("\n") == 1


def test_a_broken_file_names_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "broken.urdf"
    path.write_text(URDF.replace('<child link="arm"/>', '<child link="arn"/>'))
    assert cli.main(["info", str(path)]) == 2
    error = capsys.readouterr().err
    assert f"{path}:" in error and "arn" in error and error.count("\n") == 1


def test_no_command_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main([])
    assert stopped.value.code == 2 and "COMMAND" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stopped:
        cli.main(["--version"])
    assert stopped.value.code == 0 and capsys.readouterr().out == f"linkwork {lw.__version__}\n"


def test_a_reader_that_leaves_is_no_error() -> None:
    command = f"{sys.executable} -m linkwork info serial_chain:20000 --json"
    done = subprocess.run(["sh", "-c", f"{command} | head -c 10"], capture_output=True, text=True, check=True)
    assert done.stdout == '{"name": "' and done.stderr == ""
