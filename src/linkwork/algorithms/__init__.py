"""The algorithms, one recursion a file, each written once over any scalar; ``catalogue`` lists them."""

from linkwork.algorithms.catalogue import (
    ALGORITHMS,
    FORWARD_DYNAMICS,
    FRAMES,
    INVERTING,
    OPERATIONAL,
    REFERENCES,
    STUDIES,
    UNROLLED,
    Algorithm,
)

__all__ = [
    "ALGORITHMS",
    "FORWARD_DYNAMICS",
    "FRAMES",
    "INVERTING",
    "OPERATIONAL",
    "REFERENCES",
    "STUDIES",
    "UNROLLED",
    "Algorithm",
]
