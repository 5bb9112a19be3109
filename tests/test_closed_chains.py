"""Closed chains by virtual work: loops inside the recursion, against the equations of motion at 50 digits, articulated
bodies with a dense solve, MuJoCo, and in every form of the code. ``test_constraints`` has Pinocchio."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pinocchio as pin
import pytest

import linkwork as lw
from exact import exact_tree
from linkwork.algorithms import ALGORITHMS, closing
from linkwork.dynamics.held import held_by
from linkwork.dynamics.pair_conditions import loop_pairs
from linkwork.inside import evaluate, interpret
from linkwork.model import Frame, Model
from linkwork.model.constraints import direction
from linkwork.model.loops import loops_of
from linkwork.spatial import Mat3, Transform
from linkwork_lab.reproduce import closed_chains, parts
from linkwork_lab.reproduce.closed_chains import measurements, plots
from linkwork_lab.reproduce.closed_chains.ladders import ladder
from linkwork_lab.reproduce.counting import as_written, folded
from programs import planned, task_of
from strategies import JOINTS, Array, close, random_tree, state_of
from test_constraints import four_bar, moving, mujocos_four_bar, rolling, rows_of
from test_pinocchio import make

context = mpmath.mp.clone()
context.dps = 50


def holds(*places: tuple[str, int]) -> list[Frame]:
    return [Frame(loop, body, Transform.identity()) for loop, body in places]


def pulled_bar() -> tuple[Model, list[lw.Constraint], Array]:
    """A bar that flies between two carts: a ball at one end, at the other a hinge, and a wheel on the floor."""
    builder = lw.Builder("pulled_bar")
    solid = {"mass": 1.0, "inertia": (0.02, 0.03, 0.025)}
    for name in ("left", "right"):
        builder.add_body(name, joint=lw.joints.Prismatic("x"), **solid)
    builder.add_body("boom", "right", lw.joints.Universal("y", "x"), lw.placement((0, 0, 0.1)), **solid)
    builder.add_body("bar", joint=lw.joints.Free(), **solid)
    builder.add_frame("end", "bar", lw.placement((0.5, 0, 0)))
    held: list[lw.Constraint] = [lw.Ball("bar", "left"), lw.PointOnPlane("end", "boom"), lw.PointOnPlane("end", "post")]
    builder.add_frame("post", "world", lw.placement((0, 0.1, 0), rpy=(0.1, 1.2, 0.3)))
    model = builder.build()
    q = lw.neutral(model)
    return model, [*held, lw.Coupling("joint_left", "joint_right", -2.0)], q + 0.0


def arguments(model: Model, frames: list[Frame], rows: dict[str, int], seed: int) -> list[Array]:
    """A state, and constraints with this number of rows for each loop."""
    s, rng = state_of(model, seed), np.random.default_rng(seed)
    C, bias, compliance = (
        rng.normal(size=(len(frames), 6, 6)),
        rng.normal(size=(len(frames), 6)),
        np.zeros((len(frames), 6)),
    )
    seen = set()
    for k, frame in enumerate(frames):
        C[k, rows[frame.name] :], bias[k, rows[frame.name] :] = 0.0, 0.0
        if frame.name not in seen:
            compliance[k, rows[frame.name] :] = 1.0
        seen.add(frame.name)
    return [s.q, s.v, s.tau, s.f_ext, C, bias, compliance]


def unturned(model: Model) -> Model:
    """The same with placements without rotation: rotations are orthogonal only to rounding."""
    bodies = (replace(body, placement=Transform(Mat3.identity(), body.placement.translation)) for body in model.bodies)
    return replace(model, bodies=tuple(bodies))


STRAIGHT = [joint for joint in JOINTS if "AnyAxis" not in repr(joint)]
EVERY = unturned(random_tree(108, STRAIGHT, name="every_kind"))
LOOPS = holds(("a", 14), ("a", 3), ("b", 12), ("b", 9), ("b", 7), ("c", 6), ("d", 11), ("d", 0), ("e", 10), ("e", 9))
ROWS = {"a": 2, "b": 3, "c": 1, "d": 2, "e": 1}


def test_loops_on_a_tree_of_every_joint_kind_hold_at_fifty_digits() -> None:
    """With the resulting forces, inverse dynamics returns τ, and every loop's constraint holds."""
    given = arguments(EVERY, LOOPS, ROWS, 4)
    entry, n, m = closing(), len(EVERY.bodies), len(LOOPS)
    exact = [[context.mpf(x) for x in array.ravel().tolist()] for array in given]
    q, v, tau, f_ext, C, bias, _ = exact
    a, _, forces = evaluate(entry, EVERY, exact, LOOPS, exact_tree(EVERY, context.mpf, LOOPS))
    loads = list(f_ext)
    for k, frame in enumerate(LOOPS):
        for row in range(6) if frame.body else ():
            for i in range(6):
                loads[6 * frame.body - 6 + i] += C[36 * k + 6 * row + i] * forces[6 * k + row]
    (back,) = evaluate(ALGORITHMS["inverse_dynamics"], EVERY, [q, v, a, loads], tree=exact_tree(EVERY, context.mpf))
    assert max(abs(x - y) for x, y in zip(back, tau, strict=True)) < 1e-40
    at = [Frame("", body, Transform.identity()) for body in range(1, n + 1)]
    tree = exact_tree(EVERY, context.mpf, at)
    (moved,) = evaluate(ALGORITHMS["frame_accelerations/local"], EVERY, [q, v, a], at, tree)
    (poses,) = evaluate(ALGORITHMS["frame_placements"], EVERY, [q], at, tree)
    missed: dict[str, list[Any]] = {name: [context.mpf(0)] * 6 for name in ROWS}
    for k, frame in enumerate(LOOPS):
        if frame.body:
            pose, motion = poses[16 * frame.body - 16 :], list(moved[6 * frame.body - 6 : 6 * frame.body])
            for i in range(3):  # accelerations have -g in them
                motion[i] -= sum(pose[4 * r + i] * context.mpf(g) for r, g in enumerate(EVERY.gravity))
            for row in range(6):
                seen = sum(C[36 * k + 6 * row + i] * motion[i] for i in range(6))
                missed[frame.name][row] += seen + bias[6 * k + row]
    assert max(abs(x) for rows in missed.values() for x in rows) < 1e-38
    rough = evaluate(entry, EVERY, [array.ravel().tolist() for array in given], LOOPS)
    for found, truth in zip(rough, (a, None, forces), strict=True):
        if truth is not None:
            close(found, np.array(truth, dtype=float), 1e-11)
    assert m == len(forces) // 6


