"""Whether features are slower than those of data without slow signals."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from biosfa.episodes import episode_lengths
from biosfa.estimators import SFA
from biosfa.exceptions import ConditioningWarning, GiveAwayWarning, RankDeficiencyWarning, ShortEpisodeWarning
from biosfa.io import Stream
from biosfa.kernels.surrogates import SignRandomised
from biosfa.selection._signal import Report, Signal, opened
from biosfa.typing import Float64Array, FloatArray, IntArray
from biosfa.validation import check_count

# The test takes the first rows: about so many numbers, and so many rows at least and at most.
VALUES, FEWEST_ROWS, MOST_ROWS = 2**20, 5000, 100_000
ROUNDING = 1e-9  # a single column is exactly as slow as its surrogates


@dataclass(frozen=True, eq=False)
class Significance:
    """Whether features are real.

    Attributes
    ----------
    delta_values : array of shape (n_components,)
        Slowness of the features.
    p_spectrum : array of shape (n_components,)
        Probability of so slow a feature, if the columns have their spectra but share no signal. It is corrected for the
        number of features.
    p_shuffled : array of shape (n_components,)
        The same, if the rows are in random order.
    chance_spectrum, chance_shuffled : array of shape (n_surrogates,)
        Slowness of the slowest feature of each surrogate.
    level : float
        Level of significance.
    n_rows : int
        Number of rows that were tested.
    """

    delta_values: Float64Array
    p_spectrum: Float64Array
    p_shuffled: Float64Array
    chance_spectrum: Float64Array
    chance_shuffled: Float64Array
    level: float
    n_rows: int

    @property
    def n_real(self) -> int:
        """Number of features, from the slowest on, that are slower than those of columns that share no signal."""
        return _leading(self.p_spectrum <= self.level)

    @property
    def n_slow(self) -> int:
        """Number of features, from the slowest on, that are slower than those of rows in random order."""
        return _leading(self.p_shuffled <= self.level)


def _leading(passed: np.ndarray[Any, np.dtype[np.bool_]]) -> int:
    return int(np.cumprod(passed).sum())


def significance(
    X: Any,
    *,
    n_components: int = 5,
    lag: int = 1,
    n_delays: int = 1,
    pca: int | None = None,
    expansion: Any = None,
    n_surrogates: int = 99,
    level: float = 0.05,
    max_rows: int | None = None,
    lengths: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Significance:
    """Test whether features are slower than features of data without a slow signal.

    There are two null hypotheses:

    - *Spectrum.* Every column keeps its spectrum, but columns share no signal. A feature that is slower than chance
      combines columns to a signal that is slower than the columns are by themselves. What every column shows by itself
      passes as chance, even if columns share it: a slow column, or a season.
    - *Shuffled.* Rows are in random order. A feature that is slower than chance has any memory at all.

    Parameters
    ----------
    X : array, data frame, files or Stream
        Samples in order of time. Rows with missing values end episodes.
    n_components : int, default=5
        Number of features to test, or all if there are fewer.
    lag, n_delays, pca, expansion
        As for :class:`~biosfa.SFA`. Surrogates are made of the columns, before delays and expansion.
    n_surrogates : int, default=99
        Number of surrogates per null hypothesis.
    level : float, default=0.05
        Level of significance, which must be at least 1/(n_surrogates + 1).
    max_rows : int, optional
        The test uses this number of rows, from the first. By default as many as make a million numbers of the expanded
        signal, but 5,000 to 100,000.
    lengths : array-like of int, optional
        Number of rows of each episode in X.
    random_state : int or RandomState, optional
        Seed of the surrogates.

    Returns
    -------
    Significance

    Notes
    -----
    A feature is compared with the *slowest* feature of each surrogate. So the probability that any feature is called
    real by chance is at most ``level``. Surrogates have random signs of the coefficients of a cosine transform, episode
    by episode. Columns may drift. With an expansion, the first hypothesis is about the columns, not about products of
    columns: a column that scales another one is not chance.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.signal import lfilter
    >>> from biosfa.selection import significance
    >>> noise = np.random.default_rng(0).standard_normal((2000, 6))
    >>> slow = lfilter([0.2], [1, -0.98], noise[:, 0])
    >>> significance(noise[:, 1:] + slow[:, None], n_components=2, random_state=0).n_real
    1
    """
    check_count("n_components", n_components)
    check_count("n_surrogates", n_surrogates)
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must be between 0 and 1; got {level!r}")
    if level < 1.0 / (1.0 + n_surrogates):
        raise ValueError(
            f"with n_surrogates={n_surrogates} no probability is below {1.0 / (1.0 + n_surrogates):.3g}, so that none "
            f"reaches level={level!r}: use more surrogates"
        )
    stream = opened(X, lengths)
    sfa = SFA(lag=lag, n_delays=n_delays, pca=pca, expansion=expansion)
    if max_rows is None:
        max_rows = rows_for(Signal(stream, n_delays=n_delays, pca=pca, expansion=expansion).n_features)
    samples, sizes = first_rows(stream, check_count("max_rows", max_rows))
    return compared_with_chance(samples, sizes, sfa, n_components, n_surrogates, level, random_state)


def rows_for(n_features: int) -> int:
    """Return the number of rows that are tested, for an expanded signal of ``n_features`` columns."""
    return int(np.clip(VALUES // n_features, FEWEST_ROWS, MOST_ROWS))


def first_rows(stream: Stream, n_rows: int) -> tuple[FloatArray, IntArray]:
    """Return the first samples of a stream, and the lengths of their episodes."""
    samples, starts, n = [], [], 0
    for chunk in stream:
        samples.append(chunk.samples[: n_rows - n])
        starts.append(chunk.starts[: n_rows - n])
        n += len(samples[-1])
        if n == n_rows:
            break
    begins = np.concatenate(starts)
    begins[:1] = True
    return np.concatenate(samples), episode_lengths(begins)


def compared_with_chance(
    samples: FloatArray,
    lengths: IntArray,
    sfa: SFA,
    n_components: int,
    n_surrogates: int,
    level: float,
    random_state: int | np.random.RandomState | None,
    report: Report | None = None,
) -> Significance:
    """Compare the slowest features of samples with those of surrogates."""
    surrogates = SignRandomised(samples, lengths)

    def slowness(made: FloatArray) -> Float64Array:
        delta: Float64Array = clone(sfa).fit(made, lengths=lengths).delta_values_
        return delta

    def of_chance(seed: int) -> tuple[float, float]:
        own = np.random.default_rng(seed)
        return slowness(surrogates.draw(own))[0], slowness(samples[own.permutation(len(samples))])[0]

    chance: Float64Array = np.empty((n_surrogates, 2))
    # one surrogate per core: their matrix products are too small for threads of their own
    with (
        warnings.catch_warnings(),
        threadpool_limits(1, "blas"),
        ThreadPoolExecutor(joblib.cpu_count()) as pool,
    ):
        for known in (RankDeficiencyWarning, ShortEpisodeWarning, ConditioningWarning, GiveAwayWarning):
            warnings.simplefilter("ignore", known)
        delta = slowness(samples)[:n_components]
        seeds = check_random_state(random_state).randint(2**31 - 1, size=n_surrogates)
        for i, found in enumerate(pool.map(of_chance, seeds.tolist())):
            chance[i] = found
            if report is not None:
                report((i + 1) / n_surrogates)
    # Westfall & Young (1993): the slowest feature of a surrogate stands for all of its features
    as_slow = chance[:, None, :] <= (1.0 + ROUNDING) * delta[None, :, None]
    p = np.asarray((1.0 + as_slow.sum(axis=0)) / (1.0 + n_surrogates), dtype=np.float64)
    return Significance(delta, p[:, 0], p[:, 1], chance[:, 0], chance[:, 1], level, len(samples))
