"""Motion over time: a mechanism, what drives and holds it, and an integrator give a trajectory."""

from linkwork.simulation.simulate import simulate
from linkwork.simulation.torques import Controller
from linkwork.simulation.trajectory import Trajectory

__all__ = ["Controller", "Trajectory", "simulate"]
