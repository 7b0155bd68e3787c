"""Other online learners of slow features. The paper names them, and the arena compares Bio-SFA with them."""

from biosfa.rivals._base import OnlineRival
from biosfa.rivals._foldiak_trace import FoldiakTrace
from biosfa.rivals._incremental_sfa import IncrementalSFA
from biosfa.rivals._online_gev import OnlineGEV

__all__ = ["FoldiakTrace", "IncrementalSFA", "OnlineGEV", "OnlineRival"]
