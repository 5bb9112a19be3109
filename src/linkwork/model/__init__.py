"""The immutable Model, the Builder that makes one, and the tree that algorithms walk."""

from linkwork.model.actuators import Actuator
from linkwork.model.builder import Builder
from linkwork.model.merging import merge_fixed
from linkwork.model.model import WORLD, Body, Frame, Limits, Model, Point
from linkwork.model.parameters import with_inertial_parameters
from linkwork.model.placements import placement

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
