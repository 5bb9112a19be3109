"""Yamane and Nakamura's experiments with forward dynamics from the principle of virtual work, and open questions.

Each module measures one thing:

    swing           Figures 4 and 5: 30-DoF chains that fall from a horizontal start
    times           Figures 6 and 7, and chains of up to tens of thousands of links
    counts          operations of every method by kind, which the paper leaves to future work
    rounding        errors of every method against 50 digits, likewise
    measurements    the whole experiment, in parts
    plots           its figures
    page            the tables of its page
"""

from linkwork_lab.reproduce.virtual_work.measurements import parts
from linkwork_lab.reproduce.virtual_work.page import tables
from linkwork_lab.reproduce.virtual_work.plots import draw

__all__ = ["draw", "parts", "tables"]
