"""Which columns never change."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from biosfa.typing import FloatArray


@dataclass
class ConstantColumns:
    """Columns that have had one value so far: only these are looked at, so that it costs next to nothing."""

    values: dict[int, float] | None = None  # by column; None before the first sample

    def add(self, samples: FloatArray) -> None:
        """Look at some more samples."""
        if self.values is None:
            self.values = dict(enumerate(samples[0].tolist()))
        self.values = {
            column: value for column, value in self.values.items() if bool(np.all(samples[:, column] == value))
        }

    def columns(self) -> list[int]:
        """Their numbers."""
        return sorted(self.values or {})

    def to_json(self) -> Any:
        """As JSON data."""
        return None if self.values is None else list(self.values.items())

    @classmethod
    def from_json(cls, content: Any, n_columns: int) -> Self:
        """Back from JSON data.

        Raises
        ------
        ValueError
            If these are not values of so many columns.
        """
        values = None if content is None else dict(content)
        if values is not None and not set(values) <= set(range(n_columns)):
            raise ValueError(f"{content!r} are not values of {n_columns} columns")
        return cls(values)
