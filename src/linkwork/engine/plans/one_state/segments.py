"""A long chain cut into segments: for all chains of the same joint kinds, the chain comes as tables."""

from __future__ import annotations

from functools import partial
from itertools import accumulate

from linkwork.engine.ir.layout import laid_out
from linkwork.engine.ir.program import Program
from linkwork.engine.plans.loops import Widths
from linkwork.engine.plans.one_state.parallel_loops import ParallelLoops
from linkwork.engine.plans.one_state.seams import steps_of_reduction, zero_beyond_seams
from linkwork.engine.plans.one_state.segment_tree import PARTS, SIZES, SegmentedTree, segmented_tables
from linkwork.engine.plans.task import Task
from linkwork.engine.trace.rolled import roll
from linkwork.engine.trace.tables import Tables, kinds_of
from linkwork.model.segments import blended, cut, cut_into, judged_limbs, limbs
from linkwork.properties import cached_property


class SegmentLoops(ParallelLoops):
    """The chain is cut into as many ``pieces`` as suit it by default."""

    form = "segmented"

    def __init__(self, task: Task, lanes: int, pieces: int | None = None) -> None:
        self.model = blended(task.model) or task.model
        """With joints of one kind on the chain, if they are in no order there."""
        found = cut_into(self.model, pieces) if pieces else cut(self.model)
        assert found is not None
        self.cut = found
        side_by_side = lanes if found.uniform else 1
        super().__init__(task, (*SIZES, *PARTS), side_by_side, side_by_side)

    @cached_property
    def laid_out(self) -> tuple[Program, dict[str, int]]:
        tables = self.tables(False)
        form = partial(SegmentedTree, on_chain=self.kinds[0], beside=self.kinds[1])
        program = roll(self.task.algorithm, tables.kinds, tables.width, self.task.absent, form=form)
        widths = laid_out(program, lists=False)
        zero_beyond_seams(program, widths["seam"])
        return program, widths

    @cached_property
    def kinds(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Which kinds there are on the chain, and in side branches."""
        _, numbers, _ = kinds_of(self.model, judged=judged_limbs(self.model))
        chain = self.cut.chain
        return tuple(sorted(set(numbers[:chain]))), tuple(sorted(set(numbers[chain:])))

    @property
    def identity(self) -> tuple[object, ...]:
        return *super().identity, self.lanes, self.kinds

    def new_tables(self, lanes: int) -> Tables:
        return segmented_tables(self.model, self.task.model, self.cut, lanes)

    def parts(self, widths: Widths, alone: bool) -> dict[str, int]:
        begins = self._square(widths, alone)
        return {name: begins[name] for name in PARTS}

    def _square(self, widths: Widths, alone: bool) -> dict[str, int]:
        """Where the parts of ``square`` begin, for one lane: cells of groups of segments, of values that go along
        the chain and of the head's bodies, places of the chain's groups of bodies, posts of those of side branches, and
        knots of these; then, for all lanes of a group, the rows of seams, and the end.
        """
        group, tables = self.group if alone else 1, self.tables(alone)
        segments, head = self.cut.count // group, self.cut.head + 1
        groups, on_chain = tables.data.size // (tables.width * group), head + segments * self.cut.length
        counts = {
            "places": (segments + head) * widths["cell"],
            "posts": on_chain * widths["place"],
            "knots": (groups - on_chain) * widths["post"],
            "seams": (tables.sizes["last_limb_group"] + 1) * widths["knot"],
        }
        begins = dict(zip(counts, accumulate(counts.values()), strict=True))
        begins["seams"] *= group
        return {**begins, "end": begins["seams"] + (self.cut.count + 2) * widths["seam"]}

    @cached_property
    def rows(self) -> int:
        """Of ``work``: one for each body of a segment, or of a side branch."""
        return max(self.cut.length, *(same.length for same in limbs(self.model)), 1)

    def memory(self, widths: Widths, alone: bool) -> dict[str, int]:
        work = self.rows * widths["row"] * (self.group if alone else 1)
        return {"work": work, "square": self._square(widths, alone)["end"]}

    @property
    def most_threads(self) -> int:
        return self.cut.count // self.group

    @property
    def rounds(self) -> int:
        return steps_of_reduction(self.cut.count)
