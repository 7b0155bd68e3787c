"""The one way experiments run: tasks side by side, each result kept on disk, so that a run can stop and go on.

An output folder has ``config.json``, ``tasks/*.npz`` (one a finished task), and at the end ``metrics.json`` (results
only: the same bits for the same configuration), ``timings.json``, ``curves.npz``, figures and ``report.html``.
"""

import hashlib
import json
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import joblib
import numpy as np

from biosfa import __version__
from biosfa.estimators import NetworkEstimator, check_same, load_model, to_model
from biosfa.exceptions import ModelFileError, OutputError, UserError
from biosfa.experiments.engine._errors import ExperimentError
from biosfa.io.atomic import LOCK, litter, remove, replace_file
from biosfa.io.checkpoint import Checkpoint
from biosfa.io.locks import locked
from biosfa.io.model_file import damage_is_an_error
from biosfa.presentation.progress import Progress
from biosfa.typing import Advance, Arrays

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Config = TypeVar("Config", bound="DataclassInstance")
Input = TypeVar("Input")
Taken = TypeVar("Taken")

CHECKPOINT_SECONDS = 15.0  # how much of a long task may be lost


class Stopped(Exception):  # noqa: N818 (it is no error)
    """Raised inside a task when the run is to stop."""


@dataclass(frozen=True)
class Task:
    """An independent piece of work with a result of its own: a value that can be pickled."""

    name: str
    steps: int  # its share of the progress bar
    function: Callable[..., Arrays]  # of the arguments, and of what is told of steps as they are made
    arguments: tuple[Any, ...] = ()

    def run(self, report: Advance) -> Arrays:
        """Do the work."""
        return self.function(*self.arguments, report)


@dataclass(frozen=True)
class Result:
    """What a task gave, and how long it took when it ran."""

    arrays: Arrays
    seconds: float


class RunFolder:
    """The output folder of a run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._has_old_results = False  # of a run before this one
        self._lock = path / LOCK

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Be the only run in this folder; the system lets it go when the process ends, however that comes.

        Raises
        ------
        ExperimentError
            If another run is at work in it, or if it cannot be made.
        """
        with ExitStack() as held:
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                held.enter_context(locked(self._lock, self.path))
            except OutputError as error:
                raise ExperimentError(str(error)) from None
            except OSError as error:
                raise ExperimentError(f"cannot write to {self.path}: {error.strerror}") from None
            yield

    @contextmanager
    def using_results(self) -> Iterator[None]:
        """Say so if results of a run before this one cannot be used: their files are whole, but may hold anything."""
        try:
            yield
        except (UserError, OSError, MemoryError, Stopped):
            raise
        except Exception as error:
            if not self._has_old_results:
                raise
            raise ExperimentError(
                f"{self.path / 'tasks'} has results that cannot be used, {error!r}: remove that folder, or choose "
                "another with --out"
            ) from error

    def begin(self, experiment: str, config: Any, *, resume: bool, **inputs: str) -> None:
        """Make the folder ready for this experiment, or find that it was begun with the same settings and inputs.

        A run that did not finish goes on where it was; one that did is made anew, unless it is to be resumed. To be
        called within :meth:`alone`.
        """
        given = json.loads(json.dumps({"experiment": experiment, "biosfa": __version__, **asdict(config), **inputs}))
        file = self.path / "config.json"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            ours = {self._lock, *litter(self.path)}
            if not file.exists() and set(self.path.iterdir()) - ours:
                raise ExperimentError(f"{self.path} has files that are not of an experiment: choose another with --out")
            if file.exists():
                found = json.loads(file.read_text())
                self._check_same(found if isinstance(found, dict) else {}, given)
            for path in (self.path, self.path / "tasks"):
                for left_behind in litter(path) if path.exists() else []:
                    remove(left_behind)
            if not resume and (self.path / "metrics.json").exists():  # an unfinished run goes on in any case
                (self.path / "metrics.json").unlink()
                shutil.rmtree(self.path / "tasks", ignore_errors=True)
            write_json(file, given)
        except ValueError:
            raise ExperimentError(f"{file} cannot be read: remove the folder, or choose another with --out") from None
        except OSError as error:
            raise ExperimentError(f"cannot write to {self.path}: {error.strerror}") from None

    def _check_same(self, found: dict[str, Any], given: dict[str, Any]) -> None:
        names = [name for name in {**found, **given} if found.get(name) != given.get(name)]
        if names:
            pairs = ", ".join(f"{name} was {found.get(name)!r} and is {given.get(name)!r}" for name in names)
            raise ExperimentError(f"{self.path} has a run with other settings ({pairs}): choose another with --out")

    def load(self, task: Task) -> Result | None:
        """The result of a task that has finished, if it has."""
        file = self._file(task)
        if not file.exists():
            return None
        try:
            with open(file, "rb") as content, np.load(content) as stored:
                if sum(entry.file_size for entry in stored.zip.infolist()) > file.stat().st_size:
                    return None  # results are not compressed
                arrays = {name: stored[name] for name in stored.files}
            result = Result(arrays, float(arrays.pop("__seconds__")))
            self._has_old_results = True
            return result
        except Exception:  # damaged, and may hold anything: run it again
            return None

    def store(self, task: Task, result: Result) -> None:
        """Keep the result of a task."""
        (self.path / "tasks").mkdir(exist_ok=True)
        write_arrays(self._file(task), {**result.arrays, "__seconds__": np.array(result.seconds)})
        for path in (self.path / "tasks").glob(f"{task.name}.*"):  # what it kept while it ran
            if path != self._file(task):
                path.unlink(missing_ok=True)

    def scratch(self, task: str, kind: str) -> Path:
        """A file that a long task keeps its state in while it runs."""
        (self.path / "tasks").mkdir(exist_ok=True)
        return self.path / "tasks" / f"{task}.{kind}.biosfa"

    def _file(self, task: Task) -> Path:
        return self.path / "tasks" / f"{task.name}.npz"


