"""Unilateral contact with friction, limits and dry friction of joints: MuJoCo's soft convex model.

In: a model, its contacts (``model.contacts``), a state. Out: accelerations and contact forces.

    public                  the user's functions
    law                     the compiled functions of a model with contacts, kept with it
    text, by_bodies         their text over a matrix; over articulated bodies, of any number
    meeting, collision, boxes
                            points, distances and normals
    kept                    the rows of those points that touch
    bonds, joint_rows       the rows of constraints; of limits and dry friction
    softness                each row's reference acceleration and regularisation
    drag                    of a medium
    costs, line             cost functions of rows, and their search along a line
    newton                  minimises them, for a problem that is
    dense, sparse           a matrix, or
    articulated             articulated bodies
    implicit                differentiates the solution
"""
