"""Algorithms for comparison: as published, where another form is better to use."""
