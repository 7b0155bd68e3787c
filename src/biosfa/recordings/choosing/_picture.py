"""The picture of a choice: timescales against lag, slowness on other data beside chance, and the VAMP-2 score."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from biosfa.presentation.style import COLORS, figure, write_figure
from biosfa.selection import Candidate, Choice

EXPANSION_COLORS = {None: COLORS["exact"], "quadratic": COLORS["reversible"]}
DRAWN = 6  # features whose timescales are drawn


def draw(choice: Choice, path: Path) -> None:
    """Draw the picture, and write it to a file."""
    with figure(8.5, 6.4) as drawn:
        panels = drawn.subplot_mosaic([["timescales", "timescales"], ["slowness", "score"]])
        _draw_timescales(panels["timescales"], choice)
        _draw_slowness(panels["slowness"], choice)
        _draw_score(panels["score"], choice)
        write_figure(drawn, path, dpi=150)


def _draw_timescales(axes: Axes, choice: Choice) -> None:
    found, lags = choice.timescales, np.array(choice.timescales.lags)
    shown = min(DRAWN, found.timescales.shape[1])
    lags = lags[: max(2, 1 + int(np.flatnonzero((found.upper[:, 0] >= lags) | (lags == lags[0]))[-1]))]
    shades = np.linspace(0.0, 0.75, max(shown, 2))
    for i in range(shown):
        color = str(shades[i]) if i >= choice.n_components else COLORS["bio-sfa"]
        left = found.upper[: len(lags), i] >= lags  # something of the signal is left after the lag
        lower, upper = found.lower[: len(lags), i], found.upper[: len(lags), i]
        axes.fill_between(lags, lower, upper, where=left, color=color, alpha=0.2, lw=0)
        axes.plot(lags[left], found.timescales[: len(lags), i][left], "o-", ms=3, lw=1, color=color)
    ends = found.upper[: len(lags), :shown]
    top = 2.0 * np.max(ends[np.isfinite(ends)], initial=2.0 * lags[-1])
    axes.fill_between(lags, 0.0, lags, color=COLORS["no data"], alpha=0.25, lw=0)
    axes.annotate("shorter than the lag", (0.97, 0.04), xycoords="axes fraction", ha="right", fontsize=8)
    axes.axvline(choice.lag, color=COLORS["force"], lw=1, ls="--")
    axes.set(xscale="log", yscale="log", xlabel="lag, rows", ylabel="timescale, rows")
    axes.set_ylim(min(0.5, float(lags[0])), top)
    axes.set_title("timescales against lag (green: recommended)", loc="left")


def _draw_slowness(axes: Axes, choice: Choice) -> None:
    for expansion, candidate in _largest(choice).items():
        mean = candidate.delta_values.mean(axis=0)
        numbers = np.arange(len(mean))
        color = EXPANSION_COLORS.get(expansion, COLORS["online"])
        axes.plot(numbers, candidate.delta_values.T, color=color, lw=0.4, alpha=0.5)
        axes.plot(numbers, mean, "o-", ms=4, lw=1.2, color=color, label=f"{expansion or 'no'} expansion")
    real = choice.significance
    for chance, name, style in (
        (real.chance_spectrum, "chance, columns share nothing", ":"),
        (real.chance_shuffled, "chance, rows in random order", "-."),
    ):
        axes.axhline(float(np.quantile(chance, real.level)), color=COLORS["series"], lw=0.8, ls=style, label=name)
    axes.axvline(choice.n_components - 0.5, color=COLORS["force"], lw=1, ls="--")
    axes.set(yscale="log", ylabel="slowness δ")
    axes.xaxis.set_major_formatter("slow{x:.0f}")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title("slowness on data not learned from", loc="left")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2)


def _draw_score(axes: Axes, choice: Choice) -> None:
    for expansion in _largest(choice):
        among = [each for each in choice.cross_validation.candidates if each.expansion == expansion]
        numbers = [each.n_components for each in among]
        scores = np.array([each.vamp2 for each in among])
        color = EXPANSION_COLORS.get(expansion, COLORS["online"])
        axes.plot(numbers, scores, color=color, lw=0.4, alpha=0.5)
        axes.plot(numbers, scores.mean(axis=1), "o-", ms=4, lw=1.2, color=color, label=f"{expansion or 'no'} expansion")
    axes.axvline(choice.n_components, color=COLORS["force"], lw=1, ls="--")
    axes.set(xlabel="number of features", ylabel="VAMP-2 score")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title(f"VAMP-2 score at lag {choice.cross_validation.score_lag}", loc="left")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2)


def _largest(choice: Choice) -> dict[str | None, Candidate]:
    """Return the candidate with the most features, by expansion."""
    most: dict[str | None, Candidate] = {}
    for candidate in choice.cross_validation.candidates:
        if np.isfinite(candidate.slowness):
            most[candidate.expansion] = candidate
    return most
