"""The paper's grid search over a, b and τ on the driven logistic map (appendix B.2)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from biosfa import metrics
from biosfa.cluster import Cluster
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
LONGEST_SERIES = 1_000_000  # longer runs repeat the series


@dataclass(frozen=True)
class ChaoticSweepConfig:
    """Settings of the grid search.

    Attributes
    ----------
    steps : int, default=1_000_000
        Number of updates per network.
    seed : int, default=1
        Seed of the series and of the weights.

    Examples
    --------
    >>> from biosfa.experiments.chaotic import ChaoticSweepConfig
    >>> ChaoticSweepConfig(steps=10_000)
    ChaoticSweepConfig(steps=10000, seed=1)
    """

    steps: int = 1_000_000
    seed: int = DEFAULT_SEED


def sweep(
    config: ChaoticSweepConfig,
    out: Path,
    *,
    jobs: int | None = None,
    resume: bool = False,
    cluster: Cluster | None = None,
) -> dict[str, Any]:
    """Run the grid search, write heat maps, numbers and a report to ``out``, and return the best setting.

    Parameters
    ----------
    config : ChaoticSweepConfig
        The settings.
    out : Path
        The output folder.
    jobs : int, optional
        Number of networks that learn at the same time; by default one per core.
    resume : bool, default=False
        Whether to keep the results of a finished run in the folder. An unfinished run is always resumed.
    cluster : Cluster, optional
        Cluster whose workers run the tasks, from :func:`biosfa.cluster.connected`; by default threads of this process.

    Examples
    --------
    >>> from pathlib import Path
    >>> from biosfa.experiments import chaotic
    >>> chaotic.sweep(chaotic.ChaoticSweepConfig(steps=10_000), Path("results"))  # doctest: +SKIP
    """
    text = SweepText(
        "Hyperparameters of the driven logistic map",
        f"The paper's grid: {len(GRID.settings())} settings of η = 1/(a + b t) and τ, with {config.steps:,} steps "
        "each.",
        "In the paper, a = 1e4, b = 1e-4 and τ = 0.5 are best after 5e7 steps. After fewer steps, larger rates are "
        "better.",
        f"biosfa sweep chaotic --steps {config.steps} --seed {config.seed}",
    )
    folder = RunFolder(out)
    with folder.alone():
        folder.begin("sweep chaotic", config, resume=resume)
        return run_sweep(folder, GRID, find_error, config, text, steps=config.steps, jobs=jobs, cluster=cluster)


@held(1)
def signal(config: ChaoticSweepConfig) -> tuple[Float64Array, Moments]:
    """Return the expanded series and its moments."""
    samples = min(config.steps + 1, LONGEST_SERIES)
    with threadpool_limits(1):  # sums must not depend on the number of threads
        X = driven_logistic_map(samples, random_state=config.seed).expanded()
        return X, metrics.moments(X)


def find_error(config: ChaoticSweepConfig, setting: dict[str, float]) -> float:
    """Return the error of one setting after all steps; NaN if it diverges, or if its rate is not below τ."""
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
