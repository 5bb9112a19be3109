"""What code needs while it runs.

Comes in: code, and arrays that were checked. Goes out: results, using per-thread memory (``memory``), threads for
batches (``threads``), threads that help with one call (``helper_threads``), the entries by which builtins serve plain
arrays (``entries``), and objects that stand for public functions, whose calls builtins serve (``public``).
"""
