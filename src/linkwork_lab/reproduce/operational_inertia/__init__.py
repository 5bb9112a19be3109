"""Chang and Khatib's experiment with the operational-space inertia matrix, and methods published since.

Each module measures one thing:

    humanoid        section 4: the 24-link humanoid with both hands, beside the paper's 1 ms and 300 Hz
    many_points     control of 4, 8, 16 points of a robot with fingers that stands on its feet
    on_the_ground   the same on a floor that only pushes, by two controllers
    growth          operations and times of every method over the links and over the points
    visits          Fig. 4: which links are visited in each step, and by each method
    visit_plots     figures of these
    measurements    the whole experiment, in parts
    plots           its figures
    page            the tables of its page
"""

from linkwork_lab.reproduce.operational_inertia.measurements import parts
from linkwork_lab.reproduce.operational_inertia.page import tables
from linkwork_lab.reproduce.operational_inertia.plots import draw

__all__ = ["draw", "parts", "tables"]
