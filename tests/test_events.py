"""Constraints that come and go within a motion, against a dense reference and laws of mechanics."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from strategies import close

Array = Any

DT = 2e-3


@cache
def arm() -> lw.Model:
    """Three hinges, not in one plane, under gravity, with some damping."""
    builder = lw.Builder("arm of three")
    last, place = "world", lw.placement((0.0, 0.0, 0.0))
    for k, axis in enumerate(("y", (0.6, 0.8, 0.0), "y")):
        last = builder.add_body(
            f"link{k}", last, lw.joints.Revolute(axis), place, mass=1.0 + 0.3 * k, com=(0.2, 0.01, 0.02),
            inertia=(0.01, 0.02, 0.015), damping=0.05 * k,
        )  # fmt: skip
        place = lw.placement((0.4, 0.0, 0.0))
    builder.add_frame("tip", last, place)
    builder.add_frame("post", "world", lw.placement((0.5, 0.0, -0.3)))
    return builder.build()


@cache
def bodies() -> lw.Model:
    """Two free bodies without gravity, each with a handle."""
    builder = lw.Builder("two bodies", gravity=(0, 0, 0))
    for name, mass in (("left", 1.0), ("right", 2.5)):
        builder.add_body(name, joint=lw.joints.Free(), mass=mass, com=(0.05, 0, 0.02), inertia=(0.1, 0.2, 0.15))
        builder.add_frame(f"{name} handle", name, lw.placement((0.3, 0.1, 0.0)))
    return builder.build()


@cache
def height() -> Any:
    """Of the arm's tip above a level."""
    model = arm()

    def above(t: Any, q: Any, v: Any, level: Any) -> Any:
        return lw.forward_kinematics(model, q, ["tip"])[0][2, 3] - level

    return lw.compile(above, t=(), q=model.nq, v=model.nv, level=())


NORMAL = np.array([0.6, 0.0, 0.8])
CATCH = lw.PointOnPlane("tip", normal=NORMAL)
STATES = 5


def starts(model: lw.Model) -> tuple[Array, Array]:
    rng = np.random.default_rng(7)
    q, v = zip(*(lw.random_state(model, rng) for _ in range(STATES)), strict=True)
    return 0.3 * np.array(q), 0.5 * np.array(v)


def record(run: lw.Rollout) -> lw.EventRecord:
    assert run.events is not None
    return run.events


# A slow reference: dense matrices, one step at a time, and events found by bisection


class Reference:
    """The arm, whose tip is on a plane from an event to another one."""

    def __init__(self, q: Array, v: Array, tau: float) -> None:
        self.q, self.v, self.tau, self.model = q, v, tau, arm()
        self.held: Array | None = None

    def rows(self) -> tuple[Array, Array, Array]:
        """The tip's Jacobian along the normal, its drift, and the error."""
        J = lw.jacobian(self.model, self.q, ["tip"], reference="local_world_aligned")[:3]
        drift = lw.jacobian_drift(self.model, self.q, self.v, ["tip"], reference="local_world_aligned")[:3]
        off = lw.forward_kinematics(self.model, self.q, ["tip"])[0][:3, 3] - self.held
        return NORMAL[None] @ J, NORMAL[None] @ drift, NORMAL[None] @ off

    def solved(self, M: Array, right: Array, J: Array, below: Array) -> tuple[Array, Array]:
        """The accelerations, and the force on the tip."""
        n, k = len(M), len(J)
        found = np.linalg.solve(np.block([[M, -J.T], [J, np.zeros((k, k))]]), np.concatenate([right, below]))
        return found[:n], found[n:]

    def motion(self, dt: float) -> tuple[Array, Array, Array]:
        """The state after a step, and the force."""
        damping = np.diag(self.model.damping)
        M = lw.mass_matrix(self.model, self.q) + dt * damping
        right = -lw.nonlinear_effects(self.model, self.q, self.v) - damping @ self.v
        force = np.zeros(1)
        if self.held is None:
            a = np.linalg.solve(M, right)
        else:
            J, drift, off = self.rows()
            below = -(drift + 2.0 / self.tau * (J @ self.v) + off / self.tau**2)
            a, force = self.solved(M, right, J, below)
        v = self.v + dt * a
        return self.q + dt * v, v, force

    def catch(self) -> None:
        """The impact at which the tip is caught where it is."""
        self.held = lw.forward_kinematics(self.model, self.q, ["tip"])[0][:3, 3]
        J, M = self.rows()[0], lw.mass_matrix(self.model, self.q)
        self.v = self.solved(M, M @ self.v, J, np.zeros(1))[0]

    def until(self, guard: Callable[[Reference], float], dt: float) -> float:
        """The time within a step of length dt at which a number becomes positive; dt, if it does not."""
        q, v = self.q, self.v

        def at(h: float) -> float:
            self.q, self.v = q, v
            self.q, self.v, _ = self.motion(h)
            return guard(self)

        low, high = 0.0, dt
        if at(dt) >= 0.0:
            while high - low > 1e-13 * dt:
                middle = 0.5 * (low + high)
                low, high = (low, middle) if at(middle) >= 0.0 else (middle, high)
        at(high)
        return high


