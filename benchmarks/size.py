"""How large and how intricate the sources are: lines of code, complex functions, plans and kernels, imported modules.

    python benchmarks/size.py [CHECKOUT ...] [--json]

One column for each checkout, this one by default; below the table, the places that the numbers count. Code is lines
without blanks, comments and docstrings. A function's cyclomatic complexity is 1, and 1 more for each if, loop, case,
conditional expression, except, further operand of ``and`` and ``or``, and ``for`` and ``if`` of a comprehension;
functions in it count by themselves. Modules are counted in fresh processes whose first call finds its code in the
cache, and in the sources: what is imported at the top of modules, and also within functions.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
PACKAGES = ("linkwork", "linkwork_lab")
ROOMS = ("engine", "dynamics", "simulation", "compiled")
PLANNER = ("engine/plans/planner.py", "engine/plans/costs.py")
"""Where the number of bodies may be asked."""
CALLS = {
    "forward_dynamics": ("linkwork.dynamics.dynamics", "lw.forward_dynamics(model, q, v, v)"),
    "rollout": ("linkwork.simulation.rollouts.rollout", "lw.rollout(model, q, v, dt=0.001, steps=10)"),
}
"""Public functions: the module that defines each, and a call."""
_CALL = """
import sys
import linkwork as lw
model = lw.mechanisms.serial_chain(7)
q, v = lw.random_state(model, 0)
{}
print(sum(name.split(".")[0] in ("linkwork", "linkwork_lab") for name in sys.modules))
"""
_PRIVATE = re.compile(r"^\s*(?:from|import) linkwork\.engine\b", re.MULTILINE)
"""Lines of tests that import what is inside the engine."""
_BODIES = re.compile(r"len\((\w+\.)*bodies\)")
_BLANK = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
_BRANCHES = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.match_case)
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def code_lines(text: str) -> int:
    """Lines of code in a source: without blanks, comments, and docstrings of modules, classes and functions."""
    documented: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node) is not None:
            documented.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines, every = set(), text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _BLANK:
            lines.update(range(token.start[0], token.end[0] + 1))
    return sum(bool(every[line - 1].strip()) for line in lines - documented)


def complexity(function: ast.AST) -> int:
    """The cyclomatic complexity of a function, without functions in it."""
    total, left = 1, list(ast.iter_child_nodes(function))
    while left:
        node = left.pop()
        if isinstance(node, _FUNCTIONS):
            continue
        total += isinstance(node, _BRANCHES)
        if isinstance(node, ast.BoolOp):
            total += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            total += 1 + len(node.ifs)
        left += ast.iter_child_nodes(node)
    return total


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, int]]:
    """Functions and methods of a source by their qualified names, with their complexity."""
    for node in ast.iter_child_nodes(tree):
        named = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        name = f"{prefix}{node.name}" if named else ""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield name, complexity(node)
        yield from functions(node, f"{name}." if named else prefix)


def questions(tree: ast.AST) -> Iterator[int]:
    """The lines of a source that ask how many bodies there are: uses of MOST_BODIES, and comparisons of the length of
    something's bodies with a number above 1, a constant, or one of the planner's table of costs.
    """
    for node in ast.walk(tree):
        name = getattr(node, "id", None) or getattr(node, "attr", None)
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load) and "MOST_BODIES" in str(name):
            yield node.lineno
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("within"):
            yield from (node.lineno for given in node.args if _BODIES.fullmatch(ast.unparse(given)))
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            bodies = any(_BODIES.fullmatch(ast.unparse(side)) for side in sides)
            if bodies and any(_is_constant(side) for side in sides):
                yield node.lineno


def _is_constant(side: ast.expr) -> bool:
    if isinstance(side, ast.Constant):
        return isinstance(side.value, int | float) and side.value > 1
    return re.fullmatch(r"(\w+\.)*_?[A-Z][A-Z_]+", ast.unparse(side)) is not None


def derived(trees: dict[str, ast.Module], base: str) -> list[str]:
    """The names of all classes of these sources that derive from a class of that name, at any distance."""
    bases: dict[str, set[str]] = {}
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                names = {re.split(r"[\[(]", ast.unparse(one))[0].rpartition(".")[2] for one in node.bases}
                bases.setdefault(node.name, set()).update(names)
    found, size = {base}, 0
    while len(found) > size:
        size = len(found)
        found |= {name for name, above in bases.items() if above & found}
    return sorted(found - {base})


def closure(trees: dict[str, ast.Module], start: str, within: bool) -> set[str]:
    """Modules that importing a module imports, packages included; ``within``: also those imported in functions."""
    found: set[str] = set()
    left = [start]
    while left:
        name = left.pop()
        if name in found or name not in trees:
            continue
        found.add(name)
        left += [name.rpartition(".")[0], *_imported(trees[name], within)]
    return found


def _imported(node: ast.AST, within: bool) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ImportFrom) and child.module:
            yield child.module
            yield from (f"{child.module}.{alias.name}" for alias in child.names)
        elif isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        elif within or not isinstance(child, _FUNCTIONS):
            yield from _imported(child, within)


def loaded(checkout: Path, call: str) -> int:
    """Modules of ours in a fresh process after a call, whose code is in the cache."""
    with tempfile.TemporaryDirectory(prefix="linkwork-size-") as folder:
        environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "LINKWORK_CACHE_DIR": folder}
        command = [sys.executable, "-c", _CALL.format(call)]
        for _ in range(2):
            done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return int(done.stdout)


def measured(checkout: Path) -> dict[str, Any]:
    """All numbers of a checkout, and the places that they count."""
    source = checkout / "src"
    files = sorted(path for package in PACKAGES for path in (source / package).rglob("*.py"))
    texts = {path.relative_to(source).as_posix(): path.read_text(encoding="utf-8") for path in files}
    sources = {name: ast.parse(text) for name, text in texts.items()}
    lines = {name: code_lines(text) for name, text in texts.items()}
    modules = {re.sub(r"(/__init__)?\.py$", "", name).replace("/", "."): tree for name, tree in sources.items()}
    hard = sorted(
        ((number, f"{name}: {function}") for name, tree in sources.items() for function, number in functions(tree)),
        reverse=True,
    )
    asking = {
        name: sorted(set(questions(tree))) for name, tree in sources.items() if name.partition("/")[2] not in PLANNER
    }
    tests = sorted((checkout / "tests").glob("*.py"))
    inside = {path.name: len(_PRIVATE.findall(path.read_text(encoding="utf-8"))) for path in tests}
    inside = {name: count for name, count in inside.items() if count}
    engine = {name: tree for name, tree in sources.items() if name.startswith("linkwork/engine/")}

    def under(*folders: str) -> int:
        return sum(count for name, count in lines.items() if name.startswith(tuple(f"{folder}/" for folder in folders)))

    places = {
        "complexity over 15": [f"{number} {where}" for number, where in hard if number > 15],
        "asking for the number of bodies": [f"{name}: {', '.join(map(str, at))}" for name, at in asking.items() if at],
        "plan classes": derived(engine, "Plan"),
        "kernel classes": derived(engine, "Kernel"),
        "imports of tests from the engine": [f"{name}: {count}" for name, count in inside.items()],
    }
    numbers: dict[str, int] = {
        "code of engine, dynamics, simulation, compiled": under(*(f"linkwork/{room}" for room in ROOMS)),
        "code of all of src": under(*PACKAGES),
        **{f"  of {package}": under(package) for package in PACKAGES},
        "functions of complexity over 20": sum(number > 20 for number, _ in hard),
        "functions of complexity over 15": len(places["complexity over 15"]),
        "modules outside the planner that ask how many bodies": len(places["asking for the number of bodies"]),
        "plan classes": len(places["plan classes"]),
        "kernel classes": len(places["kernel classes"]),
        "imports of tests from the engine": sum(inside.values()),
    }
    for name, (module, call) in CALLS.items():
        numbers[f"modules of {name}, loaded by a call"] = loaded(checkout, call)
        numbers[f"modules of {name}, imported at the top"] = len(closure(modules, module, within=False))
        numbers[f"modules of {name}, imported anywhere"] = len(closure(modules, module, within=True))
    return {"numbers": numbers, "places": places}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", nargs="*", type=Path, default=[HERE], metavar="CHECKOUT")
    parser.add_argument("--json", action="store_true", help="print numbers and places as JSON")
    options = parser.parse_args()
    found = {checkout.resolve().name: measured(checkout.resolve()) for checkout in options.checkouts}
    if options.json:
        print(json.dumps(found, indent=1))
        return
    print("| | " + " | ".join(found) + " |\n" + "|---" * (len(found) + 1) + "|")
    for name in next(iter(found.values()))["numbers"]:
        print(f"| {name} | " + " | ".join(f"{one['numbers'][name]:,}" for one in found.values()) + " |")
    for name, one in found.items():
        for what, where in one["places"].items():
            print(f"\n{name}, {what}:\n" + "\n".join(f"    {place}" for place in where))


if __name__ == "__main__":
    main()
