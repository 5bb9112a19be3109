"""The gallery: every program of examples/ is run, and shown with what it prints and draws.

An example is an ordinary program: a docstring, a ``main`` that returns an exit code, and no word about the gallery. Its
title is how the docstring begins. One that draws is given the name of a picture (``python examples/rope.py rope.png``).
Where it draws a motion, the site has a page that plays it as well, if linkwork can write such pages.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.files import write_text

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES, COPIES = ROOT / "examples", ROOT / "out" / "site-examples"
PAGES, MOTIONS = ROOT / "docs" / "generated" / "gallery", ROOT / "docs" / "generated" / "motions"
PICTURE, MOTION = ".png", ".html"
FIRST = "panda_reaching"
"""The example whose motion plays on the first page."""
DRAWS = re.compile(r"lw\.motion_sequence\(|lw\.draw\(|\.savefig\(")

HEADER = """Gallery
=======

Programs of the folder ``examples``. Each was run when this site was built, and ends in a check of its physics.
"""

_exit, _sequence = sys.exit, lw.motion_sequence


def settings() -> dict[str, Any]:
    """What sphinx-gallery is told."""
    _copy()
    return {
        "examples_dirs": str(COPIES),
        "gallery_dirs": "generated/gallery",
        "filename_pattern": ".*",
        "within_subsection_order": "FileNameSortKey",
        "reset_argv": _arguments,
        "reset_modules": (_around,),
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
    heading = f'"""\n{title(text)}\n{"=" * len(title(text))}\n\n'
    return text.replace('"""', heading, 1)


def with_thumbnail(text: str, name: str) -> str:
    """The same with a comment that names its thumbnail, if one is drawn below; sphinx-gallery does not show it."""
    comment = f"\n# sphinx_gallery_thumbnail_path = 'generated/motions/{name}{PICTURE}'\n"
    return text + comment if "lw.motion_sequence(" in text else text


def _copy() -> None:
    COPIES.mkdir(parents=True, exist_ok=True)
    MOTIONS.mkdir(parents=True, exist_ok=True)
    texts = {path: path.read_text(encoding="utf-8") for path in EXAMPLES.glob("*.py")}
    wanted = {path.name: with_thumbnail(headed(text), path.stem) for path, text in texts.items()}
    wanted["GALLERY_HEADER.rst"] = HEADER
    for name, text in wanted.items():
        if not (COPIES / name).exists() or (COPIES / name).read_text(encoding="utf-8") != text:
            write_text(COPIES / name, text)
    for path, text in texts.items():
        plays = "lw.motion_sequence(" in text and hasattr(lw, "save_html")
        if plays and not (MOTIONS / path.with_suffix(MOTION).name).exists():
            (PAGES / f"{path.name}.md5").unlink(missing_ok=True)  # then it runs again
    for path in COPIES.iterdir():
        if path.name not in wanted and path.suffix in (".py", ".rst"):
            path.unlink()


def _arguments(gallery: dict[str, Any], script: dict[str, Any]) -> list[str]:
    """The name of a picture, for an example that draws one."""
    source = Path(script["src_file"])
    return [str(source.with_suffix(PICTURE))] if DRAWS.search(source.read_text(encoding="utf-8")) else []


def _picture(block: Any, variables: dict[str, Any], gallery: dict[str, Any]) -> str:
    """Take the picture that an example has drawn into the site, and the page of its motion."""
    from sphinx_gallery.scrapers import figure_rst

    source = Path(variables["src_file"])
    if not source.with_suffix(PICTURE).exists():
        return ""
    kept = Path(next(variables["image_path_iterator"]))
    shutil.move(source.with_suffix(PICTURE), kept)
    about = title(source.read_text(encoding="utf-8").replace("=", ""))
    rst: str = figure_rst([str(kept)], gallery["src_dir"], about)
    if source.with_suffix(MOTION).exists():
        shutil.move(source.with_suffix(MOTION), MOTIONS / source.with_suffix(MOTION).name)
        rst += f"\n.. raw:: html\n\n    {playing(source.stem, '../../')}\n\n"
    return rst


def playing(name: str, root: str) -> str:
    """HTML that shows the page of an example's motion within another, from which the site's root is at ``root``."""
    return (
        f'<iframe class="motion" src="{root}_static/{name}{MOTION}" title="{name}, in motion" loading="lazy"></iframe>'
    )


def with_motion(index: str) -> str:
    """The first page, with a motion that plays below its picture, if there is one."""
    if not (MOTIONS / f"{FIRST}{MOTION}").exists():
        return index
    end = index.index("\n", index.index("![")) + 1
    return f"{index[:end]}\n```{{raw}} html\n{playing(FIRST, '')}\n```\n{index[end:]}"


LIVE, ROBOT = "panda_live", "panda"
"""The page of an exported step, and its robot."""


def write_live() -> None:
    """The page in which a robot is dragged and falls, once."""
    if (MOTIONS / f"{LIVE}{MOTION}").exists():
        return
    MOTIONS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        lw.export("step", folder, "wasm", model=lw.load(ROBOT), dt=0.001, joint_limits=True, name=LIVE)
        shutil.copy(Path(folder, f"{LIVE}{MOTION}"), MOTIONS)


def with_live(page: str) -> str:
    """The page about the browser, with that robot below its first paragraph."""
    end = page.index("\n\n", page.index("\n\n") + 2) + 1
    return f"{page[:end]}\n```{{raw}} html\n{playing(LIVE, '')}\n```\n{page[end:]}"


def _around(gallery: dict[str, Any], name: str, when: str) -> None:
    """While an example runs, ``sys.exit(0)`` goes on, any other exit is its failure, and motions are kept."""
    sys.exit = _check if when == "before" else _exit  # type: ignore[assignment]
    lw.motion_sequence = _sequence_and_page if when == "before" else _sequence


def _check(code: object = 0) -> None:
    if code:
        raise RuntimeError(f"the example's own check failed: {code}")


def _sequence_and_page(trajectory: lw.Trajectory, times: Any = 6, path: Any = None, **options: Any) -> Any:
    """``lw.motion_sequence``, and besides its picture a thumbnail, and the page that plays the motion."""
    if path is not None:
        _thumbnail(trajectory, MOTIONS / Path(path).name, **options)
        if hasattr(lw, "save_html"):
            lw.save_html(trajectory, Path(path).with_suffix(MOTION), **options)
    return _sequence(trajectory, times, path, **options)


def _thumbnail(run: lw.Trajectory, path: Path, trails: Any = (), **options: Any) -> None:
    """Four states over each other."""
    ways = np.moveaxis(lw.forward_kinematics(run.model, run.q, list(trails))[..., :3, 3], -2, 0) if trails else ()
    shown = np.linspace(0, len(run.t) - 1, 4).astype(int)
    lw.draw(run.model, run.q[shown], path=path, trails=list(ways), **options)
