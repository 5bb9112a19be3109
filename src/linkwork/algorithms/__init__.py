"""The algorithms, one recursion per file, each written once over any scalar. ``catalogue`` lists them, and imports a
file when its algorithm first runs: cached code needs no import.

    catalogue                                   every algorithm: the spaces of its arguments and results, its forms
    tree, segmented_tree, assembled_tree        the mechanism as algorithms see it: whole, in segments, level by level
    configuration, kinematics                   steps on the configuration manifold; placements and motions of bodies
    jacobian, frame_derivatives, root_frame     of frames; placements in the frame of the root
    centroid, momentum_derivatives              energy, momentum, centre of mass
    inverse_dynamics, reactions                 joint forces; the wrenches that joints transmit
    torque_regressor                            joint forces, linear in the inertial parameters
    mass_matrix, mass_matrix_inverse            M, and M⁻¹ without M
    articulated, articulated_body               forward dynamics by articulated bodies
    composite_body, unit_vector                 by a factorisation of M
    virtual_work, closed_chains, closed_motion  by virtual work, with loops too; from constraints between frames
    constraint_force, constraint_force_segments  by constraint forces, one chain in parallel
    chain_links, cyclic_reduction, pairwise_sum, parallel_prefix, side_branches
                                                what these two are made of
    assembly, answers                           by assembly of sub-chains
    rounding                                    digits that a pivot loses
    joint_motions                               motions of joints with their derivatives, for
    inverse_dynamics_derivatives, forward_dynamics_derivatives, dynamics_products
                                                derivatives of dynamics, and products with them
    joint_drive, linearised_step                forces of a time step; the derivatives of such a step
    supported                                   accelerations with soft supports, such as contacts
    dense, sparse, chang_khatib, force_propagators, extended_propagator, pv
                                                methods for Λ⁻¹; ``fewest_operations`` chooses
    fewest_operations, force_responses, inversion, operational_inertia, consistent_inverse
                                                what follows from them: J M⁻¹, Λ, J̄
"""

from linkwork.algorithms.catalogue import (
    ALGORITHMS,
    CHAIN_METHODS,
    CLOSING,
    FORWARD_DYNAMICS,
    FRAMES,
    INVERSION,
    INVERTING,
    OPERATIONAL,
    PRODUCTS,
    REFERENCES,
    SEGMENTS,
    STEP_PARTS,
    STUDIES,
    SUPPORTED,
    Algorithm,
    along,
    closing,
    closing_pairs,
    linearising,
    named,
    pulling_back,
    step_forces,
    weighed,
)

__all__ = [
    "ALGORITHMS",
    "CHAIN_METHODS",
    "CLOSING",
    "FORWARD_DYNAMICS",
    "FRAMES",
    "INVERSION",
    "INVERTING",
    "OPERATIONAL",
    "PRODUCTS",
    "REFERENCES",
    "SEGMENTS",
    "STEP_PARTS",
    "STUDIES",
    "SUPPORTED",
    "Algorithm",
    "along",
    "closing",
    "closing_pairs",
    "linearising",
    "named",
    "pulling_back",
    "step_forces",
    "weighed",
]
