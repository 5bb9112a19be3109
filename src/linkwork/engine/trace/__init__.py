"""From an algorithm's text to a program.

Comes in: an algorithm, and a model or the joint kinds of one. Goes out: a program of intermediate code.

    tracer, conditions      scalars that record every operation; decisions made at run time
    interpreter             no program: the text run as it stands, over floats, batches or mpmath
    specialise              one model, every body in turn
    isomorphic, superword   isomorphic branches packed into vectors, for one state
    tables                  a model as integers and numbers, for code with loops
    rolled                  all models of the same joint kinds: loops over bodies
    rolled_symbols, rolled_fields, rolled_paths, rolled_loops
                            bodies, fields, paths of frames and loops of closed chains there
    replay, differentiate   a program without loops over other scalars; its derivatives, forward or reverse
    transcribe              a program with loops, written again: as it stands, or with
    push_loops, pull_loops  its derivatives, forward or reverse
    overwriting             which fields these must keep
    derive_loops            the order of these passes
"""
