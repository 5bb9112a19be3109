"""From LLVM IR to code in memory.

Comes in: the text of a module, and a digest of everything that it depends on (``fingerprint``). Goes out: its functions
by address (``jit``), loaded from disk if cached there (``cache``), or compiled and cached now (``loader``).
"""
