"""A motion as one self-contained web page.

    numbers     arrays as text
    save_html   ``lw.save_html``
"""
