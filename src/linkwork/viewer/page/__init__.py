"""A motion as one page for a browser, with all that it needs inside."""
