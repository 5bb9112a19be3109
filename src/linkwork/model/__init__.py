"""The immutable Model, the Builder that makes one, and the tree that algorithms walk."""

from linkwork.model.actuators import Actuator
from linkwork.model.builder import Builder, merge_fixed, placement
from linkwork.model.model import WORLD, Body, Frame, Limits, Model, Point
from linkwork.model.parameters import with_inertial_parameters

__all__ = [
    "WORLD",
    "Actuator",
    "Body",
    "Builder",
    "Frame",
    "Limits",
    "Model",
    "Point",
    "merge_fixed",
    "placement",
    "with_inertial_parameters",
]
