"""Forward dynamics by virtual work, its studies, and joint reactions: laws, oracles, odd mechanisms, cost, accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import linkwork as lw
from exact import exact_tree
from linkwork import inside
from linkwork.algorithms import ALGORITHMS, FRAMES, STUDIES, Algorithm
from linkwork.inside import evaluate, machine_code
from linkwork.joints import Fixed, Free, Joint, Revolute, Spherical
from linkwork.model import Model
from linkwork.spatial import Columns, Mobility, Motion, RigidMobility, Transform
from linkwork_lab.reproduce.counting import as_written
from strategies import JOINTS, Array, State, close, law, pool, random_inertia, random_placement, random_tree, state_of

METHODS = ("articulated_body", "virtual_work")


# The algebra


def matrix(wrenches: Any, count: int) -> Array:
    """The rows of a set of wrenches, from its values on the unit motions."""
    units = [Motion.from_numbers(row) for row in np.eye(6).tolist()]
    return np.array([wrenches.dot(unit) for unit in units]).reshape(6, count).T


@pytest.mark.parametrize("joint", JOINTS, ids=lambda joint: joint.describe())
def test_constraints_annihilate_the_motions_of_a_joint_and_its_dual_reads_them(joint: Joint) -> None:
    rng = np.random.default_rng(joint.nv)
    subspace = joint.subspace(joint.random(rng))
    S = np.array([column.numbers() for column in subspace.columns()]).reshape(-1, 6).T
    K, KJ = matrix(subspace.complement(), 6 - joint.nv), matrix(subspace.dual(), joint.nv)
    close(K @ S, np.zeros((6 - joint.nv, joint.nv)), 1e-15, scale=10.0)
    close(KJ @ S, np.eye(joint.nv), 1e-14, scale=1.0)
    assert (np.linalg.matrix_rank(K) if K.size else 0) == 6 - joint.nv
    rotor = rng.uniform(0.1, 2.0, size=joint.nv).tolist()
    held = subspace.complement(rotor)
    assert held.compliance == [0.0] * (6 - joint.nv) + [1.0] * joint.nv
    close(matrix(held, 6)[6 - joint.nv :], np.sqrt(rotor)[:, None] * KJ, 1e-15)
    sizes = rng.normal(size=6).tolist()
    close(held.times(sizes).numbers(), matrix(held, 6).T @ sizes, 1e-15, scale=1.0)


@pytest.mark.parametrize("n", range(1, 7))
def test_constraints_of_any_columns(n: int) -> None:
    rng = np.random.default_rng(n)
    for scale in (1.0, 1e-8, 1e8):
        S = rng.normal(size=(6, n)) * scale
        subspace = Columns([Motion.from_numbers(column) for column in S.T.tolist()])
        K, KJ = matrix(subspace.complement(), 6 - n), matrix(subspace.dual(), n)
        close(K @ S, np.zeros((6 - n, n)), 1e-15, scale=10.0 * scale)
        close(K @ K.T, np.eye(6 - n), 1e-14, scale=1.0)
        close(KJ @ S, np.eye(n), 1e-12, scale=1.0)


def test_mobilities_are_inverse_inertias_and_move_like_them() -> None:
    rng = np.random.default_rng(0)
    builder = lw.Builder()
    builder.add_body("body", **random_inertia(rng))
    inertia = builder.build().bodies[0].inertia
    dense: Array = np.array(inertia.articulated().rows())
    rigid = RigidMobility.of_inertia(inertia)

    def full(mobility: Mobility) -> Array:
        return np.array([column.numbers() for column in mobility.columns()]).T

    close(full(rigid.full()) @ dense, np.eye(6), 1e-12)
    force = lw.spatial.Force.from_numbers(rng.normal(size=6).tolist())
    close((rigid * force).numbers(), (rigid.full() * force).numbers(), 1e-14)
    place: Transform = random_placement(rng)
    _, seen = rigid.full().across(place.inverse())  # the frame in which ours is a child
    moved: Array = np.array(place.to_parent(inertia).articulated().rows())
    close(full(seen) @ moved, np.eye(6), 1e-11)


# Laws


@pytest.mark.usefixtures("engine")
@law()
def test_every_body_is_in_balance(s: State) -> None:
    """The rate of momentum: gravity, the external force, its own joint's wrench, and its children's, reversed."""
    for method in METHODS:
        a, wrenches = lw.forward_dynamics_and_reactions(s.model, s.q, s.v, s.tau, s.f_ext, method=method)
        names = s.model.body_names
        with lw.interpreted():
            close(a, lw.forward_dynamics(s.model, s.q, s.v, s.tau, s.f_ext), 1e-9)
            V = lw.frame_velocity(s.model, s.q, s.v, names)
            A = lw.frame_acceleration(s.model, s.q, s.v, a, names)
            poses = lw.forward_kinematics(s.model, s.q, names)
        left = wrenches + s.f_ext
        for index, body in enumerate(s.model.bodies):
            I: Array = np.array(body.inertia.articulated().rows())
            h = np.einsum("ij,...j->...i", I, V[..., index, :])
            w, v = V[..., index, 3:], V[..., index, :3]
            bias = np.concatenate([np.cross(w, h[..., :3]), np.cross(w, h[..., 3:]) + np.cross(v, h[..., :3])], axis=-1)
            fall = np.zeros_like(h)
            fall[..., :3] = np.einsum("...ji,j->...i", poses[..., index, :3, :3], s.model.gravity)
            need = np.einsum("ij,...j->...i", I, A[..., index, :] - fall) + bias
            left[..., index, :] -= need
            if body.parent:
                child, parent = poses[..., index, :, :], poses[..., body.parent - 1, :, :]
                left[..., body.parent - 1, :] -= seen_from(wrenches[..., index, :], child, parent)
        close(left, np.zeros_like(left), 1e-10, scale=np.abs(wrenches).max())


def seen_from(wrench: Array, frame: Array, other: Array) -> Array:
    """A wrench given in one frame, transformed to another; both as placements in the world."""
    relative = np.linalg.inv(other) @ frame
    force = np.einsum("...ij,...j->...i", relative[..., :3, :3], wrench[..., :3])
    moment = np.einsum("...ij,...j->...i", relative[..., :3, :3], wrench[..., 3:])
    return np.concatenate([force, moment + np.cross(relative[..., :3, 3], force)], axis=-1)


@pytest.mark.usefixtures("engine")
@law()
def test_joints_transmit_their_own_force_less_what_turns_the_rotor(s: State) -> None:
    for method in METHODS:
        a, wrenches = lw.forward_dynamics_and_reactions(s.model, s.q, s.v, s.tau, s.f_ext, method=method)
        felt = s.tau - s.model.armature * a
        for index, (body, start) in enumerate(zip(s.model.bodies, s.model.v_start, strict=True)):
            if isinstance(body.joint, Free | Revolute):  # whose subspace does not vary
                columns = body.joint.subspace(body.joint.neutral()).columns()
                S = np.array([column.numbers() for column in columns]).T
                own = np.einsum("ij,...i->...j", S, wrenches[..., index, :])
                scale = max(np.abs(wrenches).max(), np.abs(a).max())
                close(own, felt[..., start : start + body.joint.nv], 1e-11, scale=scale)
            if isinstance(body.joint, Free):
                close(wrenches[..., index, :], felt[..., start : start + 6], 1e-11, scale=scale)


@law()
def test_both_methods_give_the_same_wrenches_in_every_frame(s: State) -> None:
    names = s.model.body_names
    with lw.interpreted():
        poses = lw.forward_kinematics(s.model, s.q, names)
        parents = ["world" if not body.parent else names[body.parent - 1] for body in s.model.bodies]
        above = lw.forward_kinematics(s.model, s.q, parents)
        world = np.broadcast_to(np.eye(4), poses.shape)
        (_, first), (_, other) = (
            lw.forward_dynamics_and_reactions(s.model, s.q, s.v, s.tau, s.f_ext, method=method) for method in METHODS
        )
        close(first, other, 1e-10)
        for frame, place in zip(FRAMES, (poses, above, world), strict=True):
            for method in METHODS:
                _, seen = lw.forward_dynamics_and_reactions(s.model, s.q, s.v, s.tau, s.f_ext, method, frame)
                close(seen, seen_from(first, poses, place), 1e-10)


@law()
def test_the_studies_agree_with_articulated_bodies(s: State) -> None:
    with lw.interpreted():
        expected = lw.forward_dynamics(s.model, s.q, s.v, s.tau, s.f_ext)
    for method in STUDIES:
        close(lw.forward_dynamics(s.model, s.q, s.v, s.tau, s.f_ext, method=method), expected, 1e-9)


# MuJoCo


def test_reactions_against_mujoco(tmp_path: Path) -> None:
    """Its cfrc_int: moment, force on a body from its parent, in world axes about the tree's centre of mass."""
    mujoco = pytest.importorskip("mujoco")
    geom = '<geom type="box" size=".1 .2 .3" pos=".05 -.02 .1" euler="10 20 30" contype="0" conaffinity="0"/>'
    path = tmp_path / "robot.xml"
    path.write_text(f"""<mujoco><worldbody>
      <body name="a" pos="0 0 1" euler="0 30 0"><joint axis="1 2 3" armature=".2"/>{geom}
        <body name="b" pos=".5 0 0"><joint type="slide" axis="0 -1 1"/>{geom}
          <body name="d" pos=".1 0 .2"><joint axis="1 0 0" armature=".3"/>{geom}</body></body>
        <body name="c" pos="0 .5 0"><joint axis="0 0 1"/>{geom}</body></body></worldbody></mujoco>""")
    model = lw.load(path)
    m = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(m)
    rng = np.random.default_rng(0)
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = rng.normal(size=(3, 4))
    push = rng.normal(size=(5, 6))  # force and moment at each body's centre of mass, in the world's axes
    data.xfrc_applied[1:] = push[1:]
    mujoco.mj_forward(m, data)
    mujoco.mj_rnePostConstraint(m, data)
    names = [m.body(i).name for i in range(1, 5)]
    poses = lw.forward_kinematics(model, data.qpos, list(model.body_names))
    f_ext, expected = np.zeros((4, 6)), np.zeros((4, 6))
    for body, name in enumerate(names, 1):
        row = model.body_index(name)
        turn, centre = poses[row, :3, :3], data.xipos[body] - poses[row, :3, 3]
        moment = push[body, 3:] + np.cross(centre, push[body, :3])
        f_ext[row] = np.concatenate([turn.T @ push[body, :3], turn.T @ moment])
        moment, force = data.cfrc_int[body, :3], data.cfrc_int[body, 3:]
        expected[row] = np.concatenate([force, moment + np.cross(data.subtree_com[1], force)])
    for method in METHODS:
        a, wrenches = lw.forward_dynamics_and_reactions(
            model, data.qpos, data.qvel, data.qfrc_applied, f_ext, method, "world"
        )
        close(a, data.qacc, 1e-9)
        close(wrenches, expected, 1e-9)


