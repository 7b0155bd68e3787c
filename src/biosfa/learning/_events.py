"""When to do what is not done for every sample: a function of the absolute index, so that chunks change nothing."""

from bisect import bisect_right
from functools import lru_cache

# Events are listed up to here, far beyond the length of any stream, and are equally spaced from there on.
FARTHEST = 2.0**62


def next_event(n_seen: int, *, first: int, grid: int, growth: float, window: float) -> int:
    """The smallest number of samples after ``n_seen`` at which something is due.

    Events begin at ``first``, double up to ``grid``, and are multiples of it from there on, the next one after a share
    ``growth`` of the samples that count by then. It takes the same time anywhere in a stream.
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
    """All events up to the first that is not before ``window``: from there on they are equally spaced."""
    events = [first]
    while events[-1] < window:
        due = events[-1]
        events.append(2 * due if due < grid else due + _step(due, grid, growth))
    return tuple(events)


def _step(count: float, grid: int, growth: float) -> int:
    return max(1, int(growth * count / grid)) * grid
