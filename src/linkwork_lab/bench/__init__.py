"""Measured times of every public function, beside those of other libraries where they are installed.

subjects -> cases and states -> contestants (ours, and each peer's) -> checked, then timed alternately -> report

    machine, subjects       the conditions; the mechanisms
    cases, peers            functions and states; other libraries
    contest                 checks and times
    chains, rollouts, threads, neighbours, first_call
                            measurements of their own: long chains, steps, threads, busy cores, the first call
    without                 what optimisations of generated code bring
    workers                 processes that measure beside this one
    measurements, targets   all of them; ratios to be reached
    plot, report, pages     plots and tables
"""

from linkwork_lab.bench.measurements import Settings, measure
from linkwork_lab.bench.subjects import Subject, standard

__all__ = ["Settings", "Subject", "measure", "standard"]
