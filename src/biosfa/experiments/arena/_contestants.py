"""The learners of the arena, each with its defaults: no rate is chosen for a problem."""

from collections.abc import Callable
from dataclasses import dataclass

from biosfa.estimators import SFA, BioSFA, LocalSFA, OnlineSFA, SlowFeatureEstimator
from biosfa.rivals import FoldiakTrace, IncrementalSFA, OnlineGEV
from biosfa.typing import Float64Array

EXACT = "exact"  # the smallest possible error


def read_features(learner: SlowFeatureEstimator) -> Float64Array | None:
    """Return the directions that a learner has found so far, or None."""
    directions: Float64Array | None = getattr(learner, "components_", None)
    return directions


@dataclass(frozen=True)
class Contestant:
    """A learner in the arena."""

    label: str
    build: Callable[[int, int], SlowFeatureEstimator]  # makes the learner from the number of features and a seed
    local: str = "no"  # whether each synapse uses only the activity of its two neurons
    remark: str = ""


CONTESTANTS: dict[str, Contestant] = {
    EXACT: Contestant("exact SFA", lambda k, seed: SFA(k), remark="Solves the eigenproblem of all samples so far."),
    "online": Contestant(
        "OnlineSFA",
        lambda k, seed: OnlineSFA(k, random_state=seed),
        remark="Follows the natural gradient; it learns C_xx from the stream.",
    ),
    "local": Contestant(
        "LocalSFA",
        lambda k, seed: LocalSFA(k, random_state=seed),
        local="yes, with feedback",
        remark="Lateral synapses among the inputs, and feedback through reciprocal synapses.",
    ),
    "input-layer": Contestant(
        "Bio-SFA, input layer",
        lambda k, seed: BioSFA(k, input_layer="auto", random_state=seed),
        local="yes",
        remark="The paper's Algorithm 1 behind an input layer that learns the covariance of the input.",
    ),
    "bio-sfa": Contestant(
        "Bio-SFA",
        lambda k, seed: BioSFA(k, random_state=seed),
        local="yes",
        remark="The paper's Algorithm 1 with automatic rates.",
    ),
    "reversible": Contestant(
        "Bio-SFA, reversible",
        lambda k, seed: BioSFA(k, rule="reversible", random_state=seed),
        local="yes",
        remark="The paper's Algorithm 2 with automatic rates. Finds the features of SFA only if the input is "
        "reversible in time.",
    ),
    "interneuron": Contestant(
        "Bio-SFA, interneurons",
        lambda k, seed: BioSFA(k, rule="interneuron", random_state=seed),
        local="yes",
        remark="The paper's circuit in which outputs inhibit each other through interneurons.",
    ),
    "nonnegative": Contestant(
        "Bio-SFA, y ≥ 0",
        lambda k, seed: BioSFA(k, rule="nonnegative", random_state=seed),
        local="yes",
        remark="Outputs cannot be negative, and divide the input among themselves. Its error here is that of the slow "
        "features that its weights span.",
    ),
    "incremental": Contestant(
        "Incremental SFA",
        lambda k, seed: IncrementalSFA(k, random_state=seed),
        remark="Kompella, Luciw & Schmidhuber (2012); whitens along all principal components.",
    ),
    "gev": Contestant(
        "online GEV",
        lambda k, seed: OnlineGEV(k, random_state=seed),
        local="first unit",
        remark="Zhang & Leung (2000), Malik et al. (2014). Each unit can converge only after the units before it.",
    ),
    "foldiak": Contestant(
        "Földiák's trace rule",
        lambda k, seed: FoldiakTrace(k, random_state=seed),
        local="yes",
        remark="Földiák (1991). Made for sparse input, for which units compete. On other input its features may not be "
        "slow.",
    ),
}
