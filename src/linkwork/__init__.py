"""linkwork: the dynamics of articulated mechanisms, from Python that reads like the papers to vector machine code.

import linkwork as lw

arm = lw.load("panda.urdf")                          # or lw.mechanisms.humanoid(), or an lw.Builder
q, v = lw.random_state(arm, 0, shape=1000)           # a batch of 1000 states
a = lw.forward_dynamics(arm, q, v, tau=0 * v)        # (1000, nv)
"""

from linkwork import control, joints, spatial
from linkwork.change_of_basis import ChangeOfBasis, change_of_basis
from linkwork.dynamics import (
    Ball,
    Constraint,
    Hinge,
    OperationalSpace,
    PointOnPlane,
    Weld,
    centre_of_mass,
    constrained_dynamics,
    difference,
    dynamically_consistent_inverse,
    effective_mass,
    energy,
    force_responses,
    forward_dynamics,
    forward_dynamics_and_reactions,
    forward_kinematics,
    frame_acceleration,
    frame_velocity,
    gravity_torques,
    integrate,
    inverse_dynamics,
    jacobian,
    jacobian_drift,
    mass_matrix,
    momentum,
    neutral,
    nonlinear_effects,
    null_space_torque,
    operational_bias,
    operational_inertia,
    operational_inertia_inverse,
    operational_space,
    random_state,
)
from linkwork.engine.mode import interpreted
from linkwork.engine.run.threads import get_threads, set_threads
from linkwork.engine.system_check import SystemReport, system_check
from linkwork.errors import (
    ArgumentError,
    FormatError,
    LinkworkError,
    LinkworkWarning,
    MissingExtraError,
    ModelError,
    SimulationError,
    SingularError,
    UnknownNameError,
)
from linkwork.formats import load
from linkwork.model import Builder, Frame, Model, Point, mechanisms, merge_fixed, placement
from linkwork.simulation import Controller, Rollout, Trajectory, rollout, simulate
from linkwork.viewer import animate, draw, motion_sequence

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "Ball",
    "Builder",
    "ChangeOfBasis",
    "Constraint",
    "Controller",
    "FormatError",
    "Frame",
    "Hinge",
    "LinkworkError",
    "LinkworkWarning",
    "MissingExtraError",
    "Model",
    "ModelError",
    "OperationalSpace",
    "Point",
    "PointOnPlane",
    "Rollout",
    "SimulationError",
    "SingularError",
    "SystemReport",
    "Trajectory",
    "UnknownNameError",
    "Weld",
    "animate",
    "centre_of_mass",
    "change_of_basis",
    "constrained_dynamics",
    "control",
    "difference",
    "draw",
    "dynamically_consistent_inverse",
    "effective_mass",
    "energy",
    "force_responses",
    "forward_dynamics",
    "forward_dynamics_and_reactions",
    "forward_kinematics",
    "frame_acceleration",
    "frame_velocity",
    "get_threads",
    "gravity_torques",
    "integrate",
    "interpreted",
    "inverse_dynamics",
    "jacobian",
    "jacobian_drift",
    "joints",
    "load",
    "mass_matrix",
    "mechanisms",
    "merge_fixed",
    "momentum",
    "motion_sequence",
    "neutral",
    "nonlinear_effects",
    "null_space_torque",
    "operational_bias",
    "operational_inertia",
    "operational_inertia_inverse",
    "operational_space",
    "placement",
    "random_state",
    "rollout",
    "set_threads",
    "simulate",
    "spatial",
    "system_check",
]
