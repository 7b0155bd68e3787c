"""Exact slow feature analysis from streaming moments."""

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from biosfa import metrics
from biosfa.estimators._base import SlowFeatureEstimator
from biosfa.estimators._fitting import Episodes
from biosfa.estimators._memory import check_memory
from biosfa.exceptions import RankDeficiencyWarning
from biosfa.io import Position, Stream
from biosfa.kernels.exact import Moments, accumulate, block_rows, dependent_columns, redundant_columns, slow_directions
from biosfa.signal import Reduction, SignalPath
from biosfa.typing import Arrays, BoolArray, Float64Array, FloatArray
from biosfa.validation import check_count, check_positive, unchanged_on_error
from biosfa.wording import listed


class SFA(SlowFeatureEstimator):
    """Slow feature analysis: the projections of a signal that vary most slowly, by the generalized eigenproblem.

    Finds V that minimises tr VᵀC_ẋẋV subject to VᵀC_xxV = I (Wiskott & Sejnowski 2002). Data may come in chunks, in
    episodes, and from several machines; the result is the same. Memory and time a sample grow as m², the square of the
    number of (expanded) features: beyond some thousands :class:`BioSFA` is the better choice.

    Parameters
    ----------
    n_components : int, optional
        Number of features; all of them, that is the rank of the input, by default.
    pca : int, optional
        Principal components that samples are reduced to first, each of unit variance: what an expansion of many
        columns needs. Found by :meth:`fit` in a first pass, by :meth:`partial_fit` from the first chunk.
    expansion : None, "quadratic" or transformer, default=None
        What is done to each (delayed) sample first. A transformer that depends on data should be fitted already; one
        that is not is fitted to the first chunk.
    n_delays : int, default=1
        Samples in a delay vector; 1 is no embedding.
    lag : int, default=1
        Distance in time of the two samples of a difference.
    ridge : float, default=0.0
        Variance of white noise, in units of the mean variance, that the features are made robust against, as if it had
        been added to the input: keeps slow features of tiny variance out.
    missing : {"raise", "break"}, default="raise"
        What to do about a sample with a NaN: an error that names it, or leave it out and end the episode there.

    Attributes
    ----------
    components_ : array of shape (n_components, m)
        Directions in the expanded signal, in order of slowness. The entry of largest magnitude of each is positive.
    delta_values_ : array of shape (n_components,)
        Slowness δ of each feature: the mean square of its difference, at unit variance.
    timescales_ : array of shape (n_components,)
        −lag/ln(1 − δ/2), the correlation time of each feature if it decays exponentially; NaN where δ ≥ 2.
    mean_ : array of shape (m,)
        Mean of the expanded signal.
    rank_ : int
        Numerical rank of the expanded signal. Where it is below m, the pseudo-inverse is used.
    redundant_features_ : array of int
        Columns of the expanded signal that are constant, or linear combinations of those left.
    n_samples_seen_ : int
        Samples of the expanded signal so far.
    n_skipped_, n_broken_pairs_ : int
        Samples left out because of a NaN, and pairs of consecutive samples that gaps have parted.
    n_features_in_ : int
        Number of input features.

    See Also
    --------
    BioSFA : Learns the same features online with local rules.

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

    components_: Float64Array
    delta_values_: Float64Array
    _moments: Moments
    _tail: FloatArray

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

    def fit(self, X: ArrayLike | Stream, y: object = None, *, lengths: ArrayLike | None = None) -> Self:
        """Forget everything, then learn from X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Stream
            Samples in order of time; or a stream of them, from :func:`biosfa.io.open_stream`.
        y : ignored
        lengths : array-like of int, optional
            Rows of the episodes in X, one after the other; no difference is taken across their boundaries.

        Returns
        -------
        self

        Warns
        -----
        RankDeficiencyWarning
            If columns are constant or linear combinations of others.
        ShortEpisodeWarning
            If episodes are too short to learn from.

        Raises
        ------
        MemoryError
            If the matrices would not fit into memory; it says how large they are.
        """
        return self._fit(X, lengths)

    def _finish(self, position: Position, episodes: Episodes) -> None:
        if self._moments.n_pairs == 0:
            raise ValueError(
                f"X has no two samples {self.lag} apart in one episode: its episodes are too short for "
                f"lag={self.lag}, n_delays={self.n_delays}"
            )
        if self._solve() < (self.n_components or 1):
            raise ValueError(
                f"n_components={self.n_components or 1} exceeds the rank {self.rank_} of the (expanded) input: "
                "ask for fewer, or give more varied samples"
            )
        self._warn_of_rank()
        super()._finish(position, episodes)

    def partial_fit(
        self, X: ArrayLike, y: object = None, *, lengths: ArrayLike | None = None, starts: ArrayLike | None = None
    ) -> Self:
        """Learn from a further chunk of any size; without ``lengths`` it continues the open episode.

        The eigenproblem is solved at the end of each call, at O(m³): give chunks of some times m rows where m is large.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples that follow those of the last call.
        y : ignored
        lengths : array-like of int, optional
            Rows of the episodes in X, one after the other, each whole; the open episode is closed before.
        starts : array-like of bool, optional
            Instead of ``lengths``: which rows begin an episode. The last one stays open.

        Returns
        -------
        self
        """
        return self._partial_fit(X, lengths, starts)

    def merge(self, other: "SFA") -> Self:
        """Take in what another SFA with the same settings has seen, as if its episodes had come here.

        Returns
        -------
        self
        """
        check_is_fitted(self, "_moments")
        check_is_fitted(other, "_moments")
        mine, theirs = ((sfa.n_features_in_, sfa.lag, sfa.n_delays, repr(sfa.expansion)) for sfa in (self, other))
        if self._signal.reduction != other._signal.reduction:
            raise ValueError("only models with the same principal components can be merged: fit both to the same ones")
        if mine != theirs:
            raise ValueError(
                "only models of the same input, lag, n_delays and expansion can be merged; (n_features, lag, n_delays, "
                f"expansion) are {mine} here and {theirs} there"
            )
        with unchanged_on_error(self):
            self._moments = self._moments.merged(other._moments)
            self._solve()
        return self

    @property
    def mean_(self) -> Float64Array:
        """Mean of the expanded signal."""
        return self._moments.mean.copy()

    @property
    def n_samples_seen_(self) -> int:
        """Samples of the expanded signal so far."""
        return self._moments.n_samples

    @property
    def timescales_(self) -> Float64Array:
        """Correlation time of each feature, if it decays exponentially."""
        return metrics.timescales(self.delta_values_, lag=self.lag)

    def _close(self) -> None:
        if hasattr(self, "_tail"):
            self._tail = self._tail[:0]
        super()._close()

    def _settle(self) -> None:
        self._solve()

    def _rows_needed(self) -> int:
        return self.n_delays + self.lag

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")

    def _check_parameters(self) -> None:
        self._check_signal_parameters()
        check_count("lag", self.lag)
        if self.n_components is not None:
            check_count("n_components", self.n_components)
        check_positive("ridge", self.ridge, zero=True)

    def _begin(self, X: FloatArray, starts: BoolArray, reduction: Reduction | None) -> None:
        self._signal = SignalPath.build(self.n_delays, self.expansion, X, starts, reduction)
        self._freeze()
        m = self._signal.n_features_out
        check_memory(m)
        if self.n_components is not None and self.n_components > m:
            raise ValueError(
                f"n_components={self.n_components} exceeds the number of (expanded) features, n_features = {m}"
            )
        for name in ("components_", "delta_values_", "rank_", "redundant_features_"):
            self.__dict__.pop(name, None)
        self._moments = Moments(m)
        self._tail = np.empty((0, m))
        self._open = False

    def _take(self, X: FloatArray, starts: BoolArray) -> None:
        rows = self._signal.reduce(X)
        plan = self._signal.plan(rows, starts, continued=True)
        seen, tail = Moments(self._moments.n_features), self._tail
        for x, piece in self._signal.pieces(plan, at_least=block_rows(self._moments.n_features)):
            tail = accumulate(seen, x, plan.starts[piece], self.lag, tail)
        self._moments = self._moments.merged(seen)
        self._tail = tail
        self._signal.remember(rows, starts)
        self._open = True

    def _solve(self) -> int:
        """Solve for the features if there are enough; returns the rank."""
        moments = self._moments
        if moments.n_pairs == 0:
            return 0
        C_xx, C_dot = moments.covariance, moments.difference_covariance
        variance = np.diag(C_xx)
        noise = np.where(variance > 0.0, self.ridge * variance.mean(), 0.0)
        np.fill_diagonal(C_xx, variance + noise)
        np.fill_diagonal(C_dot, np.diag(C_dot) + 2.0 * noise)  # the difference of white noise has twice its variance
        solution = slow_directions(C_xx, C_dot, n_components=self.n_components)
        self.rank_ = solution.rank
        self.redundant_features_ = redundant_columns(C_xx, solution.rank)
        if solution.rank > 0 and (self.n_components or 1) <= solution.rank:
            self.components_ = solution.directions
            self.delta_values_ = solution.delta_values
        return solution.rank

    def _warn_of_rank(self) -> None:
        m, n = self._moments.n_features, self._moments.n_samples
        if self.rank_ == m:
            return
        names = self.expanded_feature_names()
        constant = np.diag(self._moments.scatter) == 0.0
        said = [f"{listed(names[constant])}: constant"] if constant.any() else []
        if n <= m:
            said.append(f"there are only {n} samples")
        elif m - np.count_nonzero(constant) > self.rank_:
            involved = dependent_columns(self._moments.covariance, self.rank_)
            redundant = np.setdiff1d(self.redundant_features_, np.flatnonzero(constant))
            said.append(f"{listed(names[redundant])}: linear combinations among {listed(names[involved])}")
        warnings.warn(
            f"the (expanded) input has {m} columns but rank {self.rank_} ({'; '.join(said)}). "
            "The features are those of the pseudo-inverse",
            RankDeficiencyWarning,
            stacklevel=6,
        )

    def _scalars(self) -> dict[str, Any]:
        return {"n_samples": self._moments.n_samples, "n_pairs": self._moments.n_pairs}

    def _arrays(self) -> Arrays:
        return {
            "mean": self._moments.mean,
            "scatter": self._moments.scatter,
            "difference": self._moments.difference,
            "tail": self._tail,
        }

    def _restore(self, scalars: dict[str, Any], arrays: Arrays) -> None:
        m = self._signal.n_features_out
        self._tail = arrays["tail"]
        shapes = {"mean": (m,), "scatter": (m, m), "difference": (m, m), "tail": (len(self._tail), m)}
        for name, shape in shapes.items():
            if arrays[name].shape != shape:
                raise ValueError(f"{name} has shape {arrays[name].shape} where {shape} is needed")
        self._moments = Moments(m, int(scalars["n_samples"]), int(scalars["n_pairs"]))
        for name in ("mean", "scatter", "difference"):
            setattr(self._moments, name, arrays[name])
        self._solve()
