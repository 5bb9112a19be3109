"""The time to the first result: forward dynamics in fresh processes, with cached code.

    python benchmarks/start.py [rounds]

"beyond NumPy" is the time after ``import numpy``: importing linkwork, loading or building the model, the call. Models
alternate; the best and the median of all rounds are printed, and the processor time of the same.
"""

from __future__ import annotations

import sys
import tempfile
from statistics import median
from typing import Any

from linkwork_lab.bench import Subject, standard
from linkwork_lab.bench.first_call import probe

BUILT = (Subject("chain of 7", "serial_chain:7"), Subject("humanoid", "humanoid", floating_base=True))
PARTS = {
    "numpy": "import numpy",
    "beyond": "beyond NumPy",
    "cpu": "of processor",
    "import": "import linkwork",
    "load": "model",
    "call": "call",
}


def main(rounds: int) -> None:
    subjects = [*(subject for subject in standard()[0] if subject.name in ("Panda", "G1")), *BUILT]
    found: dict[str, list[dict[str, Any]]] = {subject.name: [] for subject in subjects}
    with tempfile.TemporaryDirectory(prefix="linkwork-start-") as folder:
        for subject in subjects:
            probe(subject, folder)  # fills the cache
        for _ in range(rounds):
            for subject in subjects:
                run = probe(subject, folder)
                run["import"] -= run["numpy"]
                found[subject.name].append(run)
    print(f"{'best / median, ms':18}" + "".join(f"{title:>17}" for title in PARTS.values()))
    for name, runs in found.items():
        times = {part: [1e3 * run[part] for run in runs] for part in PARTS}
        print(f"{name:18}" + "".join(f"{f'{min(t):.0f} / {median(t):.0f}':>17}" for t in times.values()))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
