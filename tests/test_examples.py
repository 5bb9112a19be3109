"""Every example runs, and the checks at its end hold."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)], capture_output=True, text=True, cwd=tmp_path, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip()


def test_the_readme_s_first_example_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```\n\n    (<Model.*?)\n", text, re.DOTALL)
    assert found
    exec(found[1], {})
    printed, claimed = capsys.readouterr().out.strip(), found[2]
    words, error = claimed.rsplit(" ", 1)
    assert printed.startswith(words + " ")
    # The last digits depend on how NumPy was built; the size of the error does not.
    assert float(printed.rsplit(" ", 1)[1]) < 100 * float(error)


def test_the_readme_s_other_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    ran = 0
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        if "lw.load(" in re.sub(r"#.*", "", block):  # robots that a reader has and this project does not
            continue
        exec(block, names)
        ran += 1
    assert ran == 7
