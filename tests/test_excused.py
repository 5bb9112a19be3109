"""Errors that an argument's own code raises are reported as errors of the argument; those of anything else come out."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import excuse

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="signals as on POSIX")
ARM = lw.mechanisms.double_pendulum()
NOW = ([0.1, 0.2], [0.3, 0.4])


class TimesUp(Exception):
    """What a program's signal handler raises."""


class Handler:
    def __call__(self, *_: Any) -> None:
        raise TimesUp

    def method(self, *_: Any) -> None:
        raise TimesUp


HANDLERS = {"function": lambda *_: Handler()(), "object": Handler(), "method": Handler().method}
HANDLERS["partial"] = partial(HANDLERS["function"])


@pytest.fixture(params=HANDLERS)
def alarmed(request: pytest.FixtureRequest) -> Iterator[None]:
    before = signal.signal(signal.SIGUSR1, HANDLERS[request.param])
    yield
    signal.signal(signal.SIGUSR1, before)


def _ring(*_: Any, **__: Any) -> Any:
    signal.raise_signal(signal.SIGUSR1)
    raise AssertionError("the handler has raised nothing")


class Interrupted:
    """Whatever is made of it takes so long that a signal comes."""

    __array__ = __float__ = __fspath__ = __iter__ = __hash__ = __len__ = _ring


def _traced(x: Any) -> Any:
    return _ring()


def _not_finite(x: Any) -> Any:
    if type(x) is np.ndarray:  # called once more, to explain
        _ring()
    return 1.0 / x


def _explained() -> Any:
    return lw.compile(_not_finite, x=1)([0.0])


CALLS: dict[str, Callable[[], Any]] = {
    "an array": lambda: lw.mass_matrix(ARM, Interrupted()),  # type: ignore[arg-type]
    "in a list": lambda: lw.mass_matrix(ARM, [0.1, Interrupted()]),  # type: ignore[list-item]
    "a number": lambda: lw.rollout(ARM, *NOW, dt=Interrupted(), steps=1),  # type: ignore[arg-type]
    "numbers": lambda: lw.placement(Interrupted()),  # type: ignore[arg-type]
    "a path": lambda: lw.load(Interrupted()),  # type: ignore[arg-type]
    "frames": lambda: lw.jacobian(ARM, NOW[0], Interrupted()),  # type: ignore[arg-type]
    "a mask": lambda: lw.constrained_inverse_dynamics(ARM, *NOW, NOW[0], [lw.Ball("tip")], actuated=Interrupted()),  # type: ignore[arg-type]
    "an actuator": lambda: lw.Actuator("motor", (Interrupted(),)),  # type: ignore[arg-type]
    "a trace": lambda: lw.compile(_traced, x=1),
    "an explanation": _explained,
}


@pytest.mark.usefixtures("alarmed")
@pytest.mark.parametrize("name", CALLS)
def test_what_a_signal_handler_raises_is_no_error_of_an_argument(name: str) -> None:
    with pytest.raises(TimesUp):
        CALLS[name]()


class Once:
    """A choice that raises an error when it is first hashed."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error

    def __hash__(self) -> int:
        error, self.error = self.error, None
        if error is not None:
            raise error
        return _ring()


@pytest.mark.usefixtures("alarmed", "builtins")
@pytest.mark.parametrize("error", [KeyboardInterrupt(), None], ids=["Ctrl-C", "signal"])
def test_what_interrupts_the_search_for_code_comes_out(error: BaseException | None) -> None:
    """Items of the key by which a call's code is recalled may be hashed by the caller's own code."""
    for _ in range(3):
        lw.jacobian(ARM, np.array(NOW[0]), ["tip"])
        lw.constrained_dynamics(ARM, *np.array([*NOW, NOW[0]]), [lw.PointOnPlane("tip", normal="x")])
    wanted = TimesUp if error is None else KeyboardInterrupt
    choice: Any = Once(error)
    with pytest.raises(wanted):
        lw.jacobian(ARM, np.array(NOW[0]), choice)
    choice.error = error
    with pytest.raises(wanted):
        lw.constrained_dynamics(
            ARM, *np.array([*NOW, NOW[0]]), [lw.PointOnPlane("tip", normal="x")], stabilisation=choice
        )


def test_errors_of_the_argument_itself_are_excused() -> None:
    try:
        raise RuntimeError("I will not")
    except RuntimeError as error:
        excuse(error)
    with pytest.raises(SystemExit):
        excuse(SystemExit())
    with pytest.raises(lw.ArgumentError, match="frames must hold"):
        lw.jacobian(ARM, NOW[0], [{}])  # type: ignore[list-item]
