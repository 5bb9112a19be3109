"""Does this machine run the engine's code? A kernel of each kind is compiled, run, and compared with the interpreter,
to the last bit.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache as memoised
from importlib.metadata import PackageNotFoundError, version
from time import perf_counter

import numpy as np

from linkwork.algorithms import ALGORITHMS
from linkwork.engine.code import cache, jit, loader
from linkwork.engine.plans import Task, TracedTask, plan_for, plan_for_trace
from linkwork.engine.plans.loops import Looped
from linkwork.engine.plans.plan import Array, Interpreted, Plan
from linkwork.engine.plans.specialised import specialised_program
from linkwork.engine.rollout import run_over_time
from linkwork.engine.run import threads
from linkwork.errors import excuse
from linkwork.model import mechanisms
from linkwork.model.model import Model


@dataclass(frozen=True)
class Check:
    """The check of one kind of code: its name, whether it works, and what was found, in words."""

    name: str
    works: bool
    words: str


@dataclass(frozen=True)
class SystemReport:
    """What works on this machine; as text, one line for each thing that was checked."""

    system: str
    """Versions of linkwork's dependencies."""
    target: str
    """The target of machine code."""
    checks: tuple[Check, ...]
    cache: str
    """Where compiled code is cached between runs, or why it is not."""

    @property
    def works(self) -> bool:
        """Whether machine code of every kind runs, and gives the interpreter's bits."""
        return all(check.works for check in self.checks)

    def __str__(self) -> str:
        wide = max(len(check.name) for check in self.checks)
        lines = [
            f"  {'works ' if check.works else 'BROKEN'}  {check.name:{wide}}  {check.words}" for check in self.checks
        ]
        end = "Everything works." if self.works else ADVICE
        return "\n".join([self.system, self.target, *lines, self.cache, end])


ADVICE = "What is broken is not to be used: LINKWORK_ENGINE=interpreter has all calls run without machine code, slowly."


def system_check() -> SystemReport:
    """Compile a kernel of each kind for this machine, run it, and compare its results with the interpreter's.

    It takes a few seconds, uses no code that was kept, and keeps none. ``linkwork doctor`` prints the report.

    Returns:
        A report: ``str`` of it says in words what works; ``works`` is whether all does.

    Example:
        >>> import linkwork as lw
        >>> report = lw.system_check()
        >>> report.works
        True
        >>> [check.name for check in report.checks][:3]
        ['specialised, one state', 'specialised, one state by a builtin', 'specialised, a batch']
    """
    reason = jit.obstacle()
    if reason:
        checks: tuple[Check, ...] = (
            Check("machine code", False, f"{reason}; the interpreter takes its place, slowly"),
        )
        target = "no machine code"
    else:
        with loader.anew():
            checks = tuple(_checked(name, compare) for name, compare in _kinds())
        cpu, lanes = jit.host()[0], jit.lanes(jit.host())
        target = f"machine code for {jit.triple()}, {cpu}, {lanes} numbers in a vector, {threads.get_threads()} threads"
    return SystemReport(_system(), target, checks, cache_state())


def cache_state() -> str:
    """The state of the cache, in words."""
    place, reason = cache.folder(), cache.obstacle()
    if reason:
        return f"compiled code is not kept: {reason}"
    sizes = [size for _, size in cache.entries()]
    return f"compiled code is kept in {place}, which can be trusted: {len(sizes)} files, {sum(sizes)} bytes"


def _system() -> str:
    packages = []
    for package in ("linkwork", "numpy", "llvmlite"):
        try:
            packages.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            packages.append(f"{package} of no known version")
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{', '.join(packages)}; {python} on {platform.system()} {platform.machine()}"


def _checked(name: str, compare: Callable[[], bool | None]) -> Check:
    """None means that this Python does not support such code, which is not a failure."""
    before = perf_counter()
    try:
        same = compare()
    except Exception as error:
        excuse(error)
        return Check(name, False, f"{type(error).__name__}: {error}")
    if same is None:
        return Check(name, True, "not available on this Python; the longer way takes its place")
    words = "the interpreter's bits" if same else "other results than the interpreter's"
    return Check(name, same, f"{words}, {perf_counter() - before:.2f} s")


