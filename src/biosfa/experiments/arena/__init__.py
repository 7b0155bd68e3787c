"""The arena: every learner on the same stream, error against samples and against time, and what a sample costs."""

from biosfa.experiments.arena._config import CompareConfig, configure
from biosfa.experiments.arena._experiment import Arena, compare
from biosfa.experiments.arena._report import as_text

__all__ = ["Arena", "CompareConfig", "as_text", "compare", "configure"]
