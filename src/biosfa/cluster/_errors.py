"""Errors of a cluster, in one line."""

from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager

from biosfa.exceptions import ClusterError

TOLD = {
    "KilledWorker": "workers ended again and again while they computed the same part, probably because it needs more "
    "memory than they have: start workers with more memory, or use smaller chunks or fewer columns (pca)",
    "CommClosedError": "the scheduler is gone, or the connection to it: start it and its workers, and run this again",
    "NoValidWorkerError": "no worker of the cluster can do this work: start workers, and run this again",
}
LOST = TOLD["CommClosedError"]


@contextmanager
def plain_errors() -> Iterator[None]:
    """Raise ClusterError, which says what to do, in place of the errors of Dask's scheduler and workers.

    Raises
    ------
    ClusterError
        If workers or the scheduler fail. What the work itself raises is raised as it is.

    Examples
    --------
    >>> from biosfa.cluster import plain_errors
    >>> with plain_errors():
    ...     1 + 1
    2
    """
    try:
        yield
    except CancelledError:
        raise ClusterError(LOST) from None
    except Exception as error:
        known = type(error).__module__.startswith("distributed")
        told = next((TOLD[kind.__name__] for kind in type(error).__mro__ if known and kind.__name__ in TOLD), None)
        if told is None:
            raise
        raise ClusterError(told) from None
