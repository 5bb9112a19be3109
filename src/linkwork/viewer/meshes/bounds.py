"""The largest meshes that are shown. Everything is counted before it is built: a file of 2 kB may place a triangle a
million times, and one face may be a whole file.
"""

from __future__ import annotations

MAX_BYTES = 128 * 2**20
"""Of a file; 64 MiB of COLLADA, as of all XML."""
MAX_TRIANGLES = 2_000_000
"""Of a file, all its instances counted; 144 MB."""
MAX_VERTICES = 3 * MAX_TRIANGLES
MAX_CORNERS = 10_000
"""Of one face."""
MAX_NUMBERS = 24_000_000
"""In one list of a COLLADA file: the corners of all triangles, each of up to four indices."""
MAX_INSTANCES = 20_000
"""Nodes and lists of faces that the scene of a COLLADA file places."""
MAX_NESTING = 50
"""Nodes of a scene within nodes."""
MAX_COLOURS = 1_000
"""Of a file: each is a mesh of its own."""
MAX_TRIANGLES_OF_MODEL = 10_000_000
"""Of all meshes of a model, one that several bodies have counted for each."""
MAX_SHAPES_OF_MODEL = 20_000


def within(count: int, most: int, what: str) -> int:
    """A count, checked.

    Raises:
        ValueError: if it is larger; the message has the bound.
    """
    if count > most:
        raise ValueError(f"it has more than {most:,} {what}")
    return count
