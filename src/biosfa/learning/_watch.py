"""Measurements of a network while it learns, and a warning if there is a problem."""

import math
from dataclasses import dataclass

import numpy as np

from biosfa.kernels.exact import slow_directions
from biosfa.kernels.local import is_nonnegative
from biosfa.learning._gauge import Expand, Gauge
from biosfa.learning._network import Network
from biosfa.learning._readout import PairMoments, solve_readout
from biosfa.typing import Float64Array, FloatArray
from biosfa.wording import counted

# Limits above which a network has not converged: the constraint error of its outputs; ``excess`` and ``change``, see
# Watch. Chosen on the twenty problems of benchmarks/convergence.py.
FAR_FROM_WHITE = 0.3
FASTER_THAN_EXACT = 0.1
STILL_CHANGING = 0.15

# A network is not said to be still changing, or not to have converged because its recent features are not white, if
# exact SFA finds nothing that is slower by more than this even in the pairs that it is fitted to.
CLOSE_TO_EXACT = 0.02

# Smallest number of samples per column with which a network can converge.
FEWEST_PER_COLUMN = 3

# Largest number of columns for which exact SFA of the pairs is cheap.
SOLVABLE_COLUMNS = 512


@dataclass(frozen=True)
class Watch:
    """Report on how a network learns, returned by ``watch()`` of the online learners.

    The measurements use the present weights and pairs of recent samples.

    Attributes
    ----------
    n_samples : int
        Number of samples seen so far.
    n_updates : int
        Number of updates so far.
    n_pairs : int
        Number of different pairs of consecutive samples that the measurements use.
    delta_values : array of shape (n_components,)
        Slowness δ of the features. NaN for features that cannot be measured, because recent samples vary in too few
        dimensions.
    constraint_error : float
        How far the outputs are from white: ‖⟨yyᵀ⟩ − I‖²/k. 0 means white. NaN for outputs that cannot be negative.
    excess : float
        How much faster the features are than those of exact SFA on the same pairs. 0.2 means that the sum of their δ
        values is 20% larger. NaN for more than 512 columns, for too few samples or pairs, or if a feature cannot be
        measured.
    change : float
        How much faster the features were with the weights that the network had between a quarter and a half of the
        stream ago, measured in the same way. NaN if the stream is short, or if a feature cannot be measured.
    learning_rate : float
        η of the last update. For the normalised step, the effective η for a sample of mean power.
    warning : str or None
        The problem and what to do about it, or None if there is no problem.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa import OnlineSFA
    >>> X = np.random.default_rng(0).standard_normal((2000, 3))
    >>> X[:, 0] += 3 * np.sin(np.arange(2000) / 20)  # a slow signal in noise
    >>> watch = OnlineSFA(1, random_state=0).fit(X).watch()
    >>> watch.n_samples, watch.n_updates, watch.warning
    (2000, 1999, None)
    """

    n_samples: int
    n_updates: int
    n_pairs: int
    delta_values: Float64Array
    constraint_error: float
    excess: float
    change: float
    learning_rate: float
    warning: str | None


