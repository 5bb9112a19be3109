"""What is imported when it is first used: most scripts use little of a library, and each module that is not imported
makes a script start sooner.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def late(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """The functions ``__getattr__`` and ``__dir__`` of a package, and its ``__all__``: the names that the stub beside
    its file imports, which is where type checkers and editors find them, too.
    """
    with open(f"{file.rpartition('.')[0]}.pyi", encoding="utf-8") as stub:
        lines = re.findall(r"^from (\S+) import (\([^)]*\)|.*)$", stub.read(), re.MULTILINE)
    modules = {name: module for module, names in lines for name in re.findall(r"(\w+) as ", names)}
    everything = sorted(modules)

    def found(name: str) -> Any:
        if name not in modules:
            from importlib.util import find_spec

            if name.startswith("_") or find_spec(f"{package}.{name}") is None:
                raise AttributeError(f"module {package!r} has no attribute {name!r}")
            return import_module(f"{package}.{name}")  # a module of the package, such as linkwork.errors
        module = import_module(modules[name])
        value = vars(module).get(name) or import_module(f"{module.__name__}.{name}")
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return [*everything, *(name for name in vars(sys.modules[package]) if name.startswith("__"))]

    return found, names, everything


class LateFunction:
    """A function whose module is imported when it is first called.

    Args:
        where: the module's name, and the function's after a colon unless it is the same.
    """

    __slots__ = ("__name__", "module")

    def __init__(self, where: str) -> None:
        self.module, _, name = where.partition(":")
        self.__name__ = name or self.module.rpartition(".")[2]

    def __call__(self, *given: Any, **named: Any) -> Any:
        return getattr(import_module(self.module), self.__name__)(*given, **named)