# Awkward mechanisms


def agree(model: Model, methods: Sequence[str], relative: float, seed: int = 0) -> None:
    s = state_of(model, seed, (2,))
    with lw.interpreted():
        expected = lw.forward_dynamics(model, s.q, s.v, s.tau, s.f_ext)
        for method in methods:
            close(lw.forward_dynamics(model, s.q, s.v, s.tau, s.f_ext, method=method), expected, relative, what=method)


def test_a_star_of_200_links() -> None:
    star = lw.mechanisms.star(200)
    agree(star, ("virtual_work",), 1e-11)
    agree(star, ("virtual_work_split",), 1e-7)  # equal shares of a 200th cost digits


@pytest.mark.parametrize("children", range(5))
@pytest.mark.parametrize("root", [Revolute("y"), Free(), Fixed()], ids=lambda joint: joint.describe())
def test_links_with_one_to_five_joints(root: Joint, children: int) -> None:
    rng = np.random.default_rng(children)
    builder = lw.Builder()
    builder.add_body("hub", joint=root, armature=0.2, **random_inertia(rng))
    for number in range(children):
        joint = (Spherical(), Fixed(), Revolute("x"), JOINTS[-2])[number % 4]
        builder.add_body(f"b{number}", "hub", joint, random_placement(rng), armature=0.1, **random_inertia(rng))
    agree(builder.build(), ("virtual_work", *STUDIES, "unit_vector"), 1e-10)


