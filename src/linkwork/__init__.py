"""linkwork: the dynamics of articulated mechanisms, from Python that reads like the papers to vector machine code.

import linkwork as lw

arm = lw.load("panda.urdf")                          # or lw.mechanisms.humanoid(), or an lw.Builder
q, v = lw.random_state(arm, 0, shape=1000)           # a batch of 1000 states
a = lw.forward_dynamics(arm, q, v, tau=0 * v)        # (1000, nv)
"""

from linkwork.late import late

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = late(__name__, __file__)
