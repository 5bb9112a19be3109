"""The header and the source of an export in C99; the header serves C++ too, and all targets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from linkwork.engine.targets.language import C99
from linkwork.engine.targets.source import Source
from linkwork.exports.status import Status, status_of
from linkwork.exports.unit import Part, Unit

_WIDE = 110


def comment(lines: Iterable[str]) -> str:
    """Lines as a comment of C, which nothing in them ends."""
    safe = [re.sub(r"[^\x20-\x7e]", "?", line).replace("*/", "* /").replace("/*", "/ *") for line in lines]
    first, *others = [line.rstrip().rstrip("\\") for line in safe]
    return "\n".join([f"/* {first}", *(f" * {line}".rstrip() for line in others)]) + " */"


def quoted(text: str) -> str:
    """A literal of C."""
    plain = text.encode("ascii", "backslashreplace").decode().replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", "?", plain).replace("??", "?\\?") + '"'


class CText:
    """The texts of a unit in C; ``other_workspace`` is how many numbers code needs that is made in another way."""

    def __init__(self, unit: Unit, provenance: str) -> None:
        self.unit, self.provenance = unit, provenance
        self.other_workspace: int | None = None
        self.source = Source(unit.routine, C99, unit.name)
        self.pivots = None
        if unit.pivots_routine is not None:
            self.pivots = Source(unit.pivots_routine, C99, f"{unit.name}_pivots")
        self.status: Status = status_of(unit, self.source.problems)

    @property
    def parts(self) -> list[Part]:
        return [*self.unit.arguments, *self.unit.results]

    @property
    def call_workspace(self) -> int:
        """How many numbers one call needs."""
        pivots = 0 if self.pivots is None else self.pivots.workspace + 2 * self._joints
        return max(self.source.workspace, pivots)

    @property
    def workspace(self) -> int:
        """How many numbers any of the functions needs."""
        if self.other_workspace is not None:
            return self.other_workspace
        following = sum(part.size for part in self.unit.results) if self.unit.over_time else 0
        return self.call_workspace + following

    @property
    def _joints(self) -> int:
        return self.status.problems - self.status.joints

    # The header

    def header(self) -> str:
        unit, name = self.unit, self.unit.name
        guard = f"{name.upper()}_H"
        sizes = [f"    {name}_size_{part.name} = {part.size}," for part in self.parts]
        sizes.append(f"    {name}_size_workspace = {self.workspace}")
        lines = [
            comment([f"{name}: {unit.about}", "", self.provenance, *unit.notes]),
            f"#ifndef {guard}\n#define {guard}\n",
            "#include <stddef.h>\n",
            f"#ifdef __cplusplus\n#define {guard}_RESTRICT\nextern \"C\" {{\n#else\n"
            f"#define {guard}_RESTRICT restrict\n#endif\n",
            comment(["How many numbers (double) each array has for one state, and the workspace."]),
            "enum {\n" + "\n".join(sizes) + "\n};\n",
            comment(["Statuses: the first number of each kind."]),
            self._statuses(),
            comment([
                f"{unit.about} Matrices are stored row by row. Returns 0, or a status that {name}_status explains; the",
                "results are then of no use. No two arrays may overlap. The workspace may have any contents; threads",
                "need one each. Nothing is allocated.",
                "",
                *self._described(),
            ]),
            f"int {name}({self._parameters(guard)});\n",
            comment([
                "The same for many states, whose numbers follow one another in each array. All states are computed;",
                "returns 0, or the status of the first state that has one, whose number is stored at where (unless",
                "that is NULL).",
            ]),
            f"int {name}_batch(size_t states, {self._parameters(guard)},\n    size_t *where);\n",
            *self._run_prototype(guard),
            comment(["What a status says."]),
            f"const char *{name}_status(int status);\n",
            "#ifdef __cplusplus\n}\n#endif\n",
            *self._spans(),
            f"#endif /* {guard} */\n",
        ]  # fmt: skip
        return "\n".join(lines)

    def _statuses(self) -> str:
        name, status = self.unit.name, self.status
        first = status.results, status.joints, status.problems, status.end
        words = "result_not_finite", "singular_joint", "not_converged", "status_end"
        kinds = {"fine": 0, "argument_not_finite": 1, **dict(zip(words, first, strict=True))}
        return "enum {\n" + ",\n".join(f"    {name}_{kind} = {first}" for kind, first in kinds.items()) + "\n};\n"

    def _described(self) -> list[str]:
        lines = []
        for part in self.parts:
            shape = " x ".join(map(str, part.shape)) or "1"
            lines.append(f"{part.name} ({shape}): {part.about or part.called}")
        return [piece for line in lines for piece in _wrapped(line)]

    def _parameters(self, guard: str) -> str:
        arguments = [f"const double *{guard}_RESTRICT {part.name}" for part in self.unit.arguments]
        results = [f"double *{guard}_RESTRICT {part.name}" for part in self.unit.results]
        return _listed([*arguments, *results, f"double *{guard}_RESTRICT workspace"])

    def _run_parameters(self, restrict: str) -> str:
        state = self.unit.arguments[: self.unit.over_time]
        others = self.unit.arguments[self.unit.over_time :]
        listed = [*(f"double *{restrict} {part.name}" for part in state)]
        listed += [f"const double *{restrict} {part.name}" for part in others]
        return _listed(["size_t steps", *listed, f"double *{restrict} workspace", "size_t *where"])

    def _run_prototype(self, guard: str) -> list[str]:
        if not self.unit.over_time:
            return []
        return [
            comment([
                "So many steps, each from the state that the last one left; the arrays of the state are overwritten,",
                "the others are the same in every step. Returns the status of the first step that has one, and stops",
                "there, with its number at where (unless that is NULL).",
            ]),
            f"int {self.unit.name}_run({self._run_parameters(f'{guard}_RESTRICT')});\n",
        ]  # fmt: skip

    def _spans(self) -> list[str]:
        """The same for C++ with std::span."""
        name = self.unit.name
        takes = [f"std::span<const double, {part.size}> {part.name}" for part in self.unit.arguments]
        takes += [f"std::span<double, {part.size}> {part.name}" for part in self.unit.results]
        takes.append(f"std::span<double, {self.workspace}> workspace")
        arguments = ", ".join(f"{part.name}.data()" for part in self.parts)
        return [
            "#if defined(__cplusplus) && (__cplusplus >= 202002L)",
            "#include <span>\n",
            f"inline int {name}({_listed(takes)})\n{{\n    return {name}({arguments}, workspace.data());\n}}",
            "#endif\n",
        ]

    # The source

    def body(self) -> str:
        """The source."""
        for source in filter(None, (self.source, self.pivots)):
            source.need("lw_finite")
        needed = dict.fromkeys([*self.source.helpers, *(self.pivots.helpers if self.pivots else [])])
        helpers = [text for text in C99.helper_texts if text in needed]
        sources = [each for each in (self.source, self.pivots) if each is not None]
        lines = [
            comment([f"{self.unit.name}: {self.unit.about}", "", self.provenance]),
            f'#include "{self.unit.name}.h"\n',
            "#include <math.h>\n#include <stdint.h>\n#include <string.h>\n",
            "#if defined(__clang__)\n#pragma STDC FP_CONTRACT OFF\n#endif",
            "#if defined(__GNUC__)\n#define LW_APART __attribute__((noinline))\n#else\n#define LW_APART\n#endif\n",
            *helpers,
            *(text for source in sources for text in (*source.tables, *source.functions)),
            *self._singular(),
            self._entry(),
            self._batch(),
            *self._run(),
            self._explained(),
        ]
        return "\n".join(lines)

    def _arrays(self, source: Source, names: Sequence[str]) -> str:
        """The arguments of a call of the function that computes everything."""
        arguments = len(self.unit.arguments)
        arrays = {f"argument{k}": name for k, name in enumerate(names[:arguments])}
        arrays |= {f"result{k}": name for k, name in enumerate(names[arguments:])}
        arrays |= {"shared": "workspace", "memory": f"workspace + {source.shared}" if source.shared else "workspace"}
        return ", ".join(arrays[array] for array in source.entry.parameters)

    def _entry(self) -> str:
        unit, status, lines = self.unit, self.status, ["    int status = 0;"]
        number = 1
        for part in unit.arguments:
            lines += _over(part.size, f"status = ((status == 0) && !lw_finite({part.name}[k])) ? (int)({number} + k) "
                           f": status;")  # fmt: skip
            number += part.size
            lines += [] if part.size else [f"    (void){part.name};"]
        lines += ["    if (status != 0) {", "        return status;", "    }"]
        lines += ["    workspace[0] = 0.0;"] if self.source.problems else []
        arrays = self._arrays(self.source, [part.name for part in self.parts])
        lines.append(f"    {self.source.entry.name}({arrays});")
        if self.source.problems:
            lines += ["    if (workspace[0] > 0.0) {"]
            lines += [f"        return {status.problems - 1} + (int)workspace[0];", "    }"]
        for part in unit.results:
            cleared = f"{part.name}[k] = {part.name}[k] + 0.0;"
            look = f"status = ((status == 0) && !lw_finite({part.name}[k])) ? (int)({number} + k) : status;"
            lines += _over(part.size, cleared, look)
            number += part.size
            lines += [] if part.size else [f"    (void){part.name};"]
        if self.pivots is not None:
            lines += ["    if (status != 0) {"]
            lines += [f"        status = {unit.name}_singular({unit.arguments[0].name}, workspace, status);", "    }"]
        if "workspace" not in arrays and not self.source.problems and self.pivots is None:
            lines.append("    (void)workspace;")
        return f"int {unit.name}({self._plain_parameters()})\n{{\n" + "\n".join([*lines, "    return status;", "}", ""])

    def _plain_parameters(self) -> str:
        arguments = [f"const double *restrict {part.name}" for part in self.unit.arguments]
        results = [f"double *restrict {part.name}" for part in self.unit.results]
        return _listed([*arguments, *results, "double *restrict workspace"])

    def _singular(self) -> list[str]:
        """A function that looks for the joint that moves no inertia."""
        if self.pivots is None:
            return []
        n, name, source = self._joints, self.unit.name, self.pivots
        arrays = {"argument0": "q", "result0": "workspace", "result1": f"workspace + {n}"}
        arrays |= {"shared": f"workspace + {2 * n}", "memory": f"workspace + {2 * n + source.shared}"}
        arguments = ", ".join(arrays[array] for array in source.entry.parameters)
        unused = "" if "argument0" in source.entry.parameters else "\n    (void)q;"
        return [f"""\
