"""Quadratic programs by other packages' solvers: minimise ½ zᵀ H z + gᵀ z with A z <= b, H positive definite."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from linkwork.arguments import choice
from linkwork.dynamics.arguments import Array
from linkwork.errors import MissingExtraError

Solve = Callable[[Array, Array, Array, Array], Array | None]
"""(H, g, A, b) -> z; None if no z satisfies A z <= b, or the solver finds none."""


_ROOM = 1e-6
"""The relaxation of inequalities (N, N m) if an interior-point method finds no interior."""


def _piqp(package: Any) -> Solve:
    """An interior-point method: its time hardly depends on the number of active inequalities. Where these leave a
    single feasible point, as higher levels may, they are relaxed.
    """

    def solve(H: Array, g: Array, A: Array, b: Array) -> Array | None:
        # In y = Lᵀ z, H = L Lᵀ, the curvature is 1 in every direction, so that small weights are as exact as large
        # ones.
        L = np.linalg.cholesky(H)
        unit, slope = np.eye(len(g)), np.linalg.solve(L, g)
        across = np.asfortranarray(np.linalg.solve(L, A.T).T)
        for bounds in (b, b + _ROOM):
            solver = package.DenseSolver()
            solver.settings.eps_abs, solver.settings.eps_rel = 1e-9, 1e-10
            solver.setup(unit, slope, None, None, across, None, bounds)
            if solver.solve() == package.PIQP_SOLVED:
                return np.linalg.solve(L.T, solver.result.x)
        return None

    return solve


def _daqp(package: Any) -> Solve:
    """An active-set method: exact to rounding, and faster the fewer inequalities are active."""

    def solve(H: Array, g: Array, A: Array, b: Array) -> Array | None:
        parts = (np.ascontiguousarray(each) for each in (H, g, A, b, np.full(len(b), -1e30)))
        z, _, status, _ = package.solve(*parts, np.zeros(len(b), dtype=np.int32))
        return np.array(z) if status == 1 else None

    return solve


_SOLVERS = {"daqp": _daqp, "piqp": _piqp}
SOLVERS = tuple(_SOLVERS)


def solver_of(name: str) -> Solve:
    """A solver by its package's name."""
    which = choice("solver", name, SOLVERS)
    try:
        return _SOLVERS[which](import_module(which))
    except ImportError:
        raise MissingExtraError(
            f"a whole-body controller needs the package {which}: pip install 'linkwork[whole-body]'"
        ) from None
