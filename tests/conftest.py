"""Every test that takes ``engine`` runs once in each form in which an algorithm's text can run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from linkwork.engine.mode import form

FORMS = ("interpreted",)
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
