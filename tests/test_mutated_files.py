"""Damaged model files: each loads, or is rejected with its location, with work in proportion to its size.

LINKWORK_MUTATIONS sets how many (``make fuzz``); some hundreds otherwise.
"""

from __future__ import annotations

import os
import re
import sys
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linkwork.errors import FormatError, LinkworkWarning
from linkwork.formats import load
from linkwork.model import Model
from robots import robot

CASES = int(os.environ.get("LINKWORK_MUTATIONS", "400"))
SEEDS = [
    robot(name).read_bytes()
    for name in ("ur5_robot.urdf", "double_pendulum.urdf", "solo12.urdf", "kinova.urdf", "panda.urdf", "romeo.urdf")
]
TOKEN = re.compile(rb"<[^<>]*>|\"[^\"<>]*\"|[\w.+-]+")
NONSENSE = [
    *(b"", b"nan", b"inf", b"-1", b"0", b"1e999", b"1e-999", b"1e308", b"-1e300", b"1e200", b"1e15", b"9" * 500),
    *(b"0 0 0", b"0 0 1e-300", b"1 2", b"x", b"${x}", b"world", b"root_joint", b"floating", b"planar", b"fixed"),
    *(b"\x00", b"\xff\xfe", b"\xc3", "é\u2028".encode(), b"\xe2\x80\xae", b"&", b"&lt;", b"&x;", b"&#0;", b"&#xD800;"),
    *(b"<", b">", b'"', b"'", b"]]>", b"<![CDATA[", b"<!--", b"-->", b"<?x", b" xmlns:a='b'", b"<a>" * 200),
    *(b"<!DOCTYPE a [<!ENTITY x 'y'>]>", b"<!ENTITY x SYSTEM 'x'>", b"<robot>", b"</robot>", b"<mujoco/>"),
    *(b"<mimic joint='x'/>", b"<axis xyz='0 0 0'/>", b"<origin rpy='1e9 1 1'/>", b"<limit/>", b"<inertial/>"),
    b"<link name='world'/>",
]


