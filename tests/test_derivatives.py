"""Derivatives of dynamics: against differences with 50 digits, against each other, and by laws.

Pinocchio's are compared in test_pinocchio; that every form has the same bits is shown in test_bits and test_engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import mpmath
import numpy as np
import pytest

import linkwork as lw
from exact import exact_tree
from linkwork.algorithms import ALGORITHMS, REFERENCES
from linkwork.cli.count import counted
from linkwork.inside import evaluate
from linkwork.joints import Joint, Prismatic, Revolute, Spherical
from linkwork.model import Model
from linkwork.spatial import Columns, Coordinates, Motion, Quaternion, Subspace, Transform, Vec3, quaternion_exp
from linkwork.spatial.dual import Dual
from strategies import JOINTS, Array, State, close, few_kinds, pool, random_tree, state_of

context = mpmath.mp.clone()
context.dps = 50
STEP = context.mpf("1e-15")


@dataclass(frozen=True)
class Turret(Joint):
    """A user's own joint whose configuration is no plain vector and whose subspace varies with it: a ball joint with
    its angular velocity in the parent's axes.
    """

    nq, nv = 4, 3

    def transform(self, q: Coordinates) -> Transform:
        return Transform(Quaternion(*q).matrix(), Vec3.zero())

    def subspace(self, q: Coordinates) -> Subspace:
        rows = Quaternion(*q).matrix().transpose().columns()
        return Columns([Motion(Vec3.zero(), column) for column in rows])

    def neutral(self) -> list[float]:
        return [0.0, 0.0, 0.0, 1.0]

    def random(self, rng: np.random.Generator) -> list[float]:
        return [float(x) for x in Quaternion(*map(float, rng.normal(size=4))).normalized().numbers()]

    def integrate(self, q: Coordinates, dv: Coordinates) -> list[Any]:
        return (quaternion_exp(Vec3(*dv)) * Quaternion(*q)).normalized().numbers()


@cache
def trees() -> tuple[Model, ...]:
    """Small trees that among them hold every joint kind."""
    parts = [random_tree(500 + k, JOINTS[k::9], name=f"part{k}") for k in range(9)]
    return (*parts, random_tree(520, (Turret(), lw.joints.Prismatic("x"), Turret()), 3, name="turrets"))


def exactly(name: str, model: Model, arguments: Sequence[Any], frames: Sequence[str] = ()) -> list[Any]:
    """The results of an algorithm with 50 digits, as arrays of numbers; None stands for no external forces."""
    flat = [None if x is None else [context.mpf(y) for y in np.ravel(x)] for x in arguments]
    points = [model.frame(frame) for frame in frames]
    return [
        np.array(x) for x in evaluate(ALGORITHMS[name], model, flat, points, exact_tree(model, context.mpf, points))
    ]


def differences(function: Callable[[Any], Any], count: int) -> Any:
    """The derivatives of a function of ``count`` changes at zero, a column for each change."""
    columns = []
    for k in range(count):
        step = np.array([STEP if i == k else context.mpf(0) for i in range(count)])
        columns.append((function(step) - function(-step)) / (2 * STEP))
    return np.array(columns).T


def same(found: Any, expected: Any, what: str) -> None:
    """Equal up to the error of the model's rotations, which are orthogonal in float64 only."""
    size = max(0.1, *map(abs, expected.ravel()))
    worst = max(map(abs, (found.ravel() - expected.ravel())), default=0)
    assert worst < 1e-13 * size, f"{what}: off by {float(worst / size):.2g}"