def _kinds() -> Iterator[tuple[str, Callable[[], bool | None]]]:
    """Every kind of code, with its comparison."""
    batch = jit.lanes(jit.host()) + 1  # a full tile, and a partial one

    @memoised
    def plan(form: str) -> Plan:
        if form == "segmented":
            return plan_for(Task(ALGORITHMS["constraint_force"], mechanisms.serial_chain(51, "prismatic"), ("f_ext",)))
        tree = mechanisms.binary_tree(2)  # with isomorphic branches
        return plan_for(Task(ALGORITHMS["articulated_body"], tree, ("f_ext",)), form)

    for form in ("specialised", "rolled"):
        yield f"{form}, one state", lambda form=form: _same(plan(form), 1)  # type: ignore[misc]
        yield f"{form}, one state by a builtin", lambda form=form: _same_served(plan(form), 1)  # type: ignore[misc]
        yield f"{form}, a batch", lambda form=form: _same(plan(form), batch)  # type: ignore[misc]
        yield f"{form}, a batch by a builtin", lambda form=form: _same_served(plan(form), batch)  # type: ignore[misc]
    yield "over time", lambda: _same_over_time(batch)
    yield "segmented, one state", lambda: _same(plan("segmented"), 1)
    yield "segmented, two threads", lambda: _same_by_two(plan("segmented"))
    yield "segmented, a batch", lambda: _same(plan("segmented"), batch)


def _numbers(sizes: Sequence[int], states: int) -> list[Array]:
    rng = np.random.default_rng(0)
    return [rng.uniform(-1.0, 1.0, (states, size)) for size in sizes]


def _equal(found: Sequence[Array], wanted: Sequence[Array]) -> bool:
    pairs = zip(found, wanted, strict=True)
    return all(np.array_equal(a.ravel().view(np.int64), b.ravel().view(np.int64)) for a, b in pairs)


def _same(plan: Plan, states: int) -> bool:
    given = _numbers(plan.task.arguments, states)
    (found, status), (wanted, _) = plan.run(given, states), Interpreted(plan.task).run(given, states)
    return status == 0 and _equal(found, [array + 0.0 for array in wanted])  # a zero has no sign


def _same_served(plan: Plan, states: int) -> bool | None:
    """By the builtins."""
    served, given = plan.served("one", "batch"), _numbers(plan.task.arguments, states)
    if served is None:
        return None
    wanted, _ = Interpreted(plan.task).run(given, states)
    found = served(None, *(array if states > 1 else array[0] for array in given))
    return found is not None and _equal([found], [array + 0.0 for array in wanted])


def _same_by_two(plan: Plan) -> bool:
    """With a helper that may or may not arrive in time."""
    assert isinstance(plan, Looped) and plan.team is not None
    plan.team.threads = 2
    return all(_same(plan, 1) for _ in range(5))


def moving(model: Model) -> TracedTask:
    """A step over time that only moves: q⁺ = q ⊕ s."""
    shapes = [(model.nq,), (model.nv,)]
    return TracedTask(
        lambda: specialised_program(ALGORITHMS["integrate"], model), shapes, shapes[:1], over_time=True
    )  # fmt: skip


def _same_over_time(states: int, steps: int = 3) -> bool:
    task, records = moving(mechanisms.binary_tree(2)), []
    (nq,), (nv,) = task.argument_shapes
    for form in ("auto", "interpreted"):
        state = _numbers(task.arguments[:1], states)
        into = [np.zeros((states, steps + 1, nq))]
        rates, plan = [np.full((1, steps, nv), 0.01)], plan_for_trace(task, "a step", form)
        status = run_over_time(plan, state, rates, into, steps, 1, 1)
        records.append((into, status))
    (found, status), (wanted, _) = records
    return status == 0 and _equal(found, wanted)