class NetworkCheckpoint:
    """A network and its curves so far, so that a run that was killed resumes within a task."""

    def __init__(self, path: Path) -> None:
        self._checkpoint = Checkpoint(path, path.name, every=CHECKPOINT_SECONDS)

    def load(
        self, wanted: NetworkEstimator, take: Callable[[NetworkEstimator, Arrays], Taken]
    ) -> tuple[NetworkEstimator, Taken] | None:
        """What was kept last, if it is whole: a network like the wanted one, and what ``take`` makes of it."""
        name = str(self._checkpoint.path)
        try:
            with damage_is_an_error(name):
                kept = self._checkpoint.read()
                if kept is None or kept.model is None:
                    return None
                net = load_model(name, kept.model)
                check_same(net, wanted)
                return net, take(net, kept.arrays)
        except (OSError, ModelFileError):
            return None

    def save(self, net: NetworkEstimator, curves: Callable[[], Arrays], *, now: bool = False) -> None:
        """Keep a network and its curves, if the last time was long enough ago, or now."""
        if now or self._checkpoint.due():
            self._checkpoint.write({}, curves(), to_model(net, published=False))


def run_tasks(folder: RunFolder, tasks: list[Task], *, jobs: int | None, title: str) -> dict[str, Result]:
    """Run the tasks that have no result yet, ``jobs`` at a time (by default one a core), and return all results.

    Ctrl-C ends the tasks at work and leaves the finished ones on disk.
    """
    results = {task.name: result for task in tasks if (result := folder.load(task)) is not None}
    left = [task for task in tasks if task.name not in results]
    stop = threading.Event()
    with Progress(title, total=sum(task.steps for task in tasks)) as progress:
        progress.skip(sum(task.steps for task in tasks if task.name in results))

        def report(steps: int) -> None:
            if stop.is_set():
                raise Stopped
            progress.advance(steps)

        def work(task: Task) -> tuple[str, Result]:
            begin = time.perf_counter()
            arrays = task.run(report)
            result = Result(arrays, time.perf_counter() - begin)
            folder.store(task, result)
            return task.name, result

        # threads: the kernels release the GIL, and the tasks share their data
        parallel = joblib.Parallel(
            n_jobs=jobs or joblib.cpu_count(), prefer="threads", return_as="generator_unordered", pre_dispatch="n_jobs"
        )
        try:
            results.update(parallel(joblib.delayed(work)(task) for task in left))
        except BaseException:
            stop.set()
            raise
    return {task.name: results[task.name] for task in tasks}


def held(maxsize: int) -> Callable[[Callable[..., Input]], "Held[Input]"]:
    """Decorate what makes the input that tasks share: made by the first that asks, while the others wait."""
    return lambda make: Held(make, maxsize)


class Held(Generic[Input]):
    """A function whose last results are held."""

    def __init__(self, make: Callable[..., Input], maxsize: int) -> None:
        self._make = lru_cache(maxsize)(make)
        self._lock = threading.Lock()

    def __call__(self, *arguments: Any) -> Input:
        with self._lock:
            return self._make(*arguments)

    def clear(self) -> None:
        """Hold nothing any more."""
        self._make.cache_clear()


def changed(config: Config, **changes: Any) -> Config:
    """A configuration with some fields changed; None leaves them."""
    return replace(config, **{field: value for field, value in changes.items() if value is not None})


def digest(arrays: Iterable[np.ndarray[Any, Any]]) -> str:
    """Of the content of arrays: tells whether files that they were read from have changed."""
    content = hashlib.sha256()
    for array in arrays:
        content.update(repr(array.shape).encode() + array.tobytes())
    return content.hexdigest()[:16]


def write_json(path: Path, content: Any) -> None:
    """Write JSON atomically, in a fixed order."""
    replace_file(path, lambda file: file.write((json.dumps(content, indent=2) + "\n").encode()))


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Write arrays atomically."""
    replace_file(path, lambda file: np.savez(file, allow_pickle=False, **arrays))
