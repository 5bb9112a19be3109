"""Mesh files: where a model's references may lead, and triangles of STL, OBJ and COLLADA files."""

from linkwork.viewer.meshes.places import find
from linkwork.viewer.meshes.reading import Triangles, read

__all__ = ["Triangles", "find", "read"]
