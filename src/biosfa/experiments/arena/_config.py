"""Settings of a comparison."""

from dataclasses import dataclass, replace
from pathlib import Path

from biosfa.experiments.arena._contestants import CONTESTANTS, EXACT
from biosfa.experiments.arena._problems import FILE_OPTIONS, KINDS, Problem, load_problem
from biosfa.experiments.engine import ExperimentError, held
from biosfa.io import StreamOptions

FILE_COMPONENTS, FILE_SAMPLES = 3, 1_000_000  # defaults for files: number of features, and largest number of rows


@dataclass(frozen=True)
class CompareConfig:
    """Settings of a comparison. Use :func:`configure` to make them.

    Attributes
    ----------
    problem : str
        Name of a problem, or path of a file.
    components : int
        Number of slow features.
    samples : int
        Length of the stream.
    runs : int
        Number of runs.
    seed : int
        Seed of the first run.
    learners : tuple of str
        Names of the learners.
    scaling : bool
        Whether to measure time and memory against the number of columns.
    stream : StreamOptions
        How a file is read.

    Examples
    --------
    >>> from biosfa.experiments import arena
    >>> arena.configure("chaotic").components
    1
    """

    problem: str
    components: int
    samples: int
    runs: int
    seed: int
    learners: tuple[str, ...]
    scaling: bool
    stream: StreamOptions = FILE_OPTIONS


def configure(
    problem: str,
    *,
    components: int | None = None,
    samples: int | None = None,
    runs: int = 5,
    seed: int = 0,
    learners: list[str] | None = None,
    scaling: bool = True,
    stream: StreamOptions | None = None,
) -> CompareConfig:
    """Check the settings of a comparison, and fill in the defaults of its problem.

    Parameters
    ----------
    problem : str
        "mixture", "chaotic", "images-small", or the path of a file.
    components, samples : int, optional
        Number of slow features, and length of the stream; by default those of the problem.
    runs : int, default=5
        Number of runs.
    seed : int, default=0
        Seed of the first run.
    learners : list of str, optional
        Names of the learners; by default all. Exact SFA always takes part.
    scaling : bool, default=True
        Whether to measure time and memory against the number of columns.
    stream : StreamOptions, optional
        How a file is read.

    Raises
    ------
    ExperimentError
        If there is no such problem, file or learner.

    Examples
    --------
    >>> from biosfa.experiments import arena
    >>> config = arena.configure("mixture", learners=["online"])
    >>> config.learners, config.components, config.samples
    (('exact', 'online'), 3, 1000000)
    """
    learners = [name.strip() for names in learners or () for name in names.split(",")]
    unknown = [name for name in learners if name not in CONTESTANTS]
    if unknown:
        raise ExperimentError(f"there is no learner {unknown[0]!r}: choose among {', '.join(CONTESTANTS)}")
    kind = KINDS.get(problem)
    if kind is None and not Path(problem.split("::")[0]).exists():
        raise ExperimentError(f"there is no problem or file {problem!r}: choose {', '.join(KINDS)}, or give a file")
    options = replace(stream or FILE_OPTIONS, missing="break")
    if kind is not None and options != FILE_OPTIONS:
        raise ExperimentError(f"columns, time and episodes can be given only for a file, and {problem!r} is not a file")
    return CompareConfig(
        problem=problem if kind else str(Path(problem).absolute()),
        components=components or (kind.n_components if kind else FILE_COMPONENTS),
        samples=samples or (kind.n_samples if kind else FILE_SAMPLES),
        runs=runs,
        seed=seed,
        learners=tuple(name for name in CONTESTANTS if not learners or name in learners or name == EXACT),
        scaling=scaling,
        stream=options,
    )


def problem_of(config: CompareConfig, seed: int) -> Problem:
    """Return the problem of a seed. A file gives the same problem for all seeds."""
    return problems(config, seed if config.problem in KINDS else 0)


@held(2)
def problems(config: CompareConfig, seed: int) -> Problem:
    """Load the problem of a seed."""
    return load_problem(config.problem, config.samples, config.components, seed, config.stream)
