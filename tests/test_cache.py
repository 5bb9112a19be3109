"""Compiled code kept on disk: private, complete or absent, never trusted blindly, never in the way."""

from __future__ import annotations

import ast
import json
import os
import shutil
import stat
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork import cli
from linkwork.algorithms import ALGORITHMS
from linkwork.engine.code import cache, fingerprint, jit, linker, loader
from linkwork.joints import Joint, Revolute
from linkwork.model import Model
from linkwork.model.geometry import Geometry
from programs import planned, task_of
from strategies import Crank

posix = pytest.mark.skipif(os.name != "posix", reason="permissions and users as on POSIX")


@pytest.fixture(autouse=True, scope="module")
def builtins() -> None:
    """A process makes the functions that serve calls once, whichever test calls first."""
    compute()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache, and no code in memory; LLVM's description of the machine is known."""
    jit.host()
    place = tmp_path / "cache"
    monkeypatch.setenv("LINKWORK_CACHE_DIR", str(place))
    loader._loaded.clear()
    cache._warn.cache_clear()
    yield place
    loader._loaded.clear()
    cache._warn.cache_clear()


def arm(mass: float = 1.0, joint: Joint | None = None) -> Model:
    builder = lw.Builder("arm")
    builder.add_body("link", joint=joint or Revolute("y"), mass=mass, com=(0.1, 0.2, 0.3), inertia=np.eye(3))
    builder.add_frame("tip", "link", lw.placement((0.5, 0.0, 0.0)))
    return builder.build()


def compute(mass: float = 1.0) -> float:
    return float(lw.mass_matrix(arm(mass), [0.3])[0, 0])


def files(folder: Path) -> list[Path]:
    """All but the secret."""
    return sorted(path for path in folder.iterdir() if path.name != "secret") if folder.exists() else []


def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list that gets an entry whenever something is compiled."""
    seen: list[str] = []
    compile_object = jit.compile_object

    def watched(text: str, cpu: tuple[str, str]) -> bytes:
        seen.append(text)
        return compile_object(text, cpu)

    monkeypatch.setattr(jit, "compile_object", watched)
    return seen


def test_code_is_compiled_once_and_read_afterwards(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = compiled(monkeypatch)
    first = compute()
    assert len(seen) == len(files(folder)) == 1
    loader._loaded.clear()
    assert compute() == first and len(seen) == 1


@posix
def test_folder_and_files_belong_to_the_user_alone(folder: Path) -> None:
    before = os.umask(0)
    try:
        compute()
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in files(folder)] == [0o600]
    assert stat.S_IMODE((folder / "secret").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:10],
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1],
        lambda content: content + b"x",
        lambda content: content[:200] + bytes([content[200] ^ 1]) + content[201:],
        lambda content: bytes([content[0] ^ 128]) + content[1:],
        lambda content: b"linkwork object 1\n" + b"\0" * 5000,
        lambda content: b"linkwork object 2\n" + b"\0" * 5000,
    ],
    ids=["empty", "head", "half", "last_byte", "longer", "flipped_bit", "magic", "older", "digest"],
)
def test_a_damaged_file_is_ignored_with_a_warning_and_replaced(folder: Path, damage: object) -> None:
    expected = compute()
    (path,) = files(folder)
    content = path.read_bytes()
    path.write_bytes(damage(content))  # type: ignore[operator]
    loader._loaded.clear()
    with pytest.warns(lw.LinkworkWarning, match="damaged"):
        assert compute() == expected
    assert files(folder) == [path] and path.read_bytes()[:18] == content[:18]
    loader._loaded.clear()
    assert compute() == expected


def test_writing_is_all_or_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("no")

    monkeypatch.setattr(os, "replace", fail)
    expected = compute()
    assert files(folder) == []
    monkeypatch.undo()
    monkeypatch.setenv("LINKWORK_CACHE_DIR", str(folder))
    loader._loaded.clear()
    assert compute() == expected and len(files(folder)) == 1


def test_a_read_only_folder_is_used_as_far_as_it_goes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulated, as the superuser, who may run these tests, is not refused by the system."""

    really = os.open

    def refuse(path: str, flags: int, *more: int, **options: int) -> int:
        if flags & os.O_CREAT:
            raise PermissionError(13, "Permission denied")
        return really(path, flags, *more, **options)

    seen = compiled(monkeypatch)
    expected = compute()
    monkeypatch.setattr(os, "open", refuse)
    loader._loaded.clear()
    assert compute() == expected and len(seen) == 1
    assert compute(2.0) > 0.0 and len(seen) == 2 and len(files(folder)) == 1


