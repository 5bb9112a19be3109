"""Closed chains and parallel computation, which Yamane and Nakamura leave to future work: growth over loops, depth.

Times and operations over the number of loops, and operations on the longest path.

    ladders         mechanisms with any number of loops
    measurements    the whole experiment, in parts
    plots           its figures
    page            the tables of its page
"""

from linkwork_lab.reproduce.closed_chains.measurements import parts
from linkwork_lab.reproduce.closed_chains.page import tables
from linkwork_lab.reproduce.closed_chains.plots import draw

__all__ = ["draw", "parts", "tables"]
