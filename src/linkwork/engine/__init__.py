"""The engine: from an algorithm and a model to results, by machine code or by the interpreter.

Its rooms, in the order of the data; each imports only from those before it.

    ir       the intermediate code, its definition and its passes
    spaces   what arguments and results are: shapes, and the way between flat numbers and fields
    trace    an algorithm's text to a program: specialised, rolled, segmented; or interpreted
    emit     a program to LLVM's text: kernels and the functions that call them
    code     LLVM's text to code in memory, kept on disk
    run      memory and threads for calls of it
    plans    a task to a plan: which form, and the one way to run it

On top: ``function`` finds the plan of a call, ``rollout`` repeats a step over time, ``mode`` says which form is asked
for.
"""
