"""What a comparison runs."""

from dataclasses import dataclass
from pathlib import Path

from biosfa.experiments.arena._contestants import CONTESTANTS, EXACT
from biosfa.experiments.arena._problems import KINDS
from biosfa.experiments.engine import (
    ExperimentError,
)

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
    columns: tuple[str, ...] | None = None
    time: str | None = None
    episodes: int | str | tuple[int, ...] | None = None


def configure(
    problem: str,
    *,
    components: int | None = None,
    samples: int | None = None,
    runs: int = 5,
    seed: int = 0,
    learners: list[str] | None = None,
    scaling: bool = True,
    columns: list[str] | None = None,
    time: str | None = None,
    episodes: int | str | list[int] | None = None,
) -> CompareConfig:
    """Settings of a comparison, checked; columns, time and episodes say how a file is to be read."""
    learners = [name.strip() for names in learners or () for name in names.split(",")]
    unknown = [name for name in learners if name not in CONTESTANTS]
    if unknown:
        raise ExperimentError(f"there is no learner {unknown[0]!r}: choose among {', '.join(CONTESTANTS)}")
    kind = KINDS.get(problem)
    if kind is None and not Path(problem.split("::")[0]).exists():
        raise ExperimentError(f"there is no problem or file {problem!r}: choose {', '.join(KINDS)}, or give a file")
    if kind is not None and (columns or time or episodes):
        raise ExperimentError(f"columns, time and episodes are those of a file; {problem!r} is made from a seed")
    return CompareConfig(
        problem=problem if kind else str(Path(problem).absolute()),
        components=components or (kind.n_components if kind else FILE_COMPONENTS),
        samples=samples or (kind.n_samples if kind else FILE_SAMPLES),
        runs=runs,
        seed=seed,
        learners=tuple(name for name in CONTESTANTS if not learners or name in learners or name == EXACT),
        scaling=scaling,
        columns=tuple(columns) if columns else None,
        time=time,
        episodes=tuple(episodes) if isinstance(episodes, list) else episodes,
    )
