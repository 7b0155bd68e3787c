"""One recommendation: how many features, which lag, which expansion, and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from biosfa.estimators import SFA
from biosfa.io import Stream
from biosfa.kernels.exact import principal_directions
from biosfa.selection._blocks import Blocks, blocks_of
from biosfa.selection._cross_validation import Candidate, CrossValidation, Settings, cases_of, compared
from biosfa.selection._signal import Signal, opened
from biosfa.selection._significance import Significance, compared_with_chance, first_rows, rows_for
from biosfa.selection._timescales import ENOUGH_TIMES, ImpliedTimescales, checked_lags, timescales_of
from biosfa.validation import check_count
from biosfa.wording import counted

# 1 − λ² is the share of a feature's variance that its value one lag before does not predict. A feature is the last slow
# one if this share is at least so many times larger for the next. On 900 simulated mixtures of six kinds, with 1 to 5
# slow sources whose time constants are at least 5 times those of the others, the last such step gave the right number
# in 98%, and in 95% or more of each kind. Steps of 2.5 and 3.5 gave 90% and 87% on their worst kinds. The share hardly
# tells fast features from one another, while δ does. The benchmark uses other mixtures.
STEP = 3.0
# Otherwise, a feature has memory at a lag if its correlation λ is surely larger than this. With sensor noise of 0.1 and
# 0.3 standard deviations of each column, this gave the right number in 69% and 71% of 300 such mixtures, and the right
# number within one in 87% and 83%. Steps alone gave 39% and 6%.
MEMORY = 0.15
# Timescales that grow by no more than this with the lag count as constant, however short the intervals are.
CONSTANT = 0.1
# An expansion is worth its columns if it makes the slowest feature slower by this share on average, and slower in every
# fold. Further features do not count: products of slow features are slow, too, and say nothing new.
WORTHWHILE = 0.1
# Columns before an expansion, so that the eigenproblems of all folds take seconds: quadratic, these are 230 monomials.
EXPANDED = 20
MOST = 50  # features whose timescales are computed
CONFIDENCE, N_FOLDS, N_SURROGATES, LEVEL = 0.9, 5, 99, 0.05


class Progress(Protocol):
    """Takes what is being done, and the share of it that is done."""

    def __call__(self, what: str, share: float) -> object: ...


@dataclass(frozen=True, eq=False)
class Choice:
    """A recommendation, its reasons, and what they rest on.

    Attributes
    ----------
    n_components, lag : int
        Recommended settings of :class:`~biosfa.SFA`.
    expansion : None or str
        Recommended expansion.
    pca : int or None
        Number of principal components before the expansion.
    reasons : tuple of str
        One sentence per setting.
    cautions : tuple of str
        What speaks against trusting the features, or the recommendation.
    timescales : ImpliedTimescales
        Timescales of the features at several lags, with the recommended expansion.
    cross_validation : CrossValidation
        Numbers of features and expansions, on data not learned from.
    significance : Significance
        Whether the recommended features are slower than chance.
    n_skipped : int
        Number of rows that were skipped because of missing values.
    """

    n_components: int
    lag: int
    expansion: str | None
    pca: int | None
    reasons: tuple[str, ...]
    cautions: tuple[str, ...]
    timescales: ImpliedTimescales
    cross_validation: CrossValidation
    significance: Significance
    n_skipped: int = 0


def choose(
    X: Any,
    *,
    lags: Sequence[int] | None = None,
    max_components: int = 10,
    expansions: Sequence[str | None] = (None, "quadratic"),
    lengths: ArrayLike | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Choice:
    """Recommend the number of features, the lag and the expansion for a recording, with reasons.

    Parameters
    ----------
    X : array, data frame, files or Stream
        Samples in order of time. Rows with missing values end episodes. It is read once, and twice more per expansion,
        in constant memory.
    lags : sequence of int, optional
        Lags to try. By default 1, 2, 5, …, 1000, as far as there are 20 pairs of rows per lag.
    max_components : int, default=10
        The recommendation has at most this number of features.
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
    say = progress or (lambda what, share: None)
    stream = opened(X, lengths)
    wanted = None if lags is None else checked_lags("lags", lags)
    blocks = blocks_of(Signal(stream), wanted, lambda share: say("timescales", share))
    found = timescales_of(blocks, MOST, CONFIDENCE)
    lag, why_lag = _lag(found, _number(found)[0] or _with_memory(found))
    pca = _components_before_expansion(blocks)
    numbers = tuple(range(1, min(max_components, found.timescales.shape[1]) + 1))
    crossed, expanded = _crossed(stream, blocks, expansions, pca, lag, numbers, say)
    expansion, why_expansion = _expansion(crossed, expansions)
    pca = None if expansion is None else pca
    used = blocks
    if expansion is not None:
        used = expanded[expansion]
        found = timescales_of(used, MOST, CONFIDENCE)
    k, why_k = _number(found)
    samples, sizes = first_rows(stream, rows_for(used.total.total.shape[1]))
    sfa = SFA(lag=lag, pca=pca, expansion=expansion)
    surrogates = partial(say, "surrogates")
    real = compared_with_chance(samples, sizes, sfa, max_components, N_SURROGATES, LEVEL, random_state, surrogates)
    if k is None:
        k = max(1, min(real.n_slow, max_components))
        many = f"{counted(real.n_slow, 'feature')} of those tested are slower than features of rows in random order."
        why_k = f"{counted(k, 'feature')}: {why_k} {many if real.n_slow else ''}".strip()
    elif k > max_components:
        k, why_k = max_components, f"{counted(max_components, 'feature')} at most were asked for. Otherwise: {why_k}"
    why_real, cautions = _chance(real, k)
    if found.n_timescales < ENOUGH_TIMES:
        cautions.append(
            f"The recording is only {found.n_timescales:.0f} times as long as the slowest timescale. With fewer than "
            f"{ENOUGH_TIMES:.0f}, intervals are too short, and slow features may be chance or drift."
        )
    reasons = (why_k, why_lag, why_expansion, *why_real)
    return Choice(k, lag, expansion, pca, reasons, tuple(cautions), found, crossed, real, blocks.n_skipped)


