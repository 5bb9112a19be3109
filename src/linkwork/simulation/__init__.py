"""Simulation: a model, its forces and constraints and an integrator give states over time.

``simulate`` returns a ``Trajectory``: one motion, with accelerations and forces, around any torque function.
``rollout`` (in ``rollouts``) returns a ``Rollout``: many motions at once. Both make a ``Job`` of the same arguments and
repeat the same ``step``.

    step_arguments, arguments   the arguments of all, checked in one place
    parts, laws, torques        driving forces: arrays, compiled laws, Python functions
    plant                       the mechanism with all forces and constraints: from a state to accelerations
    stops, impulses, coupled, resistance
                                stops at limits and dry friction of joints: the law of each, one search for all, joints
                                that are coupled, and what carries the inertia
    contact_steps               the integrator of steps with contacts
    start, off_constraints, penetrations
                                checks of initial states: limits, violated constraints, shapes that overlap
    integrators, tangent        on the configuration manifold, and near one of its points
    events, event_steps         constraints that come and go: what users write, checked; their part of a step
    happened, event_record      what has happened, in one motion and in many
    step                        all of these: one step, as a value and a text
    step_plans                  its plans over time
    jobs                        all data that trajectories need: the time loop over them
    simulate, run               one motion: its arguments; its loop
    evaluations, watching       Python functions in it, and what they say to code; who watches
    trajectory, tables, files   the result, as tables and on disk
    blow_up, divergence         which joint, which trajectory became non-finite, where and why
    rollouts                    many motions
"""

from linkwork.late import late

__getattr__, __dir__, __all__ = late(__name__, __file__)
