"""A monitor of a process: statistics of slow features, limits that hold, verdicts, and what contributes to them."""

import copy
import os
import warnings
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted

from biosfa.estimators import (
    SFA,
    Projection,
    SlowFeatureEstimator,
    check_columns,
    load_as,
    reading_of,
)
from biosfa.exceptions import RankDeficiencyWarning
from biosfa.io import Chunk, Reading, Stream
from biosfa.io.model_file import Model, write_model
from biosfa.monitoring._calibration import (
    Calibration,
    Survey,
    blocks_for,
    cross_fitted,
    rows_needed,
    survey,
    warn_if_short,
)
from biosfa.monitoring._charts import previous_rows
from biosfa.monitoring._columns import Attribution, causes
from biosfa.monitoring._detectors import Detector, SlowFeatures, of_model
from biosfa.monitoring._limits import common_rate, upper_limit
from biosfa.monitoring._normal import Normal
from biosfa.monitoring._rows import features_of, opened
from biosfa.monitoring._saving import from_file, to_file
from biosfa.monitoring._verdicts import VERDICTS, Persistence, Rule, codes, compared_rules
from biosfa.monitoring._watch import Status, Watch, Watched, moved_constants
from biosfa.typing import BoolArray, Float64Array, IntArray
from biosfa.validation import (
    check_count,
    check_positive,
    unchanged_on_error,
)


