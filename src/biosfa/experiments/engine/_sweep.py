"""Grid searches: every setting of three hyperparameters, heat maps, and the best one."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from biosfa.experiments.engine._errors import ExperimentError
from biosfa.experiments.engine._report import Report
from biosfa.experiments.engine._runner import RunFolder, Task, run_tasks, write_arrays, write_json
from biosfa.presentation.style import figure, save
from biosfa.typing import Advance, Arrays, Float64Array


@dataclass(frozen=True)
class Grid:
    """What to try: three hyperparameters, down and across in a heat map, and one map for each value of the third."""

    names: tuple[str, str, str]
    values: tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]

    def settings(self) -> list[dict[str, float]]:
        """All of them."""
        return [dict(zip(self.names, setting, strict=True)) for setting in product(*self.values)]


@dataclass(frozen=True)
class SweepText:
    """What the report of a sweep says."""

    title: str
    lead: str
    remark: str
    command: str
    error: str = "error"


def run_sweep(
    folder: RunFolder,
    grid: Grid,
    error: Callable[[Any, dict[str, float]], float],
    config: Any,
    text: SweepText,
    *,
    steps: int,
    jobs: int | None,
) -> dict[str, Any]:
    """Find the error of every setting (NaN: it diverged); leave heat maps, numbers and a report; return the best.

    ``error`` is a function of the configuration and of a setting.
    """
    settings = grid.settings()
    tasks = [
        Task(
            "-".join(f"{name}{value:g}" for name, value in setting.items()),
            steps,
            run_setting,
            (error, config, setting, steps),
        )
        for setting in settings
    ]
    results = run_tasks(folder, tasks, jobs=jobs, title="sweep")
    with folder.using_results():
        errors = np.array([float(result.arrays["error"]) for result in results.values()])
    if np.isnan(errors).all():
        raise ExperimentError("every setting diverged: the input has samples too large for any of these rates")
    best: dict[str, Any] = {**settings[int(np.nanargmin(errors))], "error": float(np.nanmin(errors))}
    cube = errors.reshape([len(values) for values in grid.values])
    axes = {name: np.array(values) for name, values in zip(grid.names, grid.values, strict=True)}
    write_arrays(folder.path / "curves.npz", {"error": cube, **axes})
    numbers = [None if np.isnan(error) else float(error) for error in errors]
    rows = [{**setting, "error": number} for setting, number in zip(settings, numbers, strict=True)]
    write_json(folder.path / "metrics.json", {"best": best, "diverged": numbers.count(None), "settings": rows})
    draw_heat_maps(folder.path, grid, cube, best, text.error)
    write_report(folder.path, grid, rows, best, text)
    return best


def run_setting(
    error: Callable[[Any, dict[str, float]], float], config: Any, setting: dict[str, float], steps: int, report: Advance
) -> Arrays:
    """One setting."""
    found = error(config, setting)
    report(steps)
    return {"error": np.array(found)}


def draw_heat_maps(folder: Path, grid: Grid, cube: Float64Array, best: dict[str, Any], label: str) -> None:
    """One map for each value of the third parameter; a cross is a setting that diverged, a ring is the best."""
    (down, across, third), (rows, columns, maps) = grid.names, grid.values
    values = np.log10(cube)
    low, high = np.nanmin(values), np.nanmax(values)
    with figure((1.8 + 0.35 * max(0, len(columns) - 4)) * len(maps), 2.9) as drawn:
        panels = np.atleast_1d(drawn.subplots(1, len(maps), sharey=True))
        for i, (axes, value) in enumerate(zip(panels, maps, strict=True)):
            image = axes.imshow(values[:, :, i], vmin=low, vmax=high, cmap="viridis_r", origin="lower")
            for row, column in np.argwhere(np.isnan(values[:, :, i])):
                axes.plot(column, row, "x", color="#d1342f", ms=7, mew=2)
            if value == best[third]:
                axes.plot(columns.index(best[across]), rows.index(best[down]), "o", mfc="none", mec="k", ms=14, mew=2)
            axes.set_xticks(range(len(columns)), [short(number) for number in columns], fontsize=7)
            axes.set_yticks(range(len(rows)), [short(number) for number in rows])
            axes.set(title=f"{third} = {value:g}", xlabel=across)
            axes.spines[:].set_visible(False)
        panels[0].set_ylabel(down)
        drawn.colorbar(image, ax=panels, label=rf"$\log_{{10}}$ {label}", shrink=0.9)
        save(drawn, folder, "sweep")


def short(number: float) -> str:
    """A number in few characters."""
    return f"{number:g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")


def write_report(folder: Path, grid: Grid, rows: list[dict[str, Any]], best: dict[str, Any], text: SweepText) -> None:
    """Write ``report.html``."""
    report = Report(text.title, text.lead)
    report.facts(
        [
            (f"{best['error']:.3g}", f"least {text.error}"),
            *((short(best[name]), f"its {name}") for name in grid.names),
            (str(sum(row["error"] is None for row in rows)), "settings that diverged"),
        ]
    )
    report.picture(folder / "sweep.png", "Error at the end; a cross is a setting that diverged, a ring is the best.")
    report.paragraph(text.remark)
    report.heading("The twenty best")
    ordered = sorted((row for row in rows if row["error"] is not None), key=lambda row: row["error"])
    report.table(
        [*grid.names, text.error],
        [[*(short(row[name]) for name in grid.names), f"{row['error']:.4g}"] for row in ordered[:20]],
    )
    report.heading("How to make this again")
    report.code(text.command)
    report.versions()
    report.write(folder / "report.html")
