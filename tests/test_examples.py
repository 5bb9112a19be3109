"""Every example runs, and the checks at its end hold."""

from __future__ import annotations

import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SMALLER = {
    "chain_mail": ("COLUMNS, ROWS, STEPS = 11, 10, 1000", "COLUMNS, ROWS, STEPS = 8, 6, 200"),
    "contact": ("STEP, STEPS = 1e-3, 1500", "STEP, STEPS = 1e-3, 300"),
    "controller_in_c": ("1e-3, 10_000, 10", "1e-3, 2000, 10"),
    "falling_chain": ("LINKS, LENGTH, MASS = 100, 2.0, 2.0", "LINKS, LENGTH, MASS = 52, 1.04, 1.04"),
    "identify_panda": ("SAMPLES, NOISE, PULL = 400", "SAMPLES, NOISE, PULL = 120"),
    "lqr": (
        "    model = builder.build()\n    return model, balanced",
        "    arms = [f'joint_{side}_{part}' for side in ('left', 'right') for part in ('shoulder', 'arm')]\n"
        "    model = builder.build().locked(arms)\n    return model, balanced",
    ),
    "mppi_cart_pole": ("SAMPLES, HORIZON = 4096", "SAMPLES, HORIZON = 512"),
    "mppi_panda": ("SAMPLES, HORIZON, KNOTS = 4096", "SAMPLES, HORIZON, KNOTS = 1024"),
    "own_law": (
        "MODEL = lw.mechanisms.humanoid()",
        "MODEL = lw.mechanisms.humanoid()\n"
        "MODEL = MODEL.locked([name for name in MODEL.joint_names if name.startswith('right')])",
    ),
    "random_arms": ("ARMS, STEPS, EVERY, DT = 10_000", "ARMS, STEPS, EVERY, DT = 1000"),
    "rope": ("LINKS, LENGTH, SWING = 1000", "LINKS, LENGTH, SWING = 400"),
    "ten_thousand_cheetahs": ("COUNT, STEPS, REST, HOLD, DT = 10_000", "COUNT, STEPS, REST, HOLD, DT = 2000"),
}
"""Sizes of examples that their checks do not need: the text in the example, and its replacement in a test. Everything
else is run unchanged; the site runs all examples with their own sizes.
"""


def asked(path: Path) -> str:
    """The text of an example, with the sizes of a test."""
    text = path.read_text(encoding="utf-8")
    if path.stem in SMALLER:
        there, smaller = SMALLER[path.stem]
        assert text.count(there) == 1, f"{path.name} has other sizes than SMALLER says"
        text = text.replace(there, smaller)
    return text


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process, which has imported everything already."""
    (tmp_path / path.name).write_text(asked(path), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [path.name])
    with warnings.catch_warnings(), pytest.raises(SystemExit) as done:
        warnings.simplefilter("error")
        runpy.run_path(path.name, run_name="__main__")
    printed = capsys.readouterr().out
    assert done.value.code == 0, printed
    assert printed.strip()


def test_an_example_in_a_process_of_its_own(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / "two_arms_on_a_torso.py")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip()


def test_smaller_sizes_are_of_examples() -> None:
    assert SMALLER.keys() <= {path.stem for path in EXAMPLES}