def test_a_folder_that_cannot_be_made_is_done_without(folder: Path) -> None:
    folder.write_text("a file")
    with pytest.warns(lw.LinkworkWarning, match=r"^LINKWORK_CACHE_DIR is .* cannot be used: Not a directory; compiled"):
        assert compute() > 0.0
    assert folder.read_text() == "a file"
    assert cli.main(["cache"]) == 0


def test_a_folder_in_an_impossible_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINKWORK_CACHE_DIR", "/proc/no/such/folder")
    with pytest.warns(lw.LinkworkWarning, match="which cannot be used: No such file"):
        assert compute() > 0.0


@posix
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_can_write_is_refused(folder: Path, mode: int) -> None:
    compute()
    kept = files(folder)
    folder.chmod(mode)
    loader._loaded.clear()
    with pytest.warns(lw.LinkworkWarning, match="written by others"):
        compute()
    compute(2.0)
    assert files(folder) == kept


@posix
def test_a_folder_of_another_user_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(mode=0o700)
    other = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: other)
    with pytest.warns(lw.LinkworkWarning, match="belongs to"):
        compute()
    assert files(folder) == []


def test_an_empty_variable_switches_the_cache_off(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINKWORK_CACHE_DIR", "")
    assert compute() > 0.0 and not folder.exists()


def test_the_oldest_files_go_when_there_are_too_many(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_LIMIT", 25_000)
    for k in range(10):
        cache.write(f"{k:064}", b"x" * 5000)
        os.utime(folder / f"{k:064}.lwo", (k, k))
    left = [path.stem for path, _ in cache.entries()]
    assert 2 <= len(left) <= 5 and left[-1] == f"{9:064}"


# Planted files

KEY, OTHER = "a" * 64, "b" * 64


def kept(folder: Path, key: str = KEY, image: bytes = b"code" * 100) -> Path:
    cache.write(key, image)
    return folder / f"{key}.lwo"


def refused(reason: str) -> None:
    """A file is not read, a warning explains why, and writing replaces it."""
    with pytest.warns(lw.LinkworkWarning, match=reason):
        assert cache.read(KEY) is None
    cache.write(KEY, b"own")
    assert cache.holds(KEY) and cache.read(KEY) == b"own"


def as_seen(monkeypatch: pytest.MonkeyPatch, seen: Callable[[os.stat_result], dict[str, int]]) -> None:
    """Files and folders appear with another owner or mode, which only the superuser could set."""
    for name in ("stat", "fstat"):
        really = getattr(os, name)

        def look(*where: object, really: Callable[..., os.stat_result] = really, **how: object) -> os.stat_result:
            status = really(*where, **how)
            fields = {"st_mode": 0, "st_uid": 4}
            numbers = list(status)
            for field, value in seen(status).items():
                numbers[fields[field]] = value
            return os.stat_result(numbers)

        monkeypatch.setattr(os, name, look)


@posix
def test_a_file_that_others_can_write_is_not_used(folder: Path) -> None:
    kept(folder).chmod(0o666)
    assert not cache.holds(KEY)
    refused("written by others")


@posix
def test_a_file_of_another_user_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(folder)
    with monkeypatch.context() as other:
        as_seen(other, lambda status: {"st_uid": os.getuid() + 1} if stat.S_ISREG(status.st_mode) else {})
        assert not cache.holds(KEY)
        with pytest.warns(lw.LinkworkWarning, match="belongs to another user"):
            assert cache.read(KEY) is None
    assert files(folder) == []


@posix
def test_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    path = kept(folder)
    target = tmp_path / "elsewhere"
    path.rename(target)
    path.symlink_to(target)
    assert not cache.holds(KEY)
    refused("is a link")
    assert target.exists()


@posix
def test_a_pipe_does_not_hang(folder: Path) -> None:
    path = kept(folder)
    path.unlink()
    os.mkfifo(path, 0o600)
    refused("no regular file")


def test_a_file_that_is_too_large_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(folder)
    monkeypatch.setattr(cache, "_LARGEST", 300)
    assert not cache.holds(KEY)
    with pytest.warns(lw.LinkworkWarning, match="larger than 300 bytes"):
        assert cache.read(KEY) is None
    cache.write(KEY, b"own")
    assert files(folder) == []


def test_code_of_another_model_under_this_key_is_not_run(folder: Path) -> None:
    expected = compute()
    (path,) = files(folder)
    compute(2.0)
    (other,) = set(files(folder)) - {path}
    shutil.copy(other, path)
    loader._loaded.clear()
    with pytest.warns(lw.LinkworkWarning, match="damaged, or the code of something else"):
        assert compute() == expected


def test_a_damaged_file_fails_no_call_if_warnings_are_errors(folder: Path) -> None:
    expected = compute()
    (path,) = files(folder)
    path.write_bytes(path.read_bytes()[:100])
    loader._loaded.clear()
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("error")
        assert compute() == expected
    assert path.stat().st_size > 100
    assert ["is damaged, or the code of something else" in str(each.message) for each in shown] == [True]


def test_a_forged_file_is_told_from_a_damaged_one(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made by the same sources, complete and under its key, in another user's cache."""
    path = kept(folder)
    monkeypatch.setenv("LINKWORK_CACHE_DIR", str(tmp_path / "other"))
    foreign = kept(tmp_path / "other", image=b"planted")
    assert cache.read(KEY) == b"planted"
    monkeypatch.setenv("LINKWORK_CACHE_DIR", str(folder))
    shutil.copy(foreign, path)
    refused("forged")


@posix
@pytest.mark.parametrize("fault", ["open", "short", "empty", "link", "missing"])
def test_a_secret_that_is_none_is_made_anew(folder: Path, tmp_path: Path, fault: str) -> None:
    path = kept(folder)
    secret = folder / "secret"
    before = secret.read_bytes()
    if fault == "open":
        secret.chmod(0o644)
    elif fault in ("short", "empty"):
        secret.write_bytes(before[: 31 if fault == "short" else 0])
    else:
        secret.rename(tmp_path / "moved")
        if fault == "link":
            secret.symlink_to(tmp_path / "moved")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert cache.read(KEY) is None
    assert [str(one.message).count("secret") > 0 for one in seen] == ([] if fault == "missing" else [True])
    cache.write(OTHER, b"other")
    assert secret.read_bytes() != before and len(secret.read_bytes()) == 32 and not secret.is_symlink()
    assert cache.read(OTHER) == b"other" and path.exists()
    refused("forged")


@posix
def test_a_file_system_without_links_has_a_secret_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    kept(folder)
    assert cache.read(KEY) == b"code" * 100 and {path.name for path in folder.iterdir()} == {"secret", f"{KEY}.lwo"}


@posix
@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757])
def test_a_folder_that_others_could_replace_is_refused(folder: Path, mode: int) -> None:
    """Others need no permission on the folder itself if they can rename it."""
    kept(folder)
    folder.parent.chmod(mode)
    try:
        with pytest.warns(lw.LinkworkWarning, match=r"above it, can be written by others"):
            assert cache.read(KEY) is None
        cache.write(OTHER, b"other")
        folder.parent.chmod(mode | stat.S_ISVTX)
        assert cache.read(KEY) == b"code" * 100 and cache.read(OTHER) is None and cache.obstacle() is None
    finally:
        folder.parent.chmod(0o700)


@posix
def test_a_folder_below_another_users_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(folder)
    parent = folder.parent.stat().st_ino
    as_seen(monkeypatch, lambda status: {"st_uid": os.getuid() + 1} if status.st_ino == parent else {})
    with pytest.warns(lw.LinkworkWarning, match=r"above it, belongs to another user"):
        assert cache.read(KEY) is None
    assert "another user" in (cache.obstacle() or "")


@posix
def test_a_folder_that_is_swapped_after_it_was_checked_changes_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(folder)
    monkeypatch.setenv("LINKWORK_CACHE_DIR", str(tmp_path / "planted"))
    kept(tmp_path / "planted", image=b"planted")
    monkeypatch.setenv("LINKWORK_CACHE_DIR", str(folder))
    really = os.open
    swapped: list[str] = []

    def swap(path: str, flags: int, *more: int, **options: int) -> int:
        if str(path).endswith((".lwo", ".part", "secret")) and not swapped:
            folder.rename(tmp_path / "aside")
            (tmp_path / "planted").rename(folder)
            swapped.append(path)
        return really(path, flags, *more, **options)

    monkeypatch.setattr(os, "open", swap)
    assert cache.read(KEY) == b"code" * 100 and swapped == [f"{KEY}.lwo"]
    assert cache.read(KEY) == b"planted"
    (tmp_path / "planted").mkdir(0o700)
    (tmp_path / "aside").rename(tmp_path / "again")
    swapped.clear()
    cache.write(OTHER, b"other")
    assert swapped and [path.name for path in files(tmp_path / "aside")] == [f"{KEY}.lwo", f"{OTHER}.lwo"]
    assert files(folder) == []


@posix
def test_what_is_missing_above_the_folder_is_made_for_the_user_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINKWORK_CACHE_DIR", str(folder / "deep" / "down"))
    before = os.umask(0)
    try:
        kept(folder)
    finally:
        os.umask(before)
    assert cache.read(KEY) == b"code" * 100
    assert {stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "deep", folder / "deep/down")} == {0o700}


