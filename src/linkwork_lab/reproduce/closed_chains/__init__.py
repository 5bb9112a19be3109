"""Closed chains and parallel computation, which Yamane and Nakamura leave to future work: growth over loops, depth.

ladders       mechanisms with any number of loops
measurements  times and operations over the number of loops, and operations on the longest path
"""

from linkwork_lab.reproduce.closed_chains.measurements import measure
from linkwork_lab.reproduce.closed_chains.page import tables
from linkwork_lab.reproduce.closed_chains.plots import draw
from linkwork_lab.reproduce.closed_chains.summary import summarise

__all__ = ["draw", "measure", "summarise", "tables"]
