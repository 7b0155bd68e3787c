"""Cross-validation of settings of SFA: every candidate learns from some blocks, and is measured on the others."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from biosfa.io import Stream
from biosfa.kernels.exact import LaggedSums, check_determined, principal_directions
from biosfa.selection._blocks import FIRST_ROWS, Blocks, blocks_of, summed
from biosfa.selection._signal import Signal, opened
from biosfa.selection._timescales import checked_lags
from biosfa.selection._vamp import score_of
from biosfa.typing import Float64Array
from biosfa.validation import check_count, check_positive
from biosfa.wording import counted

OneOrMore = Any  # one value, or a sequence of values


class Setting(NamedTuple):
    """What happens to samples before the slow features."""

    pca: int | None = None
    n_delays: int = 1
    expansion: Any = None

    def __str__(self) -> str:
        words = [] if self.pca is None else [counted(self.pca, "principal component")]
        if self.n_delays > 1:
            words.append(f"{self.n_delays} delays")
        if self.expansion is not None:
            words.append(f"the {self.expansion} expansion")
        return " and ".join(words) or "the columns as they are"


@dataclass(frozen=True, eq=False)
class Candidate:
    """Settings of SFA, and how its features do on data from which it has not learned.

    Attributes
    ----------
    n_components, lag, n_delays : int
        Settings of :class:`~biosfa.SFA`.
    pca : int or None
        Number of principal components.
    expansion : None, str or transformer
        Nonlinear expansion.
    vamp2 : array of shape (n_folds,)
        VAMP-2 score of the features in each fold, at the common lag. NaN if there are not so many features.
    delta_values : array of shape (n_folds, n_components)
        Slowness of each feature in each fold, at the common lag.
    """

    n_components: int
    lag: int
    n_delays: int
    pca: int | None
    expansion: Any
    vamp2: Float64Array
    delta_values: Float64Array

    @property
    def slowness(self) -> float:
        """Mean slowness over features and folds."""
        return float(self.delta_values.mean())

    @property
    def setting(self) -> Setting:
        """What happens to samples before the slow features."""
        return Setting(self.pca, self.n_delays, self.expansion)


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """What cross-validation has found.

    Attributes
    ----------
    candidates : tuple of Candidate
        The candidates: all combinations of settings.
    score_lag : int
        Lag at which all candidates are measured.
    n_folds : int
        Number of folds.
    gap : int
        Rows that are left out between the rows to learn from and the rows to measure on, at least.
    n_episodes : int
        Number of episodes.
    n_cut : int
        Number of episodes that lie in two folds.
    """

    candidates: tuple[Candidate, ...]
    score_lag: int
    n_folds: int
    gap: int
    n_episodes: int
    n_cut: int

    def best(self, n_components: int) -> Candidate:
        """Return the candidate with this number of features whose features are slowest on data not learned from.

        Candidates with different numbers of features cannot be compared: one feature is always slower than the mean of
        several.
        """
        among = [each for each in self.candidates if each.n_components == n_components and np.isfinite(each.slowness)]
        if not among:
            raise ValueError(f"no candidate has {n_components} features")
        return min(among, key=lambda candidate: candidate.slowness)

    def table(self) -> list[dict[str, Any]]:
        """Return one dict per candidate, for example for ``pandas.DataFrame``."""
        return [
            {
                "n_components": each.n_components,
                "lag": each.lag,
                "n_delays": each.n_delays,
                "pca": each.pca,
                "expansion": each.expansion,
                "slowness": each.slowness,
                "vamp2": float(each.vamp2.mean()),
                "vamp2_std": float(each.vamp2.std()),
            }
            for each in self.candidates
        ]


def cross_validate(
    X: Any,
    *,
    n_components: OneOrMore = (1, 2, 3, 5),
    lag: OneOrMore = 1,
    n_delays: OneOrMore = 1,
    pca: OneOrMore = None,
    expansion: OneOrMore = None,
    score_lag: int | None = None,
    n_folds: int = 5,
    gap: int = 0,
    lengths: ArrayLike | None = None,
) -> CrossValidation:
    """Compare settings of :class:`~biosfa.SFA` on blocks of data from which it has not learned.

    All candidates are measured at one lag, so that they can be compared. The data are read once, or once per expansion:
    what candidates learn from is added up from sums over blocks.

    Parameters
    ----------
    X : array, data frame, files or Stream
        Samples in order of time. Rows with missing values end episodes.
    n_components, lag, n_delays, pca, expansion : value, or sequence of values
        Settings. The candidates are all combinations.
    score_lag : int, optional
        Lag at which all candidates are measured. By default the largest ``lag``.
    n_folds : int, default=5
        Number of folds. Each is a stretch of consecutive rows.
    gap : int, default=0
        Rows to leave out between the rows to learn from and the rows to measure on, beyond those that pairs of rows and
        delays would share.
    lengths : array-like of int, optional
        Number of rows of each episode in X. Folds begin with an episode, if a block does nearby. ``n_cut`` says how
        many episodes lie in two folds.

    Returns
    -------
    CrossValidation

    Notes
    -----
    Principal components are computed from the rows to learn from. Before an expansion they are computed from all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.selection import cross_validate
    >>> t = np.arange(4000)
    >>> slow, noise = np.sin(t / 80), np.random.default_rng(0).standard_normal((4000, 3))
    >>> X = np.column_stack([noise[:, 0] * slow, noise[:, 0], noise[:, 1]])  # the slow signal is in a product
    >>> found = cross_validate(X, n_components=1, expansion=[None, "quadratic"])
    >>> found.best(1).expansion
    'quadratic'
    """
    settings = Settings(
        tuple(check_count("n_components", k) for k in _sequence(n_components)),
        checked_lags("lag", _sequence(lag)),
        tuple(check_count("n_delays", d) for d in _sequence(n_delays)),
        tuple(None if p is None else check_count("pca", p) for p in _sequence(pca)),
        tuple(_sequence(expansion)),
    )
    for name, values in settings._asdict().items():
        if not values:
            raise ValueError(f"{name} is empty: give at least one value")
    at = settings.lags[-1] if score_lag is None else check_count("score_lag", score_lag)
    if check_count("n_folds", n_folds) < 2:
        raise ValueError(f"n_folds must be at least 2; got {n_folds}")
    check_positive("gap", gap, zero=True)
    apart = gap + max(*settings.lags, at) + max(settings.n_delays) - 1
    lags = tuple(sorted({*settings.lags, at}))
    cases = cases_of(opened(X, lengths), settings, lags)
    return compared(cases, settings.n_components, settings.lags, at, n_folds, apart)


class Settings(NamedTuple):
    """The values of each setting."""

    n_components: tuple[int, ...]
    lags: tuple[int, ...]
    n_delays: tuple[int, ...]
    pca: tuple[int | None, ...]
    expansions: tuple[Any, ...]


def _sequence(setting: OneOrMore) -> Sequence[Any]:
    several = isinstance(setting, Sequence | np.ndarray) and not isinstance(setting, str)
    return list(setting) if several else [setting]


class Case(NamedTuple):
    """A signal on which candidates are compared: sums of blocks, and how to get it from them."""

    blocks: Blocks
    n_delays: int
    pca: int | None
    expansion: Any
    n_columns: int | None  # of a sample, if principal components and delays are still to be taken


def cases_of(stream: Stream, settings: Settings, lags: tuple[int, ...]) -> Iterator[Case]:
    """Yield the signals of all combinations of settings.

    The stream is read once per expansion, and once for all settings without expansion.
    """
    for expansion in settings.expansions:
        if expansion is None:
            blocks = blocks_of(Signal(stream, n_delays=max(settings.n_delays)), lags)
            for d, p in product(settings.n_delays, settings.pca):
                yield Case(blocks, d, p, None, stream.n_features)
            continue
        for d, p in product(settings.n_delays, settings.pca):
            signal = Signal(stream, n_delays=d, pca=p, expansion=expansion)
            yield Case(blocks_of(signal, lags), d, p, expansion, None)


def compared(
    cases: Iterable[Case], n_components: Sequence[int], lags: Sequence[int], score_lag: int, n_folds: int, gap: int
) -> CrossValidation:
    """Return the scores of all numbers of features and lags on some signals."""
    candidates: list[Candidate] = []
    n_episodes = n_cut = 0
    for case in cases:
        edges = _edges(case.blocks, n_folds)
        folds = list(_folds(case.blocks, edges, gap))
        n_episodes, n_cut = case.blocks.n_episodes, sum(case.blocks.within[edge] for edge in edges)
        for lag in lags:
            scores = [_scores(case, train, test, lag, score_lag, n_components) for train, test in folds]
            for i, k in enumerate(n_components):
                vamp2 = np.array([fold[i][0] for fold in scores])
                delta = np.array([fold[i][1] for fold in scores])
                candidates.append(Candidate(k, lag, case.n_delays, case.pca, case.expansion, vamp2, delta))
    return CrossValidation(tuple(candidates), score_lag, n_folds, gap, n_episodes, n_cut)


def _edges(blocks: Blocks, n_folds: int) -> list[int]:
    """Return the number of the first block of each fold: at the beginning of an episode, if there is one nearby."""
    ends = np.cumsum(blocks.n_rows)
    n_rows = int(ends[-1])
    if len(ends) < 2 * n_folds:
        raise ValueError(f"{n_rows} rows are too few for {n_folds} folds: give at least {4 * n_folds * FIRST_ROWS}")
    begins = ends - blocks.n_rows
    edges = [0]
    for fold in range(1, n_folds):
        distance = np.abs(begins - n_rows * fold / n_folds)
        distance[: edges[-1] + 1] = np.inf
        whole = np.where(blocks.within, np.inf, distance)
        nearby = whole.min() < n_rows / (4 * n_folds)
        edges.append(int(np.argmin(whole if nearby else distance)))
    return edges


def _folds(blocks: Blocks, edges: list[int], gap: int) -> Iterator[tuple[LaggedSums, LaggedSums]]:
    """Yield the sums to learn from and the sums to measure on. Blocks between them make up the gap."""
    ends = np.cumsum(blocks.n_rows)
    begins = ends - blocks.n_rows
    for test in np.split(np.arange(len(ends)), edges[1:]):
        first, last = begins[test[0]] - gap, ends[test[-1]] + gap
        train = np.flatnonzero((ends <= first) | (begins >= last))
        if not len(train):
            raise ValueError(f"a gap of {gap} rows leaves no rows to learn from: use shorter lags, or a shorter gap")
        yield summed([blocks.sums[i] for i in train]), summed([blocks.sums[i] for i in test])


def _scores(
    case: Case, train: LaggedSums, test: LaggedSums, lag: int, score_lag: int, n_components: Sequence[int]
) -> list[tuple[float, Float64Array]]:
    """Return VAMP-2 score and slowness of each feature, for each number of features."""
    learned, measured = case.blocks.lags.index(lag), case.blocks.lags.index(score_lag)
    basis = _basis(case, train, learned)
    train, test = train.at([learned]), test.at([measured])
    if basis is not None:
        train, test = train.along(basis), test.along(basis)
    found = train.slow_directions(0, max(n_components))
    check_determined(int(train.n_pairs[0]), found.rank)
    directions = found.directions
    features = test.along(directions)
    delta = np.diag(features.difference_covariance(0)) / np.diag(features.covariance(0))
    scores = []
    for k in n_components:
        if k > len(directions):
            scores.append((np.nan, np.full(k, np.nan)))
        else:
            scores.append((score_of(features.along(np.eye(len(directions))[:k])), delta[:k]))
    return scores


def _basis(case: Case, train: LaggedSums, number: int) -> Float64Array | None:
    """Return the map from the signal of the blocks to that of the case: fewer delays, and principal components."""
    m, d = train.total.shape[1], case.n_columns
    if d is None or (case.pca is None and d * case.n_delays == m):
        return None
    if case.pca is None:
        return np.eye(m)[: d * case.n_delays]
    components = principal_directions(train.covariance(number)[:d, :d], case.pca)
    whole = np.zeros((len(components) * case.n_delays, m))
    for delay in range(case.n_delays):
        whole[delay * len(components) : (delay + 1) * len(components), delay * d : (delay + 1) * d] = components
    return whole