def _components_before_expansion(blocks: Blocks) -> int | None:
    """Return the number of principal components that an expansion of the columns needs, None for all columns."""
    total = blocks.total
    m = total.total.shape[1]
    return None if m <= EXPANDED else len(principal_directions(total.covariance(0), EXPANDED))


def _with_memory(found: ImpliedTimescales) -> int:
    """Return the number of features whose timescale at the first lag is at least this lag; at least 1."""
    return max(1, int(np.count_nonzero(found.timescales[0] >= found.lags[0])))


def _number(found: ImpliedTimescales) -> tuple[int | None, str]:
    """Return the number of slow features, if one stands out, and the reason."""
    for number, lag in enumerate(found.lags):
        share = 1.0 - np.maximum(found.correlations[number], 0.0) ** 2
        steps = share[1:] / np.maximum(share[:-1], np.finfo(float).tiny)
        large = np.flatnonzero(steps >= STEP)
        if len(large):
            k = int(large[-1]) + 1
            return k, (
                f"{counted(k, 'feature')}: {_percent(share[k - 1])} of the variance of slow{k - 1} is new after "
                f"{counted(lag, 'row')}, but {_percent(share[k])} of that of slow{k}."
            )
    return _lasting(found)


def _lasting(found: ImpliedTimescales) -> tuple[int | None, str]:
    """Return the number of features that still have memory for the widest range of lags, and the reason.

    Noise without memory hides steps, but not that fast signals are forgotten at lags at which slow ones are not.
    """
    lags = np.array(found.lags, dtype=np.float64)
    counts = np.count_nonzero(found.lower > -lags[:, None] / np.log(MEMORY), axis=1)  # λ of the lower end of T
    widths = {int(k): 0.0 for k in counts if k}
    for k, first, last in zip(counts, lags, lags[1:], strict=False):
        if k:
            widths[int(k)] += float(np.log(last / first))
    if not widths or max(widths.values()) == 0.0:
        return None, "no number stands out, because hardly any feature has memory."
    k = max(widths, key=lambda number: widths[number])
    with_k = lags[counts == k]
    return k, (
        f"{counted(k, 'feature')} still {'has' if k == 1 else 'have'} memory after {with_k[0]:.0f} to {with_k[-1]:.0f} "
        "rows. Slowness changes gradually from feature to feature, so that this number is less certain."
    )


def _percent(share: float) -> str:
    return f"{100.0 * share:.0f}%" if share >= 0.1 else f"{100.0 * share:.2g}%"


