"""What experiments share: tasks that can stop and resume, grid searches, and reports."""

from biosfa.experiments.engine._errors import ExperimentError
from biosfa.experiments.engine._report import Report
from biosfa.experiments.engine._runner import (
    Checkpoint,
    Result,
    RunFolder,
    Stopped,
    Task,
    changed,
    digest,
    run_tasks,
    write_arrays,
    write_json,
)
from biosfa.experiments.engine._sweep import Grid, SweepText, run_sweep

__all__ = [
    "Checkpoint",
    "ExperimentError",
    "Grid",
    "Report",
    "Result",
    "RunFolder",
    "Stopped",
    "SweepText",
    "Task",
    "changed",
    "digest",
    "run_sweep",
    "run_tasks",
    "write_arrays",
    "write_json",
]
