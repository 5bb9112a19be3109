"""The tables of docs/constraint-force.md."""

from __future__ import annotations

from math import log2
from typing import Any

from linkwork_lab.reproduce.constraint_force.claims import claims
from linkwork_lab.reproduce.constraint_force.plots import TITLES
from linkwork_lab.reproduce.markdown import METHODS, across, measured_on, table
from linkwork_lab.reproduce.schedule import GPU, MACHINES

SHOWN = (100, 1000, 4000, 10_000, 100_000)
"""Lengths of the chains whose times are on the page."""


def tables(data: dict[str, Any]) -> dict[str, str]:
    """The tables, by their places on the page; times and errors only if they were measured."""
    growth, claim, bias = data["growth"], data["claim"], data["bias"]
    first = next(iter(growth.values()))
    later = {
        **({"times": _times(data["times"], data["settings"]["links"])} if "times" in data else {}),
        **({"pieces": _pieces(data["pieces"])} if data.get("pieces") else {}),
        **({"rounding": _rounding(data["rounding"])} if "rounding" in data else {}),
    }
    return later | {
        "machine": measured_on(data),
        "claims": claims(data),
        "claim": "\n\n".join(
            across(heading, list(claim["m"]), _by_joints(claim, unit), ".0e")
            for heading, unit in (
                (f"error, {claim['links']} links, metres", "m"),
                ("the same in millimetres", "mm"),
                ("difference of the two", "units"),
            )
        ),
        "bias": across(
            "error, main chain of",
            [f"{n} links" for n in bias["links"]],
            {f"{what} the bias": bias[what] for what in ("with", "without")},
            ".0e",
        ),
        "depth": "\n\n".join(
            across(
                f"{TITLES[name]}, links",
                curves["links"],
                {"steps (loops)": curves["depth"], "operations on one processor a link": curves["span"]}
                | {f"longest path, {METHODS[method]}": line for method, line in curves["path"].items()},
                ",",
            )
            for name, curves in growth.items()
        ),
        "doubling": table(
            ["with each doubling of the chain", "steps", "operations on one processor a link", "on the longest path"],
            [[TITLES[name], *_doubling(curves)] for name, curves in growth.items()],
        ),
        "operations": table(
            [f"operations, {data['settings']['operations']} links", *map(METHODS.__getitem__, first["work"])],
            [
                [TITLES[name], *(f"{row['folded']:,} ({row['written']:,})" for row in rows.values())]
                for name, rows in data["operations"].items()
            ],
        ),
        "machines": _machines(),
        "processors": _processors([*data["gains"].values()]),
        "messages": _messages([*data["gains"].values()]),
        "gains": _beside_cores(data),
        "branches": _branches(data["branches"]),
    }


def _by_joints(claim: dict[str, Any], unit: str) -> dict[str, list[float]]:
    return {joints: [row[k] for row in claim[unit].values()] for k, joints in enumerate(claim["joints"])}


def _times(times: dict[str, Any], sizes: list[int]) -> str:
    columns = [k for k, n in enumerate(sizes) if n in SHOWN]
    rows = []
    for name, chain in times.items():
        cells = []
        for k in columns:
            base = chain["seconds"]["articulated_body"][k]
            ratios = [chain["seconds"][f"constraint_force_{form}"][k] for form in ("lanes", "team")]
            cells.append(None if None in ratios or base is None else " / ".join(f"{base / x:.2f}" for x in ratios))
        rows.append([TITLES[name], *cells])
    return table(["lanes / lanes and threads", *(f"{sizes[k]:,} links" for k in columns)], rows)


def _pieces(pieces: dict[str, Any]) -> str:
    first = next(iter(pieces.values()))
    rows = [
        [TITLES[name], *(f"{a * 1e6:.0f} / {b * 1e6:.0f}" for a, b in zip(chain["lanes"], chain["team"], strict=True))]
        for name, chain in pieces.items()
    ]
    heading = f"µs, {first['links']:,} links, lanes / lanes and threads"
    return table([heading, *(f"{count} pieces" for count in first["pieces"])], rows)


def _doubling(growth: dict[str, Any]) -> list[str]:
    """The increase by the last doubling of the length."""
    lines = (growth["depth"], growth["span"], growth["path"]["constraint_force"])
    return [f"{line[-1] - line[-2]:,}" for line in lines]


def _processors(gains: list[dict[str, Any]]) -> str:
    """A table for each length: speed-ups on each machine, and the share of messages in the critical path."""
    tables = []
    for chain in gains:
        forms = {f"{chain['links']:,} links": "constraint_force"}
        if chain["segments"]:
            forms |= {f"{chain['links']:,} links in {chain['segments']} segments": "constraint_force_segments"}
        for title, form in forms.items():
            columns = {name: _by_count(by_form[form]) for name, by_form in chain["machines"].items()}
            counts = max((list(line) for line in columns.values()), key=len)
            rows = [[f"{count:,}", *(line.get(count) for line in columns.values())] for count in counts]
            tables.append(table([f"{title}, processors", *columns], rows))
    return "\n\n".join(tables)


