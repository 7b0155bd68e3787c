"""Fits a model to files, with checkpoints. A fit that is killed at any moment resumes and ends with the same bits."""

import math
import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from biosfa.cluster import Cluster
from biosfa.estimators import (
    ConstantColumns,
    Fitting,
    Learned,
    SlowFeatureEstimator,
    check_same,
    load_model,
    to_model,
)
from biosfa.exceptions import DivergenceError, InputError, ModelFileError
from biosfa.io import Stream, StreamOptions
from biosfa.io.atomic import remove_litter, writing
from biosfa.io.checkpoint import Checkpoint, Kept, read_checkpoint
from biosfa.io.model_file import Model, damage_is_an_error, write_model
from biosfa.io.tables import STDIN, standard_input
from biosfa.io.targets import check_target, destination, is_stream
from biosfa.presentation.progress import Progress
from biosfa.registry import ONLINE_SOLVERS, SOLVERS
from biosfa.signal import expanded_size
from biosfa.wording import counted


@dataclass(frozen=True)
class FitOptions:
    """The options of a fit, which can be written as JSON."""

    inputs: list[str]
    components: int
    solver: str = "exact"  # a key of SOLVERS
    pca: int | None = None
    expand: str | None = None
    delays: int = 1
    lag: int = 1
    ridge: float = 0.0
    epochs: int = 1
    seed: int = 0
    uneven: bool = False
    stream: StreamOptions = field(default_factory=StreamOptions)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> "FitOptions":
        """Restore the options from the JSON data of a checkpoint."""
        return cls(**{**content, "stream": StreamOptions(**content["stream"])})

    def open(self) -> Stream:
        """Open the inputs as one stream of samples."""
        options = self.stream
        if self.uneven and options.max_step is None:
            options = replace(options, max_step=math.inf)
        return options.open(standard_input(options.header) if self.inputs == [STDIN] else self.inputs)

    def estimator(self) -> SlowFeatureEstimator:
        """Return a new estimator with these options."""
        signal: dict[str, Any] = {
            "pca": self.pca,
            "expansion": self.expand,
            "n_delays": self.delays,
            "missing": self.stream.missing,
        }
        if self.solver in ONLINE_SOLVERS:
            signal |= {"n_epochs": self.epochs, "random_state": self.seed}
        else:
            signal |= {"lag": self.lag, "ridge": self.ridge}
        learner: SlowFeatureEstimator = SOLVERS[self.solver].load()(self.components, **signal)
        return learner

    def check_for_cluster(self) -> None:
        """Raise ValueError if a fit with these options cannot run on a cluster."""
        if self.solver in ONLINE_SOLVERS:
            raise ValueError("--scheduler is for --solver exact: an online learner sees all rows one after the other")
        if self.uneven:
            raise ValueError("--uneven cannot be used with --scheduler: leave out one of them")
        if self.inputs == [STDIN]:
            raise ValueError("standard input cannot be read by workers: for --scheduler, write it to a file first")

    def check(self) -> None:
        """Raise ValueError if options contradict each other."""
        online = self.solver in ONLINE_SOLVERS
        if not online and self.epochs > 1:
            raise ValueError(f"--epochs is for --solver {', '.join(ONLINE_SOLVERS)}")
        if online and self.lag > 1:
            raise ValueError("--lag is for --solver exact")
        if online and self.ridge > 0.0:
            raise ValueError("--ridge is for --solver exact")
        for option, given in (("--max-step", self.stream.max_step is not None), ("--uneven", self.uneven)):
            if given and self.stream.time is None:
                raise ValueError(f"{option} needs --time")
        if self.uneven and online:
            raise ValueError("--uneven is for --solver exact")
        for option, value in (("--lag", self.lag), ("--delays", self.delays)):
            if self.uneven and value != 1:
                raise ValueError(f"--uneven cannot be used with {option}: rows are not equally far apart in time")
        if self.inputs == [STDIN] and (self.pca is not None or self.epochs > 1):
            raise ValueError("standard input can be read only once: for --pca or --epochs, write it to a file first")