@pytest.mark.parametrize("number", range(10))
def test_derivatives_equal_differences_with_50_digits(number: int) -> None:
    model = trees()[number]
    s = state_of(model, number)
    nv, frames = model.nv, [model.frame_names[-2]]

    def moved(change: Any) -> Any:
        return exactly("integrate", model, [s.q, change])[0]

    def by(name: str, rest: Sequence[Any], varied: int, asked: Sequence[str] = ()) -> Any:
        """The derivative with respect to q (0) or another argument."""
        given = [s.q, *rest]

        def function(change: Any) -> Any:
            now = list(given)
            now[varied] = moved(change) if varied == 0 else given[varied] + change
            return np.concatenate([x.ravel() for x in exactly(name, model, now, asked)])

        return differences(function, nv)

    def check(derivatives: str, function: str, rest: Sequence[Any], asked: Sequence[str] = ()) -> None:
        for k, found in enumerate(exactly(derivatives, model, [s.q, *rest], asked)):
            same(found, by(function, rest, k, asked), f"{derivatives}, {k}")

    check("inverse_dynamics_derivatives", "inverse_dynamics", (s.v, s.a, s.f_ext))
    check("forward_dynamics_derivatives", "articulated_body", (s.v, s.tau, s.f_ext))
    check("momentum_derivatives", "momentum", (s.v,))
    reference = REFERENCES[number % 3]
    check(f"frame_velocity_derivatives/{reference}", f"frame_velocities/{reference}", (s.v,), frames)
    check(f"frame_acceleration_derivatives/{reference}", f"frame_accelerations/{reference}", (s.v, s.a), frames)


@cache
def states() -> tuple[State, ...]:
    return tuple(state_of(model, 3, (2,) if k % 2 else ()) for k, model in enumerate((*pool(), *trees())))


@pytest.mark.parametrize("number", range(len(pool()) + 10))
def test_products_are_those_of_the_matrices(number: int) -> None:
    with lw.interpreted():
        s = states()[number]
        model, everything = s.model, ("f_ext", "parameters")

        def times(matrix: Array, x: Array) -> Array:
            return np.squeeze(matrix @ x.reshape(*s.batch, -1, 1), -1)

        def weighed(matrix: Array) -> Array:
            return np.squeeze(s.weights[..., None, :] @ matrix, -2)

        dq, dv, M = lw.inverse_dynamics_derivatives(model, s.q, s.v, s.a, s.f_ext)
        Y = lw.torque_regressor(model, s.q, s.v, s.a)
        loads = lw.inverse_dynamics(model, s.q, s.v, s.a, s.f_ext + s.df_ext) - lw.inverse_dynamics(
            model, s.q, s.v, s.a, s.f_ext
        )
        change = times(dq, s.dq) + times(dv, s.dv) + times(M, s.da) + loads
        arguments = (model, s.q, s.v, s.a, s.dq, s.dv, s.da, s.f_ext, s.df_ext)
        close(lw.inverse_dynamics_jvp(*arguments), change, 1e-12)
        close(lw.inverse_dynamics_jvp(*arguments, s.dparameters), change + times(Y, s.dparameters), 1e-12)
        found = lw.inverse_dynamics_vjp(model, s.q, s.v, s.a, s.weights, s.f_ext, ("q", "v", "a", *everything))
        for result, matrix in zip(found, (dq, dv, M, None, Y), strict=True):
            if matrix is None:
                close(
                    (result * s.df_ext).sum((-2, -1)), (s.weights * loads).sum(-1), 1e-9, abs(s.weights * loads).max()
                )
            else:
                close(result.reshape(*s.batch, -1), weighed(matrix), 1e-12)

        aq, av, Minv = lw.forward_dynamics_derivatives(model, s.q, s.v, s.tau, s.f_ext)
        a = lw.forward_dynamics(model, s.q, s.v, s.tau, s.f_ext)
        aY = -Minv @ lw.torque_regressor(model, s.q, s.v, a)
        change = times(aq, s.dq) + times(av, s.dv) + times(Minv, s.dtau - loads_at(s, a))
        arguments = (model, s.q, s.v, s.tau, s.dq, s.dv, s.dtau, s.f_ext, s.df_ext)
        close(lw.forward_dynamics_jvp(*arguments), change, 1e-10)
        close(lw.forward_dynamics_jvp(*arguments, s.dparameters), change + times(aY, s.dparameters), 1e-10)
        names = ("parameters", "tau", "v", "q")
        found = lw.forward_dynamics_vjp(model, s.q, s.v, s.tau, s.weights, s.f_ext, names)
        for result, matrix in zip(found, (aY, Minv, av, aq), strict=True):
            close(result.reshape(*s.batch, -1), weighed(matrix), 1e-10)


def loads_at(s: State, a: Array) -> Array:
    """The joint forces due to a change of the external forces."""
    changed, plain = (lw.inverse_dynamics(s.model, s.q, s.v, a, f) for f in (s.f_ext + s.df_ext, s.f_ext))
    return changed - plain


