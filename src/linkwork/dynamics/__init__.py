"""The public functions: they check arguments once, pick method and engine, and return arrays."""

from typing import TYPE_CHECKING

from linkwork.dynamics.derivatives import (
    forward_dynamics_derivatives,
    frame_acceleration_derivatives,
    frame_velocity_derivatives,
    inverse_dynamics_derivatives,
    mass_matrix_inverse,
    momentum_derivatives,
    torque_regressor,
)
from linkwork.dynamics.dynamics import (
    centre_of_mass,
    energy,
    forward_dynamics,
    gravity_torques,
    inverse_dynamics,
    mass_matrix,
    momentum,
    nonlinear_effects,
)
from linkwork.dynamics.evaluate import evaluate
from linkwork.dynamics.kinematics import (
    difference,
    forward_kinematics,
    frame_acceleration,
    frame_velocity,
    integrate,
    jacobian,
    jacobian_drift,
    neutral,
    random_state,
)
from linkwork.dynamics.loads import external_wrench
from linkwork.dynamics.operational import force_responses, operational_inertia, operational_inertia_inverse
from linkwork.dynamics.products import (
    forward_dynamics_jvp,
    forward_dynamics_vjp,
    inverse_dynamics_jvp,
    inverse_dynamics_vjp,
)
from linkwork.dynamics.reactions import forward_dynamics_and_reactions, inverse_dynamics_and_reactions
from linkwork.late import late

if TYPE_CHECKING:
    from linkwork.dynamics.actuators import actuator_torques
    from linkwork.dynamics.constrained import constrained_dynamics, constrained_dynamics_and_reactions
    from linkwork.dynamics.constrained_inverse import constrained_inverse_dynamics
    from linkwork.dynamics.impacts import impact
    from linkwork.dynamics.task_space import (
        OperationalSpace,
        dynamically_consistent_inverse,
        effective_mass,
        null_space_torque,
        operational_bias,
        operational_space,
    )
    from linkwork.model.constraints import Ball, Constraint, Coupling, Hinge, PointOnPlane, Rolling, Weld

__all__ = [
    "Ball",
    "Constraint",
    "Coupling",
    "Hinge",
    "OperationalSpace",
    "PointOnPlane",
    "Rolling",
    "Weld",
    "actuator_torques",
    "centre_of_mass",
    "constrained_dynamics",
    "constrained_dynamics_and_reactions",
    "constrained_inverse_dynamics",
    "difference",
    "dynamically_consistent_inverse",
    "effective_mass",
    "energy",
    "evaluate",
    "external_wrench",
    "force_responses",
    "forward_dynamics",
    "forward_dynamics_and_reactions",
    "forward_dynamics_derivatives",
    "forward_dynamics_jvp",
    "forward_dynamics_vjp",
    "forward_kinematics",
    "frame_acceleration",
    "frame_acceleration_derivatives",
    "frame_velocity",
    "frame_velocity_derivatives",
    "gravity_torques",
    "impact",
    "integrate",
    "inverse_dynamics",
    "inverse_dynamics_and_reactions",
    "inverse_dynamics_derivatives",
    "inverse_dynamics_jvp",
    "inverse_dynamics_vjp",
    "jacobian",
    "jacobian_drift",
    "mass_matrix",
    "mass_matrix_inverse",
    "momentum",
    "momentum_derivatives",
    "neutral",
    "nonlinear_effects",
    "null_space_torque",
    "operational_bias",
    "operational_inertia",
    "operational_inertia_inverse",
    "operational_space",
    "random_state",
    "torque_regressor",
]

__getattr__ = late(
    __name__,
    {
        "linkwork.dynamics.actuators": ("actuator_torques",),
        "linkwork.dynamics.constrained": (
            "constrained_dynamics",
            "constrained_dynamics_and_reactions",
        ),
        "linkwork.dynamics.constrained_inverse": ("constrained_inverse_dynamics",),
        "linkwork.dynamics.impacts": ("impact",),
        "linkwork.dynamics.task_space": (
            "OperationalSpace",
            "dynamically_consistent_inverse",
            "effective_mass",
            "null_space_torque",
            "operational_bias",
            "operational_space",
        ),
        "linkwork.model.constraints": (
            "Ball",
            "Constraint",
            "Coupling",
            "Hinge",
            "PointOnPlane",
            "Rolling",
            "Weld",
        ),
    },
)
