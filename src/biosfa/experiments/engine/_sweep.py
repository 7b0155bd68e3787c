"""Grid searches over three hyperparameters, with heat maps and a report of the best setting."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from biosfa.cluster import Cluster
from biosfa.experiments.engine._errors import ExperimentError
from biosfa.experiments.engine._inputs import fresh_inputs
from biosfa.experiments.engine._runner import FINISHED, RunFolder, Task, write_arrays, write_json
from biosfa.experiments.engine._scheduling import run_tasks
from biosfa.presentation.report import Report
from biosfa.presentation.style import figure, save
from biosfa.typing import Arrays, Float64Array


@dataclass(frozen=True)
class Grid:
    """The grid of a search over three hyperparameters.

    Attributes
    ----------
    names : tuple of three str
        Names of the hyperparameters: those of the rows and columns of a heat map, and one with a map for each value.
    values : tuple of three tuples of float
        The values of each hyperparameter.

    Examples
    --------
    >>> from biosfa.experiments.engine import Grid
    >>> grid = Grid(("a", "b", "tau"), ((1.0, 2.0), (0.1,), (0.5,)))
    >>> grid.settings()
    [{'a': 1.0, 'b': 0.1, 'tau': 0.5}, {'a': 2.0, 'b': 0.1, 'tau': 0.5}]
    """

    names: tuple[str, str, str]
    values: tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]

    def settings(self) -> list[dict[str, float]]:
        """Return all combinations of values."""
        return [dict(zip(self.names, setting, strict=True)) for setting in product(*self.values)]


@dataclass(frozen=True)
class SweepText:
    """The texts in the report of a sweep.

    Attributes
    ----------
    title, lead : str
        The title, and a sentence below it.
    remark : str
        A paragraph below the heat maps.
    command : str
        The command that runs the sweep again.
    error : str, default="error"
        Name of the error.

    Examples
    --------
    >>> from biosfa.experiments.engine import SweepText
    >>> SweepText("A sweep", "Two settings.", "More steps would be better.", "biosfa sweep chaotic").error
    'error'
    """

    title: str
    lead: str
    remark: str
    command: str
    error: str = "error"


def run_sweep(
    folder: RunFolder,
    grid: Grid,
    error: Callable[..., float],
    config: Any,
    text: SweepText,
    *,
    steps: int,
    jobs: int | None,
    shared: tuple[Any, ...] = (),
    cluster: Cluster | None = None,
) -> dict[str, Any]:
    """Compute the error of every setting, write heat maps, numbers and a report, and return the best setting.

    Parameters
    ----------
    folder : RunFolder
        Output folder.
    grid : Grid
        The settings.
    error : callable
        Returns the error of a setting, given ``config``, the setting and ``shared``. NaN means that the network
        diverged.
    config : dataclass
        First argument of ``error``.
    text : SweepText
        Texts of the report.
    steps : int
        Number of steps per setting, for the progress bar.
    jobs : int or None
        Number of settings that run at the same time. None: one per core. Not used with a cluster.
    shared : tuple
        Further arguments of ``error``, which may be large.
    cluster : Cluster, optional
        Cluster whose workers run the settings, in place of threads of this process.

    Returns
    -------
    dict
        The hyperparameters of the best setting, and its error.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from biosfa.experiments.engine import Grid, RunFolder, SweepText, run_sweep
    >>> grid = Grid(("a", "b", "tau"), ((1.0, 2.0), (0.25, 0.5), (0.5,)))
    >>> text = SweepText("A sweep", "Four settings.", "The error is a - b.", "biosfa sweep chaotic")
    >>> def error(config, setting):
    ...     return setting["a"] - setting["b"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run_sweep(RunFolder(Path(folder)), grid, error, None, text, steps=1, jobs=1)
    {'a': 1.0, 'b': 0.5, 'tau': 0.5, 'error': 0.5}
    """
    settings = grid.settings()
    tasks = [
        Task(
            "-".join(f"{name}{value:g}" for name, value in setting.items()),
            steps,
            run_setting,
            (error, config, setting, steps),
            shared,
        )
        for setting in settings
    ]
    with fresh_inputs(cluster):
        results = run_tasks(folder, tasks, jobs=jobs, title="sweep", cluster=cluster)
    with folder.using_results():
        errors = np.array([float(result.arrays["error"]) for result in results.values()])
    if np.isnan(errors).all():
        raise ExperimentError("every setting diverged: the samples of the input are too large for these rates")
    best: dict[str, Any] = {**settings[int(np.nanargmin(errors))], "error": float(np.nanmin(errors))}
    cube = errors.reshape([len(values) for values in grid.values])
    axes = {name: np.array(values) for name, values in zip(grid.names, grid.values, strict=True)}
    numbers = [None if np.isnan(error) else float(error) for error in errors]
    rows = [{**setting, "error": number} for setting, number in zip(settings, numbers, strict=True)]
    with folder.replacing_results() as new:
        write_arrays(new / "curves.npz", {"error": cube, **axes})
        write_json(new / FINISHED, {"best": best, "diverged": numbers.count(None), "settings": rows})
        draw_heat_maps(new, grid, cube, best, text.error)
        write_report(new, grid, rows, best, text)
    return best


def run_setting(
    error: Callable[..., float], config: Any, setting: dict[str, float], steps: int, *others: Any
) -> Arrays:
    """Return the error of one setting. The last argument is the function that counts steps."""
    *shared, report = others
    found = error(config, setting, *shared)
    report(steps)
    return {"error": np.array(found)}


def draw_heat_maps(folder: Path, grid: Grid, cube: Float64Array, best: dict[str, Any], label: str) -> None:
    """Draw one map for each value of the third parameter. A cross marks a setting that diverged, a ring the best."""
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
    """Return a number in few characters."""
    return f"{number:g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")


def write_report(folder: Path, grid: Grid, rows: list[dict[str, Any]], best: dict[str, Any], text: SweepText) -> None:
    """Write ``report.html``."""
    report = Report(text.title, text.lead)
    report.facts(
        [
            (f"{best['error']:.3g}", f"smallest {text.error}"),
            *((short(best[name]), f"{name} of the best setting") for name in grid.names),
            (str(sum(row["error"] is None for row in rows)), "settings that diverged"),
        ]
    )
    report.picture(
        folder / "sweep.png",
        "Final error of each setting. A cross marks a setting that diverged, a ring marks the best setting.",
    )
    report.paragraph(text.remark)
    report.heading("The twenty best settings")
    ordered = sorted((row for row in rows if row["error"] is not None), key=lambda row: row["error"])
    report.table(
        [*grid.names, text.error],
        [[*(short(row[name]) for name in grid.names), f"{row['error']:.4g}"] for row in ordered[:20]],
    )
    report.heading("Run it again")
    report.code(text.command)
    report.versions()
    report.write(folder / "report.html")
