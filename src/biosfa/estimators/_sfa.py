"""Exact slow feature analysis, from moments that are summed over a stream."""

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from sklearn.utils.validation import check_is_fitted

from biosfa import metrics
from biosfa.episodes import rows_of
from biosfa.estimators._collections import fit_steps
from biosfa.estimators._exact import ExactEstimator, check_no_stream
from biosfa.estimators._fitting import Episodes
from biosfa.estimators._give_aways import as_slow_as_ramps, warn_of_give_aways
from biosfa.estimators._scoring import mean_slowness
from biosfa.estimators._uneven import waiting_in
from biosfa.graphs import Graph, as_graph
from biosfa.io import Position, Stream
from biosfa.io.tables import is_collection
from biosfa.kernels.exact import (
    Moments,
    Tail,
    Waiting,
    accumulate,
    accumulate_pairs,
    accumulate_samples,
    accumulate_uneven,
    block_rows,
    completed,
)
from biosfa.typing import Arrays, BoolArray, Float64Array, FloatArray
from biosfa.validation import (
    check_count,
    check_positive,
    check_samples,
    checked_array,
    checked_weights,
    unchanged_on_error,
)

WAITING = "waiting."  # names of the arrays of what waits for the next rows begin with this


class SFA(ExactEstimator):
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
    patterns_ : array of shape (n_components, n_delays * n_features)
        Covariance of each feature with each input column: what the feature looks like in the sensors. With delays, the
        newest samples come first. :attr:`components_` also cancel noise, so they do not show this.
    timescales_ : array of shape (n_components,)
        −lag/ln(1 − δ/2), the correlation time of a feature whose correlation decays exponentially; NaN where δ ≥ 2. For
        a smooth feature this time is far too long: use :func:`biosfa.metrics.periods`.
    mean_ : array of shape (m,)
        Mean of the expanded signal.
    rank_ : int
        Numerical rank of the expanded signal. If it is below m, the pseudo-inverse is used.
    redundant_features_ : array of int
        Columns of the expanded signal that are constant, or linear combinations of the other columns.
    time_unit_ : float or None
        Median of the first 1000 steps in time, in seconds if times are dates: the unit of time of δ. None if
        :meth:`fit` got no times.
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

    _structural = (*ExactEstimator._structural, "lag")

    _tail: Tail
    _waiting: Waiting | None = None  # if samples are at uneven times

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

    def fit(
        self,
        X: ArrayLike | Stream,
        y: object = None,
        *,
        lengths: ArrayLike | None = None,
        episode: ArrayLike | None = None,
        index: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        time: ArrayLike | bool | None = None,
    ) -> Self:
        """Discard what was learned before, then learn from X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), labelled array, Dask array or data frame, or Stream
            Samples in order of time, or a stream of them from :func:`biosfa.io.open_stream`. Labelled arrays are those
            of xarray and pynapple, and frames with dates.
        y : ignored
        lengths : array-like of int, optional
            Number of rows of each episode in X. No difference is taken across their boundaries. By default the labels
            of X say what an episode is. Without labels, X is one episode.
        episode : array-like of shape (n_samples,), optional
            Label of each row's episode, in place of ``lengths``. An episode ends where the label changes.
        index : array-like of int of shape (n_samples,), optional
            Number of each row in the recording. An episode ends where it does not increase by 1: where a splitter of
            scikit-learn has taken rows out.
        sample_weight : array-like of shape (n_samples,), optional
            Weights v of the samples. The pair of the samples t and t + lag has the weight √(v_t v_{t+lag}). A delay
            vector has the weight of its newest sample. By default all weights are 1.
        time : array-like of shape (n_samples,), or True, optional
            Times of samples that are not evenly spaced: numbers, dates or durations that increase within each episode.
            Differences are then derivatives with respect to time, and means are integrals over it: a sample counts as
            long as the mean of the steps beside it. The unit of time is the median of the first 1000 steps. True takes
            the times of a labelled array, or of a stream that was opened with ``max_step``. By default samples are
            evenly spaced.

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
        ValueError
            If there are fewer pairs of samples than dimensions in which the (expanded) samples vary, and ``ridge`` is
            0. Some features would then change in no pair, whatever the signal is.
        MemoryError
            If the matrices do not fit into memory. The message says how large they are.
        """
        rows = rows_of(X, lengths, episode, index, time=time)
        return self._fit(rows.samples, rows.lengths, sample_weight=sample_weight, time=rows.time)

    def fit_transform(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        lengths: ArrayLike | None = None,
        episode: ArrayLike | None = None,
        index: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        time: ArrayLike | bool | None = None,
    ) -> FloatArray:
        """Fit to X as :meth:`fit` does, and return its slow features."""
        samples, sizes, time = rows_of(X, lengths, episode, index, time=time)
        self.fit(samples, lengths=sizes, sample_weight=sample_weight, time=time)
        return self.transform(X, lengths=lengths, episode=episode, index=index)

    def score(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        lengths: ArrayLike | None = None,
        episode: ArrayLike | None = None,
        index: ArrayLike | None = None,
        time: ArrayLike | bool | None = None,
    ) -> float:
        """Return the mean slowness of the features of X times −1, so that greater is better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or labelled array
            Samples in order of time.
        y : ignored
        lengths : array-like of int, optional
            Number of rows of each episode in X.
        episode, index : array-like of shape (n_samples,), optional
            Episodes by label and by number of the row, as for :meth:`fit`.
        time : array-like of shape (n_samples,), or True, optional
            Times of the samples, as for :meth:`fit`, for a model that was fitted with times. Slowness is then in its
            unit of time. By default differences are taken over the lag of the model.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            If a feature is constant on X, so that its slowness is not defined.
        """
        if time is None or time is False:
            return super().score(X, lengths=lengths, episode=episode, index=index)
        samples, sizes, time = rows_of(X, lengths, episode, index, time=time)
        Y = np.asarray(self.transform(samples, lengths=sizes))
        if self.time_unit_ is None:
            raise ValueError("this model was fitted without time, so its score takes no time: leave it out")
        return -mean_slowness(Y, sizes, time=time, unit=self.time_unit_)

    def _finish(self, position: Position, episodes: Episodes, counters: list[str]) -> None:
        if self._moments.n_pairs == 0:
            raise ValueError(
                f"X has no two samples {self.lag} apart in one episode: its episodes are too short for "
                f"lag={self.lag}, n_delays={self.n_delays}"
            )
        self._check_weights()
        self._check_features(stacklevel=7)
        variance, change = np.diag(self._moments.covariance), np.diag(self._moments.difference_covariance)
        unit = self.time_unit_
        length = self._moments.n_samples if unit is None else int(self._moments.weight / unit)
        slow = as_slow_as_ramps(variance, change / self.lag**2, length)
        warn_of_give_aways(counters, self.expanded_feature_names()[slow], stacklevel=7)
        super()._finish(position, episodes, counters)

    def partial_fit(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        lengths: ArrayLike | None = None,
        starts: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from another chunk of any size.

        The eigenproblem, at a cost of O(m³), is solved only when the features are read.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), labelled array, or Chunk
            Samples that follow those of the last call. A :class:`~biosfa.io.Chunk` has its own ``starts``.
        y : ignored
        lengths : array-like of int, optional
            Number of rows of each episode in X. The current episode ends before X, and the last episode of X ends with
            X. By default X continues the current episode.
        starts : array-like of bool, optional
            Which rows begin an episode, in place of ``lengths``. The last episode stays open.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples, as for :meth:`fit`.

        Returns
        -------
        self
        """
        self._check_evenly_spaced()
        return self._partial_fit(X, lengths, starts, sample_weight=sample_weight)

    def fit_pairs(
        self,
        X: ArrayLike,
        pairs: ArrayLike | Graph,
        *,
        weights: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Discard what was learned before, then learn which features are similar within pairs of samples.

        The order of the samples does not matter. A time series is the special case of the pairs (t, t + 1).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        pairs : array-like of shape (n_pairs, 2), or Graph
            Row (i, j) says that the features of X[i] and X[j] should be similar. Or a graph, see :mod:`biosfa.graphs`.
        weights : array-like of shape (n_pairs,), optional
            Weights of the pairs. By default 1.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples in the mean and the variance. By default 1, or the weights of the graph.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from biosfa import SFA
        >>> rng = np.random.default_rng(0)
        >>> place, noise = rng.standard_normal((2, 100, 1))
        >>> twice = np.concatenate([np.hstack([place, noise]), np.hstack([place, -noise])])  # each place seen twice
        >>> pairs = np.column_stack([np.arange(100), np.arange(100, 200)])
        >>> SFA(1).fit_pairs(twice, pairs).components_.round(1) + 0.0
        array([[1., 0.]])
        """
        with unchanged_on_error(self):
            self._check_parameters()
            self._check_without_time("fit_pairs")
            check_no_stream(X, "give an array, or the pairs themselves to partial_fit_pairs")
            samples = check_samples(self, X, reset=True, min_samples=2, allow_nan=self.missing == "break")
            graph = as_graph(pairs, weights, sample_weight)
            graph.check(len(samples))
            self.n_skipped_, self.n_broken_pairs_ = 0, 0
            missing = self._find_missing(samples)
            if missing is not None:
                n_edges = len(graph.edges)
                samples, graph = samples[~missing], graph.among(~missing)
                self.n_skipped_, self.n_broken_pairs_ = int(missing.sum()), n_edges - len(graph.edges)
            self._fit_graph(samples, graph, stacklevel=3)
        return self

    def partial_fit_pairs(self, X_from: ArrayLike, X_to: ArrayLike, weights: ArrayLike | None = None) -> Self:
        """Learn from more pairs of samples, for streams of pairs.

        Both samples of a pair count in the mean and the variance, each with the weight of the pair.

        Parameters
        ----------
        X_from, X_to : array-like of shape (n_pairs, n_features)
            The features of row i of ``X_from`` and of row i of ``X_to`` should be similar.
        weights : array-like of shape (n_pairs,), optional
            Weights of the pairs. By default 1.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            self._check_parameters()
            self._check_without_time("partial_fit_pairs")
            self._check_evenly_spaced()
            first = check_samples(self, X_from, reset=not self._started)
            second = check_samples(self, X_to, reset=False)
            if len(first) != len(second):
                raise ValueError(f"X_from has {len(first)} rows and X_to has {len(second)}: give one row per pair each")
            gamma = checked_weights("weights", weights, len(first), "pair", zero=True)
            each = np.arange(len(first))
            both = None if gamma is None else np.concatenate([gamma, gamma])
            samples = np.concatenate([first, second])
            if not self._started:
                self.n_skipped_, self.n_broken_pairs_ = 0, 0
                self._start(samples, np.arange(len(samples)) == 0, weights=both)
            self._check_unchanged()
            self.end_episode()
            seen, rows = Moments(self._moments.n_features), self._expanded(samples)
            accumulate_samples(seen, rows, len(samples), both)
            accumulate_pairs(seen, rows, np.column_stack([each, each + len(first)]), gamma)
            self._moments, self._solution = self._moments.merged(seen), None
        return self

    def _check_without_time(self, method: str) -> None:
        """Raise ValueError if a parameter only makes sense for samples in order of time."""
        for name in ("lag", "n_delays"):
            if getattr(self, name) != 1:
                raise ValueError(f"{method} needs {name}=1, because its samples have no order in time")

    def _check_evenly_spaced(self) -> None:
        """Raise ValueError if what was learned before was at uneven times."""
        if self._started and self.time_unit_ is not None:
            raise ValueError("this model was fitted with time, and cannot continue without: call fit to start over")

    def merge(self, other: "SFA") -> Self:
        """Add the samples that another SFA with the same settings has seen, as if this one had seen them too.

        Parameters
        ----------
        other : SFA
            A model that was fitted to other episodes of the same columns. If both were fitted with times, these must
            have the same scale; the unit of time of the result is that of this model.

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
        if (self.time_unit_ is None) != (other.time_unit_ is None):
            raise ValueError("one model was fitted with time and the other without: fit both in the same way")
        self._moments, self._solution = self._moments.merged(other._moments), None
        return self

    @property
    def time_unit_(self) -> float | None:
        """Unit of time of the slowness, if the model was fitted with times."""
        return self._moments.time_unit

    @property
    def timescales_(self) -> Float64Array:
        """Correlation time of each feature, for features whose correlation decays exponentially."""
        return metrics.timescales(self.delta_values_, lag=self.lag)

    def _break_episode(self) -> None:
        if self._started:
            self._tail = Tail.empty(self._signal.n_features_out)
            if self._waiting is not None:
                self._moments, self._solution = completed(self._moments, self._waiting), None
                self._waiting = None
        super()._break_episode()

    def _rows_needed(self) -> int:
        return self.n_delays + self.lag

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("lag", self.lag)

    def _reset(self, *, dtype: DTypeLike, n_streams: int) -> None:
        super()._reset(dtype=dtype, n_streams=n_streams)
        self._tail = Tail.empty(self._signal.n_features_out)
        self._waiting = None

    def _learn(
        self,
        X: FloatArray,
        starts: BoolArray,
        weights: Float64Array | None = None,
        steps: Float64Array | None = None,
    ) -> None:
        rows = self._signal.reduce(X)
        plan = self._signal.plan(rows, starts, continued=True)
        if weights is not None and plan.index is not None:
            weights = weights[plan.index - (len(plan.rows) - len(rows))]
        seen, tail, waiting = Moments(self._moments.n_features), self._tail, self._waiting
        if steps is not None and waiting is None:
            waiting = Waiting.empty(seen.n_features)
        for x, piece in self._signal.pieces(plan, at_least=block_rows(self._moments.n_features)):
            begins, own = plan.starts[piece], None if weights is None else weights[piece]
            if steps is None or waiting is None:
                tail = accumulate(seen, x, begins, self.lag, tail, own)
            else:
                waiting = accumulate_uneven(seen, x, steps[piece], waiting)
        self._moments, self._solution = self._moments.merged(seen), None
        self._tail, self._waiting = tail, waiting
        self._signal.remember(rows, starts)
        self._open = True

    def _steps(self, X: ArrayLike | Stream, lengths: ArrayLike | None, **learning: Any) -> Iterator[object]:
        if not is_collection(X):
            return super()._steps(X, lengths, **learning)
        if learning["time"] is not None and learning["time"] is not False:
            raise ValueError("time is for arrays in memory and streams, not for Dask collections: use open_stream(X)")
        return fit_steps(self, X, lengths, learning["sample_weight"])

    def _apart(self) -> Self:
        other = copy.copy(self)
        if self._started:
            other._signal = replace(self._signal)
            other._reset(dtype=np.float64, n_streams=1)
        return other

    def _forget_sums(self) -> None:
        self._moments = Moments(self._moments.n_features)

    def _join(self, later: Self) -> None:
        self._moments, self._solution = self._moments.merged(later._moments), None
        self._tail, self._signal.history, self._open = later._tail, later._signal.history, later._open

    def _scalars(self) -> dict[str, Any]:
        return {**super()._scalars(), "time_unit": self.time_unit_}

    def _arrays(self) -> Arrays:
        weights = {} if self._tail.weights is None else {"tail_weights": self._tail.weights}
        waiting = {} if self._waiting is None else self._waiting.arrays()
        named = {f"{WAITING}{name}": array for name, array in waiting.items()}
        return {**super()._arrays(), "tail": self._tail.rows, **weights, **named}

    def _restore(self, scalars: dict[str, Any], arrays: Arrays, published: Arrays) -> None:
        super()._restore(scalars, arrays, published)
        n = len(arrays["tail"])
        rows = checked_array("tail", arrays, (n, self._signal.n_features_out))
        weights = checked_array("tail_weights", arrays, (n,)) if "tail_weights" in arrays else None
        self._tail = Tail(rows, weights)
        self._waiting = waiting_in(arrays, WAITING, self._signal.n_features_out)
        self._moments.time_unit = scalars.get("time_unit")  # files of 0.2 have none
        if self._moments.time_unit is not None:
            check_positive("time_unit", self._moments.time_unit)
