"""The project keeps its own rules: layers, exported names, short files, no traces of a machine."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import linkwork as lw

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("linkwork", "linkwork_lab")
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / "src" / package).rglob("*.py"))
ROOMS = sorted(path.parent for path in SOURCES if path.name == "__init__.py" and path.parent.name != "linkwork")
OURS = [
    path
    for pattern in (
        "*.md",
        "Makefile",
        "pyproject.toml",
        ".ci/*",
        ".pre-commit-config.yaml",
        "CITATION.cff",
        "docs/**/*.md",
        "src/**/*.py",
        "tests/**/*.py",
        "examples/**/*.py",
        "benchmarks/**/*.py",
    )
    for path in sorted(ROOT.glob(pattern))
]

PUBLIC = """
    load Builder placement merge_fixed mechanisms joints spatial Model Point
    neutral random_state integrate difference
    forward_kinematics jacobian inverse_dynamics mass_matrix nonlinear_effects gravity_torques
    energy centre_of_mass momentum forward_dynamics interpreted system_check
    LinkworkError ArgumentError UnknownNameError ModelError FormatError FileError SingularError MissingExtraError
    LinkworkWarning
""".split()


def test_every_exported_name_exists_once_and_in_order() -> None:
    assert list(lw.__all__) == sorted(set(lw.__all__))
    assert [name for name in lw.__all__ if not hasattr(lw, name)] == []


def test_the_public_names_are_exported() -> None:
    assert [name for name in PUBLIC if name not in lw.__all__] == []


def test_every_public_function_says_what_it_takes_and_shows_an_example() -> None:
    functions = [getattr(lw, name) for name in lw.__all__] + list(lw.mechanisms.NAMES.values())
    silent = [
        f.__name__ for f in functions if callable(f) and not isinstance(f, type) and ">>>" not in (f.__doc__ or "")
    ]
    assert silent == []


def test_the_version_is_one() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == lw.__version__
    assert f"## {lw.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\nversion: {lw.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_wheel_has_all_packages() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
    assert wheel["wheel"]["packages"] == [f"src/{package}" for package in PACKAGES]
    assert {path.parent.name for path in (ROOT / "src").glob("*/__init__.py")} == set(PACKAGES)
    assert all((ROOT / "src" / package / "py.typed").exists() for package in PACKAGES)


def test_imports_go_one_way() -> None:
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([str(lint), "--no-cache"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_source_file_is_short_and_says_what_it_is() -> None:
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        assert text.count("\n") < 400, path
        assert path.stem not in ("utils", "helpers", "misc", "common"), path
        assert not text or text.startswith('"""'), path


def test_every_package_is_in_the_architecture() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    packages = {path.relative_to(ROOT / "src").parts[1].removesuffix(".py") for path in SOURCES}
    assert [name for name in sorted(packages - {"__init__"}) if f"`{name}`" not in page] == []


def test_the_architecture_is_one_page() -> None:
    lines = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 90 and max(map(len, lines)) <= 120


@pytest.mark.parametrize("room", ROOMS, ids=lambda path: path.relative_to(ROOT / "src").as_posix())
def test_a_package_lists_its_modules(room: Path) -> None:
    """In its docstring, each once and none that is gone: set in, before two spaces or the end of the line."""
    text = ast.get_docstring(ast.parse((room / "__init__.py").read_text(encoding="utf-8")), clean=False) or ""
    listed = [
        name for line in re.findall(r"^ {4}(\w+(?:, \w+)*)(?:  .*)?$", text, re.MULTILINE) for name in line.split(", ")
    ]
    modules = {path.stem for path in room.glob("*.py")} | {path.parent.name for path in room.glob("*/__init__.py")}
    assert sorted(listed) == sorted(modules - {"__init__"})
    if room.parent.name == "engine":
        assert "Comes in: " in text and "Goes out: " in text


def test_a_file_that_is_named_exists() -> None:
    files = [f"/{path.relative_to(ROOT).as_posix()}" for path in OURS]
    missing = {
        f"{path.name}: {name}"
        for path in OURS
        if path.name != "CHANGELOG.md"
        for name in re.findall(r"`((?:\w+/)+\w+\.(?:py|md))`", path.read_text(encoding="utf-8"))
        if not (ROOT / name).exists() and not any(file.endswith(f"/{name}") for file in files)
    }
    assert missing == set()


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    table = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    names = {re.split(r"[<>=\[]", one)[0] for one in wanted}
    assert [name for name in sorted(names) if not re.search(rf"\b{re.escape(name)}\b", table)] == []


def test_no_file_knows_the_machine_it_was_written_on() -> None:
    # Each pattern is written so that it does not match itself.
    traces = re.compile(r"/(home|root|Users|work)/\w|file:/{2}|localhost[:]\d|T[O]DO|F[I]XME|X[X]X")
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in OURS
        if (match := traces.search(path.read_text(encoding="utf-8")))
    ]
    assert found == []


def test_modules_of_the_package_are_imported_when_they_are_named() -> None:
    code = "import linkwork as lw; print(lw.errors.ArgumentError.__name__, lw.model.__name__, hasattr(lw, 'nonsense'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "ArgumentError linkwork.model False\n", done.stderr


def test_no_name_of_a_package_is_replaced_by_a_module() -> None:
    """Importing a module sets it as an attribute of its package, where it would hide what came from elsewhere."""
    for source in (path for path in SOURCES if path.name == "__init__.py"):
        package = ".".join(source.parent.relative_to(ROOT / "src").parts)
        modules = {path.stem for path in source.parent.iterdir()}
        for node in ast.parse(source.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom):
                names = {each.asname or each.name for each in node.names}
                own = {package, *(f"{package}.{name}" for name in names)}
                assert node.module in own or not names & modules, (package, names & modules)
