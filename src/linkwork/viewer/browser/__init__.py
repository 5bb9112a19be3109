"""A live view in the browser, based on viser: of models, of motions, and of a running simulation."""
