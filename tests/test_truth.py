"""The same algorithms with 50 digits: the float64 error of every algorithm, in every form.

The reference takes the floats of the model and of the state as exact, so that the error is the algorithm's own. Bounds,
relative to the largest number of a result, with u = 1.1e-16 the unit roundoff:

    recursions without a solve   each body on a path adds some 16 roundings that matter: 16 (bodies + 4) u
    articulated_body,
    virtual_work, operational/   the same, times 64 for the pivots behind one another; at most 1e-12
    composite_body, unit_vector,
    operational/dense            a Cholesky solve is backward stable: nv u cond(M)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import mpmath
import numpy as np
import pytest

import linkwork as lw
from exact import exact_tree
from linkwork.algorithms import ALGORITHMS
from linkwork.inside import evaluate
from linkwork.model import Model
from strategies import ARRAYS, CALLS, FAMILIES, State, pool, pool_to_compile, state_of

context = mpmath.mp.clone()
context.dps = 50
UNIT = 2.0**-53

MECHANISMS = ["double_pendulum", "serial_chain:7", "branched_30dof", "humanoid", "rope:20", "every_kind", "free_boxes"]


@cache
def mechanism(name: str) -> Model:
    ready = (*pool(), *pool_to_compile())
    return next((model for model in ready if model.name == name), None) or lw.mechanisms.by_name(name)


def frames_of(model: Model) -> list[str]:
    return list(model.frame_names[:: max(1, len(model.frame_names) // 3)])


@cache
def truth(name: str, algorithm: str) -> tuple[State, list[list[mpmath.mpf]]]:
    model = mechanism(name)
    with lw.interpreted():
        state = state_of(model, 7)
    given = {"q0": state.q} | {key: getattr(state, key) for key in ARRAYS}
    entry = ALGORITHMS[algorithm]
    arguments = [[context.mpf(x) for x in given[argument].ravel().tolist()] for argument, _ in entry.arguments]
    frames = [model.frame(frame) for frame in frames_of(model)]
    return state, evaluate(entry, model, arguments, frames, exact_tree(model, context.mpf, frames))


def bound(name: str, algorithm: str, state: State) -> float:
    model = mechanism(name)
    if algorithm in ("composite_body", "unit_vector", "operational/dense", "forward_dynamics_derivatives"):
        return model.nv * UNIT * float(np.linalg.cond(lw.mass_matrix(model, state.q)))
    plain = 16.0 * (len(model.bodies) + 4) * UNIT
    solving = (
        "articulated_body",
        "virtual_work",
        "operational",
        "force_responses",
        "forward_dynamics",
        "mass_matrix_inv",
    )
    pivots = algorithm.startswith(solving)
    return min(1e-12, 64.0 * plain) if pivots else plain


def relative_error(result: Sequence[float], exact: Sequence[mpmath.mpf]) -> float:
    size = max(map(abs, exact), default=context.mpf(0))
    error = max((abs(context.mpf(x) - e) for x, e in zip(result, exact, strict=True)), default=context.mpf(0))
    return float(error / size) if size else float(error)


# Compiled code has the interpreter's bits (test_bits), and so its errors.
CASES = [("interpreted", name) for name in MECHANISMS]


ASKED = [name for name in ALGORITHMS if name in FAMILIES or "derivatives" in name]


@pytest.mark.parametrize(  # every other algorithm on each
    ("engine", "name", "algorithm"),
    [(*case, name) for k, case in enumerate(CASES) for name in ASKED[k % 2 :: 2]],
    indirect=["engine"],
)
def test_float_results_are_near_the_truth(engine: str, name: str, algorithm: str) -> None:
    state, exact = truth(name, algorithm)
    results = CALLS[algorithm](state, frames_of(state.model))
    limit = bound(name, algorithm, state)
    for result, numbers in zip(results if isinstance(results, tuple) else (results,), exact, strict=True):
        error = relative_error(np.asarray(result).ravel().tolist(), numbers)
        assert error <= limit, f"error {error:.2g}, bound {limit:.2g}"


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_truth_is_true(name: str) -> None:
    """With 50 digits the methods agree and return the input of inverse dynamics, to 40 digits.

    The random trees have rotations that are orthogonal to float precision only, which not all methods use alike.
    """
    limit = 1e-13 if name in {model.name for model in pool()} else 1e-40
    state, (accelerations,) = truth(name, "articulated_body")
    _, (others,) = truth(name, "composite_body")
    q, v, f_ext = ([context.mpf(x) for x in array.ravel().tolist()] for array in (state.q, state.v, state.f_ext))
    tree = exact_tree(state.model, context.mpf)
    (tau,) = evaluate(ALGORITHMS["inverse_dynamics"], state.model, [q, v, accelerations, f_ext], tree=tree)
    assert relative_error(others, accelerations) < limit
    assert relative_error(tau, [context.mpf(x) for x in state.tau.tolist()]) < limit
