"""The root of a model file: what it is by default, what a user may choose, and that nothing outside of it is read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import linkwork as lw
from linkwork.formats import roots

ARM = '<body name="arm"><joint/><geom type="box" size=".1 .2 .3"/></body>'
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"


def package(folder: Path, inner: str = "robots/arm") -> Path:
    """A model in a package that includes a file and refers to a mesh from other folders of it."""
    (folder / inner).mkdir(parents=True)
    (folder / "scene").mkdir()
    (folder / "scene" / "arm.xml").write_text(f"<mujocoinclude>{ARM}</mujocoinclude>")
    (folder / "scene" / "rock.obj").write_text(TETRAHEDRON)
    up = "/".join([".."] * len(Path(inner).parts))
    path = folder / inner / "robot.xml"
    path.write_text(f"""<mujoco><asset><mesh name="rock" file="{up}/scene/rock.obj"/></asset><worldbody>
      <geom type="mesh" mesh="rock"/><include file="{up}/scene/arm.xml"/></worldbody></mujoco>""")
    return path


def mark(folder: Path, marker: str) -> Path:
    """Make a folder a package of some kind; the folder that the package is in."""
    if marker == "site-packages":
        folder = folder / "lib" / "site-packages"
    package = folder / "package"
    package.mkdir(parents=True)
    if marker == "a Python package":
        (package / "__init__.py").touch()
    elif marker == "a folder of a Python package":
        (folder / "package" / "robots").mkdir()
        (folder / "package" / "__init__.py").touch()
        (folder / "package" / "robots" / "__init__.py").touch()
    elif marker == ".git":
        (package / ".git").mkdir()
    elif marker == "package.xml":
        (package / "package.xml").touch()
    return package


MARKERS = ("a Python package", "a folder of a Python package", ".git", "package.xml", "site-packages")


@pytest.mark.parametrize("marker", MARKERS)
def test_a_package_is_the_root_and_nothing_above_it(tmp_path: Path, marker: str) -> None:
    folder = mark(tmp_path, marker)
    if marker == "a folder of a Python package":
        path = folder / "robots" / "robot.xml"
        path.write_text('<mujoco><worldbody><include file="../arm.xml"/></worldbody></mujoco>')
        (folder / "arm.xml").write_text(f"<mujocoinclude>{ARM}</mujocoinclude>")
    else:
        path = package(folder)
    assert lw.load(path).body_names == ("arm",)
    assert roots.root_of(str(path), None, False) == str(folder)
    with pytest.raises(lw.FormatError, match=r"leads out of the model's root .*, unless root='.*package'"):
        lw.load(path, strict_root=True)
    (folder.parent / "secret.xml").write_text(f"<mujocoinclude>{ARM}</mujocoinclude>")
    inside = os.path.relpath(folder.parent / "secret.xml", path.parent)
    path.write_text(f'<mujoco><worldbody><include file="{inside}"/></worldbody></mujoco>')
    with pytest.raises(lw.FormatError, match=f"leads out of the model's root {folder}; nothing is read") as no:
        lw.load(path)
    assert no.value.line == 1 and no.value.element == "include"
    assert lw.load(path, root=folder.parent).body_names == ("arm",)


def test_a_mesh_in_another_folder_of_the_package_is_shown(tmp_path: Path) -> None:
    model = lw.load(package(mark(tmp_path, ".git")))
    (rock,) = [shape for shape in model.geometry if shape.kind == "mesh"]
    assert (Path(rock.folder) / rock.mesh).read_text() == TETRAHEDRON
    assert rock.mesh == os.path.join("scene", "rock.obj")


def test_links_are_resolved_before_they_are_judged(tmp_path: Path) -> None:
    path = package(mark(tmp_path, ".git"))
    (tmp_path / "secret.xml").write_text(f"<mujocoinclude>{ARM}</mujocoinclude>")
    (tmp_path / "package" / "scene" / "arm.xml").unlink()
    (tmp_path / "package" / "scene" / "arm.xml").symlink_to(tmp_path / "secret.xml")
    with pytest.raises(lw.FormatError, match=f"unless root='{tmp_path}'"):
        lw.load(path)
    elsewhere = tmp_path / "link"
    elsewhere.symlink_to(tmp_path)
    assert lw.load(path, root=elsewhere).body_names == ("arm",)


def test_no_home_and_no_system_folder_is_a_root_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dotfiles in a repository do not make a home the root of what is downloaded into it."""
    home = mark(tmp_path, ".git")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    path = package(home, "downloads")
    assert roots.root_of(str(path), None, False) == str(path.parent)
    with pytest.raises(lw.FormatError, match=r"leads out of the model's root .*downloads; nothing is read from there$"):
        lw.load(path)
    shared = ["", "usr", "usr share", "etc robots", "home anyone", "var tmp", "lib python3 dist-packages"]
    own = ["usr share robots", "home anyone robots", "srv robots main"]
    for listed, expected in (shared, True), (own, False):
        assert {roots.is_shared(os.path.join(os.sep, *names.split())) for names in listed} == {expected}
    assert roots.is_shared(str(home)) and roots.is_shared(str(home.parent))


def test_a_root_that_is_none_is_refused(tmp_path: Path) -> None:
    path = package(mark(tmp_path, ".git"))
    for root, why in (
        (tmp_path / "nowhere", "must be a folder, but"),
        (path, "must be a folder, but"),
        (path.parent.parent / "..", None),
        (tmp_path / "package" / "scene", "must be a folder above the file"),
        ("", "root must be the path of a file"),
        (3, "root must be the path of a file"),
    ):
        if why is None:
            assert lw.load(path, root=root).body_names == ("arm",)
            continue
        with pytest.raises(lw.ArgumentError, match=why):
            lw.load(path, root=root)
    with pytest.raises(lw.ArgumentError, match="root and strict_root exclude each other"):
        lw.load(path, root=tmp_path, strict_root=True)
    with pytest.raises(lw.ArgumentError, match="strict_root must be"):
        lw.load(path, strict_root="yes")  # type: ignore[arg-type]
