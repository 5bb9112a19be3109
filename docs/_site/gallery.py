"""The gallery: every program of examples/ is run, and shown with what it prints and draws.

An example is an ordinary program: a docstring, a ``main`` that returns an exit code, and no word about the gallery. Its
title is how the docstring begins. It draws a picture if it is given the name of one (``python examples/rope.py
rope.png``); it is run that way here if its text knows such a name.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any

from sphinx_gallery.scrapers import figure_rst

from linkwork.files import write_text

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES, COPIES = ROOT / "examples", ROOT / "out" / "site-examples"
PICTURE = ".png"

HEADER = """Gallery
=======

Programs of the folder ``examples``. Each was run when this site was built, and ends in a check of its physics.
"""

_exit = sys.exit


def settings() -> dict[str, Any]:
    """What sphinx-gallery is told."""
    _copy()
    return {
        "examples_dirs": str(COPIES),
        "gallery_dirs": "generated/gallery",
        "filename_pattern": ".*",
        "within_subsection_order": "FileNameSortKey",
        "reset_argv": _arguments,
        "reset_modules": (_exits_are_checks,),
        "reset_modules_order": "both",
        "image_scrapers": (_picture,),
        "abort_on_example_error": False,
        "capture_repr": (),
        "show_signature": False,
        "download_all_examples": False,
        "notebook_extensions": set(),
        "write_computation_times": False,
        "plot_gallery": "True",
        "remove_config_comments": True,
        "doc_module": ("linkwork",),
        "backreferences_dir": "generated/gallery/backreferences",
        "log_level": {"backreference_missing": "info"},
    }


def title(text: str) -> str:
    """What an example is called: its docstring up to the first pause."""
    sentence = " ".join(text.split('"""')[1].split("\n\n")[0].split())
    return re.split(r"[:,.](?:\s|$)", sentence)[0].replace("``", "")


def headed(text: str) -> str:
    """An example with its title as a heading, as sphinx-gallery wants it."""
    return text.replace('"""', f'"""\n{title(text)}\n{"=" * len(title(text))}\n\n', 1)


def _copy() -> None:
    COPIES.mkdir(parents=True, exist_ok=True)
    wanted = {path.name: headed(path.read_text(encoding="utf-8")) for path in EXAMPLES.glob("*.py")}
    wanted["GALLERY_HEADER.rst"] = HEADER
    for name, text in wanted.items():
        if not (COPIES / name).exists() or (COPIES / name).read_text(encoding="utf-8") != text:
            write_text(COPIES / name, text)
    for path in COPIES.iterdir():
        if path.name not in wanted and path.suffix in (".py", ".rst"):
            path.unlink()


def _drawn(source: str | Path) -> Path:
    return Path(source).with_suffix(PICTURE)


def _arguments(gallery: dict[str, Any], script: dict[str, Any]) -> list[str]:
    """The name of a picture, for an example that draws one."""
    source = Path(script["src_file"])
    return [str(_drawn(source))] if PICTURE in source.read_text(encoding="utf-8") else []


def _picture(block: Any, variables: dict[str, Any], gallery: dict[str, Any]) -> str:
    """Take the picture that an example has drawn into the site."""
    drawn = _drawn(variables["src_file"])
    if not drawn.exists():
        return ""
    kept = next(variables["image_path_iterator"])
    shutil.move(drawn, kept)
    about = title(Path(variables["src_file"]).read_text(encoding="utf-8").replace("=", ""))
    rst: str = figure_rst([kept], gallery["src_dir"], about)
    return rst


def _exits_are_checks(gallery: dict[str, Any], name: str, when: str) -> None:
    """While an example runs, ``sys.exit(0)`` goes on and any other exit is its failure."""
    sys.exit = _check if when == "before" else _exit  # type: ignore[assignment]


def _check(code: object = 0) -> None:
    if code:
        raise RuntimeError(f"the example's own check failed: {code}")
