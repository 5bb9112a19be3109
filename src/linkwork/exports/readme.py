"""The README of an export: how to build and call it, and in which frames, order and units its numbers are."""

from __future__ import annotations

from collections.abc import Iterator

from linkwork.exports.c_source import CText
from linkwork.exports.unit import Part, Unit
from linkwork.model.model import Model
from linkwork.plain import one_line

_CONVENTIONS = """\
- Units are SI: m, rad, s, kg, N, N m. Numbers are IEEE double, matrices are stored row by row.
- Spatial vectors are linear, then angular. A wrench on a body is in that body's frame.
- A free joint has a position and a quaternion (x, y, z, w) in q, and linear and angular velocity in its own frame in v.
"""


def readme(unit: Unit, text: CText, provenance: str, build: str = "", call: str = "") -> str:
    """The text; ``build`` and ``call`` say how, if not in C from source."""
    name = unit.name
    lines = [f"# {name}", "", f"{one_line(unit.about)}", "", provenance, "", *unit.notes, ""]
    lines += ["## Build", "", build or _build(name), "", "## Call", "", call or _call(unit)]
    lines += ["", "## Numbers", "", *_table(text), "", _CONVENTIONS]
    if unit.model is not None:
        lines += [f"### Order of the joints of {one_line(unit.model.name)}", "", *_joints(unit.model), ""]
    lines += ["## Status", "", *_statuses(text), "", "## Bits", "", _BITS.format(name=name)]
    return "\n".join(lines)


_BITS = """\
Results have the same bits as in Python and on any CPU if no product is fused with a sum (`-ffp-contract=off`, which
`-std=c99` of GCC implies) and floating-point numbers are not reordered (no `-ffast-math`). The self-test has states
with the expected bits, `{name}_test.c`; where products are fused it compares within a tolerance that it states.
"""


def _build(name: str) -> str:
    return (
        f"```sh\ncmake -S . -B build && cmake --build build && ctest --test-dir build\n```\n\n"
        f"or add `{name}.c` and `{name}.h` to a program: C99, `sqrt` of the C library, nothing else. The header serves "
        f"C++ as well, from C++20 on with `std::span`."
    )


def _call(unit: Unit) -> str:
    name, parts = unit.name, [*unit.arguments, *unit.results]
    arrays = "\n".join(f"static double {part.name}[{name}_size_{part.name} + 1];" for part in parts if not part.size)
    declared = "\n".join(f"static double {part.name}[{name}_size_{part.name}];" for part in parts if part.size)
    arguments = ", ".join(part.name for part in parts)
    also = f"\n`{name}_batch` computes many states in one call." + (
        f" `{name}_run` repeats the step." if unit.over_time else ""
    )
    return f"""\
```c
#include "{name}.h"

{declared}{arrays}
static double workspace[{name}_size_workspace + 1];

int status = {name}({arguments}, workspace);
if (status != 0) {{
    puts({name}_status(status));
}}
```
{also} Functions are re-entrant: threads need a workspace each."""


def _table(text: CText) -> Iterator[str]:
    yield "| array | numbers | what |"
    yield "|---|---|---|"
    for part in text.parts:
        yield f"| {part.name} | {_shape(part)} | {one_line(part.about or part.called)} |"
    yield f"| workspace | {text.workspace} | of the call alone |"


def _shape(part: Part) -> str:
    return " x ".join(map(str, part.shape)) or "1"


def _joints(model: Model) -> Iterator[str]:
    yield "| joint | kind | in q | in v |"
    yield "|---|---|---|---|"
    for body, q, v in zip(model.bodies, model.q_start, model.v_start, strict=True):
        kind = type(body.joint).__name__
        yield f"| {one_line(body.joint_name)} | {kind} | {_span(q, body.joint.nq)} | {_span(v, body.joint.nv)} |"


def _span(first: int, count: int) -> str:
    return "-" if not count else str(first) if count == 1 else f"{first} to {first + count - 1}"


def _statuses(text: CText) -> Iterator[str]:
    status, name = text.status, text.unit.name
    kinds = [
        (1, status.results, "an argument is not finite; nothing was computed"),
        (status.results, status.joints, "a result is not finite: the state is singular, or a number is too large"),
        (status.joints, status.problems, "a joint can move without moving any inertia"),
        (status.problems, status.end, "a problem was not solved in the iterations that it has"),
    ]
    yield "| status | meaning |"
    yield "|---|---|"
    yield "| 0 | fine |"
    for first, last, what in kinds:
        if last > first:
            yield f"| {first} to {last - 1} | {what} |" if last > first + 1 else f"| {first} | {what} |"
    yield ""
    yield f"`{name}_status(status)` names the number, the joint or the problem."
