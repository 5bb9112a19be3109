"""Contacts of more than 50 bodies: against MuJoCo, and against the solver for few bodies where both work."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms import SUPPORTED
from linkwork.dynamics.call import call
from strategies import Array
from test_contact import OPTIONS, SCENES, ours, scene, theirs


def snake(links: int = 51) -> str:
    """Links with hinges alternately about y and z, the first free; some have friction, all have limits."""
    text = '<default><geom conaffinity="0"/><joint armature="1e-3" damping="0.02" range="-20 20"/></default><worldbody>'
    text += '<geom type="plane" size="9 9 1" conaffinity="1" friction="0.7"/>'
    for k in range(links):
        rubs = 'frictionloss="0.02"' if k % 3 == 0 else ""
        joint = f'<joint axis="0 {k % 2} {1 - k % 2}" {rubs}/>' if k else "<freejoint/>"
        shape = f'size="0.03" condim="{1 if k % 9 == 0 else 3}"'
        text += f'<body pos="{0.1 * bool(k)} 0 0">{joint}<geom type="capsule" fromto="0 0 0 .08 0 0" {shape}/>'
    return text + "</body>" * links + "</worldbody>"


def humanoid() -> str:
    """A humanoid on two feet, with two hands of five fingers: 55 bodies."""
    hinge = '<joint axis="{}" range="-60 60" damping="0.1" armature="0.01" frictionloss="0.05"/>'

    def limb(pos: str, axes: str, size: float, length: float, inner: str) -> str:
        joints = hinge.format({"x": "1 0 0", "y": "0 1 0", "z": "0 0 1"}[axes[0]])
        tip = f'<geom type="capsule" fromto="0 0 0 0 0 {-length}" size="{size}"/>'
        deeper = limb(f"0 0 {-length}", axes[1:], size, length, inner) if axes[1:] else inner
        return f'<body pos="{pos}">{joints}{tip}{deeper}</body>'

    foot = '<geom type="box" size=".12 .05 .02" pos=".05 0 -.2" friction="0.9" condim="4"/>'
    body = ""
    for side in (0.1, -0.1):
        body += limb(f"0 {side} -.2", "zxyyyx", 0.03, 0.15, foot)
        fingers = "".join(limb(f"{0.02 * k} 0 -.1", "yyy", 0.008, 0.03, "") for k in range(-2, 3))
        body += limb(f"0 {2 * side} .2", "yxzy", 0.03, 0.12, fingers)
    head = limb("0 0 .25", "zy", 0.05, -0.1, "")
    trunk = '<geom type="box" size=".1 .15 .2"/>'
    return (
        '<default><geom conaffinity="0"/></default><worldbody><geom type="plane" size="9 9 1" conaffinity="1"/>'
        f'<body pos="0 0 1.169"><freejoint/>{trunk}{body}{head}'
        '<body><joint axis="0 0 1"/><geom size="0.05"/></body>'
        "</body></worldbody>"
    )


@cache
def large(name: str, folder: Path) -> tuple[Any, lw.Model]:
    path = folder / f"{name}.xml"
    inside = snake() if name == "snake" else humanoid()
    path.write_text(f'<mujoco model="{name}">{OPTIONS}{inside}</mujoco>')
    return mujoco.MjModel.from_xml_path(str(path)), lw.load(path)


def states(m: Any, d: Any, name: str, count: int) -> tuple[Array, Array, Array, list[tuple[Array, Array]]]:
    """States on the ground: q, v and passive forces, and MuJoCo's qpos and accelerations."""
    rng, found, answers = np.random.default_rng(2), [], []
    for k in range(count):
        mujoco.mj_resetData(m, d)
        change = rng.normal(size=m.nv) * (0.02 if name == "snake" else 5e-4)
        change[:6] = 0.0
        if name == "snake":
            change[6::2] *= 0.02  # lies flat
            change[2] = 0.0299 - 0.0004 * k
            change[21] = 0.36  # beyond a limit
        mujoco.mj_integratePos(m, d.qpos, change, 1.0)
        d.qvel[:] = rng.normal(size=m.nv) * 0.01
        d.qvel[0] += 0.3
        mujoco.mj_forward(m, d)
        assert d.ncon >= (40 if name == "snake" else 8)
        found.append((*ours(m, d), d.qfrc_spring + d.qfrc_damper))
        answers.append((d.qpos.copy(), d.qacc.copy()))
    return *(np.array([each[i] for each in found]) for i in range(3)), answers  # type: ignore[return-value]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("large")


@pytest.mark.parametrize("name", ["snake", "humanoid"])
def test_accelerations_are_mujoco_s(name: str, folder: Path) -> None:
    m, model = large(name, folder)
    d = mujoco.MjData(m)
    assert len(model.bodies) > 50
    count = 1 if name == "snake" else 2
    q, v, passive, answers = states(m, d, name, count)
    with lw.interpreted():
        a, forces = lw.contact_dynamics(model, q, v, passive, model.contacts, dt=0.004)
    for k, (place, answer) in enumerate(answers):
        d.qpos[:] = place
        error = abs(theirs(m, d, a[k], v[k]) - answer).max() / abs(answer).max()
        assert error < 1e-9
    assert forces.shape == (count, sum(one.points for one in model.contacts), 3)
    assert (forces[..., 2] >= 0.0).all() and (forces[..., 2] > 0.0).sum() > 12


