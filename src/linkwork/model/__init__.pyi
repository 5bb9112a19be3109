"""The names that other packages take from here, each with the module that defines it."""

from linkwork.model.actuators import Actuator as Actuator
from linkwork.model.builder import Builder as Builder
from linkwork.model.merging import merge_fixed as merge_fixed
from linkwork.model.model import Body as Body
from linkwork.model.model import Frame as Frame
from linkwork.model.model import Limits as Limits
from linkwork.model.model import Model as Model
from linkwork.model.parameters import with_inertial_parameters as with_inertial_parameters
from linkwork.model.placements import placement as placement
from linkwork.model.points import Point as Point
from linkwork.model.queries import WORLD as WORLD

__all__: list[str]
