"""Mesh files: the resolution of a model's references, and triangles of STL, OBJ and COLLADA files."""

from linkwork.viewer.meshes.places import find
from linkwork.viewer.meshes.reading import Triangles, read

__all__ = ["Triangles", "find", "read"]
