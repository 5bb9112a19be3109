"""Every public callable with a few hostile arguments; ``make fuzz`` runs many more (see ``fuzz.py``)."""

from __future__ import annotations

from pathlib import Path

import pytest

import linkwork as lw
from fuzz import LEFT_OUT, Plan, run, targets


def test_every_public_callable_is_called_or_left_out_for_a_reason() -> None:
    called = {target.name for target in targets()}
    public = {name for name in lw.__all__ if callable(thing := getattr(lw, name)) and not _is_error(thing)}
    assert public - called - LEFT_OUT.keys() == set()
    assert {"Builder.add_body", "Trajectory.__getitem__", "control.Task", "joints.Helical"} <= called
    assert {"control.OperationalSpaceController.torque", "mechanisms.rope", "ChangeOfBasis.any_T1"} <= called


def _is_error(thing: object) -> bool:
    return isinstance(thing, type) and issubclass(thing, BaseException)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs limits of memory")
def test_hostile_arguments_give_a_result_or_an_error_of_linkwork() -> None:
    plan = Plan(20, ["interpreted"])
    report = run(plan, 0, 1500)
    assert not report.findings, report.text(plan)
    assert report.counts["result"] > 120 and report.counts["error"] > 900  # neither everything nor nothing is refused
