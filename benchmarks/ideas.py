"""What helps LocalSFA where it is weak, and what does not: ``python benchmarks/ideas.py``.

Each idea replaces some text in a copy of the package, or sets a parameter. Then LocalSFA learns from the streams on
which the weakness shows. The figures are the slowness above that of exact SFA: on new samples for mixtures, on the same
samples for the other streams. Every idea sees the same streams and the same initial weights. All ideas together take
less than twenty minutes on one core.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import biosfa
from biosfa import SFA, DivergenceError, LocalSFA, RankDeficiencyWarning, metrics
from biosfa.datasets import driven_logistic_map
from biosfa.experiments.arena._problems import load_problem
from convergence import PROBLEMS, SAMPLES, TOLERANCE, Problem, make, subspace_slowness

PACKAGE = Path(__file__).parents[1] / "src" / "biosfa"

# Files of the package in which ideas replace text.
OUTPUTS, STATE = "kernels/fast_local/outputs.py", "kernels/fast_local/state.py"
LATERAL, RECEPTORS = "kernels/input_layer/lateral.py", "kernels/input_layer/receptors.py"
INTERNEURONS, NETWORK = "kernels/input_layer/interneurons.py", "learning/_fast_local_network.py"

Parameters = dict[str, Any]
Excess = Iterator[float]  # slowness of each network above that of exact SFA, relative to it; infinite if it fails


@dataclass(frozen=True)
class Idea:
    """A change of the network."""

    name: str
    replaced: tuple[tuple[str, str, str], ...] = ()
    """File, text, and what stands there instead."""
    parameters: Parameters = field(default_factory=dict)


@dataclass(frozen=True)
class Weakness:
    """Streams on which the network is weak, and ideas for it. The first idea is the present rule."""

    name: str
    measure: Callable[[Parameters], Excess]
    ideas: tuple[Idea, ...]


def constant(file: str, name: str, value: str, instead: str) -> tuple[str, str, str]:
    """A constant of the package with another value."""
    return file, f"{name} = {value}\n", f"{name} = {instead}\n"


def learned(X: np.ndarray, k: int, network: int, parameters: Parameters) -> LocalSFA | None:
    """A network that has learned from X, or None if it fails."""
    try:
        return LocalSFA(k, random_state=network, **parameters).fit(X)
    except (DivergenceError, ValueError):  # LinAlgError is a ValueError
        return None


def on_new_samples(seen: np.ndarray, new: np.ndarray, best: float, k: int, networks: int, given: Parameters) -> Excess:
    """Some networks learn from samples, and are measured on others."""
    for network in range(networks):
        net = learned(seen, k, network, given)
        Y = np.full((len(new), k), np.nan) if net is None else net.transform(new)
        yield subspace_slowness(Y) / best - 1 if np.isfinite(Y).all() else np.inf


def on_mixture(X: np.ndarray, k: int, networks: int, parameters: Parameters) -> Excess:
    """Learn from the first 100,000 samples, and measure on the others."""
    seen, new = X[:SAMPLES], X[SAMPLES:]
    yield from on_new_samples(seen, new, subspace_slowness(SFA(k).fit(seen).transform(new)), k, networks, parameters)


def on_mixtures(chosen: tuple[int, ...], parameters: Parameters) -> Excess:
    """Some of the twenty mixtures, with five networks each."""
    for i in chosen:
        yield from on_mixture(make(PROBLEMS[i], 2 * SAMPLES, seed=i), PROBLEMS[i].k, 5, parameters)


def degenerate(parameters: Parameters) -> Excess:
    """Input that does not vary, or nearly so, in some directions; and signals of little variance, to be kept."""
    X = make(Problem(10, 2, 1e2, (50, 20), (3, 1)), 2 * SAMPLES, seed=0)
    rng = np.random.default_rng(0)
    sums = X @ rng.standard_normal((10, 5))
    copies = np.hstack([X, X[:, :5]])
    nearly = sums + 1e-9 * rng.standard_normal(sums.shape)
    for each in (copies, np.hstack([X, sums]), np.hstack([X, nearly]), np.hstack([X, np.full((len(X), 3), 7.0)])):
        yield from on_mixture(each, 2, 2, parameters)
    for condition in (1e6, 1e9):
        weak = make(Problem(10, 3, condition, (100, 20), (1, 1)), 2 * SAMPLES, seed=1)
        yield from on_mixture(weak, 3, 2, parameters)
    # with a short memory, L soon forgets the identity with which it began
    yield from on_mixture(copies, 2, 2, {**parameters, "forget": 3000})


def chaotic(parameters: Parameters) -> Excess:
    """Three and five outputs of very different slowness, on the driven logistic map."""
    for k in (3, 5):
        for seed in range(3):
            whole = driven_logistic_map(SAMPLES, random_state=seed).expanded()
            for X in (whole[: SAMPLES // 5], whole):
                moments = metrics.moments(X)
                best = float(metrics.slowest(moments, k).sum())
                for network in range(2):
                    net = learned(X, k, network, parameters)
                    yield np.inf if net is None else float(metrics.slowness_error(net.components_, moments)) / best


def outliers(parameters: Parameters) -> Excess:
    """Heavy tails, and a mixture with a few rows that are a hundred or ten million times too large."""
    yield from on_mixtures((1, 5, 7, 10), parameters)
    for factor, number in ((1e2, 20), (1e7, 1)):
        X = make(Problem(10, 2, 1e2, (50, 20), (3, 1)), 2 * SAMPLES, seed=2)
        seen, new = X[:SAMPLES].copy(), X[SAMPLES:]
        best = subspace_slowness(SFA(2).fit(seen).transform(new))
        seen[np.random.default_rng(2).choice(SAMPLES, number, replace=False)] *= factor
        yield from on_new_samples(seen, new, best, 2, 5, parameters)


def many_columns(parameters: Parameters) -> Excess:
    """152 monomials of windows that move over images, and a mixture of 150 columns."""
    for seed in range(2):
        problem = load_problem("images-small", SAMPLES, 9, seed)
        net = LocalSFA(9, random_state=seed, **parameters)
        for row in np.split(problem.signal, np.flatnonzero(problem.starts)[1:]):
            net.partial_fit(row).end_episode()
        yield problem.judge(net.components_)[0]
    yield from on_mixture(make(PROBLEMS[15], 2 * SAMPLES, seed=15), PROBLEMS[15].k, 2, parameters)


# A leak in L in place of noise. P has to be computed again.
LEAK = """        state.seen[0] += length
        for t in range(length):
            for j in range(m):
                state.L[j, j] += 1e-6 * rho[t]
        state.staleness[0] = 2.0 * REFRESH_GROWTH
