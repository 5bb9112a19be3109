"""The experiment of Chang and Khatib's section 4: a humanoid puts a box on the floor, advised to keep its posture."""

from linkwork_lab.demo.experiment import Settings, checks, measure
from linkwork_lab.demo.pictures import draw
from linkwork_lab.demo.scene import Scene, scene
from linkwork_lab.demo.summary import summarise

__all__ = ["Scene", "Settings", "checks", "draw", "measure", "scene", "summarise"]
