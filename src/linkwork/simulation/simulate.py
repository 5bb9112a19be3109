"""One motion over time: ``lw.simulate``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import integer, old_name, positive, switch
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.dynamics.arguments import Array, check_model
from linkwork.dynamics.call import stepping
from linkwork.errors import ArgumentError, LinkworkError, SimulationError, shown
from linkwork.late import LateFunction
from linkwork.model.constraints import Constraint
from linkwork.model.contacts import Contact
from linkwork.model.model import Model
from linkwork.progress import Bar
from linkwork.simulation.arguments import (
    check_not_traced,
    one_state,
    time_steps,
    warn_of_range,
    warn_of_speed,
)
from linkwork.simulation.blow_up import BLOWN_UP, joint_of
from linkwork.simulation.evaluations import Functions
from linkwork.simulation.integrators import Adaptive, check_integrator
from linkwork.simulation.jobs import job_of
from linkwork.simulation.laws import Parameters, as_law, check_constant, parameters_of
from linkwork.simulation.parts import of_one_motion
from linkwork.simulation.run import Run
from linkwork.simulation.start import check_start
from linkwork.simulation.step import Step
from linkwork.simulation.step_arguments import StepArguments, step_arguments
from linkwork.simulation.torques import Controller, Torque, load_of, torque_of
from linkwork.simulation.trajectory import Trajectory
from linkwork.simulation.watching import ViewerClosed, ViewerLoads, as_viewer

if TYPE_CHECKING:
    from linkwork.simulation.events import Event

check_events = LateFunction("linkwork.simulation.events:check_events")

Load = Callable[[float, Array, Array], ArrayLike] | ArrayLike | None


def simulate(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    duration: float,
    dt: float,
    *,
    tau: ArrayLike | None = None,
    q_target: ArrayLike | None = None,
    kp: ArrayLike | None = None,
    v_target: ArrayLike | None = None,
    kd: ArrayLike | None = None,
    torque: Torque = None,
    parameters: Parameters = None,
    constraints: Sequence[Constraint] | Constraint | None = None,
    f_ext: Load = None,
    method: str = "articulated_body",
    integrator: str = "semi_implicit_euler",
    damping: bool | ArrayLike = True,
    friction: bool | ArrayLike = True,
    friction_law: str = "stiction",
    springs: bool = True,
    effort_limits: bool | ArrayLike = True,
    joint_limits: bool = False,
    contacts: Sequence[Contact] | None = None,
    contact_forces: bool = False,
    hold: int | None = None,
    record: int = 1,
    stabilisation: float | None = None,
    proximal: float = 0.0,
    solver: str = "DOP853",
    rtol: float = 1e-8,
    atol: float = 1e-10,
    events: Sequence[Event] | Event | None = None,
    progress: bool | None = None,
    viewer: Any = None,
) -> Trajectory:
    """Simulate the motion of a mechanism over time.

    It is a ``lw.rollout`` of one trajectory, with the same numbers to the last bit, that also records accelerations and
    forces. It runs in machine code: many steps per call, or one step per call if Python functions compute torques or
    external wrenches. Only the adaptive integrator is stepped in Python, and what is too long for machine code.

    Args:
        model: the mechanism.
        q: initial configuration (nq,).
        v: initial velocity (nv,).
        duration: s, a multiple of dt.
        dt: time step (s); for the adaptive integrator the interval between states, within which it chooses its own
            steps.
        tau: joint forces, N or N m: (nv,) for all steps, or (steps, nv) with a row for each step; zero if omitted.
        q_target: target configuration of a PD controller, (nq,) or (steps, nq), with its gain ``kp`` (nv,), N/m or
            N m/rad, or one number for all joints.
        kp: see q_target.
        v_target: target velocity, (nv,) or (steps, nv), zero if omitted, with its gain ``kd`` (nv,), N s/m or
            N m s/rad, or one number.
        kd: see v_target.
        torque: a control law, whose forces are added to these: a function of (t, q, v) that returns them (nv,), or a
            controller (an object with a method ``torque(t, q, v)``). A function of (t, q, v, *parameters) made by
            ``lw.compile`` becomes part of the step's code.
        parameters: of such a compiled function, in a tuple, or in a dict by name, each in its own shape.
        constraints: loop closures and bilateral contacts, such as ``lw.Weld``, which can push and pull; there is a
            warning if the initial state violates them. See ``lw.constrained_dynamics``. By default those of the model,
            such as the mimic joints of its file; ``()`` for none.
        f_ext: external wrench (nbodies, 6) on each body, in its own frame, N and N m: constant, (steps, nbodies, 6), or
            a function of (t, q, v), which may be compiled, too.
        method: of ``lw.forward_dynamics``, or of ``lw.constrained_dynamics`` if there are constraints.
        integrator: "semi_implicit_euler" (order 1, one evaluation per step), "runge_kutta_4" (order 4, on the manifold)
            or "adaptive" (a scipy solver with error control).
        damping: viscous joint damping, N s/m or N m s/rad: the model's (True), none (False), (nv,) or one number for
            all joints. Semi-implicit Euler evaluates it at the end of the step, so that any damping is stable; the
            other integrators evaluate it explicitly, so that strong damping needs a small step.
        friction: Coulomb friction of the joints, N or N m, in the same way.
        friction_law: "stiction": a force constant over a step that stops a joint or opposes its motion, never adds
            energy, and keeps a joint at rest where it is; or "smoothed", the default of ``lw.rollout``: proportional to
            the velocity below 0.001 rad/s or m/s, so that such a joint creeps, and cheaper.
        springs: apply the model's joint springs, evaluated explicitly in each evaluation of the integrator.
        effort_limits: limits of the driving forces (the sum of ``tau``, ``torque`` and the PD controller), N or N m, in
            the same way as damping.
        joint_limits: stop joints at the model's position limits, inelastically.
        contacts: ``model.contacts`` of a model read from MJCF, or a list of ``lw.Contact``: unilateral, with friction;
            see ``lw.contact_dynamics``. Joint limits, dry joint friction and constraints are then soft rows of the same
            problem, and a step of semi-implicit Euler is MuJoCo's: damping at the end of the step, and the linear
            velocity of a free joint integrated in world axes.
        contact_forces: record the contact forces, as ``constraint_forces`` (K, p, 6) of the trajectory: for each
            contact point the force (N) on the body that carries ``frame``, and its moment (N m) about the world's
            origin, in world axes, evaluated in the recorded state.
        hold: call a controller or function only every ``hold`` steps and hold its result in between, as a digital
            controller does; by default it is called for every evaluation of the integrator.
        record: keep a state every ``record`` steps, and the first and the last.
        stabilisation: time constant (s) with which constraint errors decay; 10 dt by default.
        proximal: for redundant constraints; see ``lw.constrained_dynamics``.
        solver: for "adaptive": "RK23", "RK45", "DOP853", "Radau", "BDF" or "LSODA" of scipy.
        rtol: for "adaptive": relative tolerance of a step.
        atol: for "adaptive": absolute tolerance of a step.
        events: ``lw.Event`` objects: constraints that attach or detach at a time, where a function of the state changes
            its sign, or under too large a force. They take the default method and no contacts; Runge-Kutta beside them
            takes forces that are held or compiled.
        progress: show a progress bar on stderr. By default it is shown in a terminal or a notebook, if the run takes
            more than a second; ``LINKWORK_PROGRESS=0`` in the environment turns this default off.
        viewer: a view, as from ``lw.show(model)``, that shows the motion and its forces in real time while it is
            computed, and in which bodies can be pulled with the mouse; its button "end" does what Ctrl-C does.

    Returns:
        A Trajectory with the states at multiples of dt, the first included. Ctrl-C ends the simulation early and
        returns the states computed so far, with ``interrupted`` set.

    Raises:
        SimulationError: if the motion diverges or a torque is non-finite; it names the time and the joint, and its
            ``trajectory`` holds the motion so far.
        ArgumentError: for invalid arguments, or if the accelerations of the first state cannot be computed.

    Example:
        >>> import linkwork as lw
        >>> pendulum = lw.mechanisms.pendulum()
        >>> swing = lw.simulate(pendulum, [1.0], [0.0], 2.0, 0.01, integrator="runge_kutta_4")
        >>> swing.q[-1].round(4)
        array([0.6218])
        >>> weight = lambda t, q, v: lw.gravity_torques(pendulum, q)
        >>> held = lw.simulate(pendulum, [1.0], [0.0], 2.0, 0.01, torque=weight)
        >>> bool(abs(held.q - 1.0).max() < 1e-12)
        True
    """
    arguments = locals()  # all by name
    check_model(model)
    check_not_traced("lw.simulate", q, v, tau)
    run = _run_of(model, arguments)
    with _ending(run), stepping():
        run.go()
    path = run.trajectory()
    _warn_of_end(run.job.step, path)
    return path


def _run_of(model: Model, arguments: dict[str, Any]) -> Run:
    """The loop of a simulation, from all its ``arguments`` by name."""
    arguments["tau"], torque = _driving(arguments["tau"], arguments["torque"])
    q, v = one_state(model, "q", "configuration", arguments["q"]), one_state(model, "v", "velocity", arguments["v"])
    dt, steps = time_steps(arguments["duration"], arguments["dt"])
    every, hold = min(integer("record", arguments["record"], 1), steps), arguments["hold"]
    hold = 0 if hold is None else integer("hold", hold, 1)
    adaptive = _adaptive(model, arguments)
    wanted, load = switch("contact_forces", arguments["contact_forces"]), _load_of(model, arguments["f_ext"])
    viewer = None if arguments["viewer"] is None else as_viewer(arguments["viewer"])
    law, in_code = _compiled(torque), _compiled(load) if viewer is None else None
    options = {**arguments, "torque": law}
    of_steps = step_arguments(model, dt, options, torque is not None, in_code, wanted or viewer is not None)
    of_steps = _of_one_motion(of_steps, hold, steps)
    step, parts, inputs = of_steps
    check_start(step, q[None])
    watched = None if viewer is None else ViewerLoads(viewer, load or _table(parts.pop("f_ext", None), dt))
    function = None if torque is None or law is not None else torque_of(model, torque)
    told = watched or (load if in_code is None else None)
    functions = Functions(function, hold, None if told is None else load_of(model, told), watched)
    _check_events(step, inputs, steps * dt, functions)
    job = job_of(of_steps, q[None], v[None], dt, steps, 1 if watched else every, observed=True)
    kept = every if watched else 1, step.contacts is None or wanted
    return Run(job, functions, adaptive, _bar(model, steps, arguments["progress"]), kept)


def _adaptive(model: Model, arguments: Mapping[str, Any]) -> Adaptive | None:
    """The adaptive integrator, if it is the one that is chosen; None for that of the step."""
    check_integrator(arguments["integrator"], arguments["solver"])
    tolerances = [positive(name, arguments[name]) for name in ("rtol", "atol")]
    return Adaptive(model, arguments["solver"], *tolerances) if arguments["integrator"] == "adaptive" else None


def _compiled(function: Any) -> CompiledFunction | None:
    """A function that becomes part of the step's code; None for any other."""
    return function if isinstance(function, CompiledFunction) else None


