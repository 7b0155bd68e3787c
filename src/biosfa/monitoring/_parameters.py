"""Checks of the parameters of a monitor."""

import math
from typing import TYPE_CHECKING

from sklearn.utils.validation import check_is_fitted

from biosfa.estimators import SFA, GraphSFA, NetworkEstimator
from biosfa.monitoring._verdicts import checked_persistence
from biosfa.typing import Float64Array
from biosfa.validation import check_count, check_positive

if TYPE_CHECKING:
    from biosfa.monitoring._monitor import SlowFeatureMonitor

Watchable = SFA | GraphSFA | NetworkEstimator  # models of slow features that a monitor can be built on
WATCHABLE = (SFA, GraphSFA, NetworkEstimator)

# With fewer rows, covariances and the level are not known well enough. On simulated plants and mixtures (5 to 36
# features, correlation times of 5 to 100 rows), the false alarms of the worst statistic were 1.9 to 2.8% at the least
# number of rows that these allow, at a nominal 1%, and 1.5 to 1.9% with twice as many. With 10 rows per feature they
# were up to 6%, with 2 correlation times up to 10%, with 50 rows 6 to 88%.
FORGET_PER_FEATURE, FORGET_TIMES, LEAST_FORGET = 20, 5, 100


def check_parameters(monitor: "SlowFeatureMonitor") -> None:
    """Raise ValueError or TypeError if a parameter makes no sense."""
    check_count("n_delays", monitor.n_delays)
    for name in ("slow_share", "alarm_rate"):
        check_positive(name, getattr(monitor, name))
        if getattr(monitor, name) > 1.0:
            raise ValueError(f"{name} is a share between 0 and 1; got {getattr(monitor, name)!r}")
    if monitor.alarm_rate == 1.0:
        raise ValueError("alarm_rate=1 means that every row may be an alarm: use a small share, such as 0.01")
    if monitor.forget is not None:
        check_positive("forget", monitor.forget)
    checked_persistence(monitor.persistence)
    if monitor.model is not None:
        if not isinstance(monitor.model, WATCHABLE):
            kind = type(monitor.model).__name__
            raise TypeError(f"model must be a fitted model, such as SFA or OnlineSFA; got {kind}")
        check_is_fitted(monitor.model)


def check_forget(forget: float | None, model: Watchable, correlation_time: float) -> None:
    """Raise ValueError if ``forget`` is too short, or if the model has not learned from consecutive rows."""
    if forget is None:
        return
    if isinstance(model, GraphSFA) or getattr(model, "lag", 1) != 1 or getattr(model, "time_unit_", None) is not None:
        raise ValueError(
            "forget needs a model of the change from one row to the next: fit it without lag, time and graph, or leave "
            "forget out"
        )
    if patterns_of(model) is None:
        raise ValueError(f"forget needs the covariance with the columns, which is not known after {model.expansion_!r}")
    n_features = len(model.delta_values_)
    least = math.ceil(max(FORGET_PER_FEATURE * n_features, FORGET_TIMES * correlation_time, LEAST_FORGET))
    if forget < least:
        raise ValueError(
            f"forget={forget:g} is too short for {n_features} features, the slowest of which has a correlation "
            f"time of {correlation_time:.3g} rows: use at least {least}"
        )


def patterns_of(model: Watchable) -> Float64Array | None:
    """Return the covariance of the features with the columns; None if it is not known for the expansion."""
    patterns: Float64Array | None = getattr(model, "patterns_", None)
    return patterns