def _by_count(line: dict[str, Any]) -> dict[int, str]:
    cells = zip(line["processors"], line["gain"], line["messages"], strict=True)
    return {count: f"{gain:.3g}" + (f" ({share:.0%})" if share else "") for count, gain, share in cells}


def _messages(gains: list[dict[str, Any]]) -> str:
    """The largest speed-up of each machine, and what it would be if messages took no time."""
    rows = []
    for chain in gains:
        free, *others = chain["machines"]
        ideal = chain["machines"][free]["constraint_force"]
        without = dict(zip(ideal["processors"], ideal["gain"], strict=True))
        for name in others:
            line = chain["machines"][name]["constraint_force"]
            gain, count, share = max(zip(line["gain"], line["processors"], line["messages"], strict=True))
            half = [p for p, part in zip(line["processors"], line["messages"], strict=True) if part > 0.5]
            rows.append(
                [name, f"{chain['links']:,}", f"{count:,}", f"{gain:.3g}", f"{without[count]:.3g}", f"{share:.0%}",
                 f"{half[0]:,}" if half else None]
            )  # fmt: skip
    heading = [
        "machine", "links", "best number of processors", "gain", "without messages", "messages on the deciding path",
        "more than half of it from",
    ]  # fmt: skip
    return table(heading, rows)


def _beside_cores(data: dict[str, Any]) -> str:
    """What segments cost, and what the gain on a GPU is beside this machine."""
    gains = [*data["gains"].values()]
    more = ", ".join(
        f"{chain['work']['constraint_force_segments'] / chain['work']['constraint_force']:.2f} at {chain['links']:,}"
        for chain in gains
        if chain["segments"]
    )
    text = f"Operations in segments, relative to cyclic reduction: {more} links."
    times = data.get("times", {}).get("revolute")
    if times is None:
        return text
    last = gains[-1]
    gain = max(last["machines"][GPU.name]["constraint_force"]["gain"])
    there = last["articulated_body"] / GPU.rate / gain / last["links"]
    line = times["seconds"]["constraint_force_team"]
    here, links = min((time / n, n) for time, n in zip(line, times["links"], strict=True) if time)
    return (
        f"{text} The gain on the GPU is over one of its double-precision units: {gain:.3g} times at {last['links']:,} "
        f"links are {1e9 * there:.1f} ns a link. {data['machine']['cores']} cores of the CPU above take "
        f"{1e9 * here:.1f} ns at {links:,} links, with lanes and threads: **{here / there:.1f} times** as long."
    )


def _machines() -> str:
    rows = [
        [
            m.name, f"{m.rate / 1e9:g}", f"{m.latency * 1e6:.2g}",
            f"{m.bandwidth / 1e9:,.0f}{' for all together' if m.shared else ''}", "; ".join(m.sources),
        ]
        for m in MACHINES
        if m.sources
    ]  # fmt: skip
    return table(["machine", "operations a processor (10⁹/s)", "latency (µs)", "bandwidth (GB/s)", "from"], rows)


def _branches(counts: dict[str, Any]) -> str:
    rows = [
        [
            f"{n:,}", f"{bodies:,}",
            *(f"{counts[what][name][k]:,}" for what in ("depth", "path") for name in ("branched", "plain")),
            f"{counts['work']['branched'][k] / bodies:,.0f}", f"{counts['work']['plain'][k] / n:,.0f}",
            f"{counts['depth']['branched'][k] - counts['depth']['plain'][k]} = 3·{log2(n):.0f}",
            f"{counts['difference'][k]:.0e}",
        ]
        for k, (n, bodies) in enumerate(zip(counts["links"], counts["bodies"], strict=True))
    ]  # fmt: skip
    heading = [
        "links N", "bodies", "steps", "without branches", "longest path", "without branches",
        "operations a body", "without branches", "steps more", "off articulated bodies by",
    ]  # fmt: skip
    return table(heading, rows)


def _rounding(cases: dict[str, Any]) -> str:
    rows = []
    for case in cases.values():
        errors = case["errors"]
        worst = [errors[name][-1] for name in ("articulated_body", "virtual_work", "constraint_force_segments")]
        paper = [x for x in errors["constraint_force_world"] if x is not None]
        rows.append(
            [case["label"], *(None if x is None else f"{x:.0e}" for x in (*worst, paper[-1] if paper else None))]
        )
    values = next(iter(cases.values()))["values"]
    reached = max(
        n
        for case in cases.values()
        for n, x in zip(values, case["errors"]["constraint_force_world"], strict=True)
        if x is not None
    )
    names = ["articulated body", "virtual work", "constraint force, in segments"]
    return table([f"{values[-1]:,} links", *names, f"as the paper has it, at {reached:,}"], rows)
