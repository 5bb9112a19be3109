"""The public functions: they check arguments once, pick method and engine, and return arrays.

The modules, in the order of the data flow:

    arguments, call         from arguments to the engine, and back
    evaluate, traced        the same over any scalar, and in a function that is being traced
    kinematics, dynamics, derivatives, products, reactions, operational
                            functions that are one algorithm each
    light_bodies, high_speeds, lost_digits, diagnosis
                            why a result does not exist, or has lost digits
    inversion, at_points    operational space at points, over arrays
    loads, actuators        forces at points; forces of motors
    varied, possible        parameters as data, and whether they are physical
    held                    constraints on a model, in a state
    constraint_solvers, pair_conditions, closed_chains, coupled_joints
                            solvers for their forces
    constrained_state       rows and forces of constraints in a state
    constrained_points, questions
                            operational space under constraints; from arguments to kernels
    operational_inertia, task_space, operational_rates
                            the functions of operational space, and derivatives
    constrained_call        from arguments to kernels, for the functions
    constrained, constrained_inverse, impacts
                            of dynamics with constraints
    constraint_variations, held_derivatives, redundant_derivatives, constrained_derivatives
                            derivatives of these
    least_squares, search_coordinates, searches
                            searches over configurations
    pose_errors, inverse_kinematics, pose_paths, loops
                            what they look for: targets of frames, closed loops
    contact                 unilateral contact
"""
