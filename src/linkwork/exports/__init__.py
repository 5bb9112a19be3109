"""Compiled functions for other machines and languages: ``lw.export``.

Comes in: a function of ``lw.compile``, a controller, or the name of a public function with a model. Goes out: a folder
of files that compute the same without Python, or with NumPy alone.

    unit            what is exported: a function, with names, units and owners of its numbers
    named, steps    public functions of a model by their names; one step of a simulation
    identifiers     names that C, C++ and JavaScript accept
    status          what a call returns, and the texts that explain it
    samples         states with the expected bits
    c_source        the source and the header in C99 and C++
    self_test       a program that compares with the expected bits
    readme          how to build and call, and what the numbers are
    templates       texts of files, with places to fill
    c99, objects, python_module, wasm
                    the targets: from a unit to files; objects are also shared libraries
    wasm_binary, wasm_script, page
                    a module made of an object; its wrapper; a page in which a mechanism moves
    folder          the files, written as a whole
    export          ``lw.export``
"""