@dataclass
class Run:
    """A fit to files that is under way."""

    options: FitOptions
    out: Path
    estimator: SlowFeatureEstimator
    stream: Stream
    fitting: Fitting
    checkpoint: Checkpoint
    constants: ConstantColumns = field(default_factory=ConstantColumns)
    kept_rows: int = 0  # rows that the last checkpoint covers

    @classmethod
    def begin(cls, options: FitOptions, out: Path) -> "Run":
        """Begin a new fit."""
        options.check()
        estimator, stream = options.estimator(), options.open()
        check_components(estimator, stream)
        for path in (out, checkpoint_of(out)):
            check_target(path, stream.files())
        owner = {"options": asdict(options), "stamps": stream.stamps()}
        fitting = Fitting.of(estimator, stream, time=options.uneven)
        return cls(options, out, estimator, stream, fitting, Checkpoint(checkpoint_of(out), owner))

    def take_up(self, kept: Kept) -> "Run":
        """Resume from a checkpoint of the same fit.

        Raises
        ------
        ModelFileError
            If the checkpoint contradicts itself.
        """
        name = str(self.checkpoint.path)
        with damage_is_an_error(name):
            if kept.model is not None:
                loaded = load_model(name, kept.model)
                check_same(loaded, self.estimator)
                self.estimator, self.fitting = loaded, Fitting(loaded, self.stream, uneven=self.options.uneven)
            self.fitting.restore(kept.state["fitting"], kept.arrays)
            self.constants = ConstantColumns.from_json(kept.state["constants"], self.stream.n_features)
            next(self.stream.chunks(self.fitting.position), None)  # check that the input can be read from there
        self.kept_rows = self.fitting.n_rows
        return self

    def steps(self, checkpoint_every: float, cluster: Cluster | None = None) -> Generator[float]:
        """Learn step by step, write a checkpoint after every so many seconds (0: never), and yield the share done."""
        self.checkpoint.every = checkpoint_every
        if checkpoint_every > 0:
            self.keep()  # so that there is something to resume, and a disk that cannot be written to is noticed
        for _ in self._learning() if cluster is None else self._learning_on(cluster):
            last = self.fitting.about_to_finish  # the last step may take long
            if checkpoint_every > 0 and (last or self.checkpoint.due()):
                self.keep()
            yield self.fraction()

    def _learning(self) -> Iterator[None]:
        """Learn chunk by chunk."""
        for chunk in self.fitting.steps():
            if chunk is not None:
                self.constants.add(chunk.samples)
            yield

    def _learning_on(self, cluster: Cluster) -> Iterator[None]:
        """Learn section by section on a cluster."""
        from biosfa.recordings.scaling import fit_steps

        whole = Learned(self.fitting, depth=0, constants=self.constants)
        return fit_steps(self.options, self.stream, whole, cluster)

    def fraction(self) -> float:
        """Return the share of the fit that is done, from 0 to 1."""
        position = self.fitting.position
        part = 1.0 if position is None else self.stream.fraction(position)
        return min(1.0, (self.fitting.passes_made + part) / self.fitting.n_passes)

    def keep(self) -> None:
        """Write the checkpoint."""
        scalars, arrays = self.fitting.state()
        model = to_model(self.estimator, published=False) if self.fitting.begun else None
        self.checkpoint.write({"fitting": scalars, "constants": self.constants.to_json()}, arrays, model)
        self.kept_rows = self.fitting.n_rows

    def finish(self) -> None:
        """Write the model with the names of its inputs, and remove the checkpoint."""
        model = to_model(self.estimator)
        origin: dict[str, Any] = {
            "inputs": [Path(name).name for name in self.options.inputs],  # no paths of this machine
            "n_rows": self.fitting.end.n_rows,
            "n_episodes": self.fitting.episodes.n_episodes,
            "constant_columns": [self.stream.feature_names[i] for i in self.constants.columns()],
        }
        end, time = self.fitting.end, self.stream.reading.time
        if end.step is not None and time is not None:
            origin["step"] = {"time": time, "length": end.step, "dated": end.dated}
        write_model(self.out, Model(model.kind, {**model.settings, "origin": origin}, model.arrays))
        self.checkpoint.remove()


def check_components(estimator: SlowFeatureEstimator, stream: Stream) -> None:
    """Raise ValueError if a new estimator has more components than the input has (expanded) columns."""
    columns, wanted = stream.n_features, estimator.n_components or 1
    expanded = expanded_size(estimator.expansion, min(estimator.pca or columns, columns) * estimator.n_delays)
    if wanted > expanded:
        made = "" if expanded == columns else f", which make {counted(expanded, 'dimension')}"
        raise ValueError(f"--components {wanted} is too many: the input has {counted(columns, 'column')}{made}")


