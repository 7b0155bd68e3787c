"""Measurements of the present weights of a network on recent pairs of samples.

Averages that a network collects while it learns belong to weights that it no longer has. The outputs of the present
weights on stored pairs of samples are those that ``transform`` would give.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from biosfa.kernels.exact import slow_directions
from biosfa.kernels.local import is_nonnegative
from biosfa.learning._events import next_event
from biosfa.learning._network import Network
from biosfa.learning._pairs import Pairs, Rows
from biosfa.learning._rates import RowRates
from biosfa.learning._readout import PairMoments, Readout, as_they_are, read_out
from biosfa.typing import Arrays, BoolArray, Float64Array, FloatArray, IntArray
from biosfa.validation import checked_array

Expand = Callable[[FloatArray], FloatArray]

# Weights are stored after GRID samples, and then whenever the stream has grown by a third: the weights that were stored
# last are at most a quarter of the stream old.
GRID, QUARTER = 64, 1 / 3


class Reading(NamedTuple):
    """Measurements of the present weights on recent pairs."""

    readout: Readout  # slow features within the span of the weights, their order and slowness
    constraint_error: float  # ‖⟨yyᵀ⟩ − I‖²/k of the outputs y = M⁻¹Wx; NaN if y ≥ 0, which is never white


class Steps(NamedTuple):
    """Samples to learn from, one step after the other."""

    x: FloatArray  # (n, m), or (n, P, m) for parallel streams
    starts: BoolArray  # (n,) whether a step begins an episode
    rates: RowRates
    unexpanded: Rows  # returns some of the samples as they were before the expansion

    def part(self, begin: int, end: int) -> "Steps":
        """Return the steps from ``begin`` to ``end``."""
        if begin == 0 and end == len(self.x):
            return self
        rows = slice(begin, end)
        return Steps(self.x[rows], self.starts[rows], self.rates.part(rows), partial(_from, self.unexpanded, begin))


class Passes(NamedTuple):
    """The first updates of a stream, if they come from several passes over the same samples."""

    n_updates: int
    length: int  # updates of one pass


def _from(rows: Rows, begin: int, steps: int | IntArray) -> FloatArray:
    return rows(begin + steps)


class Gauge:
    """Lets a network learn, stores pairs of samples and earlier weights, and measures the network on request.

    Parameters
    ----------
    network : Network
        The network.
    pairs : Pairs
        The store of recent samples.
    """

    def __init__(self, network: Network, pairs: Pairs) -> None:
        self.network = network
        self.pairs = pairs
        # weights, the older ones first; in float64, because those of tiny samples do not fit into float32
        self._earlier = np.zeros((2, network.k, network.n_features))
        self._due = self._next_event()
        self.passes = Passes(0, 0)
        self._read: tuple[int, Reading] | None = None  # the last measurement, and its number of samples

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_read": None}  # a measurement can be repeated: it is not part of the state

    def _next_event(self) -> int:
        """Return the number of samples at which the weights are stored next."""
        network = self.network
        return next_event(network.n_samples, first=GRID, grid=GRID, growth=QUARTER, window=network.mode.window)

    def advance(self, steps: Steps) -> None:
        """Let the network learn from these steps."""
        begin, n_steps = 0, len(steps.x)
        while begin < n_steps:
            end = min(n_steps, begin + self._due - self.network.n_samples)
            self._advance(steps.part(begin, end))
            self._keep_weights()
            begin = end

    def _advance(self, steps: Steps) -> None:
        network = self.network
        n_samples, n_updates = network.n_samples, network.n_updates
        try:
            network.advance(steps.x, steps.starts, steps.rates)
        finally:  # the network may have stopped before the last step
            self.pairs.take(steps.unexpanded, steps.starts[: network.n_samples - n_samples], n_updates)

    def advance_one(self, sample: FloatArray) -> bool:
        """Let the network learn from one sample without an expansion; see :meth:`Network.advance_one`."""
        learned = self.network.advance_one(sample)
        if learned:
            self.pairs.take_one(sample, self.network.n_updates)
            self._keep_weights()
        return learned

    def _keep_weights(self) -> None:
        if self.network.n_samples == self._due:
            self._earlier[0], self._earlier[1] = self._earlier[1], self.network.W
            self._due = self._next_event()

    def read(self, expand: Expand) -> Reading:
        """Return the measurement of the present weights, made once per change of the weights.

        One assignment publishes it, so that several threads may read.
        """
        read = self._read
        if read is None or read[0] != self.network.n_samples:
            read = self.network.n_samples, self._measure(expand)
            self._read = read
        return read[1]

    def _measure(self, expand: Expand) -> Reading:
        network = self.network
        W = network.W
        currents = self.expanded(expand) @ W.T.astype(np.float64)
        moments = PairMoments.of(currents)
        if len(currents) and not moments.D.any():  # silence says nothing about slowness, nor against the weights
            return Reading(as_they_are(W), float("nan"))
        return Reading(read_out(network.k, moments, W), constraint_error(moments, network))

    def is_silent(self, expand: Expand) -> bool:
        """Return whether the recent samples do not change."""
        before, after = np.split(self.expanded(expand), 2)
        return bool((before == after).all())

    def rank(self, expand: Expand) -> int:
        """Return the number of dimensions in which the recent pairs of samples vary."""
        X = self.expanded(expand)
        X -= X[0]  # exact: a constant column has no variance then
        moments = PairMoments.of(X - X.mean(axis=0))
        return slow_directions(moments.S, moments.D, n_components=1).rank

    def different_pairs(self) -> IntArray:
        """Return which of the recent pairs to keep, so that none is the same pair of another pass."""
        numbers = self.pairs.numbers(self.network.n_updates)
        again = numbers <= self.passes.n_updates
        numbers[again] = numbers[again] % max(1, self.passes.length) - self.passes.length  # apart from later numbers
        return np.sort(np.unique(numbers, return_index=True)[1])

    def earlier_weights(self) -> FloatArray | None:
        """Return the weights of between a quarter and a half of the stream ago; None if the stream is too short."""
        return self._earlier[0] if self._earlier[0].any() else None

    def arrays(self) -> Arrays:
        """Return the arrays of the state, without those of the network (no copies)."""
        return {"earlier_weights": self._earlier, **self.pairs.arrays()}

    def restore(self, arrays: Arrays) -> None:
        """Restore a state that :meth:`arrays` returned, after that of the network.

        Raises
        ------
        ValueError
            If it is the state of another network.
        """
        own = self.arrays()
        if set(own) != set(arrays):
            raise ValueError(f"its arrays are {sorted(arrays)}, but {sorted(own)} are needed")
        for name, array in own.items():
            array[...] = checked_array(name, arrays, array.shape, array.dtype)
        self.pairs.resume(self.network.n_updates)
        self._due = self._next_event()

    def expanded(self, expand: Expand) -> Float64Array:
        """Return the pairs, expanded and centred: the first samples of all pairs, then the second ones."""
        recent = self.pairs.recent(self.network.n_updates)
        if not len(recent):
            return np.empty((0, self.network.n_features))
        centred: Float64Array = expand(recent) - self.network.mean
        return centred


def constraint_error(moments: PairMoments, network: Network) -> float:
    """Return ‖⟨yyᵀ⟩ − I‖²/k of the outputs y = M⁻¹a, from the moments of the currents a = Wx."""
    if not moments.weights.all() or is_nonnegative(network.mode.rule):
        return float("nan")
    M = network.M
    whitened = np.linalg.solve(M, np.linalg.solve(M, moments.S / moments.weights[0]).T)
    return float(np.square(whitened - np.eye(len(M))).sum() / len(M))