def by_reference(
    q: Array, v: Array, steps: int, level: float, away: float, most: float = np.inf
) -> tuple[Array, Array, list[float]]:
    """The arm's tip is caught where it falls below a level, and let go at a time, or where it pulls too much."""
    arm_now, times = Reference(q, v, 10.0 * DT), list[float]()
    for step in range(steps):
        t, left = step * DT, DT
        while left > 1e-9 * DT:
            now = t + DT - left

            def sunk(x: Reference) -> float:
                return float(level - lw.forward_kinematics(x.model, x.q, ["tip"])[0][2, 3])

            def late(x: Reference, now: float = now) -> float:
                return -1.0

            if arm_now.held is not None and np.linalg.norm(arm_now.motion(left)[2]) > most:
                arm_now.held = None
                times.append(now)
            free = arm_now.held is None and sunk(arm_now) < -1e-9
            end = away - now if arm_now.held is not None and now < away <= now + left + 1e-12 else left
            done = arm_now.until(sunk if free else late, min(end, left))
            left -= done
            if free and sunk(arm_now) >= 0.0:
                arm_now.catch()
                times.append(t + DT - left)
            elif end < left + done or abs(now + done - away) < 1e-12:
                arm_now.held = None
                times.append(away)
    return arm_now.q, arm_now.v, times


AWAY = 0.1234 + 0.01 * np.arange(STATES)


@cache
def levels() -> Array:
    """A little below the tips at the start."""
    poses = lw.forward_kinematics(arm(), starts(arm())[0], ["tip"])
    return poses[:, 0, 2, 3] - 0.004 * (1 + np.arange(STATES))


def falling() -> list[lw.Event]:
    """The tip is caught where it falls below a level, which differs, and let go at a time."""
    return [
        lw.Event(height(), attach=CATCH, direction="falling", parameters=(levels()[:, None],), name="catch"),
        lw.Event(AWAY, detach=CATCH, name="let go"),
    ]


STEPS = 90


@cache
def caught() -> lw.Rollout:
    q, v = starts(arm())
    return lw.rollout(arm(), q, v, dt=DT, steps=STEPS, events=falling())


def test_a_dense_reference_agrees() -> None:
    q, v = starts(arm())
    run, several = caught(), 0
    for k in range(STATES):
        end, speed, times = by_reference(q[k], v[k], STEPS, levels()[k], AWAY[k])
        happened = run.trajectory(k).events
        close([one.t for one in happened], times, 1e-9)
        close(run.q[k, -1], end, 1e-8)
        close(run.v[k, -1], speed, 1e-7)
        several += len(times) > 1
    assert several >= 2


def test_a_step_that_is_cut_by_hand_agrees() -> None:
    """Until an event the bits are those without events; then come ``lw.impact`` and the constrained motion."""
    q, v = starts(arm())
    before = lw.rollout(arm(), q, v, dt=DT, steps=20)
    both = lw.rollout(arm(), q, v, dt=DT, steps=40, events=lw.Event(20 * DT, attach=CATCH))
    assert np.array_equal(both.q[:, :20], before.q[:, :20]) and np.array_equal(both.v[:, :20], before.v[:, :20])
    for k in range(2):
        here = [lw.PointOnPlane.at(arm(), before.q[k, -1], "tip", normal=NORMAL)]
        jumped, _ = lw.impact(arm(), before.q[k, -1], before.v[k, -1], here)
        close(both.v[k, 20], jumped, 1e-11)
        after = lw.rollout(arm(), before.q[k, -1], jumped, dt=DT, steps=20, constraints=here)
        close(both.q[k, -1], after.q[-1], 1e-10)
        close(both.v[k, -1], after.v[-1], 1e-9)
        forces = both.trajectory(k).constraint_forces
        assert not forces[:20].any()
        close(forces[21:], after.trajectory().constraint_forces[1:], 1e-6)


