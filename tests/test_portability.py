"""Other machines than this one: the symbols of code for them, how threads share memory there, and the messages where
machine code is impossible.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import damaged_code
import linkwork as lw
from linkwork import cli
from linkwork.algorithms import ALGORITHMS
from linkwork.cli import doctor
from linkwork.engine import mode, system_check
from linkwork.engine.code import jit, linker, loader
from linkwork.engine.emit import builtin, mailbox, spinning
from programs import planned, task_of

TARGETS = {
    "linux_arm": ("aarch64-unknown-linux-gnu", "generic", b"\x7fELF"),
    "mac_arm": ("arm64-apple-darwin", "apple-m1", b"\xcf\xfa\xed\xfe"),
    "windows": ("x86_64-pc-windows-msvc-elf", "x86-64", b"\x7fELF"),
}
KINDS = {
    "one_state": ("specialised", 1), "rows": ("specialised", 2), "rolled": ("rolled", 2), "rolled_one": ("rolled", 1),
    "parallel": ("segmented", 1), "time_loop": ("time_loop", 2),
}  # fmt: skip
FUSED = re.compile(r"\bfn?m(add|sub|la|ls)\b|\bvfn?m(add|sub)")


@cache
def llvm() -> Any:
    found = jit._llvm()
    found.initialize_all_targets()
    found.initialize_all_asmprinters()
    return found


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Code is compiled for another machine."""
    if request.param == "windows" and not jit.triple().startswith("x86_64"):
        pytest.skip("inline assembly is parsed for this machine's family only")
    llvm()
    monkeypatch.setattr(jit, "triple", lambda: TARGETS[request.param][0])
    return str(request.param)


def plan_of(kind: str, cpu: tuple[str, str]) -> Any:
    form, lanes = KINDS[kind]
    if form == "segmented":
        return planned(long_chain(), "auto", cpu, 2)
    if form == "time_loop":
        return planned(system_check.moving(lw.mechanisms.serial_chain(2)), cpu=cpu, lanes=lanes)
    return planned(task_of(ALGORITHMS["mass_matrix"], lw.mechanisms.serial_chain(2)), form, cpu, lanes)


def long_chain() -> Any:
    chain = lw.mechanisms.serial_chain(51, "prismatic")
    return task_of(ALGORITHMS["constraint_force"], chain, absent=("f_ext",))


def assembly(text: str, cpu: tuple[str, str]) -> str:
    with llvm().parse_assembly(text) as module:
        return str(jit._machine(cpu, jit.triple()).emit_assembly(module))


WATCHED = re.compile(
    r"call (.+) @llvm\.fmuladd\.v?\d*f64\(\1 (\S+), \1 (?:zeroinitializer|0\.0), \1 (\S+|splat \(.*?\))\)"
)
"""Operations that are fused on purpose: a number times zero, to check whether it is finite."""


def symbols(text: str) -> tuple[set[str], set[str]]:
    """The symbols that assembly exports, and those that it needs from elsewhere; Apple's without their underscore."""
    mark = "_" if "__TEXT,__text" in text else ""
    labels = set(re.findall(r"^([\w.$]+):", text, re.MULTILINE))
    exported = set(re.findall(r"^\s+\.globl\s+([\w.$]+)", text, re.MULTILINE))
    called = re.findall(r"^\s+(?:callq?|jmpq?|bl|b)\s+([A-Za-z_][\w.$]*)", text, re.MULTILINE)
    fetched = re.findall(r"([A-Za-z_][\w.$]*)@(?:GOT|PLT|PAGE)\w*", text) + re.findall(r":\w*got\w*:([\w.$]+)", text)
    direct = re.findall(r"(?<![\w.$])([A-Za-z_][\w.$]*)\(%rip\)|\badrp\s+x\d+, ([A-Za-z_][\w.$]*)", text)
    needed = {*called, *fetched, *(name for pair in direct for name in pair if name)} - labels
    return ({name.removeprefix(mark) for name in names} for names in (exported & labels, needed))  # type: ignore[return-value]


