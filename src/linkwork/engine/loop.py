"""The loop over time around a kernel that makes one step: ``march``, in LLVM's text.

The kernel's first arguments are the state, as its results are; the others are given, constant or for each step. The
states of a tile stay in lanes from step to step, in two places by turns.

Words of the list that ``march`` takes: number of trajectories, tile buffer, steps done before, steps to do, steps in
all, and after how many steps a state is recorded; for each array of the state its address; for each given argument its
address and the distances, in numbers, of trajectories and of steps; for each array of the state the address of its
records and the distance of trajectories there; then the tables and sizes as ``batch`` takes them. A record's number is
its step's over ``every``, rounded up; record 0 is left to the caller, the last step is always recorded. The states are
read and written, so that a march can go on where it stopped. Status bits: 1 something given is not finite, 2 a record
is not finite.
"""

from __future__ import annotations

from linkwork.engine.tiles import TABLES, Interface, read_words, room, told


def march(interface: Interface, lanes: int) -> str:
    """The text of the function, and of those that only it calls."""
    sizes = [str(n) if isinstance(n, int) else f"%{n}" for n in (*interface.arguments, *interface.results)]
    state = range(len(interface.results))
    given = range(len(state), len(interface.arguments))
    rooms, tiles = room(sizes, lanes)
    lines = ["define i64 @march(ptr nocapture %words) nounwind {", "entry:", *_words(interface), *rooms]
    lines += ["  %status = alloca i64, align 8", "  store i64 0, ptr %status, align 8"]
    lines += [
        "  br label %head",
        "head:",
        "  %first = phi i64 [ 0, %entry ], [ %first.next, %leave ]",
        "  %more = icmp slt i64 %first, %trajectories",
        "  br i1 %more, label %enter, label %end",
        "enter:",
        "  %left = sub i64 %trajectories, %first",
        f"  %enough = icmp sge i64 %left, {lanes}",
        f"  %valid = select i1 %enough, i64 {lanes}, i64 %left",
    ]
    for k in state:
        lines += _at(f"own{k}", f"%state{k}", "%first", sizes[k])
        moved = f"ptr %own{k}, i64 {sizes[k]}, i64 %valid, i64 {sizes[k]}, ptr {tiles[k]}"
        lines.append(f"  %begun{k} = call i1 @pack({moved})")
    for k in given:
        lines += _at(f"from{k}", f"%given{k}", "%first", f"%lane{k}")
        lines.append(_take(f"%from{k}", f"%lane{k}", sizes[k], tiles[k], "0"))
    lines += ["  br label %time", "time:", "  %step = phi i64 [ 0, %enter ], [ %step.next, %next ]"]
    for k in state:
        lines.append(f"  %old{k} = phi ptr [ {tiles[k]}, %enter ], [ %new{k}, %next ]")
        lines.append(f"  %new{k} = phi ptr [ {tiles[len(interface.arguments) + k]}, %enter ], [ %old{k}, %next ]")
    lines += ["  %going = icmp slt i64 %step, %steps", f"  br i1 %going, label %look{given[0]}, label %leave"]
    for k in given:
        following = f"look{k + 1}" if k + 1 in given else "run"
        lines += [
            f"look{k}:",
            f"  %varies{k} = icmp ne i64 %pace{k}, 0",
            f"  br i1 %varies{k}, label %take{k}, label %{following}",
            f"take{k}:",
            *_at(f"row{k}", f"%from{k}", "%step", f"%pace{k}"),
            _take(f"%row{k}", f"%lane{k}", sizes[k], tiles[k], f"%pace{k}"),
            f"  br label %{following}",
        ]
    pointers = [*(f"%old{k}" for k in state), *(tiles[k] for k in given), *(f"%new{k}" for k in state)]
    passed = ", ".join(f"ptr {name}" for name in (*pointers, *(f"%{name}" for name in TABLES)))
    lines += [
        "run:",
        f"  call void @kernel({passed}{''.join(f', i64 %{name}' for name in interface.sizes)})",
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
    for k in state:
        lines += _at(f"records{k}", f"%record{k}", "%first", f"%apart{k}")
        lines += _at(f"to{k}", f"%records{k}", "%number", sizes[k])
        lines.append(_give(f"%new{k}", f"%to{k}", f"%apart{k}", sizes[k]))
    lines += ["  br label %next", "next:", "  br label %time", "leave:"]
    lines += [_give(f"%old{k}", f"%own{k}", sizes[k], sizes[k]) for k in state]
    lines += [
        f"  %first.next = add i64 %first, {lanes}",
        "  br label %head",
        "end:",
        "  %told = load i64, ptr %status, align 8",
        "  ret i64 %told",
        "}",
    ]
    return "\n".join(lines) + "\n" + _MOVES


def _words(interface: Interface) -> list[str]:
    state = range(len(interface.results))
    names = [("i64", "trajectories"), ("ptr", "buffer")]
    names += [("i64", name) for name in ("done", "steps", "total", "every")]
    names += [("ptr", f"state{k}") for k in state]
    for k in range(len(state), len(interface.arguments)):
        names += [("ptr", f"given{k}"), ("i64", f"lane{k}"), ("i64", f"pace{k}")]
    for k in state:
        names += [("ptr", f"record{k}"), ("i64", f"apart{k}")]
    return read_words([*names, *told(interface)])


def _at(name: str, start: str, index: str, stride: str) -> list[str]:
    """A pointer to ``start[index * stride]``."""
    return [
        f"  %{name}.far = mul i64 {index}, {stride}",
        f"  %{name} = getelementptr inbounds double, ptr {start}, i64 %{name}.far",
    ]


def _take(source: str, stride: str, size: str, tile: str, ahead: str) -> str:
    moved = f"ptr {source}, i64 {stride}, i64 %valid, i64 {size}, ptr {tile}"
    return f"  call void @take({moved}, i64 {ahead}, ptr %status)"


def _give(tile: str, target: str, stride: str, size: str) -> str:
    return f"  call void @give(ptr {tile}, ptr {target}, i64 {stride}, i64 %valid, i64 {size}, ptr %status)"


_MOVES = """
declare void @llvm.prefetch.p0(ptr nocapture, i32, i32, i32)

define internal void @take(
  ptr %source, i64 %stride, i64 %valid, i64 %count, ptr %tile, i64 %ahead, ptr %status
) nounwind {
entry:
  %fine = call i1 @pack(ptr %source, i64 %stride, i64 %valid, i64 %count, ptr %tile)
  %seen = load i64, ptr %status, align 8
  %bad = select i1 %fine, i64 0, i64 1
  %both = or i64 %seen, %bad
  store i64 %both, ptr %status, align 8
  %coming = getelementptr inbounds double, ptr %source, i64 %ahead
  call void @fetch(ptr %coming, i64 %stride, i64 %valid, i64 %count)
  ret void
}

define internal void @give(ptr %tile, ptr %target, i64 %stride, i64 %valid, i64 %count, ptr %status) nounwind {
entry:
  %fine = call i1 @unpack(ptr %tile, ptr %target, i64 %stride, i64 %valid, i64 %count)
  %seen = load i64, ptr %status, align 8
  %bad = select i1 %fine, i64 0, i64 2
  %both = or i64 %seen, %bad
  store i64 %both, ptr %status, align 8
  %coming = getelementptr inbounds double, ptr %target, i64 %count
  call void @fetch(ptr %coming, i64 %stride, i64 %valid, i64 %count)
  ret void
}

define internal void @fetch(ptr %start, i64 %stride, i64 %valid, i64 %count) nounwind {
entry:
  br label %row
row:
  %r = phi i64 [ 0, %entry ], [ %r.next, %row.done ]
  %far = mul i64 %r, %stride
  %own = getelementptr inbounds double, ptr %start, i64 %far
  br label %line
line:
  %k = phi i64 [ 0, %row ], [ %k.next, %line ]
  %place = getelementptr inbounds double, ptr %own, i64 %k
  call void @llvm.prefetch.p0(ptr %place, i32 1, i32 3, i32 1)
  %k.next = add i64 %k, 8
  %more = icmp slt i64 %k.next, %count
  br i1 %more, label %line, label %row.done
row.done:
  %r.next = add i64 %r, 1
  %again = icmp slt i64 %r.next, %valid
  br i1 %again, label %row, label %leave
leave:
  ret void
}
"""
"""States into and out of tiles, noting what is not finite. Both ask for the rows of the next step, which memory then
brings while this one runs: it would otherwise take as long as a third of the step.
"""
