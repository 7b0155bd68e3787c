"""Fitting a model to files, with checkpoints: killed at any moment, it goes on and ends with the same bits."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from biosfa.estimators import SFA, BioSFA, Fitting, OnlineSFA, SlowFeatureEstimator, load_model, to_model
from biosfa.exceptions import InputError
from biosfa.io import Stream, open_stream
from biosfa.io.atomic import remove_litter
from biosfa.io.model_file import Model, read_model, write_model
from biosfa.io.tables import STDIN, standard_input
from biosfa.presentation.progress import Progress
from biosfa.recordings._constants import ConstantColumns

KIND = "Fitting"  # what checkpoints are called in their files
PREFIX = "model."  # of the arrays of a model in them

# Learners that the command offers beside exact SFA.
NETWORKS: dict[str, type[OnlineSFA | BioSFA]] = {"online": OnlineSFA, "bio": BioSFA}


@dataclass(frozen=True)
class FitOptions:
    """What to fit to what; JSON data."""

    inputs: list[str]
    components: int
    solver: str = "exact"  # "exact", or one of NETWORKS
    pca: int | None = None
    expand: str | None = None
    delays: int = 1
    lag: int = 1
    epochs: int = 1
    seed: int = 0
    columns: list[str] | None = None
    time: str | None = None
    max_step: float | None = None
    episodes: int | str | list[int] | None = None
    missing: str = "raise"
    joined: bool = False

    def stream(self) -> Stream:
        """The samples."""
        return open_stream(
            standard_input() if self.inputs == [STDIN] else self.inputs,
            columns=self.columns,
            time=self.time,
            max_step=self.max_step,
            episodes=self.episodes,
            missing=self.missing,
            joined=self.joined,
        )

    def estimator(self) -> SlowFeatureEstimator:
        """What learns."""
        signal: dict[str, Any] = {
            "pca": self.pca,
            "expansion": self.expand,
            "n_delays": self.delays,
            "missing": self.missing,
        }
        if self.solver == "exact":
            return SFA(self.components, lag=self.lag, **signal)
        return NETWORKS[self.solver](self.components, n_epochs=self.epochs, random_state=self.seed, **signal)

    def check(self) -> None:
        """Raise ValueError for what does not go together."""
        if self.solver == "exact" and self.epochs > 1:
            raise ValueError("--epochs is for --solver online and --solver bio")
        if self.solver != "exact" and self.lag > 1:
            raise ValueError("--lag is for --solver exact")
        if self.max_step is not None and self.time is None:
            raise ValueError("--max-step needs --time")
        if self.inputs == [STDIN] and (self.pca is not None or self.epochs > 1):
            raise ValueError("standard input can be read only once: write it to a file first, for --pca or --epochs")


@dataclass
class Run:
    """A fit to files, under way."""

    options: FitOptions
    out: Path
    estimator: SlowFeatureEstimator
    stream: Stream
    fitting: Fitting
    constants: ConstantColumns
    stamps: list[list[int]]
    kept_rows: int = 0  # in the last checkpoint
    _saved: float = field(default_factory=time.monotonic)

    @classmethod
    def begin(cls, options: FitOptions, out: Path) -> "Run":
        """A new one."""
        options.check()
        check_target(out, options.inputs)
        estimator, stream = options.estimator(), options.stream()
        return cls(options, out, estimator, stream, Fitting.of(estimator, stream), ConstantColumns(), stream.stamps())

    def take_up(self, checkpoint: Model) -> "Run":
        """Go on from where a checkpoint of the same fit was."""
        settings = checkpoint.settings
        if settings["model"] is not None:
            kind, content = settings["model"]
            arrays = {
                name.removeprefix(PREFIX): array for name, array in checkpoint.arrays.items() if name.startswith(PREFIX)
            }
            self.estimator = load_model(str(checkpoint_of(self.out)), Model(kind, content, arrays))
            self.fitting = Fitting(self.estimator, self.stream)
        self.fitting.restore(settings["fitting"], checkpoint.arrays)
        self.kept_rows = self.fitting.n_rows
        self.constants = ConstantColumns.from_json(settings["constants"])
        return self

    def steps(self, checkpoint_every: float) -> Iterator[float]:
        """Learn chunk by chunk, and keep what was learned every so many seconds (0: never); yields the part done."""
        if checkpoint_every > 0:
            self.checkpoint()  # so that there is something to resume, and a disk that cannot be written to is noticed
        for chunk in self.fitting.steps():
            self.constants.add(chunk.samples)
            if checkpoint_every > 0 and time.monotonic() - self._saved > checkpoint_every:
                self.checkpoint()
            yield self.fraction()

    def fraction(self) -> float:
        """How much is done."""
        position = self.fitting.position
        part = 1.0 if position is None else self.stream.fraction(position)
        return min(1.0, (self.fitting.passes_made + part) / self.fitting.n_passes)

    def checkpoint(self) -> None:
        """Keep everything in one file."""
        scalars, arrays = self.fitting.state()
        settings: dict[str, Any] = {
            "options": asdict(self.options),
            "stamps": self.stamps,
            "fitting": scalars,
            "constants": self.constants.to_json(),
            "model": None,
        }
        if self.fitting.begun:
            model = to_model(self.estimator, published=False)
            settings["model"] = [model.kind, model.settings]
            arrays |= {PREFIX + name: array for name, array in model.arrays.items()}
        write_model(checkpoint_of(self.out), Model(KIND, settings, arrays))
        self._saved, self.kept_rows = time.monotonic(), self.fitting.n_rows

    def finish(self) -> None:
        """Write the model, with where it comes from, and remove the checkpoint."""
        model = to_model(self.estimator)
        origin = {
            "inputs": self.options.inputs,
            "n_rows": self.fitting.end.n_rows,
            "n_episodes": self.fitting.episodes.n_episodes,
            "constant_columns": [self.stream.feature_names[i] for i in self.constants.columns()],
        }
        write_model(self.out, Model(model.kind, {**model.settings, "origin": origin}, model.arrays))
        checkpoint_of(self.out).unlink(missing_ok=True)


def check_target(out: Path, inputs: list[str]) -> None:
    """Raise InputError if a file cannot be written to, or is one of those to be read."""
    if out.is_dir():
        raise InputError(f"{out} is a folder: give the name of a file with --out")
    if not out.absolute().parent.is_dir():
        raise InputError(f"the folder {out.absolute().parent} does not exist")
    sources = [Path(name.partition("::")[0]) for name in inputs if name != STDIN]
    if out.exists() and any(source.exists() and source.samefile(out) for source in sources):
        raise InputError(f"{out} is an input: choose another name with --out")


def checkpoint_of(out: Path) -> Path:
    """Where the checkpoints of a model are kept while it learns."""
    return out.with_name(out.name + ".checkpoint")


def begin(options: FitOptions, out: Path) -> Run:
    """A fit to files; one that goes on if there is a checkpoint of it."""
    run, path = Run.begin(options, out), checkpoint_of(out)
    if path.exists():
        kept = read_model(path)
        if kept.settings.get("options") == asdict(options) and kept.settings.get("stamps") == run.stamps:
            run.take_up(kept)
    return run


def resume(out: Path) -> Run:
    """A fit that was stopped, or killed, and goes on."""
    path = checkpoint_of(out)
    if not path.exists():
        state = "is finished" if out.exists() else "was never begun"
        raise InputError(f"there is nothing to resume: {out} {state}, and {path} does not exist")
    kept = read_model(path)
    if kept.kind != KIND:
        raise InputError(f"{path} is not a checkpoint")
    run = Run.begin(FitOptions(**kept.settings["options"]), out)
    if run.stamps != kept.settings["stamps"]:
        raise InputError(f"the input of {path} has changed since: fit it anew, or bring the old one back")
    return run.take_up(kept)


def work(run: Run, checkpoint_every: float) -> None:
    """Learn to the end, with progress and checkpoints, and write the model."""
    for path in (run.out, checkpoint_of(run.out)):
        remove_litter(path)
    resumable, n_before = run.options.inputs != [STDIN], run.fitting.n_rows
    # the products of a network are small: threads that share them only wait for one another
    limits = threadpool_limits(1) if run.options.solver != "exact" else nullcontext()
    with limits, Progress("fit", total=None, unit="samples") as progress, stop_between_steps() as stopped:
        try:
            for fraction in run.steps(checkpoint_every if resumable else 0.0):
                progress.reach(fraction, run.fitting.n_rows - n_before)
                if stopped():
                    if resumable:
                        run.checkpoint()
                    raise KeyboardInterrupt
        except (ValueError, MemoryError):
            if run.kept_rows == 0:  # nothing to go on with
                checkpoint_of(run.out).unlink(missing_ok=True)
            raise
    run.finish()


@contextmanager
def stop_between_steps() -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C wait for the end of a step, when everything can be kept; a second one does not wait."""
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
