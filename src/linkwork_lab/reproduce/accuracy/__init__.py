"""Accuracy of forward dynamics beside other libraries: the same mechanisms in all, against 50 digits.

The modules:

    cases           mechanisms whose numbers all libraries have exactly, and their states
    methods         forward dynamics of ours, of Pinocchio in both its conventions, of MuJoCo
    algorithms      errors of our other algorithms
    measurements    the whole experiment, in parts
    page            its tables and its figure
"""

from linkwork_lab.reproduce.accuracy.measurements import parts
from linkwork_lab.reproduce.accuracy.page import draw, tables

__all__ = ["draw", "parts", "tables"]
