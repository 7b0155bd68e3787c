"""Which principal components, delays and expansion to use: candidates are judged on data not learned from."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from biosfa.io import Stream
from biosfa.kernels.exact import principal_axes
from biosfa.selection._blocks import Blocks, blocks_of
from biosfa.selection._cross_validation import Candidate, Case, CrossValidation, Setting, compared
from biosfa.selection._signal import Report, Signal, moments_of
from biosfa.wording import counted

# Settings are worth their columns if they make the slowest feature slower by this share on average, and slower in every
# fold. Further features do not count: products of slow features are slow, too, and say nothing new.
WORTHWHILE = 0.1
N_FOLDS = 5
# Columns before delays or an expansion, so that the eigenproblems of all folds take seconds: quadratic, these are 230
# monomials.
EXPANDED = 20
COMPONENTS = (50, 20, 10, 5)  # numbers of principal components to try
WIDEST = 500  # columns for which sums over pairs are kept per block and lag
ROWS_PER_COLUMN = 4  # with fewer, features fit noise, and some folds may have too few pairs to learn from
EPISODES_PER_DELAY = 4  # episodes are at least so many times as long as the delays that are tried, on average


@dataclass
class Search:
    """Compares settings one after the other, and remembers the best."""

    stream: Stream
    n_components: tuple[int, ...]
    rank: int  # number of principal components that there are, up to the most that are tried
    lag: int  # between the nearest rows of a pair
    candidates: list[Candidate] = field(default_factory=list)
    best: Candidate | None = None
    n_episodes: int = 0
    n_cut: int = 0

    def begin(self, case: Case) -> None:
        """Take the candidate with which the others are compared."""
        self.best = self.add(case)

    def begin_expanded(self, expansion: str | None) -> None:
        """Take an expansion with which the others are compared."""
        self.begin(_expanded_case(self, Setting(_components(self), 1, expansion)))

    def add(self, case: Case) -> Candidate:
        """Take a candidate, and return it with one feature."""
        lag = lag_with(case.n_delays, self.lag)
        apart = lag + case.n_delays - 1  # no window of a fold shares a row with one of another
        found = compared([case], self.n_components, (lag,), lag, N_FOLDS, apart)
        self.n_episodes, self.n_cut = found.n_episodes, found.n_cut
        again = found.candidates[0].setting  # perhaps it was measured at another lag before
        self.candidates = [*(each for each in self.candidates if each.setting != again), *found.candidates]
        return found.candidates[0]

    def choose(self, cases: Sequence[Case], what: str) -> str:
        """Compare candidates with the best so far, keep the best of all, and return the reason."""
        if self.best is None:
            raise ValueError("there is nothing to compare with yet")
        before, tried = self.best, [self.add(case) for case in cases]
        for candidate in tried:
            if _worthwhile(candidate, self.best):
                self.best = candidate
        chosen = self.best is not before
        shown = self.best if chosen else min(tried, key=lambda candidate: _share(candidate, before)[0])
        share, worst = _share(shown, before)
        said = (
            f"δ of the slowest feature on data not learned from is {_ratio(share)} of that with {before.setting}"
            + (f" ({_ratio(worst)} in the worst fold)" if worst >= 1.0 > share else "")
            + f". At most {1.0 - WORTHWHILE:g} is asked for, and less than 1 in every fold."
        )
        among = f", the best of {len(tried)} that were tried," if len(tried) > 1 else ""
        if chosen:
            return f"{_sentence(str(shown.setting))}: {said}"
        return f"No {what}: with {shown.setting}{among} {said}"

    @property
    def setting(self) -> Setting:
        """The best setting so far."""
        return Setting() if self.best is None else self.best.setting

    def crossed(self) -> CrossValidation:
        """Return the scores of all candidates, each at its own lag."""
        at_this_lag = (each for each in self.candidates if each.lag == lag_with(each.n_delays, self.lag))
        return CrossValidation(tuple(at_this_lag), self.lag, N_FOLDS, self.lag, self.n_episodes, self.n_cut)


def lag_with(n_delays: int, lag: int) -> int:
    """Return the lag at which the nearest rows of two windows of ``n_delays`` rows are ``lag`` rows apart.

    At shorter lags windows share rows. Features that average over a window would be slower for this reason alone.
    """
    return lag + n_delays - 1


def _share(candidate: Candidate, best: Candidate) -> tuple[float, float]:
    """Return the slowness of the slowest feature relative to that of the best: its mean over folds, and the largest."""
    tiny = np.finfo(float).tiny
    ratio = np.maximum(candidate.delta_values[:, 0], tiny) / np.maximum(best.delta_values[:, 0], tiny)
    return float(np.exp(np.log(ratio).mean())), float(ratio.max())


def _worthwhile(candidate: Candidate, best: Candidate) -> bool:
    share, worst = _share(candidate, best)
    return share <= 1.0 - WORTHWHILE and worst < 1.0


def _ratio(share: float) -> str:
    return f"{share:.2f}" if share >= 0.1 else f"{share:.2g}"


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:]


def search_of(stream: Stream, n_components: int, blocks: Blocks | None, lag: int) -> Search:
    """Return a search at a lag; ``blocks`` are those of the columns, or None if there are too many."""
    covariance = moments_of(stream).covariance if blocks is None else blocks.total.covariance(0)
    most = min(COMPONENTS[0], stream.n_features)
    rank = len(principal_axes(covariance, most).variance)
    return Search(stream, tuple(range(1, min(n_components, stream.n_features) + 1)), rank, lag)


def reduced(search: Search, blocks: Blocks | None, report: Report) -> str | None:
    """Choose a number of principal components, and return the reason; None if there are few columns.

    ``blocks`` are those of the columns as they are, or None if there are too many columns for them.
    """
    m = search.stream.n_features
    sizes = [size for size in COMPONENTS if size <= min(m // 2, search.rank)]
    if blocks is None:
        cases = [_reduced_case(search, size, report) for size in sizes]
        enough, few = False, f"{m:,} columns are too many to be compared as they are"
    else:
        n_pairs = int(blocks.total.n_pairs[0])
        cases = [Case(blocks, 1, size, None, m) for size in sizes if ROWS_PER_COLUMN * size <= n_pairs]
        enough = n_pairs >= ROWS_PER_COLUMN * m or not cases
        few = (
            f"{counted(n_pairs, 'pair')} of rows are fewer than {ROWS_PER_COLUMN} per column ({m:,} columns), so that "
            "features of all columns would fit noise"
        )
        if enough:
            search.begin(Case(blocks, 1, None, None, m))
    if not cases:
        return None
    if enough:
        return search.choose(cases, "principal components")
    tried = [search.add(case) for case in cases]
    search.best = min(tried, key=lambda candidate: float(candidate.delta_values[:, 0].mean()))
    return (
        f"{_sentence(str(search.setting))}: {few}. Among {_numbers(tried)}, the slowest feature is slowest with these."
    )


def _numbers(tried: Sequence[Candidate]) -> str:
    *most, last = [str(candidate.pca) for candidate in tried]
    return f"{', '.join(most)} and {last}" if most else last


def _reduced_case(search: Search, size: int, report: Report) -> Case:
    return Case(blocks_of(Signal(search.stream, pca=size), (search.lag,), report), 1, size, None, None)


def delayed(search: Search, blocks: Blocks, n_delays: Sequence[int], report: Report) -> str | None:
    """Choose a number of delays, and return the reason; None if none can be tried. ``blocks`` are without delays."""
    pca = _components(search)
    n_columns, n_pairs = pca or search.stream.n_features, blocks.total.n_pairs[0]
    length = sum(blocks.n_rows) / max(1, blocks.n_episodes)
    tried = sorted(
        {
            d
            for d in n_delays
            if d > 1
            and length >= max(EPISODES_PER_DELAY * d, 2 * (lag_with(d, search.lag) + d))
            and ROWS_PER_COLUMN * n_columns * d <= n_pairs
        }
    )
    if not tried:
        return None
    lags = tuple(lag_with(number, search.lag) for number in tried)
    found = blocks_of(Signal(search.stream, n_delays=tried[-1], pca=pca), lags, report)
    return search.choose([Case(found, number, pca, None, n_columns) for number in tried], "delays")


def expanded(search: Search, blocks: Blocks, expansion: str, report: Report) -> str:
    """Compare an expansion, of single rows and with the chosen delays if these are few enough; return the reason.

    ``blocks`` are without the expansion.
    """
    pca, n_delays = _components(search), search.setting.n_delays
    settings = [Setting(pca, 1, expansion)]
    if n_delays > 1 and (pca or search.stream.n_features) * n_delays <= EXPANDED:
        settings.append(Setting(pca, n_delays, expansion))
    n_pairs = int(blocks.total.n_pairs[0])
    cases = [_expanded_case(search, each, report) for each in settings if _has_enough(search, each, n_pairs)]
    if not cases:
        few = f"{counted(n_pairs, 'pair')} of rows are fewer than {ROWS_PER_COLUMN} per column after the expansion"
        return f"No {expansion} expansion: {few}."
    return search.choose(cases, f"{expansion} expansion")


def _has_enough(search: Search, setting: Setting, n_pairs: int) -> bool:
    """Return whether there are enough rows per column of the expanded signal."""
    return ROWS_PER_COLUMN * Signal(search.stream, **setting._asdict()).n_features <= n_pairs


def _expanded_case(search: Search, setting: Setting, report: Report | None = None) -> Case:
    lag = lag_with(setting.n_delays, search.lag)
    blocks = blocks_of(Signal(search.stream, **setting._asdict()), (lag,), report)
    return Case(blocks, setting.n_delays, setting.pca, setting.expansion, None)


def _components(search: Search) -> int | None:
    """Return the number of principal components before delays or an expansion; None for all columns."""
    chosen = search.setting.pca
    columns = search.stream.n_features if chosen is None else chosen
    return chosen if columns <= EXPANDED else min(EXPANDED, search.rank)
