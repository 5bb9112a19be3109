"""Compiled functions for other machines and languages: ``lw.export``.

Comes in: a function of ``lw.compile``, a controller, or the name of a public function with a model. Goes out: a folder
of files that compute the same without Python, or with NumPy alone.

    unit        what is exported: a function, with names, units and owners of its numbers
    named       public functions of a model by their names
    identifiers names that C, C++ and JavaScript accept
    status      what a call returns, and the texts that explain it
    samples     states with the expected bits
    c_source    the source and the header in C99 and C++
    folder      the files, written as a whole
    export      ``lw.export``

Targets: ``c99``, ``objects`` (object and shared), ``wasm`` and ``python_module``.
"""
