"""Hostile arrays through the builtins, for a run under a memory checker.

    LINKWORK_LANES=4 PYTHONMALLOC=malloc valgrind --smc-check=all --error-limit=no python tests/memcheck.py 400

Valgrind does not support AVX-512, hence the lanes; run it once without valgrind before, so that code comes from the
cache. Only invalid reads and writes in or below frames without a name count, which are generated code. Python's own
integers and the dynamic loader are reported, too: these are false positives.
"""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import linkwork as lw

Array = NDArray[Any]
MODEL = lw.mechanisms.serial_chain(6)
N = MODEL.nv
SHORT: list[Callable[[Array], Any]] = [
    lambda x: x[:-1].copy(),
    lambda x: np.append(x, 1.0),
    lambda x: x[::-1],
    lambda x: x.astype(np.float32),
    lambda x: x.astype(">f8"),
    lambda x: x.astype(object),
    lambda x: x.tolist(),
    lambda x: np.stack([x] * random.randrange(1, 40)),
    lambda x: np.stack([x] * 7)[::2],
    lambda x: np.asfortranarray(np.stack([x] * 5)),
    lambda x: np.broadcast_to(x, (random.randrange(1, 9), N)),
    lambda x: np.concatenate([[0], x.view(np.uint8)]).astype(np.uint8)[1:].view(np.float64),  # at an odd address
    lambda x: np.zeros((1,) * 20 + (N,)),
    lambda x: np.empty((3, 0, N)),
    lambda x: np.full(N, random.choice([np.nan, np.inf, 1e308])),
    lambda x: np.ma.masked_array(x, mask=[True] * N),
    lambda x: random.choice([None, "text", 3.0, np.array(3.0)]),
]


def outputs(result: Array, argument: Array) -> list[Any]:
    """Arrays for a result, most of them wrong."""
    locked = np.empty_like(result)
    locked.flags.writeable = False
    longer = np.empty((*result.shape[:-1], result.shape[-1] + 1))
    strided = np.empty((5, *result.shape))[::2]
    return [None, np.empty_like(result), np.empty((9, *result.shape)), longer, locked, strided, argument, 5]


def main(calls: int, seed: int = 0) -> None:
    random.seed(seed)
    rng = np.random.default_rng(seed)
    functions = [lw.forward_dynamics, lw.inverse_dynamics, lw.nonlinear_effects, lw.mass_matrix, lw.jacobian]
    state = [*lw.random_state(MODEL, rng), rng.normal(size=N)]
    given = {function: state[:count] for function, count in zip(functions, (3, 3, 2, 1, 1), strict=True)}
    further = {lw.jacobian: (["tip"],)}
    wanted = {}
    for function, arrays in given.items():
        for some in (arrays, arrays, [np.stack([x] * 16) for x in arrays]):
            wanted[function] = function(MODEL, *some, *further.get(function, ()))  # compiles code and its builtin
        wanted[function] = wanted[function][0]
    refused = 0
    for _ in range(calls):
        function = random.choice(functions)
        arrays = [x.copy() for x in given[function]]
        hostile = random.sample(range(len(arrays)), random.randrange(len(arrays) + 1))
        out = random.choice(outputs(wanted[function], arrays[0]))
        for k in hostile:
            arrays[k] = random.choice(SHORT)(arrays[k])
        try:
            found = function(MODEL, *arrays, *further.get(function, ()), out=out)
            assert hostile or (found == wanted[function]).all()
        except lw.LinkworkError:
            refused += 1
    sys.stdout.write(f"{calls} calls, {refused} refused\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
