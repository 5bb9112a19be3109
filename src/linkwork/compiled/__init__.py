"""Functions over NumPy arrays that users write around the dynamics, traced and compiled with it.

Comes in: a function and the shapes of its arguments. Goes out: a function that takes batches, in machine code.
"""
