"""Simulation: a model, its forces and constraints and an integrator give states over time.

``simulate`` returns a ``Trajectory``: one motion, with any torque function, integrator, constraints and joint stops.
``rollout`` (in ``rollouts``) returns a ``Rollout``: many motions at once in machine code. ``arguments`` checks the
arguments that both functions share.
"""

from linkwork.late import late

__getattr__, __dir__, __all__ = late(__name__, __file__)
