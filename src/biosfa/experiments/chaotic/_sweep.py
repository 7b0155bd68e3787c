"""The paper's grid search on the driven logistic map (appendix B.2): every a, b and τ."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from biosfa import metrics
from biosfa.datasets import driven_logistic_map
from biosfa.estimators import BioSFA
from biosfa.exceptions import DivergenceError
from biosfa.experiments.chaotic._config import DEFAULT_SEED
from biosfa.experiments.engine import Grid, RunFolder, SweepText, held, run_sweep
from biosfa.kernels.exact import Moments
from biosfa.learning import InverseTime
from biosfa.typing import Float64Array

GRID = Grid(
    ("a", "b", "tau"),
    ((1e2, 1e3, 1e4, 1e5), (1e-1, 1e-2, 1e-3, 1e-4), (0.01, 0.05, 0.1, 0.5, 1.0, 5.0)),
)
LONGEST_SERIES = 1_000_000  # longer runs stream the series again


@dataclass(frozen=True)
class ChaoticSweepConfig:
    """What to run."""

    steps: int = 1_000_000
    seed: int = DEFAULT_SEED


def sweep(config: ChaoticSweepConfig, out: Path, *, jobs: int | None = None, resume: bool = False) -> dict[str, Any]:
    """Run the grid, leave heat maps, numbers and a report in ``out``; returns the best setting."""
    text = SweepText(
        "Hyperparameters of the driven logistic map",
        f"The paper's grid: {len(GRID.settings())} settings of η = 1/(a + b t) and τ, {config.steps:,} steps each.",
        "The paper found a = 1e4, b = 1e-4, τ = 0.5 best after 5e7 steps; fewer steps favour larger rates.",
        f"biosfa sweep chaotic --steps {config.steps} --seed {config.seed}",
    )
    folder = RunFolder(out)
    with folder.alone():
        folder.begin("sweep chaotic", config, resume=resume)
        return run_sweep(folder, GRID, find_error, config, text, steps=config.steps, jobs=jobs)


@held(1)
def signal(config: ChaoticSweepConfig) -> tuple[Float64Array, Moments]:
    """The expanded series, and its moments."""
    samples = min(config.steps + 1, LONGEST_SERIES)
    with threadpool_limits(1):  # sums must not depend on how many threads share them
        X = driven_logistic_map(samples, random_state=config.seed).expanded()
        return X, metrics.moments(X)


def find_error(config: ChaoticSweepConfig, setting: dict[str, float]) -> float:
    """Error of one setting after all steps; NaN if it diverges, or if its rate is not below τ."""
    rate = InverseTime(setting["a"], setting["b"])
    if rate(1) >= setting["tau"]:
        return float("nan")
    X, moments = signal(config)
    net = BioSFA(1, learning_rate=rate, tau=setting["tau"], center=False, random_state=config.seed)
    left = config.steps
    try:
        while left > 0:
            net.partial_fit(X[: left + 1]).end_episode()
            left = config.steps - net.n_updates_
    except DivergenceError:
        return float("nan")
    return float(metrics.slowness_error(net.W_, moments))
