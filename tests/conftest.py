"""Every test with the fixture ``engine`` runs once in each form in which an algorithm can run."""

from __future__ import annotations

import gc
import hashlib
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import linkwork
from linkwork.engine.code.cache import obstacle
from linkwork.engine.emit import builtin
from linkwork.engine.run import threads
from strategies import FORMS, in_form

SOURCE = Path(linkwork.__file__).parent
ROOT = Path(__file__).parents[1]

# The form is entered around the whole test, which is what the health check about function-scoped fixtures asks about.
settings.register_profile(
    "linkwork",
    deadline=None,
    derandomize=True,
    max_examples=6,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("linkwork")


@pytest.fixture(params=FORMS)
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    with in_form(request.param):
        yield request.param


@pytest.fixture
def builtins() -> None:
    """For tests of the builtins themselves: there are none with LINKWORK_BUILTIN=0."""
    if not builtin.available():
        pytest.skip("there are no builtins in this process")


@pytest.fixture
def worth_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are spread over threads, however small they are."""
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 1e-12)


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """Tests write into temporary folders, never into the root of the project."""
    before = _files_of_the_root()
    yield
    left = sorted(_files_of_the_root() - before)
    assert not left, f"written into {ROOT}, by this test or one at the same time: {', '.join(left)}"


def _files_of_the_root() -> set[str]:
    return {entry.name for entry in os.scandir(ROOT) if entry.is_file() and not entry.name.startswith(".")}


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGINT interrupts, even in a background job of a shell, which would ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


QUICK = {
    "test_project": "",
    "test_spatial": "",
    "test_functions": "first_octant|million|plane|same_bits|too_large|screw",
    "test_joints": "",
    "test_model": "",
    "test_mechanisms": "",
    "test_urdf": "panda|solo12|refused|kept|order|fixed_joints|world|limits|encodings",
    "test_mjcf": "",
    "test_engine": "verifier|small_program|folding|subexpression|(inverse_dynamics|articulated_body)",
    "test_bits": "builtin|every_lane.*(inverse_dynamics|jacobian)|one_argument",
    "test_row_kernel": "constant|empty",
    "test_plans": "",
    "test_portability": "symbols.*builtin|ordered|served|sees|doctor",
    "test_cache": "compiled_once|damaged|belong|written|link|pipe|forged|swapped",
    "test_batches": r"1000.*\barticulated_body\b|broadcast.*\b(inverse_dynamics|energy)\b|strides.*interpreted|types",
    "test_calls": "every_kind_of_argument_in_turn|builtin|eight_threads|forked",
    "test_competing": "off",
    "test_excused": "",
    "test_fuzz": "called",
    "test_errors": "wrong|no_model|option|unknown|not_broadcast|overflow|not_finite.*(interpreted|inverse_dynamics)",
    "test_laws": "undoes|agree.*interpreted|symmetric|power.*interpreted|derivative_of_placement.*rolled",
    "test_pinocchio": r"\b(ur5|small)\b",
    "test_counts": "linear|table",
    "test_virtual_work": "balance.*interpreted",
    "test_constraint_force": "revolute z|spherical",
    "test_operational": "ur5|singular|wrong|planar_arm|junctions",
    "test_constraints": "kinds|wrong|redundant",
    "test_inverse_kinematics": "wrong_use|limits|many_bodies|first_order|couplings",
    "test_repeating": "plain|verifier|said",
    "test_change_of_basis": "",
    "test_references": "",
    "test_inside": "",
    "test_control": "khatib|cannot_be|torque_limits|wrong_size",
    "test_simulation": "pendulum|friction_stops|efforts",
    "test_simulate_calls": "bad_arguments",
    "test_trajectory": "length|slices|disk|wrong_shape",
    "test_rollout": "over_and_over|broadcast|records|effort",
    "test_rollout_errors": "",
    "test_viewer": "camera|hull|skeleton|bad_arguments",
    "test_cli": "info|bad_input|json",
    "test_site": "once|shown|links",
}
"""The tests of ``make quick``: files, with a pattern of the tests in them; about a minute on two cores with an empty
code cache. They cover every area, and each form in which an algorithm runs.
"""


LONG = (
    *("test_steps", "test_contact_many_bodies", "test_examples", "test_rolled_derivatives", "test_bits"),
    *("test_reproduce", "test_unsolved", "test_constraints", "test_batches", "test_operational", "test_laws"),
    *("test_isomorphic", "test_constraint_force", "test_derivatives", "test_gradients", "test_segments"),
    *("test_served", "test_virtual_work", "test_pinocchio", "test_control", "test_contact", "test_simulate_compiled"),
    *("test_errors", "test_rollout_laws", "test_engine", "test_truth"),
)
"""Slow files: distributed first, in this order, so that no process waits for another. Files that need the same code,
such as test_batches and test_errors, are apart, so that two processes do not compile it at the same time.
"""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With ``-m quick``, skip the import of files without selected tests."""
    if config.getoption("markexpr") != "quick" or not collection_path.name.startswith("test_"):
        return None
    return True if collection_path.suffix == ".py" and collection_path.stem not in QUICK else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--every-step"):
        later = [item for item in items if item.get_closest_marker("later")]
        config.hook.pytest_deselected(items=later)
        items[:] = [item for item in items if not item.get_closest_marker("later")]
    rank = {name: k for k, name in enumerate(LONG)}
    items.sort(key=lambda item: rank.get(item.path.stem, len(LONG)))  # stable: files stay together
    used = set()
    for item in items:
        pattern = QUICK.get(item.path.stem)
        if pattern is not None and re.search(pattern, item.name):
            item.add_marker(pytest.mark.quick)
            used.add(item.path.stem)
    unused = sorted({item.path.stem for item in items} & QUICK.keys() - used)
    if unused and config.getoption("markexpr") == "quick":
        raise pytest.UsageError(f"no test of these files matches its pattern in QUICK: {', '.join(unused)}")


def pytest_collection_finish() -> None:
    """Freeze the existing objects, so that the garbage collector need not traverse them again. Traced programs are many
    objects, none of them garbage: it also runs less often.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write tests/golden anew")
    parser.addoption("--every-step", action="store_true", help="with what make test leaves out")


def pytest_configure(config: pytest.Config) -> None:
    """Compiled code is kept for all processes of a run and for the next run; never in the user's cache. Bytecode is
    kept where Python keeps it: child processes find it, and that of installed packages exists already. The output of
    commands does not depend on the terminal. NumPy's linear algebra has one thread: there is a process for each core,
    and spinning threads would take these from the others.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for name in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        os.environ.pop(name, None)
    if not hasattr(config, "workerinput"):
        os.environ["LINKWORK_CACHE_DIR"] = str(_kept_code(config))
        if obstacle():  # a checkout that others can write to
            os.environ["LINKWORK_CACHE_DIR"] = str(_temporary(config))
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def _kept_code(config: pytest.Config) -> Path:
    """A folder of pytest's cache for the code that these sources make.

    It is named by a digest of all sources that take part in making code, independent of the engine's own digest: then
    code of older sources is not found, even if the engine would consider it current. Folders of older sources are
    removed.
    """
    digest = hashlib.sha256(metadata.version("llvmlite").encode())
    parts = [SOURCE / part for part in ("spatial", "joints", "model", "algorithms", "engine")]
    for part in (*parts, SOURCE.parent / "linkwork_lab" / "studies"):
        for path in sorted(part.rglob("*.py")):
            digest.update(f"{path.relative_to(SOURCE.parent)}".encode() + b"\0" + path.read_bytes())
    try:
        folder = config.cache.mkdir("linkwork")  # type: ignore[union-attr]  # None without pytest's cache
        kept = folder / digest.hexdigest()[:16]
        kept.mkdir(mode=0o700, exist_ok=True)
    except (AttributeError, OSError):
        return _temporary(config)
    for other in folder.iterdir():
        if other != kept:
            shutil.rmtree(other, ignore_errors=True)
    return kept


def _temporary(config: pytest.Config) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="linkwork-tests-"))
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    return folder


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a text with a file of tests/golden; ``pytest --update-golden`` writes the file instead."""

    def check(name: str, text: str) -> None:
        path = Path(__file__).parent / "golden" / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        assert path.read_text() == text, f"{path} differs; if that is meant: pytest --update-golden"

    return check
