"""Whether a network notices that it has not converged, and measures its outputs rightly: ``make bench-health``.

Twenty problems, two learners, three lengths of stream. The truth comes from exact SFA on the same samples, judged on
100,000 further ones, and from all samples of the last third of the stream. The limits of the warning were chosen on
these streams; ``python benchmarks/health.py SEED`` makes other ones.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from biosfa import SFA, BioSFA, OnlineSFA
from biosfa.estimators import NetworkEstimator
from convergence import PROBLEMS, Problem, make, subspace_slowness

LENGTHS = (1_000, 100_000, 1_000_000)
HELD_OUT = 100_000
CHUNK = 50_000
BAD, GOOD = 0.2, 0.05  # slowness above that of exact SFA


class Outcome(NamedTuple):
    """One run."""

    excess: float  # true, on further samples
    warned: bool
    reported: float  # constraint error
    true: float
    floor: float  # below which the sampling noise of the pairs hides it


def measure(problem: Problem, X: np.ndarray, n: int, net: NetworkEstimator, exact: float) -> Outcome:
    for begin in range(0, n, CHUNK):
        net.partial_fit(X[begin : min(n, begin + CHUNK)])
    excess = subspace_slowness(net.transform(X[n : n + HELD_OUT])) / exact - 1.0
    recent = X[n - n // 3 : n] - net.mean_
    V = np.linalg.solve(net.M_, net.W_) if isinstance(net, BioSFA) else net.components_
    outputs = recent @ V.T
    k = problem.k
    true = float(np.square(outputs.T @ outputs / len(outputs) - np.eye(k)).sum() / k)
    watch = net.watch()
    n_pairs = net._gauge.expanded(net._signal.expand).shape[0] // 2
    print(
        f"{problem.m:4}{k:4}{n:10,} {type(net).__name__:10} slowness larger by {excess:8.1%}; watch: larger by "
        f"{watch.excess:8.1%}, changes by {watch.change:7.1%}, constraint error {watch.constraint_error:8.2g} "
        f"({true:8.2g}){'  WARNS' if watch.warning else ''}",
        flush=True,
    )
    return Outcome(excess, watch.warning is not None, watch.constraint_error, true, 4 * (k + 1) / n_pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("seed", nargs="?", type=int, default=0, help="make other streams")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    outcomes = []
    for index, problem in enumerate(PROBLEMS):
        X = make(problem, LENGTHS[-1] + HELD_OUT, seed=index + 1000 * options.seed)
        for n in LENGTHS:
            exact = subspace_slowness(SFA(problem.k).fit(X[:n]).transform(X[n : n + HELD_OUT]))
            for kind in (OnlineSFA, BioSFA):
                outcomes.append(measure(problem, X, n, kind(problem.k, random_state=0), exact))
    bad = [each for each in outcomes if each.excess > BAD]
    good = [each for each in outcomes if each.excess <= GOOD]
    clear = [each for each in outcomes if each.true > each.floor]
    missed, false = sum(not each.warned for each in bad), sum(each.warned for each in good)
    right = sum(0.5 <= each.reported / each.true <= 2.0 for each in clear)
    print(f"\nslowness > {BAD:.0%} above that of exact SFA: {len(bad) - missed} of {len(bad)} warn (asked: 90%)")
    print(f"within {GOOD:.0%} of it: {false} of {len(good)} warn (asked: at most 5%)")
    print(f"constraint error within a factor 2, above 4(k + 1)/R: {right} of {len(clear)}")
    if options.json:
        figures = {"bad": (len(bad) - missed, len(bad)), "good": (false, len(good)), "clear": (right, len(clear))}
        options.json.write_text(json.dumps(figures), encoding="utf-8")
    sys.exit(0 if missed <= 0.1 * len(bad) and false <= 0.05 * len(good) else 1)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
