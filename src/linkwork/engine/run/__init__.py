"""What code needs while it runs.

Comes in: code, and arrays that were checked. Goes out: results, by memory of each thread's own (``memory``), threads
for batches (``threads``), threads that help with one call (``helper_threads``), the entries by which builtins serve
plain arrays (``entries``), and objects that stand for public functions, which builtins answer (``public``).
"""
