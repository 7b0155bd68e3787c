"""The comparison of features with chance: one test, which ``significance``, ``choose`` and pictures share."""

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import joblib
import numpy as np
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from biosfa.estimators import Monotone
from biosfa.exceptions import ConditioningWarning, GiveAwayWarning, RankDeficiencyWarning, ShortEpisodeWarning
from biosfa.kernels.surrogates import EpisodesShifted, RowsShifted, SignRandomised, varying_columns
from biosfa.selection._signal import Report
from biosfa.typing import BoolArray, Float64Array, FloatArray, IntArray

# The test takes the first rows: about so many numbers, and so many rows at least and at most.
VALUES, FEWEST_ROWS, MOST_ROWS = 2**20, 5000, 100_000
N_SURROGATES, LEVEL = 99, 0.05
# A surrogate is as slow as a feature if it is slower than this share more and this much more: a single column has
# exactly the slowness of its surrogates, but for rounding, and 0 if it is constant within episodes.
ROUNDING, EXACT = 1e-9, 1e-12
ROUNDED = 1e-20  # share of the sum of squares of a column that is rounding, after all else was explained
NOTHING_NEW = 0.01  # share of the variance of a feature that counters do not explain, if it is nothing else

Slowness = Callable[[FloatArray, int], float]
"""Returns the slowness of a feature, given by its number, of samples that are made."""

Surrogates = SignRandomised | RowsShifted | EpisodesShifted
Draw = Callable[[np.random.Generator], FloatArray]
"""Makes one surrogate."""


