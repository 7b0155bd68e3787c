"""Other online learners of slow features, which the paper names and Bio-SFA is compared with."""

from biosfa.rivals._base import OnlineRival
from biosfa.rivals._foldiak_trace import FoldiakTrace
from biosfa.rivals._incremental_sfa import IncrementalSFA
from biosfa.rivals._online_gev import OnlineGEV

__all__ = ["FoldiakTrace", "IncrementalSFA", "OnlineGEV", "OnlineRival"]
