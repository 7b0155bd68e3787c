"""When to do what is not done for every sample: a function of the absolute index, so that chunks change nothing."""


def next_event(n_seen: int, *, first: int, grid: int, growth: float) -> int:
    """The smallest number of samples after ``n_seen`` at which something is due.

    Events begin at ``first``, double up to ``grid``, and are multiples of it from there on, the next one after a share
    ``growth`` of the samples seen by then.
    """
    due = first
    while due <= n_seen:
        due = 2 * due if due < grid else due + max(1, int(growth * due / grid)) * grid
    return due
