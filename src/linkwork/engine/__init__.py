"""The engine: from an algorithm and a model to results, by machine code or by the interpreter.

Its packages, in the order of the data flow; each imports only from those before it.

    optimisations   which passes and kernels are turned off, to measure what they bring
    ir              the intermediate code, its definition and its passes
    spaces          the types of arguments and results: shapes, and conversion between flat numbers and fields
    trace           an algorithm's text to a program: specialised, rolled, segmented; or interpreted
    emit            a program to LLVM IR: kernels and the functions that call them
    code            LLVM IR to code in memory, cached on disk
    run             memory and threads for calls of it
    mode            the form that the caller requests
    plans           a task to a plan: which form, and the one way to run it
    targets         programs in other languages, and for other machines
    function        the plan of a call, kept with the model
    rollout         a step repeated over time
    system_check    a kernel of each kind, compared with the interpreter on this machine
"""
