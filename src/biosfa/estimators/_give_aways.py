"""Columns that make a slow feature by themselves: counters, clocks, and what is constant within episodes."""

import warnings
from typing import Any

import numpy as np

from biosfa.exceptions import GiveAwayWarning
from biosfa.typing import Float64Array
from biosfa.wording import listed

# Slowness times n² of what only drifts over n rows: a ramp has 12, one period of a sine 39.
RAMP = 15.0


def warn_of_give_aways(
    names: np.ndarray[Any, Any], variance: Float64Array, change: Float64Array, n_rows: int, *, stacklevel: int
) -> None:
    """Warn of columns that are as slow as a ramp over so many rows, given ⟨(x − mean)²⟩ and ⟨ẋ²⟩ of each.

    No signal that comes back to where it was is slower than a ramp.
    """
    given_away = (variance > 0.0) & (change * n_rows**2 < RAMP * variance)
    if given_away.any():
        warnings.warn(
            f"{listed(names[given_away])}: changes from row to row no more than a counter or a clock does, or is "
            "constant within episodes. It makes a slow feature by itself: leave it out, unless that is meant",
            GiveAwayWarning,
            stacklevel=stacklevel,
        )
