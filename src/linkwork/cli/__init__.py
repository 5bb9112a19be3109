"""The command line: one module for each subcommand, listed in ``COMMANDS``.

A command module has ``NAME``, ``HELP``, ``arguments(parser)`` and ``run(options, console) -> exit code``.
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

from linkwork.cli import bench, cache, count, demo, doctor, draw, info, reproduce, robots, view
from linkwork.errors import LinkworkError
from linkwork.plain import console, lines


class Command(Protocol):
    """The interface of a command module."""

    NAME: str
    HELP: str

    def arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, options: argparse.Namespace, console: Console) -> int: ...


COMMANDS: tuple[Command, ...] = (info, draw, view, robots, bench, count, cache, doctor, demo, reproduce)


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
    for command in COMMANDS:
        one = commands.add_parser(command.NAME, help=command.HELP, description=command.HELP)
        command.arguments(one)
        one.set_defaults(run=command.run)
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