def test_alone_and_interpreted_the_bits_are_the_same() -> None:
    q, v = starts(arm())
    together, events = caught(), falling()
    one = lw.rollout(
        arm(), q[2], v[2], dt=DT, steps=STEPS,
        events=[
            lw.Event(height(), attach=CATCH, direction="falling", parameters=(levels()[2:3],), name="catch"),
            lw.Event(AWAY[2], detach=CATCH, name="let go"),
        ],
    )  # fmt: skip
    with lw.interpreted():
        slow = lw.rollout(arm(), q, v, dt=DT, steps=STEPS, events=events)
    for a, b in ((one.q, together.q[2]), (one.v, together.v[2]), (slow.q, together.q), (slow.v, together.v)):
        assert np.array_equal(a, b)
    assert one.trajectory().events == together.trajectory(2).events
    assert np.array_equal(record(slow).times, record(together).times, equal_nan=True)


def test_an_impact_keeps_momentum_and_takes_energy() -> None:
    """Two free bodies meet: the handles come within reach, and are welded where they are."""
    model = bodies()
    reach = lw.compile(
        lambda t, q, v, far: np.sum((lw.forward_kinematics(model, q, ["left handle", "right handle"])[0, :3, 3]
                                     - lw.forward_kinematics(model, q, ["left handle", "right handle"])[1, :3, 3]) ** 2)
        - far**2,
        t=(), q=model.nq, v=model.nv, far=(),
    )  # fmt: skip
    rng = np.random.default_rng(3)
    q = np.tile(lw.neutral(model), (4, 1))
    q[:, 7] = 1.5
    v = rng.normal(size=(4, model.nv)) * 0.3
    v[:, 0] += 2.0
    grip = lw.Weld("left handle", "right handle")
    meet = lw.Event(reach, attach=grip, direction="falling", parameters=(np.full((4, 1), 0.8),))
    run = lw.rollout(model, q, v, dt=1e-3, steps=700, record=1, integrator="runge_kutta_4", events=meet)
    momentum, (kinetic, _) = lw.momentum(model, run.q, run.v), lw.energy(model, run.q, run.v)
    assert (record(run).counts[:, -1, 0] == 1).all()
    about = momentum.reshape(4, 701, -1)
    close(about, np.broadcast_to(about[:, :1], about.shape), 1e-7)
    assert (np.diff(kinetic, axis=1) < 1e-6 * kinetic[:, :1]).all()
    assert (kinetic[:, -1] < 0.99 * kinetic[:, 0]).all()
    for k in range(4):
        after = int(np.argmax(record(run).counts[k, :, 0]))
        places = lw.forward_kinematics(model, run.q[k, after:], ["left handle", "right handle"])
        held = np.linalg.inv(places[:, 1]) @ places[:, 0]
        close(held, np.broadcast_to(held[0], held.shape), 1e-6)


def hanging(links: int = 3) -> tuple[lw.Model, list[lw.Constraint]]:
    """Free bodies in a row, each welded to the one above, the first to the ceiling."""
    builder = lw.Builder("weights in a row")
    welds: list[lw.Constraint] = []
    for k in range(links):
        builder.add_body(f"weight{k}", joint=lw.joints.Free(), mass=1.0, inertia=(0.01, 0.01, 0.01))
        above = f"weight{k - 1}" if k else "world"
        welds.append(lw.Weld(f"weight{k}", above, lw.placement((0.0, 0.0, -0.2))))
    return builder.build(), welds


