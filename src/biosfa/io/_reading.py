"""How a stream was divided into episodes. A model keeps it, so that later inputs are divided in the same way."""

from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np


@dataclass(frozen=True)
class Reading:
    """The options by which the rows of a stream were divided into episodes. It can be saved as JSON data.

    Raises
    ------
    ValueError
        If they cannot be the options of a stream.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.io import open_stream
    >>> open_stream(np.zeros((10, 3)), time=0, max_step=2.0).reading
    Reading(time='x0', max_step=2.0, episodes=None, lengths=False, joined=False)
    """

    time: str | None = None  # name of the column of time
    max_step: float | None = None
    episodes: int | str | None = None  # rows per episode, or the name of a column
    lengths: bool = False  # whether the length of each episode was given, which is true of that input only
    joined: bool = False

    def __post_init__(self) -> None:
        step, rows = self.max_step, self.episodes
        if not (
            isinstance(self.time, str | None)
            and (step is None or (type(step) in (int, float) and 0 < step < np.inf))
            and (isinstance(rows, str | None) or (type(rows) is int and rows >= 1))
            and isinstance(self.lengths, bool)
            and isinstance(self.joined, bool)
        ):
            raise ValueError(f"{self!r} does not say how a stream is read")

    def to_json(self) -> dict[str, Any]:
        """Return the options as JSON data, without those that were not given."""
        return {name: value for name, value in asdict(self).items() if value not in (None, False)}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        """Return the options from JSON data."""
        return cls(**content)
