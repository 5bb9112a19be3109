"""Every joint kind, and a user's own: subspace, bias and manifold against derivatives of the transform at 50 digits."""

from __future__ import annotations

import dataclasses
import pickle

import mpmath
import numpy as np
import pytest

import linkwork as lw
from linkwork.joints import KINDS, Joint, Revolute
from linkwork.spatial import CoordinateAxis, Motion, Transform
from strategies import JOINTS, Array, Cam, Crank

context = mpmath.mp.clone()
context.dps = 50
H = context.mpf(10) ** -12
"""A step whose square (the error of a central difference) is 1e-24 and whose quotient keeps 38 digits."""

pytestmark = pytest.mark.parametrize("joint", JOINTS, ids=lambda joint: joint.describe())


def exact(numbers: object) -> list[mpmath.mpf]:
    return [context.mpf(float(number)) for number in numbers]  # type: ignore[attr-defined]


def state(joint: Joint, seed: int) -> tuple[list[mpmath.mpf], list[mpmath.mpf]]:
    rng = np.random.default_rng(seed)
    return exact(joint.random(rng)), exact(rng.normal(size=joint.nv))


def matrix(place: Transform) -> mpmath.matrix:
    r, p = place.rotation.numbers(), place.translation.numbers()
    return context.matrix([[*r[0:3], p[0]], [*r[3:6], p[1]], [*r[6:9], p[2]], [0, 0, 0, 1]])


def hat(motion: Motion) -> mpmath.matrix:
    u, v, w, x, y, z = motion.numbers()
    return context.matrix([[0, -z, y, u], [z, 0, -x, v], [-y, x, 0, w], [0, 0, 0, 0]])


def size(m: mpmath.matrix) -> float:
    return float(context.mnorm(m, "inf"))


@pytest.mark.parametrize("seed", range(3))
def test_subspace_is_the_derivative_of_the_transform(joint: Joint, seed: int) -> None:
    """X⁻¹ dX/dt = hat(S v) along the path of ``integrate``; float quaternions and axes are unit to 1e-16 only."""
    q, v = state(joint, seed)
    ends = [matrix(joint.transform(joint.integrate(q, [s * H * rate for rate in v]))) for s in (1, -1)]
    rate = (ends[0] - ends[1]) / (2 * H)
    here = matrix(joint.transform(q))
    assert size(rate - here * hat(joint.subspace(q).times(v))) < 2e-15


@pytest.mark.parametrize("seed", range(3))
def test_bias_is_the_derivative_of_the_subspace(joint: Joint, seed: int) -> None:
    q, v = state(joint, seed)
    ends = [joint.subspace(joint.integrate(q, [s * H * rate for rate in v])).times(v) for s in (1, -1)]
    rate = [(a - b) / (2 * H) for a, b in zip(ends[0].numbers(), ends[1].numbers(), strict=True)]
    bias = joint.bias(q, v).numbers()
    assert all(abs(a - b) < 2e-15 for a, b in zip(rate, bias, strict=True))


@pytest.mark.parametrize("seed", range(3))
def test_integrate_and_difference_undo_each_other(joint: Joint, seed: int) -> None:
    q, v = state(joint, seed)
    step = [rate / 2 for rate in v]
    moved = joint.integrate(q, step)
    assert all(abs(a - b) < 1e-30 for a, b in zip(joint.difference(q, moved), step, strict=True))
    floats = joint.difference([float(x) for x in q], joint.integrate([float(x) for x in q], [float(x) for x in step]))
    assert floats == pytest.approx([float(x) for x in step], abs=4e-15)


def test_sizes_neutral_and_random_configurations_fit(joint: Joint) -> None:
    rng = np.random.default_rng(0)
    assert len(joint.neutral()) == len(joint.random(rng)) == joint.nq
    assert len(joint.subspace(joint.neutral()).columns()) == joint.nv
    turn = joint.transform(joint.neutral()).rotation
    assert turn.numbers() == [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    ends = [joint.random(rng) for _ in range(5)]
    assert all(abs(q[k]) <= np.pi for q in ends for k in joint.angles)


def test_numbers_and_kind_take_a_joint_apart_and_together(joint: Joint) -> None:
    numbers = joint.numbers()
    assert joint.of(numbers) == joint
    if numbers:
        other = joint.of([number + 0.25 for number in numbers])
        assert other != joint and other.kind() == joint.kind()
        assert other.numbers() == [number + 0.25 for number in numbers]
    kinds = {other.kind() for other in JOINTS}
    assert len(kinds) >= len(KINDS) + 2 and joint.kind() in kinds
    assert [other for other in JOINTS if other == joint] == [joint]


def test_joints_are_frozen_hashable_and_picklable(joint: Joint) -> None:
    assert pickle.loads(pickle.dumps(joint)) == joint
    assert hash(pickle.loads(pickle.dumps(joint))) == hash(joint)
    for field in dataclasses.fields(joint):  # type: ignore[arg-type]
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(joint, field.name, None)


def test_a_joint_moves_a_body_in_a_model(joint: Joint) -> None:
    """One body on the joint alone: its frame's velocity is S v, and its energy follows from the body's inertia."""
    builder = lw.Builder(gravity=(0, 0, 0))
    builder.add_body("body", joint=joint, mass=2.0, com=(0.1, 0.2, 0.3), inertia=(0.3, 0.4, 0.5))
    model = builder.build()
    q, v = lw.random_state(model, 5)
    expected = np.array(joint.subspace(q.tolist()).times(v.tolist()).numbers(), dtype=float)
    assert lw.frame_velocity(model, q, v, ["body"])[0] == pytest.approx(expected, abs=1e-14)
    inertia: Array = np.array(model.bodies[0].inertia.articulated().rows())
    assert lw.energy(model, q, v)[0] == pytest.approx(0.5 * expected @ inertia @ expected, rel=1e-13)


def test_axes_are_normalised_and_named_where_they_are_coordinate_axes(joint: Joint) -> None:
    for name in ("axis", "second"):
        axis = getattr(joint, name, None)
        if axis is not None:
            assert axis.direction.dot(axis.direction) == pytest.approx(1.0, abs=3e-16)
    assert Revolute((0, 0, 5)) == Revolute("z") and isinstance(Revolute((0, 0, 5)).axis, CoordinateAxis)
    assert Crank() != Cam()
