"""The tables of docs/closed-chains.md."""

from __future__ import annotations

from itertools import pairwise
from math import log
from typing import Any

from linkwork_lab.reproduce.markdown import METHODS, across, measured_on, table

LINEAR = 1.5
"""With each doubling of the size, what grows as its logarithm does not grow by this factor."""


def tables(data: dict[str, Any]) -> dict[str, str]:
    """The tables, by their places on the page; times only if they were measured."""
    loops = data["depth_of_loops"]
    texts = {"times": _times(data["times"]["ladder"])} if "times" in data else {}
    if "in_parallel" in data:
        texts["in_parallel"] = _in_parallel(data["in_parallel"])
    return texts | {
        "machine": measured_on(data),
        "claims": _claims(data),
        "operations": table(
            ["operations, as written", "loops", "bodies", "most loops open", "operations", "a loop"],
            [
                [name, f"{n:,}", f"{counts['bodies'][k]:,}", counts["open"][k], f"{total:,}", f"{total / n:,.0f}"]
                for name, counts in data["operations"].items()
                for k, (n, total) in enumerate(zip(counts["loops"], counts["operations"], strict=True))
            ],
        ),
        "depth": "\n\n".join(
            across(
                f"{name}, links",
                counts["links"],
                {f"longest path, {METHODS.get(method, method)}": line for method, line in counts["path"].items()}
                | {f"operations, {METHODS.get(method, method)}": line for method, line in counts["work"].items()}
                | {"steps of the assembly (loops)": counts["steps"]},
                ",",
            )
            for name, counts in data["depth"].items()
        ),
        "loops": "\n\n".join(
            across(
                f"{_HEADS.get(name, name)}, {'holds' if 'snake' in name else 'loops'}",
                counts["loops"],
                {f"longest path, {METHODS.get(method, method)}": line for method, line in counts["path"].items()}
                | {f"operations, {METHODS.get(method, method)}": line for method, line in counts["work"].items()},
                ",",
            )
            for name, counts in loops.items()
        ),
    }


_HEADS = {"long snake": "snake of 1,024 links"}


def _claims(data: dict[str, Any]) -> str:
    """The paper's claims, the results, and whether they agree; times only if they were measured."""
    operations = data["operations"]["ladder"]
    costs = zip(pairwise(operations["loops"]), pairwise(operations["operations"]), strict=True)
    slopes = {(after - before) / (more - fewer) for (fewer, more), (before, after) in costs}
    rows = [
        [
            "closed chains are future work",
            "a loop's forces are carried to where its paths meet (Eqs. 6, 7, 21) and eliminated there as a joint's: "
            + (f"each loop of a ladder costs {slopes.pop():,.0f} operations" if len(slopes) == 1 else "not linear"),
            "does not agree" if slopes else "done",
        ],
        [
            "the constraint forces of all joints come out on the way",
            "with loops, too: `lw.constrained_dynamics_and_reactions`",
            "agrees",
        ],
        ["a link has at most three joints, or is split", "any number of joints and of loops on a link", "a better way"],
        _parallel(data["depth"], data["depth_of_loops"]),
        [
            "structure-varying chains (their reference 7)",
            "constraints come and go from call to call, and by events within a simulation, without a new model: "
            "`examples/catch_and_release.py`, `examples/trapeze.py`",
            "done",
        ],
    ]
    if "times" in data:
        rows.insert(0, _dense(data["times"]["ladder"]))
    return table(["the paper says", "here", ""], rows)


def _parallel(depth: dict[str, Any], of_loops: dict[str, Any]) -> list[str]:
    loops = {name: row["path"]["assembly"] for name, row in of_loops.items()}
    added = {name: row["path"]["assembly"][-1] - row["path"]["assembly"][-2] for name, row in depth.items()}
    kinds = {"ladder": "loops of a ladder", "rope ladder": "rungs of a rope ladder"}
    kinds["snake"] = "links of a snake on the ground, each held"
    added |= {what: loops[name][-1] - loops[name][-2] for name, what in kinds.items()}
    growth = ", ".join(f"{name} {more:,}" for name, more in added.items())
    ratios = {name: row["path"]["assembly"][-1] / row["path"]["assembly"][-2] for name, row in depth.items()}
    ratios |= {name: line[-1] / line[-2] for name, line in loops.items()}
    held, contacts = loops["long snake"], of_loops["long snake"]["loops"][-1]
    rope = of_loops["rope ladder"]
    many = max(k for k, serial in enumerate(rope["path"]["virtual_work"]) if serial is not None)
    linear = [name for name, ratio in ratios.items() if ratio > LINEAR]
    return [
        "parallel computation is future work",
        f"the last doubling adds to the longest path: {growth} operations. {contacts} holds make that of a "
        f"snake of 1,024 links {held[-1] / held[0]:.2f} times as long. That of a rope ladder with "
        f"{rope['loops'][many]} rungs is {rope['path']['assembly'][many]:,}, by the serial recursion, in which all "
        f"of them are open at the world, {rope['path']['virtual_work'][many]:,}",
        f"not logarithmic: {', '.join(linear)}" if linear else "done",
    ]


def _dense(times: dict[str, Any]) -> list[str]:
    few, many = times["loops"][-2:]
    dense, work = times["articulated_body"], times["virtual_work"]
    power = log(dense[-1] / dense[-2]) / log(many / few)
    return [
        "Eq. 7, solved for all loops at once, takes O(N³), which is not acceptable for large chains",
        f"even with articulated bodies for the tree and one solve for the loops time grows with the power {power:.1f} "
        f"of the loops from {few} to {many}, where a call takes {dense[-1] / work[-1]:.0f} times as long as by the "
        "recursion",
        "agrees" if power > 2.0 else "does not agree",
    ]


def _in_parallel(times: dict[str, Any]) -> str:
    rows = []
    for name, row in times.items():
        for k, links in enumerate(row["links"]):
            one, lanes, team = (row[form][k] for form in ("articulated_body", "assembly", "assembly_team"))
            cells = [f"{1e6 * x:,.0f}" for x in (one, lanes, team)]
            ratio = f"{one / lanes:.2f} / {one / team:.2f}"
            rows.append([name, f"{links:,}", *cells, ratio, f"{row['difference'][k]:.0e}"])
    forms = ["articulated body, one lane (µs)", "assembly, all lanes (µs)", "lanes and threads (µs)"]
    return table(["tree", "links", *forms, "times as fast", "difference"], rows)


def _times(times: dict[str, Any]) -> str:
    rows = []
    for k, loops in enumerate(times["loops"]):
        dense, work, alone = (times[name][k] for name in ("articulated_body", "virtual_work", "recursion"))
        cells = [f"{1e6 * x:,.0f}" for x in (dense, work, alone)]
        rows.append(
            [f"{loops:,}", f"{times['bodies'][k]:,}", *cells, f"{dense / work:.3g}", f"{times['difference'][k]:.0e}"]
        )
    heading = [
        "loops",
        "bodies",
        "articulated body, loops together (µs)",
        "virtual work (µs)",
        "its recursion alone (µs)",
    ]
    return table([*heading, "times as fast", "difference"], rows)
