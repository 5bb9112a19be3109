"""The same mechanism described in another way moves in the same way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms import FORWARD_DYNAMICS
from linkwork.joints import Cylindrical, Fixed, Helical, Joint, Prismatic, Revolute, Universal
from linkwork.model import Body, Frame, Model
from linkwork.spatial import Mat3, Transform, Vec3
from strategies import Array, State, close, pool, random_placement, renumbered, state_of

SOME = [0, 1, 3, 10]  # of the pool
in_the_text = pytest.mark.parametrize(("engine", "index"), [("interpreted", k) for k in SOME], indirect=["engine"])
in_every_form = pytest.mark.parametrize(  # tables, loops and slots follow the numbering: that which is new is compiled
    ("engine", "index"), [*(("interpreted", k) for k in SOME), ("specialised", 3), ("rolled", 3)], indirect=["engine"]
)


def results(model: Model, s: State) -> dict[str, Array]:
    """Results that must not change, with vectors in the order of ``s.model``."""
    moving = [body.joint_name for body in s.model.bodies if body.joint.nv]
    p, p_q = model.permutation(moving), model.permutation(moving, of="q")
    q, (v, a, tau) = s.q[..., np.argsort(p_q)], (x[..., np.argsort(p)] for x in (s.v, s.a, s.tau))
    frames = [name for name in s.model.frame_names if name.startswith("f") or name == "post"]
    return {
        "placements": lw.forward_kinematics(model, q, frames),
        "jacobian": lw.jacobian(model, q, frames, "world")[..., p],
        "accelerations": lw.frame_acceleration(model, q, v, a, frames),
        "inverse_dynamics": lw.inverse_dynamics(model, q, v, a)[..., p],
        "mass_matrix": lw.mass_matrix(model, q)[..., p, :][..., p],
        **{m: lw.forward_dynamics(model, q, v, tau, method=m)[..., p] for m in FORWARD_DYNAMICS},
        "kinetic": lw.energy(model, q, v)[0],
        "potential": lw.energy(model, q, v)[1],
        "momentum": lw.momentum(model, q, v),
        "centre_of_mass": lw.centre_of_mass(model, q),
    }


def same(expected: dict[str, Array], actual: dict[str, Array], but: tuple[str, ...] = ()) -> None:
    for name in expected.keys() - set(but):
        close(actual[name], expected[name], 1e-11, what=name)


@in_every_form
def test_the_numbering_of_bodies_does_not_matter(engine: str, index: int) -> None:
    model = pool()[index]
    s = state_of(model, index, () if engine == "interpreted" else (2,))
    other = renumbered(model, np.random.default_rng(index))
    assert sorted(other.body_names) == sorted(model.body_names)
    with lw.interpreted():
        expected, expected_loaded = results(model, s), lw.forward_dynamics(model, s.q, s.v, s.tau, s.f_ext)
    same(expected, results(other, s))
    order = [model.body_index(name) for name in other.body_names]
    moving = [body.joint_name for body in model.bodies if body.joint.nv]
    p = other.permutation(moving)
    loaded = lw.forward_dynamics(
        other,
        s.q[..., np.argsort(other.permutation(moving, of="q"))],
        s.v[..., np.argsort(p)],
        s.tau[..., np.argsort(p)],
        s.f_ext[..., order, :],
    )
    close(loaded[..., p], expected_loaded, 1e-11)


def shifted(body: Body, rng: np.random.Generator) -> tuple[Transform, Joint]:
    """Another frame for a body, placed in the old one, and the same joint described in it.

    A joint with axes keeps its coordinates when its frame rotates in any way and moves along directions that do not
    affect the joint: anywhere if it only slides, along its axis if it rotates. Other joints' velocities belong to their
    frames.
    """
    joint, anywhere = body.joint, random_placement(rng)
    if isinstance(joint, Fixed):
        return anywhere, joint
    if not isinstance(joint, Revolute | Prismatic | Helical | Cylindrical | Universal):
        return Transform.identity(), joint
    turn, axis = anywhere.rotation, joint.axis.direction
    axes = {name: seen(turn, getattr(joint, name).direction) for name in ("axis", "second") if hasattr(joint, name)}
    if isinstance(joint, Prismatic):
        slide = anywhere.translation
    else:
        slide = Vec3.zero() if isinstance(joint, Universal) else axis * 0.7
    return Transform(turn, slide), replace(joint, **axes)


def seen(turn: Mat3, direction: Vec3) -> tuple[float, ...]:
    return tuple(turn.apply_transpose(direction).numbers())


@in_the_text
def test_the_choice_of_body_frames_does_not_matter(engine: str, index: int) -> None:
    model = pool()[index]
    rng = np.random.default_rng(index)
    shifts, joints = zip(*(shifted(body, rng) for body in model.bodies), strict=True)
    shifts = (Transform.identity(), *shifts)
    bodies = tuple(
        replace(
            body,
            joint=joints[number - 1],
            placement=shifts[body.parent].inverse() * body.placement * shifts[number],
            inertia=shifts[number].inverse().to_parent(body.inertia),
        )
        for number, body in enumerate(model.bodies, 1)
    )
    frames = tuple(Frame(f.name, f.body, shifts[f.body].inverse() * f.placement) for f in model.frames)
    assert bodies != model.bodies or index == 1  # the subspaces that vary have frames of their own only
    s = state_of(model, index)
    same(results(model, s), results(Model(model.name + "_moved", bodies, frames, model.gravity), s))


@in_the_text
def test_merging_fixed_bodies_leaves_the_motion_unchanged(engine: str, index: int) -> None:
    model = pool()[index]
    merged = lw.merge_fixed(model)
    assert [body.name for body in model.bodies if body.joint.nv] == list(merged.body_names)
    assert merged.frame_names == model.frame_names
    s = state_of(model, index)
    grounded = model.mass - merged.mass > 1e-12  # what is welded to the world is no part of the merged mechanism
    same(results(model, s), results(merged, s), but=("potential", "centre_of_mass", "momentum") if grounded else ())
