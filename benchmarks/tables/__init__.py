"""The tables of measured numbers in README and docs: what is run for each, and how its rows follow from the results."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tables import arena, experiments, programs
from tables.sources import SOURCES, Results, Source

__all__ = ["SOURCES", "TABLES", "Results", "Source", "Table"]

Rows = list[list[str]]


@dataclass(frozen=True)
class Table:
    """A table of numbers: the sources that it is made from, and its content."""

    about: str
    sources: tuple[str, ...]
    make: Callable[[Mapping[str, Results]], Rows]
    """Makes the rows from the results of the sources; the first row has the names of the columns."""


TABLES = {
    "arena-summary": Table(
        "Relative error at the end, medians of five runs, and cost per sample",
        ("compare-mixture", "compare-chaotic", "compare-images-small"),
        arena.summary,
    ),
    "arena-mixture": Table("All learners on three slow sources", ("compare-mixture",), arena.mixture),
    "arena-images": Table("All learners on moving images", ("compare-images-small",), arena.images),
    "arena-scaling": Table("Cost per sample against columns", ("compare-mixture",), arena.scaling),
    "chaotic-errors": Table(
        "Error of the paper's networks on the driven logistic map, median of 10 runs",
        ("reproduce-chaotic",),
        experiments.chaotic,
    ),
    "chaotic-rates": Table(
        "Greatest error over 5 series with 2 networks each, one pass", ("convergence",), programs.chaotic_rates
    ),
    "images-units": Table(
        "Complex-cell numbers, medians over 49 units, three runs on dead leaves",
        ("reproduce-images",),
        experiments.images,
    ),
    "rat-units": Table("Place cells of 10,000 frames, first seed", ("reproduce-rat",), experiments.rat),
    "rat-walks": Table("Cells that form on the walks of real rats, 10,000 frames", ("walks",), experiments.walks),
    "local-mixtures": Table(
        "Slowness above that of exact SFA after 100,000 samples, on new samples",
        ("convergence", "convergence-1"),
        programs.mixtures,
    ),
    "local-chaotic": Table(
        "Greatest error on the driven logistic map over 5 series with 2 networks each",
        ("convergence",),
        programs.local_chaotic,
    ),
    "local-ideas": Table("Ideas for LocalSFA where it is weak", ("ideas",), programs.ideas),
    "local-limits": Table("What LocalSFA does at its limits", ("limits",), programs.limits),
    "health": Table(
        "How often watch() warns, and whether it measures rightly", ("health", "health-1"), programs.health
    ),
    "monitoring-tep": Table(
        "A monitor of slow features on the Tennessee Eastman benchmark", ("monitoring-tep",), programs.monitoring
    ),
    "monitoring-simulated": Table(
        "Limits, verdicts and contributions of a monitor on simulated data", ("monitoring",), programs.monitoring
    ),
    "scaling": Table(
        "Exact SFA of 4 GB of Parquet files, 10,000,000 rows × 50 columns", ("scaling",), programs.targets
    ),
    "choosing": Table(
        "Intervals, chance and the recommended number of features on simulated data", ("choosing",), programs.targets
    ),
    "exporting": Table("Exported models in ONNX Runtime, one thread", ("exporting",), programs.targets),
    "soak": Table("Memory, time per sample and error on an endless stream", ("soak",), programs.soak),
    "speed": Table("Cost per sample, one thread", ("bench",), programs.speed),
    "speed-summary": Table("Cost per sample, one thread, in short", ("bench",), programs.speed_summary),
}
