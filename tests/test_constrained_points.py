"""Operational space under loops, supports and grasps: against dense projections in 50 digits, constrained dynamics, and
laws of projections.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.linalg import null_space

import linkwork as lw
from exact import exact_tree
from linkwork.algorithms import ALGORITHMS
from linkwork.inside import evaluate
from linkwork.model import Model
from strategies import Array, close

context = mpmath.mp.clone()
context.dps = 50
FEET = ["left5", "right5"]
HAND = lw.Point("hand", axes="position")


@cache
def standing() -> tuple[Model, Array, Array]:
    """A trunk on two legs of six hinges, with an arm of three, in a state in which its feet rest."""
    builder = lw.Builder("standing")
    trunk = builder.add_body("trunk", joint=lw.joints.Free(), mass=5.0, com=(0.02, 0, 0.1), inertia=(0.1, 0.2, 0.3))
    solid: dict[str, Any] = {"mass": 0.6, "com": (0, 0.01, -0.05), "inertia": (0.01, 0.02, 0.01)}
    for name, axes, y in (("left", "zxyyyx", 0.1), ("right", "zxyyyx", -0.1), ("arm", "yxy", 0.0)):
        last = trunk
        for k, axis in enumerate(axes):
            place = lw.placement((0.02, y if k == 0 else 0.01, -0.2), (0.1, 0.2, 0.1 * k))
            last = builder.add_body(f"{name}{k}", last, lw.joints.Revolute(axis), place, **solid)
    builder.add_frame("hand", last, lw.placement((0.1, 0.0, -0.2), (0.3, 0.1, 0.0)))
    model = builder.build()
    q, _ = lw.random_state(model, 5)
    with lw.interpreted():
        free = null_space(lw.jacobian(model, q, FEET))
    return model, q, free @ np.random.default_rng(2).normal(size=free.shape[1])


def welds(model: Model, q: Array) -> list[lw.Constraint]:
    return [lw.Weld.at(model, q, foot) for foot in FEET]


def corners(model: Model, q: Array) -> list[lw.Constraint]:
    """Each foot on the ground by four of its corners: 24 rows of rank 12."""
    points = [lw.Point(foot, (x, y, -0.03)) for foot in FEET for x in (-0.05, 0.1) for y in (-0.04, 0.04)]
    return [lw.Ball.at(model, q, point) for point in points]


def exactly(model: Model, q: Array, v: Array, point: lw.Point, feet: list[str]) -> list[Array]:
    """The seven arrays of the operational space, by dense projections in 50 digits."""
    names = [point.frame, *feet]
    frames = [model.frame(name) for name in names]
    tree = exact_tree(model, context.mpf, frames)
    zero = [context.mpf(0)] * model.nv
    state = [[context.mpf(x) for x in array.tolist()] for array in (q, v)]

    def matrix(name: str, *arguments: Any, rows: int) -> Any:
        (numbers,) = evaluate(ALGORITHMS[name], model, list(arguments), frames, tree)
        return context.matrix(rows, len(numbers) // rows) + context.matrix(
            [numbers[len(numbers) // rows * r : len(numbers) // rows * (r + 1)] for r in range(rows)]
        )

    nv, rows = model.nv, 6 * len(names)
    M, J = matrix("mass_matrix", state[0], rows=nv), matrix("jacobian/local", state[0], rows=rows)
    drift = matrix("jacobian_drift/local", *state, rows=rows)
    falling = matrix("inverse_dynamics", state[0], zero, zero, None, rows=nv)
    moving = matrix("inverse_dynamics", *state, zero, None, rows=nv) - falling
    own = [0, 1, 2]
    K, J = J[6:rows, 0:nv], J[0:3, 0:nv]
    rate, velocity = drift[6:rows, 0], K * context.matrix(state[1])
    for k in range(0, rows - 6, 6):  # the classical acceleration
        a, b = velocity[k : k + 3, 0], velocity[k + 3 : k + 6, 0]
        for i in own:
            rate[k + i] += b[(i + 1) % 3] * a[(i + 2) % 3] - b[(i + 2) % 3] * a[(i + 1) % 3]
    inverse = M**-1
    share = J * inverse * K.T * (K * inverse * K.T) ** -1
    across = J - share * K
    carried = drift[0:3, 0] - share * rate
    mobility = across * inverse * across.T
    inertia = mobility**-1
    consistent = inverse * across.T * inertia
    coriolis, gravity = inertia * (across * inverse * moving - carried), inertia * across * inverse * falling
    found = across, carried, mobility, inertia, consistent, coriolis, gravity
    return [np.array(each.tolist(), dtype=np.float64).reshape(-1, each.cols).squeeze() for each in found]


def arrays(space: lw.OperationalSpace) -> list[Array]:
    return list(vars(space).values())


@pytest.mark.parametrize("how", ["compiled", "interpreted", "corners"])
def test_two_feet_against_dense_projections_in_50_digits(how: str) -> None:
    model, q, v = standing()
    held = corners(model, q) if how == "corners" else welds(model, q)
    with lw.form("interpreted" if how == "corners" else "auto" if how == "compiled" else how):
        space = lw.operational_space(model, q, v, [HAND], constraints=held)
    for found, exact in zip(arrays(space), exactly(model, q, v, HAND, FEET), strict=True):
        close(found, exact, 1e-11)


@cache
def five_bar() -> tuple[Model, list[lw.Constraint], Array]:
    builder = lw.Builder("five bar")
    bar: dict[str, Any] = {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": (0.01, 0.1, 0.1)}
    ends = []
    for k, x in enumerate((0.0, 1.0)):
        upper = builder.add_body(f"upper{k}", joint=lw.joints.Revolute("z"), placement=lw.placement((x, 0, 0)), **bar)
        lower = builder.add_body(f"lower{k}", upper, lw.joints.Revolute("z"), lw.placement((1, 0, 0)), **bar)
        ends.append(builder.add_frame(f"end{k}", lower, lw.placement((1, 0, 0))))
    model = builder.build()
    closed: list[lw.Constraint] = [lw.Ball("end0", "end1")]
    q = lw.close_loops(model, [2.2, -1.2, 0.9, 1.2], closed)
    return model, closed, q


def test_forces_at_a_loop_accelerate_its_point_as_told() -> None:
    """A planar loop: a ball holds three numbers there, of which one never moves."""
    model, closed, q = five_bar()
    rows = (
        lw.jacobian(model, q, ["end0"])[:2]
        - (np.linalg.inv(pose := lw.forward_kinematics(model, q, ["end0", "end1"]))[0] @ pose[1])[:2, :2]
        @ lw.jacobian(model, q, ["end1"])[:2]
    )
    v = null_space(rows) @ [0.7, -0.4]
    for point, axes in (("end0", [0, 1]), ("lower1", [0, 1])):
        at = lw.Point(point, (0.1, 0.2, 0.0), "position")
        space = lw.operational_space(model, q, v, [at], constraints=closed, pseudo_inverse=True)
        wanted = np.array([0.3, -1.1, 0.0])
        idle = space.null_space_torque([1.0, 2.0, -1.0, 0.5])
        tau = space.torque(space.force(wanted)) + idle
        a, _ = lw.constrained_dynamics(model, q, v, tau, closed, proximal=1e-6)
        reached = lw.jacobian(model, q, [at]) @ a + lw.jacobian_drift(model, q, v, [at])
        assert np.allclose(reached[axes], wanted[axes], atol=1e-8)
    with pytest.raises(lw.SingularError, match=r"only 2 independently under the constraints Ball\('end0', 'end1'\)"):
        lw.operational_space(model, q, v, [at], constraints=closed)


def test_the_points_accelerate_as_told_and_the_rest_changes_nothing() -> None:
    model, q, v = standing()
    held, rng = welds(model, q), np.random.default_rng(3)
    for reference in ("local", "world", "local_world_aligned"):
        with lw.interpreted():
            space = lw.operational_space(model, q, v, [HAND], reference=reference, constraints=held)
            wanted = rng.normal(size=3)
            tau = space.torque(space.force(wanted)) + space.null_space_torque(rng.normal(size=model.nv))
            a, _ = lw.constrained_dynamics(model, q, v, tau, held)
            J = lw.jacobian(model, q, [HAND], reference)
            drift = lw.jacobian_drift(model, q, v, [HAND], reference)
        assert np.allclose(J @ a + drift, wanted, atol=1e-8)
        assert np.allclose(space.jacobian @ a + space.drift, wanted, atol=1e-8)


def test_projections_are_consistent() -> None:
    """Idempotent, self-adjoint in the metric of M⁻¹, blind to the constraints; forces at two points are reciprocal."""
    model, q, v = standing()
    held = welds(model, q)
    with lw.interpreted():
        space = lw.operational_space(model, q, v, [HAND], constraints=held)
        M, K = lw.mass_matrix(model, q), lw.jacobian(model, q, FEET)
    inverse, J, B = np.linalg.inv(M), space.jacobian, space.consistent_inverse
    N = np.eye(model.nv) - J.T @ B.T
    close(N @ N, N, 1e-11)
    close(inverse @ N, (inverse @ N).T, 1e-11)
    close(J @ B, np.eye(3), 1e-11)
    assert abs(K @ B).max() < 1e-11 and abs(K @ inverse @ J.T).max() < 1e-11
    assert abs(J @ inverse @ N).max() < 1e-11
    S = null_space(K)  # the motions that the feet allow: J of these is the same
    with lw.interpreted():
        close(J @ S, lw.jacobian(model, q, [HAND]) @ S, 1e-11)
        points = [HAND, lw.Point("trunk", (0.1, 0.0, 0.2), "position")]
        mobility = lw.operational_inertia_inverse(model, q, points, constraints=held)
        free = lw.operational_inertia_inverse(model, q, points)
    assert np.array_equal(mobility, mobility.T)
    assert np.linalg.eigvalsh(free - mobility).min() > -1e-12  # nothing moves more easily for being held
    for k in range(6):  # the acceleration of one point by a force at another, by constrained dynamics
        with lw.interpreted():
            rows = lw.jacobian(model, q, points)
            weightless = model.with_gravity((0.0, 0.0, 0.0))
            a, _ = lw.constrained_dynamics(weightless, q, 0 * v, rows[k], held)
        assert np.allclose(rows @ a, mobility[:, k], atol=1e-10)


def test_all_functions_agree_and_batches_have_the_bits_of_single_states() -> None:
    model, q, v = standing()
    held = welds(model, q)
    space = lw.operational_space(model, q, v, [HAND], constraints=held)
    Q = lw.integrate(model, q, 0.1 * np.random.default_rng(4).normal(size=(3, model.nv)))
    Q[1], V = q, np.array([0 * v, v, -v])
    several = lw.operational_space(model, Q, V, [HAND], constraints=held)
    again = lw.operational_space(model, Q, V, [HAND], constraints=held, out=several)
    assert again is several
    for one, many in zip(arrays(space), arrays(several), strict=True):
        assert np.array_equal(one, many[1])
    tau = np.arange(float(model.nv))
    with lw.interpreted():
        close(lw.operational_inertia(model, q, [HAND], constraints=held), space.inertia, 1e-11)
        close(lw.operational_inertia_inverse(model, q, [HAND], constraints=held), space.inertia_inverse, 1e-11)
        B = lw.dynamically_consistent_inverse(model, q, [HAND], constraints=held)
        close(B, space.consistent_inverse, 1e-11)
        close(lw.null_space_torque(model, q, tau, [HAND], constraints=held), space.null_space_torque(tau), 1e-11)
        mu, p = lw.operational_bias(model, q, v, [HAND], constraints=held)
        close(mu, space.coriolis, 1e-11)
        close(p, space.gravity, 1e-11)
        mass = lw.effective_mass(model, q, HAND, [1.0, 2.0, 0.0], constraints=held)
        u = np.array([1.0, 2.0, 0.0]) / np.sqrt(5.0)
        assert abs(mass * (u @ space.inertia_inverse @ u) - 1.0) < 1e-11
        assert lw.effective_mass(model, q, "left5", [1.0, 0.0, 0.0], constraints=held) == np.inf
        free = lw.operational_inertia(model, q, [HAND], constraints=[])
        assert np.array_equal(free, lw.operational_inertia(model, q, [HAND]))


def test_points_and_placements_may_move_without_new_code() -> None:
    model, _, q = five_bar()
    at = [lw.Point("lower0", (0.2 * k, 0.1, 0.0), "position") for k in range(3)]
    for k, point in enumerate(at):
        shifted = [lw.Ball("end0", "end1", lw.placement((0.01 * k, 0.0, 0.0)))]
        here = lw.close_loops(model, q, shifted)
        found = lw.operational_inertia_inverse(model, here, [point], constraints=shifted)
        with lw.interpreted():
            close(found, lw.operational_inertia_inverse(model, here, [point], constraints=shifted), 1e-12)


def test_gears_are_constraints_too() -> None:
    arm = lw.mechanisms.serial_chain(3, joint=lw.joints.Revolute("y"))
    first, second, _ = arm.joint_names
    gears = [lw.Coupling(second, first, ratio=-0.5)]
    q, tip = [0.3, -0.15, 0.4], [lw.Point("tip", axes="position")]
    inverse = lw.operational_inertia_inverse(arm, q, tip, constraints=gears)
    S = np.array([[1.0, 0.0], [-0.5, 0.0], [0.0, 1.0]])
    J = lw.jacobian(arm, q, tip) @ S
    close(inverse, J @ np.linalg.solve(S.T @ lw.mass_matrix(arm, q) @ S, J.T), 1e-11)


def test_nearly_dependent_rows_are_judged_by_eigenvalues() -> None:
    """Two balls beside each other are one ball if they are as near as rounding, and otherwise hold the rotation."""
    model, closed, q = five_bar()
    at = [lw.Point("end0", axes="position")]
    one, both = (
        lw.operational_inertia_inverse(model, q, at, constraints=held)
        for held in (closed, [lw.Weld.at(model, q, "end0", "end1")])
    )
    assert abs(one - both).max() > 0.1
    for gap, right in ((0.0, one), (1e-8, one), (1e-4, both), (0.1, both)):
        twice = [*closed, lw.Ball.at(model, q, lw.Point("end0", (gap, 0.0, 0.0)), "end1")]
        close(lw.operational_inertia_inverse(model, q, at, constraints=twice), right, 1e-6)


def test_what_cannot_be_is_refused_by_name() -> None:
    model, q, v = standing()
    held = welds(model, q)
    with pytest.raises(lw.ArgumentError, match="has no frame named 'left6'"):
        lw.operational_space(model, q, v, [HAND], constraints=[lw.Weld("left6")])
    with pytest.raises(lw.ArgumentError, match=r"constraints must hold lw\.Weld"):
        lw.operational_inertia(model, q, [HAND], constraints=["left5"])  # type: ignore[list-item]
    with pytest.raises(lw.ArgumentError, match="no joint moves; leave it out"):
        lw.operational_inertia(model, q, [HAND], constraints=[lw.Weld("hand", "arm2")])
    with lw.interpreted(), pytest.raises(lw.SingularError, match="can move only 0 independently under the constraints"):
        lw.operational_inertia(model, q, ["left5"], constraints=held)
    with lw.interpreted():
        assert not lw.operational_inertia(model, q, ["left5"], constraints=held, pseudo_inverse=True).any()
        inverse = lw.operational_inertia_inverse(model, q, ["left5"], constraints=held)
        damped = lw.operational_inertia(model, q, ["left5"], constraints=held, damping=0.5)
    assert not inverse.any() and np.allclose(damped, 2.0 * np.eye(6))


def test_constraints_that_another_thread_adds_meanwhile_are_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of a model's constraints grows while it is searched for constraints of the same kinds."""
    arm, kind, added = lw.mechanisms.serial_chain(2), lw.Ball.kind, list[lw.Ball]()

    def motion(ball: lw.Ball) -> Array:
        return lw.constrained_dynamics(arm, [0.1, 0.2], [0.0, 0.0], [0.0, 0.0], [ball], proximal=1e-6)[0]

    def meanwhile(self: lw.Ball) -> object:
        with monkeypatch.context() as while_adding:
            while_adding.setattr(lw.Ball, "kind", kind)
            added.append(lw.Ball("tip"))
            motion(added[-1])
        return kind(self)

    with lw.interpreted():
        first = motion(lw.Ball("tip"))
        monkeypatch.setattr(lw.Ball, "kind", meanwhile)
        assert np.array_equal(motion(lw.Ball("tip")), first) and added
