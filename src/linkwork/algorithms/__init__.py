"""The algorithms, one recursion a file, each written once over any scalar; ``catalogue`` lists them."""

from linkwork.algorithms.catalogue import (
    ALGORITHMS,
    CHAINS,
    FORWARD_DYNAMICS,
    FRAMES,
    INVERSION,
    INVERTING,
    OPERATIONAL,
    PIECES,
    REFERENCES,
    STEP_PARTS,
    STUDIES,
    UNROLLED,
    Algorithm,
    along,
    stepping,
    weighed,
)
from linkwork.algorithms.fewest_operations import fewest_operations

__all__ = [
    "ALGORITHMS",
    "CHAINS",
    "FORWARD_DYNAMICS",
    "FRAMES",
    "INVERSION",
    "INVERTING",
    "OPERATIONAL",
    "PIECES",
    "REFERENCES",
    "STEP_PARTS",
    "STUDIES",
    "UNROLLED",
    "Algorithm",
    "along",
    "fewest_operations",
    "stepping",
    "weighed",
]
