"""Slow feature analysis that learns online: Bio-SFA (Lipshutz et al., NeurIPS 2020), exact SFA, and what they need.

Names are loaded when they are first used, so that importing the package is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from biosfa import io as io
    from biosfa import metrics as metrics
    from biosfa import objectives as objectives
    from biosfa.estimators._base import load as load
    from biosfa.estimators._bio_sfa import BioSFA as BioSFA
    from biosfa.estimators._cubica import CuBICA as CuBICA
    from biosfa.estimators._expansion import QuadraticExpansion as QuadraticExpansion
    from biosfa.estimators._expansion import TimeEmbedding as TimeEmbedding
    from biosfa.estimators._foldiak_trace import FoldiakTrace as FoldiakTrace
    from biosfa.estimators._incremental_sfa import IncrementalSFA as IncrementalSFA
    from biosfa.estimators._offline import OfflineBioSFA as OfflineBioSFA
    from biosfa.estimators._online_gev import OnlineGEV as OnlineGEV
    from biosfa.estimators._recorder import Recorder as Recorder
    from biosfa.estimators._schedules import Annealed as Annealed
    from biosfa.estimators._schedules import InverseTime as InverseTime
    from biosfa.estimators._sfa import SFA as SFA
    from biosfa.exceptions import DivergenceError as DivergenceError
    from biosfa.exceptions import InputError as InputError
    from biosfa.exceptions import ModelFileError as ModelFileError
    from biosfa.exceptions import RankDeficiencyWarning as RankDeficiencyWarning
    from biosfa.exceptions import ShortEpisodeWarning as ShortEpisodeWarning
    from biosfa.hierarchy._hierarchical_sfa import HierarchicalSFA as HierarchicalSFA

_HOME = {
    "Annealed": "estimators._schedules",
    "BioSFA": "estimators._bio_sfa",
    "CuBICA": "estimators._cubica",
    "DivergenceError": "exceptions",
    "FoldiakTrace": "estimators._foldiak_trace",
    "HierarchicalSFA": "hierarchy._hierarchical_sfa",
    "IncrementalSFA": "estimators._incremental_sfa",
    "InputError": "exceptions",
    "InverseTime": "estimators._schedules",
    "ModelFileError": "exceptions",
    "OfflineBioSFA": "estimators._offline",
    "OnlineGEV": "estimators._online_gev",
    "QuadraticExpansion": "estimators._expansion",
    "RankDeficiencyWarning": "exceptions",
    "Recorder": "estimators._recorder",
    "SFA": "estimators._sfa",
    "ShortEpisodeWarning": "exceptions",
    "TimeEmbedding": "estimators._expansion",
    "load": "estimators._base",
}
_MODULES = ("io", "metrics", "objectives")

__all__ = ["__version__", *_HOME, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"biosfa.{name}")
    if name in _HOME:
        return getattr(import_module(f"biosfa.{_HOME[name]}"), name)
    raise AttributeError(f"module 'biosfa' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
