"""The wrench that every joint transmits to its child, with the accelerations, O(n): constraint force plus joint force.

    virtual work        f = Kᵀ n + K_Jᵀ (τ - rotor q̈): the method's own unknowns
    articulated body    f = Iᴬ A + pᴬ: the equation of motion of the subtree behind the joint (A includes -g)
    inverse dynamics    f = F: the force that the inward recursion carries from child to parent

Featherstone, Rigid Body Dynamics Algorithms (2008), eq. 7.20; Yamane, Nakamura, section 3. All hold with external
forces, for fixed joints (all six components are constraint force) and free ones (f is the joint force τ alone). With a
rotor between τ and the child, Sᵀ f = τ - rotor q̈.
"""

from __future__ import annotations

from linkwork.algorithms.articulated_body import articulated_motion
from linkwork.algorithms.inverse_dynamics import newton_euler
from linkwork.algorithms.tree import BodyForces, Field, JointField, JointValues, Tree
from linkwork.algorithms.virtual_work import constrained_motion
from linkwork.spatial import Force, Transform


def virtual_work_reactions(
    tree: Tree, q: JointValues, v: JointValues, tau: JointValues, f_ext: BodyForces, frame: str = "child"
) -> tuple[JointField, Field[Force]]:
    """q̈ and the wrench that each joint transmits to its child."""
    motion = constrained_motion(tree, q, v, tau, f_ext)
    return motion.qdd, seen(tree, motion.f, motion.X, frame)


def articulated_body_reactions(
    tree: Tree, q: JointValues, v: JointValues, tau: JointValues, f_ext: BodyForces, frame: str = "child"
) -> tuple[JointField, Field[Force]]:
    """q̈ and the wrench that each joint transmits to its child."""
    motion = articulated_motion(tree, q, v, tau, f_ext)
    f: Field[Force] = tree.field()
    for body in tree.outward():
        f[body] = motion.IA[body] * motion.A[body] + motion.pA[body]
    return motion.qdd, seen(tree, f, motion.X, frame)


def inverse_dynamics_reactions(
    tree: Tree, q: JointValues, v: JointValues, a: JointValues, f_ext: BodyForces, frame: str = "child"
) -> tuple[JointField, Field[Force]]:
    """τ and the wrench that each joint transmits to its child."""
    motion = newton_euler(tree, q, v, a, f_ext)
    return motion.tau, seen(tree, motion.F, motion.X, frame)


def seen(tree: Tree, f: Field[Force], X: Field[Transform], frame: str) -> Field[Force]:
    """The wrenches, given in the child's frame, expressed in the child's, the parent's or the world's frame."""
    if frame == "child":
        return f
    X0: Field[Transform] = tree.field()
    result: Field[Force] = tree.field()
    X0[tree.world] = Transform.identity()
    for body in tree.outward():
        X0[body] = X0[body.parent] * X[body]
        result[body] = (X[body] if frame == "parent" else X0[body]).to_parent(f[body])
    return result