@pytest.mark.parametrize("kind", KINDS)
def test_code_for_another_machine_has_its_symbols_and_needs_no_others(target: str, kind: str) -> None:
    triple, name, magic = TARGETS[target]
    cpu = (name, "")
    plan = plan_of(kind, cpu)
    lanes = KINDS[kind][1]
    text = plan.text(lanes)
    if kind != "parallel":  # the longest, and the same sections
        image = jit.compile_object(text, cpu)
        assert image.startswith(magic) and llvm().ObjectFileRef.from_data(image).sections()
        assert magic != b"\x7fELF" or linker.Object(image).names
    made = assembly(text, cpu)
    exported, needed = symbols(made)
    assert exported == {*plan.symbols(lanes), "batch"}
    assert needed <= ({"__chkstk"} if "windows" in triple else set())
    assert not FUSED.search(assembly(WATCHED.sub(r"fadd \1 \2, \3", text), cpu))


def test_the_builtin_needs_functions_of_pythons_and_nothing_else(target: str) -> None:
    _, name, magic = TARGETS[target]
    text = builtin.text()
    assert jit.compile_object(text, (name, "")).startswith(magic)
    exported, needed = symbols(assembly(text, (name, "")))
    assert exported == {builtin.NAME} and needed - {"__chkstk"} == {*builtin.SYMBOLS}


def test_threads_share_memory_by_ordered_instructions_and_pause(target: str) -> None:
    triple, name, _ = TARGETS[target]
    made = assembly(mailbox.text(triple), (name, ""))
    exported, needed = symbols(made)
    assert exported == {"serve", "idle"} and not needed
    if spinning.spinning(triple).pause.endswith("pause()"):
        assert re.search(r"^\s+pause", made, re.MULTILINE) and "xchg" in made
    else:
        assert re.search(r"^\s+yield", made, re.MULTILINE)
        claim = made[re.search(r"^_?claim:", made, re.MULTILINE).start() :]  # type: ignore[union-attr]
        claim = claim[: re.search(r"^_?idle:", claim, re.MULTILINE).start()]  # type: ignore[union-attr]
        assert len(re.findall(r"ldap?u?r\b", claim)) == 2, "what the helper writes"


def test_windows_gets_elf_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    for found, expected in (
        ("x86_64-pc-windows-msvc", "x86_64-pc-windows-msvc-elf"),
        ("x86_64-pc-windows-msvc-elf", "x86_64-pc-windows-msvc-elf"),
        ("x86_64-unknown-linux-gnu", "x86_64-unknown-linux-gnu"),
    ):
        monkeypatch.setattr(jit._llvm(), "get_process_triple", lambda found=found: found)
        assert jit._asked().triple == expected


def test_code_is_kept_for_its_target(monkeypatch: pytest.MonkeyPatch) -> None:
    before = loader.key_of(jit.BASELINE, "what")
    monkeypatch.setattr(jit, "triple", lambda: "x86_64-apple-darwin")
    assert loader.key_of(jit.BASELINE, "what") != before


FAR = """
import ctypes, mmap
from linkwork.engine.code import jit, linker
linker.linked = lambda *_: None
text = "@c = internal constant [900 x double] [" + ", ".join(["double 1.5"] * 900) + "]\\n"
text += '''define i64 @batch(ptr %p) {
  %d = load double, ptr getelementptr ([900 x double], ptr @c, i64 0, i64 7)
  %i = fptosi double %d to i64
  ret i64 %i
}'''
image = jit.compile_object(text, jit.host())
jit._linker(jit.host(), jit.triple())
page, libc = mmap.PAGESIZE, ctypes.CDLL(None)
libc.mmap.restype, libc.munmap.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_size_t)
libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
def reserved(size):
    found = libc.mmap(None, size, 0, 0x4022, -1, 0)
    assert found not in (None, 2**64 - 1), "no address space"
    return found
small = [mmap.mmap(-1, page) for _ in range(5000)]
hole, large = reserved(64 * page), reserved(16 << 30)
while reserved(page) > large:
    pass
libc.munmap(hole + 8 * page, page)
print(jit.link(image, ["batch"]).function("batch")(0))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="flags of Linux")
def test_constants_stay_near_their_code_among_large_arrays() -> None:
    """A single free page, and the next 16 GB below it: LLVM's older linker ended the process."""
    done = subprocess.run([sys.executable, "-c", FAR], capture_output=True, text=True)
    if "no address space" in done.stderr:
        pytest.skip("this process may not have so much address space")
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


