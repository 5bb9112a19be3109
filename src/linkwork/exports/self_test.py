"""The self-test of an export in C: states with the expected bits, and a program that compares."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from linkwork.arguments import Array
from linkwork.engine.targets.source import rows_of_numbers
from linkwork.exports.c_source import comment
from linkwork.exports.samples import Samples
from linkwork.exports.unit import Unit

TOLERANCE, SOLVER_TOLERANCE = 1e-9, 1e-6
"""Of a result, relative to the largest number of its array, where multiplications and additions are fused: of formulas,
and of functions that iterate.
"""


def self_test(unit: Unit, samples: Samples, workspace: int, iterates: bool, provenance: str) -> str:
    """The text of the program."""
    name, parts = unit.name, [*unit.arguments, *unit.results]
    rows = [*samples.arguments, *samples.results]
    tables = [
        f"static const uint64_t {part.name}_bits[] = {{\n{_bits(each)}\n}};\n"
        for part, each in zip(parts, rows, strict=True)
        if each.size
    ]
    size = {part.name: max(1, part.size) for part in parts}
    arrays = "\n".join(f"static double {part.name}[{size[part.name]}];" for part in parts)
    loads = "\n".join(
        f"        load({part.name}, {part.name}_bits, i, {part.size});" for part in unit.arguments if part.size
    )
    compares = "\n".join(
        f'        wrong += compare("{part.name}", {part.name}, {part.name}_bits, i, {part.size}, exact);'
        for part in unit.results
        if part.size
    )
    first = next((part.name for part in unit.arguments if part.size), "")
    refused = (
        f"""\
    {first}[0] = number(UINT64_C(0x7FF8000000000000));
    status = {name}({", ".join([*(part.name for part in parts), "workspace"])});
    if (status != {name}_argument_not_finite) {{
        (void)printf("a number that is not finite gives the status %d\\n", status);
        ++wrong;
    }}
"""
        if first
        else ""
    )
    return f"""\
{
        comment(
            [
                f"The self-test of {name}: states with the results that are expected, and a comparison with them.",
                "",
                "Where no product and sum are fused, results must have the same bits; otherwise they may differ",
                f"by {SOLVER_TOLERANCE if iterates else TOLERANCE:g} of the largest number of their array.",
                "",
                provenance,
            ]
        )
    }
#include "{name}.h"

#include <float.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#define STATES {len(samples)}
#define TOLERANCE {SOLVER_TOLERANCE if iterates else TOLERANCE!r}

{"".join(tables)}
{arrays}
static double workspace[{max(1, workspace)}];
static volatile double third = 1.0 / 3.0;

static double number(uint64_t bits)
{{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}}

{comment(["Whether the compiler keeps every product apart from the sum that it goes into, and rounds to double."])}
static int is_exact(void)
{{
    const double x = third;
    const double y = third;
    volatile double product;
    double sum;
    product = x * x;
    sum = (y * y) - product;
    return (sum == 0.0) && (FLT_EVAL_METHOD == 0);
}}

static void load(double *array, const uint64_t *bits, size_t state, size_t size)
{{
    for (size_t k = 0; k < size; ++k) {{
        array[k] = number(bits[(state * size) + k]);
    }}
}}

static int compare(const char *name, const double *array, const uint64_t *bits, size_t state, size_t size, int exact)
{{
    double largest = 1.0;
    int wrong = 0;
    for (size_t k = 0; k < size; ++k) {{
        const double x = number(bits[(state * size) + k]);
        largest = (x > largest) ? x : ((-x > largest) ? -x : largest);
    }}
    for (size_t k = 0; k < size; ++k) {{
        const double x = number(bits[(state * size) + k]);
        const double error = (array[k] > x) ? (array[k] - x) : (x - array[k]);
        const int same = memcmp(&array[k], &x, sizeof x) == 0;
        if (!same && (exact || !(error <= TOLERANCE * largest))) {{
            (void)printf("state %u: %s[%u] is %.17g, not %.17g\\n", (unsigned)state, name, (unsigned)k, array[k], x);
            wrong = 1;
        }}
    }}
    return wrong;
}}

int main(void)
{{
    const int exact = is_exact();
    int wrong = 0;
    int status;
    for (size_t i = 0; i < STATES; ++i) {{
{loads}
        status = {name}({", ".join([*(part.name for part in parts), "workspace"])});
        if (status != 0) {{
            (void)printf("state %u: %s\\n", (unsigned)i, {name}_status(status));
            ++wrong;
        }}
{compares}
    }}
{refused}    (void)printf("{name}: %d states, %s: %s\\n", STATES, exact ? "bit by bit" : "within a tolerance",
                 (wrong == 0) ? "passed" : "FAILED");
    return (wrong == 0) ? 0 : 1;
}}
"""


def _bits(rows: Array) -> str:
    return rows_of_numbers(map(_word, rows.ravel().tolist()))


def _word(x: float) -> str:
    return f"UINT64_C(0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X})"


def words(numbers: Iterable[float]) -> list[str]:
    """Numbers as their bits."""
    return [_word(x) for x in numbers]
