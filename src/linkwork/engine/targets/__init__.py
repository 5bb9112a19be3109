"""From programs to the text of another language, for machines and compilers that are not this one's.

Comes in: the plan of a traced function. Goes out: the text of functions that compute the same, with the same bits.

    routine      a program with the code with loops that it calls, and the tables of these
    language     a target: attributes, and a table of operations
    pieces       a long program cut into pieces, so that compilers take seconds
    statements   statements of a function: values, memory, copies
    function     a program as functions of a language
    inside       programs inside a program, and other code
    source       all functions and tables of a routine
    llvm_module  a routine as LLVM modules, for any machine
"""
