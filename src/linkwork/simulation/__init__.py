"""Motion over time: a mechanism, what drives and holds it, and an integrator give states over time.

In: a model, a state or a batch of them, and what acts on the joints; ``arguments`` checks what both functions take.
Out: from ``simulate`` a ``Trajectory``, one motion with any torque function, integrator, constraints and stops; from
``rollout`` (in ``rollouts``) a ``Rollout``, many motions at once in machine code.
"""

from linkwork.simulation.rollouts import Rollout, rollout
from linkwork.simulation.simulate import simulate
from linkwork.simulation.torques import Controller
from linkwork.simulation.trajectory import Trajectory

__all__ = ["Controller", "Rollout", "Trajectory", "rollout", "simulate"]
