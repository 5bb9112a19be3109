"""The initial states of motions: errors and warnings before the first step."""

from __future__ import annotations

from linkwork.dynamics.arguments import Array
from linkwork.late import LateFunction
from linkwork.simulation.step import Step

check_within_limits = LateFunction("linkwork.simulation.coupled:check_within_limits")
warn_of_depth = LateFunction("linkwork.simulation.penetrations:warn_of_depth")
warn_of_errors = LateFunction("linkwork.simulation.off_constraints:warn_of_errors")


def check_start(step: Step, q: Array, pulled: bool = True) -> None:
    """An error if initial configurations (n, nq) are beyond limits at which joints stop; a warning if they violate
    constraints, if the motion is so long that it is ``pulled`` back to these, or if shapes overlap deeply.
    """
    if step.constraints and pulled:
        warn_of_errors(step.model, q, step.constraints, None if step.contacts is not None else step.stabilisation)
    if step.contacts is not None:
        warn_of_depth(step.model, q, step.contacts)
    if step.stops:
        check_within_limits(step.model, q, step.constraints)
