"""The demonstration: it runs, its numbers are right, and it reports when they are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import cli
from linkwork_lab import demo


def test_the_humanoid_puts_the_box_on_the_floor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.main(["demo", "--quick", "--out", str(tmp_path / "new")]) == 0
    printed = capsys.readouterr().out
    assert printed.count("\nok: ") == len(demo.checks(_numbers(tmp_path))) and "FAILED" not in printed
    assert sorted(file.name for file in (tmp_path / "new").iterdir()) == [
        "curves.png",
        "motion.html",
        "sequence.png",
        "summary.json",
    ]
    assert all(file.stat().st_size > 10_000 for file in (tmp_path / "new").iterdir())
    curves = json.loads((tmp_path / "new" / "summary.json").read_text())["curves"]
    bottom = np.array(curves["position"])[:, 2] - 0.13
    assert bottom[0] > 0.8 and abs(bottom[-1]) < 1e-4 and bottom.min() > -1e-4  # on the floor, never below it
    com = np.array(curves["centre_of_mass"])
    assert (abs(com[:, 0] - 0.06) < 0.13).all()  # over the foot, from heel to toe
    assert abs(np.array(curves["posture"])).max() > 1.0

    data = {"numbers": _numbers(tmp_path) | {"coupling": 1e-3}, "curves": curves}
    monkeypatch.setattr(demo, "measure", lambda scene, settings: (None, data))
    monkeypatch.setattr(demo, "draw", lambda *_, **__: [])
    assert cli.main(["demo", "--quick", "--out", str(tmp_path)]) == 1
    assert "FAILED: posture motion does not accelerate the hands" in capsys.readouterr().out


def test_half_a_motion_is_no_experiment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt  # as Ctrl-C does

    monkeypatch.setattr(lw.control.OperationalSpaceController, "torque", stopped)
    assert cli.main(["demo", "--quick", "--out", str(tmp_path)]) == 130
    assert capsys.readouterr().err.endswith("linkwork: interrupted\n") and not list(tmp_path.iterdir())


def test_pages_have_the_numbers_of_the_data() -> None:
    docs = Path(__file__).parents[1] / "docs"
    numbers = json.loads((docs / "data" / "demo.json").read_text(encoding="utf-8"))["numbers"]
    rate, batch = (f"{round(numbers[name], -3):,.0f}" for name in ("rate", "batch_rate"))
    control, inertia = ((docs / name).read_text(encoding="utf-8") for name in ("control.md", "operational-inertia.md"))
    assert f"| {rate} Hz | 300 Hz |" in control and f"| {batch} states a second |" in control
    assert f"runs at {rate} Hz" in inertia
    faster = numbers["simulated_seconds"] / numbers["simulation_seconds"]
    for said in (
        f"which leaves\n{1e6 * numbers['position_error']:.0f} µm",
        f"keeps the box within {1e3 * numbers['sampled_position_error']:.1g} mm",
        f"as simulated, by at most {numbers['coupling']:.1e} m/s²",
        f"Without the null-space projection they would change them by {numbers['coupling_unprojected']:.3g} m/s²",
        f"| {faster:.0f} times as fast as real time |",
    ):
        assert said in control, said


def _numbers(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "new" / "summary.json").read_text())["numbers"])


def test_a_standing_humanoid_is_the_same_seen_from_its_foot() -> None:
    hanging, standing = lw.mechanisms.humanoid(), lw.mechanisms.humanoid(standing=True)
    rng = np.random.default_rng(0)
    q = rng.normal(size=24)
    at = [standing.v_start[standing.joint_index(name)] for name in hanging.joint_names]
    q_standing = np.zeros(24)
    q_standing[at] = q
    frames = ["left_hand", "right_hand", "head_top", "right_sole", "pelvis", "left_foot", "left_sole"]
    seen = [lw.forward_kinematics(m, x, frames) for m, x in ((hanging, q), (standing, q_standing))]
    from_foot = [np.linalg.inv(poses[-1]) @ poses for poses in seen]
    assert abs(from_foot[0] - from_foot[1]).max() < 1e-14
    assert np.array_equal(seen[1][-1], lw.forward_kinematics(standing, 0 * q, ["left_sole"])[0])
    limits = [(m.lower_limit, m.upper_limit, m.effort_limit) for m in (hanging, standing)]
    for one, other in zip(*limits, strict=True):
        assert np.array_equal(one, other[at])
    # The same masses in the same places: the pelvis and the left foot, which do not move in one of them, included.
    floating = lw.mechanisms.humanoid(floating_base=True)
    assert standing.mass == pytest.approx(70.0) and floating.mass == pytest.approx(70.0)
    whole = [lw.centre_of_mass(floating, lw.neutral(floating)), lw.centre_of_mass(standing, np.zeros(24))]
    assert abs(whole[0] - whole[1]).max() < 1e-14
    with pytest.raises(lw.ArgumentError, match="cannot both float"):
        lw.mechanisms.humanoid(floating_base=True, standing=True)
