"""The same rules for numbers, names, signs and arrays in all functions."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.arguments import finite, integer, memory_for, one_or_each, real, several
from linkwork.errors import shown
from linkwork.spatial import Transform

ROD = lw.mechanisms.pendulum()
ARM = lw.mechanisms.double_pendulum()
BOX = lw.mechanisms.free_box()
NOW = ([0.1, 0.2], [0.3, 0.4])
HUGE = 10**400
"""An integer that no float can hold."""


@pytest.fixture(autouse=True)
def interpreted() -> Any:
    with lw.interpreted():
        yield


# Single numbers


class Stubborn:
    def __float__(self) -> float:
        raise RuntimeError("I will not")

    def __repr__(self) -> str:
        raise RuntimeError("nor this")


def kind(value: Any) -> str:
    """The name of a test case: the same in every process."""
    return type(value).__name__


@pytest.mark.parametrize("good", [2, 2.0, np.float32(2), np.int8(2), np.array(2.0), Fraction(2), Decimal(2)], ids=kind)
def test_a_number_is_what_float_takes(good: Any) -> None:
    assert finite("x", good) == 2.0 and type(finite("x", good)) is float


@pytest.mark.parametrize(
    "bad",
    [
        *(None, True, np.True_, "2", b"2", 2j, np.complex64(2), [2.0], np.array([2.0]), np.array("2"), np.array(None)),
        *(np.timedelta64(2, "s"), np.datetime64("2020"), HUGE, -HUGE, float("nan"), float("inf"), np.ma.masked, int),
        *(Decimal("sNaN"), Stubborn()),
    ],
    ids=kind,
)
def test_anything_else_is_none(bad: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not np.isfinite(real(bad))
        for check in (
            finite,
            lambda what, value: several(what, [value], 1),
            lambda what, value: integer(what, value, 0),
        ):
            if not (check is not finite and bad is HUGE):
                with pytest.raises(lw.ArgumentError, match=r"^x must be"):
                    check("x", bad)


def test_endless_numbers_are_counted_to_the_last_that_is_wanted() -> None:
    def endless() -> Any:
        while True:
            yield 1.0

    with pytest.raises(lw.ArgumentError, match=r"x must be 3 number\(s\), not fewer or more than 3"):
        several("x", endless(), 3)
    with pytest.raises(lw.ArgumentError, match="x must be one number or 2, not fewer or more than 2"):
        one_or_each("x", endless(), 2)
    assert several("x", (c for c in (1, 2)), 2) == [1.0, 2.0]
    assert one_or_each("x", 3, 0) == () and one_or_each("x", np.inf, 2) == (np.inf, np.inf)


NUMBERS: dict[str, Callable[[Any], Any]] = {
    "mass": lambda x: lw.Builder().add_body("a", mass=x),
    "com": lambda x: lw.Builder().add_body("a", com=(0.0, x, 0.0)),
    "inertia": lambda x: lw.Builder().add_body("a", inertia=(x, x, x)),
    "armature": lambda x: lw.Builder().add_body("a", joint=lw.joints.Revolute(), armature=x),
    "damping": lambda x: lw.Builder().add_body("a", joint=lw.joints.Revolute(), damping=x),
    "gravity": lambda x: lw.Builder(gravity=(0, 0, x)),
    "gravity of model": lambda x: lw.Model("m", (), (), (0, 0, x)),
    "xyz": lambda x: lw.placement((x, 0, 0)),
    "axis": lambda x: lw.joints.Revolute((x, 0, 1)),
    "pitch": lambda x: lw.joints.Helical("z", x),
    "offset of point": lambda x: lw.Point("tip", (x, 0, 0)),
    "link_length": lambda x: lw.mechanisms.serial_chain(2, link_length=x),
    "kp of the task": lambda x: lw.control.Task("tip", np.eye(4), kp=x),
    "kd of the controller": lambda x: lw.control.PDPlusGravity(ARM, [0.0, 0.0], kd=x),
    "threshold": lambda x: lw.control.OperationalSpaceController(
        ARM, [lw.control.Task(lw.Point("tip", axes="position"), [1, 0, 0])], threshold=x
    ),
    "duration": lambda x: lw.control.MinimumJerk([0.0], [1.0], x),
    "t ": lambda x: lw.control.MinimumJerk([0.0], [1.0], 1.0).at(x),
    "dt": lambda x: lw.rollout(ARM, *NOW, dt=x, steps=1),
    "kp": lambda x: lw.rollout(ARM, *NOW, dt=0.01, steps=1, q_target=NOW[0], kp=x),
    "stabilisation": lambda x: lw.simulate(ARM, *NOW, 0.1, 0.1, stabilisation=x),
    "proximal": lambda x: lw.constrained_dynamics(ARM, *NOW, NOW[0], [lw.Ball("tip")], proximal=x),
    "stabilisation must": lambda x: lw.constrained_dynamics(ARM, *NOW, NOW[0], [lw.Ball("tip")], stabilisation=x),
    "damping must": lambda x: lw.operational_inertia(ARM, NOW[0], ["tip"], damping=x),
    "M ": lambda x: lw.change_of_basis([[x]], S1=[[1.0]]),
}


@pytest.mark.parametrize("bad", [HUGE, "1", b"1", 1j, True, float("nan"), np.ones((3, 3)), Stubborn()], ids=kind)
@pytest.mark.parametrize("what", NUMBERS)
def test_what_is_no_number_is_named_wherever_a_number_is_wanted(what: str, bad: Any) -> None:
    with pytest.raises((lw.ArgumentError, lw.ModelError), match=f"^{what}"):
        NUMBERS[what](bad)


@pytest.mark.parametrize("bad", [0, 0.0, -0.1, np.inf, 1e-200], ids=kind)
def test_a_time_constant_is_positive_and_long_enough(bad: Any) -> None:
    with pytest.raises(lw.ArgumentError, match=r"^stabilisation must be"):
        lw.constrained_dynamics(ARM, *NOW, NOW[0], [lw.Ball("tip", placement=lw.placement((0.1, 0, 0)))], None, bad)


def test_what_equals_a_time_constant_that_is_known_is_none_all_the_same() -> None:
    lw.constrained_dynamics(ARM, *NOW, NOW[0], [lw.PointOnPlane("tip")], stabilisation=1.0)
    for bad in (True, 1 + 0j, Transform("a", "b")):  # type: ignore[arg-type]
        with pytest.raises(lw.ArgumentError, match=r"^stabilisation must be"):
            lw.constrained_dynamics(ARM, *NOW, NOW[0], [lw.PointOnPlane("tip")], stabilisation=bad)  # type: ignore[arg-type]


def test_a_flag_is_true_or_false() -> None:
    calls: dict[str, Callable[[Any], Any]] = {
        "pseudo_inverse": lambda x: lw.operational_inertia(ARM, NOW[0], ["tip"], pseudo_inverse=x),
        "floating_base": lambda x: lw.mechanisms.serial_chain(2, floating_base=x),
        "standing": lambda x: lw.mechanisms.humanoid(standing=x),
        "progress": lambda x: lw.simulate(ARM, *NOW, 0.1, 0.1, progress=x),
    }
    for name, call in calls.items():
        for bad in ("no", np.array([True, False]), 2):
            with pytest.raises(lw.ArgumentError, match=f"^{name} must be True or False"):
                call(bad)


def test_more_links_than_memory_holds_are_refused_at_once() -> None:
    for call in (lw.mechanisms.serial_chain, lw.mechanisms.star, lw.mechanisms.rope, lw.mechanisms.binary_tree):
        with pytest.raises(lw.ArgumentError, match="must be an integer of at most"):
            call(10**12)


# Arrays


def masked(values: Any) -> Any:
    return np.ma.array(values, mask=[True] + [False] * (len(values) - 1))


def test_a_mask_of_motors_that_is_masked_itself_is_none() -> None:
    with warnings.catch_warnings(), pytest.raises(lw.ArgumentError, match=r"^actuated must be a mask of 2"):
        warnings.simplefilter("error")
        lw.constrained_inverse_dynamics(ARM, *NOW, NOW[0], [lw.Ball("tip")], actuated=[np.ma.masked, True])


def test_masked_numbers_are_refused_and_a_mask_that_hides_nothing_is_fine() -> None:
    calls: dict[str, Callable[[Any], Any]] = {
        "q": lambda x: lw.mass_matrix(ARM, x),
        "damping": lambda x: lw.rollout(ARM, *NOW, dt=0.01, steps=1, damping=x),
        "com": lambda x: lw.Builder().add_body("a", com=[*x, 0.0] if isinstance(x, list) else x[[0, 1, 1]]),
        "value": lambda x: lw.control.Constant(x),
        "kp": lambda x: lw.control.PDPlusGravity(ARM, NOW[0], kp=x),
        "v": lambda x: lw.change_of_basis(np.eye(2), S1=[[1.0], [0.0]]).constrained(x),
    }
    for name, call in calls.items():
        for bad in (masked([0.1, 0.2]), [np.ma.masked, 0.2]):
            with warnings.catch_warnings(), pytest.raises((lw.ArgumentError, lw.ModelError), match=f"^{name} "):
                warnings.simplefilter("error")
                call(bad)
        call(np.ma.array([0.1, 0.2]))
    with pytest.raises(lw.ArgumentError, match=r"^q has masked numbers; fill them"):
        lw.mass_matrix(ARM, masked([0.1, 0.2]))


def test_compiled_code_does_not_look_behind_a_mask() -> None:
    """One state of plain arrays goes to machine code by its buffer, and a masked array has one."""
    q = np.array([0.3])
    with lw.form("auto"):
        bits = lw.mass_matrix(ROD, q).tobytes()
    assert lw.mass_matrix(ROD, q).tobytes() == bits == lw.mass_matrix(ROD, np.ma.array(q)).tobytes()
    with pytest.raises(lw.ArgumentError, match=r"^q has masked numbers"):
        lw.mass_matrix(ROD, masked([0.3]))


def test_a_batch_beyond_memory_says_what_it_takes() -> None:
    many = np.broadcast_to(np.array([0.1, 0.2]), (10**15, 2))
    with pytest.raises(lw.ArgumentError, match=r"not enough memory for the results of mass_matrix.*3.2e\+07 GB"):
        lw.mass_matrix(ARM, many)
    with pytest.raises(lw.ArgumentError, match=r"not enough memory for states of shape \(1000000000000000, 4\)"):
        lw.random_state(ARM, 0, shape=10**15)
    with pytest.raises(lw.ArgumentError, match="not enough memory for states of shape"):
        lw.random_state(ARM, 0, shape=10**5000)  # of more digits than Python prints
    law = lw.control.ComputedTorque(ARM, [0.0, 0.0], kp=1.0)
    times = np.broadcast_to(0.0, (10**9, 1))
    with pytest.raises(lw.ArgumentError, match=r"^a batch of \(10{9}, 10{9}\) states is larger than any array can be"):
        law.torques(times, np.broadcast_to([0.1, 0.2], (10**9, 2)), [0.0, 0.0])
    message = r"not enough memory for x of shape \(3,\), which take 2.4e-08 GB"
    with pytest.raises(lw.ArgumentError, match=message), memory_for("x", (3,)):
        raise MemoryError


# Names


AS_NAME: dict[str, Callable[[Any], Any]] = {
    "method": lambda x: lw.forward_dynamics(ARM, *NOW, NOW[0], method=x),
    "method ": lambda x: lw.operational_inertia_inverse(ARM, NOW[0], ["tip"], method=x),
    "constraints": lambda x: lw.simulate(ARM, *NOW, 0.1, 0.1, constraints=[lw.Ball("tip")], method=x),
    "reference": lambda x: lw.jacobian(ARM, NOW[0], ["tip"], x),
    "joint_order": lambda x: lw.load("none.urdf", joint_order=x),
    "fixed_joints": lambda x: lw.load("none.urdf", fixed_joints=x),
    "diverged": lambda x: lw.rollout(ARM, *NOW, dt=0.01, steps=1, diverged=x),
    "integrator": lambda x: lw.simulate(ARM, *NOW, 0.1, 0.1, integrator=x),
    "integrator ": lambda x: lw.linearise(ARM, *NOW, dt=0.1, integrator=x),
    "friction_law": lambda x: lw.linearise(ARM, *NOW, dt=0.1, friction_law=x),
    " method": lambda x: lw.simulate(ARM, *NOW, 0.1, 0.1, method=x),
    "limits": lambda x: lw.control.ComputedTorque(ARM, NOW[0], limits=x),
    "of": lambda x: ARM.permutation(ARM.joint_names, x),
    "axes": lambda x: lw.Point("tip", axes=x),
    "model": lambda x: ARM.frame(x),
    "frames": lambda x: lw.jacobian(ARM, NOW[0], x),
    "the name of a mechanism": lambda x: lw.Builder(x),
    "the name of a model": lambda x: lw.Model(x, (), ()),
}


class NoHash:
    def __hash__(self) -> int:
        raise RuntimeError("I will not")


@pytest.mark.parametrize("bad", [np.array(["auto", "auto"]), np.array("auto"), NoHash(), HUGE, b"auto"], ids=kind)
@pytest.mark.parametrize("what", AS_NAME)
def test_what_is_no_text_is_no_name(what: str, bad: Any) -> None:
    with pytest.raises((lw.ArgumentError, lw.ModelError), match=f"^{what.strip()} ?"):
        AS_NAME[what](bad)


@pytest.mark.parametrize("bad", ["seed", -1, 1.5, True, [], [1, -1], np.zeros((2, 2), int), np.random.Generator, "0"])
def test_a_seed_is_an_integer(bad: Any) -> None:
    with pytest.raises(lw.ArgumentError, match=r"^rng must be a NumPy generator or an integer"):
        lw.random_state(ARM, bad)


@pytest.mark.parametrize("name", ["kp", "kd"])
def test_a_gain_of_a_linearised_step_is_a_float(name: str) -> None:
    given = {"q_target": NOW[0]} if name == "kp" else {}
    with pytest.raises(lw.ArgumentError, match=rf"^{name} "):
        lw.linearise(ARM, *NOW, dt=0.1, **given, **{name: 10**400})


def test_numpys_own_seeds_stay() -> None:
    for good in (3, np.int64(3), 2**100, [1, 2], np.array([1, 2]), np.random.SeedSequence(3), np.random.PCG64(3)):
        expected = np.random.default_rng(np.random.PCG64(3) if isinstance(good, np.random.PCG64) else good)
        assert (lw.random_state(ARM, good)[0] == lw.random_state(ARM, expected)[0]).all()


def test_limits_too_wide_for_a_float_are_no_limits() -> None:
    builder = lw.Builder()
    builder.add_body("a", joint=lw.joints.Revolute(), lower=-1e308, upper=1e308, mass=1.0)
    assert abs(lw.random_state(builder.build(), 0)[0][0]) < 4.0


@pytest.mark.parametrize("bad", ["", "\0", "a\0b", 3, None, b"", "a" * 5000, ["a"]], ids=kind)
def test_a_path_is_one_of_a_file(bad: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    motion = lw.simulate(ARM, *NOW, 0.1, 0.1)
    calls: tuple[Callable[[], Any], ...] = (
        lambda: motion.save(bad),
        lambda: lw.Trajectory.load(bad, ARM),
        lambda: lw.animate(motion, bad),
    )
    for call in calls:
        with pytest.raises(lw.ArgumentError):
            call()
    assert list(tmp_path.iterdir()) == []


# Constraints and placements


def test_a_constraint_is_checked_when_it_is_made() -> None:
    with pytest.raises(lw.ArgumentError, match=r"a constraint holds frames by name or as lw.Point objects, not 3"):
        lw.Weld(3)
    for bad in ("here", np.eye(3), 2.0 * np.eye(4), Transform("x", 3)):
        with pytest.raises(lw.ModelError, match="placement of a constraint of 'tip'"):
            lw.Ball("tip", placement=bad)
    assert lw.Weld("tip", placement=np.eye(4)) == lw.Weld("tip")
    for make in (lambda x: lw.Hinge("tip", axis=x), lambda x: lw.PointOnPlane("tip", normal=x)):
        with pytest.raises(lw.ModelError, match="axis must be"):
            make((0.0, 0.0, 0.0))
    for none in ("tip", iter([lw.Weld("tip")]), None):  # one alone is a list of one: test_queries
        with pytest.raises(lw.ArgumentError, match=r"constraints must be a list of lw.Weld"):
            lw.constrained_dynamics(BOX, lw.neutral(BOX), [0.0] * 6, [0.0] * 6, none)


def test_a_message_is_short_and_needs_no_repr() -> None:
    assert shown(Stubborn()) == "<Stubborn>" and shown(10**5000) == "<int>" and len(shown("a" * 10**6)) == 300
    with pytest.raises(lw.UnknownNameError, match=re.escape("has no frame named <int>")):
        ARM.frame(10**5000)


def test_numbers_at_the_edge_of_floats_are_told_without_a_warning_of_numpys() -> None:
    """Warnings are errors here: overflow is rejected, or known to be harmless, before NumPy warns of it."""
    with pytest.raises(lw.ArgumentError, match="2 steps of dt = 1e"):
        lw.rollout(ARM, *NOW, dt=1e308, steps=2)
    with pytest.raises(lw.ArgumentError, match="not enough memory"):
        lw.random_state(ARM, 0, HUGE)
    with pytest.raises(lw.ArgumentError, match="steps"):
        lw.rollout(ARM, *NOW, dt=0.01, steps=10**5000)
    pinned = [lw.Ball(ARM.frame_names[-1])]
    slow, never = (lw.constrained_dynamics(ARM, *NOW, [0.0, 0.0], pinned, None, t, 1e-6) for t in (1e150, 1e200))
    assert np.array_equal(slow[0], never[0])
    heavy = lw.Builder()
    heavy.add_body("far", joint=lw.joints.Free(), mass=1.0, com=(1e308, 0.0, 0.0))
    with pytest.raises(lw.SingularError):
        lw.forward_dynamics(heavy.build(), lw.neutral(BOX), np.zeros(6), np.zeros(6))


def test_a_masked_number_in_a_list_is_refused_by_compiled_code_too() -> None:
    with lw.form("auto"):
        lw.energy(ROD, [0.1], [0.2])
        for _ in range(2):
            with pytest.raises(lw.ArgumentError, match="q has masked numbers"):
                lw.energy(ROD, [np.ma.masked], [0.2])


# Sequences


PAGES = (memoryview(np.zeros((2, 2))), memoryview(np.zeros(2)), memoryview(np.array(0.0)), memoryview(b"ab"), b"ab")
OBJECTS: dict[str, Callable[[Any], Any]] = {
    "constraints": lambda x: lw.constrained_dynamics(ARM, *NOW, NOW[0], x),
    "constraints, linearised": lambda x: lw.constrained_dynamics_derivatives(ARM, *NOW, NOW[0], x),
    "contacts": lambda x: lw.contact_dynamics(ARM, *NOW, NOW[0], x, dt=0.01),
    "wrt": lambda x: lw.inverse_dynamics_vjp(ARM, *NOW, NOW[0], NOW[0], wrt=x),
    "frames": lambda x: lw.jacobian(ARM, NOW[0], x),
    "names": lambda x: ARM.permutation(x),
    "joint": lambda x: lw.mechanisms.serial_chain(2, x),
    "joints": lambda x: lw.Actuator("motor", x),
    "gear": lambda x: lw.Actuator("motor", {"joint1": x}),
    "meshes": lambda x: lw.Builder().build(meshes=x),
    "constraints, built": lambda x: lw.Builder().build(constraints=x),
    "actuators": lambda x: lw.Builder().build(actuators=x),
    "levels": lambda x: lw.control.OperationalSpaceController(ARM, x),
    "welds": lambda x: lw.control.HeldObject("box", x, np.eye(4)),
    "roots": lambda x: lw.save_html(lw.simulate(ARM, *NOW, 0.02, 0.01), "motion.html", roots=x),
    "trails": lambda x: lw.draw(ARM, NOW[0], trails=x),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_memory_is_no_list_of_objects(name: str) -> None:
    """Its items are numbers, which cannot even be read one by one if it has several dimensions."""
    for page in PAGES:
        with pytest.raises((lw.ArgumentError, lw.ModelError), match=name.partition(",")[0]):
            OBJECTS[name](page)


def test_masked_numbers_in_lists_of_lists_are_refused() -> None:
    hidden = masked([0.1, 0.2])
    for bad in ([hidden, [0.1, 0.2]], [[0.1, 0.2], [0.1, np.ma.masked]], [[[hidden]]], (list(hidden), [0.1, 0.2])):
        with pytest.raises(lw.ArgumentError, match=r"^q has masked numbers"):
            lw.mass_matrix(ARM, bad)  # type: ignore[arg-type]
    assert lw.mass_matrix(ARM, [np.ma.array([0.1, 0.2]), [0.1, 0.2]]).shape == (2, 2, 2)  # type: ignore[list-item]


# The environment


SETTINGS = """
import warnings
import linkwork as lw
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    for _ in range(2):
        lw.mass_matrix(lw.mechanisms.pendulum(), [0.1])
    lw.simulate(lw.mechanisms.pendulum(), [0.1], [0.0], 0.01, 0.001)
print(*sorted(str(each.message) for each in said), sep="\\n")
"""


def test_a_variable_of_the_environment_with_an_unknown_value_is_ignored_with_a_warning() -> None:
    """One warning each; an empty value is none."""
    values = {
        "LINKWORK_BUILTIN": ("off", "'0' or '1'"),
        "LINKWORK_ENGINE": ("interpreted", "'interpreter'"),
        "LINKWORK_LANES": ("3", "'2', '4' or '8'"),
        "LINKWORK_PROGRESS": ("no", "'0' or '1'"),
    }
    for given in (dict.fromkeys(values, ""), {name: value for name, (value, _) in values.items()}):
        command = [sys.executable, "-c", SETTINGS]
        done = subprocess.run(command, env={**os.environ, **given}, capture_output=True, text=True, check=True)
        said = done.stdout.split("\n")[:-1]
        for (name, (value, known)), words in zip(values.items(), said if given["LINKWORK_LANES"] else (), strict=False):
            assert re.match(f"{name} in the environment is '{value}', which .* be {known}, or", words), words
        assert len(said) == len(values) if given["LINKWORK_LANES"] else said == [""]
