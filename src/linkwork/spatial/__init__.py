"""Spatial algebra over any scalar: vectors, motions, forces, placements, inertias and motion subspaces.

The modules, in the order of the data flow:

    functions, exponentials, powers, elementary     elementary functions: the operations of the intermediate code
    rates, dual                                     their derivatives; numbers with a rate
    foreign                                         scalars of other libraries
    vectors, rotation, matrices, symmetric          small vectors and matrices
    motion, transform                               motions and forces; placements
    inertia, coriolis, mobility                     inertias, how a body's force varies with its velocity, inverses
    subspace, wrenches                              what a joint allows, and what it can transmit
    small_matrices                                  placements and motions as arrays
"""

from linkwork.spatial.elementary import OPERATIONS, rint
from linkwork.spatial.functions import LARGEST_ANGLE, Scalar, absolute, atan2, sin_cos, sqrt, where_less
from linkwork.spatial.inertia import ArticulatedInertia, Inertia
from linkwork.spatial.mobility import Mobility, RigidMobility, transposed
from linkwork.spatial.motion import Force, Motion
from linkwork.spatial.rotation import (
    LONGEST,
    AnyAxis,
    Axis,
    CoordinateAxis,
    Quaternion,
    X,
    Y,
    Z,
    quaternion_exp,
    quaternion_log,
    quaternion_of,
    safe_square,
    screw_matrix,
    screw_matrix_inverse,
)
from linkwork.spatial.subspace import Columns, Coordinates, Selection, Subspace, combination
from linkwork.spatial.symmetric import Factor, plus_diagonal, plus_rotor
from linkwork.spatial.transform import Transform
from linkwork.spatial.vectors import Mat3, Numbers, Sym3, Vec3, total
from linkwork.spatial.wrenches import AnyWrenches, SelectedWrenches, Wrenches

__all__ = [
    "LARGEST_ANGLE",
    "LONGEST",
    "OPERATIONS",
    "AnyAxis",
    "AnyWrenches",
    "ArticulatedInertia",
    "Axis",
    "Columns",
    "CoordinateAxis",
    "Coordinates",
    "Factor",
    "Force",
    "Inertia",
    "Mat3",
    "Mobility",
    "Motion",
    "Numbers",
    "Quaternion",
    "RigidMobility",
    "Scalar",
    "SelectedWrenches",
    "Selection",
    "Subspace",
    "Sym3",
    "Transform",
    "Vec3",
    "Wrenches",
    "X",
    "Y",
    "Z",
    "absolute",
    "atan2",
    "combination",
    "plus_diagonal",
    "plus_rotor",
    "quaternion_exp",
    "quaternion_log",
    "quaternion_of",
    "rint",
    "safe_square",
    "screw_matrix",
    "screw_matrix_inverse",
    "sin_cos",
    "sqrt",
    "total",
    "transposed",
    "where_less",
]