def _of_one_motion(of_steps: StepArguments, hold: int, steps: int) -> StepArguments:
    """Those of one motion, whose law is evaluated every ``hold`` steps: for each step the same parameters."""
    step, parts, inputs = of_steps
    if step.law is not None and hold:
        step = replace(step, hold=hold)
    check_constant(inputs)
    return StepArguments(step, of_one_motion(step.model, parts, steps), inputs)


def _bar(model: Model, steps: int, progress: Any) -> Bar | None:
    """The progress bar, if it is wanted."""
    wanted = Bar.wanted(None if progress is None else switch("progress", progress))
    return Bar(f"simulating {model.name}", steps) if wanted else None


def _warn_of_end(step: Step, path: Trajectory) -> None:
    """Warn of joints that left their range, and of speeds at which digits are lost."""
    if not (step.stops or step.contacts is not None or path.interrupted):
        warn_of_range(step.model, path.q)
    if len(path) > 1:
        warn_of_speed(step.model, path.q[-1:], path.v[-1:], abs(path.a[-1:]), lambda _: "the simulation")


def _check_events(step: Step, data: Mapping[str, Any], duration: float, functions: Functions) -> None:
    """An error if events cannot happen, or if Python functions would have to say something within a step with them."""
    if step.events is None:
        return
    check_events(step.events, data, duration)
    if step.several and (functions.load is not None or (functions.torque is not None and not functions.hold)):
        raise ArgumentError(
            "events beside integrator='runge_kutta_4' take no Python function that is called several times in a step: "
            "compile it by lw.compile, pass hold=1 for a torque, or leave the viewer out"
        )


