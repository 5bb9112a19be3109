"""Images of mechanisms and motions without a display, and web pages of them."""

from linkwork.viewer.animation import animate
from linkwork.viewer.browser.show import show
from linkwork.viewer.browser.view import View
from linkwork.viewer.draw import draw, motion_sequence
from linkwork.viewer.page.save_html import save_html

__all__ = ["View", "animate", "draw", "motion_sequence", "save_html", "show"]
