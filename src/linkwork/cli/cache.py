"""``linkwork cache``: the compiled code kept on disk."""

from __future__ import annotations

import argparse
import json

from rich.console import Console

from linkwork.engine.code import cache


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--clear", action="store_true", help="remove it; it is made again when needed")
    parser.add_argument("--json", action="store_true", help="print folder, files and bytes as JSON")


def run(options: argparse.Namespace, console: Console) -> int:
    folder = cache.folder()
    removed = cache.clear() if options.clear else 0
    sizes = [size for _, size in cache.entries()]
    if options.json:
        data = {"folder": folder and str(folder), "files": len(sizes), "bytes": sum(sizes), "removed": removed}
        console.file.write(json.dumps(data) + "\n")
        return 0
    if folder is None:
        console.print(f"compiled code is not kept: {cache.obstacle()}")
        return 0
    if options.clear:
        console.print(f"removed {removed} files")
    console.print(f"{folder}: {len(sizes)} files, {sum(sizes)} bytes")
    return 0
