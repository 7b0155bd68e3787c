"""A recorder of the weights of a network at some updates, for curves of learning."""

from collections.abc import Iterable, Iterator
from itertools import count, pairwise

import numpy as np

from biosfa.learning._watch import Watch
from biosfa.typing import Float64Array, FloatArray, IntArray


class Recorder:
    """Records the weights W and M of a network at some of its updates, by default at log-spaced ones.

    Pass it to ``fit`` or ``partial_fit`` of :class:`BioSFA` or :class:`OnlineSFA`, or to ``fit`` of
    :class:`OfflineBioSFA`. Use one recorder per network, the same one for all chunks of a stream. Recording takes time
    only at the recorded updates.

    Parameters
    ----------
    per_decade : int, default=10
        Number of updates to record per factor of ten: 1, …, 10, 13, 16, 20, 25, 32, …
    steps : iterable of int, optional
        Numbers of the updates to record, in increasing order, in place of log-spaced ones.

    Attributes
    ----------
    steps : array of shape (n_records,)
        Numbers of the updates recorded so far.
    W : array of shape (n_records, n_components, m)
        Feedforward weights after each recorded update.
    M : array of shape (n_records, n_components, n_components)
        Lateral weights after each recorded update.
    delta_values : array of shape (n_records, n_components)
        Slowness δ of the features, as ``watch()`` reports it.
    constraint_error : array of shape (n_records,)
        How far the outputs are from white, as ``watch()`` reports it.
    learning_rate : array of shape (n_records,)
        Effective learning rate, as ``watch()`` reports it.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa import BioSFA, Recorder, metrics
    >>> X = np.random.default_rng(0).standard_normal((1000, 4)).cumsum(axis=1)
    >>> recorder = Recorder(steps=[10, 100, 999])
    >>> net = BioSFA(1, random_state=0).fit(X, recorder=recorder)
    >>> recorder.steps
    array([ 10, 100, 999])
    >>> metrics.slowness_error(recorder.W, X).shape
    (3,)
    """

    def __init__(self, per_decade: int = 10, *, steps: Iterable[int] | None = None) -> None:
        if steps is not None:
            steps = list(steps)
            if any(not isinstance(step, int | np.integer) or step < 1 for step in steps) or any(
                later <= step for step, later in pairwise(steps)
            ):
                raise ValueError(f"steps must be whole numbers from 1 in increasing order; got {steps}")
        elif not isinstance(per_decade, int) or per_decade < 1:
            raise ValueError(f"per_decade must be at least 1; got {per_decade}")
        self._due: Iterator[int] = log_spaced(per_decade) if steps is None else iter(steps)
        self._next = next(self._due, None)
        self._records: list[tuple[int, FloatArray, Float64Array]] = []
        self._watches: list[Watch] = []

    @property
    def steps(self) -> IntArray:
        """Numbers of the updates recorded so far."""
        return np.array([step for step, _, _ in self._records], dtype=np.int64)

    @property
    def W(self) -> FloatArray:
        """Feedforward weights after each recorded update."""
        return np.array([W for _, W, _ in self._records])

    @property
    def M(self) -> Float64Array:
        """Lateral weights after each recorded update."""
        return np.array([M for _, _, M in self._records])

    @property
    def delta_values(self) -> Float64Array:
        """Slowness δ of the features after each recorded update."""
        return np.array([watch.delta_values for watch in self._watches])

    @property
    def constraint_error(self) -> Float64Array:
        """How far the outputs were from white after each recorded update."""
        return np.array([watch.constraint_error for watch in self._watches])

    @property
    def learning_rate(self) -> Float64Array:
        """Effective learning rate after each recorded update."""
        return np.array([watch.learning_rate for watch in self._watches])

    def rows_due(self, updates: IntArray) -> Iterator[int]:
        """Yield the numbers of rows after which to record; ``updates`` is the number of updates after each row."""
        if self._records and len(updates) and updates[0] < self._records[-1][0]:
            raise ValueError(
                f"this recorder has already recorded another network, up to update {self._records[-1][0]}: use one "
                "Recorder per network"
            )
        while self._next is not None and len(updates) and self._next <= updates[-1]:
            row = int(np.searchsorted(updates, self._next)) + 1
            if updates[row - 1] == self._next:
                yield row
            self._next = next(self._due, None)

    def is_due(self, step: int) -> bool:
        """Return whether to record after this update."""
        return any(self.rows_due(np.array([step])))

    def record(self, step: int, W: FloatArray, M: Float64Array, watch: Watch | None = None) -> None:
        """Store the weights after an update, and the measurements of ``watch()``."""
        self._records.append((step, W, M))
        if watch is not None:
            self._watches.append(watch)


def log_spaced(per_decade: int) -> Iterator[int]:
    """Yield 1, 2, … without end: whole numbers that are evenly spaced on a logarithmic scale, each once."""
    last = 0
    for i in count():
        step = round(10 ** (i / per_decade))
        if step > last:
            last = step
            yield step
