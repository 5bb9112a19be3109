"""Pictures of mechanisms and motions, without a display."""

from linkwork.viewer.animation import animate
from linkwork.viewer.draw import draw, motion_sequence

__all__ = ["animate", "draw", "motion_sequence"]
