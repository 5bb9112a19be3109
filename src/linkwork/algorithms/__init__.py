"""The algorithms, one recursion a file, each written once over any scalar; ``catalogue`` lists them."""

from linkwork.algorithms.catalogue import (
    ALGORITHMS,
    CHAIN_METHODS,
    FORWARD_DYNAMICS,
    FRAMES,
    INVERSION,
    INVERTING,
    OPERATIONAL,
    PRODUCTS,
    REFERENCES,
    SEGMENTS,
    STEP_PARTS,
    STUDIES,
    Algorithm,
    along,
    pulling_back,
    stepping,
    weighed,
)
from linkwork.algorithms.fewest_operations import fewest_operations

__all__ = [
    "ALGORITHMS",
    "CHAIN_METHODS",
    "FORWARD_DYNAMICS",
    "FRAMES",
    "INVERSION",
    "INVERTING",
    "OPERATIONAL",
    "PRODUCTS",
    "REFERENCES",
    "SEGMENTS",
    "STEP_PARTS",
    "STUDIES",
    "Algorithm",
    "along",
    "fewest_operations",
    "pulling_back",
    "stepping",
    "weighed",
]
