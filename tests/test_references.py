"""Reference trajectories, and the rotations beneath them."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation, Slerp

import linkwork as lw
from linkwork.control.rotations import _coefficients, angular_motion, coordinate_rate, exp, log

RNG = np.random.default_rng(7)
H = 1e-4  # s, of differences


def pose(position: object, turn: object) -> np.ndarray:
    result = np.eye(4)
    result[:3, :3], result[:3, 3] = Rotation.from_rotvec(turn).as_matrix(), position
    return result


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-6, 0.3, 0.7, 0.8, 2.0, 3.0, np.pi - 1e-9, np.pi])
def test_exponential_and_logarithm(angle: float) -> None:
    for _ in range(20):
        axis = RNG.normal(size=3)
        turn = angle * axis / np.linalg.norm(axis)
        matrix = exp(tuple(turn))
        assert abs(matrix - Rotation.from_rotvec(turn).as_matrix()).max() < 1e-14
        back = np.array(log(matrix))
        other = abs(back + turn).max() if angle == np.pi else np.inf  # half a turn has two vectors
        assert min(abs(back - turn).max(), other) < 5e-14


def test_the_coefficients_are_exact_on_both_sides_of_the_series() -> None:
    with mpmath.workdps(80):
        for angle in ("1e-9", "0.01", "0.5", "0.7071", "0.7072", "1.5", "3.1"):
            x = mpmath.mpf(angle)
            s, c = mpmath.sin(x), mpmath.cos(x)
            truth = (
                (1 - c) / x**2,
                (x - s) / x**3,
                (x * s - 2 * (1 - c)) / x**4,
                (3 * s - x * c - 2 * x) / x**5,
            )
            for mine, right in zip(_coefficients(float(x) ** 2), truth, strict=True):
                assert abs(mine / float(right) - 1.0) < 1e-12


def test_angular_motion_is_the_derivative_of_the_rotation() -> None:
    for scale in (1e-4, 0.5, 1.0, 3.0):
        c0, c1, c2 = scale * RNG.normal(size=3) / 2, RNG.normal(size=3), RNG.normal(size=3)
        omega, change = angular_motion(tuple(c0), tuple(c1), tuple(c2))

        def turning(t: float, c: tuple[np.ndarray, ...] = (c0, c1, c2)) -> np.ndarray:  # from R(t+H) R(t-H)ᵀ
            ahead, behind = (Rotation.from_rotvec(c[0] + c[1] * s + c[2] * s * s / 2) for s in (t + H, t - H))
            return (ahead * behind.inv()).as_rotvec() / (2 * H)

        assert abs(turning(0.0) - omega).max() < 1e-7
        assert abs((turning(H) - turning(-H)) / (2 * H) - change).max() < 1e-5
        assert abs(np.array(coordinate_rate(tuple(c0), omega)) - c1).max() < 1e-12


REFERENCES = {
    "spline of vectors": lw.control.CubicSpline([0.0, 0.4, 1.0], RNG.normal(size=(3, 4))),
    "spline of rotations": lw.control.CubicSpline([0.0, 0.4, 1.0], Rotation.random(3, rng=3).as_matrix()),
    "spline of poses": lw.control.CubicSpline([0.0, 0.4, 1.0], [pose(*RNG.normal(size=(2, 3))) for _ in range(3)]),
    "minimum jerk of vectors": lw.control.MinimumJerk([0.0, 1.0], [2.0, -1.0], 1.0),
    "minimum jerk of poses": lw.control.MinimumJerk(pose([0, 0, 1], [1, 0, 2]), pose([1, 0, 1], [0, 1, 1]), 1.0),
}


@pytest.mark.parametrize("reference", REFERENCES.values(), ids=REFERENCES.keys())
def test_velocity_and_acceleration_are_derivatives(reference: lw.control.Reference) -> None:
    for t in (0.05, 0.31, 0.77):
        before, now, after = (reference.at(t + d) for d in (-H, 0.0, H))
        moved = []
        if reference.shape != (3, 3):
            values = [s.value if s.value.ndim == 1 else s.value[:3, 3] for s in (before, now, after)]
            moved.append((values[2] - values[0]) / (2 * H))
        if len(reference.shape) == 2:
            turns = [Rotation.from_matrix(s.value[:3, :3]) for s in (before, after)]
            moved.append((turns[1] * turns[0].inv()).as_rotvec() / (2 * H))
        assert abs(np.concatenate(moved) - now.velocity).max() < 1e-5
        assert abs((after.velocity - before.velocity) / (2 * H) - now.acceleration).max() < 1e-4


def test_a_spline_of_vectors_is_scipy_s() -> None:
    times, values = [0.0, 0.3, 1.1, 2.0], RNG.normal(size=(4, 2))
    ours, theirs = lw.control.CubicSpline(times, values), CubicSpline(times, values, bc_type="clamped")
    for t in np.linspace(0.0, 2.0, 23):
        for mine, order in zip(ours.at(t), range(3), strict=True):
            assert abs(mine - theirs(t, order)).max() < 1e-12


def test_two_rotations_turn_about_one_axis() -> None:
    ends = Rotation.from_rotvec([[0.3, 1.0, -0.2], [-1.0, 0.4, 1.5]])
    path = lw.control.MinimumJerk(*ends.as_matrix(), duration=2.0)
    for t in (0.3, 1.0, 1.7):
        part = (t / 2) ** 3 * (10 - 15 * t / 2 + 6 * (t / 2) ** 2)
        assert abs(path.at(t).value - Slerp([0, 1], ends)(part).as_matrix()).max() < 1e-12


def test_a_turn_beyond_half_a_circle_goes_on_and_not_back() -> None:
    knots = Rotation.from_rotvec([[0, 0, angle] for angle in np.radians([0, 120, 240, 350])])
    path = lw.control.CubicSpline([0, 1, 2, 3], knots.as_matrix())
    speeds = [path.at(t).velocity[2] for t in np.linspace(0.01, 2.99, 50)]
    assert min(speeds) > 0.0
    for t, matrix in enumerate(knots.as_matrix()):
        assert abs(path.at(t).value - matrix).max() < 1e-12


def test_a_path_rests_before_and_after() -> None:
    path = lw.control.MinimumJerk([1.0], [3.0], duration=1.0, begin=2.0)
    assert [float(n[0]) for n in path.at(1.0)] == [1.0, 0.0, 0.0]
    assert [float(n[0]) for n in path.at(9.0)] == [3.0, 0.0, 0.0]
    spline = lw.control.CubicSpline([1.0, 2.0], [[1.0], [3.0]])
    assert [float(n[0]) for n in spline.at(5.0)] == [3.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lw.control.Constant([[1.0, 2.0]]), r"value must be a vector .* not \(1, 2\)"),
        (lambda: lw.control.Constant([np.nan]), "value must be finite"),
        (lambda: lw.control.Constant("here"), "value must hold real numbers"),
        (lambda: lw.control.Constant(2.0 * np.eye(3)), "value must be a rotation"),
        (lambda: lw.control.Constant(np.diag([1.0, 1.0, -1.0])), "determinant 1"),
        (lambda: lw.control.Constant(np.diag([1.0, 1.0, 1.0, 2.0])), "last row of 0, 0, 0, 1"),
        (lambda: lw.control.CubicSpline([0.0, 0.0], [[1.0], [2.0]]), "two increasing numbers"),
        (lambda: lw.control.CubicSpline([0.0, 1.0], [[1.0]]), "each of the 2 times, not 1"),
        (lambda: lw.control.CubicSpline([0.0, 1.0], [1.0, 2.0]), r"vectors \(k, n\)"),
        (lambda: lw.control.MinimumJerk([0.0], [1.0], 0.0), "duration must be a positive number of seconds"),
        (lambda: lw.control.MinimumJerk([0.0], [1.0], "long"), "duration must be a positive number of seconds"),
        (lambda: lw.control.MinimumJerk([0.0], [1.0, 2.0], 1.0), "one shape"),
    ],
)
def test_references_that_cannot_be(make: object, message: str) -> None:
    with pytest.raises(lw.ArgumentError, match=message):
        make()  # type: ignore[operator]


def test_what_a_constant_hands_out_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        lw.control.Constant([1.0, 2.0]).at(0.0).value[0] = 3.0


def test_a_duration_in_words_is_taken_as_its_number_or_refused() -> None:
    assert lw.control.MinimumJerk([0.0], [1.0], duration=np.float32(2.0)).at(1.0).value == pytest.approx([0.5])
    with pytest.raises(lw.ArgumentError, match="duration must be a positive number of seconds"):
        lw.control.MinimumJerk([0.0], [1.0], duration="long")  # type: ignore[arg-type]