# Where there is no memory for code

TIGHT = """
import resource, sys
import linkwork as lw
used = lambda: 4096 * int(open("/proc/self/statm").read().split()[0])
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
lw.mass_matrix(lw.mechanisms.serial_chain(2), [0.1, 0.2])
for number, megabytes in enumerate((0, 3, 30), 3):
    model = lw.mechanisms.serial_chain(number)
    resource.setrlimit(resource.RLIMIT_AS, (used() + megabytes * 2**20, hard))
    try:
        lw.mass_matrix(model, [0.1] * number)
    except lw.ArgumentError as error:
        print(error)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    print(lw.mass_matrix(model, [0.1] * number)[2, 2] > 0.0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits and files of Linux")
def test_code_that_there_is_no_memory_to_make_is_refused_and_made_later() -> None:
    uncached = {**os.environ, "LINKWORK_CACHE_DIR": ""}
    done = subprocess.run([sys.executable, "-c", TIGHT], env=uncached, capture_output=True, text=True)
    refused = r"not enough memory for the compiler and linker of machine code, which take 0\.0\d+ GB; .*interpreted"
    assert done.returncode == 0 and re.fullmatch(f"({refused}.*\nTrue\n){{3}}", done.stdout), done


@pytest.mark.parametrize("own", [True, False] if linker.usable() else [False])
def test_a_linker_that_gets_no_memory_is_an_error_of_ours(own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("Cannot allocate memory") if own else RuntimeError("Failed to materialize symbols")

    model = lw.mechanisms.serial_chain(2)
    assert linker.executable_memory()
    if own:
        monkeypatch.setattr(linker, "_protect", fail)
    else:
        monkeypatch.setattr(linker, "usable", lambda: False)
        monkeypatch.setattr(jit._llvm().JITLibraryBuilder, "link", fail)
    with loader.anew(), pytest.raises(lw.LinkworkError, match="no memory that code can be brought into"):
        lw.mass_matrix(model, [0.1, 0.2])
    monkeypatch.undo()
    assert lw.mass_matrix(model, [0.1, 0.2])[1, 1] > 0.0


TEXT = """
@numbers = internal {kind} [3 x i64] [i64 5, i64 7, i64 11]
declare i64 @twice(i64) nounwind
define i64 @batch(ptr %p) nounwind {{
  %n = load i64, ptr getelementptr ([3 x i64], ptr @numbers, i64 0, i64 1)
  %d = call i64 @twice(i64 %n)
  ret i64 %d
}}
"""


@pytest.mark.skipif(not linker.usable(), reason="objects of x86-64 on Linux")
def test_both_linkers_bring_the_same_code_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    twice = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda n: 2 * n)
    needed = {"twice": ctypes.cast(twice, ctypes.c_void_p).value or 0}
    image = jit.compile_object(TEXT.format(kind="constant"), jit.host())
    for link in (linker.linked, jit._linked):
        found = link(image, needed, ["batch"])
        assert found is not None and jit.Code(*found).function("batch")(0) == 14
    assert linker.linked(image, {}, ["batch"]) is None  # a function that nobody has
    for kind in ("global", "thread_local constant"):  # memory that is written to, or is another one in each thread
        other = jit.compile_object(TEXT.format(kind=kind), jit.host())
        assert linker.linked(other, needed, ["batch"]) is None, kind
    unwound = jit.compile_object(TEXT.format(kind="constant").replace("nounwind", ""), jit.host())
    assert linker.linked(unwound, needed, ["batch"]) is None  # the system would have to be told of it
    with pytest.raises(linker.Damaged):
        linker.linked(b"\xcf\xfa\xed\xfe", needed, ["batch"])  # of a Mac
    model = lw.mechanisms.serial_chain(2)
    expected = lw.mass_matrix(model, [0.1, 0.2])
    monkeypatch.setattr(linker, "usable", lambda: False)
    with loader.anew():
        assert np.array_equal(lw.mass_matrix(lw.mechanisms.serial_chain(2), [0.1, 0.2]), expected)


@pytest.mark.skipif(not linker.usable(), reason="objects of x86-64 on Linux")
def test_damaged_code_is_refused_or_linked_within_its_memory_and_never_ends_llvm() -> None:
    counts = damaged_code.run(7, 500, llvm=True)
    assert counts.keys() <= damaged_code.ALLOWED and sum(counts.values()) == 500, counts
    assert 50 < counts["linked"] < 200 and counts["refused"] > 300  # neither everything nor nothing


def test_damaged_code_is_an_error_of_ours() -> None:
    image = jit.compile_object(TEXT.format(kind="constant"), jit.host())
    if not image.startswith(b"\x7fELF"):
        pytest.skip("objects of another kind")
    for part in (image[:63], image[:-1], image[:40] + b"\xff" * 8 + image[48:]):
        with pytest.raises(lw.LinkworkError, match="object code is damaged; remove"):
            jit.link(part, ["batch"])


@pytest.mark.skipif(not linker.usable(), reason="objects of x86-64 on Linux")
def test_a_table_s_address_of_what_has_no_name_is_not_given_to_llvm() -> None:
    image = jit.compile_object(damaged_code.TEXT, jit.BASELINE)
    parts, changed = linker.Object(image), 0
    for section, entries in parts.relocations.items():
        for k, entry in enumerate(entries):
            at = int(parts.sections["offset"][section]) + entries.itemsize * k + 8
            other = image[:at] + (9).to_bytes(4, "little") + image[at + 4 :]
            if not parts.names[entry["symbol"]]:
                changed += 1
                with pytest.raises(linker.Damaged):
                    linker.linked(other, damaged_code.NEEDED, damaged_code.NAMES)
    assert changed


@pytest.mark.skipif(not linker.usable(), reason="objects of x86-64 on Linux")
def test_what_llvm_would_end_the_process_for_is_refused() -> None:
    """Of another machine; distances to be filled in where there is no content; a first symbol, which is none."""
    image = jit.compile_object(damaged_code.TEXT, jit.BASELINE)
    parts, start = linker.Object(image), int.from_bytes(image[40:48], "little")
    filled = [int(parts.sections["info"][k]) for k in parts.relocations]
    symbol = int(parts.sections["offset"][parts.tables[0]])
    places = [
        5,
        18,
        symbol + 4,
        *(start + 64 * k + 4 for k in filled),
    ]  # byte order, machine, symbol, types of sections
    for at, number in zip(places, (2, 183, 18, *[8] * len(filled)), strict=True):
        with pytest.raises(linker.Damaged):
            linker.linked(image[:at] + bytes([number]) + image[at + 1 :], damaged_code.NEEDED, damaged_code.NAMES)
    assert filled


# Where there can be no machine code


@pytest.mark.parametrize(
    ("part", "name", "value", "words"),
    [
        (sys, "maxsize", 2**31 - 1, "32-bit"),
        (sys, "byteorder", "big", "big-endian"),
        (linker, "executable_memory", lambda: False, "executable"),
    ],
    ids=["32-bit", "big-endian", "executable memory"],
)
def test_where_there_is_no_machine_code_the_interpreter_takes_over_with_a_warning(
    part: object, name: str, value: object, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, model = lw.mass_matrix(lw.mechanisms.serial_chain(2), [0.1, 0.2]), lw.mechanisms.serial_chain(2)
    monkeypatch.setattr(part, name, value)
    mode._default.cache_clear()
    try:
        with pytest.warns(lw.LinkworkWarning, match=words):
            found = lw.mass_matrix(model, [0.1, 0.2])
        assert np.array_equal(lw.mass_matrix(model, [0.1, 0.2]), expected), "said once"
        assert not model._memo.plans
    finally:
        monkeypatch.undo()
        mode._default.cache_clear()
    assert np.array_equal(found, expected)


def test_machine_code_that_is_asked_for_nevertheless_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "byteorder", "big")
    with pytest.raises(lw.LinkworkError, match="big-endian"):
        jit._llvm.__wrapped__()
    report = lw.system_check()
    assert not report.works and "big-endian" in str(report) and "the interpreter takes its place" in str(report)


def test_without_llvmlite_the_reason_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    with pytest.raises(lw.LinkworkError, match="llvmlite is missing"):
        jit._llvm.__wrapped__()
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    assert "llvmlite" in (jit.obstacle() or "")


# What works here


def test_the_check_runs_every_kind_of_code_anew_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINKWORK_CACHE_DIR", str(tmp_path / "cache"))
    compiled = []
    compile_object = jit.compile_object
    monkeypatch.setattr(jit, "compile_object", lambda *what: compiled.append(what) or compile_object(*what))  # type: ignore[func-returns-value]
    report = lw.system_check()
    assert report.works and len(report.checks) == 12 and "Everything works." in str(report)
    assert len(compiled) >= 7 and len(list(tmp_path.glob("cache/*.lwo"))) <= 1  # the helpers' own, if it is new
    assert all("bits" in check.words for check in report.checks) and "can be trusted" in report.cache


def test_the_check_sees_wrong_bits_and_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong() -> bool:
        return bool(system_check._equal([np.array([1.0])], [np.array([1.0 + 2**-52])]))

    def failing() -> bool:
        raise OSError("no memory that can be run")

    monkeypatch.setattr(system_check, "_kinds", lambda: [("one", wrong), ("two", failing), ("three", lambda: None)])
    report = lw.system_check()
    assert [check.works for check in report.checks] == [False, False, True] and not report.works
    for words in ("BROKEN  one", "other results", "no memory that can be run", "LINKWORK_ENGINE=interpreter"):
        assert words in str(report)


def test_the_doctor_prints_the_report(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    check = system_check.Check("one", True, "fine")
    report = system_check.SystemReport("here", "now", (check,), "kept")
    monkeypatch.setattr(doctor, "system_check", lambda: report)
    assert cli.main(["doctor", "--here"]) == 0
    assert capsys.readouterr().out == f"{report}\n"
    assert cli.main(["doctor", "--here", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["works"] is True and data["checks"] == [{"name": "one", "works": True, "words": "fine"}]


def test_the_doctor_asks_a_process_that_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its command, with --help at the end, which checks nothing."""
    run, done = subprocess.run, []

    def helped(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        done.append(run([*command, "--help"], stderr=subprocess.STDOUT, **options))
        return done[-1]

    monkeypatch.setattr(subprocess, "run", helped)
    assert cli.main(["doctor", "--json"]) == 0
    assert "usage: linkwork doctor" in done[0].stdout and "--here" in done[0].stdout


@pytest.mark.skipif(os.name != "posix", reason="signals as on POSIX")
def test_the_doctor_survives_code_that_ends_its_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = subprocess.CompletedProcess[str]([], -6, stdout="")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: ended)
    assert cli.main(["doctor"]) == 1
    assert "ended the process (code -6)" in capsys.readouterr().out


def test_one_state_can_be_asked_to_take_two_threads() -> None:
    team = planned(long_chain()).team
    assert team is not None and team.threads is None
