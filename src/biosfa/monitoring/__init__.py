"""Monitoring of processes: whether the operating point has moved, or the dynamics are no longer normal."""

from biosfa.monitoring._calibration import Calibration
from biosfa.monitoring._charts import SLOW_AND_REST
from biosfa.monitoring._monitor import SlowFeatureMonitor
from biosfa.monitoring._peers import Peer, compare
from biosfa.monitoring._verdicts import ALARMS, VERDICTS, Rule, checked_persistence
from biosfa.monitoring._watch import Status, Watched

__all__ = [
    "ALARMS",
    "SLOW_AND_REST",
    "VERDICTS",
    "Calibration",
    "Peer",
    "Rule",
    "SlowFeatureMonitor",
    "Status",
    "Watched",
    "checked_persistence",
    "compare",
]
