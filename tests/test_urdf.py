"""URDF: every published robot, the retained parts of a file, and the errors for rejected ones."""

from __future__ import annotations

import gc
import math
import os
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork.algorithms import ALGORITHMS
from linkwork.errors import ArgumentError, FormatError, LinkworkWarning
from linkwork.formats import load
from linkwork.formats.xml import MAX_DEPTH, Element, parse
from linkwork.inside import interpret
from linkwork.joints import Free, Planar, Revolute
from linkwork.model import Model
from linkwork.model.constraints import Coupling
from robots import ROBOTS, robot

EMPTY = robot("ur3.urdf")
"""A <robot> without a name and a link, as published; Pinocchio rejects it."""

INERTIA = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'


def quietly(path: Path, *arguments: Any, **options: Any) -> Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinkworkWarning)  # published files hold impossible inertias
        return load(path, *arguments, **options)


Write = Callable[[str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str | bytes) -> Path:
        path = tmp_path / "robot.urdf"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def joint(name: str, parent: str, child: str, kind: str = "continuous", inside: str = "") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{inside}</joint>'


def of(links: str, *parts: str) -> str:
    """A robot of links with one-letter names."""
    return f'<robot name="r">{"".join(f"<link name={c!r}/>" for c in links)}{"".join(parts)}</robot>'


def test_garbage_stays_young_while_a_file_is_read(write: Write) -> None:
    """Objects promoted to the old generation would be kept until a full collection, which reading postpones."""
    path = write(of("a"))
    load(path)
    gc.collect()
    rounds = gc.get_count()[2]
    cycle = Stray()
    cycle.itself, gone = cycle, weakref.ref(cycle)
    del cycle
    load(path)
    assert gc.isenabled() and gc.get_count()[2] >= rounds
    gc.collect(0)
    assert gone() is None


class Stray:
    itself: object


def test_a_file_goes_as_soon_as_it_is_read() -> None:
    """A large file has millions of elements; in reference cycles they would wait for the collector."""
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        parse(b"<a><b/></a>", "robot.urdf")
        with pytest.raises(FormatError):
            parse(b"<a><b></a>", "robot.urdf")
        gc.collect()
        left = [thing for thing in gc.garbage if isinstance(thing, Element)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
    assert not left


# Published robots


def test_the_package_has_69_files() -> None:
    assert len(ROBOTS) == 69


@pytest.mark.parametrize("floating_base", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("path", [path for path in ROBOTS if path != EMPTY], ids=lambda path: path.stem)
def test_a_published_robot_agrees_with_pinocchio(path: Path, floating_base: bool) -> None:
    pin = pytest.importorskip("pinocchio")
    model = quietly(path, floating_base)
    theirs = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if floating_base else []))
    assert model.joint_names == tuple(theirs.names)[1:]
    circles = sum(theirs.joints[i].nq == 2 for i in range(1, theirs.njoints))  # theirs: cosine and sine of an angle
    assert (model.nq, model.nv) == (theirs.nq - circles, theirs.nv)
    assert model.mass == pytest.approx(pin.computeTotalMass(theirs), rel=1e-12)
    links = {frame.name for frame in theirs.frames if frame.type == pin.FrameType.BODY}
    for frame in theirs.frames:
        if frame.name == "universe" or (frame.name in links and frame.type != pin.FrameType.BODY):
            continue  # where a link and a joint share a name, it is the link's
        ours = model.frame("world_link" if floating_base and frame.name == "world" else frame.name)
        assert ours.body == frame.parentJoint
        np.testing.assert_allclose(
            ours.placement.translation.numbers(), frame.placement.translation, rtol=0, atol=1e-12
        )
    if not floating_base and model.nv:
        np.testing.assert_array_equal(model.velocity_limit, theirs.upperVelocityLimit)


@pytest.mark.parametrize("name", ["panda.urdf", "talos_full_v2.urdf", "romeo.urdf", "solo12.urdf", "tiago_dual.urdf"])
@pytest.mark.parametrize("floating_base", [False, True])
def test_torques_are_pinocchios(name: str, floating_base: bool) -> None:
    pin = pytest.importorskip("pinocchio")
    path = robot(name)
    model = quietly(path, floating_base)
    theirs = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if floating_base else []))
    rng = np.random.default_rng(3)
    q = np.concatenate([body.joint.random(rng) for body in model.bodies])
    parts = []
    for body, start, i in zip(model.bodies, model.q_start, range(1, theirs.njoints), strict=True):
        mine = q[start : start + body.joint.nq]
        circle = theirs.joints[i].nq == 2 and body.joint.nq == 1
        parts.append([math.cos(mine[0]), math.sin(mine[0])] if circle else mine)
    v, a = rng.normal(size=model.nv), rng.normal(size=model.nv)
    (ours,) = interpret(ALGORITHMS["inverse_dynamics"], model, [q, v, a, None], ())
    expected = pin.rnea(theirs, theirs.createData(), np.concatenate(parts), v, a)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-10 * abs(expected).max())


