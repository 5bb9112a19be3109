"""``benchmarks/planted_faults.py`` can plant each of its faults; the script itself tells whether they are seen."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = {
    *("spatial", "joints", "model", "formats", "algorithms", "engine", "compiled", "dynamics", "simulation"),
    *("control", "viewer", "exports", "bases.py", "batches.py"),
}


@pytest.fixture(scope="module")
def script() -> Any:
    spec = importlib.util.spec_from_file_location("planted_faults", ROOT / "benchmarks" / "planted_faults.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_fault_has_its_place_and_its_tests(script: Any) -> None:
    assert len(script.FAULTS) >= 20 and {fault.module.partition("/")[0] for fault in script.FAULTS} == ROOMS
    for fault in script.FAULTS:
        source = (ROOT / "src" / "linkwork" / fault.module).read_text(encoding="utf-8")
        assert source.count(fault.right) == 1 and fault.wrong not in ("", fault.right), fault.module
        for name in fault.tests.split():
            file, _, test = name.partition("::")
            text = (ROOT / "tests" / f"test_{file}.py").read_text(encoding="utf-8")
            assert f"def {test}(" in text if test else text, name


def test_a_fault_is_planted_in_a_copy(script: Any, tmp_path: Path) -> None:
    (tmp_path / "src" / "linkwork").mkdir(parents=True)
    module = tmp_path / "src" / "linkwork" / "rates.py"
    module.write_text("a + b\n")
    script.planted(script.Fault("rates.py", "a + b", "a - b", "rates"), tmp_path)
    assert module.read_text() == "a - b\n"
    with pytest.raises(AssertionError, match=r"rates.py has 'a \+ b' 0 times"):
        script.planted(script.Fault("rates.py", "a + b", "a - b", "rates"), tmp_path)
