"""A trapeze artist changes swings: lets go of one on the way up, flies, and catches the next.

Artist and swings are one mechanism from beginning to end; which bar the hands hold is a pair of constraints that come
and go. Letting go is an event at a sign change, where the swing has reached an angle; catching is one at another, where
a hand's breadth is left between hands and bar. Both are found within a step. At the catch the velocities of hands and
bar become equal at once: the angular momentum about the second swing's pivot is kept, energy is lost.

Run it: it checks what the impact keeps and takes, that the artist flies freely in between, and that the hands stay on
the bars. With a name that ends in .html as an argument it writes the motion as a page.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw

DT, DURATION = 2e-3, 3.2  # s
FINELY = {"integrator": "runge_kutta_4"}
ROPE, APART = 3.0, 4.85  # m, of each swing; between their pivots
REACH = 0.1  # m
UPRIGHT = lw.placement((0.0, 0.0, 0.0), (np.pi / 2, 0.0, 0.0))  # a planar joint in the plane y = 0


def build() -> lw.Model:
    """Two swings that hang in the plane y = 0, and an artist of two links, who moves freely in it."""
    builder = lw.Builder("trapeze")
    for name, x in (("first", 0.0), ("second", APART)):
        builder.add_body(
            f"{name} swing", joint=lw.joints.Revolute("y"), placement=lw.placement((x, 0.0, 0.0)), mass=4.0,
            com=(0.0, 0.0, -0.9 * ROPE), inertia=(1.0, 1.0, 0.01), damping=0.2,
        )  # fmt: skip
        builder.add_frame(f"{name} bar", f"{name} swing", lw.placement((0.0, 0.0, -ROPE)))
    builder.add_body(
        "trunk", joint=lw.joints.Planar(), placement=UPRIGHT, mass=45.0, com=(0, -0.8, 0), inertia=(4, 1, 4)
    )
    builder.add_frame("hands", "trunk")
    builder.add_body(
        "legs", "trunk", lw.joints.Revolute("z"), lw.placement((0.0, -1.2, 0.0)), mass=20.0, com=(0.0, -0.4, 0.0),
        inertia=(1.5, 0.2, 1.5), stiffness=200.0, damping=30.0,
    )  # fmt: skip
    return builder.build()


def hold(bar: str) -> list[lw.Constraint]:
    """The hands on a bar, about which they turn freely; nothing is to be held across the plane of motion."""
    return [lw.PointOnPlane("hands", bar, normal=normal) for normal in "xz"]


def gap(model: lw.Model, q: np.ndarray) -> np.ndarray:
    """From the second bar to the hands, m."""
    hands, bar = lw.forward_kinematics(model, q, ["hands", "second bar"])[..., :3, 3]
    offset: np.ndarray = hands - bar
    return offset


def turning(model: lw.Model, q: np.ndarray) -> np.ndarray:
    """The velocities when the second swing and the artist turn as one about its pivot, each at 1 rad/s."""
    still = np.zeros(model.nv)
    still[1] = 1.0
    trunk = lw.forward_kinematics(model, q, ["trunk"])[0]
    arm = trunk[:3, 3] - [APART, 0.0, 0.0]
    still[2:5] = [*(trunk[:3, :2].T @ np.cross([0.0, 1.0, 0.0], arm)), -1.0]  # in the trunk's axes, whose z is -y
    return still


def main() -> int:
    model = build()
    q = lw.neutral(model)
    q[:2] = 1.2, -0.6
    bar = lw.forward_kinematics(model, q, ["first bar"])[0, :3, 3]
    q[2:6] = bar[0], bar[2], np.cos(q[0]), -np.sin(q[0])

    swung = lw.compile(lambda t, q, v: q[0] + 0.6, t=(), q=model.nq, v=model.nv)
    near = lw.compile(lambda t, q, v: np.sum(gap(model, q) ** 2) - REACH**2, t=(), q=model.nq, v=model.nv)
    events = [
        lw.Event(swung, detach=hold("first bar"), direction="falling", name="lets go"),
        lw.Event(near, attach=hold("second bar"), direction="falling", name="catches"),
    ]
    motion = lw.simulate(
        model,
        q,
        np.zeros(model.nv),
        DURATION,
        DT,
        constraints=hold("first bar"),
        events=events,
        progress=False,
        **FINELY,
    )
    for event in motion.events:
        print(event)
    if [event.name for event in motion.events] != ["lets go", "catches"]:
        return 1
    gone, caught = (event.t for event in motion.events)

    # The step of the catch again: up to the catch, and then the impact
    before = int(caught / DT)
    reached = lw.rollout(model, motion.q[before], motion.v[before], dt=caught - motion.t[before], steps=1, **FINELY)
    there, speed = reached.q[-1], reached.v[-1]
    grip = [lw.PointOnPlane.at(model, there, "hands", "second bar", normal=normal) for normal in "xz"]
    after, impulses = lw.impact(model, there, speed, grip)
    momentum = [turning(model, there) @ lw.mass_matrix(model, there) @ v for v in (speed, after)]
    energy = [float(lw.energy(model, there, v)[0]) for v in (speed, after)]
    print(
        f"the catch, {np.linalg.norm(gap(model, there)) * 1e3:.0f} mm off the bar, takes {energy[0] - energy[1]:.0f} J "
        f"and gives the hands {np.linalg.norm(impulses[:, :3]):.0f} N s"
    )

    flying = (motion.t > gone) & (motion.t < caught)
    on = motion.t > caught + DT
    inertias = [model.bodies[model.body_index(name)].inertia.mass for name in ("trunk", "legs")]
    middle = lw.forward_kinematics(model, motion.q, [lw.Point("trunk", (0, -0.8, 0)), lw.Point("legs", (0, -0.4, 0))])
    middle = np.average(middle[:, :, :3, 3], axis=1, weights=inertias)
    times = motion.t[flying]
    fall = np.polyfit(times - times[0], middle[flying, 2], 2)
    held = np.array([gap(model, each) for each in motion.q[on]])
    turned = [lw.forward_kinematics(model, each, ["second bar"])[0, :3, :3] for each in motion.q[on]]
    grips = np.einsum("kij,ki->kj", turned, held)  # in the bar's axes
    rest = lw.rollout(
        model,
        there,
        after,
        dt=motion.t[before + 1] - caught,
        steps=1,
        constraints=grip,
        stabilisation=10 * DT,
        **FINELY,
    )
    print(f"the hands slip by {np.abs(grips - grips[0]).max() * 1e3:.1f} mm")
    checks = {
        "the impact keeps angular momentum": abs(momentum[1] - momentum[0]) < 1e-9 * abs(momentum[0]),
        "it takes energy": energy[1] < energy[0],
        "the simulation goes on from it": np.abs(motion.v[before + 1] - rest.v[-1]).max() < 1e-6,
        "the artist flies freely": abs(fall[0] + 9.81 / 2) < 0.01,
        "nothing pulls in flight": not motion.constraint_forces[flying].any(),
        "the hands stay on the bar": np.abs(grips - grips[0]).max() < 2e-3,
    }
    if len(sys.argv) > 1:
        lw.save_html(motion, sys.argv[1], trails=["hands"], ground=-6.5)
    for what, holds in checks.items():
        if not holds:
            print(f"not so: {what}")
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
