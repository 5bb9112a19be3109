"""Built-in mechanisms: those of the papers that linkwork builds on, and simple ones for experiments.

Each is a function that returns a Model; ``by_name`` makes one from text such as "serial_chain:10:spherical". ``rod``,
``box`` and ``ball`` are inertias for mechanisms of your own.

    links       rods and boxes, joints by type, checks of sizes
    simple      the simplest ones of textbooks
    chains      chains, stars and trees of equal links
    humanoid    of 24 links, with two hands
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

from linkwork.arguments import switch
from linkwork.errors import ArgumentError, UnknownNameError, shown
from linkwork.model.mechanisms.chains import binary_tree, branched_30dof, rope, serial_30dof, serial_chain, star
from linkwork.model.mechanisms.humanoid import humanoid
from linkwork.model.mechanisms.links import ball, box, rod
from linkwork.model.mechanisms.simple import double_pendulum, free_box, pendulum
from linkwork.model.model import Model

_FUNCTIONS: tuple[Callable[..., Model], ...] = (
    pendulum,
    double_pendulum,
    free_box,
    serial_chain,
    star,
    binary_tree,
    serial_30dof,
    branched_30dof,
    rope,
    humanoid,
)

NAMES: dict[str, Callable[..., Model]] = {function.__name__: function for function in _FUNCTIONS}
"""The mechanisms by name, as ``by_name`` and the command line take them."""

__all__ = [
    "NAMES",
    "ball",
    "binary_tree",
    "box",
    "branched_30dof",
    "by_name",
    "double_pendulum",
    "free_box",
    "humanoid",
    "pendulum",
    "rod",
    "rope",
    "serial_30dof",
    "serial_chain",
    "star",
]


def by_name(text: str, *, floating_base: bool = False) -> Model:
    """A mechanism from its name and, after colons, its first arguments.

    Args:
        text: for instance "humanoid", "serial_chain:10" or "serial_chain:10:spherical".
        floating_base: put the mechanism on a free joint, if its function supports that.

    Returns:
        The mechanism.

    Example:
        >>> import linkwork as lw
        >>> lw.mechanisms.by_name("serial_chain:10:spherical").nv
        30
    """
    if not isinstance(text, str):
        raise ArgumentError(f"text must be the name of a mechanism, not {shown(text)}")
    name, *words = text.split(":")
    floating_base = switch("floating_base", floating_base)
    if name not in NAMES:
        raise UnknownNameError("mechanism", name, NAMES, "lw.mechanisms")
    function = NAMES[name]
    signature = inspect.signature(function)
    options = {"floating_base": True} if floating_base else {}
    if floating_base and "floating_base" not in signature.parameters:
        able = ", ".join(kind for kind, f in NAMES.items() if "floating_base" in inspect.signature(f).parameters)
        raise ArgumentError(f"mechanism {name!r} has no floating base; these have: {able}")
    try:
        bound = signature.bind(*(_value(word) for word in words), **options)
    except TypeError as error:
        takes = ":".join([name, *(p.name for p in signature.parameters.values() if p.kind is not p.KEYWORD_ONLY)])
        raise ArgumentError(f"mechanism {text!r}: {error}; write it as {takes}") from None
    return function(*bound.args, **bound.kwargs)


def _value(word: str) -> int | float | str:
    for convert in (int, float):
        try:
            return convert(word)
        except ValueError:
            continue
    return word
