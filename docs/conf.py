"""Sphinx's settings for the site: `make site` builds it into out/site, without network, warnings as errors.

The pages are the Markdown files of this folder, which read on their own as well. What is generated (the reference from
the docstrings, the gallery from examples/, the files of the root) goes to docs/generated, which git does not keep.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_site"))

import contents
import docstrings
import gallery
import generated
import names_as_links

import linkwork

project, author, copyright = "linkwork", "The linkwork authors", "The linkwork authors, BSD-3-Clause"
version = release = linkwork.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_site", "data", "generated/gallery/*.py", "generated/gallery/sg_execution_times.rst"]
suppress_warnings = ["config.cache"]  # the gallery's settings hold functions
highlight_language = "text"  # blocks that say nothing are commands and drawings

myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings say shapes and units, which types do not
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 96
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_attr_annotations = False

html_theme = "furo"
html_title = f"linkwork {release}"
html_static_path = ["_static", "generated/motions"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options: dict[str, list[str]] = {"top_of_page_buttons": []}

sphinx_gallery_conf = gallery.settings()


def _as_on_the_site(app: Any, docname: str, source: list[str]) -> None:
    """Pages link to files beside docs/, such as ../examples/rope.py, which are pages of the site as well; the index
    becomes the table of contents.
    """
    if docname == "index":
        source[0] = gallery.with_motion(contents.with_contents(source[0], app.env.found_docs))
    if docname == "export-browser":
        source[0] = gallery.with_live(source[0])
    if app.env.doc2path(docname).suffix == ".md" and not docname.startswith("generated/"):
        source[0] = generated.relinked(source[0], "docs", "docs")


def setup(app: Any) -> None:
    generated.write()
    gallery.write_live()
    docstrings.setup(app)
    names_as_links.setup(app)
    app.connect("source-read", _as_on_the_site)
    app.connect("env-get-outdated", lambda *_: ["index"])  # it names pages and motions that may be new
