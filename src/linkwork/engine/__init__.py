"""The engine: from an algorithm and a model to results, by machine code or by the interpreter.

Its packages, in the order of the data flow; each imports only from those before it.

    ir       the intermediate code, its definition and its passes
    spaces   the types of arguments and results: shapes, and conversion between flat numbers and fields
    trace    an algorithm's text to a program: specialised, rolled, segmented; or interpreted
    emit     a program to LLVM IR: kernels and the functions that call them
    code     LLVM IR to code in memory, cached on disk
    run      memory and threads for calls of it
    plans    a task to a plan: which form, and the one way to run it

On top: ``function`` finds the plan of a call, ``rollout`` repeats a step over time, ``mode`` holds the requested form.
"""