def test_what_breaks_is_the_link_that_bears_most() -> None:
    """The load on the lowest weight grows by 50 N each second; the links bear 1, 2 and 3 weights besides."""
    model, welds = hanging()
    q = lw.neutral(model).reshape(3, 7)
    q[:, 2] = [-0.2, -0.4, -0.6]
    steps, most = 200, np.array([[60.0, 45.0, 30.0], [34.0, 45.0, 33.0], [100.0, 100.0, 100.0]])
    pull = np.zeros((steps, 3, 6))
    pull[:, 2, 2] = -50.0 * DT * np.arange(steps)
    events = [lw.Event(lw.BreakingForce(weld, force=most[:, k])) for k, weld in enumerate(welds)]
    run = lw.rollout(
        model, q.reshape(-1), np.zeros(model.nv), dt=DT, steps=steps, f_ext=pull, constraints=welds, events=events
    )
    weight = 9.81 * np.array([3.0, 2.0, 1.0])
    for k, limits in enumerate(most):
        exceeded = np.array([[load > room for room in limits - weight] for load in -pull[:, 2, 2]])
        found = run.trajectory(k)
        if not exceeded.any():
            assert not found.events and record(run).active[k].all()
            continue
        first = int(np.argmax(exceeded.any(axis=1)))
        assert [one.event for one in found.events][:1] == [int(np.argmax(exceeded[first]))]
        close(found.events[0].t, first * DT, 1e-12)
        # a step never transmits more than the limit, and what has fallen off falls freely
        sizes = np.linalg.norm(found.constraint_forces[:, :, :3], axis=2)
        assert (np.delete(sizes, first, axis=0) <= limits * (1 + 1e-9)).all()
        assert not sizes[first + 1 :, found.events[0].event].any()


def test_events_at_the_same_time_and_a_cascade() -> None:
    """Two pins hold a bar; when one breaks, the other has to bear all, and breaks in the same step."""
    builder = lw.Builder("bar")
    builder.add_body("bar", joint=lw.joints.Free(), mass=2.0, inertia=(0.1, 0.1, 0.1))
    for side, x in (("left", -0.5), ("right", 0.5)):
        builder.add_frame(side, "bar", lw.placement((x, 0.0, 0.0)))
    model = builder.build()
    pins = [lw.PointOnPlane(side) for side in ("left", "right")]
    events = [lw.Event(lw.BreakingForce(pins[0], force=9.0)), lw.Event(lw.BreakingForce(pins[1], force=9.82))]
    run = lw.rollout(model, lw.neutral(model), [0.0] * 6, dt=DT, steps=10, constraints=pins, events=events)
    found = run.trajectory()
    # the second pin would have to bear 4.9 N once the first is gone: the bar turns about it
    assert [(one.t, one.event) for one in found.events] == [(0.0, 0)]
    close(np.linalg.norm(found.constraint_forces[1, 1, :3]), 9.81 * 2 * 0.1 / (0.1 + 2 * 0.25), 0.05)
    twice = [lw.Event(lw.BreakingForce(pins[0], force=9.0)), lw.Event(lw.BreakingForce(pins[1], force=3.0))]
    falls = lw.rollout(model, lw.neutral(model), [0.0] * 6, dt=DT, steps=10, constraints=pins, events=twice)
    assert [one.event for one in falls.trajectory().events] == [0, 1]
    close(falls.q[-1, 2], -9.81 * DT**2 * 55, 1e-9)


CASES = ["stops", "stiction", "stops by Runge-Kutta", "proximal", "inertias", "rolled", "policy"]


@pytest.mark.parametrize("case", CASES)
def test_events_beside_everything_else(case: str) -> None:
    """The same as a motion that is cut by hand at the event's time."""
    model, more = arm(), dict[str, Any]()
    q, v = (x[1] for x in starts(model))
    held = [lw.PointOnPlane("tip", normal=NORMAL)]
    if "stops" in case:
        model, q = limited(), np.clip(q, -0.3, 0.3)
        more = {"joint_limits": True}
    if case == "stiction":
        more = {"friction": 2.0, "friction_law": "stiction"}
    if case == "stops by Runge-Kutta":
        more |= {"integrator": "runge_kutta_4", "friction": False}
    if case == "proximal":
        more, held = {"proximal": 1e-6}, [*held, lw.PointOnPlane("tip", normal=2 * NORMAL, placement=lw.placement())]
    if case == "inertias":
        more = {"inertias": 1.2 * model.inertial_parameters}
    if case == "policy":
        more = {"policy": lambda t, q, v: -0.5 * q}
    with lw.form("rolled" if case == "rolled" else "auto"):
        event = lw.Event(20 * DT, attach=held)
        both = lw.rollout(model, q, v, dt=DT, steps=40, events=event, **more)
        first = lw.rollout(model, q, v, dt=DT, steps=20, **more)
        assert np.array_equal(both.q[:20], first.q[:20])
        there = [type(one).at(model, first.q[-1], "tip", normal=one.normal) for one in held]
        own = lw.with_inertial_parameters(model, more["inertias"]) if case == "inertias" else model
        jumped, _ = lw.impact(own, first.q[-1], first.v[-1], there, more.get("proximal", 0.0))
        close(both.v[20], jumped, 1e-9)
        second = lw.rollout(model, first.q[-1], jumped, dt=DT, steps=20, constraints=there, **more)
    close(both.q[-1], second.q[-1], 1e-8)
    close(both.v[-1], second.v[-1], 1e-6)


