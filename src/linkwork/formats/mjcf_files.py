"""What an MJCF file refers to: every file that MuJoCo's compiler would open must lie in the model's own folder.

MuJoCo reads included files, sub-models, meshes, textures and height fields by itself. So before it sees the file, each
of these references is resolved, links of the file system too, wherever the compiler might look for it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from linkwork.formats.xml import Element, quoted, read

MAX_FILES = 1000
_NESTED = ("include", "model")  # elements whose file is XML again
_PROVIDER = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")  # "http:", "C:" and the like


def check_files(root: Element) -> None:
    """Refuse references out of the folder of the file, in it and in all XML that it pulls in."""
    folder = os.path.dirname(os.path.abspath(root.path))
    documents = _documents(root, folder)
    directories = {
        kind: {
            element.attributes[name]
            for document in documents
            for element in document.walk()
            if element.tag == "compiler"
            for name in (f"{kind}dir", "assetdir")
            if name in element.attributes
        }
        for kind in ("mesh", "texture")
    }
    for document in documents:
        own = os.path.dirname(os.path.abspath(document.path))
        for element in document.walk():
            if element.tag in _NESTED:
                continue  # seen to by _documents
            kind = "texture" if element.tag == "texture" else "mesh"
            for reference in _references(element):
                for directory in directories[kind] or {""}:
                    for base in {folder, own}:
                        _inside(element, reference, os.path.join(base, directory), folder)


def _documents(root: Element, folder: str) -> list[Element]:
    """The file, all that it includes, and all that they include."""
    documents, seen = [root], {os.path.realpath(root.path)}
    for document in documents:  # grows as it goes
        own = os.path.dirname(os.path.abspath(document.path))
        for element in document.walk():
            if element.tag not in _NESTED:
                continue
            for reference in _references(element):
                for base in {folder, own}:
                    path = _inside(element, reference, base, folder)
                    if path in seen or not os.path.exists(path):
                        continue  # MuJoCo has better words for a file that is not there
                    if len(documents) == MAX_FILES:
                        raise element.error(f"the model pulls in more than {MAX_FILES} files")
                    seen.add(path)
                    documents.append(read(path))
    return documents


def _references(element: Element) -> Iterator[str]:
    """The values of file attributes (file, fileup, ...; filename in a URDF sub-model) and of plugins' settings."""
    for attribute, value in element.attributes.items():
        if attribute.startswith("file") or (element.tag == "config" and attribute == "value"):
            yield value


def _inside(element: Element, reference: str, base: str, folder: str) -> str:
    """The real path of a reference."""
    try:
        path = os.path.realpath(os.path.join(base, reference))
        inside = os.path.commonpath([path, os.path.realpath(folder)]) == os.path.realpath(folder)
    except (OSError, ValueError):
        inside = False
    if not inside or "\\" in reference or _PROVIDER.match(reference):
        raise element.error(f"{quoted(reference)} leads out of the model's folder; nothing is read from there")
    return path
