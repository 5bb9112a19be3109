"""The public functions: they check arguments once, pick method and engine, and return arrays."""
