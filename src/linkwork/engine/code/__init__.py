"""From LLVM IR to code in memory.

Comes in: the text of a module, and a digest of everything that it depends on. Goes out: its functions by address.

    fingerprint         digests of everything that code depends on
    cache, target       object code on disk, and LLVM's description of the host
    linker              object code into memory without LLVM; damaged objects are refused
    undisturbed, jit    LLVM, on a thread that no signal interrupts
    cross               other machines
    loader              from memory, from disk, or compiled now
"""
