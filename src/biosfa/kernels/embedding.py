"""Delay embedding: which rows have all their delays, and their delay vectors."""

import numpy as np

from biosfa.typing import BoolArray, FloatArray, IntArray


def delay_index(starts: BoolArray, n_delays: int) -> tuple[IntArray, BoolArray]:
    """Rows whose n_delays − 1 predecessors lie in the same episode, and which of them come first in theirs."""
    rows = np.arange(len(starts))
    position = rows - np.maximum.accumulate(np.where(starts, rows, 0))
    index = rows[position >= n_delays - 1]
    return index, position[index] == n_delays - 1


def gather_delays(X: FloatArray, index: IntArray, n_delays: int) -> FloatArray:
    """Rows (x_t, x_{t−1}, …, x_{t−n_delays+1}) for each t in ``index``."""
    return np.concatenate([X[index - delay] for delay in range(n_delays)], axis=1)
