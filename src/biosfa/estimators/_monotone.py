"""Finds the columns that only rise, or only fall, from one end of a stream to the other: counters and clocks."""

from typing import Any, Self

import numpy as np

from biosfa.typing import Float64Array, FloatArray, IntArray

# So many changes of one sign are no chance: 2⁻¹⁹ for the changes of a random signal. Fewer make a column that has a
# few steps, such as the number of a trial.
CHANGES = 20
FIRST_ROWS = 64  # by which most columns are seen to go up and down


class Monotone:
    """The columns that have only risen, or only fallen, so far. Other columns are not checked again.

    Gaps and the beginnings of episodes make no difference: a counter goes on across them. A random walk or a drift with
    noise goes both ways.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.estimators._monotone import Monotone
    >>> found = Monotone()
    >>> found.add(np.column_stack([np.arange(50.0), np.sin(np.arange(50.0))]))
    >>> found.columns()
    [0]
    """

    def __init__(self) -> None:
        self._left: IntArray | None = None  # the columns that are monotone so far; None before the first row
        self._first: Float64Array | None = None  # the first row of all; None if counts were forgotten after it
        self._last = np.empty(0)  # the values of the columns that are left in the last row
        self._rises = np.empty(0, np.int64)  # how often they have risen
        self._falls = np.empty(0, np.int64)

    def add(self, samples: FloatArray) -> None:
        """Take the next rows."""
        if self._left is None:
            self._left = np.arange(samples.shape[1])
            self._first = self._last = samples[0].astype(np.float64)
            self._rises, self._falls = np.zeros((2, len(self._left)), np.int64)
        self._take(samples[:FIRST_ROWS])
        self._take(samples[FIRST_ROWS:])

    def _take(self, samples: FloatArray) -> None:
        assert self._left is not None
        if not len(samples) or not len(self._left):
            return
        rows = samples[:, self._left]
        before = np.concatenate([self._last[None], rows[:-1]])
        self._rises += np.count_nonzero(rows > before, axis=0)
        self._falls += np.count_nonzero(rows < before, axis=0)
        self._last = rows[-1].astype(np.float64)
        self._drop()

    def _drop(self) -> None:
        """Drop the columns that have both risen and fallen."""
        assert self._left is not None
        good = (self._rises == 0) | (self._falls == 0)
        self._left, self._last = self._left[good], self._last[good]
        self._rises, self._falls = self._rises[good], self._falls[good]

    def forget_counts(self) -> None:
        """Forget how often columns have risen and fallen, but not their last values."""
        self._rises, self._falls = np.zeros_like(self._rises), np.zeros_like(self._falls)
        self._first = None

    def join(self, later: Self) -> None:
        """Take the changes in later rows, which were counted apart."""
        if later._left is None:
            return
        if self._left is None:
            self._left = np.arange(later._left.max(initial=-1) + 1)
            self._rises, self._falls = np.zeros((2, len(self._left)), np.int64)
        if later._first is not None and len(self._last):  # no row before it was counted
            self._rises += later._first[self._left] > self._last
            self._falls += later._first[self._left] < self._last
        _, mine, others = np.intersect1d(self._left, later._left, assume_unique=True, return_indices=True)
        self._left, self._last = self._left[mine], later._last[others]
        self._rises, self._falls = self._rises[mine] + later._rises[others], self._falls[mine] + later._falls[others]
        self._drop()

    def columns(self) -> list[int]:
        """Return the numbers of the columns that have changed often enough, always in one direction."""
        if self._left is None:
            return []
        found: list[int] = self._left[self._rises + self._falls >= CHANGES].tolist()
        return found

    def to_json(self) -> Any:
        """Return the state as JSON data."""
        if self._left is None:
            return None
        return [array.tolist() for array in (self._left, self._last, self._rises, self._falls)]

    @classmethod
    def from_json(cls, content: Any, n_columns: int) -> Self:
        """Restore the state from JSON data.

        Raises
        ------
        ValueError
            If the data are not the state for this number of columns.
        """
        state = cls()
        if content is None:
            return state
        left, last, rises, falls = content
        numbers = [*left, *rises, *falls]
        if not (
            len(left) == len(last) == len(rises) == len(falls)
            and all(type(number) is int and 0 <= number < 2**62 for number in numbers)
            and all(type(value) in (int, float) for value in last)
            and sorted({*left}) == left
            and max(left, default=0) < n_columns
        ):
            raise ValueError(f"{content!r} are not columns that rise or fall")
        state._left, state._last = np.array(left, np.int64), np.array(last, np.float64)
        state._rises, state._falls = np.array(rises, np.int64), np.array(falls, np.int64)
        return state
