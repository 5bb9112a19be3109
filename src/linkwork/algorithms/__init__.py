"""The algorithms, one recursion a file, each written once over any scalar; ``catalogue`` lists them."""

from linkwork.algorithms.catalogue import (
    ALGORITHMS,
    CHAINS,
    FORWARD_DYNAMICS,
    FRAMES,
    INVERTING,
    OPERATIONAL,
    PIECES,
    REFERENCES,
    STUDIES,
    UNROLLED,
    Algorithm,
    along,
)

__all__ = [
    "ALGORITHMS",
    "CHAINS",
    "FORWARD_DYNAMICS",
    "FRAMES",
    "INVERTING",
    "OPERATIONAL",
    "PIECES",
    "REFERENCES",
    "STUDIES",
    "UNROLLED",
    "Algorithm",
    "along",
]
