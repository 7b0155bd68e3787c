"""Limits of statistics, from their values in normal operation. Rows need not be independent, nor normal."""

import numpy as np

from biosfa.typing import BoolArray, Float64Array

# A quantile is read from the values as long as so many of them are beyond it.
BEYOND = 10
# Otherwise a generalized Pareto distribution is fitted to the largest tenth of the values (peaks over a threshold).
TAIL = 0.1
# Shapes of the tail that are accepted: bounded tails to those of Student's t with two degrees of freedom.
SHAPES = (-0.5, 0.5)


def upper_limit(values: Float64Array, rate: float) -> float:
    """Return the limit that a share ``rate`` of values like these will exceed.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.monitoring._limits import upper_limit
    >>> values = np.random.default_rng(0).exponential(size=100_000)
    >>> round(upper_limit(values, 0.01), 1)  # ln 100 = 4.6
    4.6
    """
    values = np.sort(values[np.isfinite(values)])
    if len(values) * rate >= BEYOND:
        return float(np.quantile(values, 1.0 - rate))
    n_tail = max(int(TAIL * len(values)), min(BEYOND, len(values) - 1))
    threshold, excess = values[-n_tail - 1], values[-n_tail:] - values[-n_tail - 1]
    share = rate * len(values) / n_tail
    if share >= 1.0:  # few values, and a high rate
        return float(np.quantile(values, 1.0 - rate))
    shape, scale = _generalized_pareto(excess)
    beyond = -np.log(share) if abs(shape) < 1e-6 else (share**-shape - 1.0) / shape
    return float(threshold + scale * beyond)


def multiples(statistics: Float64Array, limits: Float64Array) -> Float64Array:
    """Return statistics as multiples of their limits; 0 for statistics that are always 0."""
    return statistics / np.maximum(limits, np.finfo(np.float64).tiny)


def _generalized_pareto(excess: Float64Array) -> tuple[float, float]:
    """Return shape ξ and scale σ by probability-weighted moments (Hosking & Wallis, Technometrics 29, 1987)."""
    n = len(excess)
    b0 = excess.mean()
    if b0 == 0.0:
        return 0.0, 0.0
    b1 = float(excess @ (n - np.arange(1, n + 1) + 0.35)) / n**2  # the mean of x(1 − F(x))
    shape = float(np.clip(2.0 - b0 / max(b0 - 2.0 * b1, np.finfo(float).tiny), *SHAPES))
    return shape, float(b0 * (1.0 - shape))


def upper_limits(statistics: Float64Array, rate: float) -> Float64Array:
    """Return the limit of each statistic.

    Raises
    ------
    ValueError
        If there are no values of a statistic.
    """
    if not np.isfinite(statistics).any(axis=0).all():
        raise ValueError(
            "rows of normal operation have no statistics: their episodes are too short, or values are missing"
        )
    return np.array([upper_limit(column, rate) for column in statistics.T])


def common_rate(statistics: Float64Array, rate: float) -> float:
    """Return the rate per statistic at which a share ``rate`` of the rows exceeds any limit.

    Statistics that never vary have no alarms. They do not count.
    """
    full = statistics[np.all(np.isfinite(statistics), axis=1)]
    full = full[:, np.any(full != full[:1], axis=0)]
    if not full.size:
        return rate
    n = len(full)
    # the share of rows with values at least as large as the row's, for the statistic where it is smallest
    ranks = np.argsort(np.argsort(-full, axis=0), axis=0) + 1.0
    return float(np.quantile(ranks.min(axis=1) / n, rate))


def correlation_time(Y: Float64Array, begins: BoolArray) -> float:
    """Return the longest time, in rows, after which the correlation of a feature has fallen to 1/e.

    Rows of NaN have no feature. If a correlation never falls so far, the longest lag that was tried is returned.
    """
    episode = np.cumsum(begins)
    known: BoolArray = np.all(np.isfinite(Y), axis=1)
    pairs: dict[int, BoolArray] = {}
    for lag in np.unique(np.geomspace(1, max(1, len(Y) // 3), 60).astype(int)):
        both = (episode[lag:] == episode[:-lag]) & known[lag:] & known[:-lag]
        if not both.any():
            break
        pairs[int(lag)] = both
    return max((_correlation_time(y, known, pairs) for y in Y.T), default=1.0)  # one at a time, to save memory


def _correlation_time(y: Float64Array, known: BoolArray, pairs: dict[int, BoolArray]) -> float:
    """Return the correlation time of one feature; ``pairs`` says for each lag which rows have a row so far behind."""
    if not (pairs and np.ptp(y[known])):
        return 1.0
    centred = np.where(known, y - y[known].mean(), 0.0)
    variance = np.square(centred).sum() / np.count_nonzero(known)
    before, last = 1.0, 0
    for lag, both in pairs.items():
        correlation = float((centred[:-lag] * centred[lag:])[both].mean() / variance)
        if correlation < np.exp(-1.0):
            drop = before - correlation
            return float(last + (lag - last) * ((before - np.exp(-1.0)) / drop if drop > 0.0 else 1.0))
        before, last = correlation, lag
    return float(last)
