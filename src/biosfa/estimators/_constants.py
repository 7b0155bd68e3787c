"""Finds the columns that never change."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from biosfa.typing import FloatArray


@dataclass
class ConstantColumns:
    """The columns that have had only one value so far. Other columns are not checked again, so this costs little."""

    values: dict[int, float] | None = None  # the value of each column; None before the first sample

    def add(self, samples: FloatArray) -> None:
        """Drop the columns that change in these samples."""
        if self.values is None:
            self.values = dict(enumerate(samples[0].tolist()))
        self.values = {
            column: value for column, value in self.values.items() if bool(np.all(samples[:, column] == value))
        }

    def join(self, later: Self) -> None:
        """Drop the columns that change in the samples of ``later``, or have another value there."""
        if later.values is None:
            return
        mine = later.values if self.values is None else self.values
        self.values = {column: value for column, value in mine.items() if later.values.get(column) == value}

    def columns(self) -> list[int]:
        """Return the numbers of the constant columns."""
        return sorted(self.values or {})

    def to_json(self) -> Any:
        """Return the state as JSON data."""
        return None if self.values is None else list(self.values.items())

    @classmethod
    def from_json(cls, content: Any, n_columns: int) -> Self:
        """Restore the state from JSON data.

        Raises
        ------
        ValueError
            If the data do not fit this number of columns.
        """
        values = None if content is None else dict(content)
        if values is not None and not set(values) <= set(range(n_columns)):
            raise ValueError(f"{content!r} are not values of {n_columns} columns")
        return cls(values)
