"""The joint types, one file each, and the base class for your own.

The modules, in the order of the data flow:

    joint                           the base class: everything that algorithms need of a joint
    fixed, revolute, prismatic, helical, cylindrical, universal, planar, spherical, free
                                    the types
    kinds                           all of them
    one_of                          one of several, selected by a number
    variation                       derivatives of a joint's subspace and bias
"""

from linkwork.late import late

__getattr__, __dir__, __all__ = late(__name__, __file__)
