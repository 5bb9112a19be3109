"""Algorithms that exist to compare with: as a paper has them, where another form is the better one to use."""
