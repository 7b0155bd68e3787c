"""A warning about columns that are slow features by themselves: counters, clocks, columns constant within episodes."""

import warnings
from typing import Any

import numpy as np

from biosfa.exceptions import GiveAwayWarning
from biosfa.typing import Float64Array
from biosfa.wording import listed

# Slowness times n² of a signal that drifts over n rows: 12 for a ramp, 39 for one period of a sine.
RAMP = 15.0


def warn_of_give_aways(
    names: np.ndarray[Any, Any], variance: Float64Array, change: Float64Array, n_rows: int, *, stacklevel: int
) -> None:
    """Warn about columns that are as slow as a ramp over ``n_rows``.

    ``variance`` is ⟨(x − mean)²⟩ and ``change`` is ⟨ẋ²⟩ of each column. A signal that returns to earlier values is
    always faster than a ramp.
    """
    given_away = (variance > 0.0) & (change * n_rows**2 < RAMP * variance)
    if given_away.any():
        warnings.warn(
            "these columns change as slowly as a counter or a clock, or are constant within episodes: "
            f"{listed(names[given_away])}. Each is a slow feature by itself. Leave them out, unless that is intended",
            GiveAwayWarning,
            stacklevel=stacklevel,
        )
