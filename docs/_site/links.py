"""Are all links of a built site whole? Every link within it must lead to a file and, if it names one, to an anchor.

python docs/_site/links.py out/site
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The anchors and links of a page, and those of them that a browser loads at once."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.add(value)
                if name == "src" or tag == "link":
                    self.loaded.add(value)


def broken(site: Path) -> list[str]:
    """The links that lead nowhere, or to a server from which a page would load something, each with its page."""
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.netloc and link in page.loaded:
                found.append(f"{path.relative_to(site.resolve())}: {link}")
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target = target / "index.html"
            anchor = unquote(parts.fragment)
            if not target.exists() or (anchor and target in pages and anchor not in pages[target].anchors):
                found.append(f"{path.relative_to(site.resolve())}: {link}")
    return found


if __name__ == "__main__":
    found = broken(Path(sys.argv[1]))
    sys.stdout.writelines(f"{line}\n" for line in found)
    sys.exit(bool(found))
