"""When to do what is not done for every sample: a function of the absolute index, so that chunks change nothing."""


def next_event(n_seen: int, *, first: int, grid: int, growth: float, window: float) -> int:
    """The smallest number of samples after ``n_seen`` at which something is due.

    Events begin at ``first``, double up to ``grid``, and are multiples of it from there on, the next one after a share
    ``growth`` of the samples that count by then.
    """
    due = first
    while due <= n_seen:
        if due >= window:  # from here on they are equally spaced
            step = _step(window, grid, growth)
            return due + ((n_seen - due) // step + 1) * step
        due = 2 * due if due < grid else due + _step(due, grid, growth)
    return due


def _step(count: float, grid: int, growth: float) -> int:
    return max(1, int(growth * count / grid)) * grid
