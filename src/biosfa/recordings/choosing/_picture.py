"""The picture of a choice: timescales against lag, slowness on other data beside chance, and the VAMP-2 score."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from biosfa.presentation.style import COLORS, figure, write_figure
from biosfa.selection import Candidate, Choice

EXPANSION_COLORS = {None: COLORS["exact"], "quadratic": COLORS["bio-sfa"]}
DRAWN = 6  # features whose timescales are drawn


def draw(choice: Choice, path: Path) -> None:
    """Draw the picture, and write it to a file."""
    with figure(11.0, 3.8) as drawn:
        left, middle, right = drawn.subplots(1, 3)
        _draw_timescales(left, choice)
        _draw_slowness(middle, choice)
        _draw_score(right, choice)
        write_figure(drawn, path, dpi=150)


def _draw_timescales(axes: Axes, choice: Choice) -> None:
    found, lags = choice.timescales, np.array(choice.timescales.lags)
    shown = min(DRAWN, found.timescales.shape[1])
    shades = np.linspace(0.0, 0.75, max(shown, 2))
    for i in range(shown):
        color = str(shades[i]) if i >= choice.n_components else COLORS["bio-sfa"]
        left = found.upper[:, i] >= lags  # something of the signal is left after the lag
        axes.fill_between(lags, found.lower[:, i], found.upper[:, i], where=left, color=color, alpha=0.2, lw=0)
        axes.plot(lags[left], found.timescales[left, i], "o-", ms=3, lw=1, color=color)
    top = 2.0 * np.nanmax(found.upper[:, :shown][np.isfinite(found.upper[:, :shown])], initial=2.0 * lags[-1])
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
    axes.set(yscale="log", xlabel="feature", ylabel="slowness δ")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title("slowness on data not learned from", loc="left")
    axes.legend(loc="lower right")


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
    axes.legend(loc="best")


def _largest(choice: Choice) -> dict[str | None, Candidate]:
    """Return the candidate with the most features, by expansion."""
    most: dict[str | None, Candidate] = {}
    for candidate in choice.cross_validation.candidates:
        if np.isfinite(candidate.slowness):
            most[candidate.expansion] = candidate
    return most
