"""A store of pairs of consecutive samples from the recent stream, on which the present weights are measured."""

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import DTypeLike

from biosfa.typing import Arrays, BoolArray, FloatArray, IntArray

# Number of pairs in the store. 2048 pairs give slowness to √(2/2048) = 3%. There are fewer if they would have more than
# VALUES values because there are many columns, but never fewer than PAIRS_PER_OUTPUT per output.
PAIRS, VALUES = 2048, 2**21
PAIRS_PER_OUTPUT = 40

# Pairs that are needed to judge a network, for all columns and per column after the expansion. 300 pairs give slowness
# to 8%, which is less than what watch() warns of. Exact SFA of half of the pairs needs more pairs than columns.
FEWEST, FEWEST_PER_COLUMN = 300, 4

# Pairs come from the last third of the stream: all of them are replaced while the stream grows by this factor.
GROWTH = 1.5

Rows = Callable[[int | IntArray], FloatArray]  # returns the samples of one step, (streams, columns), or of several


def pairs_kept(n_outputs: int, n_columns: int) -> int:
    """Return the number of pairs to store; ``n_columns`` is the number of columns before the expansion."""
    return max(min(PAIRS, VALUES // n_columns), PAIRS_PER_OUTPUT * n_outputs)


def pairs_needed(n_expanded: int) -> int:
    """Return the number of pairs that are needed to judge a network of so many columns after the expansion."""
    return max(FEWEST, FEWEST_PER_COLUMN * n_expanded)


@dataclass(frozen=True)
class Sampling:
    """Chooses the pairs of a stream that are stored.

    The choice depends only on the number of a pair, so that it does not depend on how the stream is cut into chunks.
    The stream is divided into intervals, and one pair of each is stored. The first intervals have one pair. Later
    intervals are so long that ``size`` of them make up the last third of the stream, or of the window.
    """

    size: int
    window: float

    @cached_property
    def _single(self) -> float:
        """The number of intervals of one pair: then an interval is log(GROWTH)/size of the pairs before it."""
        return self.size / math.log(GROWTH)

    @cached_property
    def _longest(self) -> float:
        """The length that intervals do not exceed."""
        return max(1.0, self.window / (3.0 * self.size))

    def edge(self, i: int) -> int:
        """Return the number of the pair with which interval i begins; i counts from 0, pairs from 1."""
        single, longest = self._single, self._longest
        growing = single * math.log(longest)  # intervals that grow
        if i <= single:
            return i + 1
        if i <= single + growing:
            return 1 + math.floor(single * math.exp((i - single) / single))
        return 1 + math.floor(single * longest + longest * (i - single - growing))

    def chosen(self, i: int) -> int:
        """Return the number of the pair of interval i that is stored.

        It is pseudo-random within the interval, so that the choice is not in step with a periodic input.
        """
        first, end = self.edge(i), self.edge(i + 1)
        return first + _scrambled(i) % max(1, end - first)

    def count(self, n_pairs: int) -> int:
        """Return how many of the first ``n_pairs`` pairs are kept."""
        near = self._interval(n_pairs)
        return bisect_right(range(near + 2), n_pairs, lo=max(0, near - 3), key=self.chosen)

    def _interval(self, n_pairs: int) -> int:
        """Return the interval that a pair lies in, or the next one: the inverse of :meth:`edge`, up to rounding."""
        single, longest = self._single, self._longest
        if n_pairs <= single:
            return n_pairs
        grown = min(n_pairs / single, longest)
        return math.ceil(single + single * math.log(grown) + (n_pairs - single * grown) / longest)


def _scrambled(i: int) -> int:
    """Return a pseudo-random whole number from i, by the shifts and products of 64 bits that end hash functions."""
    mask = 2**64 - 1
    i = ((i ^ (i >> 33)) + 0x9E3779B97F4A7C15) & mask
    i = ((i ^ (i >> 33)) * 0xFF51AFD7ED558CCD) & mask
    i = ((i ^ (i >> 33)) * 0xC4CEB9FE1A85EC53) & mask
    return i ^ (i >> 33)


class Pairs:
    """A store of pairs of samples from the last third of a stream, as they were before the expansion.

    Every update of every parallel stream has one pair: x_{t−1} and x_t.

    Parameters
    ----------
    n_outputs : int
        Number of outputs of the network.
    n_columns : int
        Number of columns before the expansion.
    n_streams : int
        Number of parallel streams.
    dtype : dtype
        Precision of the samples.
    window : float
        Number of recent updates that count.
    fewest : int
        Number of pairs to measure on, if the store has that many.
    """

    def __init__(
        self, n_outputs: int, n_columns: int, n_streams: int, dtype: DTypeLike, window: float, fewest: int
    ) -> None:
        size = pairs_kept(n_outputs, n_columns)
        self.fewest = min(fewest, size)
        self._sampling = Sampling(size, window * n_streams)
        self._kept = np.zeros((2, size, n_columns), dtype)  # x_{t−1} and x_t
        self._last = np.zeros((n_streams, n_columns), dtype)  # the last sample of each stream
        self._n_kept = 0  # pairs stored so far, also those that were replaced
        self._due = self._sampling.chosen(0)  # number of the next pair to store

    def recent(self, n_updates: int) -> FloatArray:
        """Return the first samples of the recent pairs in order of time, then the second samples.

        The pairs are those of the last third of ``n_updates`` updates, or some more if the stream is short.
        """
        slots = self._recent(n_updates) % self._kept.shape[1]
        return self._kept[:, slots].reshape(2 * len(slots), self._kept.shape[2])

    def numbers(self, n_updates: int) -> IntArray:
        """Return the numbers of the recent pairs in the stream, from 1."""
        return np.array([self._sampling.chosen(int(i)) for i in self._recent(n_updates)], dtype=np.int64)

    def _recent(self, n_updates: int) -> IntArray:
        """Return which of all pairs that were ever stored are the recent ones."""
        size, n_pairs = self._kept.shape[1], n_updates * len(self._last)
        third = int(min(n_pairs, self._sampling.window) / 3)
        in_third = self._n_kept - self._sampling.count(n_pairs - third)
        number = min(max(in_third, self.fewest), size, self._n_kept)
        return np.arange(self._n_kept - number, self._n_kept)

    def take(self, rows: Rows, starts: BoolArray, n_updates: int) -> None:
        """Store the chosen pairs among samples that were learned.

        Parameters
        ----------
        rows : function
            Returns the samples of one step, or of several.
        starts : array of shape (n,)
            Whether a step begins an episode. Such a step makes no update.
        n_updates : int
            Number of updates before these steps.
        """
        n_steps = len(starts)
        if n_steps == 0:
            return
        n_pairs = (n_updates + n_steps - int(np.count_nonzero(starts))) * len(self._last)
        if n_pairs >= self._due:
            self._keep(rows, n_updates + np.cumsum(~starts), self._sampling.count(n_pairs))
        self._last[:] = rows(n_steps - 1)

    def _keep(self, rows: Rows, updates: IntArray, n_kept: int) -> None:
        """Store the chosen pairs, given the number of updates after each step and of stored pairs after all steps."""
        size, P = self._kept.shape[1], len(self._last)
        due = range(max(self._n_kept, n_kept - size), n_kept)  # earlier pairs would be replaced at once
        update, stream = np.divmod(np.array([self._sampling.chosen(i) - 1 for i in due]), P)
        step = np.searchsorted(updates, update + 1)
        each, slots = np.arange(len(due)), np.array(due) % size
        before = rows(np.maximum(step - 1, 0))[each, stream]
        before[step == 0] = self._last[stream[step == 0]]
        self._kept[0, slots], self._kept[1, slots] = before, rows(step)[each, stream]
        self._go_on(n_kept)

    def take_one(self, sample: FloatArray, update: int) -> None:
        """Store the pair of one update of a single stream, if it is chosen."""
        if update == self._due:
            slot = self._n_kept % self._kept.shape[1]
            self._kept[0, slot], self._kept[1, slot] = self._last[0], sample
            self._go_on(self._n_kept + 1)
        self._last[0] = sample

    def _go_on(self, n_kept: int) -> None:
        self._n_kept = n_kept
        self._due = self._sampling.chosen(n_kept)

    def arrays(self) -> Arrays:
        """Return the arrays of the state (no copies)."""
        return {"pairs": self._kept, "last": self._last}

    def resume(self, n_updates: int) -> None:
        """Continue after ``n_updates`` updates, with a state that was written to :meth:`arrays`."""
        self._go_on(self._sampling.count(n_updates * len(self._last)))
