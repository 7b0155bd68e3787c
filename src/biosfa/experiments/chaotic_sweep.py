"""The paper's grid search on the driven logistic map (appendix B.2): every a, b and τ."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from biosfa import metrics
from biosfa.datasets import driven_logistic_map
from biosfa.estimators._bio_sfa import BioSFA
from biosfa.estimators._schedules import InverseTime
from biosfa.exceptions import DivergenceError
from biosfa.experiments._report import Report
from biosfa.experiments._runner import Arrays, RunFolder, Task, run_tasks, write_arrays, write_json
from biosfa.experiments._style import figure, save
from biosfa.experiments.chaotic import DEFAULT_SEED
from biosfa.kernels.moments import Moments
from biosfa.typing import Float64Array

A = (1e2, 1e3, 1e4, 1e5)
B = (1e-1, 1e-2, 1e-3, 1e-4)
TAU = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0)
LONGEST_SERIES = 1_000_000  # longer runs stream the series again


@dataclass(frozen=True)
class SweepConfig:
    """What to run."""

    steps: int = 1_000_000
    seed: int = DEFAULT_SEED


def sweep(config: SweepConfig, out: Path, *, jobs: int | None = None, resume: bool = False) -> dict[str, Any]:
    """Run the grid, leave heat maps, numbers and a report in ``out``; returns the best setting."""
    folder = RunFolder(out)
    folder.begin("sweep chaotic", config, resume=resume)
    samples = min(config.steps + 1, LONGEST_SERIES)
    with threadpool_limits(1):  # sums must not depend on how many threads share them
        X = driven_logistic_map(samples, random_state=config.seed).expanded()
        moments = metrics.moments(X)
    settings = list(product(A, B, TAU))

    def task(a: float, b: float, tau: float) -> Task:
        def run(report: Callable[[int], None]) -> Arrays:
            error = run_setting(config, X, moments, a, b, tau)
            report(config.steps)
            return {"error": np.array(error)}

        return Task(f"a{a:g}-b{b:g}-tau{tau:g}", config.steps, run)

    results = run_tasks(folder, [task(*setting) for setting in settings], jobs=jobs, title="sweep chaotic")
    errors = np.array([float(result.arrays["error"]) for result in results.values()])
    a, b, tau = settings[int(np.nanargmin(errors))]
    best = {"a": a, "b": b, "tau": tau, "error": float(np.nanmin(errors))}
    grid = errors.reshape(len(A), len(B), len(TAU))
    write_arrays(out / "curves.npz", {"error": grid, "a": np.array(A), "b": np.array(B), "tau": np.array(TAU)})
    numbers = [None if np.isnan(error) else float(error) for error in errors]
    rows = [{"a": a, "b": b, "tau": tau, "error": error} for (a, b, tau), error in zip(settings, numbers, strict=True)]
    write_json(out / "metrics.json", {"best": best, "diverged": int(np.isnan(errors).sum()), "settings": rows})
    draw_heat_maps(out, grid, best)
    write_report(out, config, rows, best)
    return best


def run_setting(config: SweepConfig, X: Float64Array, moments: Moments, a: float, b: float, tau: float) -> float:
    """Error of one setting after all steps; NaN if it diverges, or if its rate is not below τ."""
    rate = InverseTime(a, b)
    if rate(1) >= tau:
        return float("nan")
    net = BioSFA(1, learning_rate=rate, tau=tau, center=False, random_state=config.seed)
    left = config.steps
    try:
        while left > 0:
            net.partial_fit(X[: left + 1]).end_episode()
            left = config.steps - net.n_updates_
    except DivergenceError:
        return float("nan")
    return float(metrics.slowness_error(net.W_, moments))


def draw_heat_maps(folder: Path, grid: Float64Array, best: dict[str, Any]) -> None:
    """One map of a and b for each τ; a cross is a setting that diverged, a ring is the best."""
    values = np.log10(grid)
    low, high = np.nanmin(values), np.nanmax(values)
    with figure(11, 2.5) as drawn:
        maps = drawn.subplots(1, len(TAU), sharey=True)
        for i, (axes, tau) in enumerate(zip(maps, TAU, strict=True)):
            image = axes.imshow(values[:, :, i], vmin=low, vmax=high, cmap="viridis_r", origin="lower")
            for row, column in np.argwhere(np.isnan(values[:, :, i])):
                axes.plot(column, row, "x", color="#d1342f", ms=9, mew=2)
            if tau == best["tau"]:
                axes.plot(B.index(best["b"]), A.index(best["a"]), "o", mfc="none", mec="k", ms=17, mew=2)
            axes.set_xticks(range(len(B)), [f"{b:g}" for b in B], fontsize=7)
            axes.set_yticks(range(len(A)), [f"{a:.0e}".replace("+0", "") for a in A])
            axes.set(title=rf"$\tau$ = {tau:g}", xlabel="b")
            axes.spines[:].set_visible(False)
        maps[0].set_ylabel("a")
        drawn.colorbar(image, ax=maps, label=r"$\log_{10}$ error", shrink=0.9)
        save(drawn, folder, "sweep")


def write_report(folder: Path, config: SweepConfig, rows: list[dict[str, Any]], best: dict[str, Any]) -> None:
    """Write ``report.html``."""
    report = Report(
        "Hyperparameters of the driven logistic map",
        f"The paper's grid: {len(rows)} settings of η = 1/(a + b t) and τ, {config.steps:,} steps each.",
    )
    diverged = sum(row["error"] is None for row in rows)
    report.facts(
        [
            (f"{best['error']:.3g}", "least error"),
            (f"a = {best['a']:g}, b = {best['b']:g}", "its rate"),
            (f"{best['tau']:g}", "its τ"),
            (str(diverged), "settings that diverged"),
        ]
    )
    report.picture(folder / "sweep.png", "Error at the end; a cross is a setting that diverged, a ring is the best.")
    report.paragraph(
        "The paper found a = 1e4, b = 1e-4, τ = 0.5 best after 5e7 steps; fewer steps favour larger rates."
    )
    report.heading("The twenty best")
    ordered = sorted((row for row in rows if row["error"] is not None), key=lambda row: row["error"])
    report.table(
        ["a", "b", "τ", "error"],
        [[f"{row['a']:g}", f"{row['b']:g}", f"{row['tau']:g}", f"{row['error']:.4g}"] for row in ordered[:20]],
    )
    report.heading("How to make this again")
    report.code(f"biosfa sweep chaotic --steps {config.steps} --seed {config.seed}")
    report.versions()
    report.write(folder / "report.html")
