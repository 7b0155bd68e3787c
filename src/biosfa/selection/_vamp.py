"""The VAMP-2 score of features."""

import numpy as np
from numpy.typing import ArrayLike

from biosfa.episodes import episode_starts
from biosfa.kernels.exact import LaggedSums, accumulate_lagged, check_determined
from biosfa.validation import check_count


def vamp2_score(Y: ArrayLike, lag: int = 1, *, lengths: ArrayLike | None = None) -> float:
    """Return the VAMP-2 score Σλ² of features: how much of their state is still known one lag later.

    λ = 1 − δ/2 are the correlations of the slow features of Y with themselves one lag later. Only the subspace that the
    features span matters. The score of k features is at most k. Scores can be compared for the same lag, and for the
    same number of features: every further feature adds to the score.

    Parameters
    ----------
    Y : array-like of shape (n_samples, n_features)
        Features in order of time.
    lag : int, default=1
        Lag, in rows.
    lengths : array-like of int, optional
        Number of rows of each episode in Y.

    Returns
    -------
    float

    Notes
    -----
    Both samples of each pair count in the mean and in the covariance, as in deeptime for reversible dynamics. deeptime
    adds 1, for the constant function.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.selection import vamp2_score
    >>> t = np.arange(10_000)
    >>> round(vamp2_score(np.sin(2 * np.pi * t / 100)[:, None]), 3)  # cos²(2π/100)
    0.996
    """
    check_count("lag", lag)
    samples = np.asarray(Y, dtype=np.float64)
    if samples.ndim != 2:
        raise ValueError(f"Y must have the shape (n_samples, n_features); got {samples.shape}")
    starts = episode_starts(len(samples), lengths, open_episode=False)
    sums = LaggedSums.zeros(1, samples.shape[1])
    accumulate_lagged(sums, samples - samples.mean(axis=0), starts, [lag], samples[:0])
    if sums.n_pairs[0] == 0:
        raise ValueError(f"no two rows of an episode are {lag} rows apart: give a shorter lag, or more rows")
    check_determined(int(sums.n_pairs[0]), sums.slow_directions(0).rank)
    return score_of(sums)


def score_of(sums: LaggedSums) -> float:
    """Return the VAMP-2 score of features from the sums over their pairs at one lag."""
    delta = sums.slow_directions(0).delta_values
    return float(np.square(1.0 - delta / 2.0).sum())