@pytest.mark.parametrize("make", [pulled_bar, rolling], ids=["pulled_bar", "rolling"])
def test_both_methods_agree_and_bodies_are_in_balance(make: Callable[[], Any]) -> None:
    model, constraints, q = make()
    v, tau = np.random.default_rng(2).normal(size=(2, model.nv))
    with lw.interpreted():
        found = lw.constrained_dynamics_and_reactions(model, q, v, tau, constraints, method="virtual_work")
        for frame in ("child", "parent", "world"):
            expected = lw.constrained_dynamics_and_reactions(model, q, v, tau, constraints, frame=frame)
            seen = lw.constrained_dynamics_and_reactions(
                model, q, v, tau, constraints, method="virtual_work", frame=frame
            )
            for ours, theirs in zip(seen, expected, strict=True):
                close(ours, theirs, 1e-9, scale=np.abs(expected[1]).max())
    reactions = found[2]
    for body, start in zip(model.bodies, model.v_start, strict=True):  # a joint transmits its own force
        S = np.array([column.numbers() for column in body.joint.subspace(body.joint.neutral()).columns()])
        if type(body.joint).__name__ in ("Prismatic", "Free"):
            index = model.body_index(body.name)
            close(S @ reactions[index], tau[start : start + body.joint.nv], 1e-9, scale=np.abs(reactions).max())


