"""From an algorithm's text to a program.

Comes in: an algorithm, and a model or the joint kinds of one. Goes out: a program of intermediate code, for one model
with every body in turn (``specialise``), for all models of the same joint kinds with loops over bodies (``rolled``), or
with parallel loops over the segments of a long chain (``segmented``); ``tables`` describe a model to rolled code.
``interpreter`` runs the text as it stands instead. ``isomorphic`` and ``superword`` let one state of a robot with
isomorphic branches use the lanes of a vector.
"""
