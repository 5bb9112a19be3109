"""Unilateral contact with friction, limits and dry friction of joints: MuJoCo's soft convex model.

In: a model, its contacts (``model.contacts``), a state. Out: accelerations and contact forces.

    public                  the user's functions
    law                     the compiled functions of a model with contacts, kept with it
    text                    their text, up to 50 bodies:
    collision, boxes        points, distances and normals
    kept                    the rows of those points that touch
    softness                each row's reference acceleration and regularisation
    drag                    of a medium
    costs, line             cost functions of rows, and their search along a line
    newton, sparse          minimises them
    implicit                differentiates the solution
    many_bodies             more bodies, in the place of ``law`` and ``text``:
    points, joint_rows      single rows, for all states
    search                  Newton's method by articulated bodies
"""
