"""One motion over time: ``lw.simulate``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import integer, not_negative, old_name, positive, switch
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.dynamics.arguments import Array, check_model
from linkwork.dynamics.call import stepping
from linkwork.dynamics.constrained import METHODS
from linkwork.errors import ArgumentError, LinkworkError, SimulationError, shown
from linkwork.model.all_contacts import as_contacts
from linkwork.model.constraints import Constraint, as_constraints
from linkwork.model.contacts import Contact
from linkwork.model.model import Model
from linkwork.progress import Bar
from linkwork.simulation.arguments import (
    check_not_traced,
    constant_wrenches,
    damping_of,
    effort_limits_of,
    friction_of,
    model_switch,
    one_state,
    time_steps,
    warn_of_no_effort,
    warn_of_range,
    warn_of_speed,
)
from linkwork.simulation.blow_up import BLOWN_UP, joint_of
from linkwork.simulation.contact_steps import warn_of_depth
from linkwork.simulation.integrators import Adaptive, check_integrator, integrator_of
from linkwork.simulation.laws import Parameters, as_law, one_row, parameters_of
from linkwork.simulation.off_constraints import warn_of_errors
from linkwork.simulation.record import Record
from linkwork.simulation.resistance import StictionAndStops
from linkwork.simulation.run import Run
from linkwork.simulation.scene import Scene
from linkwork.simulation.step import Step
from linkwork.simulation.torques import Controller, Torque, driven_by, following, plain_function, source_of
from linkwork.simulation.trajectory import Trajectory
from linkwork.simulation.watching import Ended, Watched, as_viewer

Load = Callable[[float, Array, Array], ArrayLike] | ArrayLike | None


def simulate(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    duration: float,
    dt: float,
    *,
    tau: ArrayLike | None = None,
    torque: Torque = None,
    parameters: Parameters = None,
    constraints: Sequence[Constraint] | Constraint | None = None,
    f_ext: Load = None,
    method: str = "articulated_body",
    integrator: str = "semi_implicit_euler",
    damping: bool = True,
    friction: bool = True,
    springs: bool = True,
    effort_limits: bool = True,
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
    progress: bool | None = None,
    viewer: Any = None,
) -> Trajectory:
    """Simulate the motion of a mechanism over time.

    A simulation that is long enough (for an arm, some thousands of steps; with friction or stops 20 steps for each
    body, 200 in loops), or has been run often enough, runs in machine code: many steps per call, or one step per call
    if a Python function computes the torque. Large mechanisms, external wrenches from a Python function, the adaptive
    integrator and methods other than "articulated_body" are stepped in Python.

    Args:
        model: the mechanism.
        q: initial configuration (nq,).
        v: initial velocity (nv,).
        duration: s, a multiple of dt.
        dt: time step (s); for the adaptive integrator the interval between states, within which it chooses its own
            steps.
        tau: joint forces, N or N m: (nv,) for all steps, or (steps, nv) with a row for each step; zero if omitted.
        torque: a control law instead of tau: a function of (t, q, v) that returns tau (nv,), or a controller (an object
            with a method ``torque(t, q, v)``). A function of (t, q, v, *parameters) made by ``lw.compile`` becomes part
            of the step's code.
        parameters: of such a compiled function, in a tuple, or in a dict by name, each in its own shape.
        constraints: loop closures and bilateral contacts, such as ``lw.Weld``, which can push and pull; there is a
            warning if the initial state violates them. See ``lw.constrained_dynamics``. By default those of the model,
            such as the mimic joints of its file; ``()`` for none.
        f_ext: external wrench (nbodies, 6) on each body, in its own frame, N and N m: constant, or a function of
            (t, q, v), which may be compiled, too.
        method: of ``lw.forward_dynamics``, or of ``lw.constrained_dynamics`` if there are constraints.
        integrator: "semi_implicit_euler" (order 1, one evaluation per step), "runge_kutta_4" (order 4, on the manifold)
            or "adaptive" (a scipy solver with error control).
        damping: apply the model's viscous joint damping. Semi-implicit Euler evaluates it at the end of the step, so
            that any damping is stable; the other integrators evaluate it explicitly, so that strong damping needs a
            small step.
        friction: apply the model's joint friction. The law is Coulomb friction with stiction: a force constant over a
            step that stops a joint or opposes its motion, never adds energy, and keeps a joint at rest where it is.
            ``lw.rollout`` has the other law, smoothed Coulomb friction, under which such a joint creeps.
        springs: apply the model's joint springs, evaluated explicitly in each evaluation of the integrator.
        effort_limits: clamp the driving forces, ``tau`` or ``torque``, to the model's effort limits.
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
    check_model(model)
    check_not_traced("lw.simulate", q, v, tau)
    torque = _driving(tau, torque)
    here, speed = one_state(model, "q", "configuration", q), one_state(model, "v", "velocity", v)
    length, steps = time_steps(duration, dt)
    every, held = min(integer("record", record, 1), steps), 0 if hold is None else integer("hold", hold, 1)
    time_constant = 10.0 * length if stabilisation is None else positive("stabilisation", stabilisation)
    proximal = not_negative("proximal", proximal)
    check_integrator(integrator, solver)
    tolerances = positive("rtol", rtol), positive("atol", atol)
    held_by = model.constraints if constraints is None else as_constraints(constraints)
    by_default = isinstance(method, str) and method == "articulated_body"
    smooth = contacts is None
    if held_by and not (isinstance(method, str) and method in METHODS):
        hint = "; or pass constraints=(), to leave out those of the model" if constraints is None else ""
        known = ", ".join(METHODS)
        raise ArgumentError(f"constraints are solved for by {known}; leave method {shown(method)} out{hint}")
    if not smooth and (not by_default or integrator == "adaptive"):
        raise ArgumentError("contacts take the default method, and no adaptive integrator")
    rubs, stops = model_switch("friction", friction), model_switch("joint_limits", joint_limits)
    resistance = StictionAndStops(model, friction_of(model, rubs and smooth), stops and smooth, here, held_by)
    load = _load_of(model, f_ext)
    watched = None if viewer is None else Watched(as_viewer(viewer), load)
    load = load if watched is None else watched
    law, own = _law_of(model, torque, parameters)
    forces_wanted = switch("contact_forces", contact_forces)
    step = Step(
        model, integrator, law, load if isinstance(load, CompiledFunction) else None, None, held_by, time_constant,
        proximal, tuple(resistance.joints), None if smooth else as_contacts(contacts), not smooth and rubs,
        forces_wanted or watched is not None,
    )  # fmt: skip
    if step.contacts is not None and step.touching is not None:
        warn_of_depth(model, here[None], step.contacts)
    warn_of_errors(model, here[None], held_by, time_constant if smooth else None)
    adaptive = Adaptive(model, solver, *tolerances) if integrator == "adaptive" else None
    most = effort_limits_of(model, model_switch("effort_limits", effort_limits))
    if effort_limits and torque is not None:
        warn_of_no_effort(model)
    parts = {"damping": damping_of(model, model_switch("damping", damping))}
    if model_switch("springs", springs) and model.stiffness.any():
        parts |= {"stiffness": model.stiffness, "springref": model.springref}
    parts = {name: array for name, array in parts.items() if name != "damping" or array.any()}
    asked = (lambda t, q, v: law(t, q, v, *own)) if law is not None else torque
    source = source_of(model, asked, steps, held, most)
    plant = step.plant(length, parts, source=source, load=load, method=method)
    limits = {} if np.isinf(most).all() else {"effort": np.minimum(most, np.finfo(np.float64).max)}
    kind = driven_by(torque)
    scene = Scene(
        step, kind, held if law is not None else 0, isinstance(load, np.ndarray),
        parts | limits if kind in ("law", "given") else parts,
    )  # fmt: skip
    bar_wanted = Bar.wanted(None if progress is None else switch("progress", progress))
    states = Record(model, steps, every, scene.wrenches if smooth or forces_wanted else 0, length)
    bar = Bar(f"simulating {model.name}", steps) if bar_wanted else None
    run = Run(plant, adaptive or integrator_of(step), resistance, states, steps, every, length, bar, watched)
    with _ending(run), stepping():
        if by_default and integrator != "adaptive" and (load is None or not plain_function(load)):
            given = dict(zip(scene.parameters, (each.reshape(1, -1) for each in own), strict=True))
            if scene.loaded:
                given["f_ext"] = np.asarray(load).reshape(1, -1)
            if scene.driven == "table":
                given["following"] = following(model, torque, steps, most)
            run.prepare(scene, held, given, here, speed)
        run.go(here, speed)
    path = states.trajectory(interrupted=run.interrupted)
    if not joint_limits and smooth and not run.interrupted:
        warn_of_range(model, path.q)
    if len(path) > 1:
        warn_of_speed(model, path.q[-1:], path.v[-1:], abs(path.a[-1:]), lambda _: "the simulation")
    return path


