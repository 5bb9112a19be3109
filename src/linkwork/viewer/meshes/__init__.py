"""Mesh files: the resolution of a model's references, and triangles of STL, OBJ and COLLADA files.

The modules, in the order of the data flow:

    places              where a reference leads: only inside the model's own folders
    bounds              the largest meshes that are shown
    reading, collada    triangles of files
"""

from linkwork.viewer.meshes.places import find
from linkwork.viewer.meshes.reading import Triangles, read

__all__ = ["Triangles", "find", "read"]
