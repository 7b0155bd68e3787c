"""Tasks of experiments, and the folder that stores each result, so that a run can be stopped and resumed.

An output folder has ``config.json``, ``tasks/*.npz`` (one per finished task), and at the end ``metrics.json`` (numbers
only: the same bits for the same settings), ``timings.json``, ``curves.npz``, figures and ``report.html``.
"""

import hashlib
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from biosfa import __version__
from biosfa.estimators import NetworkEstimator, check_same, load_model, to_model
from biosfa.exceptions import ModelFileError, OutputError, UserError
from biosfa.experiments.engine._errors import ExperimentError
from biosfa.io.atomic import LOCK, litter, remove, replace_file
from biosfa.io.checkpoint import Checkpoint
from biosfa.io.model_file import damage_is_an_error
from biosfa.io.results import alone_in, check_own, replacing_results
from biosfa.typing import Advance, Arrays
from biosfa.wording import as_json

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Config = TypeVar("Config", bound="DataclassInstance")
Taken = TypeVar("Taken")

EXPERIMENT = "experiment"  # the command in the list of results, for all experiments: config.json tells them apart
FINISHED = "metrics.json"  # the result that a run without the option to resume replaces
SCRATCH = ".biosfa"  # the suffix of checkpoints of tasks
SECONDS = "__seconds__"  # the array of a result that has the time of the task
CHECKPOINT_SECONDS = 15.0  # seconds of a long task that may be lost


class Stopped(Exception):  # noqa: N818 (it is no error)
    """Raised inside a task when the run is to stop.

    Examples
    --------
    A long task may catch it to save its state, and must raise it again:

    >>> from biosfa.experiments.engine import Stopped
    >>> def task(report):
    ...     try:
    ...         report(1)
    ...     except Stopped:
    ...         print("saved")
    ...         raise
    """


@dataclass(frozen=True)
class Task:
    """An independent piece of work: a function and its arguments. It can be pickled.

    Attributes
    ----------
    name : str
        Name of the task and of the file with its result.
    steps : int
        Number of steps for the progress bar.
    function : callable
        Returns arrays. Its last argument is a function that it calls with the number of steps it has made.
    arguments : tuple
        The first arguments of the function.
    shared : tuple
        The arguments after these: large ones, which are the same objects in several tasks. Each worker of a cluster
        receives them once.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.experiments.engine import Task
    >>> def square(x, report):
    ...     report(1)
    ...     return {"square": np.array(x**2)}
    >>> Task("three", 1, square, (3,)).run(report=lambda steps: None)
    {'square': array(9)}
    """

    name: str
    steps: int
    function: Callable[..., Arrays]
    arguments: tuple[Any, ...] = ()
    shared: tuple[Any, ...] = ()

    def run(self, report: Advance) -> Arrays:
        """Run the task and return its arrays."""
        return self.function(*self.arguments, *self.shared, report)


@dataclass(frozen=True)
class Result:
    """The arrays that a task returned, and the seconds it took."""

    arrays: Arrays
    seconds: float


