"""The base class of experiments: it runs tasks, then computes numbers, then draws figures and writes a report."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple

from threadpoolctl import threadpool_limits

from biosfa.cluster import Cluster
from biosfa.experiments.engine._inputs import fresh_inputs
from biosfa.experiments.engine._runner import FINISHED, Config, Result, RunFolder, Task, write_arrays, write_json
from biosfa.experiments.engine._scheduling import run_tasks
from biosfa.typing import Arrays

Results = dict[str, Result]  # by the name of the task


class Outcome(NamedTuple):
    """The results of an experiment.

    Attributes
    ----------
    found : dict
        The content of ``metrics.json``: the same for the same settings.
    timings : dict
        The content of ``timings.json``.

    Examples
    --------
    >>> from biosfa.experiments.engine import Outcome
    >>> found, timings = Outcome({"total": 6}, {"wall_seconds": 0.1})
    """

    found: dict[str, Any]
    timings: dict[str, Any]


class Experiment(ABC, Generic[Config]):
    """Base class of experiments. A subclass defines the tasks, the numbers, the figures and the report.

    Parameters
    ----------
    config : dataclass
        The settings.

    Examples
    --------
    >>> import tempfile
    >>> from dataclasses import dataclass
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from biosfa.experiments.engine import Experiment, Task
    >>> @dataclass(frozen=True)
    ... class Config:
    ...     n: int
    >>> def total(n, report):
    ...     report(1)
    ...     return {"total": np.array(sum(range(n)))}
    >>> class Sums(Experiment[Config]):
    ...     name = "sums"
    ...     def title(self):
    ...         return "sums"
    ...     def stages(self, folder):
    ...         return [lambda results: [Task("first", 1, total, (self.config.n,))]]
    ...     def summarize(self, results):
    ...         return {"total": int(results["first"].arrays["total"])}, {}
    ...     def draw(self, out, results, curves, found, timings):
    ...         pass
    ...     def report(self, out, found, timings):
    ...         pass
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(Sums(Config(n=4)).run(Path(folder) / "results").found)
    {'total': 6}
    """

    name: ClassVar[str]

    def __init__(self, config: Config) -> None:
        self.config = config

    def run(
        self, out: Path, *, jobs: int | None = None, resume: bool = False, cluster: Cluster | None = None
    ) -> Outcome:
        """Run all tasks that have no result yet, and write numbers, figures and a report to ``out``.

        Parameters
        ----------
        out : Path
            The output folder.
        jobs : int, optional
            Number of tasks that run at the same time; by default one per core.
        resume : bool, default=False
            Whether to keep the results of a finished run in the folder. An unfinished run is always resumed.
        cluster : Cluster, optional
            Cluster whose workers run the tasks, from :func:`biosfa.cluster.connected`; by default threads of this
            process.

        Returns
        -------
        Outcome
        """
        begin = time.perf_counter()
        with threadpool_limits(1):  # sums must not depend on the number of threads
            inputs = self.inputs()  # errors in the inputs are reported before the folder is made
        folder = RunFolder(out)
        with folder.alone(), fresh_inputs(cluster):
            folder.begin(self.name, self.config, resume=resume, **inputs)
            results: Results = {}
            with threadpool_limits(1), folder.using_results():
                for stage in self.stages(folder):
                    results |= run_tasks(folder, stage(results), jobs=jobs, title=self.title(), cluster=cluster)
                found, curves = self.summarize(results)
                timings = self.timings(results)
            timings["wall_seconds"] = time.perf_counter() - begin
            with folder.using_results(), folder.replacing_results() as new:
                write_arrays(new / "curves.npz", curves)
                write_json(new / FINISHED, found)
                write_json(new / "timings.json", timings)
                self.draw(new, results, curves, found, timings)
                self.report(new, found, timings)
        return Outcome(found, timings)

    @abstractmethod
    def title(self) -> str:
        """Return the text of the progress bar."""

    def inputs(self) -> dict[str, str]:
        """Return digests of the inputs, so that a run with other input is not resumed by mistake."""
        return {}

    @abstractmethod
    def stages(self, folder: RunFolder) -> Sequence[Callable[[Results], list[Task]]]:
        """Return the stages: functions that receive the results of earlier stages and return tasks."""

    @abstractmethod
    def summarize(self, results: Results) -> tuple[dict[str, Any], Arrays]:
        """Return the numbers for ``metrics.json`` and the curves for ``curves.npz``.

        The same settings give the same bits.
        """

    def timings(self, results: Results) -> dict[str, Any]:
        """Return the times that the tasks took, as JSON data."""
        return {"task_seconds": {name: result.seconds for name, result in results.items()}}

    @abstractmethod
    def draw(self, out: Path, results: Results, curves: Arrays, found: dict[str, Any], timings: dict[str, Any]) -> None:
        """Draw the figures."""

    @abstractmethod
    def report(self, out: Path, found: dict[str, Any], timings: dict[str, Any]) -> None:
        """Write ``report.html``."""


def arrays_of(results: Results) -> dict[str, Arrays]:
    """Return the arrays of all results, without their times.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.experiments.engine import arrays_of
    >>> from biosfa.experiments.engine._runner import Result
    >>> arrays_of({"first": Result({"total": np.array(6)}, seconds=0.1)})
    {'first': {'total': array(6)}}
    """
    return {name: result.arrays for name, result in results.items()}
