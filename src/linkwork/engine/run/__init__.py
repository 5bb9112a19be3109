"""What code needs while it runs.

Comes in: code, and arrays that were checked. Goes out: results.

    memory                      addresses, and per-thread workspace
    threads, helper_threads     how many there are, and when they pay; those that help with one call
    entries                     the words by which builtins serve plain arrays
"""
