"""The virtual linkage: tensions and moments between hands, commanded and measured, in closed chains and at feet."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.control import HeldObject, OperationalSpaceController, Posture, Task, VirtualLinkage, augmented_object
from strategies import Array, close
from test_held_object import flying, moving, placed, shifted


def grasps(count: int) -> Array:
    """Placements that are not in one plane."""
    with lw.interpreted():
        model, _, q = flying(count)
        return lw.forward_kinematics(model, q, [f"grip{k}" for k in range(count)])


@pytest.mark.parametrize("count", [3, 4, 5, 7])
def test_it_is_all_internal_forces_and_nothing_else(count: int) -> None:
    """The map to resultant, tensions and moments is invertible; internal forces have no resultant, and the resultant is
    carried by the smallest forces.
    """
    linkage, rng = VirtualLinkage(grasps(count)), np.random.default_rng(count)
    assert len(linkage.links) == 3 * count - 6 and linkage.count == count
    wrenches = rng.normal(size=(2, count, 6))
    close(linkage.wrenches(*linkage.measured(wrenches)), wrenches, 1e-10)
    tensions, moments = rng.normal(size=3 * count - 6), rng.normal(size=(count, 3))
    inside = linkage.measured(linkage.wrenches(tensions=tensions, moments=moments))
    close(inside.tensions, tensions, 1e-10)
    close(inside.moments, moments, 1e-10)
    assert abs(inside.resultant).max() < 1e-12
    load = rng.normal(size=6)
    carried = linkage.wrenches(load)
    assert not carried[:, 3:].any()
    turns, places = grasps(count)[:, :3, :3], grasps(count)[:, :3, 3]
    forces = np.einsum("kij,kj->ki", turns, carried[:, :3])
    total = np.concatenate([forces.sum(axis=0), np.cross(places, forces).sum(axis=0)])
    close(total, load, 1e-10)
    W = np.concatenate([np.tile(np.eye(3), count), np.concatenate([np.cross(p, np.eye(3)).T for p in places], axis=1)])
    close(forces.ravel(), np.linalg.pinv(W) @ load, 1e-10)


def test_a_tension_pulls_two_grasps_apart() -> None:
    linkage = VirtualLinkage([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 4.0]])
    tensions = np.zeros(6)
    tensions[linkage.links.index((0, 1))] = 7.0
    wrenches = linkage.wrenches(tensions=tensions)
    close(wrenches[:2, :3], [[-7.0, 0.0, 0.0], [7.0, 0.0, 0.0]], 1e-12)
    assert abs(wrenches[2:]).max() < 1e-12 and abs(wrenches[:, 3:]).max() < 1e-12


def test_four_hands_squeeze_as_told_and_what_is_inside_moves_nothing() -> None:
    model, welds, q = flying(4)
    v, rng = moving(model, welds, q, 2), np.random.default_rng(5)
    pose, posture = shifted(placed(model, q)), Posture(q)
    relaxed = HeldObject("plate", welds, pose, links="auto")
    linkage = relaxed.linkage(model)
    assert linkage.names == ("grip0", "grip1", "grip2", "grip3")
    whole = augmented_object(model, q, v, relaxed)
    close(linkage.matrix[:6], whole.grasp_map, 1e-12)
    close(linkage.inverse[:, :6], whole.shares, 1e-12)
    with lw.interpreted():
        a0, w0 = lw.constrained_dynamics(
            model, q, v, OperationalSpaceController(model, [relaxed], posture).torque(0.0, q, v), welds
        )
    before = linkage.measured(-w0)
    for told in 20.0 * rng.normal(size=(2, 18)):
        held = HeldObject("plate", welds, pose, internal=told, links=linkage.links)
        tau = OperationalSpaceController(model, [held], posture).torque(0.0, q, v)
        with lw.interpreted():
            a, wrenches = lw.constrained_dynamics(model, q, v, tau, welds)
        assert np.allclose(a, a0, atol=1e-8)
        inside = linkage.measured(-wrenches)  # a weld's wrench is on the hand, its opposite on the object
        close(inside.tensions, told[:6], 1e-8)
        close(inside.moments.ravel(), told[6:], 1e-8)
        close(inside.resultant, before.resultant, 1e-8)


def tripod() -> tuple[lw.Model, Array, list[str]]:
    """A floating body on three legs of three hinges with point feet."""
    builder = lw.Builder("tripod")
    hull = builder.add_body("hull", joint=lw.joints.Free(), mass=6.0, inertia=(0.2, 0.2, 0.3))
    solid = {"mass": 0.5, "com": (0.0, 0.0, -0.1), "inertia": (0.01, 0.01, 0.005)}
    for k in range(3):
        angle, last = 2.0 * np.pi * k / 3.0 + 0.2, hull
        place = lw.placement((0.2 * np.cos(angle), 0.2 * np.sin(angle), 0.0), (0.0, 0.0, angle))
        for i, axis in enumerate("xyy"):
            last = builder.add_body(f"leg{k}{i}", last, lw.joints.Revolute(axis), place, **solid)
            place = lw.placement((0.0, 0.0, -0.1 if i == 0 else -0.25))
        builder.add_frame(f"foot{k}", last, place)
    model = builder.build()
    q = lw.neutral(model)
    q[7:] = np.tile([0.1, -0.5, 0.9], 3)
    return model, q, [f"foot{k}" for k in range(3)]


def test_feet_press_against_each_other_as_told() -> None:
    model, q, feet = tripod()
    held, still = [lw.Ball.at(model, q, foot) for foot in feet], np.zeros(model.nv)
    with lw.interpreted():
        linkage = VirtualLinkage(lw.forward_kinematics(model, q, feet), names=feet)
        hull = Task("hull", lw.forward_kinematics(model, q, ["hull"])[0])
        told = np.array([-30.0, 10.0, -5.0])
        measured, torques = [], []
        for reactions in (None, linkage.wrenches(tensions=told)):
            law = OperationalSpaceController(model, [hull], constraints=held, reactions=reactions)
            command = law.command(0.0, q, still)
            a, wrenches = lw.constrained_dynamics(model, q, still, command.torque, held)
            assert not command.torque[:6].any() and abs(a).max() < 1e-8  # it stands still
            close(wrenches, command.reactions, 1e-9)
            measured.append(linkage.measured(wrenches))
            torques.append(command.torque)
    relaxed, pressed = measured
    close(pressed.tensions - relaxed.tensions, told, 1e-9)
    close(pressed.resultant, relaxed.resultant, 1e-9)
    assert abs(pressed.resultant[2] - 9.81 * model.mass) < 1e-8 and abs(torques[1] - torques[0]).max() > 1.0


def test_what_no_linkage_can_carry_is_refused_by_name() -> None:
    square = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
    names = ["front", "right", "back", "left"]
    message = "the links between 'front', 'right', 'back', 'left' carry only 5 independent internal forces of 6"
    with pytest.raises(lw.ArgumentError, match=message):
        VirtualLinkage(square, names=names)
    with pytest.raises(lw.ArgumentError, match="carry only 2 independent internal forces of 3: grasps lie in one line"):
        VirtualLinkage([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [3.0, 0.0, 0.0]])
    with pytest.raises(lw.ArgumentError, match="between three or more grasps, not 2"):
        VirtualLinkage(square[:2])
    with pytest.raises(lw.ArgumentError, match="carry only 3"):
        VirtualLinkage([[0.0, 0.0, 0.0]] * 2 + [[1.0, 0.0, 0.0]] * 2, names=names)
    for links in (
        [(0, 1), (1, 2)],
        [(0, 1), (1, 2), (2, 3)],
        [(0, 1), (1, 0), (1, 2)],
        [(0, 1), (1, 2), (2, 2)],
        "all",
    ):
        with pytest.raises(lw.ArgumentError, match="links of 3 grasps must be 3 pairs of different grasps"):
            VirtualLinkage(square[:3], links)  # type: ignore[arg-type]
    with pytest.raises(lw.ArgumentError, match="carry only 8 independent internal forces of 9"):
        braced = [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)]
        VirtualLinkage([*square[:3], [0.3, 0.3, 1.0], [0.5, 0.2, 0.0]], [*braced, (0, 4), (1, 4), (2, 4)])
    linkage = VirtualLinkage(square[:3])
    with pytest.raises(lw.ArgumentError, match=r"tensions of 3 grasps must have shape \(..., 3\), not \(2,\)"):
        linkage.wrenches(tensions=[1.0, 2.0])
    with pytest.raises(lw.ArgumentError, match=r"wrenches of 3 grasps must have shape \(..., 3, 6\)"):
        linkage.measured(np.zeros((4, 6)))
    with pytest.raises(lw.ArgumentError, match=r"do not broadcast: resultant \(5,\), tensions \(4,\)"):
        linkage.wrenches(np.zeros((5, 6)), np.zeros((4, 3)))
    stretched = np.tile(np.diag([2.0, 1.0, 1.0, 1.0]), (3, 1, 1))
    with pytest.raises(lw.ArgumentError, match=r"placements\[0\] is no placement"):
        VirtualLinkage(stretched)
    with pytest.raises(lw.ArgumentError, match="placements must have shape"):
        VirtualLinkage(np.zeros((3, 2)))
    for wrong in (names, -1, [1, 2, 3]):
        with pytest.raises(lw.ArgumentError, match="names must be those of 3 grasps"):
            VirtualLinkage(square[:3], names=wrong)  # type: ignore[arg-type]
    assert linkage.measured(np.zeros((0, 3, 6))).tensions.shape == (0, 3)
    assert linkage.wrenches(tensions=np.zeros((0, 3))).shape == (0, 3, 6)
    model, welds, q = flying(3)
    with pytest.raises(
        lw.ArgumentError, match=r"must be the 3 tensions of links and 9 moments of its linkage, \(12,\)"
    ):
        HeldObject("plate", welds, placed(model, q), internal=np.zeros(9), links="auto")
    with pytest.raises(lw.ArgumentError, match="links of the held object 'plate' must be pairs of hands or 'auto'"):
        HeldObject("plate", welds, placed(model, q), links="every")
    two = HeldObject("plate", welds[:2], placed(model, q), links="auto")
    with pytest.raises(lw.ArgumentError, match="between three or more grasps, not 2"):
        OperationalSpaceController(model, [two])
