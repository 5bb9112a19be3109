"""``linkwork doctor``: what works on this machine."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import asdict

from rich.console import Console

from linkwork.engine.system_check import ADVICE, system_check


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--here", action="store_true", help="in this process, which code that is broken may end")


def run(options: argparse.Namespace, console: Console) -> int:
    if not options.here and sys.executable:
        return _apart(options.json, console)
    report = system_check()
    if options.json:
        console.file.write(json.dumps({**asdict(report), "works": report.works}) + "\n")
    else:
        console.print(str(report))
    return 0 if report.works else 1


def _apart(as_json: bool, console: Console) -> int:
    """Run the check in a process of its own, so that its crash can be reported."""
    command = [sys.executable, "-P", "-m", "linkwork", "doctor", "--here", *(["--json"] if as_json else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    console.file.write(done.stdout)
    if done.returncode in (0, 1, 2):
        return done.returncode
    console.print(f"machine code ended the process (code {done.returncode}).\n{ADVICE}")
    return 1
