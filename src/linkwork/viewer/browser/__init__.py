"""A live view in the browser, on viser: of models, of motions, and of a simulation while it runs."""
