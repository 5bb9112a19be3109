"""The algorithms, one recursion a file, each written once over any scalar; ``catalogue`` lists them."""

from linkwork.algorithms.catalogue import (
    ALGORITHMS,
    CHAIN_METHODS,
    FORWARD_DYNAMICS,
    FRAMES,
    INVERSION,
    INVERTING,
    OPERATIONAL,
    REFERENCES,
    SEGMENTS,
    STEP_PARTS,
    STUDIES,
    Algorithm,
    along,
    step_forces,
    stepping,
    weighed,
)
from linkwork.algorithms.consistent_inverse import consistent_inverse
from linkwork.algorithms.fewest_operations import fewest_operations

__all__ = [
    "ALGORITHMS",
    "CHAIN_METHODS",
    "FORWARD_DYNAMICS",
    "FRAMES",
    "INVERSION",
    "INVERTING",
    "OPERATIONAL",
    "REFERENCES",
    "SEGMENTS",
    "STEP_PARTS",
    "STUDIES",
    "Algorithm",
    "along",
    "consistent_inverse",
    "fewest_operations",
    "step_forces",
    "stepping",
    "weighed",
]
