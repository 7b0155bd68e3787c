"""A monitor of a process: statistics of slow features, limits that hold, verdicts, and what contributes to them."""

import os
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from biosfa.estimators import SlowFeatureEstimator, load_as
from biosfa.io import Reading, Stream
from biosfa.io.model_file import Model, write_model
from biosfa.monitoring._explaining import Explaining
from biosfa.monitoring._following import Following
from biosfa.monitoring._outliers import Outliers
from biosfa.monitoring._parameters import check_parameters
from biosfa.monitoring._rows import opened
from biosfa.monitoring._saving import from_file, to_file
from biosfa.monitoring._training import Learned, learned
from biosfa.monitoring._verdicts import VERDICTS, Persistence, Rule, codes
from biosfa.typing import Float64Array
from biosfa.validation import unchanged_on_error


class SlowFeatureMonitor(Outliers, Following, Explaining):
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
        counts: at least 20 per feature, and 5 correlation times of the slowest feature. By default the monitor does not
        change.
    model : SFA, OnlineSFA or another learner, optional
        A fitted model. :meth:`fit` then only computes the limits. Give it rows from which the model has not learned.
        ``n_delays`` and ``expansion`` are those of the model. The monitor keeps a copy of it.

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
    follows_ : bool
        Whether the monitor follows the process. It stops if a column drifts too fast, until you accept.
    explains : bool
        Whether contributions are known for the expansion of the model.
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

    missing = "break"  # rows with missing values end episodes, for the command

    rules_: tuple[Rule, ...]
    _reading: Reading

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
    def follows_(self) -> bool:
        """Whether the monitor follows the process."""
        check_is_fitted(self)
        return self.forget is not None and self._normal.follows

    @property
    def reading_(self) -> Reading:
        """How the stream of ``fit`` was divided into episodes."""
        check_is_fitted(self)
        return self._reading

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "limits_")

    def fit(self, X: ArrayLike | Stream, y: object = None, *, lengths: ArrayLike | None = None) -> Self:
        """Learn what is normal.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), labelled array, or Stream
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
        SuspiciousRowsWarning
            If some rows look as if something had happened. The message names rows, times and columns.
        RankDeficiencyWarning
            If columns are linear combinations of others.

        Raises
        ------
        ValueError
            If there are fewer rows than columns and delays, so that the covariance is singular.
        """
        with unchanged_on_error(self):
            check_parameters(self)
            stream = opened(self, X, lengths, reset=True)
            self._take(learned(self, stream), stream.reading)
        return self

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
        return self._read(X, lengths).statistics

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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the monitor to one file, atomically. A monitor that :func:`biosfa.load` reads begins a new stream."""
        check_is_fitted(self)
        write_model(path, self._to_model())

    @classmethod
    def load(cls, path: str | os.PathLike[str], **parameters: Any) -> Self:
        """Return the monitor that :meth:`save` wrote.

        Give an expansion that you wrote again, as in ``load(path, expansion=monitor.model_.expansion_)``.
        """
        return load_as(cls, path, **parameters)

    def _to_model(self) -> Model:
        return to_file(self)

    @classmethod
    def _from_model(cls, path: str, model: Model, parameters: dict[str, Any]) -> Self:
        return from_file(cls, path, model, parameters)

    def _take(self, learned: Learned, reading: Reading) -> None:
        """Use what was learned, and begin a new stream."""
        self._reading = reading
        self.model_, self.limits_, self.calibration_, self.rules_, self.constant_columns_, self._normal = learned
        self._watch, self._attribution = None, None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