@cache
def limited() -> lw.Model:
    """The arm with limits that it reaches."""
    builder = lw.Builder("arm with stops")
    last, place = "world", lw.placement((0.0, 0.0, 0.0))
    for k, axis in enumerate(("y", (0.6, 0.8, 0.0), "y")):
        last = builder.add_body(
            f"link{k}", last, lw.joints.Revolute(axis), place, mass=1.0 + 0.3 * k, com=(0.2, 0.01, 0.02),
            inertia=(0.01, 0.02, 0.015), damping=0.05 * k, lower=-0.35, upper=0.35,
        )  # fmt: skip
        place = lw.placement((0.4, 0.0, 0.0))
    builder.add_frame("tip", last, place)
    return builder.build()


OTHER = lw.Ball("tip", "post")
LEVEL = lw.compile(lambda t, q, v: q[0] - 0.1, t=(), q=3, v=3)

BAD: list[tuple[Any, dict[str, Any], str]] = [
    ([3], {}, r"events\[0\] is 3"),
    (lw.Event(0.1), {}, "changes nothing"),
    (lw.Event(0.1, attach=[3]), {}, "lw.Weld, lw.Ball"),  # type: ignore[list-item]
    (lw.Event(0.1, attach=CATCH, detach=CATCH), {}, "both attaches and detaches"),
    (lw.Event(0.1, attach=CATCH, name=3), {}, "must be text"),  # type: ignore[arg-type]
    (lw.Event(0.1, attach=lw.Ball("tap")), {}, r"attach Ball\('tap', 'world'\).*no frame named 'tap'"),
    (lw.Event(0.1, attach=lw.Coupling("joint_link0", "joint_link2")), {}, "in_place=False"),
    (lw.Event(0.0, attach=CATCH), {}, "must be positive"),
    (lw.Event(np.nan, attach=CATCH), {}, "must be positive"),
    (lw.Event("soon", attach=CATCH), {}, "must be a time"),
    (lw.Event([0.1, 0.2, 0.3], attach=CATCH), {}, "do not broadcast"),
    (lw.Event(0.1, attach=CATCH, direction="up"), {}, "direction"),
    (lw.Event(0.1, attach=CATCH, direction="rising"), {}, "sign change"),
    (lw.Event(0.1, attach=CATCH, parameters=(1.0,)), {}, "parameters are for a function"),
    (lw.Event(lambda t, q: q[0], attach=CATCH), {}, "event"),
    (lw.Event(lambda t, q, v: q, attach=CATCH), {}, "one number"),
    (lw.Event(LEVEL, attach=CATCH, parameters=(1.0,)), {}, "0 parameter"),
    (lw.Event(0.1, attach=CATCH, in_place=1), {}, "in_place"),  # type: ignore[arg-type]
    (lw.Event(lw.BreakingForce("tip", 3.0)), {}, "breaking force is of one"),  # type: ignore[arg-type]
    (lw.Event(lw.BreakingForce(CATCH, -3.0)), {"constraints": CATCH}, "must be positive"),
    (lw.Event([], attach=CATCH), {}, "one for each trajectory, not an empty array"),
    (lw.Event(np.nan, attach=CATCH), {}, "must be positive, not nan"),
    (lw.Event(0.1, attach="tip", name="on"), {}, "event 'on': constraints must be a list"),  # type: ignore[arg-type]
    # that never can happen
    (lw.Event(0.5, attach=CATCH), {}, "can never happen: it is at 0.5 s, and the motion ends at 0.2 s"),
    (lw.Event(0.1, attach=CATCH), {"constraints": CATCH}, "can never happen.*is active already"),
    (lw.Event(0.1, detach=CATCH), {}, "can never happen.*is not active"),
    (lw.Event(lw.BreakingForce(CATCH)), {"constraints": CATCH}, "can never happen: its breaking force has neither"),
    (lw.Event(lw.BreakingForce(CATCH, 3.0)), {}, "can never happen.*is not active"),
    ([lw.Event(0.1, attach=CATCH), lw.Event(0.05, detach=CATCH, name="early")], {}, "'early' can never happen"),
    (lw.Event(lambda t, q, v: 0.0 * t + 1.0, attach=CATCH), {}, "can never happen.*constant"),
    # that contradict
    (
        [lw.Event(0.1, attach=CATCH, name="on"), lw.Event(0.1, detach=CATCH, name="off")],
        {},
        "events 'on' and 'off' contradict",
    ),
    (lw.Event(0.1, attach=CATCH), {"contacts": [lw.Contact("tip")]}, "contacts or events"),
]


