"""A motion as one self-contained web page."""
