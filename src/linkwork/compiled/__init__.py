"""What users write around the dynamics, compiled with it: functions over NumPy arrays, traced.

Comes in: a function and the shapes of its arguments. Goes out: a function that takes batches, in machine code.
"""