def checkpoint_of(out: Path) -> Path:
    """Return the path of the checkpoint of a model file."""
    return out.with_name(out.name + ".checkpoint")


@contextmanager
def alone_at(out: Path) -> Iterator[None]:
    """Lock a model file, so that no other run can fit it, and remove temporary files that killed runs left behind.

    Raises
    ------
    OutputError
        If another run is writing the file, or if it cannot be written.
    """
    with writing(out):
        if not is_stream(out):
            remove_litter(destination(checkpoint_of(out)))
        yield


def begin(options: FitOptions, out: Path, *, overwrite: bool = False) -> Run:
    """Begin a fit to files, or resume it if it has a checkpoint.

    Raises
    ------
    InputError
        If there is a checkpoint of another fit, and ``overwrite`` is false.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from biosfa.recordings import run
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/x.npy", np.random.default_rng(0).standard_normal((50, 3)))
    ...     fit = run.begin(run.FitOptions([f"{folder}/x.npy"], components=1), Path(f"{folder}/model"))
    ...     run.work(fit, checkpoint_every=30.0)
    ...     Path(f"{folder}/model").exists()
    True
    """
    run = Run.begin(options, out)
    path = run.checkpoint.path
    if overwrite or not path.exists():
        return run
    own = run.checkpoint.owner
    try:
        kept = read_checkpoint(path)
        if kept.owner == own:
            return run.take_up(kept)
    except ModelFileError as error:
        raise InputError(f"{error}. Discard the checkpoint with --overwrite, or choose another --out") from None
    if isinstance(kept.owner, dict) and kept.owner.get("options") == own["options"]:
        raise InputError(
            f"the input has changed since {path} was written: discard the checkpoint with --overwrite, or restore the "
            "old input"
        )
    raise InputError(
        f"{path} is the checkpoint of a fit with other settings or inputs: resume that fit with biosfa resume {out}, "
        "choose another --out, or discard the checkpoint with --overwrite"
    )


def resume(out: Path) -> Run:
    """Resume a fit that was stopped or killed.

    Raises
    ------
    InputError
        If there is no checkpoint, or if the input has changed.
    """
    path = checkpoint_of(out)
    if not path.exists():
        state = "is finished" if out.exists() else "has no checkpoint yet, so run the fit again"
        raise InputError(f"there is nothing to resume: {out} {state}; {path} does not exist")
    kept = read_checkpoint(path)
    with damage_is_an_error(str(path)):
        run = Run.begin(FitOptions.from_json(kept.owner["options"]), out)
    if run.options.inputs == [STDIN]:
        raise ModelFileError(f"{path} is damaged: a fit to standard input keeps no checkpoint")
    if run.checkpoint.owner["stamps"] != kept.owner.get("stamps"):  # its options may lack some that are newer
        raise InputError(
            f"the input has changed since {path} was written: fit again with --overwrite, or restore the old input"
        )
    return run.take_up(kept)


def work(run: Run, checkpoint_every: float, cluster: Cluster | None = None) -> None:
    """Finish a fit, with a progress bar and checkpoints, here or on a cluster, and write the model."""
    resumable, n_before = run.options.inputs != [STDIN] and not is_stream(run.out), run.fitting.n_rows
    # the matrix products of a network are small: with several threads they are slower
    limits = threadpool_limits(1) if run.options.solver in ONLINE_SOLVERS else nullcontext()
    steps = run.steps(checkpoint_every if resumable else 0.0, cluster)
    with limits, closing(steps):
        with Progress("fit", total=None, unit="samples") as progress, stop_between_steps() as stopped:
            try:
                for fraction in steps:
                    progress.reach(fraction, run.fitting.n_rows - n_before)
                    if stopped():
                        if resumable:
                            run.keep()
                        raise KeyboardInterrupt
                    if run.fitting.about_to_finish:
                        break
            except (ValueError, MemoryError, DivergenceError):
                if run.kept_rows == 0:  # nothing was learned that could be resumed
                    run.checkpoint.remove()
                raise
        with stop_at_once():
            try:
                for _ in steps:
                    pass
            except (ValueError, MemoryError):  # the same error would come again after a resume
                run.checkpoint.remove()
                raise
    run.finish()


@contextmanager
def stop_at_once() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the process at once: the eigenproblem does not return to Python until it is solved."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def stop_between_steps() -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C wait for the end of a step, so that a checkpoint can be written; a second Ctrl-C does not wait."""
    asked = False

    def ask(*_: object) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)
