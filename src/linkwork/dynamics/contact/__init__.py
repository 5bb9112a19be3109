"""Unilateral contact with friction, limits and dry friction of joints: MuJoCo's soft convex model.

In: a model, its contacts (``model.contacts``), a state. Out: accelerations and contact forces. The steps:
``collision`` and ``boxes`` find points, distances and normals; ``softness`` computes each row's reference acceleration
and regularisation; ``kept`` keeps the rows in contact; ``drag`` is the drag of a medium; ``costs`` has the rows' cost
functions; ``newton`` minimises them with ``line`` and ``sparse``; ``implicit`` differentiates the solution; ``text``
combines these, ``law`` compiles them, and ``public`` has the user's functions. For mechanisms of many bodies,
``many_bodies`` replaces ``law`` and ``text``, with rows in ``points`` and ``joint_rows`` and Newton's method in
``search``.
"""
