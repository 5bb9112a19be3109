"""From LLVM's text to code in memory.

Comes in: the text of a module, and a digest of everything that it depends on (``fingerprint``). Goes out: its functions
by address (``jit``), loaded from disk where they were kept (``cache``) or compiled and kept now (``loader``).
"""
