"""Keeps the weights of a network at certain updates, and how learning went, for curves against samples."""

from collections.abc import Iterable, Iterator
from itertools import count, pairwise

import numpy as np

from biosfa.learning._watch import Watch
from biosfa.typing import Float64Array, FloatArray, IntArray


class Recorder:
    """Keeps W and M at log-spaced updates, or at those it is told.

    Between them learning costs what it costs without a recorder. Give it to ``fit`` or ``partial_fit`` of
    :class:`BioSFA` or :class:`OnlineSFA`; the same one for all chunks of a stream.

    Parameters
    ----------
    per_decade : int, default=10
        Updates recorded in each factor of ten: 1, …, 10, 13, 16, 20, 25, 32, …
    steps : iterable of int, optional
        Updates to record instead, in increasing order.

    Attributes
    ----------
    steps : array of shape (n_records,)
        Updates recorded so far.
    W : array of shape (n_records, n_components, m)
        Feedforward weights after each of them.
    M : array of shape (n_records, n_components, n_components)
        Lateral weights.
    delta_values : array of shape (n_records, n_components)
        Slowness of the features, as :meth:`watch` sees it.
    constraint_error, learning_rate : arrays of shape (n_records,)
        How far the outputs were from white, and the effective rate.

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
        """Updates recorded so far."""
        return np.array([step for step, _, _ in self._records], dtype=np.int64)

    @property
    def W(self) -> FloatArray:
        """Feedforward weights after each of them."""
        return np.array([W for _, W, _ in self._records])

    @property
    def M(self) -> Float64Array:
        """Lateral weights after each of them."""
        return np.array([M for _, _, M in self._records])

    @property
    def delta_values(self) -> Float64Array:
        """Slowness of the features after each of them, as the network saw it."""
        return np.array([watch.delta_values for watch in self._watches])

    @property
    def constraint_error(self) -> Float64Array:
        """How far the outputs were from white after each of them, as the network saw it."""
        return np.array([watch.constraint_error for watch in self._watches])

    @property
    def learning_rate(self) -> Float64Array:
        """Effective learning rate after each of them."""
        return np.array([watch.learning_rate for watch in self._watches])

    def rows_due(self, updates: IntArray) -> Iterator[int]:
        """Numbers of rows after which to record, where ``updates`` counts the updates made after each row."""
        if self._records and len(updates) and updates[0] < self._records[-1][0]:
            raise ValueError(
                f"this recorder has followed another network to update {self._records[-1][0]}: give each its own"
            )
        while self._next is not None and len(updates) and self._next <= updates[-1]:
            row = int(np.searchsorted(updates, self._next)) + 1
            if updates[row - 1] == self._next:
                yield row
            self._next = next(self._due, None)

    def is_due(self, step: int) -> bool:
        """Whether to record after this update."""
        return any(self.rows_due(np.array([step])))

    def record(self, step: int, W: FloatArray, M: Float64Array, watch: Watch | None = None) -> None:
        """Keep the weights after an update, and how learning went."""
        self._records.append((step, W, M))
        if watch is not None:
            self._watches.append(watch)


def log_spaced(per_decade: int) -> Iterator[int]:
    """1, 2, … and on without end: whole numbers, evenly spaced on a logarithmic scale where they are dense enough."""
    last = 0
    for i in count():
        step = round(10 ** (i / per_decade))
        if step > last:
            last = step
            yield step
