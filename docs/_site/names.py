"""The public names of linkwork, and the pages of the reference that they stand on.

Nothing is listed here by hand: a name that is exported stands in the section of the module that defines it, on the page
of that module's package. So a new function is on the site as soon as it is in ``__all__``.
"""

from __future__ import annotations

import inspect
import re
import sys
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import linkwork as lw

TITLES = {
    "model": "Models",
    "formats": "Model files",
    "mechanisms": "Built-in mechanisms",
    "joints": "Joints",
    "dynamics": "Functions of a state",
    "simulation": "Simulation",
    "control": "Control",
    "compiled": "Compiled functions",
    "viewer": "Pictures and motions",
    "engine": "Machine code and threads",
    "bases": "Change of basis",
    "spatial": "Spatial algebra",
    "errors": "Errors and warnings",
}
"""Headings of packages, in the order of the reference. A package that is not here comes last, under its own name."""

ORDER = """
    dynamics.kinematics dynamics.inverse_kinematics dynamics.pose_paths dynamics.dynamics dynamics.reactions
    dynamics.derivatives dynamics.products dynamics.operational dynamics.task_space dynamics.constrained
    dynamics.constrained_inverse
    simulation.simulate simulation.trajectory simulation.torques simulation.rollouts.rollout simulation.rollouts.result
    compiled.compiling compiled.compiled_function compiled.derivatives model.builder model.model
""".split()
"""Modules in the order in which one would read of them; others follow, by the first of their names."""


@dataclass
class Section:
    """Names that one module defines."""

    title: str
    names: list[str] = field(default_factory=list)


@dataclass
class Page:
    """A page of the reference: ``scope`` is what its names are looked up in, "linkwork" or a module that it exports."""

    title: str
    scope: str = "linkwork"
    sections: dict[str, Section] = field(default_factory=dict)


def documented_in(scope: str) -> Any:
    """What ``linkwork`` or ``linkwork.control`` stands for in a user's code."""
    return lw if scope == "linkwork" else getattr(lw, scope.removeprefix("linkwork."))


def public() -> list[str]:
    """Every public name as a user writes it after ``linkwork.``, those of exported modules included."""
    found = []
    for name in lw.__all__:
        thing = getattr(lw, name)
        found += [f"{name}.{inner}" for inner in thing.__all__] if inspect.ismodule(thing) else [name]
    return found


def pages() -> dict[str, Page]:
    """The reference, by the names of its pages."""
    found: dict[str, Page] = {}
    for name in lw.__all__:
        thing = getattr(lw, name)
        if inspect.ismodule(thing):
            page = found.setdefault(name, Page(title(name), f"linkwork.{name}"))
            for inner in thing.__all__:
                _enter(page, inner, getattr(thing, inner), thing)
        else:
            package = thing.__module__.split(".")[1]
            _enter(found.setdefault(package, Page(title(package))), name, thing, lw)
    for page in found.values():
        page.sections = dict(sorted(page.sections.items(), key=lambda item: _place(ORDER, item[0][len("linkwork.") :])))
    return dict(sorted(sorted(found.items()), key=lambda item: _place(list(TITLES), item[0])))


def _place(order: list[str], name: str) -> int:
    return order.index(name) if name in order else len(order)


def title(package: str) -> str:
    return TITLES.get(package, package.replace("_", " ").capitalize())


def summary(thing: Any) -> str:
    """The first sentence of a docstring; nothing of a plain value, whose type has the docstring."""
    if not (inspect.ismodule(thing) or callable(thing)) or not inspect.getdoc(thing):
        return ""
    paragraph = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
    return re.split(r"(?<=\w\w\.)\s|(?<=[)`]\.)\s", paragraph)[0]


def _enter(page: Page, name: str, thing: Any, exporter: ModuleType) -> None:
    module = getattr(thing, "__module__", exporter.__name__)
    if not module.startswith("linkwork."):  # a plain value, or an alias of a type
        module = exporter.__name__
    section = page.sections.setdefault(module, Section(_heading(sys.modules[module])))
    section.names.append(name)


def _heading(module: ModuleType) -> str:
    """What a module is about, in the few words that its docstring begins with."""
    words = summary(module).removeprefix("Public functions of ")
    words = re.sub(r"^(``[\w.]+``(, | and )?)+: ", "", words)
    words = re.split(r"[:.?]|, and of ", words.replace("``", ""))[0]
    return words[:1].upper() + words[1:]
