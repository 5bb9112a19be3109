"""Robots by name."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

import linkwork as lw
from linkwork.cli import main
from linkwork.formats import robots
from robots import ROBOTS, robot

PENDULUM = """<robot name="p"><link name="a"/><link name="b"/>
  <joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>"""


def test_an_installed_robot_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path / "none"))
    assert lw.load("panda") == lw.load(robot("panda.urdf"))
    names = [one.name for one in robots.robots()]
    assert len(names) == len(set(names)) == len(ROBOTS) - 1  # one is a shell without links
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LinkworkWarning)
        assert lw.load("ur5", floating_base=True).nv == lw.load("ur5_robot").nv + 6 == lw.load("UR5").nv + 6
        assert lw.load("anymal_b").nv == lw.load("anymal_c_simple_description").nv == 12
    with pytest.raises(lw.FormatError, match=r"g1: .*several such robots: 'g1_29dof_rev_1_0', 'g1_29dof_with_hand_"):
        lw.load("g1")
    with pytest.raises(lw.FormatError, match=r"pnda: there is no such file, and no robot .*did you mean 'panda'") as e:
        lw.load("pnda")
    assert "pip install example-robot-data" in str(e.value) and "`linkwork robots`" in str(e.value)
    with pytest.raises(lw.FormatError, match="cannot read the file: No such file"):
        lw.load("panda.urdf")


def test_files_that_were_fetched_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(robots, "_example_folders", list)
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path / "none"))
    with pytest.raises(lw.FormatError, match="no robots to be loaded by name: pip install example-robot-data"):
        lw.load("panda")
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path))
    for path, text in (
        ("some_ros/robots/arm_description/urdf/arm.urdf", PENDULUM),
        ("menagerie/some_arm/arm.xml", "<mujoco><worldbody/></mujoco>"),
        ("menagerie/some_arm/scene.xml", "<mujoco><worldbody/></mujoco>"),
        ("menagerie/package.xml", "<package/>"),
        (".git/hidden.urdf", PENDULUM),
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert [(one.name, one.source) for one in robots.robots()] == [
        ("arm", "robot_descriptions"),
        ("arm_mj", "robot_descriptions"),
    ]
    assert lw.load("arm_description").name == "p" and lw.load("arm_mj_description").nv == 0


def test_the_command_lists_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path))
    assert main(["robots"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["robot", "of", "file"]
    assert ["panda", "example-robot-data", "panda.urdf"] in [line.split() for line in lines]
    assert main(["robots", "--json"]) == 0
    listed = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    assert listed["baxter"]["source"] == "example-robot-data" and Path(listed["baxter"]["path"]).is_file()
    assert main(["info", "panda"]) == 0
    assert "panda_finger_joint1" in capsys.readouterr().out
    monkeypatch.setattr(robots, "_example_folders", list)
    assert main(["robots"]) == 0
    assert capsys.readouterr().out.startswith("There are none: pip install example-robot-data")
    assert main(["info", "panda"]) == 2