def test_a_weld_is_the_merged_body_and_tells_what_it_holds() -> None:
    model = random_tree(103, (Fixed(), Revolute("y")), 7)
    s = state_of(model, 1)
    merged = lw.merge_fixed(model)
    a = lw.forward_dynamics(merged, s.q, s.v, s.tau)
    for method in METHODS:
        close(lw.forward_dynamics_and_reactions(model, s.q, s.v, s.tau, method=method)[0], a, 1e-10)
    builder = lw.Builder(gravity=(0, 0, -10))
    builder.add_body("post", mass=3.0, inertia=(1, 1, 1))
    builder.add_body("sign", "post", None, lw.placement((0.5, 0, 0)), mass=2.0, inertia=(1, 1, 1))
    for method in METHODS:
        none, wrenches = lw.forward_dynamics_and_reactions(builder.build(), [], [], [], method=method)
        assert none.shape == (0,)
        close(wrenches, [[0, 0, 50, 0, -10, 0], [0, 0, 20, 0, 0, 0]], 1e-14)


def test_a_leaf_of_tiny_mass_is_warned_of_and_still_right() -> None:
    builder = lw.Builder()
    builder.add_body("arm", joint=Revolute("y"), mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    small = {"mass": 1e-6, "com": (0.05, 0, 0), "inertia": (1e-9, 1e-9, 1e-9)}
    builder.add_body("tip", "arm", Revolute("z"), lw.placement((1, 0, 0)), **small)
    model = builder.build()
    s = state_of(model, 2)
    tau = s.tau * [1.0, 1e-6]
    expected = lw.forward_dynamics(model, s.q, s.v, tau)
    for call in (lw.forward_dynamics, lw.forward_dynamics_and_reactions):
        with pytest.warns(lw.LinkworkWarning, match=r"virtual_work: bodies 'arm' and 'tip' differ by 1.0e\+06 in mass"):
            result = call(model, s.q, s.v, tau, method="virtual_work")
        close(result[0] if isinstance(result, tuple) else result, expected, 1e-9)


@pytest.mark.parametrize("inertia", [{}, {"mass": 1.0}, {"mass": 1.0, "inertia": (0, 1, 1)}])
@pytest.mark.parametrize("method", ["virtual_work", *STUDIES])
def test_a_body_without_inertia_is_named(method: str, inertia: dict[str, Any]) -> None:
    builder = lw.Builder()
    builder.add_body("arm", joint=Revolute("y"), mass=1.0, inertia=(1, 1, 1))
    builder.add_body("tip", "arm", Revolute("z"), armature=0.1, **inertia)
    model = builder.build()
    with pytest.raises(lw.SingularError, match=f"{method}: body 'tip' has mass .* use method='articulated_body'"):
        lw.forward_dynamics(model, [0, 0], [0, 0], [0, 0], method=method)
    if method == "virtual_work":
        with pytest.raises(lw.SingularError, match="virtual_work: body 'tip' has mass"):
            lw.forward_dynamics_and_reactions(model, [0, 0], [0, 0], [0, 0], method=method)


@pytest.mark.parametrize("rotor", [1e-9, 1e-3, 1e3, 1e9])
def test_rotors_of_any_size(rotor: float) -> None:
    rng = np.random.default_rng(1)
    builder = lw.Builder()
    builder.add_body("a", joint=JOINTS[-3], armature=(0.0, rotor), **random_inertia(rng))
    builder.add_body("b", "a", Spherical(), random_placement(rng), armature=(rotor, 0.0, 0.3), **random_inertia(rng))
    builder.add_body("c", "b", JOINTS[-2], random_placement(rng), armature=(rotor, 0.0), **random_inertia(rng))
    agree(builder.build(), ("virtual_work", *STUDIES), 1e-10)


def test_bad_choices_are_told() -> None:
    model = lw.mechanisms.serial_chain(1)
    with pytest.raises(lw.ArgumentError, match="method must be one of 'articulated_body', 'virtual_work'"):
        lw.forward_dynamics_and_reactions(model, [0], [0], [0], method="composite_body")
    with pytest.raises(lw.ArgumentError, match="frame must be one of 'child', 'parent', 'world'"):
        lw.forward_dynamics_and_reactions(model, [0], [0], [0], frame="body")
    with pytest.raises(lw.ArgumentError, match="model must be"):
        lw.forward_dynamics_and_reactions("arm", [0], [0], [0])  # type: ignore[arg-type]


# Costs, by exact counts of operations


def operations(algorithm: Algorithm, model: Model) -> int:
    return sum(inside.operations(algorithm, model).values())


@pytest.mark.parametrize("make", [lw.mechanisms.serial_chain, lw.mechanisms.star])
def test_operations_grow_linearly(make: Any) -> None:
    for algorithm in (ALGORITHMS["virtual_work"], ALGORITHMS["virtual_work_split"]):
        four, eight, twelve, twenty = (operations(algorithm, make(n)) for n in (4, 8, 12, 20))
        slope = (twenty - twelve) / 8
        assert abs(twelve - eight - 4 * slope) <= 0.01 * twelve
        assert abs(eight - four - 4 * slope) <= 0.01 * twelve


def test_without_splitting_operations_grow_as_the_cube_on_a_star() -> None:
    unsplit = ALGORITHMS["virtual_work_unsplit"]

    def star(n: int) -> Model:
        rng = np.random.default_rng(0)
        builder = lw.Builder()
        builder.add_body("hub", joint=Spherical(), **random_inertia(rng))
        for number in range(n):
            builder.add_body(f"b{number}", "hub", Spherical(), random_placement(rng), **random_inertia(rng))
        return builder.build()

    counts = [operations(unsplit, star(n)) for n in range(3, 9)]
    assert (np.diff(counts, 3) == 6 * 36).all()  # 36 n³ and lower powers, exactly
    few, some, many = (operations(unsplit, lw.mechanisms.serial_chain(n)) for n in (4, 8, 12))
    assert many - some == some - few


@pytest.mark.parametrize("name", ["serial_chain:10:spherical", "serial_chain:10", "star:4", "branched_30dof"])
def test_the_default_costs_less_than_the_recursion_as_printed(name: str) -> None:
    """As written, for a program that does not know its mechanism; also on chains, where nothing needs splitting."""
    model = lw.mechanisms.by_name(name)
    default, split, printed = (sum(as_written(ALGORITHMS[m], model).values()) for m in ("virtual_work", *STUDIES))
    assert default <= split and default < printed
    if name == "serial_chain:10:spherical":
        assert (default, printed) == (14894, 24560)


@pytest.mark.parametrize("method", STUDIES)
def test_the_studies_have_rolled_code_with_the_same_bits(method: str) -> None:
    builder, rng = lw.Builder(), np.random.default_rng(5)
    builder.add_body("hub", joint=Spherical(), **random_inertia(rng))
    for number in range(4):
        builder.add_body(f"b{number}", "hub", Spherical(), random_placement(rng), **random_inertia(rng))
    builder.add_body("tip", "b3", Spherical(), random_placement(rng), **random_inertia(rng))
    model = builder.build()
    s = state_of(model, 0, (2,))
    compiled, plain = (
        machine_code(ALGORITHMS[method], model, form=form, lanes=1)(s.q, s.v, s.tau)[0]
        for form in ("looped", "interpreted")
    )
    assert (compiled == plain).all()
    close(compiled, lw.forward_dynamics(model, s.q, s.v, s.tau), 1e-12)


def test_operations_beside_articulated_bodies() -> None:
    model = lw.mechanisms.humanoid()
    virtual, articulated = (operations(ALGORITHMS[name], model) for name in ("virtual_work", "articulated_body"))
    assert virtual < 3 * articulated


# Accuracy, against 50 digits

context = mpmath.mp.clone()
context.dps = 50


def errors(model: Model, methods: Sequence[str], seed: int = 0) -> list[float]:
    """Relative, of each method's accelerations in floats."""
    rng = np.random.default_rng(seed)
    q, v = lw.random_state(model, rng)
    given = [q.tolist(), v.tolist(), (0.1 * rng.normal(size=model.nv)).tolist()]
    exact = [[context.mpf(x) for x in numbers] for numbers in given]
    entry = ALGORITHMS["articulated_body"]
    (truth,) = evaluate(entry, model, [*exact, None], tree=exact_tree(model, context.mpf))
    size, found = max(map(abs, truth)), []
    for method in methods:
        (rough,) = evaluate(ALGORITHMS[method], model, [*given, None])
        found.append(float(max(abs(x - t) for x, t in zip(rough, truth, strict=True)) / size))
    return found


def chain(n: int, scale: Any = lambda number: 1.0, floating: bool = False) -> Model:
    """Links of 0.1 m on hinges that alternate between two axes; body k has ``scale(k)`` times the inertia."""
    model = lw.mechanisms.serial_chain(n, [Revolute("z"), Revolute("y")], link_length=0.1)
    bodies = []
    for number, body in enumerate(model.bodies):
        inertia = body.inertia.of([x * scale(number) for x in body.inertia.numbers()])
        bodies.append(replace(body, inertia=inertia))
    if floating:
        free = Free()
        limits = type(bodies[0].limits).none(free)
        bodies[0] = replace(bodies[0], joint=free, limits=limits)
    return Model(model.name, tuple(bodies), (), model.gravity)


def test_the_truth_does_not_depend_on_the_method() -> None:
    for model in (pool()[0], chain(20)):
        rng = np.random.default_rng(3)
        q, v = lw.random_state(model, rng)
        exact = [[context.mpf(x) for x in numbers.tolist()] for numbers in (q, v, rng.normal(size=model.nv))]
        (first, other) = (
            evaluate(ALGORITHMS[name], model, [*exact, None], tree=exact_tree(model, context.mpf))[0]
            for name in METHODS
        )
        size = max(map(abs, first))
        worst = max(abs(x - y) for x, y in zip(first, other, strict=True)) / size
        assert worst < (1e-13 if model is pool()[0] else 1e-40)  # the tree's rotations are orthogonal as floats only


def test_a_light_floating_root_is_where_virtual_work_is_the_more_accurate() -> None:
    articulated, virtual = errors(chain(100, lambda k: 1e-6 if k == 0 else 1.0, floating=True), METHODS)
    assert virtual < 1e-14
    assert articulated > 1e3 * virtual


def test_long_chains_are_as_accurate_as_by_articulated_bodies() -> None:
    articulated, virtual = errors(chain(300), METHODS)
    assert virtual < 1e-12
    assert virtual < 10 * max(articulated, 1e-15)


def test_light_neighbours_are_where_virtual_work_loses_digits_and_factors_lose_fewer_than_inverses() -> None:
    articulated, virtual, explicit = errors(
        chain(30, lambda k: 1e-6 if k % 2 else 1.0), (*METHODS, "virtual_work_unsplit")
    )
    assert articulated < 1e-13
    assert 10 * articulated < virtual < 1e-8
    assert explicit > 10 * virtual


def test_a_needle_gets_a_warning_that_names_it() -> None:
    builder = lw.Builder()
    builder.add_body("needle", joint=lw.joints.Revolute("y"), mass=1.0, com=(0.5, 0, 0), inertia=(1e-9, 0.1, 0.1))
    with pytest.warns(lw.LinkworkWarning, match="body 'needle' is so slender"):
        lw.forward_dynamics(builder.build(), [0.1], [0.2], [0.3], method="virtual_work")
