"""Sums over pairs for each block of a signal, from one pass over it."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from biosfa.estimators import Episodes, check_sums_memory
from biosfa.exceptions import RankDeficiencyWarning, ShortEpisodeWarning
from biosfa.kernels.exact import LaggedSums, accumulate_lagged, row_epsilon
from biosfa.metrics import timescales
from biosfa.selection._signal import Report, Signal
from biosfa.typing import BoolArray, FloatArray
from biosfa.wording import listed

DEFAULT_LAGS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
PAIRS_PER_LAG, PAIRS_PER_FEATURE = 20, 2  # that a default lag needs
FIRST_ROWS = 4  # of a block, or up to twice as many; blocks are joined in pairs as the signal gets longer
MOST_BLOCKS = 128
FEWEST_BLOCKS = 20  # folds and intervals need them
BLOCK_BYTES = 2**28  # for the sums of all blocks, if there are more than the fewest


@dataclass
class Blocks:
    """Sums over the pairs of each block of a signal."""

    lags: tuple[int, ...]
    n_rows: list[int] = field(default_factory=list)
    """Rows of each block."""
    sums: list[LaggedSums] = field(default_factory=list)
    """Sums over the pairs whose later row is in the block."""
    n_episodes: int = 0
    within: list[bool] = field(default_factory=list)
    """Whether a block begins within an episode."""
    n_skipped: int = 0
    """Rows with missing values."""

    @cached_property
    def total(self) -> LaggedSums:
        """Sums over all pairs."""
        return summed(self.sums)

    def coarsened(self, rows: float, fewest: int) -> "Blocks":
        """Return longer blocks, of at least about ``rows`` rows, but not fewer than ``fewest``."""
        wanted = rows * len(self.sums) / max(1, sum(self.n_rows))  # of these blocks; infinite if a feature is constant
        size = max(1, int(min(wanted, len(self.sums) // fewest)))
        return self.joined(range(0, len(self.sums) - size + 1, size))

    def joined(self, edges: Sequence[int]) -> "Blocks":
        """Return longer blocks, which begin at the blocks with these numbers."""
        ends = [*edges[1:], len(self.sums)]
        n_rows = [sum(self.n_rows[a:b]) for a, b in zip(edges, ends, strict=True)]
        sums = [summed(self.sums[a:b]) for a, b in zip(edges, ends, strict=True)]
        return replace(self, n_rows=n_rows, sums=sums, within=[self.within[edge] for edge in edges])

    def at(self, numbers: Sequence[int]) -> "Blocks":
        """Return the blocks for some of the lags, given by their numbers."""
        lags = tuple(self.lags[number] for number in numbers)
        return replace(self, lags=lags, sums=[each.at(numbers) for each in self.sums])

    def slowest_timescale(self) -> float:
        """Return the longest timescale of a feature at any lag that is shorter: at longer ones little is left of it."""
        total, longest = self.total, 1.0
        for number, lag in enumerate(self.lags):
            found = timescales(total.slow_directions(number, 1).delta_values, lag)
            longest = max([longest, *found[found >= lag].tolist()])
        return longest


def summed(sums: Sequence[LaggedSums]) -> LaggedSums:
    """Return the sum of sums."""
    total = sums[0]
    for each in sums[1:]:
        total = total + each
    return total


def blocks_of(
    signal: Signal, lags: Sequence[int] | None, report: Report | None = None, *, also: int | None = None
) -> Blocks:
    """Read a signal once, and return the sums of its blocks for some lags, in increasing order.

    By default these are 1, 2, 5, …, 1000, as far as there are 20 pairs of rows per lag. ``also`` is one lag more.
    """
    given, lags = lags, DEFAULT_LAGS if lags is None else tuple(lags)
    if also is not None:
        lags = tuple(sorted({*lags, also}))
    builder = _Builder(signal.n_features, lags, needed=lags[0 if given is None else -1] + 1)
    for x, starts in signal.pieces(at_least=lags[-1], report=report):
        builder.add(x, starts)
    blocks = builder.blocks
    blocks.n_skipped = signal.n_skipped
    if given is None and blocks.sums:
        enough = blocks.total.n_pairs >= np.maximum(
            PAIRS_PER_LAG * np.array(lags), PAIRS_PER_FEATURE * signal.n_features
        )
        kept = [number for number, lag in enumerate(lags) if number == 0 or lag == also or enough[number]]
        blocks = blocks.at(kept)
    _check(signal, blocks, builder.episodes)
    return blocks


class _Builder:
    """Cuts a signal into blocks while it is read, where an episode ends if one does in time."""

    def __init__(self, n_features: int, lags: tuple[int, ...], *, needed: int) -> None:
        self.n_features = n_features
        self.found = Blocks(lags)
        self.episodes = Episodes(needed)  # rows, so that an episode counts
        block_bytes = 16 * len(lags) * n_features**2
        check_sums_memory(n_features, 2 * FEWEST_BLOCKS * block_bytes)
        self.most = int(np.clip(BLOCK_BYTES // block_bytes, 2 * FEWEST_BLOCKS, MOST_BLOCKS))
        self.size = FIRST_ROWS
        self.origin: FloatArray | None = None
        self.past: FloatArray = np.empty((0, n_features))
        self.begins_within = False  # of the open block
        self.open_rows, self.open_sums = 0, LaggedSums.zeros(len(lags), n_features)

    def add(self, x: FloatArray, starts: BoolArray) -> None:
        """Take the next rows."""
        if not len(x):
            return
        origin = self.origin = x.mean(axis=0, dtype=np.float64) if self.origin is None else self.origin
        self.episodes.add(starts)
        rounded = row_epsilon(x) ** 2 * np.mean(np.square(x, dtype=np.float64), axis=0)
        begin = 0
        while begin < len(x):
            end = begin + self._room(starts[begin:])
            rows = x[begin:end] - origin
            past = self.past[:0] if starts[begin] else self.past
            self.open_sums.row_error = np.maximum(self.open_sums.row_error, rounded)
            self.past = accumulate_lagged(self.open_sums, rows, starts[begin:end], self.found.lags, past)
            self.open_rows += end - begin
            begin = end
            if begin < len(x):
                self._close()
                self.begins_within = not starts[begin]

    def _room(self, starts: BoolArray) -> int:
        """Return how many of the next rows belong to the open block."""
        wanted, most = self.size - self.open_rows, 2 * self.size - self.open_rows
        cuts = np.flatnonzero(starts[max(0, wanted) : max(0, most)])
        return min(len(starts), max(0, wanted) + int(cuts[0]) if len(cuts) else max(0, most))

    def _close(self) -> None:
        found = self.found
        found.sums.append(self.open_sums)
        found.n_rows.append(self.open_rows)
        found.within.append(self.begins_within)
        self.open_rows, self.open_sums = 0, LaggedSums.zeros(len(found.lags), self.n_features)
        if len(found.sums) == self.most:
            self.size *= 2
            self.found = found.joined(range(0, self.most, 2))

    @property
    def blocks(self) -> Blocks:
        """The blocks, after all rows."""
        self.episodes.close()
        if self.open_rows:
            self._close()
        self.found.n_episodes = self.episodes.n_episodes
        return self.found


def _check(signal: Signal, blocks: Blocks, episodes: Episodes) -> None:
    """Raise ValueError if a lag has no pairs; warn of short episodes and of columns that do not vary."""
    lags = blocks.lags
    if not blocks.sums:
        raise ValueError("the input has no rows with all their delays")
    total = blocks.total
    empty = [lag for lag, n in zip(lags, total.n_pairs, strict=True) if n == 0]
    if empty:
        raise ValueError(
            f"no two rows of an episode are {listed(empty)} rows apart: give shorter lags, or more rows per episode"
        )
    if episodes.n_short:
        warnings.warn(
            f"{episodes.n_short} of {episodes.n_episodes} episodes have fewer than {episodes.needed} rows, which the "
            f"lag {episodes.needed - 1} needs: they count less, or not at all",
            ShortEpisodeWarning,
            stacklevel=4,
        )
    constant = signal.constant_columns()
    if constant:
        warnings.warn(
            f"{listed(constant)}: constant. Slow features do not use them",
            RankDeficiencyWarning,
            stacklevel=4,
        )
