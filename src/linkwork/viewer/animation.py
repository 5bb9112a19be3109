"""``lw.animate``: a motion as an animation."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.arguments import file_path, positive
from linkwork.dynamics.arguments import Frames
from linkwork.errors import ArgumentError, MissingExtraError
from linkwork.files import replacing
from linkwork.pictures import figure
from linkwork.simulation.trajectory import Trajectory
from linkwork.viewer.camera import VIEW
from linkwork.viewer.draw import Boxes, Stage, check_trajectory, ways_of

_DPI = 100


def animate(
    trajectory: Trajectory,
    path: str | Path,
    fps: float = 25.0,
    *,
    speed: float = 1.0,
    size: float = 4.8,
    trails: Frames = (),
    frames: Frames = (),
    boxes: Boxes | None = None,
    joints: bool = True,
    view: tuple[float, float] = VIEW,
    ground: float | bool = True,
) -> Path:
    """Write an animation of a motion.

    Args:
        trajectory: the motion.
        path: file to write: .gif, or .mp4 if the program ffmpeg is installed.
        fps: frames per second.
        speed: 1 shows the motion in real time, 0.5 at half that speed.
        size: width of the image (inches of 100 pixels); its height follows.
        trails: frames of the model whose paths are drawn.
        frames: see ``lw.draw``; ``boxes``, ``joints``, ``view`` and ``ground`` likewise.
        boxes: see ``lw.draw``.
        joints: see ``lw.draw``.
        view: see ``lw.draw``.
        ground: see ``lw.draw``.

    Returns:
        The path.

    Raises:
        ArgumentError: if the name ends in neither .gif nor .mp4.
        MissingExtraError: if matplotlib, pillow or, for .mp4, ffmpeg is not installed.
        FileError: if the file cannot be written.

    Example:
        >>> import linkwork as lw
        >>> swing = lw.simulate(lw.mechanisms.pendulum(), [1.5], [0.0], 1.0, 0.01)
        >>> lw.animate(swing, "swing.gif", trails=["tip"]) # doctest: +SKIP
        PosixPath('swing.gif')
    """
    check_trajectory(trajectory)
    fps, speed = positive("fps", fps, most=1000.0), positive("speed", speed)
    size = positive("size", size, most=100.0)
    to = file_path("path", path)
    writer = _writer(to, fps)
    stage = Stage(trajectory.model, frames, boxes, joints, view, ground)
    ways = ways_of(trajectory, trails)
    states = trajectory.resample(speed / fps)
    some = states.q[:: max(1, len(states) // 20)]
    floor, limits = stage.frame([*some, states.q[-1]], ways)
    across, up = np.ptp(limits, axis=0)
    high = float(np.clip(size * up / across, 0.4 * size, 1.6 * size))
    picture = figure(_even(size), _even(high))
    picture.set_layout_engine("none")
    axes = picture.add_axes((0.0, 0.0, 1.0, 1.0))
    with replacing(to) as beside, writer.saving(picture, str(beside), _DPI):
        for t, q in zip(states.t, states.q, strict=True):
            for artist in (*axes.collections, *axes.texts):  # faster than clearing the axes
                artist.remove()
            count = int(np.searchsorted(trajectory.t, t, side="right"))
            stage.scene([q], [way[:count] for way in ways]).paint(axes, floor, limits)
            axes.text(0.02, 0.97, f"{t:.2f} s", transform=axes.transAxes, fontsize=9, va="top")
            writer.grab_frame()
    return to


def _writer(path: Path, fps: float) -> Any:
    try:
        animation = import_module("matplotlib.animation")
        import_module("PIL")
    except ImportError:
        raise MissingExtraError("animations need matplotlib and pillow: pip install 'linkwork[plot]'") from None
    kind = path.suffix.lower()
    if kind == ".gif":
        return _Gif(fps)
    if kind != ".mp4":
        raise ArgumentError(f"an animation's name must end in .gif or .mp4; {path} does not")
    if shutil.which("ffmpeg") is None:
        raise MissingExtraError(f"{path}: .mp4 needs the program ffmpeg, which is not installed; write a .gif instead")
    return animation.FFMpegWriter(fps=fps)


class _Gif:
    """Writes images like Matplotlib's writers, but faster: each is drawn once, and its palette is found by an octree,
    which takes Pillow less time than its default method.
    """

    def __init__(self, fps: float) -> None:
        self._milliseconds = int(min(1000.0 / fps, 655_350.0))  # the longest time that a GIF can show an image
        self._frames: list[Any] = []
        self._canvas: Any = None
        self._image = import_module("PIL.Image")

    @contextmanager
    def saving(self, picture: Any, path: str, dpi: int) -> Iterator[None]:
        picture.set_dpi(dpi)
        self._canvas = import_module("matplotlib.backends.backend_agg").FigureCanvasAgg(picture)
        yield
        first, *rest = self._frames
        first.save(path, format="GIF", save_all=True, append_images=rest, duration=self._milliseconds, loop=0)

    def grab_frame(self) -> None:
        self._canvas.draw()
        drawn = self._image.fromarray(np.asarray(self._canvas.buffer_rgba())[:, :, :3].copy())
        self._frames.append(drawn.quantize(method=self._image.Quantize.FASTOCTREE, dither=self._image.Dither.NONE))


def _even(inches: float) -> float:
    """Rounded so that the image has an even number of pixels, as video codecs require."""
    return 2.0 * round(inches * _DPI / 2.0) / _DPI
