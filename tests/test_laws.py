"""Laws of mechanics that hold for every tree of every joint kind, single states and batches alike.

Where a law has a derivative, it is a central difference of sixth order with step h = 5e-4. Bodies far out in a tree
turn at up to ω = 20 rad/s; truncation is then about (h ω)⁶/4 = 3e-13 and rounding u/h = 2e-13 (u = 1.1e-16, times the
few hundred operations behind a result) of the size of the derivative: the bound 1e-9 has room for both, and sees any
missing term.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import strategies as st

import linkwork as lw
from linkwork.algorithms import FORWARD_DYNAMICS, REFERENCES
from strategies import Array, State, close, floating_of_form, law, models_of_form

pytestmark = pytest.mark.usefixtures("engine")


def times(matrix: Array, vector: Array) -> Array:
    return np.einsum("...ij,...j->...i", matrix, vector)


def along(state: State, function: Callable[[Array, Array], Array], h: float = 5e-4) -> Array:
    """d/dt of a function of (q, v) on the path that leaves the state with velocity v and acceleration a."""

    def slope(step: float) -> Array:
        ends = []
        for t in (step, -step):
            q = lw.integrate(state.model, state.q, t * (state.v + 0.5 * t * state.a))
            ends.append(function(q, state.v + t * state.a))
        return (ends[0] - ends[1]) / (2.0 * step)

    return 1.5 * slope(h) - 0.6 * slope(2.0 * h) + 0.1 * slope(3.0 * h)


# Dynamics


@law()
def test_forward_dynamics_undoes_inverse_dynamics(s: State) -> None:
    tau = lw.inverse_dynamics(s.model, s.q, s.v, s.a, s.f_ext)
    a = lw.forward_dynamics(s.model, s.q, s.v, tau, s.f_ext)
    close(a, s.a, 1e-10, scale=np.abs(tau).max(initial=0.0))


@law()
def test_all_methods_of_forward_dynamics_agree(s: State) -> None:
    first, *others = (lw.forward_dynamics(s.model, s.q, s.v, s.tau, s.f_ext, method=m) for m in FORWARD_DYNAMICS)
    for other in others:
        close(other, first, 1e-10)
    close(lw.inverse_dynamics(s.model, s.q, s.v, first, s.f_ext), s.tau, 1e-10, scale=np.abs(first).max(initial=0.0))


@law()
def test_no_external_force_is_zero_external_force(s: State) -> None:
    for without, zero in (
        (lw.inverse_dynamics(s.model, s.q, s.v, s.a), lw.inverse_dynamics(s.model, s.q, s.v, s.a, 0.0 * s.f_ext)),
        (lw.forward_dynamics(s.model, s.q, s.v, s.a), lw.forward_dynamics(s.model, s.q, s.v, s.a, 0.0 * s.f_ext)),
    ):
        assert np.array_equal(without, zero)


@law()
def test_mass_matrix_is_symmetric_and_positive_definite(s: State) -> None:
    mass = lw.mass_matrix(s.model, s.q)
    close(mass, np.swapaxes(mass, -1, -2), 1e-15)
    assert (np.linalg.eigvalsh(mass) > 0.0).all()


@law()
def test_mass_matrix_gives_the_kinetic_energy(s: State) -> None:
    kinetic, _ = lw.energy(s.model, s.q, s.v)
    close(0.5 * np.einsum("...i,...i", s.v, times(lw.mass_matrix(s.model, s.q), s.v)), kinetic, 1e-12)


@law()
def test_inverse_dynamics_is_linear_in_the_acceleration_with_slope_mass_matrix(s: State) -> None:
    tau = lw.inverse_dynamics(s.model, s.q, s.v, s.a)
    close(times(lw.mass_matrix(s.model, s.q), s.a) + lw.nonlinear_effects(s.model, s.q, s.v), tau, 1e-12)


@law()
def test_columns_of_the_mass_matrix_are_forces_of_unit_accelerations(s: State) -> None:
    mass = lw.mass_matrix(s.model, s.q)
    gravity = lw.gravity_torques(s.model, s.q)
    unit = np.broadcast_to(np.eye(s.model.nv), (*s.batch, s.model.nv, s.model.nv))
    still = np.zeros_like(unit)
    forces = lw.inverse_dynamics(s.model, s.q[..., None, :], still, unit) - gravity[..., None, :]
    close(np.swapaxes(forces, -1, -2), mass, 1e-12, scale=np.abs(gravity).max(initial=0.0))


@law()
def test_gravity_torques_are_nonlinear_effects_at_rest_and_the_slope_of_the_potential(s: State) -> None:
    gravity = lw.gravity_torques(s.model, s.q)
    assert np.array_equal(gravity, lw.nonlinear_effects(s.model, s.q, 0.0 * s.v))
    rate = along(s, lambda q, v: lw.energy(s.model, q, v)[1])
    close(np.einsum("...i,...i", gravity, s.v), rate, 1e-9, scale=abs(lw.energy(s.model, s.q, s.v)[1]).max())


@law()
def test_power_is_the_rate_of_energy(s: State) -> None:
    """τ·v + Σ f·V = d(T + U)/dt."""
    tau = lw.inverse_dynamics(s.model, s.q, s.v, s.a, s.f_ext)
    bodies = lw.frame_velocity(s.model, s.q, s.v, s.model.body_names)
    power = np.einsum("...i,...i", tau, s.v) + np.einsum("...bi,...bi", s.f_ext, bodies)
    kinetic, potential = lw.energy(s.model, s.q, s.v)
    rate = along(s, lambda q, v: np.add(*lw.energy(s.model, q, v)))
    close(power, rate, 1e-9, scale=float(np.max(kinetic + abs(potential))))


@law()
def test_an_external_force_enters_through_the_transposed_jacobian(s: State) -> None:
    jacobian = lw.jacobian(s.model, s.q, s.model.body_names)
    forces = s.f_ext.reshape((*s.batch, -1))
    with_force = lw.inverse_dynamics(s.model, s.q, s.v, s.a, s.f_ext)
    without = lw.inverse_dynamics(s.model, s.q, s.v, s.a)
    close(with_force, without - times(np.swapaxes(jacobian, -1, -2), forces), 1e-12)


@law(floating_of_form)
def test_momentum_of_a_floating_mechanism_changes_by_gravity_and_external_forces_only(s: State) -> None:
    model = s.model
    inner = s.tau.copy()
    inner[..., :6] = 0.0  # nothing pushes against the world
    a = lw.forward_dynamics(model, s.q, s.v, inner, s.f_ext)
    rate = along(replace(s, a=a), lambda q, v: lw.momentum(model, q, v))
    poses = lw.forward_kinematics(model, s.q, model.body_names)
    force = np.einsum("...bij,...bj->...bi", poses[..., :3, :3], s.f_ext[..., :3])
    moment = np.einsum("...bij,...bj->...bi", poses[..., :3, :3], s.f_ext[..., 3:])
    arm = poses[..., :3, 3] - lw.centre_of_mass(model, s.q)[..., None, :]
    linear = force.sum(axis=-2) + model.mass * np.array(model.gravity)
    expected = np.concatenate([linear, (moment + np.cross(arm, force)).sum(axis=-2)], axis=-1)
    close(rate, expected, 1e-9, scale=np.abs(lw.momentum(model, s.q, s.v)).max())


@law()
def test_linear_momentum_is_mass_times_the_velocity_of_the_centre(s: State) -> None:
    rate = along(s, lambda q, v: lw.centre_of_mass(s.model, q))
    close(lw.momentum(s.model, s.q, s.v)[..., :3], s.model.mass * rate, 1e-9, scale=s.model.mass)


# Kinematics


@law(models_of_form, st.sampled_from(REFERENCES))
def test_jacobian_times_velocity_is_the_velocity_of_frames(s: State, reference: str) -> None:
    frames = s.model.frame_names
    jacobian = lw.jacobian(s.model, s.q, frames, reference)
    expected = lw.frame_velocity(s.model, s.q, s.v, frames, reference).reshape((*s.batch, -1))
    close(times(jacobian, s.v), expected, 1e-12)


@law(models_of_form, st.sampled_from(REFERENCES))
def test_acceleration_is_the_derivative_of_velocity_and_jacobian_times_acceleration_plus_drift(
    s: State, reference: str
) -> None:
    frames = s.model.frame_names
    acceleration = lw.frame_acceleration(s.model, s.q, s.v, s.a, frames, reference).reshape((*s.batch, -1))
    jacobian = lw.jacobian(s.model, s.q, frames, reference)
    drift = lw.jacobian_drift(s.model, s.q, s.v, frames, reference)
    close(times(jacobian, s.a) + drift, acceleration, 1e-12)
    rate = along(s, lambda q, v: lw.frame_velocity(s.model, q, v, frames, reference))
    close(rate.reshape((*s.batch, -1)), acceleration, 1e-9)


@law()
def test_velocity_is_the_derivative_of_placement(s: State) -> None:
    """d/dt [R p; 0 1] = [R p; 0 1] [[ω]x v; 0 0] with the local twist."""
    frames = s.model.frame_names
    poses = lw.forward_kinematics(s.model, s.q, frames)
    twists = lw.frame_velocity(s.model, s.q, s.v, frames)
    rate = along(s, lambda q, v: lw.forward_kinematics(s.model, q, frames))
    hat = np.zeros_like(poses)
    x, y, z = np.moveaxis(twists[..., 3:], -1, 0)
    hat[..., 0, 1], hat[..., 0, 2], hat[..., 1, 2] = -z, y, -x
    hat[..., 1, 0], hat[..., 2, 0], hat[..., 2, 1] = z, -y, x
    hat[..., :3, 3] = twists[..., :3]
    close(poses @ hat, rate, 1e-9)
    turns = poses[..., :3, :3]
    close(turns @ np.swapaxes(turns, -1, -2), np.broadcast_to(np.eye(3), turns.shape), 1e-14)


@law(models_of_form, st.floats(0.0, 1.0))
def test_integrate_and_difference_undo_each_other(s: State, size: float) -> None:
    step = size * s.v / max(1.0, np.abs(s.v).max(initial=0.0) / 1.7)  # turns stay below pi: |(1.7, 1.7, 1.7)| = 2.94
    moved = lw.integrate(s.model, s.q, step)
    close(lw.difference(s.model, s.q, moved), step, 1e-13, scale=4.0)
    frames = s.model.body_names
    back = lw.integrate(s.model, moved, lw.difference(s.model, moved, s.q))
    close(lw.forward_kinematics(s.model, back, frames), lw.forward_kinematics(s.model, s.q, frames), 1e-13, scale=4.0)
    assert np.abs(lw.difference(s.model, s.q, s.q)).max(initial=0.0) <= 1e-15


@law()
def test_integrate_in_two_halves_is_integrate_at_once(s: State) -> None:
    half = lw.integrate(s.model, lw.integrate(s.model, s.q, 0.5 * s.v), 0.5 * s.v)
    frames = s.model.body_names
    at_once = lw.forward_kinematics(s.model, lw.integrate(s.model, s.q, s.v), frames)
    close(lw.forward_kinematics(s.model, half, frames), at_once, 1e-13, scale=float(len(s.model.bodies)))
