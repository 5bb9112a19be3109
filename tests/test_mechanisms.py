"""The built-in mechanisms have the masses, sizes, names and symmetries that they claim."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import linkwork as lw
from linkwork.joints import KINDS

HEIGHT, MASS = 1.7, 70.0


def positions(model: lw.Model, q: np.ndarray, frames: list[str]) -> np.ndarray:
    return lw.forward_kinematics(model, q, frames)[:, :3, 3]


@pytest.mark.parametrize("kind", KINDS)
def test_a_chain_of_any_joint_kind(kind: str) -> None:
    chain = lw.mechanisms.serial_chain(4, kind, link_length=0.5, link_mass=2.0)
    assert chain.body_names == ("body1", "body2", "body3", "body4")
    assert chain.joint_names == ("joint1", "joint2", "joint3", "joint4")
    assert all(type(body.joint) is KINDS[kind] for body in chain.bodies)
    assert chain.mass == 8.0 and chain.depth == 4
    np.testing.assert_allclose(positions(chain, lw.neutral(chain), ["tip"]), [[2.0, 0.0, 0.0]], atol=1e-15)
    np.testing.assert_allclose(lw.centre_of_mass(chain, lw.neutral(chain)), [1.0, 0.0, 0.0], atol=1e-15)


def test_kinds_taken_in_turn_and_a_joint_with_an_axis() -> None:
    chain = lw.mechanisms.serial_chain(5, ["prismatic", lw.joints.Revolute("y")])
    assert [body.joint.describe() for body in chain.bodies] == ["prismatic z", "revolute y"] * 2 + ["prismatic z"]


def test_the_ends_of_a_chain_turn_about_its_joints() -> None:
    chain = lw.mechanisms.serial_chain(2)
    np.testing.assert_allclose(
        positions(chain, np.array([np.pi / 2, -np.pi / 2]), ["body2", "tip"]), [[0, 1, 0], [1, 1, 0]], atol=1e-15
    )
    # two rods of 1 kg and 1 m, stretched: a rod of 2 kg and 2 m, with a little for their thickness
    assert lw.mass_matrix(chain, [0.0, 0.0])[0, 0] == pytest.approx(2 * 2**2 / 3, rel=1e-3)


def test_a_floating_chain_falls_as_one() -> None:
    chain = lw.mechanisms.serial_chain(5, "revolute", floating_base=True)
    assert chain.joint_names[0] == "root_joint" and chain.body_names[:2] == ("base", "body1") and chain.nv == 11
    a = lw.forward_dynamics(chain, lw.neutral(chain), np.zeros(11), np.zeros(11))
    np.testing.assert_allclose(a, [0, 0, -9.81] + [0] * 8, atol=1e-12)


def test_a_hundred_thousand_links() -> None:
    chain = lw.mechanisms.serial_chain(100_000)
    assert chain.nv == chain.depth == 100_000
    assert chain.joint_index("joint77777") == 77_776
    assert chain.frame("tip").body == 100_000
    assert sum(body.inertia.mass for body in chain.bodies) == 100_000.0


def test_the_star_of_figure_7() -> None:
    for n in range(2, 13):
        star = lw.mechanisms.star(n)
        assert star.nv == 3 * (n + 1) and star.depth == 2
        assert {body.parent for body in star.bodies[1:]} == {1}
    assert lw.mechanisms.star(6, "revolute").nv == 9
    q = lw.neutral(star)
    com = lw.centre_of_mass(star, q)
    np.testing.assert_allclose(com[:2], 0.0, atol=1e-15)  # it hangs straight
    np.testing.assert_allclose(lw.gravity_torques(star, q), 0.0, atol=1e-13)


def test_a_binary_tree_is_full_and_mirrored() -> None:
    tree = lw.mechanisms.binary_tree(5, "spherical")
    children = np.bincount([body.parent for body in tree.bodies], minlength=32)
    assert len(tree.bodies) == 31 and tree.depth == 5 and tree.nv == 93
    assert sorted(children[1:]) == [0] * 16 + [2] * 15
    tips = positions(tree, lw.neutral(tree), [f"tip{k}" for k in range(1, 17)])
    np.testing.assert_allclose(tips, tips[::-1] * [1, -1, 1], atol=1e-12)


@pytest.mark.parametrize(("name", "depth", "leaves"), [("serial_30dof", 10, 1), ("branched_30dof", 7, 2)])
def test_the_30_dof_chains(name: str, depth: int, leaves: int) -> None:
    chain = lw.mechanisms.by_name(name)
    assert (chain.nv, len(chain.bodies), chain.depth, round(chain.mass, 12)) == (30, 10, depth, 10.0)
    parents = {body.parent for body in chain.bodies}
    assert len([k for k in range(1, 11) if k not in parents]) == leaves
    np.testing.assert_allclose(lw.gravity_torques(chain, lw.neutral(chain)), 0.0, atol=1e-13)


def test_a_rope_weighs_what_its_metres_weigh() -> None:
    rope = lw.mechanisms.rope(20, length=10.0, mass_per_metre=0.5)
    assert rope.mass == pytest.approx(5.0) and rope.nv == 40
    np.testing.assert_allclose(positions(rope, lw.neutral(rope), ["tip"]), [[0, 0, -10]], atol=1e-12)
    assert lw.mechanisms.rope(20, "spherical").nv == 60


def test_pendulums_swing_as_in_the_textbook() -> None:
    rod = lw.mechanisms.pendulum(length=2.0, mass=3.0)
    swing = lw.forward_dynamics(rod, [0.1], [0.0], [0.0])[0]
    assert swing == pytest.approx(-1.5 * 9.81 / 2.0 * np.sin(0.1), rel=1e-3)
    double = lw.mechanisms.double_pendulum()
    assert (double.nv, double.depth, double.mass) == (2, 2, 2.0)


def test_a_free_box_spins_with_its_moments() -> None:
    box = lw.mechanisms.free_box(mass=12.0, size=(1.0, 2.0, 3.0))
    np.testing.assert_allclose(lw.mass_matrix(box, lw.neutral(box)), np.diag([12, 12, 12, 13, 10, 5]), atol=1e-12)


class TestHumanoid:
    @pytest.mark.parametrize("floating", [False, True])
    def test_24_hinges_and_70_kg(self, floating: bool) -> None:
        person = lw.mechanisms.humanoid(floating_base=floating)
        hinges = [body for body in person.bodies if isinstance(body.joint, lw.joints.Revolute)]
        assert len(hinges) == 24 and len(person.bodies) == 24 + floating and person.nv == 24 + 6 * floating
        assert person.mass == pytest.approx(MASS * (1.0 if floating else 0.858))
        assert {"left_hand", "right_hand", "left_sole", "right_sole", "head_top", "pelvis"} <= set(person.frame_names)

    @pytest.mark.parametrize("floating", [False, True])
    def test_it_stands_upright(self, floating: bool) -> None:
        person = lw.mechanisms.humanoid(floating_base=floating)
        left, right, head, hand = positions(
            person, lw.neutral(person), ["left_sole", "right_sole", "head_top", "left_hand"]
        )
        np.testing.assert_allclose([left[2], right[2], head[2]], [0.0, 0.0, HEIGHT], atol=1e-12)
        assert left[1] > 0.05 and right[1] == -left[1]
        assert hand[1] > 0.15 and 0.6 < hand[2] < 0.85  # beside the thigh
        poses = lw.forward_kinematics(person, lw.neutral(person), list(person.body_names))
        np.testing.assert_allclose(poses[:, :3, :3], np.broadcast_to(np.eye(3), (len(person.bodies), 3, 3)), atol=1e-15)
        if floating:  # 55 to 58 per cent of the height is where people have it, above the feet
            com = lw.centre_of_mass(person, lw.neutral(person))
            assert 0.54 * HEIGHT < com[2] < 0.60 * HEIGHT and abs(com[1]) < 1e-12 and 0.0 <= com[0] < 0.05

    def test_left_mirrors_right(self) -> None:
        person = lw.mechanisms.humanoid()
        mirror = np.array([1, -1, 1])
        by_joint = dict(zip(person.joint_names, person.bodies, strict=True))
        for name, left in by_joint.items():
            if not name.startswith("left_"):
                continue
            right = by_joint[name.replace("left_", "right_")]
            assert left.inertia.mass == right.inertia.mass and left.limits.effort == right.limits.effort
            # a turn about y is the same on both sides, one about x or z is the other way round
            same = left.joint.describe().endswith("y")
            low, high = right.limits.lower[0], right.limits.upper[0]
            assert (left.limits.lower[0], left.limits.upper[0]) == ((low, high) if same else (-high, -low))

        rng = np.random.default_rng(0)
        q = rng.uniform(-0.5, 0.5, 24)
        turned = np.zeros(24)
        for index, (name, body) in enumerate(by_joint.items()):
            other = name.replace("left_", "right_") if name.startswith("left_") else name.replace("right_", "left_")
            sign = 1.0 if body.joint.describe().endswith("y") else -1.0
            turned[person.joint_index(other)] = sign * q[index]
        one = positions(person, q, ["left_hand", "right_hand", "left_sole"])
        two = positions(person, turned, ["right_hand", "left_hand", "right_sole"])
        np.testing.assert_allclose(one * mirror, two, atol=1e-12)
        np.testing.assert_allclose(lw.centre_of_mass(person, q) * mirror, lw.centre_of_mass(person, turned), atol=1e-12)

    def test_every_link_has_inertia(self) -> None:
        person = lw.mechanisms.humanoid(floating_base=True)
        masses = np.array([body.inertia.mass for body in person.bodies])
        assert masses.min() > 0.03
        q, _ = lw.random_state(person, 0, shape=20)
        moments = np.linalg.eigvalsh(lw.mass_matrix(person, q))
        assert moments.min() > 1e-5
        neighbours = [masses[i] / masses[body.parent - 1] for i, body in enumerate(person.bodies) if body.parent]
        assert min(neighbours) > 1e-2 and max(neighbours) < 1e2

    def test_flexion_goes_the_way_people_bend(self) -> None:
        person = lw.mechanisms.humanoid()

        def moved(joint: str, angle: float, frame: str) -> np.ndarray:
            q = lw.neutral(person)
            index = person.joint_index(joint)
            assert person.lower_limit[index] <= angle <= person.upper_limit[index]
            q[index] = angle
            return positions(person, q, [frame])[0] - positions(person, lw.neutral(person), [frame])[0]

        assert moved("left_elbow_pitch", -1.0, "left_hand")[0] > 0.1  # the hand comes forward
        assert moved("left_knee_pitch", 1.0, "left_sole")[0] < -0.1  # the foot goes back
        assert moved("left_shoulder_roll", 1.0, "left_hand")[1] > 0.1  # the arms go out
        assert moved("right_shoulder_roll", -1.0, "right_hand")[1] < -0.1
        assert moved("waist_pitch", 1.0, "head_top")[0] > 0.1  # bowing


def test_bowing_brings_the_hands_down_to_a_third_of_a_metre() -> None:
    person = lw.mechanisms.humanoid()
    q = lw.neutral(person)
    for joint, angle in {"waist_pitch": 1.55, "left_shoulder_pitch": -1.55, "right_shoulder_pitch": -1.55}.items():
        q[person.joint_index(joint)] = angle
    hands = positions(person, q, ["left_hand", "right_hand"])
    assert (abs(hands[:, 2] - 0.34) < 0.03).all() and (hands[:, 0] > 0.2).all()


@pytest.mark.parametrize(
    "text", ["humanoid", "star:3", "binary_tree:3:spherical", "rope:7", "free_box", "serial_chain:3:helical"]
)
def test_models_are_equal_pickle_and_come_by_name(text: str) -> None:
    model = lw.mechanisms.by_name(text)
    assert model == lw.mechanisms.by_name(text) == pickle.loads(pickle.dumps(model))
    assert hash(model) == hash(pickle.loads(pickle.dumps(model)))
    assert lw.mechanisms.NAMES[text.split(":")[0]].__name__ == text.split(":")[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("humanod", "no mechanism named 'humanod'; did you mean 'humanoid'"),
        ("serial_chain", "missing a required argument: 'n'; write it as serial_chain:n:joint"),
        ("serial_chain:1:2:3", "too many positional arguments"),
        ("serial_chain:0", "n must be an integer of 1 or more, not 0"),
        ("serial_chain:2.5", "n must be an integer of 1 or more, not 2.5"),
        ("serial_chain:2:sphericl", "not 'sphericl'; did you mean 'spherical'"),
        ("binary_tree:60", "at most 20"),
        ("pendulum:-1", "length must be a positive number, not -1"),
        ("pendulum:nan", "length must be a positive number, not nan"),
    ],
)
def test_a_bad_name_or_argument_says_so(text: str, message: str) -> None:
    with pytest.raises(lw.ArgumentError, match=message.replace("(", r"\(")):
        lw.mechanisms.by_name(text)


def test_bad_joints_and_bases_say_so() -> None:
    with pytest.raises(lw.ArgumentError, match="empty"):
        lw.mechanisms.serial_chain(2, [])
    with pytest.raises(lw.ArgumentError, match="not 3"):
        lw.mechanisms.serial_chain(2, [3])  # type: ignore[list-item]
    with pytest.raises(lw.ArgumentError, match="'star' has no floating base; these have: serial_chain, humanoid"):
        lw.mechanisms.by_name("star:3", floating_base=True)
    assert lw.mechanisms.by_name("humanoid", floating_base=True).nv == 30


def test_bad_sizes_of_uniform_bodies_are_named() -> None:
    with pytest.raises(lw.ArgumentError, match=r"mass must be a number of 0 or more, not -1\.0"):
        lw.mechanisms.ball(-1.0, 0.1)
    with pytest.raises(lw.ArgumentError, match=r"size must be 3 number\(s\)"):
        lw.mechanisms.box(1.0, [1.0, 2.0])
    with pytest.raises(lw.ArgumentError, match="along must be one of 'x', 'y', 'z'"):
        lw.mechanisms.rod(1.0, 1.0, 0.1, along="w")
