"""The intermediate code: its definition, by text and by running it, and the passes over it.

Comes in: instructions, as tracing writes them. Goes out: a program that is well formed, without dead code and in an
order suited to machine code.

    address         where a number lies
    program         instructions, blocks, loops, and their text
    passes          dead-code elimination, order
    merge           identical cases of a loop become one
    shared_calls    calls of code whose numbers another call has, too
    lists           items of lists on the lanes of one state
    layout          fields that loops use together lie side by side
    evaluator       defines the code by running it
"""