@pytest.mark.parametrize("number", range(len(pool()) + 10))
def test_laws_of_derivatives(number: int) -> None:
    with lw.interpreted():
        s = states()[number]
        model = s.model
        _, dv, M = lw.inverse_dynamics_derivatives(model, s.q, s.v, s.a, s.f_ext)
        close(M, lw.mass_matrix(model, s.q), 1e-13)
        # forces are quadratic in the velocity, so that Euler's theorem holds
        moving = lw.nonlinear_effects(model, s.q, s.v) - lw.gravity_torques(model, s.q)
        close(np.squeeze(dv @ s.v[..., None], -1), 2.0 * moving, 1e-12, abs(dv).max())
        # the derivative of T along the motion is the power of the inertial forces
        h = 1e-6
        there, here = (lw.energy(model, lw.integrate(model, s.q, x * s.v), s.v)[0] for x in (h, -h))
        power = (s.v * moving).sum(-1)
        close(power, (s.v * np.squeeze(dv @ s.v[..., None], -1)).sum(-1) / 2.0, 1e-12, abs(s.v).max() * abs(dv).max())
        close((there - here) / (2.0 * h), power, 1e-6, abs(power).max() + 1.0)
        Minv = lw.mass_matrix_inverse(model, s.q)
        assert np.array_equal(Minv, np.swapaxes(Minv, -1, -2))
        close(Minv @ M, np.broadcast_to(np.eye(model.nv), M.shape), 1e-9)
        pi = model.inertial_parameters.ravel()
        tau = lw.torque_regressor(model, s.q, s.v, s.a) @ pi + model.armature * s.a
        close(tau, lw.inverse_dynamics(model, s.q, s.v, s.a), 1e-12)


def test_joints_give_way_to_what_was_rounded_before_them() -> None:
    """Otherwise errors accumulate along a rope: 1.4e-12 in the last joints' own M⁻¹."""
    model = lw.mechanisms.rope(12)
    q, _ = lw.random_state(model, np.random.default_rng(0))
    (found,) = evaluate(ALGORITHMS["mass_matrix_inverse"], model, [q.tolist()])
    exact = [[context.mpf(x) for x in q.tolist()]]
    (truth,) = evaluate(ALGORITHMS["mass_matrix_inverse"], model, exact, (), exact_tree(model, context.mpf))
    error = np.array([float(x - t) for x, t in zip(found, truth, strict=True)]).reshape(model.nv, model.nv)
    size = np.sqrt(np.array(found, dtype=float)[:: model.nv + 1])
    assert (abs(error) / np.outer(size, size)).max() < 1e-13


def test_what_is_zero_by_structure_is_zero() -> None:
    model = pool()[0]
    related = np.zeros((model.nv, model.nv), dtype=bool)
    behind = np.zeros((model.nv, 10 * len(model.bodies)), dtype=bool)
    for j, body in enumerate(model.bodies):
        i: int = j
        while i >= 0:
            rows, columns = (slice(model.v_start[k], model.v_start[k] + model.bodies[k].joint.nv) for k in (i, j))
            related[rows, columns] = related[columns, rows] = True
            behind[rows, 10 * j : 10 * j + 10] = True
            i = model.bodies[i].parent - 1
        assert i == -1 and body.name
    s = state_of(model, 1)
    with lw.interpreted():
        for matrix in lw.inverse_dynamics_derivatives(model, s.q, s.v, s.a, s.f_ext):
            assert not matrix[~related].any() and matrix[related].any()
        assert not lw.torque_regressor(model, s.q, s.v, s.a)[~behind].any()


def test_a_free_root_may_be_anywhere() -> None:
    """Derivatives are computed in the root's own frame, so that not a bit depends on its pose."""
    model = lw.mechanisms.humanoid(floating_base=True)
    s = state_of(model, 4)
    far = s.q.copy()
    far[:3] += 1e9
    with lw.interpreted():
        for near, there in zip(
            lw.inverse_dynamics_derivatives(model, s.q, s.v, s.a),
            lw.inverse_dynamics_derivatives(model, far, s.v, s.a),
            strict=True,
        ):
            assert np.array_equal(near, there)


