"""The one way an experiment runs: tasks, then numbers, then figures and a report."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple

from threadpoolctl import threadpool_limits

from biosfa.experiments.engine._runner import Config, Result, RunFolder, Task, run_tasks, write_arrays, write_json
from biosfa.typing import Arrays

Results = dict[str, Result]  # by the name of the task


class Outcome(NamedTuple):
    """What an experiment leaves: ``metrics.json`` and ``timings.json``."""

    found: dict[str, Any]
    timings: dict[str, Any]


class Experiment(ABC, Generic[Config]):
    """An experiment with some settings. A subclass fills in what it runs, and what it makes of the results."""

    name: ClassVar[str]

    def __init__(self, config: Config) -> None:
        self.config = config

    def run(self, out: Path, *, jobs: int | None = None, resume: bool = False) -> Outcome:
        """Run what has no result yet, and leave figures, numbers and a report in ``out``."""
        begin = time.perf_counter()
        inputs = self.inputs()  # what is wrong with them is said before there is a folder
        folder = RunFolder(out)
        with folder.alone():
            folder.begin(self.name, self.config, resume=resume, **inputs)
            results: Results = {}
            with threadpool_limits(1), folder.using_results():  # sums must not depend on how many threads share them
                for stage in self.stages(folder):
                    results |= run_tasks(folder, stage(results), jobs=jobs, title=self.title())
                found, curves = self.summarize(results)
                timings = self.timings(results)
            write_arrays(out / "curves.npz", curves)
            write_json(out / "metrics.json", found)
            timings["wall_seconds"] = time.perf_counter() - begin
            write_json(out / "timings.json", timings)
            with folder.using_results():
                self.draw(out, results, curves, found, timings)
                self.report(out, found, timings)
        return Outcome(found, timings)

    @abstractmethod
    def title(self) -> str:
        """What the progress bar says."""

    def inputs(self) -> dict[str, str]:
        """Digests of what the experiment reads, so that a run of other input is not taken for its beginning."""
        return {}

    @abstractmethod
    def stages(self, folder: RunFolder) -> Sequence[Callable[[Results], list[Task]]]:
        """Tasks, in stages: each is given the results of those before it."""

    @abstractmethod
    def summarize(self, results: Results) -> tuple[dict[str, Any], Arrays]:
        """Numbers and curves; both the same, to the bit, for the same settings."""

    def timings(self, results: Results) -> dict[str, Any]:
        """How long things took: JSON data."""
        return {"task_seconds": {name: result.seconds for name, result in results.items()}}

    @abstractmethod
    def draw(self, out: Path, results: Results, curves: Arrays, found: dict[str, Any], timings: dict[str, Any]) -> None:
        """Draw the figures."""

    @abstractmethod
    def report(self, out: Path, found: dict[str, Any], timings: dict[str, Any]) -> None:
        """Write ``report.html``."""


def arrays_of(results: Results) -> dict[str, Arrays]:
    """What tasks gave, without how long they took."""
    return {name: result.arrays for name, result in results.items()}
