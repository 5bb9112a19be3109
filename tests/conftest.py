"""Every test that takes ``engine`` runs once in each form in which an algorithm's text can run."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from linkwork.engine.mode import form

FORMS = ("interpreted", "specialised", "rolled")
"""The forms of ``linkwork.engine.mode``."""

# The form is entered around the whole test, which is what the health check about function-scoped fixtures asks about.
settings.register_profile(
    "linkwork",
    deadline=None,
    derandomize=True,
    max_examples=20,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("linkwork")


@pytest.fixture(params=FORMS)
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    with form(request.param):
        yield request.param


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write tests/golden anew")


def pytest_configure(config: pytest.Config) -> None:
    """Compiled code is kept for this run only, by all of its processes; never in the user's cache."""
    if not hasattr(config, "workerinput"):
        os.environ["LINKWORK_CACHE_DIR"] = tempfile.mkdtemp(prefix="linkwork-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ["LINKWORK_CACHE_DIR"], ignore_errors=True)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a text with a file of tests/golden; ``pytest --update-golden`` writes the file instead."""

    def check(name: str, text: str) -> None:
        path = Path(__file__).parent / "golden" / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        assert path.read_text() == text, f"{path} differs; if that is meant: pytest --update-golden"

    return check
