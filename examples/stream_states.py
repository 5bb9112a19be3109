"""A compiled function over more states than fit into memory: Dask streams them through workers, block by block.

The law is compiled once. It is sent to a worker as its trace, and each worker compiles or loads the machine code for
its own CPU. For twice as many states the memory is the same.

Run it: ``python examples/stream_states.py 100000000`` for 10⁸ states; 200,000 by default. The sum over blocks must
equal that of the same states computed here.
"""

from __future__ import annotations

import sys
import time

import dask.array as da
import numpy as np

import linkwork as lw

MODEL = lw.mechanisms.serial_chain(7)
BLOCK = 50_000


def effort(state: np.ndarray) -> np.ndarray:
    """For q and v in one row: the torque that it takes to hold still and to brake."""
    q, v = state[: MODEL.nq], state[MODEL.nq :]
    tau = lw.inverse_dynamics(MODEL, q, v, -5.0 * v)
    return np.stack([np.linalg.norm(tau), np.abs(tau).max()])


def states_of(block: tuple[int, ...], rows: int) -> np.ndarray:
    """A block of random states, the same each time."""
    return np.random.default_rng(block[0]).uniform(-1.0, 1.0, (rows, MODEL.nq + MODEL.nv))


def main() -> int:
    count = next((int(float(word)) for word in sys.argv[1:] if not word.endswith(".png")), 200_000)
    picture = next((name for name in sys.argv[1:] if name.endswith(".png")), None)
    fast = lw.compile(effort, state=MODEL.nq + MODEL.nv)
    sizes = [min(BLOCK, count - start) for start in range(0, count, BLOCK)]
    shape = (tuple(sizes), (MODEL.nq + MODEL.nv,))
    states = da.map_blocks(
        lambda block_info: states_of(block_info[None]["chunk-location"], block_info[None]["chunk-shape"][0]),
        chunks=shape, dtype=np.float64,
    )  # fmt: skip
    efforts = da.map_blocks(fast, states, chunks=(tuple(sizes), (2,)), dtype=np.float64)
    start = time.perf_counter()
    mean = efforts.mean(axis=0).compute()
    rate = count / (time.perf_counter() - start)
    first, last = (fast(states_of((k,), sizes[k])) for k in (0, len(sizes) - 1))
    here = [efforts.blocks[k].compute() for k in (0, len(sizes) - 1)]
    print(f"{count:,} states in {len(sizes):,} blocks: mean effort {mean[0]:.3f}, {rate:,.0f} states a second")
    same = np.array_equal(here[0], first) and np.array_equal(here[1], last)
    print(f"blocks of workers have the same bits as here: {same}")
    if picture is not None:
        from matplotlib.figure import Figure

        figure = Figure((6.0, 4.0), layout="constrained")
        axes = figure.subplots()
        axes.hist(first[:, 0], bins=80, label="all torques, as one vector")
        axes.hist(first[:, 1], bins=80, alpha=0.7, label="the largest")
        axes.set(xlabel="effort, N m", ylabel=f"of {len(first):,} states")
        axes.legend()
        figure.savefig(picture)
    return 0 if same and np.isfinite(mean).all() else 1


if __name__ == "__main__":
    sys.exit(main())
