"""Measures of slow features, as the paper defines them.

Functions that take samples X also take their :func:`moments`, so that a curve of errors needs only one pass over X.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cholesky, subspace_angles

from biosfa.episodes import episode_starts, steps_within
from biosfa.floats import to_floats
from biosfa.kernels.exact import (
    Moments,
    Tail,
    accumulate,
    check_determined,
    differences,
    slow_directions_within,
    slowness_at,
)
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
    """Return mean, covariance and covariance of the difference of X, for the other functions of this module.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or Moments
        Samples in order of time. Moments are returned unchanged.
    lengths : array-like of int, optional
        Number of rows of each episode in X. No difference is taken across their boundaries. By default X is one
        episode.

    Returns
    -------
    Moments
        An object with the attributes ``mean``, ``covariance`` and ``difference_covariance``.

    Examples
    --------
    >>> from biosfa import metrics
    >>> metrics.moments([[0.0], [1.0], [2.0]]).difference_covariance
    array([[1.]])
    """
    if isinstance(X, Moments):
        return X
    samples = to_floats(X).astype(np.float64, copy=False)
    if samples.ndim != 2:
        raise ValueError(f"expected samples of shape (n_samples, n_features), got an array of shape {samples.shape}")
    collected = Moments(samples.shape[1])
    starts = episode_starts(len(samples), lengths, open_episode=False)
    accumulate(collected, samples, starts, 1, Tail.empty(samples.shape[1]))
    return collected


def slowness(
    Y: ArrayLike, lengths: ArrayLike | None = None, lag: int = 1, *, time: ArrayLike | None = None
) -> Float64Array:
    """Return the slowness δ of each column: the mean square of its difference, divided by its variance.

    A small δ means slow. White noise has δ = 2, and the largest possible value is 4.

    Parameters
    ----------
    Y : array-like of shape (n_samples, n_features)
        Signals in order of time.
    lengths : array-like of int, optional
        Number of rows of each episode in Y. By default Y is one episode.
    lag : int, default=1
        Distance in time, in samples, between the two samples of a difference.
    time : array-like of shape (n_samples,), optional
        Times of samples that are not evenly spaced, which increase within each episode. Differences are then
        derivatives with respect to time, and the variance is an integral over it. The unit of time is that of the
        numbers, or one second for dates and durations: give ``time=t / sfa.time_unit_`` to compare numbers with
        :attr:`SFA.delta_values_`. It needs ``lag=1``.

    Returns
    -------
    array of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa import metrics
    >>> t = np.arange(1000)[:, None]
    >>> metrics.slowness(np.sin(2 * np.pi * t / 100)).round(4)  # 2 − 2 cos(2π/100)
    array([0.0039])
    """
    samples = to_floats(Y).astype(np.float64, copy=False)
    if samples.ndim != 2 or len(samples) < 2:
        raise ValueError(
            f"slowness needs at least 2 samples of shape (n_samples, n_features); got shape {samples.shape}"
        )
    starts = episode_starts(len(samples), lengths, open_episode=False)
    if time is not None:
        if lag != 1:
            raise ValueError(f"time needs lag=1, because samples {lag} rows apart differ in their distance in time")
        return slowness_at(samples, steps_within(time, starts), unit=1.0)
    changes = differences(samples, starts, lag)
    with np.errstate(divide="ignore", invalid="ignore"):
        delta: Float64Array = np.mean(np.square(changes), axis=0) / np.var(samples, axis=0)
    return delta


def timescales(delta_values: ArrayLike, lag: int = 1) -> Float64Array:
    """Return the correlation times −lag/ln(1 − δ/2), in samples, of features with slowness δ; NaN where δ ≥ 2.

    The formula is for features whose correlation decays exponentially. The result is far too long for smooth features:
    a sine with a period of 700 samples would have 25,000. Use :func:`periods` for those.

    Parameters
    ----------
    delta_values : array-like
        Slowness values δ.
    lag : int, default=1
        Lag of the differences from which δ was computed.

    Returns
    -------
    array

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
    """Return the periods 2π lag/√δ, in samples, of sines with slowness δ. It is meant for smooth and slow features.

    Parameters
    ----------
    delta_values : array-like
        Slowness values δ.
    lag : int, default=1
        Lag of the differences from which δ was computed.

    Returns
    -------
    array

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
    """Return the smallest slowness values that linear features of X can have. Their sum is the paper's λ_slow.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or Moments
        Samples in order of time, or their :func:`moments`.
    n_components : int
        Number of values to return.
    lengths : array-like of int, optional
        Number of rows of each episode in X. By default X is one episode.

    Returns
    -------
    array of shape (n_components,)

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa import metrics
    >>> metrics.slowest(np.random.default_rng(0).standard_normal((10000, 3)), 1).round(1)
    array([2.])
    """
    collected = moments(X, lengths)
    solution = collected.slow_directions(n_components)
    if solution.rank < n_components:
        raise ValueError(f"X has rank {solution.rank}, which is less than n_components={n_components}")
    check_determined(collected.n_pairs, solution.rank)
    return solution.delta_values


def slowness_error(
    components: ArrayLike, X: "ArrayLike | Moments", lengths: ArrayLike | None = None
) -> float | Float64Array:
    """Return the paper's error: the slowness of the whitened features minus the smallest possible (trace of Eq. 19).

    Parameters
    ----------
    components : array-like of shape (n_components, n_features) or (n_networks, n_components, n_features)
        Directions of the features. Only the subspace that they span matters: W gives the same result as M⁻¹W. A stack
        of several networks, such as :attr:`Recorder.W`, gives one error per network.
    X : array-like of shape (n_samples, n_features), or Moments
        Samples of the expanded signal on which to measure, or their :func:`moments`.
    lengths : array-like of int, optional
        Number of rows of each episode in X. By default X is one episode.

    Returns
    -------
    float, or array of shape (n_networks,)

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
    """Return the sum of the slowness values of the whitened features.

    :func:`slowness_error` is this sum minus its smallest possible value.

    Parameters
    ----------
    components : array-like of shape (n_components, n_features) or (n_networks, n_components, n_features)
        Directions of the features, or a stack of them for several networks.
    X : array-like of shape (n_samples, n_features), or Moments
        Samples of the expanded signal on which to measure, or their :func:`moments`.
    lengths : array-like of int, optional
        Number of rows of each episode in X. By default X is one episode.

    Returns
    -------
    float, or array of shape (n_networks,)

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
        raise ValueError(f"components have {V.shape[-1]} columns, but X has {len(C_xx)}: give the expanded signal")
    totals = []
    for network in V.reshape(-1, *V.shape[-2:]):
        features = slow_directions_within(network, C_xx, C_dot)
        if features.rank < len(network):
            raise ValueError(f"the {len(network)} components give only {features.rank} independent features on X")
        totals.append(features.delta_values.sum())
    return np.asarray(totals) if V.ndim == 3 else float(totals[0])


def constraint_error(components: ArrayLike, X: "ArrayLike | Moments", lengths: ArrayLike | None = None) -> float:
    """Return how far the features are from white: ‖VᵀC_xxV − I‖²/k, the paper's Eq. (21). 0 means white.

    Parameters
    ----------
    components : array-like of shape (n_components, n_features)
        Directions V of the features.
    X : array-like of shape (n_samples, n_features), or Moments
        Samples of the expanded signal on which to measure, or their :func:`moments`.
    lengths : array-like of int, optional
        Number of rows of each episode in X. By default X is one episode.

    Returns
    -------
    float

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
    """Return the largest principal angle, in radians, between the features of A and the features of B on X.

    The cosine of the angle between two features is their correlation.

    Parameters
    ----------
    A, B : array-like of shape (n_components, n_features)
        Directions of the features.
    X : array-like of shape (n_samples, n_features), or Moments
        Samples of the expanded signal on which to measure, or their :func:`moments`.
    lengths : array-like of int, optional
        Number of rows of each episode in X. By default X is one episode.

    Returns
    -------
    float

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
