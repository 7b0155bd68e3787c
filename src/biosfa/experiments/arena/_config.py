"""What a comparison runs."""

from dataclasses import dataclass, replace
from pathlib import Path

from biosfa.experiments.arena._contestants import CONTESTANTS, EXACT
from biosfa.experiments.arena._problems import FILE_OPTIONS, KINDS, Problem, load_problem
from biosfa.experiments.engine import ExperimentError, held
from biosfa.io import StreamOptions

FILE_COMPONENTS, FILE_SAMPLES = 3, 1_000_000  # of a problem that is a file: features, and rows at most


@dataclass(frozen=True)
class CompareConfig:
    """What to run; :func:`configure` fills in what a problem has by default."""

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
    """Settings of a comparison, checked; ``stream`` says how a file is to be read."""
    learners = [name.strip() for names in learners or () for name in names.split(",")]
    unknown = [name for name in learners if name not in CONTESTANTS]
    if unknown:
        raise ExperimentError(f"there is no learner {unknown[0]!r}: choose among {', '.join(CONTESTANTS)}")
    kind = KINDS.get(problem)
    if kind is None and not Path(problem.split("::")[0]).exists():
        raise ExperimentError(f"there is no problem or file {problem!r}: choose {', '.join(KINDS)}, or give a file")
    options = replace(stream or FILE_OPTIONS, missing="break")
    if kind is not None and options != FILE_OPTIONS:
        raise ExperimentError(f"columns, time and episodes are those of a file; {problem!r} is made from a seed")
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
    """The problem of a seed; of a file, the same for all."""
    return problems(config, seed if config.problem in KINDS else 0)


@held(2)
def problems(config: CompareConfig, seed: int) -> Problem:
    """The problem of a seed, loaded."""
    return load_problem(config.problem, config.samples, config.components, seed, config.stream)
