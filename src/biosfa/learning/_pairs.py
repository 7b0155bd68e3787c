"""Pairs of consecutive samples from the recent stream, on which the present weights are measured."""

import math
from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from biosfa.typing import Arrays, BoolArray, FloatArray, IntArray

# Pairs that are kept: so many, which tells slowness to √(2/2048) = 3%. Fewer where columns are so many that these would
# be more values than VALUES, but always some per output.
PAIRS, VALUES = 2048, 2**21
PAIRS_PER_OUTPUT = 40
FEWEST = 128  # that are looked at, if there are so many

# They lie in the last third of the stream: while the stream grows by this factor, all of them are replaced.
GROWTH = 1.5

Rows = Callable[[int | IntArray], FloatArray]  # gives the samples of a step, of shape (streams, columns), or of some


def pairs_kept(n_outputs: int, n_columns: int) -> int:
    """How many pairs are kept for a network of so many outputs, and samples of so many columns before the expansion."""
    return max(min(PAIRS, VALUES // n_columns), PAIRS_PER_OUTPUT * n_outputs)


class Sampling(NamedTuple):
    """Which pairs of a stream are kept: a function of their number alone, so that chunks change nothing.

    The stream is cut into intervals, and one pair of each is kept. An interval is one pair long at first. From then on
    it is so long that ``size`` of them make up the last third of the stream, or of the window.
    """

    size: int
    window: float

    def edge(self, i: int) -> int:
        """The number of the pair with which interval i begins; i counts from 0, pairs from 1."""
        rate = math.log(GROWTH) / self.size  # length of an interval, as a share of the pairs before it
        longest = max(1.0, self.window / (3.0 * self.size))
        single = 1.0 / rate  # intervals of one pair
        growing = single * math.log(longest) if math.isfinite(longest) else math.inf  # intervals that grow
        if i <= single:
            return i + 1
        if i <= single + growing:
            return 1 + math.floor(single * math.exp(rate * (i - single)))
        return 1 + math.floor(single * longest + longest * (i - single - growing))

    def chosen(self, i: int) -> int:
        """The number of the pair that is kept of interval i: any of it, lest pairs follow a beat of the input."""
        first, end = self.edge(i), self.edge(i + 1)
        return first + _scrambled(i) % max(1, end - first)

    def count(self, n_pairs: int) -> int:
        """How many of the first so many pairs are kept."""
        return bisect_right(range(n_pairs + 1), n_pairs, key=self.chosen)


def _scrambled(i: int) -> int:
    """A whole number that looks random, from i: shifts and products of 64 bits, as hash functions end with."""
    mask = 2**64 - 1
    i = ((i ^ (i >> 33)) + 0x9E3779B97F4A7C15) & mask
    i = ((i ^ (i >> 33)) * 0xFF51AFD7ED558CCD) & mask
    i = ((i ^ (i >> 33)) * 0xC4CEB9FE1A85EC53) & mask
    return i ^ (i >> 33)


class Pairs:
    """Pairs of the last third of a stream, as they were before their expansion.

    Every update of every parallel stream has a pair: x_{t−1} and x_t.

    Parameters
    ----------
    n_outputs, n_columns, n_streams : int
        Outputs of the network, columns before the expansion, and parallel streams.
    dtype : dtype
        Of the samples.
    window : float
        Updates that count.
    """

    def __init__(self, n_outputs: int, n_columns: int, n_streams: int, dtype: DTypeLike, window: float) -> None:
        size = pairs_kept(n_outputs, n_columns)
        self._sampling = Sampling(size, window * n_streams)
        self._kept = np.zeros((2, size, n_columns), dtype)  # x_{t−1} and x_t
        self._last = np.zeros((n_streams, n_columns), dtype)  # the last sample of each stream
        self._n_kept = 0  # so far, most of which were replaced
        self._due = self._sampling.chosen(0)  # number of the next pair to be kept

    def recent(self, n_updates: int) -> FloatArray:
        """The first samples of all pairs in order of time, then the second ones, after so many updates.

        They are the pairs of the last third, or some more as long as the stream is short.
        """
        size, n_pairs = self._kept.shape[1], n_updates * len(self._last)
        third = int(min(n_pairs, self._sampling.window) / 3)
        in_third = self._n_kept - self._sampling.count(n_pairs - third)
        number = min(max(in_third, FEWEST), size, self._n_kept)
        slots = np.arange(self._n_kept - number, self._n_kept) % size
        return self._kept[:, slots].reshape(2 * number, self._kept.shape[2])

    def take(self, rows: Rows, starts: BoolArray, n_updates: int) -> None:
        """Keep what is due of samples that were learned.

        Parameters
        ----------
        rows : function
            Gives the samples of one step, or of some.
        starts : (n,)
            Whether a step begins an episode; such a step makes no update.
        n_updates : int
            Updates before these steps.
        """
        n_steps = len(starts)
        if n_steps == 0:
            return
        n_pairs = (n_updates + n_steps - int(np.count_nonzero(starts))) * len(self._last)
        if n_pairs >= self._due:
            self._keep(rows, n_updates + np.cumsum(~starts), self._sampling.count(n_pairs))
        self._last[:] = rows(n_steps - 1)

    def _keep(self, rows: Rows, updates: IntArray, n_kept: int) -> None:
        """Keep what is due, given the number of updates after each step, and that of kept pairs after all."""
        size, P = self._kept.shape[1], len(self._last)
        due = range(max(self._n_kept, n_kept - size), n_kept)  # earlier ones would be replaced at once
        update, stream = np.divmod(np.array([self._sampling.chosen(i) - 1 for i in due]), P)
        step = np.searchsorted(updates, update + 1)
        each, slots = np.arange(len(due)), np.array(due) % size
        before = rows(np.maximum(step - 1, 0))[each, stream]
        before[step == 0] = self._last[stream[step == 0]]
        self._kept[0, slots], self._kept[1, slots] = before, rows(step)[each, stream]
        self._go_on(n_kept)

    def take_one(self, sample: FloatArray, update: int) -> None:
        """Keep the sample of one update of a single stream, if it is due."""
        if update == self._due:
            slot = self._n_kept % self._kept.shape[1]
            self._kept[0, slot], self._kept[1, slot] = self._last[0], sample
            self._go_on(self._n_kept + 1)
        self._last[0] = sample

    def _go_on(self, n_kept: int) -> None:
        self._n_kept = n_kept
        self._due = self._sampling.chosen(n_kept)

    def arrays(self) -> Arrays:
        """The state: these very arrays."""
        return {"pairs": self._kept, "last": self._last}

    def resume(self, n_updates: int) -> None:
        """Go on with what was written to :meth:`arrays`, after so many updates."""
        self._go_on(self._sampling.count(n_updates * len(self._last)))
