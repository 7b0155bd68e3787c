from . import analysis as analysis
from . import datasets as datasets
from . import experiments as experiments
from . import hierarchy as hierarchy
from . import io as io
from . import metrics as metrics
from . import objectives as objectives
from . import rivals as rivals
from .estimators import SFA as SFA
from .estimators import BioSFA as BioSFA
from .estimators import CuBICA as CuBICA
from .estimators import OfflineBioSFA as OfflineBioSFA
from .estimators import OnlineSFA as OnlineSFA
from .estimators import load as load
from .exceptions import DivergenceError as DivergenceError
from .exceptions import InputError as InputError
from .exceptions import ModelFileError as ModelFileError
from .exceptions import RankDeficiencyWarning as RankDeficiencyWarning
from .exceptions import ShortEpisodeWarning as ShortEpisodeWarning
from .hierarchy import HierarchicalSFA as HierarchicalSFA
from .learning import Annealed as Annealed
from .learning import InverseTime as InverseTime
from .learning import Recorder as Recorder
from .signal import QuadraticExpansion as QuadraticExpansion
from .signal import TimeEmbedding as TimeEmbedding

__version__: str
