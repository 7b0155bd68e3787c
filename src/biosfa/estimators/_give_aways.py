"""A warning about columns that are slow features by themselves: counters, clocks, columns constant within episodes."""

import warnings
from collections.abc import Iterable

from biosfa.exceptions import GiveAwayWarning
from biosfa.typing import BoolArray, Float64Array
from biosfa.wording import listed

# Slowness times n² of a signal that drifts over n rows: 12 for a ramp, 39 for one period of a sine.
RAMP = 15.0


def as_slow_as_ramps(variance: Float64Array, change: Float64Array, n_rows: int) -> BoolArray:
    """Return which columns are as slow as a ramp over ``n_rows``.

    ``variance`` is ⟨(x − mean)²⟩ and ``change`` is ⟨ẋ²⟩ of each column. A signal that returns to earlier values is
    always faster than a ramp.
    """
    slow: BoolArray = (variance > 0.0) & (change * n_rows**2 < RAMP * variance)
    return slow


def warn_of_give_aways(counters: list[str], slow: Iterable[str], *, stacklevel: int) -> None:
    """Warn about columns that only rise or only fall, and about columns that are as slow as a ramp."""
    given_away = list(dict.fromkeys([*counters, *slow]))
    if given_away:
        warnings.warn(
            "these columns change as slowly as a counter or a clock, only rise or only fall, or are constant within "
            f"episodes: {listed(given_away)}. Each is a slow feature by itself. Leave them out, unless that is "
            "intended",
            GiveAwayWarning,
            stacklevel=stacklevel,
        )
