"""Names of a package whose modules are imported when they are first used: most scripts use few of them, and each module
that is not imported makes a script start sooner.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def late(package: str, modules: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """The function ``__getattr__`` of a package: imports the module that a name comes from.

    Args:
        package: the package's name.
        modules: what is taken of modules, by their names; nothing means the module itself.
    """

    def found(name: str) -> Any:
        for module, things in modules.items():
            if name in things or (not things and name == module.rpartition(".")[2]):
                loaded = import_module(module)
                value = getattr(loaded, name) if things else loaded
                setattr(sys.modules[package], name, value)
                return value
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return found