class RunFolder:
    """The output folder of a run.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from biosfa.experiments import chaotic
    >>> from biosfa.experiments.engine import RunFolder
    >>> with tempfile.TemporaryDirectory() as path:
    ...     folder = RunFolder(Path(path) / "results")
    ...     with folder.alone():
    ...         folder.begin("chaotic", chaotic.preset("quick"), resume=False)
    ...     (folder.path / "config.json").exists()
    True
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._has_old_results = False  # whether results of an earlier run were loaded

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock the folder, so that no other run can use it. The system removes the lock when the process ends.

        Raises
        ------
        ExperimentError
            If another run uses the folder, or if the folder cannot be made.
        """
        with ExitStack() as held:
            try:
                held.enter_context(alone_in(self.path))
            except OutputError as error:
                raise ExperimentError(str(error)) from None
            except OSError as error:
                raise ExperimentError(f"cannot write to {self.path}: {error.strerror}") from None
            yield

    @contextmanager
    def using_results(self) -> Iterator[None]:
        """Raise ExperimentError if stored results cause an error: their files are complete, but may hold anything."""
        try:
            yield
        except (UserError, OSError, MemoryError, Stopped):
            raise
        except Exception as error:
            if not self._has_old_results:
                raise
            raise ExperimentError(
                f"{self.path / 'tasks'} has results that cannot be used ({error!r}): remove that folder, or choose "
                "another folder with --out"
            ) from error

    def begin(self, experiment: str, config: Any, *, resume: bool, **inputs: str) -> None:
        """Prepare the folder, or check that an earlier run in it has the same settings and inputs.

        An unfinished run is resumed. The results of a finished run are removed, unless ``resume`` is true. Call this
        within :meth:`alone`.

        Raises
        ------
        ExperimentError
            If the folder has a run with other settings, or files that do not belong to an experiment.
        """
        given = json.loads(json.dumps({"experiment": experiment, "biosfa": __version__, **asdict(config), **inputs}))
        file = self.path / "config.json"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            ours = {self.path / LOCK, *litter(self.path)}
            if not file.exists() and set(self.path.iterdir()) - ours:
                raise ExperimentError(
                    f"{self.path} has files that do not belong to an experiment: choose another folder with --out"
                )
            if file.exists():
                found = json.loads(file.read_text(encoding="utf-8"))
                self._check_same(found if isinstance(found, dict) else {}, given)
            _refuse_link(file)
            check_own(self.path, EXPERIMENT, [FINISHED])
            for path in (self.path, self.path / "tasks"):
                for left_behind in litter(path) if path.exists() else []:
                    remove(left_behind)
            if not resume and (self.path / FINISHED).exists():  # an unfinished run is always resumed
                (self.path / FINISHED).unlink()
                self._remove_results()
            write_json(file, given)
        except OutputError as error:
            raise ExperimentError(str(error)) from None
        except ValueError:
            raise ExperimentError(
                f"{file} cannot be read: remove its folder, or choose another folder with --out"
            ) from None
        except OSError as error:
            raise ExperimentError(f"cannot write to {self.path}: {error.strerror}") from None

    def _check_same(self, found: dict[str, Any], given: dict[str, Any]) -> None:
        names = [name for name in {**found, **given} if found.get(name) != given.get(name)]
        if names:
            pairs = ", ".join(f"{name} was {found.get(name)!r} and is {given.get(name)!r}" for name in names)
            raise ExperimentError(
                f"{self.path} has a run with other settings ({pairs}): choose another folder with --out"
            )

    def _remove_results(self) -> None:
        """Remove the results of tasks and their checkpoints, but nothing else that is among them."""
        for file in (self.path / "tasks").glob("*"):
            if file.suffix == SCRATCH or _is_result(file):
                file.unlink()

    @contextmanager
    def replacing_results(self) -> Iterator[Path]:
        """Give an empty folder for numbers, figures and report, which at the end replace those of an earlier run.

        Raises
        ------
        ExperimentError
            If they would replace files that no run has written.
        """
        try:
            with replacing_results(self.path, EXPERIMENT) as new:
                yield new
        except OutputError as error:
            raise ExperimentError(str(error)) from None

    def load(self, task: Task) -> Result | None:
        """Return the stored result of a task and remove its checkpoint; return None if there is no result."""
        file = self._file(task)
        if not file.exists():
            return None
        try:
            with open(file, "rb") as content, np.load(content) as stored:
                if sum(entry.file_size for entry in stored.zip.infolist()) > file.stat().st_size:
                    return None  # results are not compressed
                arrays = {name: stored[name] for name in stored.files}
            result = Result(arrays, float(arrays.pop(SECONDS)))
        except Exception:  # the file is damaged and may hold anything: the task runs again
            return None
        self._has_old_results = True
        self._remove_checkpoints(task)  # a run that was killed just after it stored the result has left them
        return result

    def store(self, task: Task, result: Result) -> None:
        """Store the result of a task, and remove its checkpoint."""
        (self.path / "tasks").mkdir(exist_ok=True)
        _refuse_link(self._file(task))
        write_arrays(self._file(task), {**result.arrays, SECONDS: np.array(result.seconds)})
        self._remove_checkpoints(task)

    def _remove_checkpoints(self, task: Task) -> None:
        for path in (self.path / "tasks").glob(f"*{SCRATCH}"):
            if path.with_suffix("").stem == task.name:
                path.unlink(missing_ok=True)

    def scratch(self, task: str, kind: str) -> Path:
        """Return the path of a file in which a long task can keep its state while it runs."""
        (self.path / "tasks").mkdir(exist_ok=True)
        file = (self.path / "tasks" / f"{task}.{kind}{SCRATCH}").absolute()  # workers may run in other folders
        _refuse_link(file)
        return file

    def _file(self, task: Task) -> Path:
        return self.path / "tasks" / f"{task.name}.npz"


