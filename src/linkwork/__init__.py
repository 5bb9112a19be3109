"""linkwork: the dynamics of articulated mechanisms, from Python that reads like the papers to vector machine code.

import linkwork as lw

arm = lw.load("panda.urdf")                          # or lw.mechanisms.humanoid(), or an lw.Builder
q, v = lw.random_state(arm, 0, shape=1000)           # a batch of 1000 states
a = lw.forward_dynamics(arm, q, v, tau=0 * v)        # (1000, nv)
"""

from typing import TYPE_CHECKING

from linkwork import joints, spatial
from linkwork.change_of_basis import ChangeOfBasis, change_of_basis
from linkwork.dynamics import (
    centre_of_mass,
    difference,
    energy,
    evaluate,
    external_wrench,
    force_responses,
    forward_dynamics,
    forward_dynamics_and_reactions,
    forward_dynamics_derivatives,
    forward_dynamics_jvp,
    forward_dynamics_vjp,
    forward_kinematics,
    frame_acceleration,
    frame_acceleration_derivatives,
    frame_velocity,
    frame_velocity_derivatives,
    gravity_torques,
    integrate,
    inverse_dynamics,
    inverse_dynamics_and_reactions,
    inverse_dynamics_derivatives,
    inverse_dynamics_jvp,
    inverse_dynamics_vjp,
    jacobian,
    jacobian_drift,
    mass_matrix,
    mass_matrix_inverse,
    momentum,
    momentum_derivatives,
    neutral,
    nonlinear_effects,
    operational_inertia,
    operational_inertia_inverse,
    random_state,
    torque_regressor,
)
from linkwork.engine.mode import interpreted
from linkwork.engine.run.threads import get_threads, set_threads
from linkwork.errors import (
    ArgumentError,
    FileError,
    FormatError,
    LinkworkError,
    LinkworkWarning,
    MissingExtraError,
    ModelError,
    SimulationError,
    SingularError,
    TracingError,
    UnknownNameError,
)
from linkwork.late import late
from linkwork.model import Actuator, Builder, Frame, Model, Point, merge_fixed, placement, with_inertial_parameters
from linkwork.model.contacts import (
    Box,
    Capsule,
    Contact,
    Contacts,
    Cylinder,
    Ellipsoid,
    HeightField,
    Plane,
    Softness,
    Sphere,
)
from linkwork.model.medium import Medium

if TYPE_CHECKING:
    from linkwork import control
    from linkwork.compiled.compiled_function import CompiledFunction
    from linkwork.compiled.compiling import compile
    from linkwork.compiled.derivatives import jacobian_of, jvp, vjp
    from linkwork.dynamics import (
        Ball,
        Constraint,
        Coupling,
        Hinge,
        OperationalSpace,
        PointOnPlane,
        Rolling,
        Weld,
        actuator_torques,
        constrained_dynamics,
        constrained_dynamics_and_reactions,
        constrained_inverse_dynamics,
        dynamically_consistent_inverse,
        effective_mass,
        impact,
        null_space_torque,
        operational_bias,
        operational_space,
    )
    from linkwork.dynamics.constrained_derivatives import ConstrainedDerivatives, constrained_dynamics_derivatives
    from linkwork.dynamics.contact.public import collision_contacts, contact_dynamics, contact_points
    from linkwork.dynamics.inverse_kinematics import IKResult, inverse_kinematics
    from linkwork.dynamics.loops import close_loops
    from linkwork.dynamics.pose_errors import pose_error
    from linkwork.engine.system_check import SystemReport, system_check
    from linkwork.formats import load, save
    from linkwork.model import mechanisms
    from linkwork.simulation import Controller, Rollout, Trajectory, rollout
    from linkwork.simulation.rollouts.gradients import Gradients
    from linkwork.simulation.rollouts.linearise import Linearised, linearise
    from linkwork.simulation.simulate import simulate
    from linkwork.viewer import View, animate, motion_sequence, save_html, show
    from linkwork.viewer.draw import draw

__version__ = "0.1.0"

