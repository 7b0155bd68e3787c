"""The schedule of work that is not done for every sample.

It depends only on the number of samples seen, so that the result does not depend on how a stream is cut into chunks.
"""

from bisect import bisect_right
from functools import lru_cache

# Events are listed up to this number of samples, far beyond the length of any stream. Then they are equally spaced.
FARTHEST = 2.0**62


def next_event(n_seen: int, *, first: int, grid: int, growth: float, window: float) -> int:
    """Return the number of samples at which the first event after ``n_seen`` is due.

    The first event is at ``first``. The number of samples doubles from one event to the next, up to ``grid``. Later
    events are at multiples of ``grid``: each follows the last one after the share ``growth`` of the samples seen, or of
    ``window`` if that is fewer. The function takes the same time anywhere in a stream.
    """
    window = min(window, FARTHEST)
    growing = _growing_events(first, grid, growth, window)
    last = growing[-1]
    if n_seen < last:
        return growing[bisect_right(growing, n_seen)]
    step = _step(window, grid, growth)
    return last + ((n_seen - last) // step + 1) * step


@lru_cache(maxsize=64)
def _growing_events(first: int, grid: int, growth: float, window: float) -> tuple[int, ...]:
    """Return all events up to the first one at or after ``window``; later ones are equally spaced."""
    events = [first]
    while events[-1] < window:
        due = events[-1]
        events.append(2 * due if due < grid else due + _step(due, grid, growth))
    return tuple(events)


def _step(count: float, grid: int, growth: float) -> int:
    return max(1, int(growth * count / grid)) * grid
