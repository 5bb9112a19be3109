"""Unilateral contact with friction, limits and dry friction of joints: MuJoCo's soft convex model.

In: a model, its contacts (``model.contacts``), a state. Out: accelerations and contact forces. On the way:
``collision`` finds points, distances and normals, ``softness`` what each row is asked for, ``newton`` solves the
problem; ``law`` joins them into one text over scalars, ``public`` is what the user calls.
"""
