"""The medium in which a mechanism moves: air or water, modelled as in MuJoCo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkwork.arguments import not_negative, positive, several
from linkwork.errors import ArgumentError, ModelError, shown
from linkwork.model.placements import as_placement
from linkwork.spatial import Transform


@dataclass(frozen=True)
class Medium:
    """A medium that resists motion: each body is represented by a box (MuJoCo's inertia box model).

    For a box with sides b₁, b₂, b₃, its linear velocity v and angular velocity ω in its own axes, the force is
    -½ ρ b₂ b₃ |v₁| v₁ along the first axis, and the moment -ρ b₁ (b₂⁴ + b₃⁴) |ω₁| ω₁ / 64, and so on; a viscosity
    β adds -3π d β v and -π d³ β ω, with the mean d of the sides. There is no buoyancy.

    Attributes:
        density: ρ (kg/m³). viscosity: β (Pa s). wind: the velocity of the medium in the world (m/s).
        boxes: for each box the frame that carries it, its placement there (``lw.placement`` or 4×4), and its sides (m).

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder(gravity=(0, 0, 0))
        >>> _ = builder.add_body("fish", joint=lw.joints.Prismatic("x"), mass=2.0, inertia=(1.0, 1.0, 1.0))
        >>> fish = builder.build()
        >>> water = lw.Medium(1000.0, boxes=(("fish", lw.placement(), (0.5, 0.1, 0.2)),))
        >>> with lw.interpreted():
        ...     a, _ = lw.contact_dynamics(fish, [0.0], [3.0], [0.0], lw.Contacts(medium=water))
        >>> a  # -½ ρ 0.1 m 0.2 m v² / 2 kg
        array([-45.])
    """

    density: float = 0.0
    viscosity: float = 0.0
    wind: tuple[float, float, float] = (0.0, 0.0, 0.0)
    boxes: tuple[tuple[str, Transform, tuple[float, float, float]], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "density", not_negative("density of a medium", self.density))
        object.__setattr__(self, "viscosity", not_negative("viscosity of a medium", self.viscosity))
        object.__setattr__(self, "wind", tuple(several("wind", self.wind, 3)))
        if not isinstance(self.boxes, tuple):
            raise ArgumentError(f"boxes of a medium must be a tuple, not {shown(self.boxes)}")
        object.__setattr__(self, "boxes", tuple(_box(box) for box in self.boxes))


def _box(value: Any) -> tuple[str, Transform, tuple[float, float, float]]:
    if not isinstance(value, tuple) or len(value) != 3:
        raise ArgumentError(f"boxes of a medium must be tuples of a frame, a placement and sides, not {shown(value)}")
    frame, place, sides = value
    if not isinstance(frame, str):
        raise ArgumentError(f"the frame of a box in a medium must be a name, not {shown(frame)}")
    try:
        where = as_placement(f"the box of {frame!r}", place)
    except ModelError as error:
        raise ArgumentError(str(error)) from None
    what = f"sides of the box of {frame!r}"
    x, y, z = (positive(what, x, "metres") for x in several(what, sides, 3))
    return frame, where, (x, y, z)
