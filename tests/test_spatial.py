"""Spatial algebra against dense 6×6 matrices, and over every scalar."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator

import mpmath
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from linkwork.spatial import (
    ArticulatedInertia,
    Columns,
    Factor,
    Force,
    Inertia,
    Mat3,
    Motion,
    Numbers,
    Quaternion,
    Selection,
    Subspace,
    Sym3,
    Transform,
    Vec3,
    combination,
    plus_diagonal,
    where_less,
)
from strategies import Array, random_placement

context = mpmath.mp.clone()
context.dps = 50
SEEDS = range(4)


@pytest.fixture(params=SEEDS)
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    return np.random.default_rng(request.param)


def floats(rng: np.random.Generator, count: int) -> list[float]:
    return rng.normal(size=count).tolist()


def motion(rng: np.random.Generator) -> Motion:
    return Motion.from_numbers(floats(rng, 6))


def force(rng: np.random.Generator) -> Force:
    return Force.from_numbers(floats(rng, 6))


def articulated(rng: np.random.Generator) -> ArticulatedInertia:
    root = rng.normal(size=(6, 6))
    return ArticulatedInertia.from_rows((root @ root.T + np.eye(6)).tolist())


def rigid(rng: np.random.Generator) -> Inertia:
    root = rng.normal(size=(3, 3))
    about = Sym3(*(root @ root.T)[np.triu_indices(3)].tolist())
    return Inertia.from_com(float(rng.uniform(0.5, 2.0)), Vec3(*floats(rng, 3)), about)


def array(x: Numbers) -> Array:
    return np.array(x.numbers(), dtype=float)


def skew(x: Array) -> Array:
    return np.cross(np.eye(3), x)


def dense(x: ArticulatedInertia | Inertia) -> Array:
    return np.array((x if isinstance(x, ArticulatedInertia) else x.articulated()).rows(), dtype=float)


def dense_motion(x: Transform) -> Array:
    """The 6×6 matrix that maps motions, [linear; angular], from the child to the parent."""
    r, p = array(x.rotation).reshape(3, 3), array(x.translation)
    return np.block([[r, skew(p) @ r], [np.zeros((3, 3)), r]])


def near(actual: object, expected: Array) -> None:
    scale = np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(np.array(actual, dtype=float), expected, rtol=0, atol=1e-13 * scale)


# Types


@pytest.mark.parametrize("operate", [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: b + a, lambda a, b: b - a])
def test_a_motion_and_a_force_do_not_add(operate: Callable[[Motion, Force], object]) -> None:
    with pytest.raises(TypeError, match="do not add"):
        operate(Motion.zero(), Force.zero())


def test_a_motion_pairs_with_a_force_only() -> None:
    with pytest.raises(TypeError, match="pairs with a Force, not with a Motion"):
        Motion.zero().dot(Motion.zero())  # type: ignore[arg-type]


def every_type(rng: np.random.Generator) -> Iterator[Numbers]:
    yield Vec3(*floats(rng, 3))
    yield Mat3(*floats(rng, 9))
    yield Sym3(*floats(rng, 6))
    yield Quaternion(*floats(rng, 4))
    yield motion(rng)
    yield force(rng)
    yield random_placement(rng)
    yield rigid(rng)
    yield articulated(rng)
    yield Columns([motion(rng), motion(rng)])
    yield Factor.of_matrix([[2.0], [0.5, 3.0]])


def test_every_type_comes_apart_into_numbers_and_together_again(rng: np.random.Generator) -> None:
    counts = {Transform: 12, Inertia: 10, ArticulatedInertia: 21, Motion: 6, Mat3: 9}  # structure is kept
    for x in every_type(rng):
        numbers = x.numbers()
        assert len(numbers) == counts.get(type(x), len(numbers))
        assert x.of(numbers) == x and x.of([number + 1.0 for number in numbers]) != x
        assert pickle.loads(pickle.dumps(x)) == x
        if not isinstance(x, Factor):
            assert hash(x.of(numbers)) == hash(x)
        assert type(x).__name__ in repr(x)


# Placements


def test_to_parent_and_to_child_undo_each_other(rng: np.random.Generator) -> None:
    place, v, f = random_placement(rng), motion(rng), force(rng)
    near(array(place.to_child(place.to_parent(v))), array(v))
    near(array(place.to_child(place.to_parent(f))), array(f))
    near(array(place.inverse().to_parent(v)), array(place.to_child(v)))
    near(array(place * place.inverse()), array(Transform.identity()))


def test_placements_act_as_dense_matrices(rng: np.random.Generator) -> None:
    outer, inner, v, f = random_placement(rng), random_placement(rng), motion(rng), force(rng)
    near(array(outer.to_parent(v)), dense_motion(outer) @ array(v))
    near(array(outer.to_parent(f)), np.linalg.inv(dense_motion(outer)).T @ array(f))
    near(dense_motion(outer * inner), dense_motion(outer) @ dense_motion(inner))


def test_power_does_not_depend_on_the_frame(rng: np.random.Generator) -> None:
    place, v, f = random_placement(rng), motion(rng), force(rng)
    assert place.to_parent(v).dot(place.to_parent(f)) == pytest.approx(v.dot(f), abs=1e-13)
    assert v.dot(f) == pytest.approx(array(v) @ array(f), abs=1e-13)


def test_cross_products_are_dual_and_move_with_frames(rng: np.random.Generator) -> None:
    place, v, w, f = random_placement(rng), motion(rng), motion(rng), force(rng)
    assert v.cross(w).dot(f) == pytest.approx(-w.dot(v.cross(f)), abs=1e-13)
    near(array(place.to_parent(v.cross(w))), array(place.to_parent(v).cross(place.to_parent(w))))
    near(array(place.to_parent(v.cross(f))), array(place.to_parent(v).cross(place.to_parent(f))))
    near(array(v.cross(v)), np.zeros(6))


# Inertias


@pytest.mark.parametrize("make", [rigid, articulated])
def test_inertias_act_and_move_as_dense_matrices(make: Callable[..., Inertia], rng: np.random.Generator) -> None:
    inertia, other, place, v = make(rng), make(rng), random_placement(rng), motion(rng)
    near(array(inertia * v), dense(inertia) @ array(v))
    back = np.linalg.inv(dense_motion(place))
    near(dense(place.to_parent(inertia)), back.T @ dense(inertia) @ back)
    near(dense(inertia + other), dense(inertia) + dense(other))
    near(dense(inertia), dense(inertia).T)
    assert place.to_parent(v).dot(place.to_parent(inertia) * place.to_parent(v)) == pytest.approx(v.dot(inertia * v))


def test_a_rigid_inertia_is_that_of_its_points(rng: np.random.Generator) -> None:
    """Kinetic energy of a cloud of points, against the inertia made from its mass, centre and moments."""
    masses, points = rng.uniform(0.1, 1.0, 5), rng.normal(size=(5, 3))
    centre = masses @ points / masses.sum()
    around = points - centre
    second = sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, around, strict=True))
    about = Sym3(*second[np.triu_indices(3)].tolist())
    inertia = Inertia.from_com(float(masses.sum()), Vec3(*centre.tolist()), about)
    v = motion(rng)
    speeds = array(v)[:3] + np.cross(array(v)[3:], points)
    assert v.dot(inertia * v) == pytest.approx(masses @ (speeds**2).sum(axis=1), rel=1e-13)


# Subspaces and factors

SUBSPACES: list[Callable[[np.random.Generator], Subspace]] = [
    lambda rng: Selection(),
    lambda rng: Selection(5),
    lambda rng: Selection(1),
    lambda rng: Selection(0, 1, 5),
    lambda rng: Selection(4, 1),
    lambda rng: Selection(3, 4, 5),
    lambda rng: Selection(0, 1, 2, 3, 4, 5),
    lambda rng: Columns([motion(rng)]),
    lambda rng: Columns([motion(rng), motion(rng)]),
    lambda rng: Columns([]),
]


@pytest.mark.parametrize("make", SUBSPACES)
@pytest.mark.parametrize("rotors", [False, True])
def test_subspaces_act_as_dense_columns(
    make: Callable[[np.random.Generator], Subspace], rotors: bool, rng: np.random.Generator
) -> None:
    subspace, inertia, f, body = make(rng), articulated(rng), force(rng), rigid(rng)
    columns = subspace.columns()
    n = len(columns)
    s = np.array([array(column) for column in columns]).reshape(n, 6).T
    rates, rotor = floats(rng, n), rng.uniform(0.5, 1.0, n).tolist() if rotors else []
    near(array(subspace.times(rates)), s @ rates)
    near(subspace.dot(f), s.T @ array(f))
    forces = subspace.through(inertia)
    near(np.array([array(x) for x in forces]).reshape(n, 6).T, dense(inertia) @ s)
    near(np.array([array(x) for x in subspace.through(body)]).reshape(n, 6).T, dense(body) @ s)
    near(np.array(subspace.project(forces)).reshape(n, n), s.T @ dense(inertia) @ s)
    near(array(combination(forces, rates)), dense(inertia) @ s @ rates)

    d = s.T @ dense(inertia) @ s + np.diag(rotor or [0.0] * n)
    factor = Factor.of_matrix(plus_diagonal(subspace.project(forces), rotor))
    released = subspace.released(inertia, forces, factor, rotor)
    u = dense(inertia) @ s
    expected = dense(inertia) - u @ np.linalg.solve(d, u.T) if n else dense(inertia)
    np.testing.assert_allclose(dense(released), expected, rtol=0, atol=1e-11 * np.abs(u).max(initial=1.0) ** 2)
    if isinstance(subspace, Selection) and not rotor:  # nothing at all is felt along the joint's own motions
        assert all(dense(released)[d].tolist() == [0.0] * 6 for d in subspace.directions)


@pytest.mark.parametrize("size", range(7))
def test_factors_solve_as_numpy_does(size: int, rng: np.random.Generator) -> None:
    root = rng.normal(size=(size, size))
    matrix = root @ root.T + np.eye(size)
    right = rng.normal(size=size)
    factor = Factor.of_matrix(matrix.tolist())
    assert factor.of(factor.numbers()) == factor
    np.testing.assert_allclose(factor.solve(right.tolist()), np.linalg.solve(matrix, right), rtol=1e-10, atol=1e-12)


# Rotations


def test_quaternions_agree_with_scipy(rng: np.random.Generator) -> None:
    a, b = Quaternion(*floats(rng, 4)), Quaternion(*floats(rng, 4))
    there, other = Rotation.from_quat(a.numbers()), Rotation.from_quat(b.numbers())
    near(np.reshape(a.matrix().numbers(), (3, 3)), there.as_matrix())
    near(np.reshape((a * b).matrix().numbers(), (3, 3)), (there * other).as_matrix())
    near(np.reshape(a.conjugate().matrix().numbers(), (3, 3)), there.inv().as_matrix())
    assert a.normalized().square() == pytest.approx(1.0, abs=1e-15)


# Scalars


def test_the_same_text_runs_over_floats_arrays_and_mpmath(rng: np.random.Generator) -> None:
    """Inertia transformed, multiplied, factored and released: equal bits in a batch, and 15 equal digits in mpmath."""

    def run(x: list[object]) -> list[object]:
        place = Transform(Quaternion(*x[0:4]).normalized().matrix(), Vec3(*x[4:7]))
        moved = place.to_parent(Inertia.from_com(2.0, Vec3(*x[7:10]), Sym3.diagonal(0.3, 0.4, 0.5))).articulated()
        subspace = Columns([Motion.from_numbers(x[0:6]), Motion.from_numbers(x[4:10])])
        forces = subspace.through(moved)
        factor = Factor.of_matrix(plus_diagonal(subspace.project(forces), [1.0, 2.0]))
        return subspace.released(moved, forces, factor, [1.0, 2.0]).numbers() + factor.solve(x[:2])

    states = rng.normal(size=(10, 5))
    batch = np.array([np.broadcast_to(row, 5) for row in run(list(states))])
    for k in range(5):
        single = run(states[:, k].tolist())
        assert batch[:, k].tolist() == single
        precise = run([context.mpf(number) for number in states[:, k].tolist()])
        assert all(isinstance(number, mpmath.ctx_mp_python._mpf) for number in precise)
        worst = max(abs(a - b) for a, b in zip(single, precise, strict=True))
        assert worst < 1e-14 * max(1.0, *(abs(number) for number in single))


def test_where_less_selects_over_every_scalar() -> None:
    assert where_less(1.0, 2.0, "x", "y") == "x" and where_less(2.0, 2.0, "x", "y") == "y"
    assert where_less(context.mpf(1), 2.0, "x", "y") == "x"
    assert where_less(np.array([1.0, 3.0]), 2.0, 5.0, 6.0).tolist() == [5.0, 6.0]
