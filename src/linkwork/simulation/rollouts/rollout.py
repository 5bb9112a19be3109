"""Many trajectories at once: ``lw.rollout``."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from math import isfinite, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import choice, integer, seconds
from linkwork.dynamics.arguments import Array, as_batch, check_model
from linkwork.engine.mode import current_form
from linkwork.engine.rollout import records
from linkwork.engine.run.threads import get_threads
from linkwork.errors import ArgumentError, SimulationError, shown
from linkwork.model.model import Model
from linkwork.simulation.rollouts.divergence import cut_off, explained
from linkwork.simulation.rollouts.executors import spread
from linkwork.simulation.rollouts.jobs import Job
from linkwork.simulation.rollouts.parts import broadcast, check_over_time, rows, step_parts


class Rollout(NamedTuple):
    """Recorded states of trajectories.

    Attributes:
        t: times (K,), s.
        q: configurations (..., K, nq).
        v: velocities (..., K, nv).
    """

    t: Array
    q: Array
    v: Array


def rollout(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike | None = None,
    *,
    dt: float,
    steps: int | None = None,
    record: int = 1,
    q_target: ArrayLike | None = None,
    kp: ArrayLike | None = None,
    v_target: ArrayLike | None = None,
    kd: ArrayLike | None = None,
    damping: bool | ArrayLike = True,
    friction: bool | ArrayLike = True,
    effort_limits: bool | ArrayLike = True,
    diverged: str = "raise",
    executor: Executor | None = None,
    chunk: int | None = None,
    out: Rollout | None = None,
) -> Rollout:
    """Many trajectories at once, wholly in compiled code: forces, dynamics, integration and the time loop.

    Each step is semi-implicit Euler on the configuration manifold (order 1, symplectic): v⁺ = v + dt a, then q⁺ by
    moving at v⁺ for dt. The motors hold tau + kp (q_target ⊖ q) + kd (v_target - v), cut off at the effort limits, with
    q and v of the step's beginning. Damping and friction act with the velocity of the step's end, so that they never
    add energy. The law of friction is smoothed Coulomb friction: constant down to 0.001 rad/s or m/s and proportional
    to the speed below, so that a joint which it holds creeps. ``lw.simulate`` has the other law, Coulomb friction with
    stiction, which keeps such a joint at rest and costs more.

    A trajectory's numbers are the same to the last bit alone, in any batch, on any number of threads, with any
    executor, in ``lw.interpreted()``, and if it is continued from a record.

    What may vary over time is one row for all steps, (nv,), or a row for each step, (T, nv), or such rows for each
    trajectory, (..., T, nv); a T of 1 again holds for all steps.

    Args:
        model: the mechanism.
        q: where the trajectories begin (..., nq).
        v: and how fast (..., nv).
        tau: joint forces, N or N m; (nv,), (T, nv) or (..., T, nv); none if left out.
        dt: the time of a step, s.
        steps: how many; left out, it is T.
        record: keep a state every ``record`` steps, and the first and the last: K = steps / record, rounded up, plus 1.
            Memory is 8 K (nq + nv) bytes for each trajectory, whatever the number of steps.
        q_target: configurations to be pulled to; (nq,), (T, nq) or (..., T, nq). It needs kp.
        kp: stiffness (..., nv), N/m or N m/rad, or one number for all.
        v_target: velocities to be pulled to; (nv,), (T, nv) or (..., T, nv); zero if left out. It needs kd.
        kd: damping of the control (..., nv), N s/m or N m s/rad, or one number for all. As in a robot's computer, more
            than twice the moved inertia over dt is unstable, and chatters at the effort limits; ``damping`` never is.
        damping: viscous damping, N s/m or N m s/rad: the model's (True), none (False), (..., nv) or one number.
        friction: smoothed Coulomb friction, N or N m, in the same way.
        effort_limits: what the motors can do, N or N m, in the same way.
        diverged: what to do with a trajectory that becomes non-finite: "raise", after all others are done, or "nan",
            which is what its records are from there on.
        executor: spreads the trajectories over its workers: anything with the interface of ``concurrent.futures``,
            for instance a ``ProcessPoolExecutor`` or ``dask.distributed.Client(...).get_executor()``. What is lost
            with a worker that dies is computed here, with a warning.
        chunk: the trajectories of one job of the executor; a 64th of all, but at least 64, if left out.
        out: an earlier result of the same shapes to write into and return, which saves allocating memory.

    Returns:
        t (K,), q (..., K, nq) and v (..., K, nv).

    Raises:
        SimulationError: if a trajectory becomes non-finite; it names the trajectory, the time and a joint, and has
        everything that was computed as ``trajectory``.

    Example:
        >>> import numpy as np, linkwork as lw
        >>> pendulum = lw.mechanisms.pendulum()
        >>> start = np.linspace(0.1, 1.0, 1000)[:, None]
        >>> t, q, v = lw.rollout(pendulum, start, [0.0], dt=1e-3, steps=2000, record=100)
        >>> t.shape, q.shape
        ((21,), (1000, 21, 1))
        >>> kinetic, potential = lw.energy(pendulum, q, v)
        >>> energy = kinetic + potential
        >>> bool((abs(energy - energy[:, :1]) < 0.01).all())
        True
        >>> held = lw.rollout(pendulum, [0.0], [0.0], q_target=[1.0], kp=1000.0, kd=60.0, dt=1e-3, steps=2000)
        >>> abs(held.q[-1] - 1.0) < 0.02
        array([ True])
    """
    check_model(model)
    choice("diverged", diverged, ("raise", "nan"))
    if executor is not None and (isinstance(executor, type) or not callable(getattr(executor, "submit", None))):
        raise ArgumentError(
            f"executor must have the interface of concurrent.futures (submit), not {shown(executor)}; "
            f"for a Dask client, pass client.get_executor()"
        )
    every, step = integer("record", record, 1), seconds("dt", dt)
    size = None if chunk is None else integer("chunk", chunk, 1)
    (start, speed), batch = as_batch(model, (("q", "configuration"), ("v", "velocity")), (q, v))
    parts, steps = step_parts(
        model, steps, tau=tau, q_target=q_target, kp=kp, v_target=v_target, kd=kd, damping=damping, friction=friction,
        effort_limits=effort_limits,
    )  # fmt: skip
    if not isfinite(steps * step):
        raise ArgumentError(f"{steps} steps of dt = {step:g} s last longer than a number can say; make dt smaller")
    batch = broadcast(batch, parts)
    n, every = prod(batch), min(every, max(steps, 1))
    job = Job(
        model,
        np.broadcast_to(start, (*batch, model.nq)).reshape(n, model.nq),  # type: ignore[arg-type]
        np.broadcast_to(speed, (*batch, model.nv)).reshape(n, model.nv),  # type: ignore[arg-type]
        {"dt": np.full((1, 1, 1), step), **{name: rows(array, batch) for name, array in parts.items()}},
        steps,
        every,
        current_form(),
    )
    into = job.buffers() if out is None else _reused(job, batch, out)
    job = job if out is None else job.apart_from(into)
    status = job.run(into, get_threads()) if executor is None else spread(job, into, executor, size)
    if status & 1:
        check_over_time(model, parts)
    t = np.minimum(np.arange(into[0].shape[1]) * every, steps) * step
    result = Rollout(t, *(array.reshape((*batch, *array.shape[1:])) for array in into)) if out is None else out
    result.t[:] = t
    if status & 2:
        lost = cut_off(into)
        if diverged == "raise":
            raise _error(job, into, batch, lost, result)
    return result


def _reused(job: Job, batch: tuple[int, ...], out: Rollout) -> list[Array]:
    """The arrays of an earlier result for the records."""
    count = records(job.steps, job.every)
    shapes = [(count,), (*batch, count, job.model.nq), (*batch, count, job.model.nv)]
    fits = isinstance(out, Rollout) and all(
        isinstance(array, np.ndarray) and array.shape == shape and array.dtype == np.float64 and array.flags.carray
        for array, shape in zip(out, shapes, strict=True)
    )
    if not fits:
        raise ArgumentError(
            f"out must be an lw.Rollout of contiguous float64 arrays of the shapes {shapes}, as an earlier call gave it"
        )
    return [array.reshape((len(job), *array.shape[-2:])) for array in (out.q, out.v)]


def _error(
    job: Job, into: Sequence[Array], batch: tuple[int, ...], lost: list[tuple[int, int]], result: Rollout
) -> SimulationError:
    """For the first trajectory that became non-finite."""
    step, joint, reason = explained(job, into, *lost[0])
    time = step * float(job.parts["dt"][0, 0, 0])
    index = ", ".join(map(str, np.unravel_index(lost[0][0], batch)))
    which, others = (f"trajectory [{index}]", f"; {len(lost)} of {len(job)} do") if batch else ("the trajectory", "")
    message = (
        f"{which} becomes non-finite in step {step} (t = {time:.6g} s): {reason}{others}. All that was computed "
        f"is in the error's trajectory; diverged='nan' returns it instead"
    )
    return SimulationError(message, time, joint, result)
