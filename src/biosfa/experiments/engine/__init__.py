"""The shared parts of experiments: tasks that can be stopped and resumed, and grid searches."""

from biosfa.experiments.engine._errors import ExperimentError
from biosfa.experiments.engine._experiment import Experiment, Outcome, Results, arrays_of
from biosfa.experiments.engine._inputs import held
from biosfa.experiments.engine._runner import (
    NetworkCheckpoint,
    RunFolder,
    Stopped,
    Task,
    changed,
    chosen_among,
    digest,
    is_reachable,
)
from biosfa.experiments.engine._scheduling import run_tasks
from biosfa.experiments.engine._sweep import Grid, SweepText, run_sweep

__all__ = [
    "Experiment",
    "ExperimentError",
    "Grid",
    "NetworkCheckpoint",
    "Outcome",
    "Results",
    "RunFolder",
    "Stopped",
    "SweepText",
    "Task",
    "arrays_of",
    "changed",
    "chosen_among",
    "digest",
    "held",
    "is_reachable",
    "run_sweep",
    "run_tasks",
]
