"""The self-test of an export in C: states with the expected bits, and a program that compares."""

from __future__ import annotations

import struct

from linkwork.arguments import Array
from linkwork.engine.targets.source import rows_of_numbers
from linkwork.exports.c_source import comment
from linkwork.exports.samples import Samples
from linkwork.exports.unit import Part, Unit

TOLERANCE, SOLVER_TOLERANCE = 1e-9, 1e-6
"""Of a result, relative to the largest number of its array, where products and sums are fused: of formulas, and of
functions that iterate.
"""

_HEAD = """\
#include <float.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif
"""
_NUMBER = """\
static double number(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
"""
_COMPARING = """\
static volatile double third = 1.0 / 3.0;

/* Whether the compiler keeps every product apart from the sum that it goes into, and rounds to double. */
static int is_exact(void)
{
    const double x = third;
    const double y = third;
    volatile double product;
    double sum;
    product = x * x;
    sum = (y * y) - product;
    return (sum == 0.0) && (FLT_EVAL_METHOD == 0);
}

static int compare(const char *name, const double *array, const uint64_t *bits, size_t state, size_t size, int exact)
{
    double largest = 1.0;
    int wrong = 0;
    for (size_t k = 0; k < size; ++k) {
        const double x = number(bits[(state * size) + k]);
        largest = (x > largest) ? x : ((-x > largest) ? -x : largest);
    }
    for (size_t k = 0; k < size; ++k) {
        const double x = number(bits[(state * size) + k]);
        const double error = (array[k] > x) ? (array[k] - x) : (x - array[k]);
        const int same = memcmp(&array[k], &x, sizeof x) == 0;
        if (!same && (exact || !(error <= TOLERANCE * largest))) {
            (void)printf("state %u: %s[%u] is %.17g, not %.17g\\n", (unsigned)state, name, (unsigned)k, array[k], x);
            wrong = 1;
        }
    }
    return wrong;
}
"""
_LOADING = """\
static void load(double *array, const uint64_t *bits, size_t state, size_t size)
{
    for (size_t k = 0; k < size; ++k) {
        array[k] = number(bits[(state * size) + k]);
    }
}
"""


def self_test(unit: Unit, samples: Samples, workspace: int, iterates: bool, provenance: str) -> str:
    """The text of the program."""
    name, parts = unit.name, [*unit.arguments, *unit.results]
    tolerance = SOLVER_TOLERANCE if iterates else TOLERANCE
    about = [
        f"The self-test of {name}: states with the results that are expected, and a comparison with them.", "",
        "Where no product and sum are fused, results must have the same bits; otherwise they may differ",
        f"by {tolerance:g} of the largest number of their array.", "", provenance,
    ]  # fmt: skip
    tables = _tables(unit, samples, tolerance) if len(samples) else []
    storage = [f"static double {_one(unit, part)}[{max(1, part.size)}];" for part in parts]
    storage.append(f"static double workspace[{max(1, workspace)}];\n")
    lines = [comment(about), f'#include "{name}.h"\n', _HEAD, *tables, *storage, _NUMBER]
    if len(samples):
        lines += [*([_LOADING] if any(part.size for part in unit.arguments) else []), _COMPARING]
    return "\n".join([*lines, *_main(unit, len(samples))])


def _tables(unit: Unit, samples: Samples, tolerance: float) -> list[str]:
    """The numbers of all states, and memory for them."""
    parts, rows = [*unit.arguments, *unit.results], [*samples.arguments, *samples.results]
    lines = [f"#define STATES {len(samples)}\n#define TOLERANCE {tolerance!r}\n"]
    for part, each in zip(parts, rows, strict=True):
        if each.size:
            lines.append(f"static const uint64_t {_bits_of(unit, part)}[] = {{\n{_bits(each)}\n}};\n")
    return [*lines, *(f"static double {_all(unit, part)}[STATES * {max(1, part.size)}];" for part in parts)]


