"""Functions over NumPy arrays that users write around the dynamics, traced and compiled with it.

Comes in: a function and the shapes of its arguments. Goes out: a function that takes batches, in machine code.

    compiling, law                  ``lw.compile``; the same for linkwork's own texts, whose code is on disk
    tracing, arrays, results        runs the function over arrays of traced numbers; its return value
    functions, scalars, reductions  NumPy over these arrays
    linear_algebra, orthogonal      ``numpy.linalg``
    repeating, subroutine           a text repeated until it converges; one that is emitted once
    kept_rows                       rows that a text keeps where a condition holds
    compiled_function               the program, called with arrays
    derivatives                     ``lw.jvp``, ``lw.vjp`` and ``lw.jacobian_of``
"""
