"""One state in parallel: a long chain cut into segments, or a tree taken level by level, over lanes and threads.

Everything else reads without this: the planner asks for a plan here, and what it gets is code with loops like any
other, whose loops have a team of their own for one state.

    segment_tree   the tree of an algorithm for segments: parallel loops over these, with side_branches and seams
    level_tree     the tree of an algorithm for levels: a loop over these, in it a parallel loop over parts
    segments       the program of a chain, its tables and memory;   levels   that of a tree
    parallel       code whose parallel loops run over lanes and a team, by a parallel_kernel
    team           the threads of a plan, and how helpers join a call
"""

from __future__ import annotations

from linkwork.engine.code import jit
from linkwork.engine.plans.loops import Looped
from linkwork.engine.plans.one_state.levels import LevelLoops
from linkwork.engine.plans.one_state.segments import SegmentLoops
from linkwork.engine.plans.task import Task

__all__ = ["by_levels", "by_segments"]


def by_segments(
    task: Task, cpu: tuple[str, str] | None = None, lanes: int | None = None, pieces: int | None = None
) -> Looped:
    """The plan of a chain whose bodies are lined up, cut into as many pieces as suit it by default."""
    return Looped(task, SegmentLoops(task, lanes or jit.lanes(cpu or jit.host()), pieces), cpu, lanes)


def by_levels(task: Task, cpu: tuple[str, str] | None = None, lanes: int | None = None) -> Looped:
    """The plan of a tree taken level by level."""
    return Looped(task, LevelLoops(task, lanes or jit.lanes(cpu or jit.host())), cpu, lanes)