def _main(unit: Unit, states: int) -> list[str]:
    """The function that runs all."""
    arrays = ", ".join(_one(unit, part) for part in (*unit.arguments, *unit.results))
    call = f"status = {unit.name}({arrays}, workspace);"
    exact = ["    const int exact = is_exact();"] if states else []
    lines = ["int main(void)", "{", *exact, "    int wrong = 0;", "    int status;"]
    lines += [*_states(unit, call), *_batch(unit)] if states else []
    said = 'exact ? "bit by bit" : "within a tolerance"' if states else '"none of which is regular"'
    lines += [*_refused(unit, call), f'    (void)printf("{unit.name}: {states} states, %s: %s\\n", {said},']
    return [*lines, '        (wrong == 0) ? "passed" : "FAILED");', "    return (wrong == 0) ? 0 : 1;", "}", ""]


def _states(unit: Unit, call: str) -> list[str]:
    """The states, one after the other."""
    lines = ["    for (size_t i = 0; i < STATES; ++i) {"]
    lines += [
        f"        load({_one(unit, part)}, {_bits_of(unit, part)}, i, {part.size});"
        for part in unit.arguments
        if part.size
    ]
    lines += [f"        {call}", "        if (status != 0) {"]
    lines += [f'            (void)printf("state %u: %s\\n", (unsigned)i, {unit.name}_status(status));']
    lines += ["            ++wrong;", "        }"]
    for part in unit.results:
        if part.size:
            arguments = f'"{part.name}", {_one(unit, part)}, {_bits_of(unit, part)}, i, {part.size}, exact'
            lines.append(f"        wrong += compare({arguments});")
    return [*lines, "    }"]


def _batch(unit: Unit) -> list[str]:
    """The same states in one call."""
    name, parts = unit.name, [*unit.arguments, *unit.results]
    lines = ["    for (size_t i = 0; i < STATES; ++i) {"]
    lines += [f"        load(&{_all(unit, part)}[i * {part.size}], {_bits_of(unit, part)}, i, {part.size});"
              for part in unit.arguments if part.size]  # fmt: skip
    lines += ["    }"] if len(lines) > 1 else []
    lines = lines if lines[-1] == "    }" else []
    arguments = ", ".join(_all(unit, part) for part in parts)
    lines += [
        f"    status = {name}_batch(STATES, {arguments}, workspace, NULL);",
        "    wrong += (status != 0) ? 1 : 0;",
    ]
    lines += ["    for (size_t i = 0; i < STATES; ++i) {"]
    for part in unit.results:
        if part.size:
            rows = f"&{_all(unit, part)}[i * {part.size}], {_bits_of(unit, part)}"
            lines.append(f'        wrong += compare("{part.name} of a batch", {rows}, i, {part.size}, exact);')
    return [*lines, "    }"]


def _refused(unit: Unit, call: str) -> list[str]:
    """A number that is not finite must be refused."""
    first = next((_one(unit, part) for part in unit.arguments if part.size), None)
    if first is None:
        return [f"    {call}", "    wrong += (status != 0) ? 1 : 0;"]
    return [
        f"    {first}[0] = number(UINT64_C(0x7FF8000000000000));",
        f"    {call}",
        f"    if (status != {unit.name}_argument_not_finite) {{",
        '        (void)printf("a number that is not finite gives the status %d\\n", status);',
        "        ++wrong;",
        "    }",
    ]


def _one(unit: Unit, part: Part) -> str:
    """The array of one state; its name is unlike any of the header."""
    return f"{unit.name}_test_{part.name}"


def _all(unit: Unit, part: Part) -> str:
    """That of all states."""
    return f"{unit.name}_tests_{part.name}"


def _bits_of(unit: Unit, part: Part) -> str:
    """The table of their expected bits."""
    return f"{unit.name}_bits_{part.name}"


def _bits(rows: Array) -> str:
    return rows_of_numbers(map(word, rows.ravel().tolist()))


def word(x: float) -> str:
    """A number by its bits."""
    return f"UINT64_C(0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X})"
