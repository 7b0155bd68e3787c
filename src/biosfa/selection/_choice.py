"""One recommendation: how many features, which lag, delays and expansion, and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from biosfa.estimators import SFA, as_slow_as_ramps
from biosfa.io import Stream
from biosfa.selection._blocks import DEFAULT_LAGS, Blocks, blocks_of
from biosfa.selection._cross_validation import Case, CrossValidation, Setting
from biosfa.selection._reasons import (
    chance_of,
    gaps_of,
    give_aways_of,
    lag_of,
    length_of,
    number_of,
    step_of,
    windows_apart,
    with_memory,
    worse_by_chance,
)
from biosfa.selection._search import WIDEST, delayed, expanded, lag_with, reduced, search_of
from biosfa.selection._signal import Report, Signal, opened
from biosfa.selection._significance import first_rows, found_by
from biosfa.selection._timescales import ImpliedTimescales, checked_lags, timescales_of
from biosfa.selection.chance import Significance, rows_for
from biosfa.validation import check_count

MOST = 50  # features whose timescales are computed
CONFIDENCE = 0.9


class Progress(Protocol):
    """Takes what is being done, and the share of it that is done."""

    def __call__(self, what: str, share: float) -> object: ...


@dataclass(frozen=True, eq=False)
class Choice:
    """A recommendation, its reasons, and what they rest on.

    Attributes
    ----------
    n_components, lag, n_delays : int
        Recommended settings of :class:`~biosfa.SFA`.
    pca : int or None
        Recommended number of principal components; None for all columns.
    expansion : None or str
        Recommended expansion.
    reasons : tuple of str
        One sentence or more per setting.
    cautions : tuple of str
        What speaks against trusting the features, or the recommendation.
    timescales : ImpliedTimescales
        Timescales of the features at all lags, with the recommended settings.
    cross_validation : CrossValidation
        Slowness with other settings, on data not learned from. Candidates with delays are measured at the lag at which
        their windows are as far apart as the rows of the other candidates.
    significance : Significance
        Whether the recommended features are slower than chance.
    n_skipped : int
        Number of rows that were skipped because of missing values.
    n_jumps : int
        Number of gaps in time.
    """

    n_components: int
    lag: int
    n_delays: int
    pca: int | None
    expansion: str | None
    reasons: tuple[str, ...]
    cautions: tuple[str, ...]
    timescales: ImpliedTimescales
    cross_validation: CrossValidation
    significance: Significance
    n_skipped: int = 0
    n_jumps: int = 0

    @property
    def setting(self) -> Setting:
        """What is recommended to happen to samples before the slow features."""
        return Setting(self.pca, self.n_delays, self.expansion)


def choose(
    X: Any,
    *,
    lags: Sequence[int] | None = None,
    max_components: int = 10,
    n_delays: Sequence[int] = (1, 2, 5, 10),
    expansions: Sequence[str | None] = (None, "quadratic"),
    lengths: ArrayLike | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Choice:
    """Recommend the number of features, lag, principal components, delays and expansion for a recording, with reasons.

    Parameters
    ----------
    X : array, data frame, files or Stream
        Samples in order of time. Rows with missing values end episodes. It is read a few times, in constant memory.
    lags : sequence of int, optional
        Lags to try. By default 1, 2, 5, …, 1000, as far as there are 20 pairs of rows per lag.
    max_components : int, default=10
        The recommendation has at most this number of features.
    n_delays : sequence of int, default=(1, 2, 5, 10)
        Numbers of delays to compare, as far as episodes are long enough. More than 20 columns are first reduced to 20
        principal components.
    expansions : sequence of None or str, default=(None, "quadratic")
        Expansions to compare. More than 20 columns are first reduced to 20 principal components.
    lengths : array-like of int, optional
        Number of rows of each episode in X.
    random_state : int, default=0
        Seed of the surrogates.
    progress : callable, optional
        Called with what is being done, and the share of it that is done.

    Returns
    -------
    Choice

    Notes
    -----
    Principal components (50, 20, 10 or 5), delays and expansions are judged by the slowest feature on data from which
    it was not learned. They are recommended if they make it slower by 10% on average, and slower in every fold. With
    delays, the recommended lag is longer: the windows of a pair share no row.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.signal import lfilter
    >>> from biosfa.selection import choose
    >>> noise = np.random.default_rng(0).standard_normal((5000, 6))
    >>> slow = lfilter([1], [1, -0.98], noise[:, :2], axis=0)
    >>> X = np.column_stack([slow, noise[:, 2:]]) @ np.random.default_rng(1).standard_normal((6, 6))
    >>> found = choose(X)
    >>> found.n_components, found.lag, found.expansion
    (2, 1, None)
    """
    check_count("max_components", max_components)
    if isinstance(expansions, str) or not len(expansions):
        raise ValueError(f"expansions must be a list, for example [None, 'quadratic']; got {expansions!r}")
    delays = [check_count("each of n_delays", number) for number in n_delays]
    wanted = None if lags is None else checked_lags("lags", lags)
    say = progress or (lambda what, share: None)
    stream = opened(X, lengths)

    def report(what: str) -> Report:
        return partial(say, what)

    columns = Signal(stream)
    blocks = blocks_of(columns, wanted, report("timescales")) if stream.n_features <= WIDEST else None
    give_aways = [] if blocks is None else _as_slow_as_ramps(stream, blocks)
    search = search_of(stream, max_components, blocks, (wanted or DEFAULT_LAGS)[0])
    why_pca = reduced(search, blocks, report("principal components"))
    plain = Setting(search.setting.pca)
    if plain.pca is not None or blocks is None:
        columns = Signal(stream, pca=plain.pca)
        blocks = blocks_of(columns, wanted, report("timescales of principal components"))
    times = timescales_of(blocks, MOST, CONFIDENCE)
    search.lag, why_lag = lag_of(times, _judged(times, max_components))
    why_delays = None
    if None in expansions:
        search.begin(Case(blocks, 1, plain.pca, None, None))
        why_delays = delayed(search, blocks, delays, report("delays"))
    else:
        search.begin_expanded(expansions[0])
    why_expansion = f"{str(expansions[0] or 'no').capitalize()} expansion: no other was compared."
    for each in expansions:
        if each not in (None, search.setting.expansion):
            why_expansion = expanded(search, blocks, each, report(f"{each} expansion"))
    draws = _Draws(stream, max_components, random_state, report("surrogates"))
    setting, lag = search.setting, lag_with(search.setting.n_delays, search.lag)
    real = draws.compared(setting, lag)
    why_not = None
    if setting != plain and None in expansions:
        simpler = draws.compared(plain, search.lag)
        if simpler.n_leading > real.n_leading:
            why_not = worse_by_chance(setting, plain, real, simpler)
            setting, lag, real = plain, search.lag, simpler
    if setting != plain:
        signal = Signal(stream, **setting._asdict())
        times = timescales_of(blocks_of(signal, wanted, report("timescales"), also=lag), MOST, CONFIDENCE)
    if setting.n_delays > 1:
        why_lag = windows_apart(lag, setting.n_delays, search.lag, why_lag)
    k, why_k = number_of(times, real, setting.n_delays, max_components)
    why_real, cautions = chance_of(real, k)
    gaps = gaps_of(times.n_rows, columns.n_skipped, columns.n_jumps, blocks.n_episodes)
    names = list(dict.fromkeys([*columns.counters(), *give_aways]))
    reasons = [why_k, why_lag, why_expansion, why_delays, why_pca, why_not, *why_real]
    return Choice(
        k,
        lag,
        setting.n_delays,
        setting.pca,
        setting.expansion,
        tuple(reason for reason in reasons if reason is not None),
        (*give_aways_of(names), *cautions, *length_of(times), *gaps),
        times,
        search.crossed(),
        real,
        columns.n_skipped,
        columns.n_jumps,
    )


class _Draws(NamedTuple):
    """Compares the features of settings with chance."""

    stream: Stream
    n_components: int
    random_state: int
    report: Report

    def compared(self, setting: Setting, lag: int) -> Significance:
        """Return whether the features are slower than chance."""
        signal, sfa = Signal(self.stream, **setting._asdict()), SFA(lag=lag, **setting._asdict())
        samples, sizes = first_rows(self.stream, rows_for(signal.n_features))
        found = found_by(sfa, samples, sizes, self.n_components)
        return found.significance(random_state=self.random_state, report=self.report)


def _judged(found: ImpliedTimescales, most: int) -> int:
    """Return the number of features by which the lag is chosen."""
    return min(most, step_of(found) or with_memory(found))


def _as_slow_as_ramps(stream: Stream, blocks: Blocks) -> list[str]:
    """Return the names of the columns that are as slow as a ramp over the whole recording."""
    total = blocks.total
    variance, change = np.diag(total.covariance(0)), np.diag(total.difference_covariance(0))
    slow = as_slow_as_ramps(variance, change / blocks.lags[0] ** 2, sum(blocks.n_rows))
    return [stream.feature_names[column] for column in np.flatnonzero(slow)]