def _driving(tau: ArrayLike | None, torque: Torque) -> tuple[ArrayLike | None, Torque]:
    """tau and torque, also if the numbers of tau are passed as torque."""
    if isinstance(torque, list | tuple | np.ndarray):
        if tau is not None:
            raise ArgumentError("torque must be a function of (t, q, v) or a controller; numbers go into tau")
        old_name("torque with numbers", "tau")
        return torque, None
    if tau is not None and (callable(tau) or isinstance(tau, Controller)):
        raise ArgumentError(f"tau must be numbers, not {shown(tau)}; what says them goes into torque")
    return tau, torque


def _load_of(model: Model, f_ext: Load) -> Any:
    """The function that computes the external wrenches, if there is one."""
    if isinstance(f_ext, CompiledFunction):
        law = as_law(model, "f_ext", f_ext, (len(model.bodies), 6))
        parameters_of(law, "load", "f_ext", None, 3)
        return law
    return f_ext if callable(f_ext) else None


def _table(rows: Array | None, dt: float) -> Any:
    """External wrenches over time as a function of time; None for none."""
    if rows is None:
        return None
    return lambda t, q, v: rows[min(round(t / dt), len(rows) - 1)].reshape(-1, 6)


@contextmanager
def _ending(run: Run) -> Iterator[None]:
    """Tell the viewer when a run begins and ends, mark interrupted runs, and add time and states to errors."""
    step, watched = run.job.step, run.functions.watched
    model = step.model
    try:
        if watched is not None:
            watched.viewer.begin(model, step.constraints, step.contacts)
        yield
    except (KeyboardInterrupt, ViewerClosed):
        run.interrupted = True
    except (LinkworkError, np.linalg.LinAlgError) as error:
        if not run.count:  # the arguments are at fault
            raise
        raise _stopped(model, run.t, run.v, run.plant.tau, error, run.trajectory()) from error
    finally:
        if run.bar is not None:
            run.bar.close()
        if watched is not None:
            watched.viewer.done()


def _stopped(model: Model, t: float, v: Array, tau: Array, error: Exception, trajectory: Trajectory) -> SimulationError:
    """The error with its time and joint: the joint with a non-finite number, or else the fastest."""
    bad = next((np.flatnonzero(~np.isfinite(numbers)) for numbers in (tau, v) if not np.isfinite(numbers).all()), None)
    if not model.nv:
        return SimulationError(
            f"the simulation of {model.name!r} stopped at t = {t:.6g} s: {error}", t, None, trajectory
        )
    index = int(bad[0]) if bad is not None else int(abs(v).argmax())
    joint = joint_of(model, index)
    reason = f"{error}"
    if bad is None and abs(v[index]) > BLOWN_UP:
        reason = "the motion has blown up; a smaller dt may help, or another integrator"
    return SimulationError(
        f"the simulation of {model.name!r} stopped at t = {t:.6g} s, where joint {joint!r} has velocity {v[index]:.3g} "
        f"and torque {tau[index]:.3g}: {reason}. The error's trajectory holds the {len(trajectory)} states so far",
        t,
        joint,
        trajectory,
    )
