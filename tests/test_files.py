"""Files that are written completely or not at all, files with false sizes, and requests beyond memory."""

from __future__ import annotations

import io
import json
import os
import socket
import stat
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import cli, files, memory, pictures
from linkwork_lab.bench import pages
from linkwork_lab.bench.plot import plot_chains
from linkwork_lab.reproduce import pictures as experiments

MODEL = lw.mechanisms.pendulum()
K = 5


def motion(k: int = K) -> lw.Trajectory:
    one = np.zeros((k, 1))
    return lw.Trajectory(MODEL, np.arange(float(k)), one, one, one, one, np.zeros((k, 0, 6)))


# Writing

CHAINS: dict[str, Any] = {
    "chains": [{"n": n, **{kind: {"seconds": n, "peers": {}} for kind in ("single", "batch")}} for n in (1, 2)]
}
WRITERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "Trajectory.save": ("old.npz", lambda path: motion().save(path)),
    "pictures": ("old.svg", lambda path: pictures.write(pictures.figure(1, 1), path)),
    "lw.draw": ("old.pdf", lambda path: lw.draw(MODEL, [0.0], path=path)),
    "Trajectory.plot": ("old.png", lambda path: motion().plot(path=path)),
    "lw.animate": ("old.gif", lambda path: lw.animate(motion(2), path, fps=1.0, size=0.5)),
    "experiments": ("old.png", lambda path: experiments.save(pictures.figure(1, 1), path.parent, path.stem)),
    "bench --plot": ("old.png", lambda path: plot_chains(CHAINS, path)),
    "bench --write": ("old.md", lambda path: pages.put(path, "t", "new")),
    "JSON": ("old.json", lambda path: files.write_text(path, json.dumps([1.0]))),
}
OLD = b"<!-- t -->\nthe old file\n<!-- end -->\n"


