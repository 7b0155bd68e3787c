"""Measures time and memory per sample against the number of columns."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from biosfa.estimators import SlowFeatureEstimator, state_arrays
from biosfa.experiments.arena._contestants import CONTESTANTS, EXACT
from biosfa.kernels.exact import block_rows
from biosfa.rivals import IncrementalSFA
from biosfa.typing import Advance, Arrays

N_COMPONENTS = 10
SIZES = (100, 200, 500, 1000, 2000, 5000)
FEW_WHITENED = 50
ENTRIES = 4_000_000  # numbers in the array that is learned from at a time
PASSES = 3  # measurements, of which the fastest counts
FEWEST = 40  # smallest number of samples, for learners that need long per sample


@dataclass(frozen=True)
class Scaled:
    """A learner whose cost is measured."""

    label: str
    learner: str  # the contestant that gives the name and the colour
    warm_up: Callable[[int], int]  # samples until the cost per sample is constant, given the number of columns
    fewest: Callable[[int], int] = lambda m: FEWEST  # samples that are needed for a typical cost
    largest: int = SIZES[-1]  # largest number of columns
    build: Callable[[], SlowFeatureEstimator] | None = None  # None: as in the arena

    @property
    def one_method(self) -> bool:
        """Whether the method is the same for all numbers of columns, so that one exponent fits the times."""
        return self.learner not in ("online", "local", "input-layer")


SCALED: dict[str, Scaled] = {
    EXACT: Scaled("exact SFA, moments", EXACT, lambda m: 1, fewest=block_rows),
    **{
        name: Scaled(CONTESTANTS[name].label, name, lambda m: 200)
        for name in CONTESTANTS
        if name not in (EXACT, "incremental")
    },
    # each sample adds a principal component until there are m; with 5000 columns this would take an hour
    "incremental": Scaled(CONTESTANTS["incremental"].label, "incremental", lambda m: m + 1, largest=1000),
    "incremental-few": Scaled(
        f"Incremental SFA, {FEW_WHITENED} whitened",
        "incremental",
        lambda m: FEW_WHITENED + 1,
        build=lambda: IncrementalSFA(N_COMPONENTS, n_whitened=FEW_WHITENED, random_state=0),
    ),
}


def measure_scaling(name: str, steps: int, report: Advance) -> Arrays:
    """Return the seconds per sample, and the bytes kept between two samples, for white noise of 100 to 5,000 columns.

    ``steps`` is the number of steps for the progress bar.
    """
    scaled = SCALED[name]
    sizes = [m for m in SIZES if m <= scaled.largest]
    seconds, held = [], []
    for m in sizes:
        learner: Any = scaled.build() if scaled.build else CONTESTANTS[scaled.learner].build(N_COMPONENTS, 0)
        warm_up, fewest = scaled.warm_up(m), scaled.fewest(m)
        X = np.random.default_rng(0).standard_normal((max(warm_up, fewest, ENTRIES // m), m))
        learner.partial_fit(X[:warm_up])
        begin = time.perf_counter()
        learner.partial_fit(X[:fewest])
        few = time.perf_counter() - begin
        rows = X[: int(np.clip(fewest / few, fewest, len(X)))]  # as many as take about a second
        passes = []
        for _ in range(PASSES):
            begin = time.perf_counter()
            learner.partial_fit(rows)
            passes.append(time.perf_counter() - begin)
        seconds.append(min(passes) / len(rows))
        held.append(state_bytes(learner))
        report(steps // len(sizes))
    report(steps % len(sizes))
    return {"columns": np.array(sizes), "seconds": np.array(seconds), "bytes": np.array(held)}


def state_bytes(learner: Any) -> int:
    """Return the bytes that a learner keeps from one sample to the next."""
    return sum(array.nbytes for array in state_arrays(learner).values())


def summarize_scaling(measured: dict[str, Arrays]) -> dict[str, Any]:
    """Return the costs, and the exponents of m that fit them best."""
    return {
        name: {
            "label": SCALED[name].label,
            "columns": own["columns"].tolist(),
            "seconds_a_sample": own["seconds"].tolist(),
            "bytes": own["bytes"].tolist(),
            "exponent_of_time": exponent(own["columns"], own["seconds"]),
            "exponent_of_memory": exponent(own["columns"], own["bytes"]),
        }
        for name, own in measured.items()
    }


def exponent(columns: Any, cost: Any) -> float:
    """Return the slope of log cost against log columns, by least squares."""
    return float(np.polyfit(np.log(columns), np.log(cost), 1)[0])
