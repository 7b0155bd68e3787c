"""Exact slow feature analysis, from moments that are summed over a stream."""

import warnings
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from sklearn.utils.validation import check_is_fitted

from biosfa import metrics
from biosfa.estimators._base import SlowFeatureEstimator
from biosfa.estimators._fitting import Episodes
from biosfa.estimators._give_aways import as_slow_as_ramps, warn_of_give_aways
from biosfa.estimators._memory import check_memory
from biosfa.exceptions import ConditioningWarning, RankDeficiencyWarning
from biosfa.io import Position, Stream
from biosfa.kernels.exact import Moments, accumulate, block_rows, dependent_columns, redundant_columns, slow_directions
from biosfa.typing import Arrays, BoolArray, Float64Array, FloatArray, IntArray
from biosfa.validation import check_count, check_positive, checked_array
from biosfa.wording import counted, listed

# Condition number of the correlations from which on the loss of digits is worth a warning.
ILL_CONDITIONED = 1e11


class SFA(SlowFeatureEstimator):
    """Exact slow feature analysis: the projections of a signal that vary most slowly.

    It solves a generalized eigenproblem: minimise tr VᵀC_ẋẋV subject to VᵀC_xxV = I (Wiskott & Sejnowski 2002). The
    result is the same whether the data come at once, in chunks, or from several machines (:meth:`merge`).

    Samples are first reduced (``pca``), delayed (``n_delays``) and expanded (``expansion``), in this order. The result
    is called the expanded signal; m is its number of columns. Memory, and time per sample, grow as m². For more than
    about two thousand columns, use :class:`OnlineSFA`.

    Parameters
    ----------
    n_components : int, optional
        Number of features. By default the rank of the expanded signal.
    pca : int, optional
        Reduce the samples to this number of principal components, each of unit variance. Use it before an expansion of
        many columns. :meth:`fit` computes the components in a first pass over the data, :meth:`partial_fit` computes
        them from the first chunk.
    expansion : None, "quadratic" or transformer, default=None
        Nonlinear expansion of each (delayed) sample. A transformer that depends on data should be fitted already;
        otherwise it is fitted to the first chunk.
    n_delays : int, default=1
        Number of consecutive samples in a delay vector. 1 means no delays.
    lag : int, default=1
        Distance in time, in samples, between the two samples of a difference.
    ridge : float, default=0.0
        Variance of white noise, as a share of the mean variance. The eigenproblem is solved as if this noise had been
        added to the input. This removes slow features of tiny variance.
    missing : {"raise", "break"}, default="raise"
        What to do with a sample that contains a NaN. "raise" raises an error that names the sample. "break" skips the
        sample and ends the episode there.

    Attributes
    ----------
    components_ : array of shape (n_components, m)
        Directions in the expanded signal, the slowest first. In each direction, the entry of largest magnitude is
        positive.
    delta_values_ : array of shape (n_components,)
        Slowness δ of each feature: the mean square of its difference, divided by its variance.
    timescales_ : array of shape (n_components,)
        −lag/ln(1 − δ/2), the correlation time of a feature whose correlation decays exponentially; NaN where δ ≥ 2. For
        a smooth feature this time is far too long: use :func:`biosfa.metrics.periods`.
    mean_ : array of shape (m,)
        Mean of the expanded signal.
    rank_ : int
        Numerical rank of the expanded signal. If it is below m, the pseudo-inverse is used.
    redundant_features_ : array of int
        Columns of the expanded signal that are constant, or linear combinations of the other columns.
    n_samples_seen_ : int
        Number of samples of the expanded signal seen so far.
    n_skipped_ : int
        Number of samples skipped because they contain a NaN.
    n_broken_pairs_ : int
        Number of pairs of consecutive samples that a gap has separated.
    n_features_in_ : int
        Number of input columns.

    See Also
    --------
    OnlineSFA : Learns the same features online, for streams and many columns.
    BioSFA : The paper's network, with local rules.

    Notes
    -----
    Variances are divided by the number of samples n, as in ``numpy.var``, so that the features of the training data
    have variance 1. MDP and sklearn-sfa divide by n − 1: their features are larger by a factor √(n/(n − 1)).

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa import SFA
    >>> t = np.arange(2000)
    >>> slow, fast = np.sin(t / 50), np.sin(t / 3)
    >>> X = np.stack([slow + fast, slow - fast], axis=1)
    >>> sfa = SFA(n_components=1).fit(X)
    >>> float(abs(np.corrcoef(sfa.transform(X)[:, 0], slow)[0, 1]).round(3))
    1.0
    """

    _structural = (*SlowFeatureEstimator._structural, "lag")

    _moments: Moments  # never changed in place: learning assigns new ones
    _tail: FloatArray
    _solution: "Solution | None" = None  # may belong to older moments

    def __init__(
        self,
        n_components: int | None = None,
        *,
        pca: int | None = None,
        expansion: Any = None,
        n_delays: int = 1,
        lag: int = 1,
        ridge: float = 0.0,
        missing: str = "raise",
    ) -> None:
        self.n_components = n_components
        self.pca = pca
        self.expansion = expansion
        self.n_delays = n_delays
        self.lag = lag
        self.ridge = ridge
        self.missing = missing

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters. A new ``ridge`` takes effect when the features are next read."""
        super().set_params(**parameters)
        if "ridge" in parameters:
            self._solution = None
        return self

    def fit(self, X: ArrayLike | Stream, y: object = None, *, lengths: ArrayLike | None = None) -> Self:
        """Discard what was learned before, then learn from X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Stream
            Samples in order of time, or a stream of them from :func:`biosfa.io.open_stream`.
        y : ignored
        lengths : array-like of int, optional
            Number of rows of each episode in X. No difference is taken across their boundaries. By default X is one
            episode.

        Returns
        -------
        self

        Warns
        -----
        RankDeficiencyWarning
            If columns are constant or linear combinations of others.
        ShortEpisodeWarning
            If some episodes are too short to learn from.
        ConditioningWarning
            If columns are so close to linear dependence that the features lose most of their digits.
        GiveAwayWarning
            If a column is a counter, a clock, or constant within episodes.

        Raises
        ------
        MemoryError
            If the matrices do not fit into memory. The message says how large they are.
        """
        return self._fit(X, lengths)

    def _finish(self, position: Position, episodes: Episodes, counters: list[str]) -> None:
        if self._moments.n_pairs == 0:
            raise ValueError(
                f"X has no two samples {self.lag} apart in one episode: its episodes are too short for "
                f"lag={self.lag}, n_delays={self.n_delays}"
            )
        solution = self._solved()
        if not len(solution.components):
            raise ValueError(
                f"n_components={self.n_components or 1} exceeds the rank {solution.rank} of the (expanded) input: "
                "ask for fewer components, or give more varied samples"
            )
        self._warn_of_rank(solution)
        self._warn_of_condition(solution)
        variance, change = np.diag(self._moments.covariance), np.diag(self._moments.difference_covariance)
        slow = as_slow_as_ramps(variance, change / self.lag**2, self._moments.n_samples)
        warn_of_give_aways(counters, self.expanded_feature_names()[slow], stacklevel=6)
        super()._finish(position, episodes, counters)

    def partial_fit(
        self, X: ArrayLike, y: object = None, *, lengths: ArrayLike | None = None, starts: ArrayLike | None = None
    ) -> Self:
        """Learn from another chunk of any size.

        The eigenproblem, at a cost of O(m³), is solved only when the features are read.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Chunk
            Samples that follow those of the last call. A :class:`~biosfa.io.Chunk` has its own ``starts``.
        y : ignored
        lengths : array-like of int, optional
            Number of rows of each episode in X. The current episode ends before X, and the last episode of X ends with
            X. By default X continues the current episode.
        starts : array-like of bool, optional
            Which rows begin an episode, in place of ``lengths``. The last episode stays open.

        Returns
        -------
        self
        """
        return self._partial_fit(X, lengths, starts)

    def merge(self, other: "SFA") -> Self:
        """Add the samples that another SFA with the same settings has seen, as if this one had seen them too.

        Parameters
        ----------
        other : SFA
            A model that was fitted to other episodes of the same columns.

        Returns
        -------
        self
        """
        check_is_fitted(self, "_moments")
        check_is_fitted(other, "_moments")
        mine, theirs = ((sfa.n_features_in_, sfa.lag, sfa.n_delays, repr(sfa.expansion)) for sfa in (self, other))
        if self._signal.reduction != other._signal.reduction:
            raise ValueError(
                "only models with the same principal components can be merged: reduce all samples with one PCA "
                "beforehand, in place of pca=N"
            )
        if mine != theirs:
            raise ValueError(
                "only models of the same input, lag, n_delays and expansion can be merged; (n_features, lag, n_delays, "
                f"expansion) are {mine} for this model and {theirs} for the other"
            )
        self._moments, self._solution = self._moments.merged(other._moments), None
        return self

    @property
    def components_(self) -> Float64Array:
        """Directions in the expanded signal, the slowest first."""
        return self._features_found().components

    @property
    def delta_values_(self) -> Float64Array:
        """Slowness δ of the features."""
        return self._features_found().delta_values

    @property
    def rank_(self) -> int:
        """Numerical rank of the expanded signal."""
        return self._solved().rank

    @property
    def redundant_features_(self) -> IntArray:
        """Columns that are constant, or linear combinations of the other columns."""
        return self._solved().redundant_features

    @property
    def mean_(self) -> Float64Array:
        """Mean of the expanded signal."""
        return self._moments.mean.copy()

    @property
    def n_samples_seen_(self) -> int:
        """Number of samples of the expanded signal seen so far."""
        return self._moments.n_samples

    @property
    def timescales_(self) -> Float64Array:
        """Correlation time of each feature, for features whose correlation decays exponentially."""
        return metrics.timescales(self.delta_values_, lag=self.lag)

    def _break_episode(self) -> None:
        if self._started:
            self._tail = self._tail[:0]
        super()._break_episode()

    def _rows_needed(self) -> int:
        return self.n_delays + self.lag

    def __sklearn_is_fitted__(self) -> bool:
        return self._started and len(self._solved().components) > 0

    def _check_parameters(self) -> None:
        self._check_signal_parameters()
        check_count("lag", self.lag)
        if self.n_components is not None:
            check_count("n_components", self.n_components)
        check_positive("ridge", self.ridge, zero=True)

    def _reset(self, *, dtype: DTypeLike, n_streams: int) -> None:
        m = self._signal.n_features_out
        check_memory(m)
        self._moments = Moments(m)
        self._tail = np.empty((0, m))
        self._solution = None

    def _learn(self, X: FloatArray, starts: BoolArray) -> None:
        rows = self._signal.reduce(X)
        plan = self._signal.plan(rows, starts, continued=True)
        seen, tail = Moments(self._moments.n_features), self._tail
        for x, piece in self._signal.pieces(plan, at_least=block_rows(self._moments.n_features)):
            tail = accumulate(seen, x, plan.starts[piece], self.lag, tail)
        self._moments, self._solution = self._moments.merged(seen), None
        self._tail = tail
        self._signal.remember(rows, starts)
        self._open = True

    def _features_found(self) -> "Solution":
        solution = self._solved() if self._started else None
        if solution is None or not len(solution.components):
            raise AttributeError("there are no features yet: there were too few samples, or their rank is too low")
        return solution

    def _solved(self) -> "Solution":
        """Return the solution for the present moments, which is computed once per change.

        One assignment publishes it, so that several threads may read: all of them find the same numbers.
        """
        solution, moments = self._solution, self._moments
        if solution is None or solution.moments is not moments:
            solution = self._solve(moments)
            self._solution = solution
        return solution

    def _map(self) -> tuple[Float64Array, Float64Array]:
        solution = self._features_found()  # read once: another thread may learn meanwhile
        return solution.moments.mean, solution.components

    def _solve(self, moments: Moments) -> "Solution":
        """Return the features for some moments; none if there are too few samples or the rank is too low."""
        m = moments.n_features
        if moments.n_pairs == 0:
            return Solution.of(moments, np.empty((0, m)), np.empty(0), 0, np.arange(m))
        C_xx, C_dot = moments.covariance, moments.difference_covariance
        variance = np.diag(C_xx)
        noise = np.where(variance > 0.0, self.ridge * variance.mean(), 0.0)
        np.fill_diagonal(C_xx, variance + noise)
        np.fill_diagonal(C_dot, np.diag(C_dot) + 2.0 * noise)  # the difference of white noise has twice its variance
        wanted = self._fixed["n_components"]
        found = slow_directions(C_xx, C_dot, n_components=wanted)
        enough = 0 < (wanted or 1) <= found.rank
        kept = len(found.directions) if enough else 0
        redundant = redundant_columns(C_xx, found.rank)
        solution = Solution.of(moments, found.directions[:kept], found.delta_values[:kept], found.rank, redundant)
        return solution._replace(condition=found.condition)

    def _warn_of_rank(self, solution: "Solution") -> None:
        m, n = self._moments.n_features, self._moments.n_samples
        if solution.rank == m:
            return
        names = self.expanded_feature_names()
        constant = np.diag(self._moments.scatter) == 0.0
        said = [f"{listed(names[constant])}: constant"] if constant.any() else []
        if n <= m:
            said.append(f"there are only {n} samples")
        elif m - np.count_nonzero(constant) > solution.rank:
            involved = dependent_columns(self._moments.covariance, solution.rank)
            redundant = np.setdiff1d(solution.redundant_features, np.flatnonzero(constant))
            said.append(f"{listed(names[redundant])}: linear combinations among {listed(names[involved])}")
        warnings.warn(
            f"the (expanded) input has {m} columns but rank {solution.rank} ({'; '.join(said)}). "
            "The features are computed with the pseudo-inverse",
            RankDeficiencyWarning,
            stacklevel=6,
        )

    def _warn_of_condition(self, solution: "Solution") -> None:
        if solution.condition < ILL_CONDITIONED:
            return
        digits = max(0, int(-np.log10(np.finfo(np.float64).eps * solution.condition)))
        warnings.warn(
            f"the (expanded) columns are close to linear dependence (condition number {solution.condition:.0e}): the "
            f"features are accurate to about {counted(digits, 'digit')}. Leave out columns that nearly depend on "
            "others, reduce them with pca=N (--pca N), or use ridge=1e-9",
            ConditioningWarning,
            stacklevel=6,
        )

    def _least_state(self, n_features: int, n_streams: int) -> int:
        return 2 * n_features**2  # scatter and difference

    def _scalars(self) -> dict[str, Any]:
        return {"n_samples": self._moments.n_samples, "n_pairs": self._moments.n_pairs}

    def _arrays(self) -> Arrays:
        return {**{f"moments.{name}": array for name, array in self._moments.arrays().items()}, "tail": self._tail}

    def _published(self) -> Arrays:
        solution = self._solved()
        if not len(solution.components):
            return {}
        return {
            **super()._published(),
            "delta_values": solution.delta_values,
            "redundant_features": solution.redundant_features,
        }

    def _restore(self, scalars: dict[str, Any], arrays: Arrays, published: Arrays) -> None:
        m = self._signal.n_features_out
        shapes = {"mean": (m,), "scatter": (m, m), "difference": (m, m)}
        self._moments = Moments.of(
            {name: checked_array(f"moments.{name}", arrays, shape) for name, shape in shapes.items()},
            int(scalars["n_samples"]),
            int(scalars["n_pairs"]),
        )
        self._tail = checked_array("tail", arrays, (len(arrays["tail"]), m))
        self._solution = None
        if published:
            redundant = published["redundant_features"]
            if redundant.ndim != 1 or redundant.dtype != np.int64 or not set(redundant.tolist()) <= set(range(m)):
                raise ValueError("redundant_features are not numbers of columns")
            k = self.n_components or m - len(redundant)
            components, delta = (
                checked_array("components", published, (k, m)),
                checked_array("delta_values", published, (k,)),
            )
            self._solution = Solution.of(self._moments, components, delta, m - len(redundant), redundant)


class Solution(NamedTuple):
    """The slow features for some moments. Its arrays are read-only."""

    moments: Moments  # from which it was solved
    components: Float64Array  # no rows if there are too few samples
    delta_values: Float64Array
    rank: int
    redundant_features: IntArray
    condition: float = 1.0  # of the correlations

    @classmethod
    def of(
        cls, moments: Moments, components: Float64Array, delta_values: Float64Array, rank: int, redundant: IntArray
    ) -> "Solution":
        """Return a solution whose arrays are read-only."""
        for array in (components, delta_values, redundant):
            array.setflags(write=False)
        return cls(moments, components, delta_values, rank, redundant)