def test_an_empty_robot_is_refused() -> None:
    with pytest.raises(FormatError, match=r"ur3\.urdf:6:1: .*robot 'ur3' has no <link>") as caught:
        load(EMPTY)
    assert (caught.value.line, caught.value.column, caught.value.element) == (6, 1, "robot")


# What is kept


def test_limits_damping_and_meshes(write: Write) -> None:
    mesh = '<visual><geometry><mesh filename="package://a/b.dae"/></geometry></visual>'
    again = '<collision><geometry><mesh filename="../x.stl"/></geometry></collision>'
    links = f'<link name="a">{mesh}</link><link name="b">{mesh}{again}</link><link name="c"/><link name="d"/>'
    limit = '<limit lower="-1" upper="2" effort="3" velocity="4"/><dynamics damping="5" friction="6"/>'
    parts = [
        joint(f"j{c}", "a", c, kind, limit)
        for c, kind in zip("bcd", ("revolute", "prismatic", "continuous"), strict=True)
    ]
    model = load(write(f'<robot name="r">{links}{"".join(parts)}</robot>'))
    assert model.meshes == ("package://a/b.dae", "../x.stl")
    assert model.lower_limit.tolist() == [-1, -1, -math.inf] and model.upper_limit.tolist() == [2, 2, math.inf]
    assert model.effort_limit.tolist() == [3] * 3 and model.velocity_limit.tolist() == [4] * 3
    assert model.damping.tolist() == [5] * 3 and model.friction.tolist() == [6] * 3


def test_orders_of_joints(write: Write) -> None:
    path = write(of("abcdef", joint("z", "b", "c"), joint("m", "a", "b", "fixed"), joint("y", "a", "d"),
                    joint("B", "d", "e"), joint("x", "b", "f")))  # fmt: skip
    assert load(path).joint_names == ("x", "z", "y", "B")
    assert load(path, joint_order="file").joint_names == ("z", "y", "B", "x")
    assert load(path, fixed_joints="keep").joint_names == ("m", "x", "z", "y", "B")
    assert load(path, fixed_joints="keep", joint_order="file").joint_names == ("m", "z", "y", "B", "x")


def test_fixed_joints_become_frames(write: Write) -> None:
    inertial = f'<inertial><origin xyz="1 0 0"/><mass value="2"/>{INERTIA}</inertial>'
    links = f'<link name="a"/><link name="b">{inertial}</link><link name="c">{inertial}</link>'
    origin = '<origin xyz="0 0 1" rpy="0 0 1.5707963267948966"/>'
    path = write(f'<robot name="r">{links}{joint("j", "a", "b")}{joint("k", "b", "c", "fixed", origin)}</robot>')
    merged, kept = load(path), load(path, fixed_joints="keep")
    assert merged.frame_names == ("world", "a", "b", "c", "j", "k") and merged.body_names == ("b",)
    assert kept.body_names == ("b", "c")
    assert merged.mass == kept.mass == 4.0
    assert merged.frame("c").placement.rotation.numbers() == [0, -1, 0, 1, 0, 0, 0, 0, 1]
    assert merged.bodies[0].inertia.moment.numbers() == [2.0, 2.0, 2.0]


def test_inertias_are_judged_of_bodies_and_not_of_their_parts(write: Write) -> None:
    """A link with an invalid inertia does not matter if it is a part of a valid body."""
    plate = INERTIA.replace('izz="1"', 'izz="3"')
    odd, solid = (f'<inertial><mass value="1"/>{each}</inertial>' for each in (plate, INERTIA))
    for base, sensor in ((solid, odd), (odd, solid), (odd, odd)):
        links = f'<link name="w"/><link name="base">{base}</link><link name="sensor">{sensor}</link>'
        path = write(f'<robot name="r">{links}{joint("j", "w", "base")}{joint("k", "base", "sensor", "fixed")}</robot>')
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            load(path)
        assert [str(each.message)[:42] for each in said] == (
            ["inertia of body 'base': no body of mass 2 "] if base == sensor else []
        )
    with pytest.warns(LinkworkWarning, match="inertia of body '(base|sensor)': no body of mass 1 has"):
        load(path, fixed_joints="keep")


