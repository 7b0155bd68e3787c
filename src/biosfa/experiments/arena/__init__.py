"""The arena: compares all learners on the same stream, by error, time and memory."""

from biosfa.experiments.arena._config import CompareConfig, configure
from biosfa.experiments.arena._experiment import Arena, compare
from biosfa.experiments.arena._report import as_text

__all__ = ["Arena", "CompareConfig", "as_text", "compare", "configure"]