def look(gauge: Gauge, expand: Expand) -> Watch:
    """Return the report on a network."""
    network, reading = gauge.network, gauge.read(expand)
    X, different = gauge.expanded(expand), gauge.different_pairs()
    X = X[np.concatenate([different, len(X) // 2 + different])]
    now = _slowness(reading.readout.components, X)
    earlier, n_columns = gauge.earlier_weights(), network.n_features
    linear = not is_nonnegative(network.mode.rule)  # otherwise there may be more outputs than dimensions
    measured = int(np.isfinite(reading.readout.delta_values).sum())
    complete = linear and measured == network.k
    change = _relative(_slowness(earlier, X), now) if complete and earlier is not None else math.nan
    n_samples = network.n_samples * network.n_streams
    shortage = _shortage(n_samples, len(different), gauge.pairs.fewest, n_columns)
    solvable = complete and shortage is None and n_columns <= SOLVABLE_COLUMNS
    W = reading.readout.components
    above_fitted = _above_fitted(X, W) if solvable else math.nan
    excess = _excess(above_fitted, X, W) if solvable else math.nan
    return Watch(
        n_samples=network.n_samples,
        n_updates=network.n_updates,
        n_pairs=len(different),
        delta_values=reading.readout.delta_values,
        constraint_error=reading.constraint_error,
        excess=excess,
        change=change,
        learning_rate=network.effective_rate(),
        warning=_warning_of_few_dimensions(network, measured)
        if linear and not complete and shortage is None
        else _warning(
            network,
            reading.constraint_error,
            excess,
            change,
            shortage=shortage if linear else None,
            close=above_fitted <= CLOSE_TO_EXACT,
        ),
    )


def _shortage(n_samples: int, n_pairs: int, needed: int, n_columns: int) -> str | None:
    """Return a sentence that says that a network cannot be judged yet, or None if it can."""
    columns = counted(n_columns, "column")
    if n_samples < FEWEST_PER_COLUMN * n_columns:
        return f"there are too few samples, {n_samples:,}, for a network of {columns} to converge"
    if n_pairs < needed:
        return (
            f"there are too few pairs of consecutive samples to judge whether the network has converged: {n_pairs:,}, "
            f"and about {needed:,} are needed for {columns}"
        )
    return None


def _warning_of_few_dimensions(network: Network, measured: int) -> str:
    if measured == 0:
        return (
            "the outputs do not vary in recent samples, so slowness cannot be measured: look for a signal that was "
            "lost, or leave out silent parts of the stream"
        )
    return (
        f"the outputs vary in only {counted(measured, 'dimension')} in recent samples, so {network.k} features cannot "
        "be measured: ask for fewer components, or give more varied samples"
    )


def _warning(
    network: Network, constraint_error: float, excess: float, change: float, *, shortage: str | None, close: bool
) -> str | None:
    strain = network.strain()
    if strain > 1.0:
        return (
            f"2η‖x‖² is {strain:.2g} for the largest sample so far, and the explicit step is unstable beyond 2: use a "
            'smaller learning_rate, or step="normalized"'
        )
    if shortage is not None:
        return f"{shortage}. Give more samples, or use SFA (--solver exact), which does not have to converge"
    if constraint_error > FAR_FROM_WHITE and (network.learns_whiteness or not close):
        found = f"the outputs are far from white (constraint error {constraint_error:.2g})"
    elif excess > FASTER_THAN_EXACT:
        found = (
            f"exact SFA finds slower features in recent samples (the sum of δ of this network is {excess:.0%} larger)"
        )
    elif change > STILL_CHANGING and not close:
        found = f"the features are still becoming slower (the sum of δ was {change:.0%} larger with earlier weights)"
    else:
        return None
    return f"{found}: the network has not converged, or the stream has changed. {network.advice}"


def _slowness(W: FloatArray, X: Float64Array) -> float:
    """Return the sum of the slowness values of the features in the span of W; infinite if one is constant.

    X has pairs of samples. The features are decorrelated first, so that only the span of W counts.
    """
    moments = PairMoments.of(X @ W.T.astype(np.float64))
    return float(np.nan_to_num(solve_readout(len(W), moments, W.dtype).delta_values, nan=np.inf).sum())


def _above_fitted(X: Float64Array, W: FloatArray) -> float:
    """Return how much faster the features in the span of W are than those of exact SFA of the same pairs."""
    return _relative(_slowness(W, X), _slowness(_exact(X, len(W)), X))


def _excess(above_fitted: float, X: Float64Array, W: FloatArray) -> float:
    """Return how much faster the features in the span of W are than those of exact SFA, on pairs of samples.

    On the pairs that it is fitted to, exact SFA has a slowness that is too small by b. Fitted to half of the pairs, its
    slowness on the other half is too large by 2b, because b is inversely proportional to the number of pairs. So the
    first comparison has the weight 2/3, and the second one 1/3.
    """
    k, n_pairs = len(W), len(X) // 2
    in_second = np.tile(np.arange(n_pairs) >= n_pairs // 2, 2)
    halves = X[~in_second], X[in_second]
    own = sum(_slowness(W, half) for half in halves)
    other = sum(_slowness(_exact(a, k), b) for a, b in (halves, halves[::-1]))
    return float((1.0 + above_fitted) ** (2 / 3) * (1.0 + _relative(own, other)) ** (1 / 3) - 1.0)


def _exact(X: Float64Array, k: int) -> Float64Array:
    moments = PairMoments.of(X)
    return slow_directions(moments.S, moments.D, n_components=k).directions


def _relative(slowness: float, to: float) -> float:
    """Return by which share a slowness is larger than another; NaN if that is not defined."""
    return slowness / to - 1.0 if 0.0 < to < math.inf else math.nan