def test_floating_base_and_floating_and_planar_joints(write: Write) -> None:
    path = write(of("abc", joint("f", "a", "b", "floating"), joint("p", "b", "c", "planar", '<axis xyz="0 0 1"/>')))
    model = load(path, True)
    assert model.joint_names == ("root_joint", "f", "p") and model.body_names == ("a", "b", "c")
    assert [type(body.joint) for body in model.bodies] == [Free, Free, Planar]
    assert load(write(of("ab", joint("root_joint", "a", "b"))), True).joint_names == ("root_joint_", "root_joint")


def test_a_planar_joint_is_pinocchios_whatever_its_axis_says(write: Write) -> None:
    with pytest.warns(LinkworkWarning, match="planar joint 'p' moves in the x-y plane"):
        load(write(of("ab", joint("p", "a", "b", "planar", '<axis xyz="1 0 0"/>'))))


def test_links_named_world(write: Write) -> None:
    links = '<link name="world"/><link name="a"/>'
    rooted = write(f'<robot name="r">{links}{joint("j", "world", "a")}</robot>')
    assert load(rooted).frame_names == ("world", "a", "j")
    with pytest.warns(LinkworkWarning, match="'world_link'"):
        assert load(rooted, True).body_names == ("world_link", "a")
    hanging = write(f'<robot name="r">{links}{joint("j", "a", "world")}</robot>')
    with pytest.warns(LinkworkWarning, match="'world_link'"):
        assert load(hanging).body_names == ("world_link",)


def test_a_mimic_joint_is_a_coordinate_with_a_coupling(write: Write) -> None:
    mimic = '<mimic joint="one" multiplier="-2" offset="0.5"/>'
    path = write(of("abc", joint("one", "a", "b"), joint("two", "b", "c", inside=mimic)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = load(path)
    assert model.nv == 2 and model.constraints == (Coupling("two", "one", -2.0, 0.5),)
    plain = load(write(of("abc", joint("one", "a", "b"), joint("two", "b", "c", inside='<mimic joint="one"/>'))))
    assert plain.constraints == (Coupling("two", "one"),)


def test_of_joints_that_mimic_each_other_in_a_circle_one_is_free(write: Write) -> None:
    names = ("one", "two", "three")
    ends = zip("abc", "bcd", strict=True)
    circle = [
        joint(name, *end, inside=f'<mimic joint="{names[k - 1]}"/>')
        for k, (name, end) in enumerate(zip(names, ends, strict=True))
    ]
    with pytest.warns(LinkworkWarning, match="joint 'three' mimics another, but joints mimic each other in a circle"):
        model = load(write(of("abcd", *circle)))
    assert model.constraints == (Coupling("one", "three"), Coupling("two", "one"))


OVERLOOKED = {
    "a mimic of none": ('<mimic joint="on"/>', "joint 'two' mimics another, but there is no joint named 'on'; did"),
    "a mimic of nothing": ("<mimic/>", "joint 'two' mimics another, but it does not say which"),
    "a mimic of itself": ('<mimic joint="two"/>', "but joints mimic each other in a circle"),
    "a mimic of a planar joint": ('<mimic joint="flat"/>', "must be joints of one degree of freedom"),
    "a second axis": ('<axis xyz="0 0 1"/><axis xyz="1 0 0"/>', "'two' has a second <axis>, which is left out"),
}


@pytest.mark.parametrize("case", OVERLOOKED)
def test_what_others_overlook_is_read_with_a_warning(write: Write, case: str) -> None:
    inside, words = OVERLOOKED[case]
    parts = joint("one", "a", "b"), joint("two", "b", "c", inside=inside), joint("flat", "c", "d", "planar")
    path = write(of("abcd", *parts))
    with pytest.warns(LinkworkWarning, match=words):
        model = load(path)
    assert model.nv == 5 and model.constraints == ()
    if "axis" in case:
        assert model.bodies[1].joint == Revolute("z")
    with pytest.raises(FormatError, match="already a <axis>" if "axis" in case else words):
        load(path, strict=True)


def test_limits_turned_round_are_none(write: Write) -> None:
    path = write(hinge('<limit lower="1" upper="0" effort="3"/>', "revolute"))
    said = "joint 'j': the lower limit is above the upper one; it has no limits"
    with pytest.warns(LinkworkWarning, match=said) as caught:
        model = load(path)
    assert caught[0].filename == __file__  # the user's line, however deep it was found out
    assert (model.lower_limit[0], model.upper_limit[0], model.effort_limit[0]) == (-math.inf, math.inf, 3.0)


def test_blank_lines_before_the_declaration(write: Write) -> None:
    text = '\n \n<?xml version="1.0" encoding="iso-8859-1"?>\n' + of("ab", joint("j", "a", "b"))
    path = write(text)
    with pytest.warns(LinkworkWarning, match=r"robot\.urdf:1:1: there are blanks before the XML declaration"):
        assert load(path).joint_names == ("j",)
    with pytest.raises(FormatError, match="XML or text declaration not at start of entity"):
        load(path, strict=True)
    wrong = write(text.replace("continuous", "odd"))
    with pytest.warns(LinkworkWarning), pytest.raises(FormatError) as caught:
        load(wrong)
    assert caught.value.line == 4


def test_a_joint_without_limits_is_read_with_a_warning(write: Write) -> None:
    with pytest.warns(LinkworkWarning, match="'j' has no <limit>"):
        assert load(write(of("ab", joint("j", "a", "b", "revolute")))).upper_limit[0] == math.inf


def test_what_does_not_move_it_is_ignored(write: Write) -> None:
    noise = '<gazebo><joint name="j"/><link/></gazebo><transmission name="t"/><sensor/><mujoco/><material/><own:thing/>'
    assert load(write(of("ab", noise, joint("j", "a", "b", inside='<safety_controller k_velocity="x"/>')))).nv == 1


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "iso-8859-1"])
def test_encodings(write: Write, encoding: str) -> None:
    name = "iso-8859-1" if encoding == "iso-8859-1" else encoding[: len("utf-8" if "8" in encoding else "utf-16")]
    text = f'<?xml version="1.0" encoding="{name}"?>' + of("aé", joint("j", "a", "é"))
    assert load(write(text.encode(encoding))).body_names == ("é",)


