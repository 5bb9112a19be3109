"""``benchmarks/size.py`` counts what it says."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).resolve().parent.parent / "benchmarks" / "size.py"


@pytest.fixture(scope="module")
def size() -> Any:
    spec = importlib.util.spec_from_file_location("size", FILE)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SNIPPET = '''"""A module.

Its second paragraph.
"""

import os  # code, with a comment

LIMIT = 3
# a comment


class Thing(Base[int]):
    """A class."""

    def all_kinds(self, items):
        """A function: 1."""
        text = """not a docstring,

        of two lines"""
        for item in items:  # 2
            if item and self and text:  # 3, and two operands: 5
                yield [x for x in item if x]  # a for and an if: 7
            elif item:  # 8
                yield 1 if text else 2  # 9
        try:
            while items:  # 10
                items.pop()
        except OSError:  # 11
            assert items

        def within():
            return items or text  # 2 of its own

        match text:
            case "a":  # 12
                return within
'''


def test_lines_of_code_are_neither_blank_nor_comments_nor_docstrings(size: Any) -> None:
    assert size.code_lines("") == 0
    assert size.code_lines(SNIPPET) == 21
    assert size.code_lines("x = (  # a\n    # b\n\n    1\n)\n") == 3


def test_complexity_counts_every_branch_once_and_functions_by_themselves(size: Any) -> None:
    found = dict(size.functions(ast.parse(SNIPPET)))
    assert found == {"Thing.all_kinds": 12, "Thing.all_kinds.within": 2}


@pytest.mark.parametrize(
    ("line", "asks"),
    [
        ("if len(model.bodies) > 50: pass", True),
        ("if 3 <= len(self.model.bodies) < n: pass", True),
        ("many = len(bodies) >= plans.LONGEST", True),
        ("f(plans.MOST_BODIES)", True),
        ("from plans import MOST_BODIES", False),
        ("MOST_BODIES = 50", False),
        ("within('straight', len(model.bodies))", True),
        ("within('straight', len(self.model.bodies)) or x", True),
        ("within('straight', model)", False),
        ("if len(model.bodies) > 0: pass", False),
        ("if len(model.bodies) != len(other.bodies): pass", False),
        ("for k in range(len(model.bodies)): pass", False),
    ],
)
def test_questions_about_the_number_of_bodies(size: Any, line: str, asks: bool) -> None:
    assert bool(list(size.questions(ast.parse(line)))) == asks


def test_classes_and_imports_are_followed(size: Any) -> None:
    trees = {
        "a": ast.parse("import b\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import d\nclass B(A): pass"),
        "b": ast.parse("def f():\n    from c import name\nclass C(a.B[int]): pass\nclass D: pass"),
        "c": ast.parse(""),
        "d": ast.parse(""),
    }
    assert size.derived(trees, "A") == ["B", "C"]
    assert size.closure(trees, "a", within=False) == {"a", "b"}
    assert size.closure(trees, "a", within=True) == {"a", "b", "c"}
