"""The optimisations of generated code that can be turned off, to measure what each of them brings: the same bits, more
slowly. ``linkwork bench --without`` measures them, and docs/performance.md has the results.
"""

from __future__ import annotations

import os
from functools import cache

from linkwork.errors import shown, warn_caller

WITHOUT = "LINKWORK_WITHOUT"
"""The variable of the environment that turns some off: their names, with commas between."""

OPTIMISATIONS = {
    "rows": "batches of code without loops store their results as rows, as soon as these are ready",
    "streaming": "results larger than the caches are stored past them",
    "lanes": "in a batch of searches a lane takes the next problem when its own is solved",
    "packing": "isomorphic branches of one state are computed side by side on the lanes",
    "lists": "items of a list in loops over bodies are computed side by side, for one state",
    "carrying": "what an iteration of a loop has stored goes to the next one in registers, for one state",
    "merging": "cases of a loop that do the same are one",
    "variants": "tiles in which many numbers are zero, or others that often occur, run code without them",
}


@cache
def without() -> frozenset[str]:
    """Those that are off in this process."""
    names = {name.strip() for name in os.environ.get(WITHOUT, "").split(",")} - {""}
    for name in sorted(names - OPTIMISATIONS.keys()):
        warn_caller(f"{WITHOUT} in the environment names {shown(name)}, which is ignored; it may name {_KNOWN}")
    return frozenset(names & OPTIMISATIONS.keys())


def on(name: str) -> bool:
    return name not in without()


_KNOWN = ", ".join(OPTIMISATIONS)
