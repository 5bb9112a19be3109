"""`lw.simulate(...)` in a page or a docstring becomes a link to its entry in the reference."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from names import public
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform

import linkwork as lw

NAME = re.compile(r"lw\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?=\(|$)")


class NamesAsLinks(SphinxPostTransform):
    """Literals that begin with a public name of linkwork, and are not within a link or a heading already."""

    default_priority = 5  # before references are resolved

    def run(self, **kwargs: Any) -> None:
        known = {*public(), *lw.__all__}
        for literal in list(self.document.findall(nodes.literal)):
            found = NAME.match(literal.astext())
            above = literal.parent
            if (
                found is None
                or found[1] not in known
                or isinstance(above, (nodes.reference, nodes.title, addnodes.pending_xref))
            ):
                continue
            link = addnodes.pending_xref(
                "", refdomain="py", reftype="obj", reftarget=f"linkwork.{found[1]}", refexplicit=True, refwarn=True
            )
            link["refdoc"] = self.env.current_document.docname
            above.replace(literal, link)
            link += literal


def setup(app: Any) -> None:
    app.add_post_transform(NamesAsLinks)
