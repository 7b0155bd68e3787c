"""The arena: compares all learners on the same stream, by error, time and memory."""

from biosfa.experiments.arena._config import CompareConfig, configure
from biosfa.experiments.arena._contestants import CONTESTANTS
from biosfa.experiments.arena._experiment import Arena, compare
from biosfa.experiments.arena._report import as_text
from biosfa.experiments.arena._scaling import SCALED

__all__ = ["CONTESTANTS", "SCALED", "Arena", "CompareConfig", "as_text", "compare", "configure"]
