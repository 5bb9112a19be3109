"""What code needs while it runs.

Comes in: code, and arrays that were checked. Goes out: results, using per-thread memory (``memory``), threads for
batches (``threads``), threads that help with one call (``helper_threads``), and the entries by which builtins serve
plain arrays (``entries``).
"""
