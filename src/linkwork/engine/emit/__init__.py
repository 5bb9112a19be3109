"""From a program to LLVM IR.

Comes in: a program of intermediate code, and its interface: how many numbers a state has in each argument and result.
Goes out: the text of an LLVM module with a kernel and the functions that call it.

    writer, bitwise, call_frame     lines of LLVM IR; the bits of values; the arguments of code, by name
    arithmetic                      over the lanes of a vector
    loops                           over bodies, and values handed on in registers
    kernel, row_kernel, columns     a program for a tile; with rows as results; for one column of matrices
    repeating, kept_rows, fold_kernel, calling, sparing
                                    in a kernel: texts repeated, rows kept and folded, code called, shorter variants
    packing, refilled, streaming    a batch: tiles; lanes that take the next state; large results past the caches
    spinning, mailbox               threads: waiting, jobs
    time_loop                       a step repeated
    builtin, serve                  a function of Python's stable ABI: a call with plain arrays
    python_arrays, python_calls     arrays and calls of Python there
"""
