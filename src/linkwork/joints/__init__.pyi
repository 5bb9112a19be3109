"""The joint kinds, each with its file, and ``KINDS``, all of them by name."""

from linkwork.joints.cylindrical import Cylindrical as Cylindrical
from linkwork.joints.fixed import Fixed as Fixed
from linkwork.joints.free import Free as Free
from linkwork.joints.helical import Helical as Helical
from linkwork.joints.joint import Joint as Joint
from linkwork.joints.kinds import KINDS as KINDS
from linkwork.joints.planar import Planar as Planar
from linkwork.joints.prismatic import Prismatic as Prismatic
from linkwork.joints.revolute import Revolute as Revolute
from linkwork.joints.spherical import Spherical as Spherical
from linkwork.joints.universal import Universal as Universal

__all__: list[str]