def test_rollouts_and_simulations_are_mujoco_s(folder: Path) -> None:
    m, model = large("snake", folder)
    d = mujoco.MjData(m)
    q, _, _, answers = states(m, d, "snake", 1)
    v = np.zeros((1, model.nv))
    with lw.interpreted():
        run = lw.rollout(model, q, v, dt=0.004, steps=2, contacts=model.contacts)
        motion = lw.simulate(model, q[0], v[0], dt=0.004, duration=0.008, contacts=model.contacts, contact_forces=True)
    assert (run.q[0] == motion.q).all() and (run.v[0] == motion.v).all()  # searches begin with the last accelerations
    mujoco.mj_resetData(m, d)
    d.qpos[:] = answers[0][0]
    for k in range(2):
        mujoco.mj_step(m, d)
        np.testing.assert_allclose(run.q[0, k + 1], ours(m, d)[0], atol=1e-11)
        np.testing.assert_allclose(run.v[0, k + 1], ours(m, d)[1], atol=1e-9)
    assert motion.constraint_forces.shape == (3, sum(one.points for one in model.contacts), 6)
    assert motion.constraint_forces[0, :, 2].max() > 0.1


@pytest.mark.parametrize("name", SCENES)
def test_a_matrix_and_articulated_bodies_carry_the_same_problem(name: str, tmp_path: Path) -> None:
    m, model = scene(name, tmp_path)
    d, rng, found = mujoco.MjData(m), np.random.default_rng(5), []
    for _ in range(8):
        mujoco.mj_resetData(m, d)
        mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv) * (0.1 if name == "pairs" else 0.25), 1.0)
        d.qvel[:] = rng.normal(size=m.nv)
        found.append(ours(m, d))
    q, v = (np.array([each[k] for each in found]) for k in range(2))
    tau, f_ext = rng.normal(size=v.shape), rng.normal(size=(8, len(model.bodies), 6))
    choices = {"dt": 0.004, "constraints": model.constraints}
    with lw.interpreted():
        a, forces = lw.contact_dynamics(model, q, v, tau, model.contacts, f_ext, **choices)
        known = lw.contact_points(model, q, model.contacts)
    with lw.form("looped"):
        b, others = lw.contact_dynamics(model, q, v, tau, model.contacts, f_ext, **choices)
        points, distances = lw.contact_points(model, q, model.contacts)
    assert (forces[..., 2] > 1.0).sum() > 2
    np.testing.assert_allclose(b, a, rtol=0.0, atol=1e-11 * abs(a).max())
    np.testing.assert_allclose(others, forces, rtol=0.0, atol=1e-11 * abs(forces).max())
    np.testing.assert_allclose(points, known[0], rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(distances, known[1], rtol=0.0, atol=1e-14)


def test_what_is_held_softly_moves_as_its_matrix_says() -> None:
    model, rng = lw.mechanisms.humanoid(), np.random.default_rng(1)
    frames, nv = ["left_hand", "right_sole", "right_sole"], model.nv
    q, _ = lw.random_state(model, rng)
    y, tau, rotor = *rng.normal(size=(2, nv)), rng.uniform(0.0, 1.0, nv)
    f, half = rng.normal(size=(3, 6)), rng.normal(size=(3, 6, 6))
    full = half @ half.transpose(0, 2, 1)
    i, j = np.triu_indices(3)
    K = np.concatenate([full[:, i, j], full[:, :3, 3:].reshape(3, 9), full[:, 3 + i, 3 + j]], axis=1)
    values = [q, y, tau, model.armature + rotor, f, K]
    asked = [model.frame(frame) for frame in frames]
    with lw.interpreted():
        p, P, *energies = call(SUPPORTED, model, values, asked)
        M, J = lw.mass_matrix(model, q), lw.jacobian(model, q, frames).reshape(3, 6, nv)
    H = M + np.diag(rotor) + np.einsum("kai,kab,kbj->ij", J, full, J)
    np.testing.assert_allclose(p, np.linalg.solve(H, tau + np.einsum("kai,ka->i", J, f) - M @ y), rtol=1e-9)
    np.testing.assert_allclose(P, J @ p, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(energies, [y @ M @ y, y @ M @ p, p @ M @ p], rtol=1e-11)
    with lw.form("looped"):
        found = call(SUPPORTED, model, values, asked)
    assert all((x == z).all() for x, z in zip(found, [p, P, *energies], strict=True))


def rope(links: int = 51) -> lw.Model:
    """Links with hinges alternately about y and z, the first free."""
    builder = lw.Builder()
    builder.add_body("link0", joint=lw.joints.Free(), mass=0.1, inertia=(1e-4,) * 3)
    for k in range(1, links):
        hinge = lw.joints.Revolute(axis=(0, k % 2, 1 - k % 2))
        place = lw.placement((0.05, 0, 0))
        builder.add_body(f"link{k}", f"link{k - 1}", hinge, place, mass=0.1, inertia=(1e-4,) * 3, damping=1e-3)
    return builder.build()


PAIRS = [lw.Contact(f"link{k}", lw.Sphere(0.051), lw.Sphere(0.051), on=f"link{k + 2}", name="pair") for k in (3, 8)]
FLOOR = [lw.Contact(f"link{k}", lw.Sphere(0.02)) for k in range(0, 51, 10)]
WATER = lw.Medium(1000.0, 0.1, boxes=tuple((f"link{k}", lw.placement(), (0.05, 0.02, 0.02)) for k in (0, 20)))
TIED = lw.Ball("link50", lw.Point("link0", offset=(2.5, 0.01, 0.0)))
BESIDE = {
    "pairs": ([*FLOOR, *PAIRS], None),
    "constraint": (FLOOR, [TIED]),
    "medium": (lw.Contacts((*FLOOR, *PAIRS), medium=WATER), None),
}


@pytest.mark.filterwarnings("ignore:the motion begins off")
@pytest.mark.parametrize("beside", BESIDE)
def test_many_bodies_step_with_all_that_few_do(beside: str) -> None:
    model, rng = rope(), np.random.default_rng(4)
    contacts, constraints = BESIDE[beside]
    q, v = lw.neutral(model), 0.1 * rng.normal(size=model.nv)
    q[2], q[7:] = 0.0195, 0.01 * rng.normal(size=model.nq - 7)
    given: dict[str, Any] = {"dt": 0.002, "contacts": contacts, "constraints": constraints}
    law = lw.compile(lambda t, q, v, gain: -gain * v, t=(), q=model.nq, v=model.nv, gain=())
    run = lw.rollout(model, np.stack([q, q]), np.stack([v, 0 * v]), steps=3, torque=law, parameters=(1e-3,), **given)
    same = lw.simulate(model, q, v, torque=lambda t, q, v: -1e-3 * v, duration=0.006, **given)
    np.testing.assert_allclose(same.q[-1], run.q[0, -1], rtol=0.0, atol=1e-13)
    tau, f_ext = 0.1 * rng.normal(size=model.nv), rng.normal(size=(51, 6))
    a, forces = lw.contact_dynamics(model, q, v, tau, contacts, f_ext, dt=0.002, constraints=constraints or ())
    touches, M = lw.contact_points(model, q, contacts)[0], lw.mass_matrix(model, q)
    wrenches = f_ext.copy()
    if beside == "pairs":  # what acts is what moves it
        for one, point, force in zip(contacts, touches, forces, strict=True):
            for end, sign in ((one.frame, 1.0), (one.on, -1.0)):
                if end != "world":
                    place = lw.forward_kinematics(model, q, [end])[0]
                    own, arm = sign * place[:3, :3].T @ force, place[:3, :3].T @ (point - place[:3, 3])
                    wrenches[model.body_names.index(end)] += [*own, *np.cross(arm, own)]
        np.testing.assert_allclose(
            lw.inverse_dynamics(model, q, v, a, wrenches), tau, rtol=0.0, atol=1e-9 * abs(M @ a).max()
        )
    assert (forces[: len(FLOOR), 2] > 0.0).any()
    _, B = lw.linearise(model, q, v, tau, **given)
    way, step = rng.normal(size=model.nv), 1e-4
    with lw.interpreted():
        ends = [lw.rollout(model, q, v, tau + s * way, steps=1, **given).v[-1] for s in (step, -step)]
    slope = (ends[0] - ends[1]) / (2 * step)
    np.testing.assert_allclose(B[model.nv :] @ way, slope, rtol=0.0, atol=1e-6 * abs(slope).max())


def test_a_rotation_of_length_zero_is_an_error_of_ours() -> None:
    """In the interpreter, too, in which floats cannot be divided by zero."""
    model = rope()
    q, v = np.zeros(model.nq), np.zeros(model.nv)
    for attempt in (
        lambda: lw.contact_dynamics(model, q, v, v, FLOOR),
        lambda: lw.contact_points(model, q, FLOOR),
        lambda: lw.simulate(model, q, v, 0.004, 0.002, contacts=FLOOR),
    ):
        with lw.interpreted(), pytest.raises(lw.LinkworkError, match="must be finite"):
            attempt()


def test_wrong_arguments_of_many_bodies_are_named() -> None:
    chain = lw.mechanisms.serial_chain(51)
    q, v, floor = lw.neutral(chain), np.zeros(51), [lw.Contact("tip", lw.Sphere(0.1), lw.Plane(height=-3.0))]
    with lw.interpreted(), pytest.raises(lw.ArgumentError, match=r"q .*\(.*51"):
        lw.contact_dynamics(chain, q[:3], v, v, floor)