def test_a_batch_with_forces_and_stabilisation_is_as_by_articulated_bodies() -> None:
    model, constraints, q = pulled_bar()
    rng = np.random.default_rng(3)
    v, tau = rng.normal(size=(2, model.nv)), rng.normal(size=model.nv)
    f_ext = rng.normal(size=(2, len(model.bodies), 6))
    with lw.interpreted():
        one = lw.constrained_dynamics(model, q, v, tau, constraints, f_ext, 0.1)
        two = lw.constrained_dynamics(model, q, v, tau, constraints, f_ext, 0.1, method="virtual_work")
    for x, y in zip(one, two, strict=True):
        close(x, y, 1e-9)


def test_redundant_loops_are_left_to_articulated_bodies() -> None:
    model, hinge, q = four_bar()
    v, tau = moving(model, hinge, q, 3), np.array([1.0, -0.5, 0.2])
    with lw.interpreted():
        with pytest.raises(lw.errors.SingularError, match="hold 5 motions, of which only 2"):
            lw.constrained_dynamics(model, q, v, tau, hinge, method="virtual_work")
        one = lw.constrained_dynamics(model, q, v, tau, hinge, proximal=1e-6)
        two = lw.constrained_dynamics(model, q, v, tau, hinge, proximal=1e-6, method="virtual_work")
    close(one[0], two[0], 1e-9)
    close(one[1], two[1], 1e-6)


def test_loops_on_a_tree_of_many_kinds_are_pinocchios() -> None:
    pair = make("every_kind", (2,))
    model, there, q, tau = pair.model, pair.there, pair.state.q[0], pair.state.tau[0]
    loops: list[lw.Constraint] = []
    data, models, datas = there.createData(), pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    pin.framesForwardKinematics(there, data, pair.q_there(q))
    with lw.interpreted():
        for a, b in ((13, 0), (11, 1), (9, 5), (12, 3)):
            numbers = [there.getFrameId(f"f{k}") for k in (a, b)]
            frames, places = [there.frames[k] for k in numbers], [data.oMf[k] for k in numbers]
            between = places[1].inverse() * places[0]
            more = [*loops, lw.Ball(f"f{a}", f"f{b}", between.homogeneous)]
            if len(loops) < 2 and np.linalg.matrix_rank(rows_of(model, more, q), tol=1e-3) == 3 * len(more):
                loops = more
                ends = (frames[0].placement, frames[1].placement * between)
                one, two = ((frame.parentJoint, place) for frame, place in zip(frames, ends, strict=True))
                kind, seen = pin.ContactType.CONTACT_3D, pin.ReferenceFrame.LOCAL
                models.append(pin.RigidConstraintModel(kind, there, *one, *two, seen))
        assert len(loops) == 2
        v = moving(model, loops, q, 1)
        datas.extend(one.createData() for one in models)
        pin.initConstraintDynamics(there, data, models, datas)
        settings = pin.ProximalSettings(1e-13, 1e-13, 1e-9, 50)
        expected = np.array(pin.constraintDynamics(there, data, pair.q_there(q), v, tau, models, datas, settings))
        for method in ("virtual_work", "assembly"):
            close(lw.constrained_dynamics(model, q, v, tau, loops, method=method)[0], expected, 1e-7)


def test_a_four_bar_moves_as_mujocos() -> None:
    model, hinge, q = four_bar()
    v, tau = moving(model, hinge, q, 3), np.array([1.0, -0.5, 0.2])
    planes = [lw.PointOnPlane("end", "pivot", normal=axis) for axis in "xz"]
    for method in ("virtual_work", "assembly"):
        with lw.interpreted():
            a, _ = lw.constrained_dynamics(model, q, v, tau, planes, method=method)
        close(a, mujocos_four_bar(q, v, tau), 2e-3)


