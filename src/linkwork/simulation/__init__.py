"""Simulation: a model, its forces and constraints and an integrator give states over time.

``simulate`` returns a ``Trajectory``: one motion, with any torque function, integrator, constraints and joint stops.
``rollout`` (in ``rollouts``) returns a ``Rollout``: many motions at once in machine code. ``arguments`` checks the
arguments that both functions share.
"""

from linkwork.simulation.rollouts import Rollout, rollout
from linkwork.simulation.simulate import simulate
from linkwork.simulation.torques import Controller
from linkwork.simulation.trajectory import Trajectory

__all__ = ["Controller", "Rollout", "Trajectory", "rollout", "simulate"]
