"""Measured times of every public function, beside those of other libraries where they are installed.

subjects -> cases and states -> contestants (ours, and each peer's) -> checked, then timed alternately -> report
"""

from linkwork_lab.bench.measurements import Settings, measure
from linkwork_lab.bench.subjects import Subject, standard

__all__ = ["Settings", "Subject", "measure", "standard"]
