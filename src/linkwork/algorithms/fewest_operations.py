"""Which method for Λ⁻¹ takes the fewest operations."""

from __future__ import annotations

from functools import lru_cache

from linkwork.model.model import Model


@lru_cache(maxsize=1000)
def fewest_operations(model: Model, bodies: tuple[int, ...]) -> str:
    """The method with the least predicted work."""
    return "dense" if model.nv <= 6 else "pv"
