"""Unilateral contact with friction, limits and dry friction of joints: MuJoCo's soft convex model.

In: a model, its contacts (``model.contacts``), a state. Out: accelerations and contact forces. On the way:
``collision`` and ``boxes`` find points, distances and normals, ``softness`` says what each row is asked for, ``kept``
keeps those that touch, ``drag`` is what a medium does; ``costs`` are what the rows cost, ``newton`` finds the least
with ``line`` and ``sparse``, ``implicit`` its derivatives; ``text`` joins them, ``law`` makes functions in code of it,
and ``public`` is what the user calls. For mechanisms of many bodies ``many_bodies`` is what ``law`` and ``text`` are:
``points`` and ``joint_rows`` are its rows, ``search`` its Newton's method.
"""
