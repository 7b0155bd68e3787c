"""What LocalSFA does at its limits: ``python benchmarks/limits.py``, some minutes.

Each row is a stream of the section "Limits" of docs/inside/local-and-fast.md. The figures are the slowness above that
of exact SFA on new samples, the worst of two networks, after 100,000 samples, or 100,000 samples after the change.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from biosfa import SFA, LocalSFA, OnlineSFA, metrics
from biosfa.kernels.exact import slow_directions
from convergence import SAMPLES, Problem, make, subspace_slowness

K = 3
ORDINARY = Problem(10, K, 1e2, (100, 20), (3, 1))
ONLINE: dict[str, Callable[..., Any]] = {"LocalSFA": LocalSFA, "OnlineSFA": OnlineSFA}


def excess(net: Any, seen: np.ndarray, new: np.ndarray) -> float:
    """Slowness of what a network gives for new samples, above that of exact SFA of samples of the same kind."""
    return subspace_slowness(net.transform(new)) / subspace_slowness(SFA(K).fit(seen).transform(new)) - 1


def worst(build: Callable[..., Any], **parameters: Any) -> Callable[[np.ndarray, np.ndarray, np.ndarray], float]:
    """The worst of two networks that learn one stream, compared with exact SFA of another."""

    def found(stream: np.ndarray, like: np.ndarray, new: np.ndarray) -> float:
        nets = (build(K, random_state=seed, **parameters).partial_fit(stream) for seed in range(2))
        return max(excess(net, like, new) for net in nets)

    return found


def late_columns() -> Iterator[tuple[str, dict[str, float]]]:
    """Three of ten columns begin to vary when units are already known, and in other units than the others."""
    X = make(ORDINARY, 3 * SAMPLES, seed=0)
    for factor in (1.0, 1e4, 1e-4, 1e-6):
        like = X * np.where(np.arange(X.shape[1]) < 3, factor, 1.0)
        stream, new = np.split(like, [2 * SAMPLES])
        stream = stream[: 10_000 + SAMPLES].copy()
        stream[:10_000, :3] = stream[10_000, :3]
        unit = "" if factor == 1.0 else f", with a standard deviation of {factor:.0e} of that of the others"
        title = f"three of ten columns vary only after 10,000 samples{unit}"
        yield title, {name: worst(build)(stream, like[: 2 * SAMPLES], new) for name, build in ONLINE.items()}


def gains() -> Iterator[tuple[str, dict[str, float]]]:
    """The gain of all columns falls or rises."""
    X = make(ORDINARY, 3 * SAMPLES, seed=0)
    for gain in (1e3, 1e-3, 1e-5, 1e-6):
        before, after, new = X[:SAMPLES], gain * X[SAMPLES : 2 * SAMPLES], gain * X[2 * SAMPLES :]
        stream = np.concatenate([before, after])
        networks = {name: worst(build, forget=10_000) for name, build in ONLINE.items()}
        found = {name: network(stream, after, new) for name, network in networks.items()}
        yield f"the gain becomes {gain:.0e} of what it was; `forget=10_000`", found


def offsets() -> Iterator[tuple[str, dict[str, float]]]:
    """Without centring. The yardstick is exact SFA with ⟨xxᵀ⟩ in place of the covariance."""
    signal = make(ORDINARY, 2 * SAMPLES, seed=0)
    signal -= signal.mean(axis=0)
    direction = signal.std(axis=0) * np.random.default_rng(1).choice([-1.0, 1.0], signal.shape[1])
    for offset in (1.0, 1e3, 1e6):
        X = signal + offset * direction
        seen, new = np.split(X, 2)
        found = {}
        for name, build in ONLINE.items():
            nets = (build(K, center=False, random_state=seed).fit(seen) for seed in range(2))
            found[name] = max(uncentred_excess(net.components_, seen, new) for net in nets)
        yield f"`center=False`, an offset of {offset:,.0f} standard deviations", found


def uncentred_excess(V: np.ndarray, seen: np.ndarray, new: np.ndarray) -> float:
    """Slowness of features above that of exact SFA, both with ⟨xxᵀ⟩ in place of the covariance."""

    def moments(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return X.T @ X / len(X), metrics.moments(X).difference_covariance

    C, D = moments(new)
    within = [slow_directions(W @ C @ W.T, W @ D @ W.T) for W in (V, slow_directions(*moments(seen)).directions[:K])]
    return float(within[0].delta_values.sum() / within[1].delta_values.sum() - 1)


def columns() -> Iterator[tuple[str, dict[str, float]]]:
    """More columns than interneurons, ill-conditioned in more directions than they can represent."""
    for condition in (1e1, 1e3):
        X = make(Problem(600, K, condition, (200, 50), (3, 1)), 2 * SAMPLES, seed=3)
        seen, new = np.split(X, 2)
        found = {name: worst(build)(seen, seen, new) for name, build in ONLINE.items()}
        found['LocalSFA(input_layer="lateral")'] = worst(LocalSFA, input_layer="lateral")(seen, seen, new)
        yield f"600 columns, condition number {condition:,.0f}", found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    figures = {}
    for part in (late_columns, gains, offsets, columns):
        for case, found in part():
            figures[case] = found
            print(f"{case}:", ", ".join(f"{name} {100 * value:.2g}%" for name, value in found.items()), flush=True)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