def test_a_loop_is_open_only_where_it_must_be() -> None:
    """A hand's two fingers hold each other: closed at the hand, whatever carries it; on the world, at once."""
    arm = [0, 0, 1, 2, 3, 4, 3, 6]  # a chain of three, then two fingers of two links each on body 3
    found = loops_of(arm, [(0, 5), (0, 7), (1, 5), (1, 0)])
    assert [each.loop for each in found.steps[5].closed] == [1] and found.most_open == 1
    (closed,) = found.steps[4].closed_behind
    assert (closed.loop, closed.body) == (0, 3) and not found.steps[3].crossings
    apart = loops_of([0, 0, 0], [(0, 1), (0, 2)])  # two roots meet at the world
    assert [each.body for each in apart.steps[1].closed_behind] == [0]
    on_it = loops_of([0, 0, 1, 2], [(0, 3), (0, 1)])  # one end on the body where the other's path comes along
    assert [(each.hold, each.body) for each in on_it.steps[2].attached] == [(1, 1)]


def test_any_number_of_loops_costs_the_same_for_each(golden: Callable[[str, str], None]) -> None:
    """Operations are linear in the number of loops, as written and folded, on a spine with a loop at every link."""
    counts: dict[str, list[int]] = {"as written": [], "folded": []}
    for loops in (1, 2, 3, 4):
        model, frames = ladder(loops).model, ladder(loops).holds
        counts["as written"].append(sum(as_written(closing(), model, frames).values()))
        if loops < 3:
            counts["folded"].append(sum(folded(closing(), model, frames).values()))
    written = counts["as written"]
    assert written[3] - written[2] == written[2] - written[1] > 0
    golden("closed_chains.json", json.dumps({"loops": [1, 2, 3, 4], **counts}, indent=1) + "\n")


def test_code_has_the_bits_of_the_interpreter() -> None:
    """Rolled, with crossing loops: alone on one lane, and a batch on all; whatever frames they connect."""
    model = lw.mechanisms.serial_chain(6, lw.joints.Spherical())
    for frames in (holds(("a", 6), ("a", 3), ("b", 5), ("b", 2), ("c", 4)), holds(("a", 6), ("a", 1))):
        rows = {"a": 1, "b": 1, "c": 1}
        given = [arguments(model, frames, rows, seed) for seed in range(5)]
        entry = closing()
        expected = [evaluate(entry, model, [array.ravel().tolist() for array in state], frames) for state in given]
        plan = planned(task_of(entry, model, frames), "rolled")
        flat = [np.stack([state[k].ravel() for state in given]) for k in range(7)]
        together, status = plan.run(flat, 5)
        assert status == 0
        for state in range(5):
            alone, _ = plan.run([array[state : state + 1] for array in flat], 1)
            for one, two, three in zip(together, alone, expected[state], strict=True):
                assert one[state].tobytes() == two[0].tobytes() == (np.array(three) + 0.0).tobytes()


def linked(turned: float) -> tuple[Model, list[lw.Constraint]]:
    """A tree of several joint kinds, with constraints between frames, two of them with the world. If it is not turned,
    no rounding is in its rotations.
    """
    builder = lw.Builder("linked", gravity=(0.5, -1.0, -9.0))
    kinds = [lw.joints.Free(), lw.joints.Universal("x", "y"), lw.joints.Revolute("z"), lw.joints.Prismatic("x")]
    for k, parent in enumerate(("world", "link0", "link1", "link1", "link0", "world", "link5")):
        place = lw.placement((0.2, 0.05 * k, -0.1), rpy=(0.2 * k * turned, 0.1 * turned, 0.3 * turned))
        solid = {"mass": 1.0 + 0.1 * k, "com": (0.1, 0.02, 0.0), "inertia": (0.03, 0.02, 0.025)}
        builder.add_body(f"link{k}", parent, kinds[k % 4 if k < 5 else 0], place, **solid)
        builder.add_frame(f"end{k}", f"link{k}", lw.placement((0.1, 0.0, 0.2), rpy=(0.3 * turned, k * turned, 0.0)))
    held: list[lw.Constraint] = [
        lw.Ball("end2", "end5", lw.placement((0.1, 0.0, 0.0), rpy=(0.0, 0.4 * turned, 0.0))),
        lw.PointOnPlane("end3", "end6", normal="y"),
        lw.Hinge("end4", "world", axis="x"),
        lw.PointOnPlane("world", "end6", normal=(0.6, 0.0, 0.8)),
    ]
    return builder.build(), held


