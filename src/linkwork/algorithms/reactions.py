"""What every joint transmits to its child, with the accelerations, O(n): constraint forces and joint forces together.

    virtual work        f = Kᵀ n + K_Jᵀ (τ - rotor q̈): the method's own unknowns
    articulated body    f = Iᴬ A + pᴬ: the equation of motion of everything behind the joint (A with -g in it)

Featherstone, Rigid Body Dynamics Algorithms (2008), eq. 7.20; Yamane, Nakamura, section 3. Both hold with external
forces, for fixed joints (all six numbers are constraint) and free ones (f is the joint force τ alone). A rotor stands
between τ and the child: Sᵀ f = τ - rotor q̈.
"""

from __future__ import annotations

from typing import Any

from linkwork.algorithms.articulated_body import articulated_motion
from linkwork.algorithms.virtual_work import constrained_motion
from linkwork.model.tree import Tree
from linkwork.spatial import Transform


def virtual_work_reactions(tree: Tree, q: Any, v: Any, tau: Any, f_ext: Any, frame: str = "child") -> tuple[Any, Any]:
    """q̈ and the wrench that each joint transmits to its child."""
    qdd, f, X = constrained_motion(tree, q, v, tau, f_ext)
    return qdd, _seen(tree, f, X, frame)


def articulated_body_reactions(
    tree: Tree, q: Any, v: Any, tau: Any, f_ext: Any, frame: str = "child"
) -> tuple[Any, Any]:
    """q̈ and the wrench that each joint transmits to its child."""
    qdd, IA, A, pA, X = articulated_motion(tree, q, v, tau, f_ext)
    f = tree.field()
    for body in tree.outward():
        f[body] = IA[body] * A[body] + pA[body]
    return qdd, _seen(tree, f, X, frame)


def _seen(tree: Tree, f: Any, X: Any, frame: str) -> Any:
    """The wrenches in the child's frame as they are, in the parent's or in the world's, about that frame's origin."""
    if frame == "child":
        return f
    X0, seen = tree.field(), tree.field()
    X0[tree.world] = Transform.identity()
    for body in tree.outward():
        X0[body] = X0[body.parent] * X[body]
        seen[body] = (X[body] if frame == "parent" else X0[body]).to_parent(f[body])
    return seen
