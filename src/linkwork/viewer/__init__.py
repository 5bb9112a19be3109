"""Images of mechanisms and motions without a display, and web pages of them.

The modules, in the order of the data flow:

    rotations, camera, shapes   from the world to the image
    solids, skeleton            bodies without a geometry
    mesh, meshes, looks         triangles, from files too; coloured, on bodies
    forces, motions             arrows; models and trajectories over one interval of time
    scene, draw, animation      pictures and animations
    page                        a motion as one web page
    browser                     the live view
"""

from linkwork.viewer.animation import animate
from linkwork.viewer.browser.show import show
from linkwork.viewer.browser.view import View
from linkwork.viewer.draw import draw, motion_sequence
from linkwork.viewer.page.save_html import save_html

__all__ = ["View", "animate", "draw", "motion_sequence", "save_html", "show"]