__all__ = [
    "Actuator",
    "ArgumentError",
    "Ball",
    "Box",
    "Builder",
    "Capsule",
    "ChangeOfBasis",
    "CompiledFunction",
    "ConstrainedDerivatives",
    "Constraint",
    "Contact",
    "Contacts",
    "Controller",
    "Coupling",
    "Cylinder",
    "Ellipsoid",
    "FileError",
    "FormatError",
    "Frame",
    "Gradients",
    "HeightField",
    "Hinge",
    "IKResult",
    "Linearised",
    "LinkworkError",
    "LinkworkWarning",
    "Medium",
    "MissingExtraError",
    "Model",
    "ModelError",
    "OperationalSpace",
    "Plane",
    "Point",
    "PointOnPlane",
    "Rolling",
    "Rollout",
    "SimulationError",
    "SingularError",
    "Softness",
    "Sphere",
    "SystemReport",
    "TracingError",
    "Trajectory",
    "UnknownNameError",
    "View",
    "Weld",
    "actuator_torques",
    "animate",
    "centre_of_mass",
    "change_of_basis",
    "close_loops",
    "collision_contacts",
    "compile",
    "constrained_dynamics",
    "constrained_dynamics_and_reactions",
    "constrained_dynamics_derivatives",
    "constrained_inverse_dynamics",
    "contact_dynamics",
    "contact_points",
    "control",
    "difference",
    "draw",
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
    "get_threads",
    "gravity_torques",
    "impact",
    "integrate",
    "interpreted",
    "inverse_dynamics",
    "inverse_dynamics_and_reactions",
    "inverse_dynamics_derivatives",
    "inverse_dynamics_jvp",
    "inverse_dynamics_vjp",
    "inverse_kinematics",
    "jacobian",
    "jacobian_drift",
    "jacobian_of",
    "joints",
    "jvp",
    "linearise",
    "load",
    "mass_matrix",
    "mass_matrix_inverse",
    "mechanisms",
    "merge_fixed",
    "momentum",
    "momentum_derivatives",
    "motion_sequence",
    "neutral",
    "nonlinear_effects",
    "null_space_torque",
    "operational_bias",
    "operational_inertia",
    "operational_inertia_inverse",
    "operational_space",
    "placement",
    "pose_error",
    "random_state",
    "rollout",
    "save",
    "save_html",
    "set_threads",
    "show",
    "simulate",
    "spatial",
    "system_check",
    "torque_regressor",
    "vjp",
    "with_inertial_parameters",
]

__getattr__ = late(
    __name__,
    {
        "linkwork.compiled.compiled_function": ("CompiledFunction",),
        "linkwork.compiled.compiling": ("compile",),
        "linkwork.compiled.derivatives": ("jacobian_of", "jvp", "vjp"),
        "linkwork.control": (),
        "linkwork.dynamics": (
            "Ball",
            "Constraint",
            "Coupling",
            "Hinge",
            "OperationalSpace",
            "PointOnPlane",
            "Rolling",
            "Weld",
            "actuator_torques",
            "constrained_dynamics",
            "constrained_dynamics_and_reactions",
            "constrained_inverse_dynamics",
            "dynamically_consistent_inverse",
            "effective_mass",
            "impact",
            "null_space_torque",
            "operational_bias",
            "operational_space",
        ),
        "linkwork.dynamics.contact.public": ("collision_contacts", "contact_dynamics", "contact_points"),
        "linkwork.dynamics.constrained_derivatives": ("ConstrainedDerivatives", "constrained_dynamics_derivatives"),
        "linkwork.dynamics.inverse_kinematics": ("IKResult", "inverse_kinematics"),
        "linkwork.dynamics.loops": ("close_loops",),
        "linkwork.dynamics.pose_errors": ("pose_error",),
        "linkwork.engine.system_check": ("SystemReport", "system_check"),
        "linkwork.formats": ("load", "save"),
        "linkwork.model.mechanisms": (),
        "linkwork.simulation": ("Controller", "Rollout", "Trajectory", "rollout", "simulate"),
        "linkwork.simulation.rollouts.gradients": ("Gradients",),
        "linkwork.simulation.rollouts.linearise": ("Linearised", "linearise"),
        "linkwork.viewer": ("View", "animate", "draw", "motion_sequence", "save_html", "show"),
    },
)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
