"""The paper's claims, the results, and whether the two agree."""

from __future__ import annotations

from math import log2
from typing import Any

from linkwork_lab.reproduce.markdown import table

SOUND = 1e-8
"""Relative errors up to this are due to rounding."""


def claims(data: dict[str, Any]) -> str:
    """A row for each claim; the one about coordinates only if rounding errors were measured."""
    rows = [
        _logarithm(data["growth"]["revolute"]),
        _joints(data["claim"]),
        _units(data["claim"]),
        _calculations(data["growth"], [*data["gains"].values()]),
        *_branches(data["branches"]),
        _bias(data["bias"]),
    ]
    if "rounding" in data:
        rows.append(_coordinates(data["rounding"]["straight"]))
    return table(["the paper says", "here", ""], rows)


def _agrees(holds: bool, more: str = "") -> str:
    return f"agrees{more}" if holds else "does not agree"


def _steps(links: list[int], depth: list[int]) -> tuple[str, bool]:
    """A linear fit of the steps over log₂ N, and whether it is exact."""
    slope = (depth[-1] - depth[0]) / log2(links[-1] / links[0])
    rest = depth[0] - slope * log2(links[0])
    straight = all(steps == slope * log2(n) + rest for n, steps in zip(links, depth, strict=True))
    return f"{slope:g} log₂ N + {rest:g} steps", straight


def _logarithm(growth: dict[str, Any]) -> list[str]:
    steps, straight = _steps(growth["links"], growth["depth"])
    path, span = growth["path"]["constraint_force"], growth["span"]
    here = (
        f"{steps} that must follow each other (N a power of two); with each doubling of a chain of hinges "
        f"{path[-1] - path[-2]:,} operations more on the longest path, {span[-1] - span[-2]:,} on one processor for "
        "each link"
    )
    return ["O(log N) time on O(N) processors", here, _agrees(straight)]


def _joints(claim: dict[str, Any]) -> list[str]:
    def sound(form: str, k: int) -> bool:
        return all(claim[unit][form][k] < SOUND for unit in ("m", "mm"))

    both = [name for k, name in enumerate(claim["joints"]) if sound("original, at the joints", k)]
    ours = [sound("this, at the joints", k) for k in range(len(claim["joints"]))]
    alone = [name for name in claim["joints"] if name not in both]
    return [
        "the original works for a restricted class of joints, this one for any, and for a floating base as a joint of "
        "6 DoF",
        f"both: {'; '.join(both)}. This one alone: {'; '.join(alone)} (below)",
        _agrees(all(ours) and bool(alone)),
    ]


def _units(claim: dict[str, Any]) -> list[str]:
    original, world = "original, at the joints", "original, in the world"
    screws = next(k for k, name in enumerate(claim["joints"]) if name.startswith("screws"))
    differ = max(claim["units"]["this, at the joints"])
    here = (
        f"in millimetres the original's error on screws grows from {claim['m'][original][screws]:.0e} to "
        f"{claim['mm'][original][screws]:.0e}, in the world's coordinates its error on hinges is "
        f"{claim['m'][world][claim['joints'].index('hinges')]:.0e}; ours differ by {differ:.0e} at most between units"
    )
    grows = claim["mm"][original][screws] > 10 * claim["m"][original][screws]
    says = "the original is not invariant and dimensionally inconsistent, this one neither"
    return [says, here, _agrees(grows and differ < SOUND)]


def _calculations(growth: dict[str, Any], gains: list[dict[str, Any]]) -> list[str]:
    times = {}
    for name in ("revolute", "spherical"):
        ours, theirs = (growth[name]["work"][method][-1] for method in ("constraint_force", "articulated_body"))
        times[name] = ours / theirs
    free = gains[-1]["machines"]["no communication"]["constraint_force"]
    even = next((p for p, gain in zip(free["processors"], free["gain"], strict=True) if gain > 1.0), None)
    return [
        "more calculations than the conventional algorithms",
        f"as written {times['revolute']:.1f} times the operations of articulated bodies on hinges, "
        f"{times['spherical']:.1f} times on spherical joints",
        _agrees(min(times.values()) > 1.0, f": {even} processors gain on hinges" if even else ""),
    ]


def _branches(counts: dict[str, Any]) -> list[list[str]]:
    n, bodies = counts["links"][-1], counts["bodies"][-1]
    steps, straight = _steps(counts["links"], counts["depth"]["branched"])
    combed, plain = counts["work"]["branched"][-1] / bodies, counts["work"]["plain"][-1] / n
    return [
        [
            "side branches of length O(log N) do not change the complexity",
            f"{steps} for N (1 + log₂ N) bodies",
            _agrees(straight),
        ],
        [
            "with them, slightly fewer calculations for each body",
            f"{combed:,.0f} instead of {plain:,.0f} operations at N = {n}",
            _agrees(combed < plain, f": {combed / plain:.2f} times as many"),
        ],
    ]


def _bias(bias: dict[str, Any]) -> list[str]:
    wrong = min(bias["without"])
    return [
        '"no part of the CFA needs to be changed" for side branches',
        f"the branches' bias forces must enter the right-hand side, or the result is off by {wrong:.0e} to "
        f"{max(bias['without']):.0e} (below)",
        _agrees(wrong < SOUND),
    ]


def _coordinates(case: dict[str, Any]) -> list[str]:
    paper, ours = (case["errors"][method] for method in ("constraint_force_world", "constraint_force"))
    last = max(k for k, error in enumerate(paper) if error is not None)
    return [
        "absolute coordinates, known forces by inverse dynamics",
        f"lose digits: {paper[last]:.0e} at {case['values'][last]:,} nearly straight links, where link coordinates and "
        f"a directly formed right-hand side keep {ours[last]:.0e}",
        "a better way" if ours[last] < paper[last] else "no worse",
    ]
