"""Contacts of more than 50 bodies: against MuJoCo, and against the solver for few bodies where both work."""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms import SUPPORTED
from linkwork.dynamics.call import call
from linkwork.dynamics.contact.many_bodies import ManyBodies
from strategies import Array
from test_contact import OPTIONS, ours, scene, theirs


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
    q, v, passive, answers = states(m, d, name, 2)
    with lw.interpreted():
        a, forces = lw.contact_dynamics(model, q, v, passive, model.contacts, dt=0.004)
    for k, (place, answer) in enumerate(answers):
        d.qpos[:] = place
        error = abs(theirs(m, d, a[k], v[k]) - answer).max() / abs(answer).max()
        assert error < 1e-9
    assert forces.shape == (2, sum(one.points for one in model.contacts), 3)
    assert (forces[..., 2] >= 0.0).all() and (forces[..., 2] > 0.0).sum() > 12


def test_rollouts_and_simulations_are_mujoco_s_to_the_bit_in_any_company(folder: Path) -> None:
    m, model = large("snake", folder)
    d = mujoco.MjData(m)
    q, v, _, answers = states(m, d, "snake", 2)
    v = np.zeros_like(v)
    with lw.interpreted():
        both = lw.rollout(model, q, v, dt=0.004, steps=2, contacts=model.contacts)
        motion = lw.simulate(model, q[0], v[0], dt=0.004, duration=0.008, contacts=model.contacts, contact_forces=True)
    assert (both.q[0] == motion.q).all() and (both.v[0] == motion.v).all()  # searches begin with the last accelerations
    mujoco.mj_resetData(m, d)
    d.qpos[:] = answers[0][0]
    for k in range(2):
        mujoco.mj_step(m, d)
        np.testing.assert_allclose(both.q[0, k + 1], ours(m, d)[0], atol=1e-11)
        np.testing.assert_allclose(both.v[0, k + 1], ours(m, d)[1], atol=1e-9)
    assert motion.constraint_forces.shape == (3, sum(one.points for one in model.contacts), 6)
    assert motion.constraint_forces[0, :, 2].max() > 0.1


@pytest.mark.parametrize("name", ["legs", "planes"])
def test_both_systems_agree(name: str, tmp_path: Path) -> None:
    m, model = scene(name, tmp_path)
    d, rng, found = mujoco.MjData(m), np.random.default_rng(5), []
    for _ in range(4):
        mujoco.mj_resetData(m, d)
        mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv) * 0.25, 1.0)
        d.qvel[:] = rng.normal(size=m.nv)
        found.append(ours(m, d))
    q, v = (np.array([each[k] for each in found]) for k in range(2))
    tau, f_ext = rng.normal(size=v.shape), rng.normal(size=(4, len(model.bodies), 6))
    with lw.interpreted():
        a, forces = lw.contact_dynamics(model, q, v, tau, model.contacts, f_ext)
        ways = ManyBodies(model, model.contacts)
        b, others = ways.law(True, False)(q, v, tau, f_ext)
        points, distances = ways.points_law(q)
        known = lw.contact_points(model, q, model.contacts)
    assert (forces[..., 2] > 1.0).sum() > 2
    np.testing.assert_allclose(b, a, rtol=0.0, atol=1e-11 * abs(a).max())
    np.testing.assert_allclose(others, forces, rtol=0.0, atol=1e-11 * abs(forces).max())
    assert (points == known[0]).all() and (distances == known[1]).all()


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


def test_what_is_not_there_for_many_bodies_is_refused_by_name() -> None:
    chain = lw.mechanisms.serial_chain(51)
    q, v, tip = lw.neutral(chain), np.zeros(51), lw.Contact("tip", lw.Sphere(0.1))
    floor = [dataclasses.replace(tip, against=lw.Plane(height=-3.0))]
    water = lw.Contacts((tip,), medium=lw.Medium(1000.0, boxes=(("tip", lw.placement(), (0.1, 0.1, 0.1)),)))
    moving = lw.Contact("tip", lw.Sphere(0.1), lw.Sphere(0.1), on="joint3", name="ends")
    cases = [
        ([moving], {}, "contact 'ends' is with something that moves; in a mechanism of 51 bodies"),
        (floor, {"constraints": [lw.Ball("tip")]}, "constraints exclude each other in a mechanism of 51 bodies"),
        (water, {}, "medium that resists"),
    ]
    for contacts, more, words in cases:
        with pytest.raises(lw.ArgumentError, match=words):
            lw.contact_dynamics(chain, q, v, v, contacts, **more)
    with pytest.raises(lw.TracingError, match="cannot be traced or differentiated"):
        lw.compile(lambda q, v: lw.contact_dynamics(chain, q, v, v, floor)[0], q=51, v=51)
    with pytest.raises(lw.TracingError, match="cannot be traced or differentiated"):
        lw.linearise(chain, q, v, v, dt=0.01, contacts=floor)
    with lw.interpreted(), pytest.raises(lw.ArgumentError, match=r"q .*\(.*51"):
        lw.contact_dynamics(chain, q[:3], v, v, floor)