def test_a_comment_may_speak_of_document_types(write: Write) -> None:
    assert load(write(f"<!-- <!DOCTYPE x [ > -->\n{of('ab', joint('j', 'a', 'b'))}")).nv == 1
    assert load(write(of("ab", "<!-- <!DOCTYPE x [ > -->", joint("j", "a", "b")))).nv == 1


# What is refused: text, line, column, element, words


def hinge(inside: str, kind: str = "continuous") -> str:
    return of("ab", joint("j", "a", "b", kind, "\n" + inside))


def inertial(inside: str) -> str:
    return f'<robot name="r">\n<link name="a">\n <inertial>{inside}</inertial></link></robot>'


BOMB = '<!DOCTYPE b [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(12)
)
REFUSED = {
    "a document type": ("<!DOCTYPE robot>\n<robot/>", 1, 16, None, "document type"),
    "billion laughs": (BOMB + ']>\n<robot name="&m;">&m;</robot>', 1, 13, None, "document type"),
    "billion laughs in UTF-16": ((BOMB + "]><robot>&m;</robot>").encode("utf-16"), 1, 13, None, "document type"),
    "an external entity": ('<!DOCTYPE b [<!ENTITY a SYSTEM "/etc/hostname">]><b>&a;</b>', 1, 13, None, "document type"),
    "an external document type": ('<!DOCTYPE b SYSTEM "x[y>.dtd" [<!ENTITY a "b">]><b/>', 1, 31, None, "document type"),
    "an unknown entity": ("<robot>\n &a;</robot>", 2, 2, "robot", "undefined entity"),
    "deep nesting": ("<a>" * 1_000_000, 1, 3 * MAX_DEPTH + 1, "a", "nested more than 100 deep"),
    "a long prologue": ("<!-- <!DOCTYPE" + ">" * 1000 + "--><robot/>", 1, 1, None, "too much before"),
    "a broken end": ("<robot>\n<link", 2, 1, "robot", "unclosed token"),
    "a doubled attribute": ('<robot name="a"\n name="b"/>', 2, 2, None, "duplicate attribute"),
    "two roots of XML": ("<robot/>\n<robot/>", 2, 1, None, "junk after document element"),
    "no XML": ("hello", 1, 1, None, "syntax error"),
    "a NUL": (b'<robot name="a\0"/>', 1, 15, None, "not well-formed"),
    "no UTF-8": (b'<robot>\n <link name="\xff"/></robot>', 2, 14, None, "not utf-8"),
    "half a UTF-16 character": (b"\xff\xfe<\0r", 1, 5, None, "not utf-16"),
    "another encoding": ('<?xml version="1.0" encoding="utf-7"?><robot/>', 1, 1, None, "'utf-7' is not supported"),
    "another format": ("<sdf/>", 1, 1, "sdf", "<robot> (URDF) or <mujoco> (MJCF), not <sdf>"),
    "xacro": ('<robot>\n<xacro:include filename="a"/></robot>', 2, 1, "xacro:include", "expand it with xacro first"),
    "a link without a name": ("<robot>\n <link/></robot>", 2, 2, "link", "'name' is missing"),
    "a link of an empty name": ('<robot>\n <link name=""/></robot>', 2, 2, "link", "'name' is empty"),
    "two links of one name": (of("a", "\n<link name='a'/>"), 2, 1, "link", "already a link named 'a', at line 1"),
    "a joint without a name": (of("ab", "\n<joint type='fixed'/>"), 2, 1, "joint", "'name' is missing"),
    "two joints of one name": (
        of("abc", joint("j", "a", "b"), "\n", joint("j", "a", "c")),
        2,
        1,
        "joint",
        "already a joint named 'j', at line 1",
    ),
    "a joint without a type": (of("ab", "\n<joint name='j'/>"), 2, 1, "joint", "'type' is missing"),
    "an unknown type": (
        of("ab", "\n", joint("j", "a", "b", "revolut")),
        2,
        1,
        "joint",
        "'j' has the unknown type 'revolut'; did you mean 'revolute'",
    ),
    "no parent": (of("ab", "\n<joint name='j' type='fixed'/>"), 2, 1, "joint", "it has no <parent>"),
    "no child": (of("ab", "\n<joint name='j' type='fixed'><parent link='a'/></joint>"), 2, 1, "joint", "no <child>"),
    "two parents": (hinge("<parent link='a'/>"), 2, 1, "parent", "already a <parent>"),
    "a parent without a link": (
        of("ab", "<joint name='j' type='fixed'>\n<parent/></joint>"),
        2,
        1,
        "parent",
        "'link' is",
    ),
    "an unknown link": (
        '<robot>\n<link name="elbow"/>\n' + joint("j", "elbo", "b") + "</robot>",
        3,
        35,
        "parent",
        "no link named 'elbo'; did you mean 'elbow'",
    ),
    "no links but joints": ("<robot>\n" + joint("j", "a", "b") + "</robot>", 2, 35, "parent", "no link named 'a'"),
    "a second carrier": (
        of("abc", joint("j", "a", "c"), "\n", joint("k", "b", "c")),
        2,
        1,
        "joint",
        "'c' is the child of two joints, 'j' and 'k'",
    ),
    "two roots": (of("a", "\n<link name='b'/>"), 2, 1, "link", "2 roots, 'a' and 'b'"),
    "a loop of all": (
        of("ab", "\n", joint("j", "a", "b"), joint("k", "b", "a")),
        2,
        1,
        "joint",
        "'j' closes a loop: 'b' on 'a' on 'b'",
    ),
    "a loop beside the root": (
        of("rab", "\n", joint("j", "a", "b"), joint("k", "b", "a")),
        2,
        1,
        "joint",
        "closes a loop",
    ),
    "a joint on itself": (of("ra", "\n", joint("j", "a", "a")), 2, 1, "joint", "closes a loop: 'a' on 'a'"),
    "a zero axis": (hinge('<axis xyz="0 0 0"/>'), 2, 1, "axis", "joint 'j': axis must be"),
    "an axis of two": (hinge('<axis xyz="0 1"/>'), 2, 1, "axis", "3 number(s), not 2"),
    "an axis of text": (hinge('<axis xyz="0 1 z"/>'), 2, 1, "axis", "but has 'z'"),
    "a nan": (hinge('<origin xyz="0 nan 0"/>'), 2, 1, "origin", "finite numbers, but has 'nan'"),
    "an infinity": (hinge('<origin rpy="0 inf 0"/>'), 2, 1, "origin", "has 'inf'"),
    "an overflow": (hinge('<origin xyz="0 1e999 0"/>'), 2, 1, "origin", "has '1e999'"),
    "a huge number": (hinge('<origin xyz="0 1e99 0"/>'), 2, 1, "origin", "too large"),
    "a Python number": (hinge('<origin xyz="1_0 0 0"/>'), 2, 1, "origin", "has '1_0'"),
    "an unexpanded number": (hinge('<origin xyz="${x} 0 0"/>'), 2, 1, "origin", "with xacro first"),
    "limits turned round": (
        hinge('<limit lower="1" upper="0"/>', "revolute"),
        2,
        1,
        "limit",
        "joint 'j': the lower limit is above",
    ),
    "a limit of text": (hinge('<limit effort="x"/>'), 2, 1, "limit", "'effort' must be"),
    "a damping of text": (hinge('<dynamics damping=""/>'), 2, 1, "dynamics", "'damping'"),
    "a negative mass": (
        inertial(f'\n<mass value="-1"/>{INERTIA}'),
        4,
        1,
        "mass",
        "link 'a' must not be negative, but is -1",
    ),
    "no mass": (inertial(INERTIA), 3, 2, "inertial", "it has no <mass>"),
    "no inertia": (inertial('<mass value="1"/>'), 3, 2, "inertial", "it has no <inertia>"),
    "half an inertia": (inertial('<mass value="1"/>\n<inertia ixx="1"/>'), 4, 1, "inertia", "'ixy' is missing"),
    "a mass of two": (inertial(f'\n<mass value="1 2"/>{INERTIA}'), 4, 1, "mass", "1 number(s), not 2: '1 2'"),
    "two masses": (inertial(f'<mass value="1"/>\n<mass value="1"/>{INERTIA}'), 4, 1, "mass", "already a <mass>"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(write: Write, case: str) -> None:
    text, line, column, element, words = REFUSED[case]
    path = write(text)
    with pytest.raises(FormatError) as caught:
        load(path, strict=True)
    error = caught.value
    assert (error.path, error.line, error.column, error.element) == (str(path), line, column, element)
    assert words in str(error) and str(error).startswith(f"{path}:{line}:{column}: ")


@pytest.mark.parametrize("wrong", ["1 2", "", "x", "1_0", "1e99", "nan", "1 ;", "\u0661"])
def test_what_is_wrong_in_one_of_many_is_found(write: Write, wrong: str) -> None:
    """Numbers of many elements are read at once; the message is the same as for one."""
    masses = ["1"] * 1500
    masses[1200] = wrong
    parts = []
    for k, mass in enumerate(masses):
        parts.append(f"\n<link name='{k}'><inertial><mass value='{mass}'/>{INERTIA}</inertial></link>")
        parts.append(joint(f"j{k}", "a", f"{k}"))
    path = write(of("a", *parts))
    with pytest.raises(FormatError) as caught:
        load(path)
    assert (caught.value.line, caught.value.element) == (1202, "mass")
    assert load(write(path.read_text().replace(f"'{wrong}'/>", "' 2.5&#9;'/>"))).mass == 1499 + 2.5


def test_messages_stay_short(write: Write) -> None:
    long = "x" * 1_000_000
    with pytest.raises(FormatError) as caught:
        load(write(of("ab", joint("j", long, "b"))))
    assert len(str(caught.value)) < 1000


def test_files_that_cannot_be_read(tmp_path: Path, write: Write) -> None:
    for path, words in (
        (tmp_path / "none.urdf", "No such file"),
        (tmp_path, "it is no regular file"),
        ("nul\0.urdf", "null"),
        (write(""), "empty"),
        (write(" \n "), "empty"),
    ):
        with pytest.raises(FormatError, match=words) as caught:
            load(path)
        assert caught.value.path == os.fspath(path) and caught.value.line is None


def test_a_file_of_absurd_size(tmp_path: Path) -> None:
    path = tmp_path / "robot.urdf"
    with path.open("wb") as file:
        file.truncate(64 * 2**20 + 1)  # a hole: no disk is used
    with pytest.raises(FormatError, match="more than 64 MiB"):
        load(path)


def test_too_many_elements(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkwork.formats.xml.MAX_ELEMENTS", 3)
    with pytest.raises(FormatError, match="more than 3 elements"):
        load(write(of("abc")))


def test_wrong_options(write: Write) -> None:
    path = write(of("a"))
    for options, words in (
        ({"joint_order": "files"}, "joint_order must be one of 'pinocchio', 'file', not 'files'"),
        ({"fixed_joints": True}, "fixed_joints must be one of 'merge', 'keep', not True"),
        ({"floating_base": "yes"}, "floating_base must be True or False, not 'yes'"),
    ):
        with pytest.raises(ArgumentError, match=words):
            load(path, **options)
    with pytest.raises(ArgumentError, match="path must be"):
        load(3)
