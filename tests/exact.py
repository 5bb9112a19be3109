"""A mechanism of mpmath numbers, each exactly the float of the model: the basis of reference results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.model import Frame, Model
from linkwork.model.tree import Tree


def exact_tree(model: Model, number: Any, frames: Sequence[Frame] = ()) -> Tree:
    """``number`` converts to mpmath's numbers. Arithmetic among a model's own numbers is then exact enough, too."""

    def exact(value: Any) -> Any:
        return value.of([number(x) for x in value.numbers()])

    tree = Tree(model, frames)
    for node in tree.outward():
        node.joint, node.placement, node.inertia = exact(node.joint), exact(node.placement), exact(node.inertia)
        node.rotor = tuple(number(x) for x in node.rotor)
    for frame in tree.frames():
        frame.placement = exact(frame.placement)
    tree.gravity = exact(tree.gravity)
    return tree