/* The status of the first joint from the tips that moves no inertia, or ``status`` if each moves some. */
static int {name}_singular(const double *restrict q, double *restrict workspace, int status)
{{
    int joint = status;{unused}
    {source.entry.name}({arguments});
    for (ptrdiff_t k = 0; k < {n}; ++k) {{
        if (!(workspace[k] > 1e-14 * workspace[{n} + k]) && lw_finite(workspace[{n} + k])) {{
            joint = (int)({self.status.joints} + k);
        }}
    }}
    return joint;
}}
"""]  # fmt: skip

    def _batch(self) -> str:
        name = self.unit.name
        shifted = [f"{part.name} + (i * {part.size})" if part.size else part.name for part in self.parts]
        return f"""\
int {name}_batch(size_t states, {self._plain_parameters()},
    size_t *where)
{{
    int status = 0;
    for (size_t i = 0; i < states; ++i) {{
        const int own = {name}({", ".join(shifted)}, workspace);
        if ((status == 0) && (own != 0)) {{
            status = own;
            if (where != NULL) {{
                *where = i;
            }}
        }}
    }}
    return status;
}}
"""

    def _run(self) -> list[str]:
        unit, count = self.unit, self.unit.over_time
        if not count:
            return []
        places, start = [], 0
        for part in unit.results:
            places.append(start)
            start += part.size
        following = [f"workspace + {place}" for place in places]
        arguments = ", ".join([*(part.name for part in unit.arguments), *following, f"workspace + {start}"])
        lines = [
            f"int {unit.name}_run({self._run_parameters('restrict')})",
            "{",
            "    for (size_t i = 0; i < steps; ++i) {",
            f"        const int status = {unit.name}({arguments});",
            "        if (status != 0) {",
            "            if (where != NULL) {",
            "                *where = i;",
            "            }",
            "            return status;",
            "        }",
        ]
        for part, place in zip(unit.arguments[:count], places, strict=True):
            lines += ["    " + line for line in _over(part.size, f"{part.name}[k] = workspace[{place} + k];")]
        return ["\n".join([*lines, "    }", "    return 0;", "}", ""])]

    def _explained(self) -> str:
        name, status = self.unit.name, self.status
        texts = ",\n".join(f"        {quoted(text)}" for _, text in status.texts)
        starts = [str(first) for first, _ in status.texts]
        rows = ",\n".join("        " + ", ".join(starts[k : k + 12]) for k in range(0, len(starts), 12))
        return f"""\
const char *{name}_status(int status)
{{
    static const char *const texts[] = {{
{texts}
    }};
    static const int starts[] = {{
{rows}
    }};
    const char *text = (status == 0) ? "fine" : "no status of this function";
    if ((status > 0) && (status < {status.end})) {{
        for (size_t k = 0; k < (sizeof starts / sizeof starts[0]); ++k) {{
            text = (starts[k] <= status) ? texts[k] : text;
        }}
    }}
    return text;
}}
"""


def _over(size: int, *lines: str) -> list[str]:
    """Lines over all numbers of an array."""
    if not size:
        return []
    return [f"    for (ptrdiff_t k = 0; k < {size}; ++k) {{", *(f"        {line}" for line in lines), "    }"]


def _listed(parameters: Sequence[str]) -> str:
    """Parameters of a function, on lines of their own if they are long."""
    line = ", ".join(parameters)
    return line if len(line) < _WIDE - 30 else "\n    " + ",\n    ".join(parameters)


def _wrapped(line: str) -> list[str]:
    from textwrap import wrap

    return wrap(line, _WIDE, subsequent_indent="    ")
