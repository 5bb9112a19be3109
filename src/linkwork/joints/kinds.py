"""All joint types."""

from linkwork.joints.cylindrical import Cylindrical
from linkwork.joints.fixed import Fixed
from linkwork.joints.free import Free
from linkwork.joints.helical import Helical
from linkwork.joints.joint import Joint
from linkwork.joints.planar import Planar
from linkwork.joints.prismatic import Prismatic
from linkwork.joints.revolute import Revolute
from linkwork.joints.spherical import Spherical
from linkwork.joints.universal import Universal

KINDS: dict[str, type[Joint]] = {
    kind.__name__.lower(): kind
    for kind in (Fixed, Revolute, Prismatic, Helical, Cylindrical, Universal, Planar, Spherical, Free)
}
"""The joint types by name, as ``lw.mechanisms`` takes them."""
