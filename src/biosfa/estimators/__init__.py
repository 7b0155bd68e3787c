"""The learners as scikit-learn estimators, and the code that they share: fitting, transforming, saving, loading."""

from biosfa.estimators._base import SlowFeatureEstimator
from biosfa.estimators._bio_sfa import BioSFA
from biosfa.estimators._constants import ConstantColumns
from biosfa.estimators._cubica import CuBICA
from biosfa.estimators._fitting import (
    Episodes,
    Fitting,
    begin_stream,
    check_pairs_per_feature,
    has_started,
    input_names,
    learn_chunk,
    reading_of,
)
from biosfa.estimators._give_aways import as_slow_as_ramps
from biosfa.estimators._graph_sfa import GraphSFA
from biosfa.estimators._learned import Learned, learn_section
from biosfa.estimators._loading import load, load_as, load_model
from biosfa.estimators._local_sfa import LocalSFA
from biosfa.estimators._memory import check_sums_memory, exact_memory
from biosfa.estimators._monotone import Monotone
from biosfa.estimators._offline import OfflineBioSFA
from biosfa.estimators._online import NetworkEstimator
from biosfa.estimators._online_sfa import OnlineSFA
from biosfa.estimators._persistence import UnsavedParameterError, check_same, decode, encode, state_arrays, to_model
from biosfa.estimators._projection import Projection, check_columns
from biosfa.estimators._sfa import SFA
from biosfa.estimators._way_back import WayBack, pattern_correlations

__all__ = [
    "SFA",
    "BioSFA",
    "ConstantColumns",
    "CuBICA",
    "Episodes",
    "Fitting",
    "GraphSFA",
    "Learned",
    "LocalSFA",
    "Monotone",
    "NetworkEstimator",
    "OfflineBioSFA",
    "OnlineSFA",
    "Projection",
    "SlowFeatureEstimator",
    "UnsavedParameterError",
    "WayBack",
    "as_slow_as_ramps",
    "begin_stream",
    "check_columns",
    "check_pairs_per_feature",
    "check_same",
    "check_sums_memory",
    "decode",
    "encode",
    "exact_memory",
    "has_started",
    "input_names",
    "learn_chunk",
    "learn_section",
    "load",
    "load_as",
    "load_model",
    "pattern_correlations",
    "reading_of",
    "state_arrays",
    "to_model",
]
