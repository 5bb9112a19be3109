"""Featherstone and Fijany's Constraint Force Algorithm: tests of the claims of their paper, which has no experiments.

Each module measures one thing:

    chains          the mechanisms
    times           one state of a chain of 10 to 100,000 links: scalar, on lanes, on lanes and threads
    parallel        sequential steps, operations, and the speed-up on any number of processors
    branches        side branches of length log N
    claim           the original algorithm and this one on joints of every kind, in two units
    rounding        errors against 50 digits
    claims          the paper's claims beside the results
    measurements    the whole experiment, in parts
    plots           its figures
    page            the tables of its page
"""

from linkwork_lab.reproduce.constraint_force.measurements import parts
from linkwork_lab.reproduce.constraint_force.page import tables
from linkwork_lab.reproduce.constraint_force.plots import draw

__all__ = ["draw", "parts", "tables"]
