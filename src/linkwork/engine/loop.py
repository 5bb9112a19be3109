"""The loop over time around a kernel that makes one step: ``march``, in LLVM's text.

The kernel's first arguments are the state, as its results are; the others are given, constant or for each step. The
states of a tile stay in lanes from step to step.

Words of the list that ``march`` takes: number of trajectories, tile buffer, steps done before, steps to do, steps in
all, and after how many steps a state is recorded; for each array of the state its address; for each given argument its
address and the distances, in numbers, of trajectories and of steps; for each array of the state the address of its
records and the distance of trajectories there; then the tables and sizes as ``batch`` takes them. A record's number is
its step's over ``every``, rounded up; record 0 is left to the caller, the last step is always recorded. The states are
read and written, so that a march can go on where it stopped. Status: 2 if a record is not finite.
"""

from __future__ import annotations

from linkwork.engine.tiles import TABLES, Interface

_NUMBERS = ("trajectories", "done", "steps", "total", "every")


def march(interface: Interface, lanes: int) -> str:
    """The text of the function."""
    sizes = [str(n) if isinstance(n, int) else f"%{n}" for n in (*interface.arguments, *interface.results)]
    state = range(len(interface.results))
    given = range(len(state), len(interface.arguments))
    lines = ["define i64 @march(ptr nocapture %words) nounwind {", "entry:", *_words(interface)]
    place, tiles = "%buffer", []
    for k, size in enumerate(sizes):
        tiles.append(place)
        lines.append(f"  %room{k} = mul i64 {size}, {lanes}")
        lines.append(f"  %tile{k} = getelementptr inbounds double, ptr {place}, i64 %room{k}")
        place = f"%tile{k}"
    lines += [
        "  br label %head",
        "head:",
        "  %first = phi i64 [ 0, %entry ], [ %first.next, %leave ]",
        "  %status = phi i64 [ 0, %entry ], [ %told, %leave ]",
        "  %more = icmp slt i64 %first, %trajectories",
        "  br i1 %more, label %enter, label %end",
        "enter:",
        "  %left = sub i64 %trajectories, %first",
        f"  %enough = icmp sge i64 %left, {lanes}",
        f"  %valid = select i1 %enough, i64 {lanes}, i64 %left",
    ]
    for k in state:
        lines += _at(f"own{k}", f"%state{k}", ("%first", sizes[k]))
        lines.append(_pack(k, f"%own{k}", sizes[k], sizes[k], tiles[k]))
    for k in given:
        lines += _at(f"from{k}", f"%given{k}", ("%first", f"%lane{k}"))
        lines.append(_pack(k, f"%from{k}", f"%lane{k}", sizes[k], tiles[k]))
    lines += ["  br label %time", "time:"]
    for k in state:
        after = tiles[len(interface.arguments) + k]
        lines.append(f"  %old{k} = phi ptr [ {tiles[k]}, %enter ], [ %new{k}, %next ]")
        lines.append(f"  %new{k} = phi ptr [ {after}, %enter ], [ %old{k}, %next ]")
    lines += [
        "  %step = phi i64 [ 0, %enter ], [ %step.next, %next ]",
        "  %told = phi i64 [ %status, %enter ], [ %seen, %next ]",
        "  %going = icmp slt i64 %step, %steps",
        f"  br i1 %going, label %look{len(state)}, label %leave",
    ]
    for k in given:
        following = f"look{k + 1}" if k + 1 in given else "run"
        lines += [
            f"look{k}:",
            f"  %varies{k} = icmp ne i64 %pace{k}, 0",
            f"  br i1 %varies{k}, label %take{k}, label %{following}",
            f"take{k}:",
            *_at(f"row{k}", f"%from{k}", ("%step", f"%pace{k}")),
            _pack(k, f"%row{k}", f"%lane{k}", sizes[k], tiles[k], "again"),
            f"  br label %{following}",
        ]
    passed = [*(f"%old{k}" for k in state), *(tiles[k] for k in given), *(f"%new{k}" for k in state)]
    told = "".join(f", i64 %{name}" for name in interface.sizes)
    lines += [
        "run:",
        f"  call void @kernel({', '.join(f'ptr {name}' for name in (*passed, *(f'%{name}' for name in TABLES)))}{told})",
        "  %step.next = add i64 %step, 1",
        "  %now = add i64 %done, %step.next",
        "  %rest = urem i64 %now, %every",
        "  %whole = icmp eq i64 %rest, 0",
        "  %last = icmp eq i64 %now, %total",
        "  %due = or i1 %whole, %last",
        "  br i1 %due, label %record, label %next",
        "record:",
        "  %round = sub i64 %every, 1",
        "  %up = add i64 %now, %round",
        "  %number = udiv i64 %up, %every",
    ]
    fine = "true"
    for k in state:
        lines += _at(f"own.record{k}", f"%record{k}", ("%first", f"%apart{k}"))
        lines += _at(f"to{k}", f"%own.record{k}", ("%number", sizes[k]))
        lines.append(_unpack(f"%ok{k}", f"%new{k}", f"%to{k}", f"%apart{k}", sizes[k]))
        lines.append(f"  %fine{k} = and i1 {fine}, %ok{k}")
        fine = f"%fine{k}"
    lines += [
        f"  %found = select i1 {fine}, i64 0, i64 2",
        "  %recorded = or i64 %told, %found",
        "  br label %next",
        "next:",
        "  %seen = phi i64 [ %told, %run ], [ %recorded, %record ]",
        "  br label %time",
        "leave:",
        *(_unpack(f"%kept{k}", f"%old{k}", f"%own{k}", sizes[k], sizes[k]) for k in state),
        f"  %first.next = add i64 %first, {lanes}",
        "  br label %head",
        "end:",
        "  ret i64 %status",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _words(interface: Interface) -> list[str]:
    state = range(len(interface.results))
    names = [("trajectories", "i64"), ("buffer", "ptr"), *((name, "i64") for name in _NUMBERS[1:])]
    names += [(f"state{k}", "ptr") for k in state]
    for k in range(len(state), len(interface.arguments)):
        names += [(f"given{k}", "ptr"), (f"lane{k}", "i64"), (f"pace{k}", "i64")]
    for k in state:
        names += [(f"record{k}", "ptr"), (f"apart{k}", "i64")]
    names += [*((name, "ptr") for name in TABLES), *((name, "i64") for name in interface.sizes)]
    lines = []
    for word, (name, kind) in enumerate(names):
        lines.append(f"  %{name}.at = getelementptr inbounds i64, ptr %words, i64 {word}")
        lines.append(f"  %{name} = load {kind}, ptr %{name}.at, align 8")
    return lines


def _at(name: str, start: str, times: tuple[str, str]) -> list[str]:
    """A pointer to ``start[a * b]``."""
    return [
        f"  %{name}.far = mul i64 {times[0]}, {times[1]}",
        f"  %{name} = getelementptr inbounds double, ptr {start}, i64 %{name}.far",
    ]


def _pack(k: int, source: str, stride: str, size: str, tile: str, suffix: str = "first") -> str:
    return f"  %{suffix}{k} = call i1 @pack(ptr {source}, i64 {stride}, i64 %valid, i64 {size}, ptr {tile})"


def _unpack(name: str, tile: str, target: str, stride: str, size: str) -> str:
    return f"  {name} = call i1 @unpack(ptr {tile}, ptr {target}, i64 {stride}, i64 %valid, i64 {size})"