def _span(draw: st.DrawFn, data: bytes) -> tuple[int, int]:
    """Some bytes, a token, or an element from its tag to a later one."""
    kind = draw(st.sampled_from(["bytes", "token", "element", "part"]))
    start = draw(st.integers(0, len(data)))
    if kind == "bytes":
        return start, min(len(data), start + draw(st.integers(0, 40)))
    if kind in ("token", "element"):
        found = TOKEN.search(data, start) or TOKEN.search(data)
        if found is None:
            return start, start
        if kind == "token":
            return found.span()
        tag = re.match(rb"<(\w+)", found[0])
        end = data.find(b"</" + tag[1] + b">", found.end()) if tag and not found[0].endswith(b"/>") else -1
        return found.start(), found.end() if end < 0 or tag is None else end + len(tag[1]) + 3
    return start, draw(st.integers(start, len(data)))


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A published file with a few parts dropped, doubled, swapped or filled with nonsense."""
    data = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 4))):
        start, end = _span(draw, data)
        match draw(st.sampled_from(["drop", "double", "swap", "fill", "insert", "copy"])):
            case "drop":
                data = data[:start] + data[end:]
            case "double":
                data = data[:end] + data[start:end] + data[end:]
            case "swap":
                first, last = _span(draw, data)
                if end <= first:
                    data = data[:start] + data[first:last] + data[end:first] + data[start:end] + data[last:]
            case "fill":
                data = data[:start] + draw(st.sampled_from(NONSENSE) | st.binary(max_size=8)) + data[end:]
            case "insert":
                data = data[:start] + draw(st.sampled_from(NONSENSE)) + data[start:]
            case _:
                first, last = _span(draw, data)
                data = data[:start] + data[first:last] + data[end:]
    return data


WORDS = [word.decode() for word in NONSENSE if re.fullmatch(rb"[ -~]*", word)]


@st.composite
def rearranged(draw: st.DrawFn) -> bytes:
    """A published file, still XML, with elements and attributes dropped, doubled, swapped or filled with nonsense."""
    root = ElementTree.fromstring(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 4))):
        parents = {child: parent for parent in root.iter() for child in parent}
        if not parents:
            break
        moving = [each for each in parents if each.tag not in ("visual", "collision", "geometry", "mesh", "material")]
        one, other = (draw(st.sampled_from(moving or list(parents))) for _ in range(2))
        name = draw(st.sampled_from(sorted(one.attrib) or ["name"]))
        match draw(st.sampled_from(["drop", "double", "swap", "move", "rename", "fill", "forget", "exchange"])):
            case "drop":
                parents[one].remove(one)
            case "double":
                parents[one].append(one)
            case "swap":
                one.tag, other.tag = other.tag, one.tag
            case "move":
                if one not in other.iter() and other not in one.iter():
                    parents[one].remove(one)
                    other.append(one)
            case "rename":
                one.tag = draw(st.sampled_from(["link", "joint", "inertial", "origin", "axis", "mimic", "limit", "x"]))
            case "fill":
                one.set(name, draw(st.sampled_from(WORDS) | st.floats().map(repr) | st.text("ab 01.-e", max_size=5)))
            case "forget":
                one.attrib.pop(name, None)
            case _:
                one.attrib, other.attrib = other.attrib, one.attrib
    return ElementTree.tostring(root)


TraceFunction = Callable[[FrameType, str, Any], Any]


class Work:
    """Counts calls of Python functions, with ``lines`` also the lines that run, and stops runaway code: the same on
    every machine, however busy.
    """

    def __init__(self, most: float, lines: bool) -> None:
        self.most, self.lines, self.done = most, lines, 0

    def __enter__(self) -> Work:
        self.before = sys.gettrace()
        sys.settrace(self.count)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self.before)
        assert self.done <= self.most, f"ran more than {self.most:.0f} calls or lines"

    def count(self, frame: FrameType, event: str, argument: Any) -> TraceFunction | None:
        self.done += 1
        if self.done > self.most:
            raise AssertionError(f"ran more than {self.most:.0f} calls or lines")
        return self.count if self.lines else None


def load_or_refuse(
    path: Path, data: bytes, floating_base: bool = False, lines: bool = False
) -> tuple[Model | FormatError, int]:
    """The outcome of a damaged file, and the work for it; anything but a model or an error with its location fails.

    A chain of bare joints, the densest file there is, takes 9 lines a byte: the bound leaves room for twice that.
    """
    path.write_bytes(data)
    result: Model | FormatError
    with Work(100_000 + 20 * len(data), lines) as work, warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", LinkworkWarning)
        try:
            result = load(path, floating_base)
        except FormatError as error:
            result = error
    if isinstance(result, FormatError):
        assert result.path == str(path)
        assert (result.line is not None and result.column is not None) or not data.strip()
        assert len(str(result)) < 2000
    return result, work.done


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mutated") / "robot.urdf"


@pytest.mark.parametrize("mutation", [mutated, rearranged])
def test_mutated_files_load_or_are_refused_with_their_place(
    path: Path, mutation: Callable[[], st.SearchStrategy[bytes]]
) -> None:
    outcomes: list[bool] = []

    @settings(
        max_examples=CASES // 2,
        derandomize="LINKWORK_MUTATIONS" not in os.environ,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example, HealthCheck.data_too_large],
    )
    @given(mutation(), st.booleans())
    def each(data: bytes, floating_base: bool) -> None:
        outcomes.append(isinstance(load_or_refuse(path, data, floating_base)[0], Model))

    each()
    assert {True, False} == set(outcomes)  # the damage is neither always fatal nor always harmless


DENSE = {
    "a chain": "<joint name='j{i}' type='continuous'><parent link='{i}'/><child link='{next}'/></joint>",
    "a star of fixed": "<joint name='{i}' type='fixed'><parent link='0'/><child link='{next}'/></joint>",
    "a star": "<joint name='{i}' type='continuous'><parent link='0'/><child link='{next}'/></joint>",
    "loops": "<joint name='{i}' type='fixed'><parent link='{i}'/><child link='{i}'/></joint>",
    "many roots": "",
    "an unknown link": "<joint name='{i}' type='fixed'><parent link='x{i}'/></joint>",
}
"""A joint of one of many links, the next one counting up."""


def dense(case: str, n: int) -> bytes:
    links = "".join(f"<link name='{i}'/>" for i in range(n + 1))
    joints = "".join(DENSE[case].format(i=i, next=i + 1) for i in range(n))
    return f"<robot>{links}{joints}</robot>".encode()


@pytest.mark.parametrize("case", DENSE)
def test_twice_the_file_is_twice_the_work(path: Path, case: str) -> None:
    """A pass over all elements for each element, of a single line, would make it 2.8 times the work."""
    _, half = load_or_refuse(path, dense(case, 600), lines=True)
    _, whole = load_or_refuse(path, dense(case, 1200), lines=True)
    assert whole <= 2.2 * half


def turned_and_heavy(n: int) -> bytes:
    """A chain, each joint with its own angles and each link with its own inertia."""
    inertia = "<inertia ixx='0.1' ixy='0' ixz='0' iyy='0.1' iyz='0' izz='0.1'/>"
    links = (
        f"<link name='{i}'><inertial><origin rpy='0 {i / n} 0'/><mass value='1'/>{inertia}</inertial></link>"
        for i in range(n + 1)
    )
    joints = (
        f"<joint name='{i}' type='continuous'><parent link='{i}'/><child link='{i + 1}'/>"
        f"<origin xyz='0 0 1' rpy='{i / n} 0 1'/><axis xyz='0 0 1'/></joint>"
        for i in range(n)
    )
    return f"<robot>{''.join(links)}{''.join(joints)}</robot>".encode()


def mimicking(n: int) -> bytes:
    """A star in which each joint mimics the one before."""
    links = "".join(f"<link name='{i}'/>" for i in range(n + 1))
    joints = (
        f"<joint name='{i}' type='continuous'><parent link='0'/><child link='{i + 1}'/>"
        f"<mimic joint='{max(i - 1, 1)}'/></joint>"
        for i in range(n)
    )
    return f"<robot>{links}{''.join(joints)}</robot>".encode()


LARGE = {
    **{case: (lambda n, case=case: dense(case, n), 110, 2000) for case in ("a chain", "a star of fixed", "a star")},
    "turned and heavy": (turned_and_heavy, 180, 4000),
    "mimics of mimics": (mimicking, 200, 2500),
}
"""Files of many links, with bounds on the calls and bytes for each link."""


@pytest.mark.filterwarnings("ignore::linkwork.LinkworkWarning")
@pytest.mark.parametrize("case", LARGE)
def test_large_mechanisms_take_little_work_and_memory(path: Path, case: str) -> None:
    """With these calls and bytes per link, 180,000 links take seconds and less than 1 GB."""
    make, most_calls, most_bytes = LARGE[case]
    links = 1000
    path.write_bytes(make(links))
    calls = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    load(path)  # whatever is made once
    sys.setprofile(count)
    try:
        load(path)
    finally:
        sys.setprofile(None)
    assert calls <= most_calls * links
    tracemalloc.start()
    try:
        load(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= most_bytes * links


NONSENSE_BY_THE_MEGABYTE = {
    "nested": (b"<a>" * 500_000, 10_000),  # refused at a depth of 100
    "many": (b"<robot>" + b"<a/>" * 100_000, 30 * 100_000),
    "a comment": (b"<!--" + b">" * 10**6, 10_000),
    "a number": (b"9" * 10**6, 10_000),
}
"""Each with a bound on the lines that run: text that is no element costs nothing."""


@pytest.mark.parametrize("case", NONSENSE_BY_THE_MEGABYTE)
def test_large_nonsense_is_refused_without_work(path: Path, case: str) -> None:
    data, most = NONSENSE_BY_THE_MEGABYTE[case]
    refused, lines = load_or_refuse(path, data, lines=True)
    assert isinstance(refused, FormatError) and lines <= most
    value = data.replace(b"<", b"")
    inertia = b"<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/>"
    number = b"<robot><link name='a'><inertial><mass value='%b'/>%b</inertial></link></robot>" % (value, inertia)
    refused, lines = load_or_refuse(path, number, lines=True)
    assert isinstance(refused, FormatError) and lines <= 10_000
