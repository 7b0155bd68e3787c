"""Other monitors, calibrated in the same way, to compare slow features with."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from biosfa.io import Stream
from biosfa.monitoring._calibration import FEWEST, cross_fitted, learn_blocks
from biosfa.monitoring._charts import SLOW_AND_REST
from biosfa.monitoring._detectors import Distance, Method, Principal
from biosfa.monitoring._limits import common_rate, multiples, upper_limits
from biosfa.monitoring._monitor import SlowFeatureMonitor
from biosfa.monitoring._rows import opened
from biosfa.typing import BoolArray, Float64Array


class Peer(NamedTuple):
    """Which rows a monitor finds out of its limits.

    Attributes
    ----------
    statistics : array of shape (n_rows, n_statistics)
        Its statistics, divided by their limits.
    names : tuple of str
        Names of the statistics.
    """

    statistics: Float64Array
    names: tuple[str, ...]

    @property
    def alarms(self) -> BoolArray:
        """Which rows have a statistic beyond its limit."""
        return np.asarray(np.any(self.statistics > 1.0, axis=1))


def compare(
    monitor: SlowFeatureMonitor, normal: ArrayLike | Stream, X: ArrayLike | Stream, *, n_delays: int | None = None
) -> dict[str, Peer]:
    """Compare a monitor with principal components and the Mahalanobis distance, with limits from the same rows.

    The alarm rate is that of the monitor: of each statistic, or with ``family`` of all statistics of one method.

    Parameters
    ----------
    monitor : SlowFeatureMonitor
        A fitted monitor.
    normal : array-like of shape (n_samples, n_features), or Stream
        Rows of normal operation: those that the monitor was fitted to.
    X : array-like of shape (n_samples, n_features), or Stream
        Rows to judge.
    n_delays : int, optional
        Number of delays of dynamic PCA and of the Mahalanobis distance. By default that of the monitor, at least 2.

    Returns
    -------
    dict of Peer
        By the name of the monitor.

    Examples
    --------
    >>> from biosfa.datasets import stirred_tank
    >>> from biosfa.monitoring import SlowFeatureMonitor, compare
    >>> normal = stirred_tank(10_000, random_state=0).samples
    >>> noisy = stirred_tank(1000, fault="noise", start=500, random_state=1).samples
    >>> for name, peer in compare(SlowFeatureMonitor(n_delays=2).fit(normal), normal, noisy).items():
    ...     print(f"{name}: {peer.alarms[500:].mean():.1f}")  # doctest: +ELLIPSIS
    slow features: ...
    PCA: ...
    dynamic PCA: ...
    Mahalanobis distance: ...
    """
    delays = max(2, monitor.n_delays) if n_delays is None else n_delays
    others: dict[str, Method[Any]] = {
        "PCA": Principal(1),
        "dynamic PCA": Principal(delays),
        "Mahalanobis distance": Distance(delays),
    }
    found = {"slow features": Peer(multiples(monitor.statistics(X), monitor.limits_), SLOW_AND_REST)}
    training, rows = opened(monitor, normal), opened(monitor, X)
    n_blocks = max(FEWEST, monitor.calibration_.n_blocks)
    n_rows = sum(chunk.n_rows for chunk in training)
    if not n_rows:
        raise ValueError("there are no rows of normal operation")
    for name, method in others.items():
        size = -(-n_rows // n_blocks)
        statistics = cross_fitted(method, training, learn_blocks(method, training, size), size)
        rate = common_rate(statistics, monitor.alarm_rate) if monitor.family else monitor.alarm_rate
        limits = upper_limits(statistics, rate)
        whole = method.empty(training)
        for chunk in training:
            method.learn(whole, chunk)
        detector = method.detector([whole])
        judged = np.concatenate([detector.statistics(chunk) for chunk in rows])
        found[name] = Peer(multiples(judged, limits), detector.charts.names)
    return found
