"""The result of a simulation: states over time, to inspect, slice, resample and save."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import finite_array, is_integer, memory_for, switch
from linkwork.dynamics.arguments import Array, check_model
from linkwork.dynamics.dynamics import energy
from linkwork.dynamics.kinematics import difference, integrate
from linkwork.errors import ArgumentError, shown
from linkwork.memory import check_memory
from linkwork.model.model import Model
from linkwork.properties import cached_property
from linkwork.simulation import files, tables
from linkwork.simulation.happened import Happened
from linkwork.simulation.tangent import Tangent

_MOST_TIMES = 1e9
Constraints = TypeVar("Constraints", int, None)  # how many, or any number


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """A motion: K states of a model in order of time.

    Attributes:
        model: the mechanism.
        t: times (K,), s, increasing.
        q: configurations (K, nq).
        v: velocities (K, nv), rad/s or m/s.
        a: accelerations (K, nv), rad/s² or m/s².
        tau: driving joint forces (K, nv), N or N m, as computed by the torque source and clamped to the effort limits;
            the forces of damping, friction and joint stops are not included.
        constraint_forces: wrenches (K, k, 6), N and N m, on frame a of each constraint, in that frame's axes; k may be
            0.
        interrupted: whether the simulation was stopped with Ctrl-C before its end.
        events: what has happened, a tuple of ``Happened`` in order of time.

    Example:
        >>> import linkwork as lw
        >>> fall = lw.simulate(lw.mechanisms.pendulum(), [0.5], [0.0], duration=1.0, dt=0.01)
        >>> fall
        <Trajectory of 'pendulum': 101 states, 0 to 1 s>
        >>> fall[::10].t.round(6)[:3]
        array([0. , 0.1, 0.2])
        >>> kinetic, potential = fall.energy
        >>> bool(abs(kinetic + potential - potential[0]).max() < 0.1)
        True
    """

    model: Model
    t: Array
    q: Array
    v: Array
    a: Array
    tau: Array
    constraint_forces: Array
    interrupted: bool = False
    events: tuple[Happened, ...] = ()

    def __post_init__(self) -> None:
        check_model(self.model)
        object.__setattr__(self, "interrupted", switch("interrupted", self.interrupted))
        states = self.t.size if isinstance(self.t, np.ndarray) else 0
        forces = self.constraint_forces.shape if isinstance(self.constraint_forces, np.ndarray) else ()
        for name, size in sizes(self.model, forces[1] if len(forces) == 3 else 0).items():
            array, expected = getattr(self, name), (states, *size)
            if not isinstance(array, np.ndarray) or array.dtype != np.float64 or array.shape != expected:
                came = f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else shown(array)
                raise ArgumentError(f"{name} of a trajectory must be float64 of shape {expected}, not {came}")
            view = array.view()
            view.flags.writeable = False
            object.__setattr__(self, name, view)

    def __reduce__(self) -> tuple[object, ...]:  # so that a copy is read-only, too
        return (type(self), tuple(getattr(self, field.name) for field in fields(self)))

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        span = f", {self.t[0]:.6g} to {self.t[-1]:.6g} s" if len(self) else ""
        return f"<Trajectory of {self.model.name!r}: {len(self)} states{span}{', interrupted' * self.interrupted}>"

    @cached_property
    def energy(self) -> tuple[Array, Array]:
        """Kinetic and potential energy (K,), J, as by ``lw.energy``; the energy of springs is not included."""
        return energy(self.model, self.q, self.v)

    def __getitem__(self, which: slice) -> Trajectory:
        """A slice of the states, as a Trajectory: ``trajectory[10:20:2]``."""
        parts = (which.start, which.stop, which.step) if isinstance(which, slice) else (which,)
        whole = all(part is None or is_integer(part) for part in parts)
        if not isinstance(which, slice) or not whole or (which.step is not None and which.step < 1):
            raise ArgumentError(
                f"a trajectory is cut by slices that go forward, as in trajectory[10:20:2], not by {shown(which)}; one "
                f"state's configuration is trajectory.q[i]"
            )
        return self._of({name: getattr(self, name)[which].copy() for name in ARRAYS})

    def _of(self, arrays: Mapping[str, Any]) -> Trajectory:
        """The motion with other states, and the events between these."""
        t = arrays["t"]
        between = tuple(one for one in self.events if t.size and t[0] - 1e-9 <= one.t <= t[-1] + 1e-9)
        return replace(self, **arrays, events=between)

    def resample(self, times: float | ArrayLike) -> Trajectory:
        """Interpolate the motion at other times, on the configuration manifold.

        Args:
            times: increasing times (M,) within the trajectory (s), or one number: the interval (s) between times, from
                the first state on.

        Returns:
            A Trajectory of M states. Configurations are interpolated by cubics in the tangent space at the earlier
            state, which match the velocities at both ends; all other arrays are interpolated linearly.

        Raises:
            ArgumentError: if times do not increase or are outside the trajectory, or if it has no states.
        """
        at = self._times(times)
        with memory_for("states", (at.size, self.model.nq + 3 * self.model.nv)):
            return self._at(at)

    def _at(self, at: Array) -> Trajectory:
        """The motion at checked times."""
        left = np.clip(np.searchsorted(self.t, at, side="right") - 1, 0, max(len(self) - 2, 0))
        right = np.minimum(left + 1, len(self) - 1)
        span = np.where(right > left, self.t[right] - self.t[left], 1.0)[:, None]
        s = (at - self.t[left])[:, None] / span
        tangent = Tangent(self.model)
        leap = difference(self.model, self.q[left], self.q[right])
        first, last = span * self.v[left], span * tangent.rate(leap, self.v[right])
        offset = s * ((1 - s) ** 2 * first + s * (3 - 2 * s) * leap + s * (s - 1) * last)
        blend = {
            name: (1 - s.reshape(s.shape + (1,) * (old.ndim - 2))) * old[left]
            + s.reshape(s.shape + (1,) * (old.ndim - 2)) * old[right]
            for name, old in ((name, getattr(self, name)) for name in ("v", "a", "tau", "constraint_forces"))
        }
        return self._of({"t": at, "q": integrate(self.model, self.q[left], offset), **blend})

    def save(self, path: str | Path) -> Path:
        """Write the trajectory to a NumPy .npz file, with data that identify the model; the model itself is not stored.

        Args:
            path: of the file; an existing one is replaced.

        Returns:
            The path, with ".npz" appended if it was missing.

        Raises:
            FileError: if the file cannot be written; an existing file is then left unchanged.
        """
        arrays = {name: getattr(self, name) for name in ARRAYS}
        return files.save(path, self.model, arrays, self.interrupted, self.events)

    @staticmethod
    def load(path: str | Path, model: Model) -> Trajectory:
        """Read a trajectory written by ``save``.

        Args:
            path: of the file.
            model: the mechanism of the trajectory.

        Returns:
            The trajectory.

        Raises:
            ArgumentError: if the file does not exist, is not a trajectory, or belongs to another model.
        """
        check_model(model)
        found: dict[str, Any]
        found, interrupted, events = files.load(path, model, sizes(model, None))
        return Trajectory(model, **found, interrupted=interrupted, events=events)

    def to_dataframe(self) -> Any:
        """A pandas DataFrame with a row for each time and columns such as ("q", "elbow") and ("energy", "kinetic").

        Raises:
            MissingExtraError: if pandas is not installed.
        """
        return tables.dataframe(self)

    def plot(self, joints: Any = None, path: str | Path | None = None) -> Any:
        """Plot positions, velocities, driving forces and energy over time.

        Args:
            joints: names of the joints to plot; all if omitted.
            path: image file to write (.png, .svg, .pdf).

        Returns:
            A matplotlib Figure.

        Raises:
            UnknownNameError: if the model has no joint of a name.
            MissingExtraError: if matplotlib is not installed.
        """
        return tables.plot(self, joints, path)

    def _times(self, times: float | ArrayLike) -> Array:
        if not len(self):
            raise ArgumentError("a trajectory without states cannot be resampled")
        at = finite_array("times, an interval (s) or finite times (M,),", times)
        if at.ndim > 1:
            raise ArgumentError(f"times must be an interval (s) or finite times (M,), not {shown(times)}")
        first, last = self.t[0], self.t[-1]
        if at.ndim == 0:
            if not at > 0.0:
                raise ArgumentError(f"an interval of times must be a positive number of seconds, not {shown(times)}")
            if float(last - first) / float(at) > _MOST_TIMES:
                raise ArgumentError(
                    f"an interval of {float(at):g} s makes more than {_MOST_TIMES:g} states; take a longer one"
                )
            count = int((last - first) / float(at) * (1 + 1e-12) + 1e-9) + 1
            numbers = sum(getattr(self, name)[:1].size for name in ARRAYS)
            check_memory(f"{count:,} states of {self.model.name!r}", 8.0 * count * numbers, "take a longer interval")
            with memory_for("times", (count,)):
                return first + float(at) * np.arange(count)
        if (np.diff(at) <= 0.0).any():
            raise ArgumentError("times must increase")
        if at.size and (at[0] < first - 1e-9 or at[-1] > last + 1e-9):
            raise ArgumentError(
                f"times go from {at[0]:.6g} to {at[-1]:.6g} s, but the trajectory only from {first:.6g} to {last:.6g} s"
            )
        return np.clip(at.astype(np.float64), first, last)


ARRAYS = tuple(field.name for field in fields(Trajectory) if field.name not in ("model", "interrupted", "events"))
"""The names of a trajectory's arrays over time."""


def sizes(model: Model, constraints: Constraints) -> dict[str, tuple[int | Constraints, ...]]:
    """The shape of one state in each array, for this number of constraints."""
    special: dict[str, tuple[int | Constraints, ...]] = {
        "t": (),
        "q": (model.nq,),
        "constraint_forces": (constraints, 6),
    }
    return {name: special.get(name, (model.nv,)) for name in ARRAYS}
