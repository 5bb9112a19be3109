"""A live view in the browser, based on viser: of models, of motions, and of a running simulation.

The modules, in the order of the data flow:

    server      viser's, for this machine alone
    actor       one mechanism in a view
    clock       the time shown
    pulling     a body pulled with the mouse
    view        the page's controls, and a running simulation
    show        ``lw.show``
"""