def rows_for(n_features: int) -> int:
    """Return the number of rows that are tested, for an expanded signal of ``n_features`` columns."""
    return int(np.clip(VALUES // n_features, FEWEST_ROWS, MOST_ROWS))


@dataclass(frozen=True, eq=False)
class Significance:
    """Whether features are real.

    Attributes
    ----------
    delta_values : array of shape (n_components,)
        Slowness of the features.
    p_spectrum : array of shape (n_components,)
        Probability of so slow a feature, if columns keep their own dynamics but share no signal. It is corrected for
        the number of features. Features behind one that is no slower than chance are not tested: theirs is 1.
    p_shuffled : array of shape (n_components,)
        The same, if the rows are in random order.
    chance_by_feature : array of shape (n_components, n_surrogates)
        Slowness of the surrogates with which each feature was compared for ``p_spectrum``. NaN if it was not tested.
    chance_shuffled : array of shape (n_surrogates,)
        Slowness of the slowest feature of rows in random order.
    level : float
        Level of significance.
    n_rows : int
        Number of rows that were tested.
    n_columns : int
        Number of columns that vary, without those that only rise or only fall. A single column can share nothing: its
        ``p_spectrum`` is 1.
    given_away : array of bool of shape (n_components,)
        Which features are nothing but columns that only rise or only fall, such as a counter. They are not tested.
    """

    delta_values: Float64Array
    p_spectrum: Float64Array
    p_shuffled: Float64Array
    chance_by_feature: Float64Array
    chance_shuffled: Float64Array
    level: float
    n_rows: int
    n_columns: int
    given_away: BoolArray

    @property
    def chance_spectrum(self) -> Float64Array:
        """Slowness of the slowest feature of columns that share no signal."""
        slowest: Float64Array = self.chance_by_feature[int(np.argmin(self.given_away))]
        return slowest

    @property
    def real(self) -> BoolArray:
        """Which features are slower than those of columns that share no signal."""
        return np.asarray(self.p_spectrum <= self.level)

    @property
    def slow(self) -> BoolArray:
        """Which features are slower than those of rows in random order."""
        return np.asarray(self.p_shuffled <= self.level)

    @property
    def n_real(self) -> int:
        """Number of features, from the slowest on, that are slower than those of columns that share no signal.

        Features that are given away are passed over, and do not count.
        """
        return int(np.count_nonzero(self.real[: self.n_leading]))

    @property
    def n_leading(self) -> int:
        """Number of features up to the last that ``n_real`` counts, with those that are given away before it."""
        passed = np.cumprod(self.real | self.given_away).astype(np.bool_)
        return int(np.flatnonzero(passed & self.real).max(initial=-1)) + 1

    @property
    def n_slow(self) -> int:
        """Number of features, from the slowest on, that are slower than those of rows in random order."""
        return int(np.cumprod(self.slow).sum())


@dataclass(frozen=True, eq=False)
class Found:
    """The features that a model has found in a recording.

    Attributes
    ----------
    samples : array of shape (n_rows, n_columns)
        Samples, without missing values.
    lengths : array of int
        Number of rows of each episode.
    features : array of shape (n_rows with features, n_features)
        Features of the samples.
    delta_values : array of shape (n_features,)
        Their slowness, in increasing order.
    slowness : callable
        Returns the slowness of a feature, given by its number, of other samples with the same episodes.
    linear : bool
        Whether a feature is a mixture of the columns of one row: there are no delays, and no expansion.
    consecutive : bool
        Whether slowness is that of differences between consecutive rows. Surrogates then keep that of each column.
    """

    samples: FloatArray
    lengths: IntArray
    features: FloatArray
    delta_values: Float64Array
    slowness: Slowness
    linear: bool
    consecutive: bool

    def significance(
        self,
        *,
        n_surrogates: int = N_SURROGATES,
        level: float = LEVEL,
        random_state: int | np.random.RandomState | None = None,
        report: Report | None = None,
    ) -> Significance:
        """Compare the features with chance, and report the share of the work that is done."""
        kinds = 1 if self.linear and self.consecutive else 2 + (len(self.lengths) > 1)
        parts = 1 + kinds * (len(self.delta_values) if self.linear else 1)
        draws = _Draws(n_surrogates, check_random_state(random_state), parts, report or (lambda share: None))
        p_shuffled, chance_shuffled = self._against_rows_in_random_order(draws)
        counters = self._counters()
        n_columns = int(np.count_nonzero(varying_columns(self.samples) & ~counters))
        given_away = self._given_away(self.samples[:, counters])
        p_spectrum = np.ones(len(self.delta_values))
        chance_by_feature = np.full((len(self.delta_values), n_surrogates), np.nan)
        if n_columns > 1:
            self._test(counters, np.flatnonzero(~given_away), draws, level, p_spectrum, chance_by_feature)
        draws.report(1.0)
        return Significance(
            self.delta_values,
            p_spectrum,
            p_shuffled,
            chance_by_feature,
            chance_shuffled,
            level,
            len(self.samples),
            n_columns,
            given_away,
        )

    def _test(
        self,
        counters: BoolArray,
        tested: IntArray,
        draws: "_Draws",
        level: float,
        p: Float64Array,
        chance: Float64Array,
    ) -> None:
        """Fill in the probability of each feature, and the slowness of the surrogates with which it was compared.

        Features are tested one after the other, up to the first that is no slower than chance. Without delays and
        expansion, feature i is compared with feature i of columns that share the features before it, and nothing else:
        what these features explain of a column stays, the rest becomes a surrogate. So a feature may be as slow as the
        one before it, and what is left over from a real feature is not taken for another. Otherwise, all features are
        compared with the slowest of columns that share nothing.
        """
        compared: list[Float64Array] = []
        for number, feature in enumerate(tested.tolist()):
            delta = self.delta_values[feature]
            if not np.isfinite(delta):
                break
            if self.linear:
                shared = self.features[:, tested[:number]]
                compared = [draws.slowness(self.slowness, kind, feature) for kind in self._surrogates(shared, counters)]
            elif not compared:
                nothing = self.samples[:, :0]
                compared = [draws.slowness(self.slowness, kind) for kind in self._surrogates(nothing, counters)]
            # the largest probability: the test is right if one kind of surrogates is
            by_kind = [_probability(each, delta) for each in compared]
            p[feature] = max(by_kind)
            chance[feature] = compared[by_kind.index(p[feature])]
            if p[feature] > level:
                break
        p[tested] = np.maximum.accumulate(p[tested])

    def _against_rows_in_random_order(self, draws: "_Draws") -> tuple[Float64Array, Float64Array]:
        """Return the probability of each feature, and the slowness of the slowest feature of each random order."""

        def shuffled(rng: np.random.Generator) -> FloatArray:
            return self.samples[rng.permutation(len(self.samples))]

        chance = draws.slowness(self.slowness, [shuffled])
        # Westfall & Young (1993): the slowest feature of a surrogate stands for all of its features
        return np.array([_probability(chance, delta) for delta in self.delta_values]), chance

    def _counters(self) -> BoolArray:
        """Return which columns only rise or only fall: each is a slow feature by itself, and shared by none.

        After delays or an expansion, their features cannot be told from others, and counters are columns as others.
        """
        found, counters = Monotone(), np.zeros(self.samples.shape[1], np.bool_)
        found.add(self.samples)
        counters[found.columns() if self.linear else []] = True
        return counters

    def _given_away(self, counters: FloatArray) -> BoolArray:
        """Return which features are nothing but counters."""
        if not counters.shape[1]:
            return np.zeros(len(self.delta_values), np.bool_)
        left = np.square(_without(self.features, counters)).sum(axis=0)
        return np.asarray(left < NOTHING_NEW * np.square(self.features - self.features.mean(axis=0)).sum(axis=0))

    def _surrogates(self, shared: FloatArray, counters: BoolArray) -> list[list[Draw]]:
        """Return the kinds of surrogates of the columns, which share some signals. Counters stay as they are.

        After delays or an expansion, random signs keep slowness only roughly. Then there are shifts, too. With gaps,
        neither shifted rows nor shifted episodes are exact: of each two, the slower one counts.
        """
        own = self.samples.astype(np.float64)
        if shared.shape[1]:
            squares = np.square(own - own.mean(axis=0)).sum(axis=0)
            own = _without(own, shared)
            own[:, np.square(own).sum(axis=0) <= ROUNDED * squares] = 0.0
        own[:, counters] = 0.0
        kinds: list[list[Surrogates]] = [[SignRandomised(own, self.lengths)]]
        if not (self.linear and self.consecutive):
            kinds.append([RowsShifted(own, self.lengths)])
            if len(self.lengths) > 1:
                kinds[-1].append(EpisodesShifted(own, self.lengths))
        explained = self.samples - own if shared.shape[1] or counters.any() else np.zeros(1)

        def together(surrogates: Surrogates) -> Draw:
            return lambda rng: np.asarray(explained + surrogates.draw(rng))

        return [[together(each) for each in kind] for kind in kinds]


class _Draws:
    """Surrogates of several kinds: their slowness, and the share of them that is done."""

    def __init__(self, n_surrogates: int, rng: np.random.RandomState, parts: int, report: Report) -> None:
        self.n_surrogates, self.report = n_surrogates, report
        self._rng, self._n_done, self._n_all = rng, 0, parts * n_surrogates

    def slowness(self, slowness: Slowness, kind: list[Draw], feature: int = 0) -> Float64Array:
        """Return the slowness of a feature of each surrogate of one kind: of the slowest, if there are several."""
        return np.asarray(np.min([self._of_draws(slowness, draw, feature) for draw in kind], axis=0))

    def _of_draws(self, slowness: Slowness, draw: Draw, feature: int) -> Float64Array:
        seeds = self._rng.randint(2**31 - 1, size=self.n_surrogates).tolist()
        found: Float64Array = np.empty(self.n_surrogates)
        # one surrogate per thread: its matrix products are too small for threads of their own
        with warnings.catch_warnings(), threadpool_limits(1, "blas"), ThreadPoolExecutor(joblib.cpu_count()) as pool:
            ignore_warnings_of_surrogates()
            for i, delta in enumerate(
                pool.map(lambda seed: slowness(draw(np.random.default_rng(seed)), feature), seeds)
            ):
                found[i] = delta
                self._n_done += 1
                self.report(self._n_done / self._n_all)
        return found


def ignore_warnings_of_surrogates() -> None:
    """Ignore warnings that say nothing new: they were reported for the samples themselves, or are about surrogates."""
    for known in (RankDeficiencyWarning, ShortEpisodeWarning, ConditioningWarning, GiveAwayWarning):
        warnings.simplefilter("ignore", known)


def _without(X: FloatArray, explaining: FloatArray) -> Float64Array:
    """Return X without what a linear regression on some signals, and a constant, explains."""
    centred = explaining - explaining.mean(axis=0, dtype=np.float64)  # the regression drops what is small beside 1
    spread = centred.std(axis=0)
    centred /= np.where(spread > 0.0, spread, 1.0)
    left = X - X.mean(axis=0, dtype=np.float64)
    left -= centred @ np.linalg.lstsq(centred, left, rcond=None)[0]
    return np.asarray(left)


def _as_slow(chance: Float64Array, delta: float) -> BoolArray:
    return np.asarray(chance <= (1.0 + ROUNDING) * delta + EXACT)


def _probability(chance: Float64Array, delta: float) -> float:
    """Return the probability of a feature as slow as ``delta``."""
    return float((1 + np.count_nonzero(_as_slow(chance, delta))) / (1 + len(chance)))