@pytest.mark.parametrize("wrt", [("parameters",), ("f_ext", "q"), ("tau", "parameters", "v", "f_ext")], ids=str)
def test_any_choice_of_arguments_has_the_same_bits_in_every_form(wrt: tuple[str, ...]) -> None:
    model = random_tree(530, (lw.joints.Revolute("z"), lw.joints.Prismatic("x")), 3)
    s = state_of(model, 5, (3,))
    with lw.interpreted():
        expected = lw.forward_dynamics_vjp(model, s.q, s.v, s.tau, s.weights, s.f_ext, wrt)
    whole = dict(
        zip(("q", "v", "tau"), lw.forward_dynamics_vjp(model, s.q, s.v, s.tau, s.weights, s.f_ext), strict=True)
    )
    for name, result in zip(wrt, expected, strict=True):
        assert name not in whole or np.array_equal(result, whole[name])
    for name in ("straight", "looped"):
        with lw.form(name):
            found = lw.forward_dynamics_vjp(model, s.q, s.v, s.tau, s.weights, s.f_ext, wrt)
        for result, numbers in zip(found, expected, strict=True):
            assert np.array_equal(result, numbers)
    out = tuple(np.empty_like(x) for x in expected)
    assert lw.forward_dynamics_vjp(model, s.q, s.v, s.tau, s.weights, s.f_ext, list(wrt), out=out) is out
    for result, numbers in zip(out, expected, strict=True):
        assert np.array_equal(result, numbers)


@pytest.mark.parametrize(
    "joints",
    [(Revolute("y"), Prismatic((1.0, 2.0, 2.0))), (*[Revolute("z")] * 5, Spherical())],
    ids=["one_degree_of_freedom", "others_in_between"],
)
def test_rows_that_are_found_side_by_side_have_the_bits_of_single_ones(joints: tuple[Joint, ...]) -> None:
    model = random_tree(546, joints, 11)
    s = state_of(model, 3, (5,))
    functions: list[tuple[Callable[..., Any], Sequence[Array]]] = [
        (lambda *given: (lw.mass_matrix_inverse(*given),), (s.q,)),
        (lw.forward_dynamics_derivatives, (s.q, s.v, s.tau)),
        (partial(lw.linearise, dt=0.01), (s.q, s.v, s.tau)),
    ]
    for function, arguments in functions:
        with lw.form("looped"):
            with lw.interpreted():
                expected = function(model, *arguments)
            batch, one = function(model, *arguments), function(model, *(x[2] for x in arguments))
        for each, alone, numbers in zip(batch, one, expected, strict=True):
            assert np.array_equal(each, numbers) and np.array_equal(alone, numbers[2])


def test_forces_that_are_left_out_are_zero() -> None:
    model, s = few_kinds(), state_of(few_kinds(), 2)
    none = 0.0 * s.f_ext
    with lw.interpreted():
        expected = lw.inverse_dynamics_jvp(model, s.q, s.v, s.a, s.dq, 0 * s.v, 0 * s.v, none, s.df_ext)
        assert np.array_equal(lw.inverse_dynamics_jvp(model, s.q, s.v, s.a, s.dq, df_ext=s.df_ext), expected)
        expected = lw.inverse_dynamics_jvp(model, s.q, s.v, s.a, s.dq, 0 * s.v, 0 * s.v, s.f_ext, none)
        assert np.array_equal(lw.inverse_dynamics_jvp(model, s.q, s.v, s.a, s.dq, f_ext=s.f_ext), expected)


def test_points_ask_for_some_of_the_rows() -> None:
    model = few_kinds()
    s = state_of(model, 6)
    point = lw.Point(model.frame_names[-2], (0.1, 0.2, 0.3), "rotation")
    whole = lw.Point(point.frame, point.offset)
    with lw.interpreted():
        found = lw.frame_acceleration_derivatives(model, s.q, s.v, s.a, [point])
        every = lw.frame_acceleration_derivatives(model, s.q, s.v, s.a, [whole])
    assert all(np.array_equal(x, y[3:]) for x, y in zip(found, every, strict=True))


@pytest.mark.parametrize("wrt", ["q", [], ["q", "a"], ["q", "q"], [1], None, ("tau", "mass")], ids=str)
def test_a_wrong_choice_of_arguments_is_named(wrt: Any) -> None:
    model, s = few_kinds(), state_of(few_kinds(), 2)
    with pytest.raises(lw.ArgumentError, match="wrt must"):
        lw.forward_dynamics_vjp(model, s.q, s.v, s.tau, s.weights, wrt=wrt)


