"""Many trajectories at once, in machine code.

In: a model, a batch of states, and arrays of what drives and brakes the joints. Out: a ``Rollout``, recorded states. On
the way: ``parts`` makes checked arrays with a time axis of the arguments, ``jobs`` runs the time loop over them,
``steps`` is the step with laws, costs, constraints and stops, ``by_hand`` the loop of a policy, ``executors`` spreads a
job over workers, ``divergence`` says where and why a trajectory became non-finite.
"""

from linkwork.simulation.rollouts.result import Rollout
from linkwork.simulation.rollouts.rollout import rollout

__all__ = ["Rollout", "rollout"]
