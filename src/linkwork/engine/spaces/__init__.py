"""The spaces that algorithms map between.

Comes in: one state's numbers, flat as callers have them, or the values of an algorithm, at bodies, frames and pairs of
these. Goes out: the other of the two, for numbers at hand (``scatter``, ``gather``) and for code that loops over bodies
it does not know yet (``load``, ``store``). Everything else that depends on a space, such as how errors name one of its
numbers, is in its class too.

    space             one class for each space; spatial objects as lists of scalars
    joint_matrices    matrices over joints, and all spaces by name
"""

from linkwork.engine.spaces.joint_matrices import SPACES, shape, size
from linkwork.engine.spaces.space import OFFSETS, Owner, Space, flatten, rebuild, shifted

__all__ = ["OFFSETS", "SPACES", "Owner", "Space", "flatten", "rebuild", "shape", "shifted", "size"]
