"""Measurements as tables: for the terminal, and in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from linkwork.plain import as_markdown
from linkwork_lab.bench.first_call import PARTS

Rows = list[list[str]]

FOOTNOTE = (
    "Each time is that of one state, the best of many samples taken alternately on the same states; ×n is the peer's "
    "time over linkwork's. Results were compared before timing; a peer whose results differ is not timed. "
    "* a Python loop over single calls, 256 at most: the peer has no batch. "
    "~ the peer did not have a core to itself even in its best sample, so this ratio is too high."
)
PEERS = {"pin": "Pinocchio", "mujoco": "MuJoCo"}
"""Headings of columns."""
SHORT = {
    "forward_dynamics articulated_body": "forward dynamics",
    "inverse_dynamics": "inverse dynamics",
    "mass_matrix": "mass matrix",
    "jacobian": "jacobian",
    "forward_dynamics_derivatives": "forward dynamics derivatives",
    "inverse_dynamics_derivatives": "inverse dynamics derivatives",
    "linearise": "linearise",
    "constrained_dynamics 2": "constrained dynamics, two feet welded",
    "constrained_inverse_dynamics 2": "constrained inverse dynamics, two feet welded",
    "operational_space 2": "operational space of two feet",
    "control.OperationalSpaceController": "operational-space controller",
}
"""The functions in short tables, by their names there."""


def print_report(data: dict[str, Any], console: Console) -> None:
    for line in header(data):
        console.print(line)
    for model in data["models"]:
        base = ", floating base" if model["floating_base"] else ""
        console.print(f"\n{model['name']}: {model['bodies']} bodies, {model['nv']} degrees of freedom{base}")
        for reason in model["absent"].values():
            console.print(reason)
        _print(console, *model_table(model, list(data["notes"]), data["settings"]["small"]))
        console.print("batches on one thread, a state; in brackets into the caller's array")
        _print(console, *size_table([model], data["settings"]))
        _print(console, *first_call_table(model))
    if data["threads"]:
        console.print(f"\n{THREADS}")
        _print(console, *thread_table(data))
    if data.get("rollouts"):
        console.print("\nRollouts on a fixed base, one thread: a step of one trajectory")
        _print(console, *rollout_table(data))
        _print(console, *simulation_table(data))
    if data["chains"]:
        console.print("\nForward dynamics of chains of revolute joints, one thread: time of a joint")
        _print(console, *chain_table(data))
        for chain in data["chains"]:
            for reason in chain["absent"].values():
                console.print(f"chain of {chain['n']}: {' '.join(reason.split())}")
    if data["targets"]:
        console.print("\nTargets")
        _print(console, *target_table(data))
    console.print(f"\n{FOOTNOTE}")


def header(data: dict[str, Any]) -> list[str]:
    """The conditions of the measurements."""
    machine, versions = data["machine"], data["versions"]
    shown = ", ".join(f"{name} {number}" for name, number in versions.items() if number)
    return [
        f"{machine['cpu']} ({machine['llvm_cpu']}), {machine['cores']} cores, {machine['lanes']} lanes; "
        f"{machine['system']}; load {machine['load']} when it began",
        f"{shown}; commit {data['commit'] or 'unknown'}",
        *data["notes"].values(),
    ]


def model_table(model: dict[str, Any], peers: list[str], small: Sequence[int] = ()) -> tuple[list[str], Rows]:
    """A row for each function: one call, and batches; ours, then each peer with the ratio."""
    rows = _by_call(model)
    kinds = [kind for kind in sorted({key[1:] for key in rows}) if not kind[0] or kind[1] not in small]
    used = _used(peers, model["rows"])
    heading = ["function"]
    for batch, states, threads in kinds:
        what = f"batch {states}, {threads} thread{'s' if threads > 1 else ''}" if batch else "one call"
        heading += [what, *_titles(used)]
    lines = [
        [function, *(cell for kind in kinds for cell in _cells(rows.get((function, *kind)), used))]
        for function in measured(model)
    ]
    return heading, lines


def _by_call(model: dict[str, Any]) -> dict[tuple[str, bool, int, int], dict[str, Any]]:
    """The rows of a model by function, whether it is a batch, states and threads."""
    return {(row["function"], row["kind"] == "batch", row["states"], row["threads"]): row for row in model["rows"]}


def _used(peers: Iterable[str], rows: Iterable[dict[str, Any]]) -> list[str]:
    """The peers that are in any row."""
    names = {name for row in rows for name in row["peers"]}
    return [name for name in peers if name in names]


def _titles(peers: Iterable[str]) -> list[str]:
    return [PEERS.get(name, name) for name in peers]


def _cells(row: dict[str, Any] | None, peers: Sequence[str], parts: int = 1) -> list[str]:
    """Our time and that of each peer, divided by ``parts``."""
    if row is None:
        return [""] * (1 + len(peers))
    return [duration(row["seconds"] / parts), *(_peer(row, name, parts) for name in peers)]


def _robot(row: dict[str, Any]) -> str:
    return f"{row['name']} ({row['nv']})"


def size_table(
    models: Sequence[dict[str, Any]], settings: dict[str, Any], short: bool = False
) -> tuple[list[str], Rows]:
    """A row for each function: the time of a state by batch size on one thread; with ``out=`` in brackets; and the
    ratio to Pinocchio.
    """
    sizes = [*(size for size in settings["small"] if size < settings["batch"]), settings["batch"]]
    lines = []
    for model in models:
        rows = _by_call(model)
        for function in measured(model, SHORT if short else None):
            begin = [_robot(model), SHORT[function]] if short else [function]
            lines.append([*begin, *(_in_brackets(rows[function, True, size, 1]) for size in sizes)])
    heading = ["robot", "function"] if short else ["function"]
    return [*heading, *(f"{size:,} states" if size > 1 else "1 state" for size in sizes)], lines


def _in_brackets(row: dict[str, Any]) -> str:
    peer = row["peers"].get("pin", {})
    ratio = f" {'~' if peer['disturbed'] else ''}×{peer['ratio']:.1f}" if "ratio" in peer else ""
    in_place = f" ({duration(row['in_place'])})" if "in_place" in row else ""
    return f"{duration(row['seconds'])}{in_place}{ratio}"


def measured(model: dict[str, Any], names: Iterable[str] | None = None) -> list[str]:
    """The functions that were measured on a model, all or those among ``names``, in that order."""
    functions = dict.fromkeys(row["function"] for row in model["rows"])
    return list(functions) if names is None else [function for function in names if function in functions]


def _peer(row: dict[str, Any], name: str, parts: int) -> str:
    """The peer's time divided by ``parts`` and its ratio to linkwork's; or the difference of its result."""
    peer = row["peers"].get(name)
    if not peer:
        return ""
    if not peer["agrees"]:
        return "differs not finite" if peer["error"] is None else f"differs by {peer['error']:.0e}"
    loop, busy = "*" if peer["how"].startswith("loop") else "", "~" if peer["disturbed"] else ""
    return f"{duration(peer['seconds'] / parts)}{loop} {busy}×{peer['ratio']:.1f}"


def first_call_table(model: dict[str, Any]) -> tuple[list[str], Rows]:
    """The first call in a fresh process."""
    first = model["first_call"]
    heading = ["first call", "process start to result", "import", "load model", "call", "beyond import numpy"]
    heading += ["slowest other function's call"]
    lines = []
    for name, label in (("cold", "empty cache"), ("cached", "from cache")):
        times = first[name]
        slowest = max(times["calls"].items(), key=lambda item: item[1], default=None)
        last = f"{duration(slowest[1])} ({slowest[0]})" if slowest else ""
        lines.append([label, *(duration(times[part]) for part in PARTS), last])
    return heading, lines


def start_table(models: Sequence[dict[str, Any]]) -> tuple[list[str], Rows]:
    """First calls of all models."""
    heading = ["robot", "first call, empty cache", "from process start", "first call from cache"]
    heading += ["beyond `import numpy`", "from process start"]
    which = [("cold", "call"), ("cold", "process"), ("cached", "call"), ("cached", "beyond"), ("cached", "process")]
    return heading, [[m["name"], *(duration(m["first_call"][how][part]) for how, part in which)] for m in models]


THREADS = (
    "Batches on one thread, with out=: the time of a call; how many times faster it is on all threads; and in brackets "
    "how many times as much as many processes get done that know nothing of each other: the machine's own limit"
)


def thread_table(data: dict[str, Any]) -> tuple[list[str], Rows]:
    """A row for each robot and function: calls by batch size, on one thread and on all."""
    sizes = data["settings"]["threads"]
    lines = []
    for model in data["threads"]:
        rows = {(row["function"], row["states"]): _gains(row, model["threads"]) for row in model["rows"]}
        for function in measured(model):
            lines.append([_robot(model), SHORT[function], *(rows.get((function, size), "") for size in sizes)])
    return ["robot", "function", *(f"{size:,} states" for size in sizes)], lines


def _gains(row: dict[str, Any], threads: int) -> str:
    one = row["seconds"]
    return f"{duration(one * row['states'])} ×{one / row['all_threads']:.2f} (×{threads * one / row['beside']:.2f})"


def chain_table(data: dict[str, Any]) -> tuple[list[str], Rows]:
    """Time per joint against the length of a chain, each peer with its ratio to linkwork's time in the same column."""
    used = _used(data["notes"], [chain["single"] for chain in data["chains"]])
    heading = ["joints", "one call, a joint", *_titles(used), "constraint forces", "on all threads"]
    heading += ["batch, a joint", *_titles(used), "states"]
    lines = []
    for chain in data["chains"]:
        n, forces = chain["n"], chain["constraint_force"] or {}
        one, batch = (_cells(chain[kind], used, n) for kind in ("single", "batch"))
        cells = [duration(entry["seconds"] / n) for entry in forces.values()] or ["", ""]
        lines.append([f"{n:,}", *one, *cells, *batch, str(chain["states"])])
    return heading, lines


