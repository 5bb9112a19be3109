"""The tables of docs/closed-chains.md."""

from __future__ import annotations

from typing import Any

from linkwork.reproduce.markdown import METHODS, across, measured_on, table


def tables(data: dict[str, Any]) -> dict[str, str]:
    """Each by the name of its place on the page; times only if they were measured."""
    loops = data["depth_of_loops"]
    found = {"times": _times(data["times"]["ladder"])} if data["times"] else {}
    if data.get("in_parallel"):
        found["in_parallel"] = _in_parallel(data["in_parallel"])
    return found | {
        "machine": measured_on(data),
        "operations": table(
            ["operations, as written", "loops", "bodies", "most loops open", "operations", "a loop"],
            [
                [name, f"{n:,}", f"{each['bodies'][k]:,}", each["open"][k], f"{total:,}", f"{total / n:,.0f}"]
                for name, each in data["operations"].items()
                for k, (n, total) in enumerate(zip(each["loops"], each["operations"], strict=True))
            ],
        ),
        "depth": "\n\n".join(
            across(
                f"{name}, links",
                each["links"],
                {f"longest path, {METHODS.get(method, method)}": line for method, line in each["path"].items()}
                | {f"operations, {METHODS.get(method, method)}": line for method, line in each["work"].items()}
                | {"steps of the assembly (loops)": each["steps"]},
                ",",
            )
            for name, each in data["depth"].items()
        ),
        "loops": across(
            "ladder, loops",
            loops["loops"],
            {f"longest path, {METHODS.get(method, method)}": line for method, line in loops["path"].items()},
            ",",
        ),
    }


def _in_parallel(times: dict[str, Any]) -> str:
    rows = []
    for name, each in times.items():
        for k, links in enumerate(each["links"]):
            one, lanes, team = (each[form][k] for form in ("articulated_body", "assembly", "assembly_team"))
            cells = [f"{1e6 * x:,.0f}" for x in (one, lanes, team)]
            ratio = f"{one / lanes:.2f} / {one / team:.2f}"
            rows.append([name, f"{links:,}", *cells, ratio, f"{each['difference'][k]:.0e}"])
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
