"""Unilateral contact with friction, limits and dry friction of joints: MuJoCo's soft convex model.

In: a model, its contacts (``model.contacts``), a state. Out: accelerations and contact forces.

    public                  the user's functions
    law                     a model with contacts: the text that it takes, and compiled functions, kept with it
    text                    their text, with rows over the accelerations of joints or the motions of frames:
    by_joints, by_bodies
    masses                  effective inverse masses in the reference configuration
    collision, boxes        points, distances and normals
    meeting, kept           points of contacts, and the rows of those that touch
    bonds, welds            the rows of constraints; the rotation of welds
    joint_rows              the rows of limits and dry friction
    softness                each row's reference acceleration and regularisation
    drag                    of a medium
    costs, line             cost functions of rows, and their search along a line
    newton                  minimises them, whatever carries the inertia:
    dense, sparse           the mass matrix
    articulated             articulated bodies
"""