"""

FROM_DELTA = ((OUTPUTS, "GAP_SHARE, DELTA_SHARE = 0.1, 0.4", "GAP_SHARE, DELTA_SHARE = 0.0, 0.4"),)
LAST_HALF = (constant(OUTPUTS, "SLOW", "6.0", "2.0"),)
NO_GUARDS = (constant(STATE, "GUARDS", "4", "0"),)
ALWAYS_READ_GUARDS = (constant(NETWORK, "CLEARLY_SLOWER", "0.95", "1e9"),)
NEVER_READ_GUARDS = (constant(NETWORK, "CLEARLY_SLOWER", "0.95", "0.0"),)

WEAKNESSES = (
    Weakness(
        "input that does not vary in some directions",
        degenerate,
        (
            Idea("private noise of 1e-6"),
            Idea("no private noise", (constant(RECEPTORS, "PRIVATE_NOISE", "1e-6", "0.0"),)),
            Idea("private noise of 1e-8", (constant(RECEPTORS, "PRIVATE_NOISE", "1e-6", "1e-8"),)),
            Idea("private noise of 1e-4", (constant(RECEPTORS, "PRIVATE_NOISE", "1e-6", "1e-4"),)),
            Idea(
                "a leak of 1e-6 in L in place of noise",
                (
                    constant(RECEPTORS, "PRIVATE_NOISE", "1e-6", "0.0"),
                    (LATERAL, "        state.seen[0] += length\n", LEAK),
                ),
            ),
        ),
    ),
    Weakness(
        "outputs of very different slowness",
        chaotic,
        (
            Idea("own slowness, four guards that are read out if needed"),
            Idea("without δyx̃ in ΔW", ((OUTPUTS, "W.dtype.type(rate * delta * y[i])", "W.dtype.type(0.0 * y[i])"),)),
            Idea("no guards", NO_GUARDS),
            Idea("guards are always read out", ALWAYS_READ_GUARDS),
            Idea("guards are never read out", NEVER_READ_GUARDS),
            Idea("ten guards", (constant(STATE, "GUARDS", "4", "10"),)),
            Idea(
                "feedback of guards to outputs",
                ((OUTPUTS, "f = feedback if i < k else guard_feedback", "f = guard_feedback"),),
            ),
            Idea("rates from δ alone", FROM_DELTA),
            Idea("slow weights over the last half", LAST_HALF),
        ),
    ),
    Weakness(
        "mixtures with small gaps",
        lambda parameters: on_mixtures((4, 8, 11, 14), parameters),
        (
            Idea("rates from the gap, four guards that are read out if needed"),
            Idea("no guards", NO_GUARDS),
            Idea("guards are always read out", ALWAYS_READ_GUARDS),
            Idea("guards are never read out", NEVER_READ_GUARDS),
            Idea("rates from δ alone", FROM_DELTA),
            Idea("copies of outputs are read out", (constant(NETWORK, "LEAST_SHARE", "0.01", "0.0"),)),
            Idea("slow weights over the last half", LAST_HALF),
            Idea("slow weights over the last twentieth", (constant(OUTPUTS, "SLOW", "6.0", "20.0"),)),
        ),
    ),
    Weakness(
        "heavy tails and outliers",
        outliers,
        (
            Idea("saturation at 1000 deviations, divisive normalisation"),
            Idea("saturation at 10", (constant(RECEPTORS, "SATURATION", "1000.0", "10.0"),)),
            Idea("saturation at 100", (constant(RECEPTORS, "SATURATION", "1000.0", "100.0"),)),
            Idea("no saturation", (constant(RECEPTORS, "SATURATION", "1000.0", "1e150"),)),
            Idea("no divisive normalisation", ((OUTPUTS, "DIVISION = 4.0 ", "DIVISION = 0.0 "),)),
        ),
    ),
    Weakness(
        "many columns",
        many_columns,
        (
            Idea("64 interneurons", parameters={"input_layer": 64}),
            Idea("lateral synapses, at a cost of O(m²)", parameters={"input_layer": "lateral"}),
            Idea("16 interneurons", parameters={"input_layer": 16}),
            Idea("1 interneuron", parameters={"input_layer": 1}),
            Idea(
                "64 interneurons, leaks of at least half the power",
                (constant(INTERNEURONS, "LEAST_LEAK", "0.05", "0.5"),),
                {"input_layer": 64},
            ),
        ),
    ),
)


def changed_copy(idea: Idea, folder: Path) -> None:
    """Copy the package into a folder, and replace the text."""
    shutil.copytree(PACKAGE, folder / "biosfa", ignore=shutil.ignore_patterns("__pycache__"))
    for name, text, instead in idea.replaced:
        file = folder / "biosfa" / name
        source = file.read_text(encoding="utf-8")
        if source.count(text) != 1:
            sys.exit(f"{idea.name}: {name} does not have once the text {text!r}")
        file.write_text(source.replace(text, instead), encoding="utf-8")


def tried(weakness: Weakness, idea: Idea, cache: str) -> dict[str, Any]:
    """Measure one idea in a process of its own; ``cache`` is a folder for compiled code."""
    with tempfile.TemporaryDirectory() as folder:
        changed_copy(idea, Path(folder))
        environment = {**os.environ, "PYTHONPATH": folder, "NUMBA_CACHE_DIR": cache, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, __file__, "--one", weakness.name, idea.name, folder]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    excess = np.array(json.loads(done.stdout))
    found = {
        "idea": idea.name,
        "learned": int((excess <= TOLERANCE).sum()),
        "runs": len(excess),
        "median": float(np.median(excess)),
        "worst": float(excess.max()),
    }
    print(
        f"{weakness.name}: {idea.name}: within {TOLERANCE:.0%} in {found['learned']} of {found['runs']} runs, median "
        f"{100 * found['median']:.2g}%, worst {100 * found['worst']:.2g}%",
        flush=True,
    )
    return found


def one(weakness: str, idea: str, folder: str) -> None:
    """Print the excesses of one idea."""
    if not Path(biosfa.__file__).is_relative_to(folder):
        sys.exit(f"biosfa is not that of {folder}")
    warnings.simplefilter("ignore", RankDeficiencyWarning)
    place = next(each for each in WEAKNESSES if each.name == weakness)
    chosen = next(each for each in place.ideas if each.name == idea)
    excess = np.array(list(place.measure(chosen.parameters)))
    print(json.dumps(np.where(np.isfinite(excess), excess, np.inf).tolist()))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--one", nargs=3, metavar=("WEAKNESS", "IDEA", "FOLDER"), help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--resume", action="store_true", help="leave out ideas that this file already has")
    options = parser.parse_args()
    if options.one:
        one(*options.one)
        return
    figures: dict[str, list[dict[str, Any]]] = {}
    if options.resume and options.json and options.json.exists():
        figures = json.loads(options.json.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as cache:
        for weakness in WEAKNESSES:
            known = {each["idea"]: each for each in figures.get(weakness.name, [])}
            figures[weakness.name] = []
            for idea in weakness.ideas:
                figures[weakness.name].append(known.get(idea.name) or tried(weakness, idea, cache))
                if options.json:
                    options.json.write_text(json.dumps(figures, indent=1, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
