"""Checks of the parameters of a monitor."""

from typing import TYPE_CHECKING

from sklearn.utils.validation import check_is_fitted

from biosfa.estimators import SFA, GraphSFA, NetworkEstimator
from biosfa.monitoring._verdicts import checked_persistence
from biosfa.validation import check_count, check_positive

if TYPE_CHECKING:
    from biosfa.monitoring._monitor import SlowFeatureMonitor

Watchable = SFA | GraphSFA | NetworkEstimator  # models of slow features that a monitor can be built on
WATCHABLE = (SFA, GraphSFA, NetworkEstimator)


def check_parameters(monitor: "SlowFeatureMonitor") -> None:
    """Raise ValueError or TypeError if a parameter makes no sense."""
    check_count("n_delays", monitor.n_delays)
    for name in ("slow_share", "alarm_rate"):
        check_positive(name, getattr(monitor, name))
        if getattr(monitor, name) > 1.0:
            raise ValueError(f"{name} is a share between 0 and 1; got {getattr(monitor, name)!r}")
    if monitor.forget is not None:
        check_positive("forget", monitor.forget)
    checked_persistence(monitor.persistence)
    if monitor.model is not None:
        if not isinstance(monitor.model, WATCHABLE):
            raise TypeError(f"model must be a fitted SFA or OnlineSFA; got {type(monitor.model).__name__}")
        check_is_fitted(monitor.model)
