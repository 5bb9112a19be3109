"""A map of a Panda's reach: at each point of a vertical plane, the fraction of orientations that its hand can take.

There is a grid of points, each with orientations spread evenly over all rotations. Every pose is a problem of inverse
kinematics, and all of them are solved in one call. If no solution is found from any start, the pose counts as out of
reach.

Run it, with the package example-robot-data installed: ``python examples/reachability.py 1000000 map.png`` for a million
poses and an image; 2,048 poses by default, and the map as text. Every solution must reach its pose within the joint
limits; no pose farther away than the length of the arm is reached, and near the shoulder's height most are.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import linkwork as lw

HAND = "panda_hand_tcp"
SHOULDER, LENGTH = np.array([0.0, 0.0, 0.333]), 0.316 + 0.384 + 0.088 + 0.107 + 0.1034  # m, stretched out
WIDE, LOW, HIGH = 1.1, -0.7, 1.4  # m, extent of the map


def panda() -> lw.Model:
    """The model of the package of example robots."""
    try:
        return lw.load("panda")
    except lw.FormatError as error:
        sys.exit(str(error))


def rotations(count: int) -> np.ndarray:
    """(count, 3, 3), spread evenly: unit quaternions of three low-discrepancy sequences, by Shoemake's formula."""
    share, *angles = np.modf(0.5 + np.arange(count)[:, None] * 1.2207440846057596 ** -np.arange(1.0, 4.0))[0].T
    (a, b), small, large = 2.0 * np.pi * np.array(angles), np.sqrt(1.0 - share), np.sqrt(share)
    x, y, z, w = small * np.sin(a), small * np.cos(a), large * np.sin(b), large * np.cos(b)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), -1, 0)


def draw(share: np.ndarray, path: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 6.0), layout="constrained")
    axes = figure.add_subplot(
        xlabel="x (m)", ylabel="z (m)", title="Panda: share of orientations that the hand reaches"
    )
    image = axes.imshow(share, origin="lower", extent=(-WIDE, WIDE, LOW, HIGH), cmap="magma", vmin=0.0, vmax=1.0)
    axes.contour(share, levels=[0.5], extent=(-WIDE, WIDE, LOW, HIGH), colors="white", linewidths=0.8)
    figure.colorbar(image, ax=axes)
    figure.savefig(path, dpi=100)


def main(count: int, picture: str | None) -> int:
    arm = panda()
    turns = rotations(64 if count >= 100_000 else 8)
    side = max(4, int(np.sqrt(count / len(turns))))
    x, z = np.linspace(-WIDE, WIDE, side), np.linspace(LOW, HIGH, side)
    targets = np.zeros((side, side, len(turns), 1, 4, 4))
    targets[..., :3, :3], targets[..., 3, 3] = turns[:, None], 1.0
    targets[..., 0, 3], targets[..., 2, 3] = x[:, None, None], z[:, None, None, None]

    lw.inverse_kinematics(arm, targets[0, 0, :2], [HAND])  # compiles the code, or loads it from disk
    began = time.perf_counter()
    found = lw.inverse_kinematics(arm, targets, [HAND])
    spent = time.perf_counter() - began
    reached, share = found.converged, found.converged.mean(axis=-1)
    for row in share[:: -max(1, side // 16)]:
        print("".join(" .:-=+*#%@"[int(9.99 * number)] * 2 for number in row[:: max(1, side // 32)]))
    print(
        f"{reached.size:,} poses, {reached.sum():,} reached, {found.iterations.mean():.0f} iterations a pose on average"
    )
    print(
        f"{spent:.2f} s: {1e6 * spent / reached.size:.1f} µs a pose, {1e6 * spent / reached.sum():.1f} µs a reached one"
    )
    if picture:
        draw(share, picture)

    placed = lw.forward_kinematics(arm, found.q[reached], [HAND])
    off = np.abs(lw.pose_error(placed, targets[reached])).max()
    inside = ((found.q >= arm.lower_limit) & (found.q <= arm.upper_limit)).all()
    far = np.linalg.norm(targets[..., 0, :3, 3] - SHOULDER, axis=-1) > LENGTH
    near = np.linalg.norm(targets[..., 0, :3, 3] - SHOULDER - [0.5, 0.0, 0.0], axis=-1) < 0.2
    good = off <= 1e-6 and inside and not reached[far].any() and reached[near].mean() > 0.5
    print("all where they should be, within the limits" if good else "wrong")
    return 0 if good else 1


if __name__ == "__main__":
    asked = next((int(word) for word in sys.argv[1:] if word.isdigit()), 2048)
    sys.exit(main(asked, next((name for name in sys.argv[1:] if name.endswith(".png")), None)))