def test_inertial_parameters_go_round() -> None:
    for model in (few_kinds(), lw.mechanisms.humanoid()):
        again = lw.with_inertial_parameters(model, model.inertial_parameters)
        assert again == model and again.inertial_parameters.shape == (len(model.bodies), 10)
    pendulum = lw.mechanisms.pendulum()
    body = pendulum.bodies[0].inertia
    m, h, i = body.mass, body.moment, body.second
    assert pendulum.inertial_parameters.tolist() == [[m, h.x, h.y, h.z, i.xx, i.xy, i.yy, i.xz, i.yz, i.zz]]


def test_wrong_inertial_parameters_are_refused_with_the_body_s_name() -> None:
    model = few_kinds()
    good = model.inertial_parameters
    for wrong in (good[:-1], good[:, :9], good.ravel(), "masses"):
        with pytest.raises(lw.ArgumentError, match="parameters"):
            lw.with_inertial_parameters(model, wrong)
    with pytest.raises(lw.ArgumentError, match="finite"):
        lw.with_inertial_parameters(model, np.where(good == good[1, 0], np.nan, good))
    heavy = good.copy()
    heavy[2, 0] = -1.0
    with pytest.raises(lw.ModelError, match=repr(model.body_names[2])):
        lw.with_inertial_parameters(model, heavy)
    hollow = good.copy()
    hollow[1, 4:] = -0.5
    with pytest.warns(lw.LinkworkWarning, match=repr(model.body_names[1])):
        lw.with_inertial_parameters(model, hollow)
    with pytest.raises(lw.ArgumentError, match="model must"):
        lw.with_inertial_parameters("arm", good)  # type: ignore[arg-type]


def test_a_joint_without_inertia_is_named() -> None:
    builder = lw.Builder("light")
    builder.add_body("arm", joint=lw.joints.Revolute("z"), mass=1.0, com=(0.5, 0.0, 0.0))
    builder.add_body("ghost", "arm", lw.joints.Revolute("x"))
    model = builder.build()
    with lw.interpreted():
        for function in (lw.forward_dynamics_derivatives, lw.forward_dynamics_jvp):
            with pytest.raises(lw.SingularError, match="joint_ghost"):
                function(model, [0.1, 0.2], [0.0, 0.0], [0.0, 0.0])
        with pytest.raises(lw.SingularError, match="joint_ghost"):
            lw.mass_matrix_inverse(model, [0.1, 0.2])


@pytest.mark.parametrize("name", ["serial_chain:8", "humanoid"])
def test_products_cost_a_few_times_the_function(name: str) -> None:
    model = lw.mechanisms.by_name(name)

    def operations(algorithm: str) -> int:
        return counted(ALGORITHMS[algorithm], model, [])["total"]

    for function, products in (("inverse_dynamics", "inverse_dynamics"), ("articulated_body", "forward_dynamics")):
        for product in ("vjp", "jvp"):
            assert operations(f"{products}_{product}") < 3 * operations(function)


def test_dual_numbers_differentiate() -> None:
    x, y = 0.7, 1.3

    def function(x: Any, y: Any) -> Any:
        sine, cosine = lw.spatial.sin_cos(x * y)
        far = lw.spatial.where_less(x, y, lw.spatial.sqrt(1.0 + x * x), y)
        return 2.0 - sine / (3.0 - cosine) + far * lw.spatial.atan2(y, x) - 1.0 / (x - 5.0)

    h = 1e-6
    found = function(Dual(x, 1.0), y), function(x, Dual(y, 1.0))
    assert found[0].value == found[1].value == function(x, y)
    assert found[0].rate == pytest.approx((function(x + h, y) - function(x - h, y)) / (2 * h), rel=1e-8)
    assert found[1].rate == pytest.approx((function(x, y + h) - function(x, y - h)) / (2 * h), rel=1e-8)
    arrays = function(Dual(np.array([x, 2.0]), 1.0), np.array([y, y]))
    assert arrays.value[0] == function(x, y) and arrays.rate[0] == found[0].rate
    assert function(np.array([x]), Dual(y, 1.0)).rate[0] == found[1].rate