@posix
def test_the_way_to_the_folder_may_have_links(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(folder)
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.setenv("LINKWORK_CACHE_DIR", str(tmp_path / "link" / "cache"))
    assert cache.read(KEY) == b"code" * 100


def test_a_system_without_owners_checks_kind_size_and_digests(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows, by path."""
    monkeypatch.setattr(cache, "_OWNERS", False)
    path = kept(folder)
    assert cache.read(KEY) == b"code" * 100 and cache.holds(KEY) and cache.obstacle() is None
    path.rename(folder / f"{OTHER}.lwo")
    with pytest.warns(lw.LinkworkWarning, match="damaged"):
        assert cache.read(OTHER) is None
    path.mkdir()
    with pytest.warns(lw.LinkworkWarning, match="no regular file"):
        assert cache.read(KEY) is None
    path.rmdir()
    cache.write(KEY, b"own")
    assert cache.entries() == [(path, path.stat().st_size)] and cache.clear() == 1


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="descriptors cannot be counted")
def test_no_descriptor_stays_open(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However a file or a folder is refused."""
    path = kept(folder)
    before = len(os.listdir("/dev/fd"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for mode in (0o600, 0o666, 0o777):
            path.chmod(mode)
            cache.read(KEY)
            cache.write(KEY, b"own")
        path.unlink()
        path.mkdir()
        cache.read(KEY)
        cache.write(KEY, b"own")
        cache.holds(KEY)
        folder.chmod(0o777)
        cache.read(KEY)
        cache.write(KEY, b"own")
        for place in (folder / "none" / "here", path / "x", Path("/dev/null")):
            monkeypatch.setenv("LINKWORK_CACHE_DIR", str(place))
            assert (cache.read(KEY), cache.holds(KEY), cache.entries(), cache.clear()) == (None, False, [], 0)
            cache.obstacle()
    assert len(os.listdir("/dev/fd")) == before


def test_left_over_temporary_files_go_but_not_those_of_live_writers(folder: Path) -> None:
    kept(folder)
    old, new = folder / "tmpabc.part", folder / "tmpdef.part"
    old.write_bytes(b"x")
    new.write_bytes(b"x")
    os.utime(old, (1, 1))
    with cache._trusted() as place:
        assert place is not None
        cache._trim(place)
    assert files(folder) == sorted([folder / f"{KEY}.lwo", new])
    os.utime(new, (1, 1))
    assert cache.clear() == 1 and files(folder) == []


def test_writing_seldom_lists_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On average once while a 64th of the cache's limit is written; here chance says never, then always."""
    listed: list[object] = []
    really = os.listdir

    def watched(where: int) -> list[str]:
        listed.append(where)
        return really(where)

    monkeypatch.setattr(os, "listdir", watched)
    monkeypatch.setattr(os, "urandom", lambda count: b"\xff" * count)
    for k in range(50):
        cache.write(f"{k:064}", b"x" * 5000)
    assert listed == []
    monkeypatch.setattr(os, "urandom", lambda count: b"\0" * count)
    cache.write(KEY, b"x" * 5000)
    assert listed != []


# What the key depends on


def key(
    model: Model,
    name: str = "mass_matrix",
    form: str = "specialised",
    cpu: tuple[str, str] | None = None,
    frame: str = "",
) -> str:
    return str(planned(task_of(ALGORITHMS[name], model, [frame] if frame else ()), form, cpu).key(4))


def test_the_key_of_specialised_code_changes_with_everything_that_the_code_depends_on() -> None:
    model = arm()
    heavy = lw.Builder("arm", gravity=(0.0, 0.0, -1.62))
    heavy.add_body("link", joint=Revolute("y"), mass=1.0, com=(0.1, 0.2, 0.3), inertia=np.eye(3))
    keys = [
        key(model),
        key(model, "gravity_torques"),
        key(model, form="rolled"),
        key(model, cpu=jit.BASELINE),
        key(model, "frame_placements", frame="tip"),
        key(model, "frame_placements", frame="link"),
        key(arm(1.0 + 1e-15)),
        key(arm(joint=Revolute("z"))),
        key(arm(joint=Revolute((0.0, 1.0, 1e-9)))),
        key(heavy.build()),
        key(arm(joint=Crank())),
        key(arm(joint=Crank(arm=0.3))),
    ]
    assert len(set(keys)) == len(keys)
    assert key(arm()) == key(model)


def test_names_and_shapes_do_not_matter_to_the_code() -> None:
    builder = lw.Builder("other")
    builder.add_body("rod", joint=Revolute("y"), mass=1.0, com=(0.1, 0.2, 0.3), inertia=np.eye(3))
    assert key(builder.build()) == key(arm())
    assert key(replace(arm(), geometry=(Geometry(1, lw.placement(), "box", (1.0, 1.0, 1.0)),))) == key(arm())


def test_only_texts_of_the_library_are_covered_by_its_digest() -> None:
    own = ("articulated_body", "operational_inertia/pv", "jacobian/local", "constraint_force")
    studies = ("constraint_force_world", "virtual_work_split", "virtual_work_unsplit")
    assert all(fingerprint.is_own(ALGORITHMS[name].text) for name in own)
    assert not any(fingerprint.is_own(ALGORITHMS[name].text) for name in studies)
    assert not fingerprint.is_own(key) and not fingerprint.is_own(partial(key, 1))


def test_the_key_changes_with_the_library_and_with_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key(arm())
    monkeypatch.setattr(jit, "version", lambda: "0.0")
    assert key(arm()) != before
    monkeypatch.undo()
    monkeypatch.setattr(fingerprint, "library", lambda: "another")
    assert key(arm()) != before


@pytest.mark.parametrize("part", fingerprint.SOURCES)
def test_the_digest_of_the_sources_covers_every_file_however_deep(part: str, tmp_path: Path) -> None:
    """A change in a sub-package that went unseen would load stale machine code."""
    root = Path(lw.__file__).parent
    for name in fingerprint.SOURCES:
        shutil.copytree(root / name, tmp_path / name)
    before = fingerprint.of_sources(tmp_path)
    assert before == fingerprint.of_sources(root)
    deepest = max((tmp_path / part).rglob("*.py"), key=lambda path: len(path.parts))
    deepest.write_text(deepest.read_text() + "\n")
    changed = fingerprint.of_sources(tmp_path)
    deepest.rename(deepest.with_name("moved.py"))
    assert len({before, changed, fingerprint.of_sources(tmp_path)}) == 3


JOINT = """
from dataclasses import dataclass
from linkwork.joints import Joint
from linkwork.spatial import Columns, Motion, Transform, Vec3, X, sin_cos

def make(arm):
    @dataclass(frozen=True)
    class Eccentric(Joint):
        nq, nv, angles = 1, 1, (0,)
        def transform(self, q):
            turn = X.rotation(*sin_cos(q[0]))
            return Transform(turn, turn.apply(Vec3(arm, arm, arm)))
        def subspace(self, q):
            return Columns([Motion(X.direction.cross(Vec3(arm, arm, arm)), X.direction)])
    return Eccentric()
"""


@pytest.mark.parametrize("form", ["auto", "specialised", "rolled"])
def test_joints_without_a_file_and_with_hidden_parameters_get_their_own_code(form: str) -> None:
    """As typed at a prompt: no source, and two classes of one name that differ in a closure."""
    scope: dict[str, object] = {"__name__": "__main__"}
    exec(JOINT, scope)
    for size in (0.2, 0.5, 0.2):
        model = arm(joint=scope["make"](size))  # type: ignore[operator]
        with lw.interpreted():
            expected = lw.mass_matrix(model, [0.3])
        with lw.form(form):
            assert np.array_equal(lw.mass_matrix(model, [0.3]), expected)


# Processes

START = """
import numpy as np, linkwork as lw
model = lw.mechanisms.serial_chain(4, "spherical")
q, v = lw.random_state(model, 1, shape=(9,))
print(lw.forward_dynamics(model, q, v, v).tobytes().hex())
print(lw.forward_dynamics(model, q[0], v[0], v[0]).tobytes().hex())
"""


def test_several_processes_start_at_once_on_an_empty_cache(folder: Path) -> None:
    started = [
        subprocess.Popen([sys.executable, "-W", "error", "-c", START], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    outputs = [process.communicate() for process in started]
    assert [process.returncode for process in started] == [0] * 3, outputs
    assert len({out for out, _ in outputs}) == 1 and all(not err for _, err in outputs)
    assert {path.suffix for path in files(folder)} == {".lwo"}
    again = f"{START}\nimport sys; print('llvmlite.binding' in sys.modules)"
    later = subprocess.run([sys.executable, "-c", again], capture_output=True, check=True).stdout
    assert later == outputs[0][0] + f"{not linker.usable()}\n".encode()  # LLVM is loaded where it is needed


def mappings() -> list[tuple[int, int, str]]:
    """Begin, end and permissions of all memory of this process."""
    lines = [line.split() for line in Path("/proc/self/maps").read_text().splitlines()]
    return [(*(int(end, 16) for end in line[0].split("-")), line[1]) for line in lines]  # type: ignore[misc]


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc")
@pytest.mark.parametrize("form", ["specialised", "rolled"])
def test_generated_code_is_never_writable_and_executable_at_once(form: str) -> None:
    """One such page is libffi's, for a callback that llvmlite makes when it is imported; there are no others."""
    jit._llvm()
    before = [mapping for mapping in mappings() if "wx" in mapping[2]]
    made = planned(task_of(ALGORITHMS["mass_matrix"], arm()), form)
    for lanes in (1, made.lanes):
        code, _ = made.code(lanes)
        for address in code.addresses.values():
            (permissions,) = (how for begin, end, how in mappings() if begin <= address < end)
            assert permissions.startswith("r-x")
    assert [mapping for mapping in mappings() if "wx" in mapping[2]] == before


def test_nothing_is_unpickled() -> None:
    for path in Path(cache.__file__).parents[1].rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            assert not {"pickle", "marshal", "shelve", "dill"} & {*names, getattr(node, "module", None)}, path


# The command


def test_cache_shows_and_clears(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compute()
    assert cli.main(["cache", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    size = sum(path.stat().st_size for path in files(folder))
    assert data == {"folder": str(folder), "files": 1, "bytes": size, "removed": 0} and size > 1000
    assert cli.main(["cache"]) == 0
    assert capsys.readouterr().out == f"{folder}: 1 files, {size} bytes\n"
    assert cli.main(["cache", "--clear"]) == 0
    assert capsys.readouterr().out == f"removed 1 files\n{folder}: 0 files, 0 bytes\n"
    assert files(folder) == []


def test_cache_that_is_switched_off(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("LINKWORK_CACHE_DIR", "")
    assert cli.main(["cache", "--clear"]) == 0
    assert "not kept" in capsys.readouterr().out


def test_the_folder_follows_the_platform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("LINKWORK_CACHE_DIR")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache.folder() == tmp_path / "xdg" / "linkwork"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.folder() == tmp_path / ".cache" / "linkwork"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache.folder() == tmp_path / "Library" / "Caches" / "linkwork"
