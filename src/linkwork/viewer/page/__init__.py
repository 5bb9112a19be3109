"""A motion as one self-contained web page.

The modules, in the order of the data flow:

    numbers     arrays as text
    save_html   ``lw.save_html``
"""
