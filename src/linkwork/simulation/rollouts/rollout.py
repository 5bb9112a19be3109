"""Many trajectories at once: ``lw.rollout``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import choice, integer, seconds
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.dynamics.arguments import Array, check_model
from linkwork.dynamics.call import stepping
from linkwork.engine.rollout import records
from linkwork.engine.run.threads import get_threads
from linkwork.errors import ArgumentError, SimulationError, shown
from linkwork.late import LateFunction
from linkwork.model.constraints import Constraint
from linkwork.model.contacts import Contact
from linkwork.model.model import Model
from linkwork.simulation.arguments import check_not_traced, warn_of_range, warn_of_speed
from linkwork.simulation.jobs import Job
from linkwork.simulation.laws import Parameters
from linkwork.simulation.rollouts.request import request_of
from linkwork.simulation.rollouts.result import Rollout
from linkwork.simulation.start import check_start

if TYPE_CHECKING:
    from linkwork.simulation.events import Event
    from linkwork.simulation.rollouts.host_loop import HostLoop, Policy

# what most rollouts do not need
host_loop = LateFunction("linkwork.simulation.rollouts.host_loop:HostLoop")
cut_off = LateFunction("linkwork.simulation.divergence:cut_off")
event_record = LateFunction("linkwork.simulation.event_record:event_record")
explained = LateFunction("linkwork.simulation.divergence:explained")
spread = LateFunction("linkwork.simulation.rollouts.executors:spread")


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
    friction_law: str = "smoothed",
    springs: bool = True,
    effort_limits: bool | ArrayLike = True,
    torque: CompiledFunction | Callable[..., Any] | None = None,
    parameters: Parameters = None,
    cost: CompiledFunction | Callable[..., Any] | None = None,
    cost_parameters: Parameters = None,
    policy: Policy | None = None,
    hold: int = 1,
    constraints: Sequence[Constraint] | Constraint | None = None,
    stabilisation: float | None = None,
    proximal: float = 0.0,
    f_ext: ArrayLike | None = None,
    joint_limits: bool = False,
    contacts: Sequence[Contact] | None = None,
    integrator: str = "semi_implicit_euler",
    method: str = "articulated_body",
    events: Sequence[Event] | Event | None = None,
    inertias: ArrayLike | None = None,
    armature: ArrayLike | None = None,
    placements: ArrayLike | None = None,
    diverged: str = "raise",
    executor: Executor | None = None,
    chunk: int | None = None,
    out: Rollout | None = None,
) -> Rollout:
    """Compute many trajectories at once in compiled code: forces, dynamics, integration and the time loop.

    A step is that of ``lw.simulate``, by default semi-implicit Euler on the configuration manifold (order 1,
    symplectic): v⁺ = v + dt a, then q⁺ by moving at v⁺ for dt. The motors apply tau + torque + kp (q_target ⊖ q) +
    kd (v_target - v), clamped to the effort limits, with t, q and v at the step's beginning. Damping and smoothed
    friction act with the velocity at the step's end, so that they never add energy.

    A trajectory is the same to the last bit alone, in any batch, on any number of threads, with any executor, in
    ``lw.interpreted()``, and if it is continued from a record (unless a law or a cost depends on t).

    An argument that may vary over time has one row for all steps, (nv,), a row for each step, (T, nv), or such rows for
    each trajectory, (..., T, nv). T = 1 again means all steps, so that one row for each trajectory is (..., 1, nv).

    Args:
        model: the mechanism.
        q: initial configurations (..., nq).
        v: initial velocities (..., nv).
        tau: joint forces, N or N m; (nv,), (T, nv) or (..., T, nv); zero if omitted.
        dt: time step, s.
        steps: number of steps; T if omitted.
        record: keep a state every ``record`` steps, and the first and the last: K = steps / record, rounded up, plus 1.
            Memory is 8 K (nq + nv) bytes for each trajectory, whatever the number of steps. With a cost, 0 keeps none.
        q_target: target configurations of the PD controller; (nq,), (T, nq) or (..., T, nq). It needs kp.
        kp: proportional gain (..., nv), N/m or N m/rad, or one number for all joints.
        v_target: target velocities; (nv,), (T, nv) or (..., T, nv); zero if omitted. It needs kd.
        kd: derivative gain (..., nv), N s/m or N m s/rad, or one number for all joints. As in a digital controller, a
            gain above twice the moved inertia over dt is unstable, and chatters at the effort limits; ``damping`` never
            does.
        damping: viscous damping, N s/m or N m s/rad: the model's (True), none (False), (..., nv) or one number.
        friction: Coulomb friction, N or N m, in the same way.
        friction_law: "smoothed", which is constant down to 0.001 rad/s or m/s and proportional to the velocity below,
            so that a joint which it holds creeps; or "stiction", which keeps such a joint at rest and costs more: see
            ``lw.simulate``, whose default it is.
        springs: apply the model's joint springs, evaluated at the beginning of each step.
        effort_limits: largest motor forces, N or N m, in the same way as damping.
        torque: a control law that becomes part of the step: a function of (t, q, v, *parameters) that returns joint
            forces (nv,), made by ``lw.compile``; a plain function of (t, q, v) is compiled here, in every call.
        parameters: of the law, in a tuple, or in a dict by name: each in its own shape s for all steps, (T, *s) or
            (..., T, *s).
        cost: a function of (t, q, v, tau, *parameters) that returns a number, also made by ``lw.compile``. It is summed
            over the steps, each with its initial state and the motors' forces.
        cost_parameters: of the cost, in the same way.
        policy: a Python function over the whole batch, such as a neural network, instead of a law. It takes t (s), q
            (..., nq) and v (..., nv), and returns joint forces (..., nv). A trajectory that became non-finite is passed
            to it in its initial state.
        hold: call the policy every ``hold`` steps, and hold its result in between.
        constraints: loop closures and bilateral contacts, such as ``lw.Weld``, which can push and pull; there is a
            warning if the initial state violates them. See ``lw.constrained_dynamics``. By default those of the model,
            such as the mimic joints of its file; ``()`` for none.
        stabilisation: time constant (s) with which constraint errors decay; 10 dt by default.
        proximal: for redundant constraints; see ``lw.constrained_dynamics``.
        f_ext: external force (N) and moment (N m) on each body, in its own frame; (nbodies, 6), (T, nbodies, 6) or
            (..., T, nbodies, 6).
        joint_limits: stop joints at the model's position limits, inelastically.
        contacts: ``model.contacts`` of a model read from MJCF, or a list of ``lw.Contact``: unilateral, with friction;
            see ``lw.contact_dynamics``. Joint limits, dry joint friction (``friction`` is True or False) and
            constraints are then soft rows of the same problem, and a step is MuJoCo's: damping at the end of the step,
            and the linear velocity of a free joint integrated in world axes. The contact solver is warm-started from
            the previous step, so that a trajectory continued from a record is the same to rounding.
        integrator: "semi_implicit_euler" or "runge_kutta_4", as in ``lw.simulate``.
        method: of the accelerations, as in ``lw.simulate``: "virtual_work" for mechanisms of many loops.
        events: ``lw.Event`` objects: constraints that attach or detach at a time, where a function of the state changes
            its sign, or under too large a force; each trajectory has its own times. Beside contacts there are none.
        inertias: other inertial parameters (..., nbodies, 10) in the order of ``model.inertial_parameters``, a set for
            each trajectory. They are data: a million mechanisms of up to 50 bodies share the same code. Likewise the
            next two; ``damping`` and ``friction`` may differ in any case.
        armature: other rotor inertias (..., nv), kg m² or kg; one number is for all joints.
        placements: other placements (..., nbodies, 4, 4) of the joints on their parents.
        diverged: if a trajectory becomes non-finite: "raise" an error, after all others are done, or set its records
            from there on to "nan".
        executor: distributes the trajectories over its workers: anything with the interface of ``concurrent.futures``,
            for instance a ``ProcessPoolExecutor`` or ``dask.distributed.Client(...).get_executor()``. Trajectories lost
            with a worker that dies are computed here, with a warning.
        chunk: trajectories per job of the executor; by default a 64th of all, but at least 64.
        out: an earlier result of the same shapes to write into and return, which saves allocating memory.

    All of it but a policy is part of the machine code, for mechanisms of any number of bodies, as long as the code of a
    step is not too long; otherwise the interpreter runs it, with a warning.

    Returns:
        A ``Rollout``: t (K,), q (..., K, nq), v (..., K, nv), ``cost`` (...,) if there is one, ``events``, and
        ``trajectory(i)``, one trajectory with its accelerations and forces.

    Raises:
        SimulationError: if a trajectory becomes non-finite; it names the trajectory, the time and a joint, and its
            ``trajectory`` holds everything that was computed.
        ArgumentError: for invalid arguments.

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

        Which gain swings least?

        >>> law = lw.compile(lambda t, q, v, gain: -gain * v, t=(), q=1, v=1, gain=())
        >>> swing = lw.compile(lambda t, q, v, tau: 1e-3 * (q @ q), t=(), q=1, v=1, tau=1)
        >>> gains = np.array([[0.1], [1.0], [10.0]])  # (trajectories, 1)
        >>> tried = lw.rollout(
        ...     pendulum, [[0.5]] * 3, [0.0], torque=law, parameters=(gains,), cost=swing, dt=1e-3, steps=5000, record=0
        ... )
        >>> int(tried.cost.argmin())
        1
    """
    arguments = locals()  # all by name
    check_model(model)
    check_not_traced("lw.rollout", q, v, tau, q_target, v_target)
    choice("diverged", diverged, ("raise", "nan"))
    _check_executor(executor)
    every, length = integer("record", record, 0 if cost is not None else 1), seconds("dt", dt)
    size = None if chunk is None else integer("chunk", chunk, 1)
    hold = integer("hold", hold, 1)
    _check_policy(policy, hold, torque, executor)
    request = request_of(model, arguments, length, steps, every, policy is not None)
    job, batch, keeps = request.job, request.batch, every > 0
    check_start(job.step, job.q, pulled=job.steps > 1)
    into, job = _memory(job, batch, out, keeps)
    loop = host_loop(job, batch, policy, hold) if policy is not None else None
    with stepping():
        status = (loop or job).run(into, get_threads()) if executor is None else spread(job, into, executor, size)
    if status & 1:
        request.check_finite()
    result = _result(job, into, batch, length, keeps, out)
    result._differentiable = job if policy is None and job.step.events is None else None
    if loop is not None:
        result._tau = loop.kept
    if status & 2:
        lost = cut_off(into)
        if diverged == "raise":
            raise _error(job, into, batch, lost, result, loop)
        return result
    _warn_of_end(job, into, batch, length, result.q)
    return result


def _check_executor(executor: Any) -> None:
    if executor is not None and (isinstance(executor, type) or not callable(getattr(executor, "submit", None))):
        raise ArgumentError(
            f"executor must have the interface of concurrent.futures (submit), not {shown(executor)}; "
            f"for a Dask client, pass client.get_executor()"
        )


def _warn_of_end(job: Job, into: Sequence[Array], batch: tuple[int, ...], dt: float, path: Array) -> None:
    """Warn of joints that left their range, and of speeds at which digits are lost."""
    if not job.step.stops and job.step.contacts is None:
        warn_of_range(job.model, path)
    if not job.steps:
        return
    (q, v), last = into[:2], job.steps - (job.steps - 1) // job.every * job.every  # steps of the last record

    def which(trajectory: int) -> str:
        index = ", ".join(map(str, np.unravel_index(trajectory, batch)))
        return f"trajectory [{index}]" if batch else "the trajectory"

    warn_of_speed(job.model, q[:, -1], v[:, -1], abs(v[:, -1] - v[:, -2]) / (last * dt), which)


def _check_policy(policy: Any, hold: int, torque: Any, executor: Any) -> None:
    if policy is None:
        if hold != 1:
            raise ArgumentError("hold is for a policy; a law is part of every step")
        return
    if not callable(policy):
        raise ArgumentError(f"policy must be a function of (t, q, v) over the whole batch, not {shown(policy)}")
    if torque is not None:
        raise ArgumentError("a policy and a law in torque exclude each other; what drives besides can be given as tau")
    if executor is not None:
        raise ArgumentError("a policy is called here, for all trajectories at once; leave the executor out")


def _result(
    job: Job, into: Sequence[Array], batch: tuple[int, ...], dt: float, keeps: bool, out: Rollout | None
) -> Rollout:
    """The records in their shapes, in the memory of ``out`` if it is given."""
    t = np.minimum(np.arange(into[0].shape[1]) * job.every, job.steps) * dt
    kept = slice(None) if keeps else slice(0, 0)
    costs = into[-1].reshape(batch) if job.step.cost is not None else None
    if out is None:
        q, v = (array.reshape((*batch, *array.shape[1:]))[..., kept, :] for array in into[:2])
        result = Rollout(t[kept], q, v, costs)
    else:
        result = out
        result.t[:] = t[kept]
        if costs is not None:
            if isinstance(out.cost, np.ndarray) and out.cost.shape == batch:
                out.cost[...] = costs
            else:
                out.cost = costs
    result._job, result._tau, result._sums, result.events = job, None, None, None
    if job.step.events is not None:
        result._sums = into[2][:, kept]
        result.events = event_record(job.step, result._sums, batch)
    return result


def _memory(job: Job, batch: tuple[int, ...], out: Rollout | None, keeps: bool) -> tuple[list[Array], Job]:
    """The arrays to compute into: those of an earlier result for the records, if it is given, or new ones; and the job,
    which shares none of them.
    """
    if out is None:
        return job.buffers(), job
    count = records(job.steps, job.every) if keeps else 0
    shapes = [(count,), (*batch, count, job.model.nq), (*batch, count, job.model.nv)]
    fits = isinstance(out, Rollout) and all(
        isinstance(array, np.ndarray) and array.shape == shape and array.dtype == np.float64 and array.flags.carray
        for array, shape in zip(out, shapes, strict=True)
    )
    if not fits:
        raise ArgumentError(
            f"out must be an lw.Rollout of contiguous float64 arrays of the shapes {shapes}, as an earlier call gave it"
        )
    into = job.buffers()
    if keeps:
        into[:2] = [array.reshape((len(job), *array.shape[-2:])) for array in (out.q, out.v)]
    return into, job.apart_from(into)


def _error(
    job: Job,
    into: Sequence[Array],
    batch: tuple[int, ...],
    lost: list[tuple[int, int]],
    result: Rollout,
    loop: HostLoop | None,
) -> SimulationError:
    """The error for the first trajectory that became non-finite."""
    if not lost:
        first = int(np.argmin(np.isfinite(into[-1])))
        index = ", ".join(map(str, np.unravel_index(first, batch)))
        message = f"the cost of trajectory [{index}] is not finite; diverged='nan' returns it all"
        return SimulationError(message, job.steps * float(job.parts["dt"][0, 0, 0]), None, result)
    step, joint, reason = explained(job, into, *lost[0]) if loop is None else loop.explained()
    time = step * float(job.parts["dt"][0, 0, 0])
    index = ", ".join(map(str, np.unravel_index(lost[0][0], batch)))
    which, others = (f"trajectory [{index}]", f"; {len(lost)} of {len(job)} do") if batch else ("the trajectory", "")
    message = (
        f"{which} becomes non-finite in step {step} (t = {time:.6g} s): {reason}{others}. All that was computed "
        f"is in the error's trajectory; diverged='nan' returns it instead"
    )
    return SimulationError(message, time, joint, result)