def rollout_table(data: dict[str, Any]) -> tuple[list[str], Rows]:
    """The time of a step, with every state kept or only the last, and memory over many steps."""
    heading, lines = _step_table(data, data["rollouts"], {"rollout, a step": "each", "last state only": "last"})
    memory = [_memory(row["memory"]) for row in data["rollouts"]]
    return [*heading, "memory"], [[*line, cell] for line, cell in zip(lines, memory, strict=True)]


def simulation_table(data: dict[str, Any]) -> tuple[list[str], Rows]:
    """The time of a step of one simulation by each integrator, of one with a control law, of a rollout with law and
    cost, and of model-predictive path integral control.
    """
    kinds = {"simulate, a step": "semi_implicit_euler", "Runge-Kutta 4": "runge_kutta_4", "by a law": "simulated_law"}
    kinds |= {"rollout, law and cost": "law", "MPPI, a step": "mppi"}
    return _step_table(data, [row for row in data["rollouts"] if "runge_kutta_4" in row], kinds, alone=_ALONE)


_ALONE = ("simulated_law", "law")
"""Steps that no peer takes."""


def _step_table(
    data: dict[str, Any], rows: list[dict[str, Any]], kinds: dict[str, str], alone: Sequence[str] = ()
) -> tuple[list[str], Rows]:
    """The time of a step of each of these kinds, by their titles; those ``alone`` have no peers."""
    used = _used(data["notes"], [row[next(iter(kinds.values()))] for row in rows])
    peers = {kind: [] if kind in alone else used for kind in kinds.values()}
    heading = ["robot", *(text for title, kind in kinds.items() for text in (title, *_titles(peers[kind])))]
    return heading, [
        [_robot(row), *(cell for kind in kinds.values() for cell in _cells(row[kind], peers[kind]))] for row in rows
    ]


