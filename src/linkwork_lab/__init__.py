"""The lab beside linkwork: benchmarks (``bench``), the papers' experiments repeated (``reproduce``), the humanoid that
puts a box on the floor (``demo``), and algorithms for comparison (``studies``).

It uses linkwork's public names and what docs/extending.md documents, nothing else.
"""
