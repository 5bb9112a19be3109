"""Points on bodies at which functions are evaluated."""

from __future__ import annotations

from dataclasses import dataclass

from linkwork.arguments import choice, several, text
from linkwork.errors import ModelError


@dataclass(frozen=True)
class Point:
    """A point on a named frame, shifted by ``offset``, with its pose or only its position or rotation.

    Args:
        frame: a name in ``model.frame_names``.
        offset: the position of the point in that frame (m).
        axes: "pose" (6 numbers, linear then angular), "position" (3) or "rotation" (3).

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(2)
        >>> lw.forward_kinematics(arm, [0.0, 0.0], [lw.Point("body2", offset=(1.0, 0.0, 0.0))])[0, :3, 3]
        array([2., 0., 0.])
    """

    frame: str
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    axes: str = "pose"

    def __post_init__(self) -> None:
        text("the frame of a point", self.frame, ModelError)
        x, y, z = several(f"offset of point on {self.frame!r}", self.offset, 3, ModelError)
        object.__setattr__(self, "offset", (x, y, z))
        choice(f"axes of point on {self.frame!r}", self.axes, ("pose", "position", "rotation"), ModelError)
