"""Whether features are slower than those of data without slow signals."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from biosfa.episodes import episode_lengths
from biosfa.estimators import SFA
from biosfa.io import Stream
from biosfa.selection._signal import Signal, opened
from biosfa.selection.chance import LEVEL, N_SURROGATES, Found, Significance, ignore_warnings_of_surrogates, rows_for
from biosfa.typing import FloatArray, IntArray
from biosfa.validation import check_count


def significance(
    X: Any,
    *,
    n_components: int = 5,
    lag: int = 1,
    n_delays: int = 1,
    pca: int | None = None,
    expansion: Any = None,
    n_surrogates: int = N_SURROGATES,
    level: float = LEVEL,
    max_rows: int | None = None,
    lengths: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Significance:
    """Test whether features are slower than features of data without a slow signal.

    There are two null hypotheses:

    - *Spectrum.* Columns are independent random processes, each with its own dynamics. A feature that is slower than
      chance combines columns to a signal that is slower than the columns are by themselves. A column that is slow by
      itself is not enough. A signal that several columns share is: also a season, or a switch that acts on all of them
      at the same time. Take out what you know before you ask for what you do not know.
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
    A feature is compared with the *slowest* feature of each surrogate. Features are tested in order, up to the first
    that is no slower than chance. So the probability that any feature is called real by chance is at most ``level``.
    Without delays and expansion, what slower features explain is first taken out of the columns. Two features may then
    be equally slow, such as the sine and the cosine of an angle.

    For the first hypothesis, coefficients of cosine transforms get random signs. The variance of each column, and the
    sum of its squared differences within episodes, stay exactly as they are. Episodes may be pieces of one recording,
    with gaps between them, or recordings of their own. Columns may drift. With delays, an expansion or a larger lag,
    columns whose rows or episodes are shifted in time are further kinds of surrogates, and the largest probability
    counts. Without delays and expansion, columns that only rise or only fall, such as counters, stay as they are, and
    features that are nothing else are passed over.

    With an expansion, the first hypothesis is about the columns, not about products of columns: a column that scales
    another one is not chance. Pure tones are no random processes: with gaps they are called real too often.

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
    found = found_by(sfa, samples, sizes, n_components)
    return found.significance(n_surrogates=n_surrogates, level=level, random_state=random_state)


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


def found_by(sfa: SFA, samples: FloatArray, lengths: IntArray, n_components: int) -> Found:
    """Return the features that exact SFA finds in samples, to be compared with chance."""
    with warnings.catch_warnings():
        ignore_warnings_of_surrogates()
        fitted = clone(sfa).fit(samples, lengths=lengths)

    def slowness(made: FloatArray, feature: int) -> float:
        # partial_fit, because surrogates may vary in more dimensions than the samples, even than there are pairs
        other = clone(sfa).set_params(n_components=feature + 1).partial_fit(made, lengths=lengths)
        return float(other.delta_values_[feature])

    return Found(
        samples,
        lengths,
        fitted.transform(samples, lengths=lengths)[:, :n_components],
        fitted.delta_values_[:n_components],
        slowness,
        linear=sfa.n_delays == 1 and sfa.expansion is None,
        consecutive=sfa.lag == 1,
    )
