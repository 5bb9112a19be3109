"""From a program to LLVM IR.

Comes in: a program of intermediate code, and its interface: how many numbers a state has in each argument and result.
Goes out: the text of an LLVM module with a kernel and the functions that call it: for a batch (``packing``,
``row_kernel``), for one state over lanes and threads (``parallel``), over time (``time_loop``); and functions
of Python's stable ABI that serve calls (``builtin``, ``serve``, ``python_arrays``, ``python_calls``). ``call_frame``
declares their arguments by name, ``writer`` writes their lines.
"""
