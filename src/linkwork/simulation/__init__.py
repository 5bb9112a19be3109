"""Simulation: a model, its forces and constraints and an integrator give states over time.

``simulate`` returns a ``Trajectory``: one motion, with any torque function, integrator, constraints and joint stops.
``rollout`` (in ``rollouts``) returns a ``Rollout``: many motions at once in machine code. Both repeat a ``step``.

    step_arguments, arguments   the arguments of all, checked in one place
    parts, laws, torques        driving forces: arrays, compiled laws, Python functions
    plant                       the mechanism with all forces and constraints: from a state to accelerations
    stops, impulses, coupled, resistance
                                stops at limits and dry friction of joints: the law of each, one search for all, joints
                                that are coupled, and what carries the inertia
    contact_steps               the integrator of steps with contacts
    penetrations                shapes that overlap at the start
    integrators, tangent        on the configuration manifold, and near one of its points
    events, event_steps         constraints that come and go: what users write, checked; their part of a step
    happened, event_record      what has happened, in one motion and in many
    step                        all of these: one step, as a value and a text
    simulate, run               one motion: its arguments; its loop, around Python functions
    watching                    who watches
    trajectory, tables, files   the result, as tables and on disk
    blow_up, off_constraints    explanations: divergence; a start that violates constraints
    rollouts                    many motions
"""

from linkwork.late import late

__getattr__, __dir__, __all__ = late(__name__, __file__)
