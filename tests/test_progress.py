"""Progress is shown only to a user, after a while, one bar at a time, and leaves nothing behind."""

from __future__ import annotations

import multiprocessing.process
import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor
from time import sleep

import numpy as np
import pytest

import linkwork as lw
from linkwork import cli, progress
from linkwork.engine.code import cache, loader
from linkwork.progress import Bar, saying, waiting


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stderr is a terminal, as far as rich and linkwork know, and the bar appears at once."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("LINKWORK_PROGRESS", raising=False)
    monkeypatch.setattr(progress, "_terminal", lambda: True)
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    monkeypatch.setattr(progress, "_PAUSE", 0.0)


def test_who_sees_a_bar(terminal: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Bar.wanted() and Bar.wanted(True) and not Bar.wanted(False)
    monkeypatch.setenv("LINKWORK_PROGRESS", "0")
    assert not Bar.wanted() and Bar.wanted(True)
    monkeypatch.setenv("LINKWORK_PROGRESS", "1")
    monkeypatch.setattr(progress, "_terminal", lambda: False)
    assert not Bar.wanted()
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    assert Bar.wanted()
    monkeypatch.setattr(multiprocessing.process, "parent_process", lambda: object())  # in a worker
    assert not Bar.wanted()


def test_bars_say_what_is_done_one_at_a_time(terminal: None, capsys: pytest.CaptureFixture[str]) -> None:
    with saying() as say:
        say("outer work")
        with waiting("inner work"):
            sleep(0.05)
        say("more [of] it")
    shown = capsys.readouterr().err
    assert "outer work" in shown and "more [of] it" in shown and "inner work" not in shown
    with waiting("inner work"):
        for _ in range(6000):  # its thread comes when it comes; a minute is long, even on a busy machine
            sleep(0.01)
            if progress._only.locked():
                break
    assert "inner work" in capsys.readouterr().err and not progress._only.locked()


def test_an_interruption_removes_the_bar(terminal: None, capsys: pytest.CaptureFixture[str]) -> None:
    for show in (saying, lambda: waiting("work")):
        with pytest.raises(KeyboardInterrupt), show() as say:
            if callable(say):
                say("work")
            raise KeyboardInterrupt
    assert not progress._only.locked()
    with saying() as say:
        say("again")
    assert "again" in capsys.readouterr().err


def test_an_interruption_before_the_work_begins_leaves_no_bar(terminal: None, monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Timer.start

    def interrupted(timer: threading.Timer) -> None:
        start(timer)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Timer, "start", interrupted)
    with pytest.raises(KeyboardInterrupt), waiting("work"):
        pass
    monkeypatch.undo()
    sleep(0.05)
    assert not progress._only.locked()


def test_rollouts_over_workers_and_commands_show_progress(
    terminal: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pendulum = lw.mechanisms.pendulum()
    with ThreadPoolExecutor(1) as executor:
        lw.rollout(pendulum, np.zeros((4, 1)), [0.0], dt=0.01, steps=2, executor=executor, chunk=2)
    assert "rolling out pendulum" in capsys.readouterr().err
    monkeypatch.setattr("linkwork.cli.bench.measure", lambda *args: args[-1]("arm: something") or {})
    monkeypatch.setattr("linkwork.cli.bench.print_report", lambda *args: None)
    assert cli.main(["bench", "pendulum", "--quick"]) == 0
    assert "measuring arm: something" in capsys.readouterr().err
    monkeypatch.setenv("LINKWORK_PROGRESS", "0")
    assert cli.main(["bench", "pendulum", "--quick"]) == 0
    assert capsys.readouterr().err == ""


def test_a_compilation_shows_that_it_goes_on_and_leaves_nothing_half_written(
    terminal: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(Bar, "show", lambda self, by_itself=False: seen.append(self._what))
    monkeypatch.setattr(cache, "read", lambda key: None)
    monkeypatch.setattr(cache, "write", lambda key, image: seen.append("written"))

    def interrupted() -> str:
        for _ in range(6000):
            sleep(0.01)
            if seen:
                break
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        loader.load("no such key", interrupted, ("", ""), [])
    assert seen == ["compiling, once for this model and machine"]