class SlowFeatureMonitor(OutlierMixin, BaseEstimator):
    """Watch a process, and say whether its operating point has moved or its dynamics are no longer normal.

    The monitor learns all slow features of normal operation. Four statistics compare a row with it (Shang et al. 2015).
    y are the features, δ their slowness, and ẏ their change from one row to the next:

    =========  ===========================  ==============================================================
    statistic  formula                      large if
    =========  ===========================  ==============================================================
    T² slow    Σ y² of the slow features    the operating point is not where it was
    T² rest    Σ y² of the other features   the same, in the fast directions
    S² slow    Σ ẏ²/δ of the slow features  slow features change faster than they normally do
    S² rest    Σ ẏ²/δ of the others         the same, in the fast directions
    =========  ===========================  ==============================================================

    Parameters
    ----------
    n_delays : int, default=1
        Number of consecutive rows in a delay vector. With 2 or 3, the features know how the process reacts.
    expansion : None, "quadratic" or transformer, default=None
        Nonlinear expansion of each (delayed) row.
    slow_share : float, default=0.5
        Share of the features that count as slow.
    alarm_rate : float, default=0.01
        Share of the rows of normal operation that may be beyond a limit.
    family : bool, default=False
        Whether ``alarm_rate`` holds for all four statistics together, not for each of them.
    persistence : tuple (k, n), default=(1, 1)
        A statistic counts as out of its limit if it was out in ``k`` of the last ``n`` rows. :attr:`rules_` says what
        some rules do.
    forget : float, optional
        For processes that change slowly: :meth:`update` also learns, and only about this number of the latest rows
        counts. By default the monitor does not change.
    model : SFA or OnlineSFA, optional
        A fitted model. :meth:`fit` then only computes the limits. Give it rows from which the model has not learned.
        ``n_delays`` and ``expansion`` are those of the model.

    Attributes
    ----------
    limits_ : array of shape (4,)
        The limits of the four statistics, in the order of the table.
    delta_values_ : array of shape (n_components,)
        Slowness δ of the features.
    n_slow_ : int
        Number of features that count as slow.
    calibration_ : Calibration
        What the limits were computed from.
    rules_ : tuple of Rule
        What some persistence rules do: false alarms on the training data, and the delay of an alarm.
    model_ : SlowFeatureEstimator
        The model of slow features.
    constant_columns_ : dict
        Columns that had only one value in normal operation, by number. A row with another value is abnormal.
    n_features_in_ : int
        Number of input columns.

    Notes
    -----
    The limits are quantiles of the statistics of rows from which the model has not learned: the training data are cut
    into blocks, and each block is compared with a model of the others. So rows need not be independent of one another.

    Examples
    --------
    >>> from biosfa.datasets import stirred_tank
    >>> from biosfa.monitoring import SlowFeatureMonitor
    >>> monitor = SlowFeatureMonitor(n_delays=2).fit(stirred_tank(10_000, random_state=0).samples)
    >>> plant = stirred_tank(1000, fault="set_point", start=500, random_state=1)
    >>> verdicts = monitor.verdicts(plant.samples)
    >>> str(verdicts[400]), str(verdicts[900])
    ('normal', 'moved')
    """

    _may_be_nan: ClassVar[tuple[str, ...]] = ()  # arrays of a model file

    model_: SlowFeatureEstimator
    limits_: Float64Array
    calibration_: Calibration
    rules_: tuple[Rule, ...]
    n_features_in_: int
    constant_columns_: dict[int, float]
    _normal: Normal
    _watch: Watch | None = None
    _attribution: Attribution | None = None

    def __init__(
        self,
        *,
        n_delays: int = 1,
        expansion: Any = None,
        slow_share: float = 0.5,
        alarm_rate: float = 0.01,
        family: bool = False,
        persistence: tuple[int, int] = (1, 1),
        forget: float | None = None,
        model: SlowFeatureEstimator | None = None,
    ) -> None:
        self.n_delays = n_delays
        self.expansion = expansion
        self.slow_share = slow_share
        self.alarm_rate = alarm_rate
        self.family = family
        self.persistence = persistence
        self.forget = forget
        self.model = model

    @property
    def delta_values_(self) -> Float64Array:
        """Slowness δ of the features."""
        check_is_fitted(self)
        return self._normal.delta_values

    @property
    def n_slow_(self) -> int:
        """Number of features that count as slow."""
        check_is_fitted(self)
        return int(np.count_nonzero(self._normal.charts.levels[0]))

    @property
    def reading_(self) -> Reading:
        """How the stream of ``fit`` was divided into episodes."""
        return reading_of(self.model_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "limits_")

    def fit(self, X: ArrayLike | Stream, y: object = None, *, lengths: ArrayLike | None = None) -> Self:
        """Learn what is normal.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Stream
            Rows of normal operation, in order of time. Rows with a missing value are skipped.
        y : ignored
        lengths : array-like of int, optional
            Number of rows of each episode in X. By default X is one episode.

        Returns
        -------
        self

        Warns
        -----
        ShortCalibrationWarning
            If there are too few rows. The message says how many would do.
        RankDeficiencyWarning
            If columns are linear combinations of others.

        Raises
        ------
        ValueError
            If there are fewer rows than columns and delays, so that the covariance is singular.
        """
        with unchanged_on_error(self):
            self._check_parameters()
            stream = opened(self, X, lengths, reset=True)
            self.model_ = self._learned(stream) if self.model is None else self.model
            check_columns(self.model_, stream)
            detector = of_model(self.model_, self.slow_share)
            found = survey(stream, copy.deepcopy(detector))
            if self.model is None:
                n_blocks = blocks_for(found.n_rows, found.correlation_time)
                method = SlowFeatures(self.n_delays, self.model_.expansion_, self.slow_share)
                statistics = cross_fitted(method, stream, found.n_rows, n_blocks)
            else:
                n_blocks, statistics = 0, np.concatenate([detector.statistics(chunk) for chunk in stream])
            self._calibrate(found, statistics, n_blocks)
        return self

    def _learned(self, stream: Stream) -> SFA:
        """Return exact SFA of the stream, with all features."""
        sfa = SFA(n_delays=self.n_delays, expansion=self.expansion, missing="break")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RankDeficiencyWarning)
            sfa.fit(stream)
        n, m = sfa.n_samples_seen_, sfa.components_.shape[1]
        if n <= m:
            raise ValueError(
                f"{n} rows are too few for {m} columns and delays: the covariance is singular. Give more rows, or "
                "fewer columns or delays"
            )
        for warning in caught:
            if warning.category is not RankDeficiencyWarning or not self._only_constant(sfa):
                warnings.warn(warning.message, warning.category, stacklevel=4)
        return sfa

    def _only_constant(self, sfa: SFA) -> bool:
        """Return whether all redundant columns are constant: these are watched in another way."""
        return sfa.rank_ + len(sfa.redundant_features_) == sfa.components_.shape[1] and all(
            not sfa.patterns_[:, column].any() for column in sfa.redundant_features_ if column < sfa.patterns_.shape[1]
        )

    def _calibrate(self, found: Survey, statistics: Float64Array, n_blocks: int) -> None:
        """Set the limits from statistics of rows of normal operation."""
        rate = common_rate(statistics, self.alarm_rate) if self.family else self.alarm_rate
        self.limits_ = np.array([upper_limit(column, rate) for column in statistics.T])
        out, n_features = statistics > self.limits_, self.model_.components_.shape[1]
        needed = rows_needed(found.correlation_time, n_features, rate)
        self.calibration_ = Calibration(found.n_rows, n_blocks, found.correlation_time, needed, out.mean(axis=0))
        self.rules_ = compared_rules(out, self.persistence, n_levels=2, rng=np.random.default_rng(0))
        self.constant_columns_ = found.constants
        patterns = None if self.forget is None else self.model_.patterns_
        self._normal = Normal.of_training(self.model_.delta_values_, found.n_rows, self.slow_share, patterns)
        self._watch, self._attribution = None, None
        self.offset_ = -1.0
        warn_if_short(found, n_features, rate, stacklevel=3)

    def statistics(self, X: ArrayLike | Stream, *, lengths: ArrayLike | None = None) -> Float64Array:
        """Return the four statistics of each row: T² slow, T² rest, S² slow, S² rest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Stream
            Rows in order of time.
        lengths : array-like of int, optional
            Number of rows of each episode in X.

        Returns
        -------
        array of shape (n_samples, 4)
            NaN where there is no statistic: in rows with a missing value, where earlier rows of the episode are missing
            that the delays need, and in the first row of an episode for S².
        """
        check_is_fitted(self)
        Y, begins, chunk = self._rows(X, lengths)
        turned = self._normal.apply(Y)
        nothing = np.full(turned.shape[1], np.nan)
        statistics = self._normal.charts.statistics(turned, previous_rows(turned, begins, nothing))
        rows, _ = self._moved_constants(chunk)
        statistics[rows, 1] = statistics[rows, 3] = np.inf
        return statistics

    def verdicts(self, X: ArrayLike | Stream, *, lengths: ArrayLike | None = None) -> np.ndarray[Any, Any]:
        """Return the verdict on each row.

        ==============  =====================================================================
        ``"abnormal"``  S² of the slow features or of the rest is out of its limit
        ``"moved"``     otherwise, T² of the slow features or of the rest is out of its limit
        ``"normal"``    otherwise
        ``"no data"``   the row has no statistics
        ==============  =====================================================================

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Stream
            Rows in order of time.
        lengths : array-like of int, optional
            Number of rows of each episode in X.

        Returns
        -------
        array of str of shape (n_samples,)
        """
        return self.judge(self.statistics(X, lengths=lengths))

    def judge(self, statistics: ArrayLike) -> np.ndarray[Any, Any]:
        """Return the verdicts for statistics of consecutive rows, as :meth:`statistics` returns them."""
        check_is_fitted(self)
        values: Float64Array = np.asarray(statistics, dtype=np.float64)
        lasting = Persistence.begin(self.persistence, len(self.limits_)).apply(values > self.limits_)
        return np.array(VERDICTS)[codes(values, lasting, n_levels=2)]

    def contributions(self, X: ArrayLike | Stream, *, lengths: ArrayLike | None = None) -> Float64Array:
        """Return the share of each input column in each statistic. The shares add up to the statistic.

        They are reconstruction-based contributions (Alcala & Qin 2009), brought to the sum of the statistic. All delays
        of a column count together. With ``expansion="quadratic"``, a monomial counts for each of its columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Stream
            Rows in order of time. The result has ``4 * n_features`` numbers per row.
        lengths : array-like of int, optional
            Number of rows of each episode in X.

        Returns
        -------
        array of shape (n_samples, 4, n_features)
            NaN where there is no statistic.
        """
        check_is_fitted(self)
        Y, begins, chunk = self._rows(X, lengths)
        previous = previous_rows(Y, begins, np.full(Y.shape[1], np.nan))
        return self._attributing().shares(self._normal, Y, previous, self._moved_constants(chunk))

    def causes(self, X: ArrayLike | Stream, *, lengths: ArrayLike | None = None) -> Float64Array:
        """Return the share of each input column in what is beyond its limit.

        Statistics that are beyond their limits count with their contributions, divided by the limit. So the column with
        the largest share is the first to look at. Sum the result over the rows of an alarm.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Stream
            Rows in order of time.
        lengths : array-like of int, optional
            Number of rows of each episode in X.

        Returns
        -------
        array of shape (n_samples, n_features)
            Rows add up to 1, or are 0 if no statistic is beyond its limit.
        """
        shares = self.contributions(X, lengths=lengths)
        return causes(shares, self.statistics(X, lengths=lengths), self.limits_)

    def _attributing(self) -> Attribution:
        if self._attribution is None:
            self._attribution = Attribution(Projection.of(self.model_))
        return self._attribution

    def update(self, x: ArrayLike) -> Status:
        """Take the next row of a process that runs, and return its verdict.

        The result is that of :meth:`verdicts` for all rows so far, in constant memory. With ``forget``, the monitor
        also learns from normal rows, in blocks of ``forget / 20`` rows, at least 50. It never learns from a row in
        alarm, nor from a block in which more than a fifth of the rows are.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            The next row. NaN means that a value is missing.

        Returns
        -------
        Status
        """
        row = np.asarray(x, dtype=np.float64)
        if row.shape != (getattr(self, "n_features_in_", None),):
            check_is_fitted(self)
            raise ValueError(f"x must have the shape ({self.n_features_in_},); got {row.shape}")
        watch = self._watching()
        status = watch.row(row)
        self._normal = watch.normal
        return status

    def watch_chunk(self, chunk: Chunk) -> Watched:
        """Take the next rows of a stream as :meth:`update` does.

        Parameters
        ----------
        chunk : Chunk
            Rows that follow those of the last call.

        Returns
        -------
        Watched
        """
        watch = self._watching()
        found = watch.chunk(chunk)
        self._normal = watch.normal
        return found

    def end_episode(self) -> Self:
        """Say that the next row of :meth:`update` does not follow the last one."""
        self._watching().end_episode()
        return self

    def _watching(self) -> Watch:
        if self._watch is None:
            check_is_fitted(self)
            self._watch = Watch(
                self.model_, self._normal, self.limits_, self.persistence, self.constant_columns_, self.forget
            )
        return self._watch

    def accept(self, X: ArrayLike | Stream | None = None, *, since: int = 0, lengths: ArrayLike | None = None) -> Self:
        """Make a new operating point normal.

        The mean of normal operation becomes that of these rows. The rows also count in its covariances.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Stream, optional
            Rows at the new operating point. By default the rows that :meth:`update` has seen; the last 2,000 are kept.
        since : int, default=0
            Number of the first row at the new operating point: in X, or of the rows that :meth:`update` has seen.
        lengths : array-like of int, optional
            Number of rows of each episode in X.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there are no such rows.

        Warns
        -----
        ShortCalibrationWarning
            If there are fewer rows than 20 correlation times of the slowest feature.
        """
        check_is_fitted(self)
        if X is None:
            Y, begins = self._watching().recent(since)
        else:
            Y, begins, _ = self._rows(X, lengths)
            Y, begins = Y[since:], begins[since:]
        previous = previous_rows(Y, begins, np.full(Y.shape[1], np.nan))
        known = np.isfinite(Y).all(axis=1)
        if not known.any():
            raise ValueError(f"there are no rows since row {since}: give rows, or a smaller number")
        self._normal = self._normal.at(Y[known], previous[known])
        if self._watch is not None:
            self._watch.normal = self._normal
        return self

    def score_samples(self, X: ArrayLike, *, lengths: ArrayLike | None = None) -> Float64Array:
        """Return minus the largest ratio of a statistic to its limit: below −1 is an outlier, NaN has no data."""
        statistics = self.statistics(X, lengths=lengths)
        scores = np.full(len(statistics), np.nan)
        known = ~np.isnan(statistics).all(axis=1)
        scores[known] = -np.nanmax(statistics[known] / np.maximum(self.limits_, np.finfo(float).tiny), axis=1)
        return scores

    def decision_function(self, X: ArrayLike, *, lengths: ArrayLike | None = None) -> Float64Array:
        """Return :meth:`score_samples` plus 1: negative for outliers."""
        return self.score_samples(X, lengths=lengths) - self.offset_

    def predict(self, X: ArrayLike, *, lengths: ArrayLike | None = None) -> IntArray:
        """Return −1 for rows with a statistic beyond its limit, and 1 for the others. Persistence does not count."""
        return np.where(self.decision_function(X, lengths=lengths) < 0.0, -1, 1)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the monitor to one file, atomically. A monitor that :func:`biosfa.load` reads begins a new stream."""
        check_is_fitted(self)
        write_model(path, self._to_model())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the monitor that :meth:`save` wrote."""
        return load_as(cls, path)

    def _to_model(self) -> Model:
        return to_file(self)

    @classmethod
    def _from_model(cls, path: str, model: Model, parameters: dict[str, Any]) -> Self:
        if parameters:
            raise TypeError(f"{path} holds {model.kind}: its parameters cannot be replaced while loading")
        return from_file(cls, path, model)

    def _check_parameters(self) -> None:
        check_count("n_delays", self.n_delays)
        for name in ("slow_share", "alarm_rate"):
            check_positive(name, getattr(self, name))
            if getattr(self, name) > 1.0:
                raise ValueError(f"{name} is a share between 0 and 1; got {getattr(self, name)!r}")
        if self.forget is not None:
            check_positive("forget", self.forget)
        k, n = self.persistence
        check_count("n of persistence=(k, n)", n)
        if not 1 <= check_count("k of persistence=(k, n)", k) <= n:
            raise ValueError(f"persistence={self.persistence} means k of the last n rows: k must not be larger than n")
        if self.model is not None:
            if not isinstance(self.model, SlowFeatureEstimator):
                raise TypeError(f"model must be a fitted SFA or OnlineSFA; got {type(self.model).__name__}")
            check_is_fitted(self.model)

    def _rows(self, X: ArrayLike | Stream, lengths: ArrayLike | None) -> tuple[Float64Array, BoolArray, Chunk]:
        """Return the model's features of each row, where episodes begin, and the rows as one chunk."""
        detector = Detector(Projection.of(self.model_), self._normal.charts)
        return features_of(detector, opened(self, X, lengths, reset=False))

    def _moved_constants(self, chunk: Chunk) -> tuple[IntArray, IntArray]:
        """Return rows and columns where a column that was constant in normal operation has another value."""
        sample, column = moved_constants(chunk.samples, self.constant_columns_)
        return chunk.rows[sample], column

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
