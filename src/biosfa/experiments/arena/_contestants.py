"""Who takes part in the arena: every learner as its users would take it, with no rate chosen for a problem."""

from collections.abc import Callable
from dataclasses import dataclass

from biosfa.estimators import SFA, BioSFA, OnlineSFA, SlowFeatureEstimator
from biosfa.rivals import FoldiakTrace, IncrementalSFA, OnlineGEV
from biosfa.typing import Float64Array

EXACT = "exact"  # the floor


def read_features(learner: SlowFeatureEstimator) -> Float64Array | None:
    """The directions that a learner has found so far, if any."""
    directions: Float64Array | None = getattr(learner, "components_", None)
    return directions


@dataclass(frozen=True)
class Contestant:
    """A way to learn slow features from a stream."""

    label: str
    build: Callable[[int, int], SlowFeatureEstimator]  # from the number of features and a seed
    local: str = "no"  # whether each synapse learns from what its two neurons know
    remark: str = ""


CONTESTANTS: dict[str, Contestant] = {
    EXACT: Contestant("exact SFA", lambda k, seed: SFA(k), remark="The eigenproblem of all samples so far: the floor."),
    "online": Contestant(
        "OnlineSFA",
        lambda k, seed: OnlineSFA(k, random_state=seed),
        remark="The natural gradient: C_xx is learned from the stream.",
    ),
    "bio-sfa": Contestant(
        "Bio-SFA",
        lambda k, seed: BioSFA(k, random_state=seed),
        local="yes",
        remark="The paper's Algorithm 1, with automatic rates.",
    ),
    "reversible": Contestant(
        "Bio-SFA, reversible",
        lambda k, seed: BioSFA(k, rule="reversible", random_state=seed),
        local="yes",
        remark="Algorithm 2, with automatic rates; its optimum is that of SFA only where time has no direction.",
    ),
    "interneuron": Contestant(
        "Bio-SFA, interneurons",
        lambda k, seed: BioSFA(k, rule="interneuron", random_state=seed),
        local="yes",
        remark="Outputs inhibit one another by way of interneurons.",
    ),
    "nonnegative": Contestant(
        "Bio-SFA, y ≥ 0",
        lambda k, seed: BioSFA(k, rule="nonnegative", random_state=seed),
        local="yes",
        remark="Judged here by the slow features that its weights span, which is not what it is for: its outputs tile.",
    ),
    "incremental": Contestant(
        "Incremental SFA",
        lambda k, seed: IncrementalSFA(k, random_state=seed),
        remark="Kompella, Luciw & Schmidhuber (2012), whitening along all principal components.",
    ),
    "gev": Contestant(
        "online GEV",
        lambda k, seed: OnlineGEV(k, random_state=seed),
        local="first unit",
        remark="Zhang & Leung (2000), Malik et al. (2014); units after the first wait for those before them.",
    ),
    "foldiak": Contestant(
        "Földiák's trace rule",
        lambda k, seed: FoldiakTrace(k, random_state=seed),
        local="yes",
        remark="Földiák (1991). Made for sparse input, for which units compete; other input need not make it slow.",
    ),
}