@pytest.mark.parametrize(("events", "more", "message"), BAD)
def test_bad_events_are_named(events: Any, more: dict[str, Any], message: str) -> None:
    q, v = (x[:2] for x in starts(arm()))
    with pytest.raises(lw.ArgumentError, match=message):
        lw.rollout(arm(), q, v, dt=DT, steps=100, events=events, **more)


def test_gradients_through_events_are_refused() -> None:
    with pytest.raises(lw.ArgumentError, match="no gradients: its velocities jump"):
        caught().pullback(q=1.0)


def test_constraints_that_cannot_hold_together_are_named() -> None:
    """Two pins in different places on a hinge: the second one cannot move."""
    q, v = (x[0] for x in starts(arm()))
    pins = [lw.Weld("tip"), lw.Ball("tip", "post")]
    with pytest.raises(lw.SimulationError, match=r"Weld.*Ball"):
        lw.rollout(arm(), q, v, dt=DT, steps=100, events=[lw.Event(0.05, attach=pins)])


def test_a_search_that_does_not_end_says_so() -> None:
    """Two events that undo each other in no time: caught as soon as it falls, let go as soon as it is at rest."""
    q, v = (x[0] for x in starts(arm()))

    def sinking(t: Any, q: Any, v: Any) -> Any:
        return lw.frame_velocity(arm(), q, v, ["tip"], "local_world_aligned")[0][:3] @ NORMAL + 1e-9

    speed = lw.compile(sinking, t=(), q=3, v=3)
    events = [
        lw.Event(speed, attach=CATCH, direction="falling"), lw.Event(speed, detach=CATCH, direction="rising")
    ]  # fmt: skip
    with pytest.raises(lw.SimulationError, match="search for events within a step"):
        lw.rollout(arm(), q, 0.0 * v, dt=DT, steps=3, events=events)


def alone(**options: Any) -> lw.Trajectory:
    """The third of the trajectories that are caught and let go."""
    q, v = (x[2] for x in starts(arm()))
    events = [
        lw.Event(height(), attach=CATCH, direction="falling", parameters=(levels()[2],), name="catch"),
        lw.Event(AWAY[2], detach=CATCH, name="let go"),
    ]
    return lw.simulate(arm(), q, v, STEPS * DT, DT, friction_law="smoothed", events=events, **options)


def test_a_simulation_is_the_same_motion() -> None:
    many, one = caught().trajectory(2), alone()
    assert one.events == many.events and [event.name for event in one.events] == ["catch", "let go"]
    for name in ("t", "q", "v", "a", "tau", "constraint_forces"):
        assert np.array_equal(getattr(one, name), getattr(many, name)), name
    driven = alone(torque=lambda t, q, v: 0.0 * v, record=7)
    assert driven.events == one.events and np.array_equal(driven.q[-1], one.q[-1])


def test_events_are_kept_with_a_motion(tmp_path: Any) -> None:
    motion = alone()
    read = lw.Trajectory.load(motion.save(tmp_path / "motion"), arm())
    assert read.events == motion.events and np.array_equal(read.q, motion.q)
    assert [one.name for one in motion[:50].events] == ["catch"]
    assert [one.name for one in motion.resample([0.1, 0.12, 0.15]).events] == ["let go"]
    assert str(motion.events[1]) == f"{AWAY[2]:.6g} s: let go"


def test_what_a_simulation_with_events_does_not_take() -> None:
    for more, message in (
        ({"integrator": "adaptive"}, "no adaptive integrator"),
        ({"method": "virtual_work"}, "the default method"),
        ({"integrator": "runge_kutta_4", "torque": lambda t, q, v: 0.0 * v}, "hold=1"),
        ({"friction": True, "method": "assembly"}, "the default method"),
    ):
        with pytest.raises(lw.ArgumentError, match=message):
            alone(**more)
    q, v = (x[2] for x in starts(arm()))
    with pytest.raises(lw.SimulationError, match=r"Weld.*Ball") as caught_error:
        lw.simulate(arm(), q, v, 0.2, DT, events=lw.Event(0.05, attach=[lw.Weld("tip"), OTHER]))
    assert len(caught_error.value.trajectory) > 20  # type: ignore[arg-type]


