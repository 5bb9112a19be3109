"""The intermediate code: its definition, by text and by running it, and the passes over it.

Comes in: instructions, as tracing writes them. Goes out: a program that is well formed (``verifier``), without dead
code and in an order suited to machine code (``passes``), whose semantics ``evaluator`` defines.
"""
