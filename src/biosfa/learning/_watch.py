"""How a network does while it learns, and what to say if something looks wrong."""

import math
from dataclasses import dataclass

import numpy as np

from biosfa.kernels.exact import slow_directions
from biosfa.kernels.local import is_nonnegative
from biosfa.learning._gauge import Expand, Gauge
from biosfa.learning._network import Network
from biosfa.learning._readout import PairMoments, solve_readout
from biosfa.typing import Float64Array, FloatArray

# When a network counts as one that has not converged: its outputs are not white; exact SFA finds slower features; its
# features were faster a quarter of the stream ago. Chosen on the twenty problems of benchmarks/convergence.py.
FAR_FROM_WHITE = 0.3
FASTER_THAN_EXACT = 0.1
STILL_CHANGING = 0.15

# Samples per column without which nothing converges.
FEWEST_PER_COLUMN = 3

# Columns for which exact SFA of the pairs is cheap.
SOLVABLE_COLUMNS = 512


@dataclass(frozen=True)
class Watch:
    """How learning goes, measured with the present weights on recent pairs of samples.

    Attributes
    ----------
    n_samples, n_updates : int
        Samples seen and updates made so far.
    delta_values : array of shape (n_components,)
        Slowness of the features.
    constraint_error : float
        0 for white outputs; NaN for outputs that cannot be negative.
    excess : float
        By how much the features are faster than those of exact SFA on the same pairs: 0.2 is a sum of slowness values
        that is 20% larger. NaN for more than 512 columns, or fewer than 3 samples per column.
    change : float
        By how much they were faster with the weights of a quarter of the stream ago. NaN where the stream is short.
    learning_rate : float
        η of the last update, as a sample of mean power shortens it.
    warning : str or None
        What looks wrong, if anything does.
    """

    n_samples: int
    n_updates: int
    delta_values: Float64Array
    constraint_error: float
    excess: float
    change: float
    learning_rate: float
    warning: str | None


def look(gauge: Gauge, expand: Expand) -> Watch:
    """Measure a network."""
    network, reading = gauge.network, gauge.read(expand)
    X = gauge.expanded(expand)
    now = _slowness(reading.readout.components, X)
    earlier, n_columns = gauge.earlier_weights(), network.n_features
    linear = not is_nonnegative(network.mode.rule)  # else there may be more outputs than dimensions
    change = math.nan if earlier is None or not linear else _relative(_slowness(earlier, X), now)
    enough = network.n_samples * network.n_streams >= FEWEST_PER_COLUMN * n_columns
    solvable = linear and enough and n_columns <= SOLVABLE_COLUMNS
    excess = _excess(X, reading.readout.components) if solvable else math.nan
    return Watch(
        n_samples=network.n_samples,
        n_updates=network.n_updates,
        delta_values=reading.readout.delta_values,
        constraint_error=reading.constraint_error,
        excess=excess,
        change=change,
        learning_rate=network.effective_rate(),
        warning=_warning(network, reading.constraint_error, excess, change, enough=enough),
    )


def _warning(network: Network, constraint_error: float, excess: float, change: float, *, enough: bool) -> str | None:
    strain = network.strain()
    if strain > 1.0:
        return (
            f"2η‖x‖² is {strain:.2g} for the largest sample so far, and the explicit step is unstable beyond 2: use a "
            'smaller learning_rate, or step="normalized"'
        )
    if not enough:
        return (
            f"{network.n_samples:,} samples are too few for a network of {network.n_features:,} columns to converge. "
            f"{network.advice}"
        )
    if constraint_error > FAR_FROM_WHITE:
        found = f"the outputs are far from white (constraint error {constraint_error:.2g})"
    elif excess > FASTER_THAN_EXACT:
        found = f"exact SFA finds slower features in recent samples (slowness is {excess:.0%} larger here)"
    elif change > STILL_CHANGING:
        found = f"the features are still becoming slower (slowness was {change:.0%} larger a quarter of the stream ago)"
    else:
        return None
    return f"{found}: the network has not converged, or the stream has changed. {network.advice}"


def _slowness(W: FloatArray, X: Float64Array) -> float:
    """Sum of the slowness values of the features in the span of W, over pairs of samples; infinite if one is constant.

    These are decorrelated first, so that only the span counts.
    """
    moments = PairMoments.of(X @ W.T.astype(np.float64))
    return float(np.nan_to_num(solve_readout(len(W), moments, W.dtype).delta_values, nan=np.inf).sum())


def _excess(X: Float64Array, W: FloatArray) -> float:
    """By how much the features in the span of W are faster than those of exact SFA, on pairs of samples.

    Exact SFA is too slow by b on the pairs that it is fitted to. Fitted to half of them, it is too fast by 2b on the
    other half, because b is inversely proportional to their number. So the first counts two thirds, the second one.
    """
    k, n_pairs = len(W), len(X) // 2
    in_second = np.tile(np.arange(n_pairs) >= n_pairs // 2, 2)
    halves = X[~in_second], X[in_second]
    fitted = _relative(_slowness(W, X), _slowness(_exact(X, k), X))
    own = sum(_slowness(W, half) for half in halves)
    other = sum(_slowness(_exact(a, k), b) for a, b in (halves, halves[::-1]))
    return float((1.0 + fitted) ** (2 / 3) * (1.0 + _relative(own, other)) ** (1 / 3) - 1.0)


def _exact(X: Float64Array, k: int) -> Float64Array:
    """Directions of exact SFA on pairs."""
    moments = PairMoments.of(X)
    return slow_directions(moments.S, moments.D, n_components=k).directions


def _relative(slowness: float, to: float) -> float:
    """By how much a slowness is larger than another."""
    return slowness / to - 1.0 if 0.0 < to < math.inf else math.nan
