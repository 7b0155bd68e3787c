"""Measures of slow features, as the paper defines them.

Wherever samples X are asked for, their :func:`moments` do as well, so that a curve of errors needs one pass over X.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cholesky, subspace_angles

from biosfa.episodes import episode_starts
from biosfa.kernels.exact import Moments, accumulate, differences, slow_directions, slow_directions_within
from biosfa.typing import Float64Array

__all__ = [
    "constraint_error",
    "moments",
    "periods",
    "slowest",
    "slowness",
    "slowness_error",
    "subspace_angle",
    "subspace_slowness",
    "timescales",
]


def moments(X: "ArrayLike | Moments", lengths: ArrayLike | None = None) -> Moments:
    """Mean, covariance and covariance of the difference of X, for the other functions of this module.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples; Moments are returned as they are.
    lengths : array-like of int, optional
        Rows of the episodes in X, one after the other; no difference is taken across their boundaries.

    Examples
    --------
    >>> from biosfa import metrics
    >>> metrics.moments([[0.0], [1.0], [2.0]]).difference_covariance
    array([[1.]])
    """
    if isinstance(X, Moments):
        return X
    samples = np.asarray(X, dtype=np.float64)
    if samples.ndim != 2:
        raise ValueError(f"expected samples of shape (n_samples, n_features), got an array of shape {samples.shape}")
    collected = Moments(samples.shape[1])
    accumulate(collected, samples, episode_starts(len(samples), lengths, open_episode=False), 1, samples[:0])
    return collected


def slowness(Y: ArrayLike, lengths: ArrayLike | None = None, lag: int = 1) -> Float64Array:
    """δ of each column: the mean square of its difference over its variance. White noise has 2, the maximum is 4.

    Parameters
    ----------
    Y : array-like of shape (n_samples, n_features)
        Signals.
    lengths : array-like of int, optional
        Rows of the episodes in Y.
    lag : int, default=1
        Distance in time of the two samples of a difference.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa import metrics
    >>> t = np.arange(1000)[:, None]
    >>> metrics.slowness(np.sin(2 * np.pi * t / 100)).round(4)  # 2 − 2 cos(2π/100)
    array([0.0039])
    """
    samples = np.asarray(Y, dtype=np.float64)
    if samples.ndim != 2 or len(samples) < 2:
        raise ValueError(
            f"slowness needs at least 2 samples of shape (n_samples, n_features); got shape {samples.shape}"
        )
    changes = differences(samples, episode_starts(len(samples), lengths, open_episode=False), lag)
    with np.errstate(divide="ignore", invalid="ignore"):
        delta: Float64Array = np.mean(np.square(changes), axis=0) / np.var(samples, axis=0)
    return delta


def timescales(delta_values: ArrayLike, lag: int = 1) -> Float64Array:
    """Correlation times, in samples, of features that decay exponentially: −lag/ln(1 − δ/2); NaN where δ ≥ 2.

    For a smooth feature this is far too long: a sine of 700 samples would have 25,000. See :func:`periods` for those.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.metrics import timescales
    >>> timescales(2 * (1 - np.exp(-1 / np.array([5.0, 20.0])))).round(6)
    array([ 5., 20.])
    """
    correlation = 1.0 - np.asarray(delta_values, dtype=np.float64) / 2.0
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(correlation > 0, np.abs(lag / np.log(correlation)), np.nan)


def periods(delta_values: ArrayLike, lag: int = 1) -> Float64Array:
    """Periods, in samples, of sines that have this slowness: 2π lag/√δ, which holds for smooth and slow features.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.metrics import periods, slowness
    >>> periods(slowness(np.sin(2 * np.pi * np.arange(70_000) / 700)[:, None])).round(1)
    array([700.])
    """
    with np.errstate(divide="ignore"):
        return 2.0 * np.pi * lag / np.sqrt(np.asarray(delta_values, dtype=np.float64))


def slowest(X: "ArrayLike | Moments", n_components: int, lengths: ArrayLike | None = None) -> Float64Array:
    """The smallest slowness values that linear features of X can have; their sum is the paper's λ_slow.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa import metrics
    >>> metrics.slowest(np.random.default_rng(0).standard_normal((10000, 3)), 1).round(1)
    array([2.])
    """
    collected = moments(X, lengths)
    solution = slow_directions(collected.covariance, collected.difference_covariance, n_components=n_components)
    if solution.rank < n_components:
        raise ValueError(f"X has rank {solution.rank}, too little for n_components={n_components}")
    return solution.delta_values


def slowness_error(
    components: ArrayLike, X: "ArrayLike | Moments", lengths: ArrayLike | None = None
) -> float | Float64Array:
    """The paper's Error: slowness of the features, made white, minus the least possible (trace of Eq. 19).

    Parameters
    ----------
    components : array-like of shape (n_components, n_features) or (n_networks, n_components, n_features)
        Directions of features; only the subspace they span matters, so that W does as well as M⁻¹W. A stack of them,
        such as :attr:`Recorder.W`, gives one error each.
    X : array-like of shape (n_samples, n_features), or Moments
        Samples (of the expanded signal) to measure on.
    lengths : array-like of int, optional
        Rows of the episodes in X.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa import SFA, metrics
    >>> X = np.random.default_rng(0).standard_normal((1000, 4)).cumsum(axis=1)
    >>> bool(metrics.slowness_error(SFA(2).fit(X).components_, X) < 1e-12)
    True
    """
    collected = moments(X, lengths)
    least = float(slowest(collected, np.shape(components)[-2]).sum())
    return subspace_slowness(components, collected) - least


def subspace_slowness(
    components: ArrayLike, X: "ArrayLike | Moments", lengths: ArrayLike | None = None
) -> float | Float64Array:
    """Sum of the slowness values of features, made white: the part of :func:`slowness_error` that the features decide.

    Parameters
    ----------
    components, X, lengths
        As for :func:`slowness_error`.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa import SFA, metrics
    >>> X = np.random.default_rng(0).standard_normal((1000, 4)).cumsum(axis=1)
    >>> sfa = SFA(2).fit(X)
    >>> bool(np.isclose(metrics.subspace_slowness(sfa.components_, X), sfa.delta_values_.sum()))
    True
    """
    V = np.asarray(components, dtype=np.float64)
    collected = moments(X, lengths)
    C_xx, C_dot = collected.covariance, collected.difference_covariance
    if V.shape[-1] != len(C_xx):
        raise ValueError(f"components are of {V.shape[-1]} features, but X has {len(C_xx)}: give the expanded signal")
    totals = []
    for network in V.reshape(-1, *V.shape[-2:]):
        features = slow_directions_within(network, C_xx, C_dot)
        if features.rank < len(network):
            raise ValueError(f"the {len(network)} components give only {features.rank} independent features on X")
        totals.append(features.delta_values.sum())
    return np.asarray(totals) if V.ndim == 3 else float(totals[0])


def constraint_error(components: ArrayLike, X: "ArrayLike | Moments", lengths: ArrayLike | None = None) -> float:
    """How far the features are from white: ‖VᵀC_xxV − I‖²/k, the paper's Eq. (21).

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa import metrics
    >>> X = np.random.default_rng(0).standard_normal((100, 2))
    >>> round(metrics.constraint_error(np.zeros((2, 2)), X), 3)
    1.0
    """
    V = np.asarray(components, dtype=np.float64)
    k = len(V)
    return float(np.square(V @ moments(X, lengths).covariance @ V.T - np.eye(k)).sum() / k)


def subspace_angle(A: ArrayLike, B: ArrayLike, X: "ArrayLike | Moments", lengths: ArrayLike | None = None) -> float:
    """Largest principal angle, in radians, between the features of A and those of B as signals on X.

    Parameters
    ----------
    A, B : array-like of shape (n_components, n_features)
        Directions of features.
    X : array-like of shape (n_samples, n_features), or Moments
        Samples: two features are at the angle whose cosine is their correlation.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa import metrics
    >>> X = np.random.default_rng(0).standard_normal((10000, 2))
    >>> round(np.degrees(metrics.subspace_angle([[1.0, 0.0]], [[1.0, 1.0]], X)))
    45
    """
    C_xx = moments(X, lengths).covariance
    jitter = np.finfo(float).eps * np.trace(C_xx)
    root = cholesky(C_xx + jitter * np.eye(len(C_xx)))
    angles = subspace_angles(root @ np.asarray(A, dtype=np.float64).T, root @ np.asarray(B, dtype=np.float64).T)
    return float(angles.max())
