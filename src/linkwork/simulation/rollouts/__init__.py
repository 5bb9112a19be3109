"""Many trajectories at once, in machine code.

The input is a model, a batch of states, and arrays of joint forces, gains and damping; the output is a ``Rollout``, the
recorded states. ``parts`` converts the arguments to checked arrays with a time axis, ``jobs`` runs the time loop over
them, ``steps`` is the step with laws, costs, constraints and stops, ``by_hand`` the loop with a policy, ``executors``
spreads a job over workers, ``divergence`` finds where and why a trajectory became non-finite.
"""

from linkwork.late import late

__getattr__, __dir__, __all__ = late(__name__, __file__)
