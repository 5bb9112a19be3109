"""Controllers: joint forces that let points, objects and joints follow references.

A controller has a method ``torque(t, q, v)`` and is passed to ``lw.simulate``:

    hand = lw.control.Task("left_hand", lw.control.MinimumJerk(here, there, duration=2.0), kp=200.0)
    controller = lw.control.OperationalSpaceController(model, [hand], posture=lw.control.Posture(q))
    motion = lw.simulate(model, q, v, 3.0, 0.001, torque=controller)

The modules:

    references, rotations, gains    what is to be followed, and how stiffly
    limits                          of torques
    joint_space                     control of joints
    goals, priorities, law          tasks at points, one below the other; the law in one kernel
    impedance                       a task that keeps the robot's inertia and is passive
    virtual_linkage, held_object    an object in several hands, and the forces inside it
    constrained, operational_space  supports and loops; the controller of points
    supports, quadratic             feet on the ground; quadratic programs
    whole_body                      the controller of robots on their feet
"""

from linkwork.control.goals import Task
from linkwork.control.held_object import AugmentedObject, HeldObject, augmented_object
from linkwork.control.impedance import Impedance
from linkwork.control.joint_space import ComputedTorque, PDPlusGravity
from linkwork.control.operational_space import Command, OperationalSpaceController, Posture
from linkwork.control.priorities import Level
from linkwork.control.references import Constant, CubicSpline, MinimumJerk, Reference, Sample
from linkwork.control.supports import Support
from linkwork.control.virtual_linkage import LinkForces, VirtualLinkage
from linkwork.control.whole_body import CentreOfMass, WholeBodyCommand, WholeBodyController

__all__ = [
    "AugmentedObject",
    "CentreOfMass",
    "Command",
    "ComputedTorque",
    "Constant",
    "CubicSpline",
    "HeldObject",
    "Impedance",
    "Level",
    "LinkForces",
    "MinimumJerk",
    "OperationalSpaceController",
    "PDPlusGravity",
    "Posture",
    "Reference",
    "Sample",
    "Support",
    "Task",
    "VirtualLinkage",
    "WholeBodyCommand",
    "WholeBodyController",
    "augmented_object",
]