@pytest.mark.parametrize("writer", WRITERS)
def test_a_full_disk_leaves_the_old_file(writer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is found to be full when the data is flushed; the old file keeps every byte."""
    name, write = WRITERS[writer]
    path = tmp_path / name
    path.write_bytes(OLD)

    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match=rf"No space left on device: '.*{name}'"):
            write(path)
    assert path.read_bytes() == OLD
    assert [each.name for each in tmp_path.iterdir()] == [name]
    write(path)
    assert path.read_bytes() != OLD
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), ValueError("no")])
def test_what_fails_half_way_leaves_the_old_file(error: BaseException, tmp_path: Path) -> None:
    path = tmp_path / "old"
    path.write_bytes(OLD)
    with pytest.raises(type(error)), files.replacing(path) as beside:
        beside.write_bytes(b"half")
        raise error
    assert path.read_bytes() == OLD
    assert [each.name for each in tmp_path.iterdir()] == ["old"]


def test_a_file_keeps_its_permissions_and_a_link_its_file(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file.txt"
    files.write_text(path, "one")
    plain = tmp_path / "plain"
    plain.touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)  # those of any new file
    path.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(path)
    files.write_text(link, "two")
    assert link.is_symlink() and path.read_text() == "two"
    assert sys.platform == "win32" or stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_write_protected_file_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "old"
    path.write_bytes(OLD)
    monkeypatch.setattr(os, "access", lambda *_: False)  # as for any user but root
    with pytest.raises(PermissionError, match="write-protected") as caught:
        files.write_text(path, "new")
    assert isinstance(caught.value, lw.FileError) and caught.value.filename == str(path)
    assert path.read_bytes() == OLD


@pytest.mark.parametrize("writer", [writer for writer in WRITERS if writer != "bench --write"])  # reads it first
def test_a_place_where_no_file_can_be_is_named(writer: str, tmp_path: Path) -> None:
    """A folder of that name, a file in place of its folder, a name that is too long: one of our errors, and an OSError,
    that names the file as requested.
    """
    name, write = WRITERS[writer]
    kind = Path(name).suffix
    blocked = {
        "a folder": tmp_path / name,
        "below a file": tmp_path / "file" / name,
        "long": tmp_path / ("a" * 300 + kind),
    }
    blocked["a folder"].mkdir()
    (tmp_path / "file").touch()
    for path in blocked.values():
        with pytest.raises(lw.FileError, match=path.name[:20]) as caught:
            write(path)
        assert isinstance(caught.value, OSError) and caught.value.filename == str(path) and caught.value.errno
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", name]


@pytest.mark.parametrize("name", ["missing.npz", "folder", "folder/missing/deep", "a" * 300])
def test_a_file_that_cannot_be_read_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(lw.ArgumentError, match=name):
        lw.Trajectory.load(tmp_path / name, MODEL)
    with pytest.raises(lw.FormatError, match=name):
        lw.load(tmp_path / name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_only_regular_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a pipe without a writer, nor one with a writer that never writes, nor a device that never ends."""
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    os.mkfifo("pipe")
    (tmp_path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        for name in ("pipe", "folder", "socket", "/dev/zero", "/dev/tty"):
            with pytest.raises(lw.FormatError, match=f"^{name}: cannot read the file"):
                lw.load(Path(name))
    writer = os.open("pipe", os.O_RDWR)
    with pytest.raises(lw.FormatError, match="it is no regular file"):
        lw.load("./pipe")
    os.close(writer)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_written_to_and_never_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(lw.FileError, match="nobody reads this pipe"):
        files.write_text(pipe, "words")
    with pytest.raises(lw.ArgumentError, match="no regular file"):
        lw.Trajectory.load(pipe, MODEL)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    files.write_text(pipe, "words")
    assert os.read(reader, 100) == b"words"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a full disk at hand")
def test_a_device_is_written_to(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left"):
        files.write_text("/dev/full", "new")
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


@pytest.mark.parametrize("path", [3, "", "a\0b", None])
def test_what_is_no_path_is_named(path: Any) -> None:
    for write in (motion().save, lambda to: lw.animate(motion(), to), lambda to: lw.Trajectory.load(to, MODEL)):
        with pytest.raises(lw.ArgumentError, match="path must"):
            write(path)


# linkwork draw


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("../../outside", "_.._outside.png"),
        ("/etc/passwd", "_etc_passwd.png"),
        ("..", "_.png"),
        (".profile", "profile.png"),
        ("-rf", "rf.png"),
        ("C:\\nul", "C_nul.png"),
        ("nul", "nul_.png"),
        ("a\nb\x1b[2J", "a_b_2J.png"),
        ("x" * 5000, "x" * 60 + ".png"),
        ("Bär 2.0", "Bär_2.0.png"),
    ],
)
def test_a_model_s_name_makes_a_harmless_file_name(name: str, file: str) -> None:
    assert f"{files.harmless(name)}.png" == file


def test_draw_stays_in_the_folder_and_overwrites_nothing_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    victim = tmp_path / "victim.png"
    victim.write_bytes(OLD)
    urdf = tmp_path / "robot.urdf"
    urdf.write_text("<robot name='../victim'><link name='a'/></robot>")
    assert cli.main(["draw", str(urdf)]) == 0
    (picture,) = folder.iterdir()
    assert victim.read_bytes() == OLD and picture.name == "_victim.png"

    picture.write_bytes(OLD)
    assert cli.main(["draw", str(urdf)]) == 2
    assert "--force" in capsys.readouterr().err and picture.read_bytes() == OLD
    assert cli.main(["draw", str(urdf), "--force"]) == 0
    assert picture.read_bytes() != OLD
    picture.write_bytes(OLD)
    assert cli.main(["draw", str(urdf), "--out", picture.name]) == 0
    assert picture.read_bytes() != OLD


# Loading


def header(shape: str, descr: str = "'<f8'") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def changed(source: Path, to: Path, **members: bytes | None) -> Path:
    """A trajectory's file with some of its members replaced, added, or (None) removed."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as new:
        parts: dict[str, bytes | None] = {name: old.read(name) for name in old.namelist()}
        for name, data in {**parts, **{f"{name}.npy": data for name, data in members.items()}}.items():
            if data is not None:
                new.writestr(name, data)
    return to


def array(value: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, value)
    return file.getvalue()


LIES: dict[str, tuple[str, dict[str, bytes | None]]] = {
    "8 TB": (r"header of q\.npy .* 8,000,000,000,000 bytes, but there are 0", {"q": header("(1000000000000, 1)")}),
    "8 TB of text": (r"header of format\.npy|damaged header", {"format": header("()", "'<U2000000000'")}),
    "less than there is": (r"header of q\.npy", {"q": array(np.zeros((K, 1))) + b"more"}),
    "too little": (r"header of q\.npy", {"q": array(np.zeros((K, 1)))[:-1]}),
    "negative": (r"header of q\.npy", {"q": header(f"(-{K}, -1)") + bytes(8 * K)}),
    "pickles": (r"header of q\.npy", {"q": header("(1,)", "'|O'") + bytes(8)}),
    "a header of nonsense": ("damaged header|can be read", {"q": header("{[]: 1}")}),
    "nested brackets": ("can be read", {"q": header("(" * 5000)}),
    "a later version": ("unknown version", {"q": b"\x93NUMPY\x02\x00" + b"\xff" * 100}),
    "too many rows": (
        r"q of a trajectory must be float64 of shape \(5, 1\), not .*\(6, 1\)",
        {"q": array(np.zeros((6, 1)))},
    ),
    "too many columns": (r"tau of a trajectory must be float64 of shape \(5, 1\)", {"tau": array(np.zeros((K, 2)))}),
    "constraints": (r"shape \(5, any, 6\)", {"constraint_forces": array(np.zeros((K, 1, 5)))}),
    "single precision": ("must be float64", {"v": array(np.zeros((K, 1), np.float32))}),
    "a flag of text": ("holds no trajectory", {"interrupted": array("yes")}),
    "a missing member": ("holds no trajectory", {"a": None}),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_file_that_lies_is_refused_before_memory_is_taken(
    lie: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    message, members = LIES[lie]
    file = changed(motion().save(tmp_path / "true.npz"), tmp_path / "lie.npz", **members)
    allocated: list[float] = []
    empty = np.empty

    def watched(shape: Any, *rest: Any) -> Any:
        allocated.append(np.prod(shape))
        return empty(shape, *rest)

    monkeypatch.setattr(np, "empty", watched)
    with pytest.raises(lw.ArgumentError, match=message) as caught:
        lw.Trajectory.load(file, MODEL)
    assert str(file) in str(caught.value)
    assert sum(allocated) < 100


def test_unknown_members_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = header("(3000000,)", "'|u1'") + bytes(3_000_000)
    file = changed(motion().save(tmp_path / "true.npz"), tmp_path / "bomb.npz", bomb=bomb)
    opened: list[str] = []
    original = zipfile.ZipFile.open

    def watched(archive: zipfile.ZipFile, info: Any, *rest: Any) -> Any:
        opened.append(info.filename)
        return original(archive, info, *rest)

    monkeypatch.setattr(zipfile.ZipFile, "open", watched)
    assert len(lw.Trajectory.load(file, MODEL)) == K
    assert "q.npy" in opened and "bomb.npy" not in opened


def test_more_than_deflate_can_hold_is_refused(tmp_path: Path) -> None:
    """The directory claims 4 GB for a member of a few bytes, and so does its header."""
    file = motion().save(tmp_path / "true.npz")
    lie = changed(file, tmp_path / "lie.npz", q=header("(500000000, 1)"))
    data = lie.read_bytes()
    entry = data.rindex(b"q.npy") - 46
    assert data[entry : entry + 4] == b"PK\x01\x02"
    size = (4 * 10**9 + 128).to_bytes(4, "little")
    lie.write_bytes(data[: entry + 24] + size + data[entry + 28 :])
    with pytest.raises(lw.ArgumentError, match=r"q\.npy cannot have the 4,000,000,128 bytes that it claims"):
        lw.Trajectory.load(lie, MODEL)


def test_a_trajectory_beyond_memory_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = motion(1000).save(tmp_path / "long.npz")
    monkeypatch.setattr(memory, "memory_limit", lambda: 1e4)
    with pytest.raises(
        lw.ArgumentError, match=r"not enough memory for 1,000 states of 'pendulum' in .*, which take 4e-05 GB"
    ):
        lw.Trajectory.load(file, MODEL)


def test_arrays_in_any_order_come_back(tmp_path: Path) -> None:
    arm = lw.mechanisms.serial_chain(2)
    q = np.asfortranarray(np.arange(6.0).reshape(3, 2))
    file = lw.Trajectory(arm, np.arange(3.0), q, q, q, q, np.zeros((3, 0, 6)), True).save(tmp_path / "a")
    again = lw.Trajectory.load(file, arm)
    assert (again.q == q).all() and again.interrupted


# Memory


def test_requests_beyond_memory_say_what_they_would_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "memory_limit", lambda: 1e5)
    many = np.zeros((100_000, 1))
    requests: dict[str, Callable[[], Any]] = {
        r"the results of .* for 100,000 state\(s\) of 'pendulum', which take 0\.0008 GB": lambda: lw.mass_matrix(
            MODEL, many
        ),
        "10,001 states of 'pendulum', which take": lambda: lw.simulate(MODEL, [0.0], [0.0], 10.0, 0.001),
        "100,001 records of 1 trajectories, which take": lambda: lw.rollout(
            MODEL, [0.0], [0.0], steps=100_000, dt=0.001
        ),
        "40,001 states of 'pendulum', which take": lambda: motion().resample(1e-4),
        "n = 2,000 links, which take": lambda: lw.mechanisms.serial_chain(2000),
    }
    for message, request in requests.items():
        with pytest.raises(lw.ArgumentError, match=f"not enough memory for {message}"):
            request()


def test_memory_that_the_system_refuses_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> Any:
        raise MemoryError

    monkeypatch.setattr(lw.joints.Revolute, "transform", refused)
    with lw.interpreted(), pytest.raises(lw.ArgumentError, match="not enough memory for the results of"):
        lw.mass_matrix(MODEL, np.zeros((3, 1)))


def test_this_machine_has_memory() -> None:
    assert memory.memory_limit() > 1e8