def _driving(tau: ArrayLike | None, torque: Torque) -> Torque:
    """The torque source of a simulation: the numbers of tau, or the function or controller of torque."""
    if tau is None:
        if isinstance(torque, list | tuple | np.ndarray):
            old_name("torque with numbers", "tau", 4)
        return torque
    if torque is not None:
        raise ArgumentError("tau and torque exclude each other; a law in torque may add what tau has")
    if isinstance(tau, Controller) or callable(tau):
        raise ArgumentError(f"tau must be numbers, not {shown(tau)}; what says them goes into torque")
    return tau


def _load_of(model: Model, f_ext: Load) -> Callable[[float, Array, Array], ArrayLike] | Array | None:
    """The external wrenches: None, a constant array, or the function that computes them."""
    if isinstance(f_ext, CompiledFunction):
        law = as_law(model, "f_ext", f_ext, (len(model.bodies), 6))
        parameters_of(law, "load", "f_ext", None, 3)
        return law
    return f_ext if f_ext is None or callable(f_ext) else constant_wrenches(model, f_ext)


def _law_of(model: Model, torque: Torque, parameters: Parameters) -> tuple[CompiledFunction | None, list[Array]]:
    """The control law, if it is compiled, and its parameters."""
    law = as_law(model, "torque", torque, (model.nv,)) if isinstance(torque, CompiledFunction) else None
    given = parameters_of(law, "law", "parameters", parameters, 3).values()
    return law, [numbers.reshape(shape) for name, numbers, shape in given if one_row(name, numbers)]


@contextmanager
def _ending(run: Run) -> Iterator[None]:
    """Tell the viewer when a run begins and ends, mark interrupted runs, and add time and states to errors."""
    model, watched, step = run.plant.model, run.watched, run.plant.of
    try:
        if watched is not None:
            watched.viewer.begin(model, step.constraints, step.contacts)
        yield
    except (KeyboardInterrupt, Ended):
        run.interrupted = True
    except (LinkworkError, np.linalg.LinAlgError) as error:
        if not len(run.states):  # the arguments are at fault
            raise
        raise _stopped(model, run.t, run.v, run.plant.tau, error, run.states.trajectory()) from error
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
