"""The table of costs: every number by which the planner, or who asks it, chooses one way to compute something.

``benchmarks/costs.py`` measures what can be measured on the machine at hand, and writes it beside the values. How long
the ways on both sides of a value take there is ``measured``; a value is changed by hand, when both sides say so.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from linkwork.model.memo import requested
from linkwork.model.model import Model


@dataclass(frozen=True)
class Cost:
    """Up to ``value`` the first way is taken, beyond it the second."""

    value: int
    unit: str
    ways: str
    measured: str = ""


COSTS = {
    "straight": Cost(
        50,
        "bodies",
        "code of every body in turn; loops over bodies",
        "forward dynamics of a batch: 25 bodies straight 0.48 s, 0.12 µs; looped 0.26 s, 0.163 µs | 50 bodies "
        "straight 0.97 s, 0.215 µs; looped 0.0024 s, 0.285 µs | 100 bodies straight 1.9 s, 0.439 µs; looped 0.011 "
        "s, 0.544 µs",
    ),
    "straight_alone": Cost(
        40_000,
        "instructions",
        "straight code of one algorithm; loops",
        "derivatives of one state: 11,162 straight 0.96 s, 2.78 µs; looped 0.36 s, 3.26 µs | 23,666 straight 1.6 "
        "s, 4.74 µs; looped 0.01 s, 5.32 µs | 50,822 straight 4.8 s, 9.09 µs; looped 0.028 s, 9.42 µs",
    ),
    "straight_in_batches": Cost(
        41_000,
        "instructions, two of them for each number of the results",
        "batches by straight code; by loops",
        "derivatives of a batch: 11,162 straight 1.7 s, 0.356 µs; looped 1.1 s, 0.566 µs | 23,666 straight 3.3 s, "
        "0.748 µs; looped 0.0024 s, 1.12 µs | 50,822 straight 11 s, 3.05 µs; looped 0.011 s, 2.33 µs",
    ),
    "traced": Cost(
        60_000,
        "instructions",
        "machine code of a function over arrays; traced again with calls of code with loops, or the interpreter",
        "36,000 3.7 s, 10.4 µs; interpreted 3.18e+04 µs | 72,000 6.6 s, 20.3 µs; interpreted 6.07e+04 µs | "
        "144,000 15 s, 40.9 µs; interpreted 1.4e+05 µs",
    ),
    "one_thread": Cost(
        1_499,
        "bodies",
        "one state of a long chain on one thread; on several",
        "500 bodies 1: 4.11 µs, 2: 7.19 µs | 1,500 bodies 1: 9.66 µs, 2: 15.1 µs | 5,000 bodies 1: 29 µs, 2: 42.4 µs",
    ),
    "levels": Cost(
        400,
        "cases of parts, with their loops",
        "code over the levels of an assembly; the interpreter",
        "not measured: the code has each case of parts with all of its open loops",
    ),
    "counted": Cost(
        1_000,
        "bodies",
        "operations counted one by one; as a call",
        "not measured: a trace of all bodies takes seconds",
    ),
    "listed": Cost(
        2_000,
        "bodies",
        "counted by linkwork count; only by --method",
        "not measured: all methods together take seconds",
    ),
    "listed_matrices": Cost(
        60,
        "bodies",
        "matrices counted by linkwork count; only by --method",
        "not measured: operations grow with the square of the bodies",
    ),
    "perturbed": Cost(
        60,
        "bodies",
        "lost digits estimated by perturbed arithmetic; not",
        "not measured: some milliseconds for each body, once for a model",
    ),
    "dense_products": Cost(
        16_000,
        "products",
        "a function at points as one kernel; joined from several",
        "not measured: products in dense matrices that are written out",
    ),
    "inverted": Cost(
        4,
        "points",
        "6 x 6 blocks inverted by compiled code; by LAPACK",
        "2 points compiled 0.97 s, 2.25 µs; LAPACK 0.83 s, 17.9 µs | 4 points compiled 2.2 s, 4.82 µs; LAPACK 1.2 "
        "s, 24.6 µs | 6 points compiled 5.9 s, 11.7 µs; LAPACK 2.7 s, 36.3 µs",
    ),
    "derived_whole": Cost(
        9,
        "degrees of freedom",
        "constrained derivatives as one kernel; as a chain of three",
        "6 whole 0.59 s, 1.25 µs; by parts 0.47 s, 1.47 µs | 9 whole 0.86 s, 1.71 µs; by parts 0.99 s, 2.01 µs | "
        "14 whole 1.8 s, 2.93 µs; by parts 1.3 s, 3.07 µs",
    ),
    "linearised_whole": Cost(
        14,
        "degrees of freedom",
        "a step with a law differentiated as one kernel; a column at a time",
        "6 whole 98 µs, 64 states 170 µs; by columns 183 µs, 282 µs | 14 whole 7 s, 105 µs | 18 by columns 206 µs, "
        "1,320 µs | 20 whole: 60,600 instructions, too long for machine code",
    ),
    "derived_in_a_chain": Cost(
        130,
        "bodies x pairs of frames",
        "derivatives with constraints as code; joined from parts",
        "two feet of a humanoid: code 3.3 s, 18 µs; joined 900 µs | feet and hands: code 5.7 s, 30 µs; joined 4.0 s, "
        "500 µs | one kernel would have 80,000 instructions for ANYmal on four feet, 239,000 for G1 on two",
    ),
    "dense_contacts": Cost(
        4_000,
        "products to eliminate the mass matrix; a quarter of them with contacts of moving bodies, or constraints",
        "contacts with a matrix; with articulated bodies",
        "chains on the ground: 12 bodies (1,500 products) matrix 3.2 µs, bodies 3.1 µs | 20 (4,600) 5.5 µs, 3.2 µs | "
        "28 (12,000) 14.8 µs, 4.9 µs | G1 (3,200) 2.7 µs, 2.9 µs; with pairs: 8 bodies 2.1 µs, 8.2 µs | 24 7.6 µs, "
        "8.8 µs",
    ),
    "inlined_contacts": Cost(
        32,
        "contacts",
        "points and forces of contacts each in code of its own; by subroutines",
        "13 contacts inlined 0.24 µs, subroutines 0.35 µs | 126 of a humanoid inlined 2,000 µs, too long for "
        "machine code; subroutines 3.4 µs",
    ),
    "task_rows": Cost(
        24,
        "rows",
        "a controller's tasks as one kernel; joined from several",
        "not measured: four poses",
    ),
    "interpreted": Cost(
        100_000,
        "instructions of all steps so far",
        "steps of one motion by the interpreter; by machine code, which is compiled",
        "not measured: an instruction takes up to 1 µs by the interpreter, compilation half a second and more",
    ),
}
"""By name: what is compared with the value, and the two ways; measured on two busy cores of znver5, 8 lanes."""


def most(name: str) -> int:
    """The value of this name, up to which the first way is taken."""
    return COSTS[name].value


@contextmanager
def costs(**values: int) -> Iterator[None]:
    """Other values for the plans that are chosen inside, in all threads: for tests and measurements."""
    before = dict(COSTS)
    COSTS.update({name: replace(before[name], value=value) for name, value in values.items()})
    try:
        yield
    finally:
        COSTS.update(before)


def within(name: str, size: float | Model) -> bool:
    """Whether a size, of a model the number of its bodies, is within the value of this name: the first way."""
    return (len(size.bodies) if isinstance(size, Model) else size) <= most(name)


def looped(model: Model) -> bool:
    """Whether code for a mechanism has loops over its bodies: because they are many, or on request (``lw.form``)."""
    form = requested.get()
    return form == "rolled" if form else not within("straight", model)
