"""The experiment of Chang and Khatib's section 4: a humanoid puts a box on the floor, advised to keep its posture.

In the order of the data flow:

    scene               the humanoid, the box, the controller
    experiment          the simulation, and what is measured
    pictures, summary   figures, words and numbers
"""

from linkwork_lab.demo.experiment import Settings, checks, measure
from linkwork_lab.demo.pictures import draw
from linkwork_lab.demo.scene import Scene, scene
from linkwork_lab.demo.summary import summarise

__all__ = ["Scene", "Settings", "checks", "draw", "measure", "scene", "summarise"]
