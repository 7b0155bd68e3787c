"""What the experiment with the chaotic series runs, and the series."""

from dataclasses import dataclass
from typing import Any

from biosfa import metrics
from biosfa.datasets import DrivenLogisticMap, Variant, driven_logistic_map
from biosfa.estimators import BioSFA, OnlineSFA
from biosfa.experiments.engine import changed, held
from biosfa.kernels.exact import Moments
from biosfa.learning import InverseTime
from biosfa.typing import Float64Array

# The authors' rates: their grid search found "a = 4, b = −4", which are powers of ten.
LEARNING_RATE = InverseTime(a=1e4, b=1e-4)
TAU = 0.5
RULES = ("bio-sfa", "reversible")
TUNED: dict[str, type[BioSFA | OnlineSFA]] = {"auto": BioSFA, "online": OnlineSFA}  # no rate chosen by hand


@dataclass(frozen=True)
class ChaoticConfig:
    """What to run; :func:`preset` has the sensible ones."""

    preset: str
    variant: Variant
    runs: int  # networks of each rule
    seed: int  # of the series
    samples: int  # length of the series, which is streamed again and again
    steps: int  # updates of each network
    series: int  # the table of other series has those of seeds 0, 1, …, series − 1
    offline_steps: int


# How fast a network converges depends on the series. Of those of seeds 0–4, the errors of 1, 2 and 3 lie within
# 0.7–1.4 times the range of the authors' ten runs on theirs; 0 converges faster and 4 slower. Seed 1 was chosen as the
# default for that, after seeing all five; the report shows them all.
DEFAULT_SEED = 1
PRESETS = {
    "quick": ChaoticConfig(
        "quick", "code", runs=3, seed=DEFAULT_SEED, samples=100_000, steps=2_000_000, series=2, offline_steps=20_000
    ),
    "paper": ChaoticConfig(
        "paper",
        "code",
        runs=10,
        seed=DEFAULT_SEED,
        samples=1_000_000,
        steps=50_000_000,
        series=5,
        offline_steps=200_000,
    ),
}


def preset(name: str, **changes: Any) -> ChaoticConfig:
    """A preset, with some fields changed; None leaves them."""
    return changed(PRESETS[name], **changes)


def others(config: ChaoticConfig) -> list[int]:
    """Seeds of the table of series, less the one that all runs are on."""
    return [seed for seed in range(config.series) if seed != config.seed]


@held(3)
def load(config: ChaoticConfig, seed: int) -> DrivenLogisticMap:
    """The series of a seed."""
    return driven_logistic_map(config.samples, variant=config.variant, random_state=seed)


@held(3)
def signal(config: ChaoticConfig, seed: int) -> tuple[Float64Array, Moments]:
    """The expanded signal of a series, and its moments."""
    X = load(config, seed).expanded()
    return X, metrics.moments(X)
