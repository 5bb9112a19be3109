"""``benchmarks/cliffs.py`` has a case for each public function that computes arrays."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).resolve().parent.parent / "benchmarks" / "cliffs.py"


@pytest.fixture(scope="module")
def cliffs() -> Any:
    spec = importlib.util.spec_from_file_location("cliffs", FILE)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["cliffs"] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def test_every_public_function_that_computes_arrays_has_a_case(cliffs: Any) -> None:
    assert cliffs.missing() == set()