def test_conditions_from_frames_are_those_of_dense_equations_at_fifty_digits() -> None:
    """M a = τ - h + Jᵀ λ, J a = -J̇ v, with J from frame velocities, and J̇ by differences of these."""
    model, constraints = linked(0.0)
    s, ends = state_of(model, 2), [end for one in constraints for end in one.frame_names()]
    frames, tree = [model.frame(name) for name in ends], exact_tree(model, context.mpf)
    seen = exact_tree(model, context.mpf, frames)

    def exactly(name: str, *values: Any, at: Any = None) -> Any:
        return evaluate(ALGORITHMS[name], model, [*values], frames if at else (), at or tree)[0]

    def rows(q: Any, k: int) -> list[list[Any]]:
        """Of a constraint, over the motion of a relative to b."""
        (Ra, _), (Rb, _) = (pose(q, 2 * k + side) for side in (0, 1))
        one = constraints[k]
        if not isinstance(one, lw.PointOnPlane):
            return [[context.mpf(x) for x in row] for row in one.rows(np.eye(3)).tolist()]
        normal = context.matrix(direction(one.normal).tolist())
        return [[*(Ra.T * Rb * normal), 0, 0, 0]]

    def pose(q: Any, k: int) -> Any:
        numbers = exactly("frame_placements", q, at=seen)[16 * k : 16 * k + 12]
        T = context.matrix(3, 4)
        for i in range(12):
            T[i // 4, i % 4] = numbers[i]
        return T[:, 0:3], T[:, 3]

    def rates(q: Any, v: Any) -> list[Any]:
        """The constrained velocities."""
        twists, found = exactly("frame_velocities/local", q, v, at=seen), []
        for k in range(len(constraints)):
            (Ra, pa), (Rb, pb) = (pose(q, 2 * k + side) for side in (0, 1))
            a, b = (context.matrix(twists[12 * k + 6 * side : 12 * k + 6 * side + 6]) for side in (0, 1))
            turning, arm = Rb * b[3:6], pa - pb
            swung = [turning[1] * arm[2] - turning[2] * arm[1], turning[2] * arm[0] - turning[0] * arm[2],
                     turning[0] * arm[1] - turning[1] * arm[0]]  # fmt: skip
            linear = a[0:3] - Ra.T * (Rb * b[0:3] + context.matrix(swung))
            motion = [*linear, *(a[3:6] - Ra.T * turning)]
            found += [sum(x * y for x, y in zip(row, motion, strict=True)) for row in rows(q, k)]
        return found

    nv = model.nv
    q, v, tau = ([context.mpf(x) for x in array.tolist()] for array in (lw.neutral(model), s.v, s.tau))
    q = exactly("integrate", q, [context.mpf(x) for x in s.a.tolist()])  # whose quaternions have length 1
    units = [[context.mpf(i == k) for i in range(nv)] for k in range(nv)]
    J = context.matrix([rates(q, unit) for unit in units]).T
    v = [*(context.matrix(v) - J.T * context.lu_solve(J * J.T, J * context.matrix(v)))]  # obeys the constraints
    step = context.mpf(10) ** -15
    sides = [exactly("integrate", q, [sign * step * x for x in v]) for sign in (1, -1)]
    ahead, back = (rates(side, v) for side in sides)
    M, h = exactly("mass_matrix", q), exactly("nonlinear_effects", q, v)
    count = J.rows
    whole, right = context.matrix(nv + count), context.matrix(nv + count, 1)
    for i in range(nv):
        right[i] = tau[i] - h[i]
        for j in range(nv):
            whole[i, j] = M[nv * i + j]
        for j in range(count):
            whole[nv + j, i], whole[i, nv + j] = J[j, i], -J[j, i]
    for j in range(count):
        right[nv + j] = -(ahead[j] - back[j]) / (2 * step)
    truth = context.lu_solve(whole, right)

    pairs = loop_pairs(held_by(model, constraints))
    assert pairs is not None
    entry, held = pairs.algorithm("child", False, False), held_by(model, constraints).placements
    given = [q, v, tau, None, [context.mpf(x) for x in held.ravel().tolist()], [context.mpf(0)] * 3]
    a, wrenches, _ = evaluate(entry, model, given, pairs.ends, exact_tree(model, context.mpf, pairs.ends))
    assert max(abs(x - y) for x, y in zip(a, truth[:nv], strict=True)) < 1e-24
    start = nv
    for k in range(len(constraints)):
        own = rows(q, k)
        for i in range(6):
            force = sum(row[i] * truth[start + n] for n, row in enumerate(own))
            assert abs(force - wrenches[6 * k + i]) < 1e-24
        start += len(own)
    speed = np.array([float(x) for x in v])
    close(
        lw.constrained_dynamics(
            model, np.array([float(x) for x in q]), speed, s.tau, constraints, method="virtual_work"
        )[0],
        [*map(float, a)],
        1e-9,
    )


def test_conditions_from_frames_have_the_same_bits_in_every_form() -> None:
    model, constraints = linked(1.0)
    s, pairs = state_of(model, 1, (3,)), loop_pairs(held_by(model, constraints))
    assert pairs is not None
    held = held_by(model, constraints).placements
    for stabilised, damped in ((True, False), (False, True)):
        entry = pairs.algorithm("world", stabilised, damped)
        given = [s.q, s.v, s.tau, s.f_ext, np.stack([held] * 3), np.array([[40.0, 400.0, 1e-3]] * 3)]
        given += [np.random.default_rng(2).normal(size=(3, len(constraints), 6))] if damped else []
        flat = [array.reshape(3, -1) for array in given]
        together, status = planned(task_of(entry, model, pairs.ends), "rolled").run(flat, 3)
        assert status == 0
        batch = interpret(entry, model, given, (3,), pairs.ends)
        for state in range(3):
            alone = evaluate(entry, model, [array[state].tolist() for array in flat], pairs.ends)
            for one, two, three in zip(together, batch, alone, strict=True):
                assert one[state].tobytes() == two[state].tobytes() == (np.array(three) + 0.0).tobytes()


@pytest.mark.parametrize("proximal", [0.0, 1e-6])
def test_many_loops_are_one_call_of_code_with_loops(proximal: float) -> None:
    """Of more than 50 bodies: in calls, in functions, and in steps over time."""
    model, constraints, _ = ladder(13)
    q, v, tau = lw.neutral(model), np.zeros(model.nv), np.random.default_rng(0).normal(size=model.nv)
    found = lw.constrained_dynamics(model, q, v, tau, constraints, method="virtual_work", proximal=proximal)
    expected = lw.constrained_dynamics(model, q, v, tau, constraints, proximal=proximal)
    for one, two in zip(found, expected, strict=True):
        close(one, two, 1e-9)
    if proximal:
        return
    text = lw.compile(
        lambda tau: lw.constrained_dynamics(model, q, v, tau, constraints, method="virtual_work")[0], tau=model.nv
    )
    assert text.text().count("call closed_motion") == 1 and len(text.program.operations) < 3000
    assert text(tau).tobytes() == found[0].tobytes()
    options: dict[str, Any] = {"constraints": constraints, "tau": tau, "friction_law": "stiction"}
    path = lw.rollout(model, q, v, dt=1e-3, steps=5, method="virtual_work", **options)
    slow = lw.simulate(model, q, v, 5e-3, 1e-3, method="virtual_work", **options)
    assert path.q.tobytes() == slow.q.tobytes()
    close(path.v[1], 1e-3 * found[0], 1e-9)


def test_steps_name_methods_that_they_do_not_have() -> None:
    model, constraints, _ = ladder(1)
    q, v = lw.neutral(model), np.zeros(model.nv)
    for step in (lw.rollout, lw.simulate):
        given: dict[str, Any] = {"steps": 2, "dt": 1e-3} if step is lw.rollout else {"duration": 2e-3, "dt": 1e-3}
        with pytest.raises(lw.ArgumentError, match="constraints are solved for by articulated_body, virtual_work"):
            step(model, q, v, constraints=constraints, method="composite_body", **given)
        with pytest.raises(lw.ArgumentError, match="method"):
            step(model, q, v, constraints=(), method="virtual", **given)


def test_what_is_wrong_is_said() -> None:
    model, constraints, q = pulled_bar()
    zero = np.zeros(model.nv)
    with pytest.raises(lw.errors.ArgumentError, match="method"):
        lw.constrained_dynamics(model, q, zero, zero, constraints, method="virtual")
    with pytest.raises(lw.errors.ArgumentError, match="frame"):
        lw.constrained_dynamics_and_reactions(model, q, zero, zero, constraints, frame="body")
    builder = lw.Builder()
    builder.add_body("rod", joint=lw.joints.Spherical(), mass=1.0, com=(0.1, 0, 0))
    point = builder.build()
    with pytest.raises(lw.errors.SingularError, match="'rod'"):
        lw.constrained_dynamics(
            point, lw.neutral(point), [0.0] * 3, [0.0] * 3, [lw.PointOnPlane("rod")], method="virtual_work"
        )
    with pytest.raises(lw.ArgumentError, match=r"Ball\('world', 'world'\) holds two places of the world to each other"):
        lw.constrained_dynamics(model, q, zero, zero, [lw.Ball("world", "world")], method="virtual_work")
    with lw.interpreted():
        a, wrenches, reactions = lw.constrained_dynamics_and_reactions(
            model, q, zero, zero, [], method="virtual_work", frame="world"
        )
    assert a.shape == (model.nv,) and wrenches.shape == (0, 6) and reactions.shape == (len(model.bodies), 6)


def test_the_experiment_measures_draws_and_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    small = measurements.Settings(
        loops=(1,),
        timed=False,
        counted=(1, 2),
        links=(2, 4),
        rungs=(1, 2),
        ropes=(1, 2),
        on_the_ground=(1, 2),
        contacts=(0, 1),
        links_on_the_ground=2,
    )
    monkeypatch.setattr(measurements.Settings, "quick", staticmethod(lambda: small))
    data = json.loads(json.dumps(parts.measure(*closed_chains.parts(True, lambda what: None), lambda what: None)))
    operations = data["operations"]
    assert operations["ladder"]["open"] == [1, 1] and operations["rope ladder"]["open"] == [1, 2]
    assert operations["snake"]["open"] == [0, 0]
    kept = json.loads((Path(__file__).parents[1] / "docs" / "data" / "closed-chains.json").read_text(encoding="utf-8"))
    assert max(kept["times"]["ladder"]["difference"]) < 1e-11
    for tree in ("chain", "star", "comb", "fork"):
        assert max(np.diff(kept["depth"][tree]["path"]["assembly"])) <= 64
    drawn: dict[str, Any] = {}
    monkeypatch.setattr(plots, "save", lambda picture, folder, name: drawn.setdefault(name, picture) and [])
    plots.draw(kept, Path())
    assert drawn.keys() == {"loops", "depth"}
    for picture in drawn.values():
        assert all(axes.get_xlabel() and axes.get_ylabel() for axes in picture.axes if axes.axison)
    (lines,) = (axes.get_lines() for axes in drawn["loops"].axes)
    assert np.allclose(lines[1].get_ydata(), np.array(kept["times"]["ladder"]["virtual_work"]) * 1e3)
    assert any("| rope ladder | 2 |" in table for table in closed_chains.tables(data).values())
