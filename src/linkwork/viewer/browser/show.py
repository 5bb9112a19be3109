"""``lw.show``: mechanisms and motions in the browser."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import finite, integer, switch
from linkwork.model.constraints import Constraint
from linkwork.model.contacts import Contact
from linkwork.viewer.browser.actor import Actor
from linkwork.viewer.browser.server import local_server, stop
from linkwork.viewer.browser.view import View
from linkwork.viewer.camera import Camera
from linkwork.viewer.draw import Boxes, sizes_of
from linkwork.viewer.forces import forces_of
from linkwork.viewer.looks import Looks, Roots, checked_roots, checked_shapes
from linkwork.viewer.motions import motions_of
from linkwork.viewer.scene import below, squares


def show(
    what: Any,
    *,
    shapes: str = "visual",
    roots: Roots = (),
    boxes: Boxes | None = None,
    spacing: float | None = None,
    constraints: Sequence[Constraint] = (),
    contacts: Sequence[Contact] | None = None,
    f_ext: ArrayLike | None = None,
    port: int = 0,
    browser: bool = True,
) -> View:
    """Show a mechanism or a motion in the browser (extra ``viewer``).

    The page has sliders for the joints of a model; play, speed, time and single steps for motions; frames, names, joint
    axes, inertia ellipsoids, the centre of mass, the operational inertia at a frame, and force arrows. It is served to
    this machine only, and ends with the process.

    Args:
        what: an ``lw.Model``, an ``lw.Trajectory``, a result of ``lw.rollout``, or a list of these, side by side.
        shapes: "visual", "collision" or "skeleton"; see ``lw.save_html``. It can be changed on the page.
        roots: folders from which meshes may be read; see ``lw.save_html``.
        boxes: edge lengths (lx, ly, lz), m, of bodies that are boxes centred on their own frame, by name.
        spacing: distance (m) between several mechanisms, along y; by default their size.
        constraints: those of the simulation, for arrows of their forces; the model's own if omitted.
        contacts: those of a simulation with ``contact_forces=True``, for arrows of their forces.
        f_ext: wrenches (nbodies, 6) on the bodies, N and N m, each in its own frame, for arrows of their forces.
        port: of the page; any free port if omitted.
        browser: open the page in the browser, if there is a desktop.

    Returns:
        A ``View``: its ``url``, ``wait()``, which blocks until Ctrl-C, and ``close()``. In a notebook it displays
        itself. ``lw.simulate(..., viewer=view)`` shows a simulation while it runs.

    Raises:
        MissingExtraError: if viser is not installed.

    Example:
        >>> import linkwork as lw
        >>> view = lw.show(lw.mechanisms.humanoid()) # doctest: +SKIP
        >>> view.wait() # doctest: +SKIP
    """
    motions = motions_of(what, "what to show")
    checked_shapes(shapes)
    folders, apart = checked_roots(roots), None if spacing is None else finite("spacing", spacing)
    number = integer("port", port, 0, 65535)
    opened = switch("browser", browser)
    looks = {id(motion.model): Looks(motion.model, sizes_of(motion.model, boxes), True, folders) for motion in motions}
    step = 1.2 * max(looks_of.skeleton.length for looks_of in looks.values()) if apart is None else apart
    skeletons = [looks[id(motion.model)].skeleton for motion in motions]
    acting = forces_of(motions, skeletons, constraints, contacts, f_ext)
    server = local_server(motions[0].model.name, [looks[id(motion.model)].names for motion in motions], number)
    try:
        actors = []
        for index, motion in enumerate(motions):
            aside = np.array([0.0, step * (index - 0.5 * (len(motions) - 1)), 0.0])
            actors.append(Actor(server, f"/{index}", looks[id(motion.model)], aside))
        view = View(server, motions, actors, shapes, acting)
        _ground(server, actors)
    except BaseException:
        stop(server)
        raise
    if opened and _desktop():
        webbrowser.open(view.url)
    return view


def _ground(server: Any, actors: list[Actor]) -> None:
    """The grid on the floor, and the camera."""
    points = np.concatenate([actor.corners() for actor in actors])
    size = max(float(np.ptp(points, axis=0).max()), 1e-3)
    square = squares(size)
    height = below(float(points[:, 2].min()), size)
    server.scene.add_grid(
        "/ground", 10.0 * size, 10.0 * size, cell_size=square, section_size=5.0 * square,
        position=(0.0, 0.0, height), fade_distance=8.0 * size,
    )  # fmt: skip
    # Plain lights: without shadows and reflections it also runs on machines without a graphics card.
    server.scene.configure_default_lights(enabled=False)
    server.scene.configure_environment_map(hdri=None)
    server.scene.add_light_ambient("/light/sky", intensity=1.2)
    server.scene.add_light_directional("/light/sun", intensity=2.0, position=(0.4, -0.5, 0.8))
    camera = Camera(-55.0, 15.0)
    right, _, toward = camera.axes
    low, high, wide = points.min(axis=0), points.max(axis=0), np.radians(45.0)
    away = 0.6 * float(np.linalg.norm(high - low)) / np.sin(0.5 * wide)  # all is visible, with a fifth to spare
    centre = 0.5 * (low + high) + 0.17 * away * right  # the controls are on the right
    server.initial_camera.fov = wide
    server.initial_camera.look_at = tuple(centre.tolist())
    server.initial_camera.position = tuple((centre + away * toward).tolist())


def _desktop() -> bool:
    """Whether a browser can open here: not in a notebook, and with a display."""
    if "ipykernel" in sys.modules:
        return False
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