def _lag(found: ImpliedTimescales, k: int) -> tuple[int, str]:
    """Return the smallest lag from which the timescales of k features are constant, and the reason.

    Lags count as long as they are shorter than the timescales of all of these features.
    """
    T, lower, upper = (values[:, :k] for values in (found.timescales, found.lower, found.upper))
    long_enough = (np.array(found.lags)[:, None] <= T).all(axis=1)
    lags = found.lags[: max(1, int(np.cumprod(long_enough).sum()))]
    if len(found.lags) == 1:
        return lags[0], f"Lag {lags[0]}: no other was tried."
    for number in range(len(lags)):
        after = slice(number + 1, len(lags))
        grows = (T[number] < (1.0 - CONSTANT) * T[after]) & (upper[number] < lower[after])
        if not grows.any():
            break
    lag = lags[number]
    if number == 0:
        return lag, f"Lag {lag}: timescales do not grow with the lag."
    most = int(np.argmax(T[number] / T[0]))
    return lag, (
        f"Lag {lag}: timescales grow up to this lag (slow{most}: {T[0, most]:.3g} rows at lag {lags[0]}, "
        f"{T[number, most]:.3g} at lag {lag}). Noise without memory makes signals look fast from row to row, as do "
        "features that mix several timescales."
    )


def _crossed(
    stream: Stream,
    blocks: Blocks,
    expansions: Sequence[str | None],
    pca: int | None,
    lag: int,
    n_components: tuple[int, ...],
    say: Progress,
) -> tuple[CrossValidation, dict[str, Blocks]]:
    """Return the scores of all numbers of features and expansions, and the blocks of each expansion."""
    candidates: list[Candidate] = []
    expanded: dict[str, Blocks] = {}
    crossed: CrossValidation | None = None
    for expansion in expansions:
        settings = Settings(n_components, (lag,), (1,), (None if expansion is None else pca,), (expansion,))

        def report(share: float, what: str = f"{expansion} expansion") -> None:
            say(what, share)

        cases = list(cases_of(stream, settings, (lag,), blocks if expansion is None else None, report))
        if expansion is not None:
            expanded[expansion] = cases[0].blocks
        crossed = compared(cases, n_components, (lag,), lag, N_FOLDS, lag)
        candidates.extend(crossed.candidates)
    if crossed is None:
        raise ValueError("expansions is empty: give at least None")
    return CrossValidation(tuple(candidates), lag, N_FOLDS, crossed.gap, crossed.n_episodes, crossed.n_cut), expanded


def _expansion(crossed: CrossValidation, expansions: Sequence[str | None]) -> tuple[str | None, str]:
    """Return the expansion with the slowest feature on data not learned from, if it is worthwhile."""
    slowest = {each.expansion: each.delta_values[:, 0] for each in crossed.candidates if each.n_components == 1}
    best, reason = expansions[0], f"{expansions[0] or 'no'} expansion: no other was compared."
    for expansion in expansions[1:]:
        ratio = slowest[expansion] / np.maximum(slowest[best], np.finfo(float).tiny)  # per fold
        times = float(np.exp(np.log(np.maximum(ratio, np.finfo(float).tiny)).mean()))
        said = f"δ of the slowest feature on data not learned from is {times:.2f} times that without"
        if ratio.max() < 1.0 and times <= 1.0 - WORTHWHILE:
            best, reason = expansion, f"{expansion or 'no'} expansion: {said}."
        else:
            reason = f"{best or 'no'} expansion: with {expansion or 'no'} expansion, {said}."
    return best, reason[0].upper() + reason[1:]


def _chance(real: Significance, k: int) -> tuple[list[str], list[str]]:
    """Return what the comparison with chance says about the recommended features: reasons, and cautions."""
    rows = f"in the first {real.n_rows:,} rows"
    if real.n_real >= k:
        p = float(real.p_spectrum[k - 1])
        said = "The feature is" if k == 1 else f"The {k} features are"
        return [f"{said} slower than features of columns that share no signal (p = {p:.2g}, {rows})."], []
    if real.n_slow == 0:
        return [], [f"No feature is slower than features of rows in random order ({rows}): nothing here may be slow."]
    if real.n_slow < k:
        return [], [
            f"Only {real.n_slow} of {k} features are slower than features of rows in random order ({rows}): the others "
            "may be chance."
        ]
    return [f"They are slower than features of rows in random order ({rows})."], [
        f"{k - real.n_real} of {k} features are no slower than features of columns that have the same spectra and "
        f"share no signal ({rows}): the columns may be as slow by themselves."
    ]
