"""Follows a process: rows one by one or in chunks, and new operating points."""

import math
import warnings
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from biosfa.exceptions import ShortCalibrationWarning
from biosfa.floats import to_floats
from biosfa.io import Chunk, Stream
from biosfa.monitoring._calibration import Calibration
from biosfa.monitoring._charts import previous_rows
from biosfa.monitoring._fitted import Fitted
from biosfa.monitoring._parameters import check_forget
from biosfa.monitoring._reading import constants_of
from biosfa.monitoring._watch import Status, Watch, Watched
from biosfa.typing import FloatArray
from biosfa.validation import FLOATS
from biosfa.wording import counted, listed

# False alarms of T² after accept() were 1.0 to 2.5% with so many correlation times of rows, on average over simulated
# plants and mixtures, at a nominal 1%. With 5 times they were up to 3.3%, with one 4.5%.
ACCEPTED_TIMES = 10.0


class Following(Fitted):
    """Gives a monitor :meth:`update`, :meth:`watch_chunk`, :meth:`end_episode` and :meth:`accept`."""

    persistence: tuple[int, int]
    forget: float | None
    calibration_: Calibration
    _watch: Watch | None = None

    def update(self, x: ArrayLike) -> Status:
        """Take the next row of a process that runs, and return its verdict.

        The result is that of :meth:`verdicts` for all rows so far, in constant memory. With ``forget``, the monitor
        also learns from normal rows, in blocks of ``forget / 20`` rows, at least 50. It never learns from a row in
        alarm, nor from a block in which more than half of the rows are.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            The next row. NaN means that a value is missing. A Series of pandas must have the names of the columns, in
            their order.

        Returns
        -------
        Status
        """
        self._check_names(x)
        row: FloatArray = x if type(x) is np.ndarray and x.dtype in FLOATS else to_floats(x)
        if row.shape != (getattr(self, "n_features_in_", None),):
            check_is_fitted(self)
            raise ValueError(f"x must have the shape ({self.n_features_in_},); got {row.shape}")
        known = bool(np.isfinite(row).all())
        if not known and np.isinf(row).any():
            raise ValueError(f"x has infinity in column {np.isinf(row).argmax()}: NaN means that a value is missing")
        watch = self._watching()
        status = watch.row(row, known=known)
        self._normal = watch.normal
        return status

    def _check_names(self, x: object) -> None:
        """Raise ValueError if a row has other names than the columns, or the same in another order."""
        names = getattr(x, "index", None)
        if names is None or callable(names) or not hasattr(self, "feature_names_in_"):  # a list has a method index
            return
        given, expected = list(names), list(self.feature_names_in_)
        if given == expected or not all(isinstance(name, str) for name in given):
            return
        if sorted(given) == sorted(expected):
            raise ValueError("the values of x are in another order than the columns: use x[monitor.feature_names_in_]")
        raise ValueError(f"x must have the names of the columns, {listed(expected)}; got {listed(given)}")

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
        if chunk.samples.shape[1] != self.n_features_in_:
            raise ValueError(f"the chunk has {chunk.samples.shape[1]} columns, but {self.n_features_in_} are needed")
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
            check_forget(self.forget, self.model_, self.calibration_.correlation_time)
            self._watch = Watch(
                self.model_, self._normal, self.limits_, self.persistence, self.constant_columns_, self.forget
            )
        return self._watch

    def accept(self, X: ArrayLike | Stream | None = None, *, since: int = 0, lengths: ArrayLike | None = None) -> Self:
        """Make a new operating point normal.

        The mean of normal operation becomes that of these rows. The rows also count in its covariances. A column that
        was constant in normal operation takes the value that it has in these rows; if it varies in them, it is no
        longer watched.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Stream, optional
            Rows at the new operating point. By default the rows that :meth:`update` has seen; the last 2,000 are kept.
        since : int, default=0
            Number of the first row at the new operating point, from 0: in X, or of the rows that :meth:`update` has
            seen.
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
            If there are fewer rows than 10 correlation times of the slowest feature.
        """
        check_is_fitted(self)
        if since < 0:
            raise ValueError(f"since must be the number of a row, from 0; got {since}")
        if X is None:
            Y, begins, held = self._watching().recent(since)
        else:
            read = self._read(X, lengths)
            Y, begins, held = read.features.now[since:], read.features.begins[since:], read.held[since:]
        previous = previous_rows(Y, begins, np.full(Y.shape[1], np.nan))
        known = np.isfinite(Y).all(axis=1)
        if not known.any():
            raise ValueError(_nothing_to_accept(len(Y), since, self.model_.n_delays))
        n, time = int(np.count_nonzero(known)), self.calibration_.correlation_time
        if n < ACCEPTED_TIMES * time:
            warnings.warn(
                f"{counted(n, 'row')} are too few to know a new operating point: they are {n / time:.2g} correlation "
                f"times ({time:.3g} rows) of the slowest feature. False alarms may be more frequent than asked for; "
                f"use at least about {math.ceil(ACCEPTED_TIMES * time):,} rows",
                ShortCalibrationWarning,
                stacklevel=2,
            )
        self._normal = self._normal.at(Y[known], previous[known])
        self.constant_columns_ = constants_of(held[known], self.constant_columns_)
        if self._watch is not None:
            self._watch.accept(self._normal, self.constant_columns_)
        return self


def _nothing_to_accept(n_rows: int, since: int, n_delays: int) -> str:
    """Return why rows cannot be accepted."""
    if not n_rows:
        return f"there are no rows since row {since}: give rows, or a smaller number"
    needed = f"{n_delays} consecutive rows without missing values" if n_delays > 1 else "a row without missing values"
    return f"{counted(n_rows, 'row')} cannot be accepted: the features need {needed}"
