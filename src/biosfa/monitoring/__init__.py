"""Monitoring of processes: whether the operating point has moved, or the dynamics are no longer normal."""

from biosfa.monitoring._calibration import Calibration
from biosfa.monitoring._charts import REST, SLOW_AND_REST, Charts
from biosfa.monitoring._detectors import WILDEST
from biosfa.monitoring._fitted import normal_of
from biosfa.monitoring._monitor import SlowFeatureMonitor
from biosfa.monitoring._peers import Peer, compare
from biosfa.monitoring._reading import SAME_VALUE, in_single
from biosfa.monitoring._verdicts import ALARMS, VERDICTS, Rule, checked_persistence
from biosfa.monitoring._watch import Status, Watched

__all__ = [
    "ALARMS",
    "REST",
    "SAME_VALUE",
    "SLOW_AND_REST",
    "VERDICTS",
    "WILDEST",
    "Calibration",
    "Charts",
    "Peer",
    "Rule",
    "SlowFeatureMonitor",
    "Status",
    "Watched",
    "checked_persistence",
    "compare",
    "in_single",
    "normal_of",
]
