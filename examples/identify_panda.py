"""A Panda's inertial parameters from noisy torques: least squares by the regressor, kept physically consistent.

τ = Y(q, v, a) π is linear in ten numbers of each body (``lw.torque_regressor``). Torques of a random motion are
measured with noise. To keep every body physically consistent, its parameters are those of a pseudo-inertia L Lᵀ, and
the unknowns are the numbers of L, found by Gauss-Newton with the derivatives of that map (``lw.jacobian_of``). Many
combinations of parameters do not affect the torques; a weak regularisation towards the prior model determines these.

Run it, with a URDF of the Panda or with the package example-robot-data installed. The identified model must predict
torques of other motions several times better than the prior model.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw

SAMPLES, NOISE, PULL = 400, 0.05, 1e-2  # states, N m, relative to the parameters


def panda() -> lw.Model:
    """The model of the file given as an argument, or of the package of example robots."""
    try:
        return lw.load(next((name for name in sys.argv[1:] if name.endswith(".urdf")), "panda"))
    except lw.FormatError as error:
        sys.exit(f"pass a URDF of the Panda: {error}")


LOWER = np.tril_indices(4)


def parameters_of(numbers: np.ndarray) -> np.ndarray:
    """The ten parameters of a body from the ten numbers of L, in the order of ``model.inertial_parameters``."""
    L = np.zeros_like(numbers, shape=(4, 4))
    L[LOWER] = numbers
    P = L @ L.T  # second moments of mass, first moments, mass
    second = P[:3, :3]
    inertia = np.trace(second) * np.eye(3) - second
    packed = inertia[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]
    return np.concatenate([P[3:, 3], P[:3, 3], packed])


def numbers_of(parameters: np.ndarray) -> np.ndarray:
    """The numbers of L from the ten parameters of a body."""
    xx, xy, yy, xz, yz, zz = parameters[4:]
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    P = np.empty((4, 4))
    P[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    P[:3, 3] = P[3, :3] = parameters[1:4]
    P[3, 3] = parameters[0]
    smallest = np.linalg.eigvalsh(P)[0]
    return np.linalg.cholesky(P + max(0.0, 1e-9 - smallest) * np.eye(4))[LOWER]


def main() -> int:
    given = panda()
    rng = np.random.default_rng(0)
    exact = np.array([parameters_of(numbers_of(body)) for body in given.inertial_parameters])  # made consistent
    true = lw.with_inertial_parameters(given, exact)
    wrong = exact.copy()
    scale = rng.uniform(0.8, 1.25, len(exact))
    wrong *= scale[:, None]  # each body heavier or lighter
    assumed = lw.with_inertial_parameters(true, wrong)

    def motion(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        q, v = lw.random_state(true, rng, count)
        return q, v, 3.0 * rng.normal(size=v.shape)

    q, v, a = motion(SAMPLES)
    measured = lw.inverse_dynamics(true, q, v, a) + NOISE * rng.normal(size=v.shape)
    Y = lw.torque_regressor(assumed, q, v, a).reshape(-1, wrong.size)
    rotors = lw.inverse_dynamics(assumed, q, v, a).ravel() - Y @ wrong.ravel()  # torques of the rotors
    body = lw.compile(parameters_of, numbers=10)
    change = lw.jacobian_of(body)
    theta = np.array([numbers_of(each) for each in wrong])
    start, sizes = theta.copy(), np.maximum(np.abs(theta), 0.01)
    for _ in range(12):
        off = measured.ravel() - rotors - Y @ body(theta).ravel()
        along = np.einsum("sbp,bpk->sbk", Y.reshape(len(Y), -1, 10), change(theta)) * sizes
        rows = np.concatenate([along.reshape(len(Y), -1) / NOISE, PULL * np.sqrt(SAMPLES) * np.eye(theta.size)])
        pull = PULL * np.sqrt(SAMPLES) * ((start - theta) / sizes).ravel()
        step = np.linalg.lstsq(rows, np.concatenate([off / NOISE, pull]), rcond=None)[0]
        theta = theta + step.reshape(theta.shape) * sizes
    found = body(theta)
    identified = lw.with_inertial_parameters(true, found)

    q, v, a = motion(200)
    right = lw.inverse_dynamics(true, q, v, a)
    errors = [np.sqrt(((lw.inverse_dynamics(m, q, v, a) - right) ** 2).mean()) for m in (assumed, identified)]
    print(f"torques of other motions are off by {errors[0]:.3f} N m as assumed, {errors[1]:.3f} N m as identified")
    print(
        f"masses: true {exact[:, 0].sum():.3f} kg, assumed {wrong[:, 0].sum():.3f}, identified {found[:, 0].sum():.3f}"
    )
    picture = next((name for name in sys.argv[1:] if name.endswith(".png")), None)
    if picture is not None:
        from matplotlib.figure import Figure

        figure = Figure((6.0, 4.0), layout="constrained")
        axes = figure.subplots()
        for model, label in ((assumed, "as assumed"), (identified, "as identified")):
            axes.plot(
                right.ravel(), (lw.inverse_dynamics(model, q, v, a) - right).ravel(), ".", markersize=3, label=label
            )
        axes.set(xlabel="torque, N m", ylabel="error of its prediction, N m")
        axes.legend()
        figure.savefig(picture)
    return 0 if errors[1] < errors[0] / 4.0 else 1


if __name__ == "__main__":
    sys.exit(main())
