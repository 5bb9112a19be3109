"""Many trajectories at once, in machine code.

The input is a model, a batch of states, and arrays of joint forces, gains and damping; the output is a ``Rollout``, the
recorded states.

    rollout          ``lw.rollout``
    request          its arguments, checked and made into a job
    executors        a job spread over workers
    host_loop        the time loop in Python: for a policy
    result           the states, with their gradients
    gradients        of a loss, by the adjoint method
    linearise        one step, linearised: its arguments, and
    recall           code that an earlier call has left
    derivatives      the routes: ``linearised_step`` of the algorithms, or one of
    tangent_steps    tangents through its program
    kernel_chain     a chain of kernels, for large robots
"""

from linkwork.late import late

__getattr__, __dir__, __all__ = late(__name__, __file__)