class NetworkCheckpoint:
    """A checkpoint of a network and its curves, from which a task that was killed resumes.

    Parameters
    ----------
    path : Path
        The file. There are no checkpoints on a worker of a cluster that does not have the folder of the file.
    owner : JSON data
        All that the result of the task depends on.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from biosfa import OnlineSFA
    >>> from biosfa.experiments.engine import NetworkCheckpoint
    >>> X = np.random.default_rng(0).standard_normal((100, 4))
    >>> net = OnlineSFA(2, random_state=0).partial_fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint = NetworkCheckpoint(Path(folder) / "net", owner="example")
    ...     checkpoint.save(net, lambda: {"steps": np.array([100])}, now=True)
    ...     kept, steps = checkpoint.load(OnlineSFA(2, random_state=0), lambda net, arrays: arrays["steps"])
    >>> kept.n_samples_seen_, steps
    (100, array([100]))
    """

    def __init__(self, path: Path, owner: Any) -> None:
        self._checkpoint = Checkpoint(path, [path.name, owner], every=CHECKPOINT_SECONDS)

    def load(
        self, wanted: NetworkEstimator, take: Callable[[NetworkEstimator, Arrays], Taken]
    ) -> tuple[NetworkEstimator, Taken] | None:
        """Return the network of the last checkpoint and the result of ``take``; None if there is no valid checkpoint.

        Parameters
        ----------
        wanted : estimator
            A network with the parameters that the stored one must have.
        take : callable
            Function that is called with the network and the stored arrays, and returns the curves.
        """
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
        """Write a checkpoint, if the last one is 15 seconds old or if ``now`` is true."""
        if (now or self._checkpoint.due()) and is_reachable(self._checkpoint.path):
            self._checkpoint.write({}, curves(), to_model(net, published=False))


def is_reachable(path: Path) -> bool:
    """Return whether a file can be here: a worker of a cluster may not have the folder of the run.

    Examples
    --------
    >>> from pathlib import Path
    >>> from biosfa.experiments.engine import is_reachable
    >>> is_reachable(Path("nowhere/tasks/a.network.biosfa"))
    False
    """
    return path.parent.is_dir()


def chosen_among(known: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Check the names of networks, and return them in the order of ``known``.

    Raises
    ------
    ExperimentError
        If there is no network of a name.

    Examples
    --------
    >>> from biosfa.experiments.engine import chosen_among
    >>> chosen_among(("bio", "online", "exact"), ["exact", "bio"])
    ('bio', 'exact')
    """
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ExperimentError(f"there is no network {unknown[0]!r}: choose among {', '.join(known)}")
    return tuple(name for name in known if name in names)


def changed(config: Config, **changes: Any) -> Config:
    """Return a copy of the settings with some fields changed. A value of None leaves the field as it is.

    Examples
    --------
    >>> from biosfa.experiments import chaotic
    >>> from biosfa.experiments.engine import changed
    >>> changed(chaotic.ChaoticSweepConfig(steps=1000), steps=2000, seed=None)
    ChaoticSweepConfig(steps=2000, seed=1)
    """
    return replace(config, **{field: value for field, value in changes.items() if value is not None})


def digest(arrays: Iterable[np.ndarray[Any, Any]]) -> str:
    """Return a digest of the content of arrays, which shows whether the files they come from have changed.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.experiments.engine import digest
    >>> digest([np.zeros(3)]) == digest([np.zeros(3)]), digest([np.zeros(3)]) == digest([np.ones(3)])
    (True, False)
    """
    content = hashlib.sha256()
    for array in arrays:
        content.update(repr(array.shape).encode() + array.tobytes())
    return content.hexdigest()[:16]


def _is_result(file: Path) -> bool:
    """Return whether a file is the result of a task."""
    try:
        with zipfile.ZipFile(file) as content:
            return file.suffix == ".npz" and f"{SECONDS}.npy" in content.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def _refuse_link(file: Path) -> None:
    """Raise ExperimentError if a file that a run writes is a link: it may point to anything."""
    if file.is_symlink():
        raise ExperimentError(f"{file} is a link, and links in a folder of results are not followed: remove it")


def write_json(path: Path, content: Any) -> None:
    """Write JSON data to a file atomically. The order of the keys is kept."""
    replace_file(path, lambda file: file.write((as_json(content, indent=2) + "\n").encode()))


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Write arrays to an ``.npz`` file atomically."""
    replace_file(path, lambda file: np.savez(file, allow_pickle=False, **arrays))
