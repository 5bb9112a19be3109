"""The command line: one module for each subcommand, listed in ``COMMANDS``, imported when it is called.

A command module has ``arguments(parser)`` and ``run(options, console) -> exit code``. Those of ``bench``, ``demo`` and
``reproduce`` are the only ones that import the package beside linkwork.

    info, draw, view, robots    mechanisms: contents, pictures, the live view, names
    bench, count                times and operations
    export                      a function as files for other languages
    cache, doctor               compiled code on disk, and whether this machine runs it
    demo, reproduce             of the lab
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from typing import Protocol

from rich.console import Console

from linkwork.errors import LinkworkError
from linkwork.late import imported
from linkwork.plain import console, lines


class Command(Protocol):
    """The interface of a command module."""

    def arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, options: argparse.Namespace, console: Console) -> int: ...


COMMANDS = {
    "info": "print a mechanism's tree, masses, limits and frames",
    "draw": "draw a mechanism in a configuration",
    "view": "show a mechanism, or motions that were saved, in the browser",
    "robots": "list the robots that can be loaded by name",
    "bench": "measure the time of every function, beside other libraries where they are installed",
    "count": "count the operations of every algorithm on a mechanism, all its geometry and inertias folded in",
    "export": "write a function of a mechanism as C, objects, WebAssembly or a Python module that need no linkwork",
    "cache": "show or clear the compiled code that is kept on disk",
    "doctor": "compile, run and check a kernel of each kind, and say what works on this machine",
    "demo": "let the humanoid of Chang and Khatib put a box on the floor; write pictures, an animation and numbers",
    "reproduce": "do a paper's experiments again, and write pictures and data into a folder",
}
"""The subcommands, with what they do."""


def command(name: str) -> Command:
    """The module of a subcommand."""
    return imported(f"{__name__}.{name}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Returns:
        0 for success, 1 if a check failed, 2 for invalid input, 130 after Ctrl-C.

    Example:
        >>> from linkwork.cli import main
        >>> main(["info", "free_box", "--json"]) # doctest: +ELLIPSIS
        {"name": "free_box", "mass": 1.0, "nq": 7, "nv": 6, "depth": 1, ...
        0
    """
    parser = argparse.ArgumentParser(prog="linkwork", description="The dynamics of articulated mechanisms.")
    parser.add_argument("--version", action="version", version=f"linkwork {version('linkwork')}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    words = sys.argv[1:] if arguments is None else arguments
    chosen = next((word for word in words if not word.startswith("-")), None)
    for name, about in COMMANDS.items():
        one = commands.add_parser(name, help=about, description=about)
        if name == chosen:
            module = command(name)
            module.arguments(one)
            one.set_defaults(run=module.run)
    options = parser.parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = _one_line
            code: int = options.run(options, console())
        sys.stdout.flush()
    except LinkworkError as error:
        sys.stderr.write(f"linkwork: {lines(str(error))}\n")
        return 2
    except BrokenPipeError:  # the reader, head for instance, has closed the pipe
        # The rest of the buffer must not raise again when the interpreter exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a file cannot be read or written; the message names it
        sys.stderr.write(f"linkwork: {lines(str(error))}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("linkwork: interrupted\n")
        return 130
    return code


def _one_line(message: Warning | str, *_: object, **__: object) -> None:
    sys.stderr.write(f"linkwork: warning: {lines(str(message))}\n")
