"""Intervals from a jackknife over blocks of consecutive rows."""

from typing import NamedTuple

import numpy as np
from scipy import stats

from biosfa.typing import Float64Array


class Interval(NamedTuple):
    """An estimate without its bias of first order, and the ends of its interval."""

    estimate: Float64Array
    lower: Float64Array
    upper: Float64Array


def jackknife(whole: Float64Array, without: Float64Array, n_rows: Float64Array, confidence: float) -> Interval:
    """Return intervals from the estimates without one block each.

    The blocks may differ in length (Busing, Meijer & van der Leeden, Statistics and Computing 9, 1999). The quantile is
    that of Student's t, so that intervals from few blocks are not too short.

    Parameters
    ----------
    whole : (n_values,)
        Estimates from all blocks.
    without : (n_blocks, n_values)
        Estimates from all blocks but one.
    n_rows : (n_blocks,)
        Rows of each block.
    confidence : float
        Probability with which an interval contains the true value.
    """
    g, h = len(n_rows), (n_rows.sum() / n_rows)[:, None]
    estimate = g * whole - ((1.0 - 1.0 / h) * without).sum(axis=0)
    pseudo = h * whole - (h - 1.0) * without
    error = np.sqrt(np.mean(np.square(pseudo - estimate) / (h - 1.0), axis=0))
    half = float(stats.t.ppf(0.5 + confidence / 2.0, g - 1)) * error
    return Interval(estimate, estimate - half, estimate + half)
