"""The lab beside linkwork.

It uses linkwork's public names and what docs/extending.md documents, nothing else.

    studies     algorithms for comparison
    bench       times of every public function
    reproduce   the papers' experiments repeated
    demo        a humanoid puts a box on the floor
"""