def test_other_times_parameters_and_starts_take_no_other_code() -> None:
    q, v = starts(arm())
    events = [
        lw.Event(height(), attach=CATCH, direction="falling", parameters=(levels()[:2, None] - 0.003,), name="lower"),
        lw.Event(0.17, detach=CATCH, name="later"),
    ]
    again = lw.rollout(arm(), q[:2], 1.1 * v[:2], dt=DT, steps=100, events=events)
    ours, theirs = again._job, caught()._job
    assert ours is not None and theirs is not None and ours.step_plan is theirs.step_plan
    assert record(again).counts[:, -1].any()


def test_workers_take_events() -> None:
    """A job with events is pickled, and split."""
    q, v = starts(arm())
    with ThreadPoolExecutor(2) as threads:
        split = lw.rollout(arm(), q, v, dt=DT, steps=STEPS, events=falling(), executor=threads, chunk=2)
    assert np.array_equal(split.q, caught().q)
    assert np.array_equal(record(split).times, record(caught()).times, equal_nan=True)
    job = pickle.loads(pickle.dumps(caught()._job))
    assert job.step.events.digest == caught()._job.step.events.digest  # type: ignore[union-attr]


def test_couplings_attach_as_written_and_redundant_rows_count_once_active() -> None:
    """Gears that engage: a clutch, whose impact makes the velocities compatible at once."""
    q, v = (x[3] for x in starts(arm()))
    gears = lw.Coupling("joint_link2", "joint_link0", ratio=-0.5, offset=float(q[2] + 0.5 * q[0]))
    run = lw.rollout(arm(), q, v, dt=DT, steps=30, events=lw.Event(4 * DT, attach=gears, in_place=False))
    jumped, _ = lw.impact(arm(), run.q[4], lw.rollout(arm(), q, v, dt=DT, steps=4).v[-1], [gears])
    close(run.v[4], jumped, 1e-12)
    close(run.v[4:, 2], -0.5 * run.v[4:, 0], 0.1)
    close(run.v[-1, 2], -0.5 * run.v[-1, 0], 0.05)


def test_a_law_that_is_held_acts_on_in_steps_with_events() -> None:
    law = lw.compile(lambda t, q, v: -3.0 * v - 10.0 * t, t=(), q=3, v=3)
    q, v = (x[1] for x in starts(arm()))
    event = lw.Event(10.5 * DT, attach=CATCH)
    options: dict[str, Any] = {"friction_law": "smoothed", "events": event, "hold": 4}
    compiled = lw.simulate(arm(), q, v, 30 * DT, DT, torque=law, **options)
    called = lw.simulate(arm(), q, v, 30 * DT, DT, torque=lambda t, q, v: law(t, q, v), **options)
    assert compiled.events == called.events and len(called.events) == 1
    close(compiled.q, called.q, 1e-12)
    close(compiled.tau, called.tau, 1e-10)


def test_events_at_the_end_of_a_step_and_at_the_same_time() -> None:
    """Times that are those of steps but for rounding, the last one included; two events at once."""
    q, v = starts(arm())
    ends = np.array([0.006, 0.07, 0.114, 0.138, 0.18])
    other = lw.PointOnPlane("tip", normal=(0.0, 1.0, 0.0))
    events = [lw.Event(ends, attach=CATCH, name="one"), lw.Event(ends, attach=other, name="two")]
    run = lw.rollout(arm(), q, v, dt=DT, steps=90, events=events)
    for k, end in enumerate(ends):
        assert [(one.t, one.name) for one in run.trajectory(k).events] == [(end, "one"), (end, "two")]
        counts = record(run).counts[k]
        assert (counts[round(end / DT) - 1] == 0).all() and (counts[round(end / DT)] == 1).all()
        after = round(end / DT)
        moving = lw.frame_velocity(arm(), run.q[k, after], run.v[k, after], ["tip"], "local_world_aligned")[0, :3]
        assert abs(moving @ NORMAL) < 1e-12 and abs(moving[1]) < 1e-12
