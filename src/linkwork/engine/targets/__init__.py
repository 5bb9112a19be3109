"""From programs to the text of another language, for machines and compilers that are not this one's.

Comes in: the plan of a traced function. Goes out: the text of functions that compute the same, with the same bits.

    routine     a program with the code with loops that it calls, and the tables of these
    language    a target: attributes, and a table of operations
    pieces      a long program cut into pieces, so that compilers take seconds
    function    a program as functions of a language
    source      all functions and tables of a routine
"""