def _memory(memory: dict[str, Any] | None) -> str:
    if not memory or memory["before"] is None:
        return ""
    return f"{(memory['after'] - memory['before']) / 1e6:+.1f} MB over {memory['steps']:,} steps"


def target_table(data: dict[str, Any]) -> tuple[list[str], Rows]:
    """Each target, the measured value, and whether it is met."""
    lines = []
    for row in data["targets"]:
        if row["unit"] == "s":
            target, measured = f"under {duration(row['target'])}", duration(row["measured"])
        else:
            limit = "at least" if row["unit"] == "times faster" else "at most"
            target, measured = f"{limit} ×{row['target']:.3g}", f"×{row['measured']:.3g}"
        lines.append([row["what"], target, measured, {True: "yes", False: "no", None: "busy"}[row["met"]]])
    return ["what", "target", "measured", "met"], lines


def markdown(data: dict[str, Any]) -> str:
    """Short tables for a page: each model's main functions, chains, and the conditions of the measurement."""
    parts = [_markdown_table(*_short_table(data))]
    if data["models"]:
        parts.append(
            "Batches by their size, one thread: the time of a state; with `out=` in brackets; against Pinocchio\n\n"
            + _markdown_table(*size_table(data["models"], data["settings"], short=True))
        )
        parts.append(_markdown_table(*start_table(data["models"])))
    if data["threads"]:
        parts.append(f"{THREADS.replace('out=', '`out=`')}\n\n{_markdown_table(*thread_table(data))}")
    if data.get("rollouts"):
        parts += [_markdown_table(*rollout_table(data)), _markdown_table(*simulation_table(data))]
    if data["chains"]:
        parts.append(_markdown_table(*chain_table(data)))
    return "\n\n".join([*parts, FOOTNOTE.replace("* a", "\\* a"), "; ".join(header(data)) + "."])


def _short_table(data: dict[str, Any]) -> tuple[list[str], Rows]:
    """The main functions of all models: one call, and a batch on one thread."""
    peers = _used(data["notes"], [row for model in data["models"] for row in model["rows"]])
    lines = []
    for model in data["models"]:
        rows = _by_call(model)
        for function in measured(model, SHORT):
            one, batch = rows[function, False, 1, 1], rows[function, True, data["settings"]["batch"], 1]
            lines.append([_robot(model), SHORT[function], *_cells(one, peers), *_cells(batch, peers)])
    return ["robot", "function", "one call", *_titles(peers), "batch, one thread", *_titles(peers)], lines


def _markdown_table(heading: list[str], lines: Iterable[list[str]]) -> str:
    rows = [heading, ["---"] * len(heading), *(list(map(as_markdown, line)) for line in lines)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _print(console: Console, heading: list[str], lines: Rows) -> None:
    table = Table(box=None, pad_edge=False)
    for k, name in enumerate(heading):
        table.add_column(name, justify="left" if k == 0 else "right", no_wrap=True)
    for line in lines:
        table.add_row(*line)
    console.print(table)


def duration(seconds: float) -> str:
    """Three digits and a unit.

    Example:
        >>> [duration(x) for x in (4.56e-9, 9.997e-7, 1.2345e-6, 0.0153, 2.0)]
        ['4.56 ns', '1 µs', '1.23 µs', '15.3 ms', '2 s']
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        digits = f"{seconds / size:.3g}"
        if float(digits) >= 1.0:
            return f"{digits} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
