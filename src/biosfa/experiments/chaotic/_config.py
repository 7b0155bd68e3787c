"""Settings of the experiment with the chaotic series, and the series."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from biosfa import metrics
from biosfa.datasets import DrivenLogisticMap, Variant, driven_logistic_map
from biosfa.estimators import BioSFA, LocalSFA, OnlineSFA
from biosfa.experiments.engine import changed, held
from biosfa.kernels.exact import Moments
from biosfa.learning import InverseTime
from biosfa.typing import Float64Array

# The authors' rates. Their grid search found "a = 4, b = −4"; these are exponents of ten.
LEARNING_RATE = InverseTime(a=1e4, b=1e-4)
TAU = 0.5
RULES = ("bio-sfa", "reversible")


class Automatic(NamedTuple):
    """A network whose rates nobody chose."""

    label: str
    kind: type[BioSFA | LocalSFA | OnlineSFA]


AUTOMATIC = {
    "auto": Automatic("paper's rule, automatic rates", BioSFA),
    "local": Automatic("LocalSFA", LocalSFA),
    "online": Automatic("OnlineSFA", OnlineSFA),
}


@dataclass(frozen=True)
class ChaoticConfig:
    """Settings of the experiment. Use :func:`preset` to make them.

    Attributes
    ----------
    preset : str
        Name of the preset.
    variant : {"code", "paper"}
        Constants of the series, as in :func:`biosfa.datasets.driven_logistic_map`.
    runs : int
        Number of networks per rule.
    seed : int
        Seed of the series.
    samples : int
        Length of the series, which is streamed repeatedly.
    steps : int
        Number of updates per network.
    series : int
        Number of series in the table of other series, with the seeds 0, 1, …
    offline_steps : int
        Number of steps of the offline algorithm.

    Examples
    --------
    >>> from biosfa.experiments import chaotic
    >>> chaotic.preset("quick").steps
    2000000
    """

    preset: str
    variant: Variant
    runs: int
    seed: int
    samples: int
    steps: int
    series: int
    offline_steps: int


# How fast a network converges depends on the series. For seeds 1, 2 and 3 the errors are within 0.7–1.4 times the range
# of the authors' ten runs on their series. Seed 0 converges faster and seed 4 slower. Seed 1 was made the default for
# this reason, after seeing seeds 0–4; the report shows all five.
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
    """Return the settings of a preset, with some fields changed. A value of None leaves the field as it is.

    Parameters
    ----------
    name : {"quick", "paper"}
        Name of the preset.
    **changes
        New values for fields of :class:`ChaoticConfig`.

    Examples
    --------
    >>> from biosfa.experiments import chaotic
    >>> chaotic.preset("paper", runs=2).runs
    2
    """
    return changed(PRESETS[name], **changes)


def others(config: ChaoticConfig) -> list[int]:
    """Return the seeds of the other series in the table."""
    return [seed for seed in range(config.series) if seed != config.seed]


@held(3)
def load(config: ChaoticConfig, seed: int) -> DrivenLogisticMap:
    """Make the series of a seed."""
    return driven_logistic_map(config.samples, variant=config.variant, random_state=seed)


@held(3)
def signal(config: ChaoticConfig, seed: int) -> tuple[Float64Array, Moments]:
    """Return the expanded signal of a series, and its moments."""
    X = load(config, seed).expanded()
    return X, metrics.moments(X)
