"""The picture of a choice: timescales against lag, slowness on other data beside chance, and the VAMP-2 score."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from biosfa.presentation.style import COLORS, figure, write_figure
from biosfa.selection import Candidate, Choice

# of settings with an expansion, with delays, with principal components
KIND_COLORS = {
    (False, False, False): COLORS["reversible"],
    (False, False, True): COLORS["interneuron"],
    (False, True, False): COLORS["online"],
    (False, True, True): COLORS["incremental"],
    (True, False, False): COLORS["auto"],
    (True, False, True): COLORS["nonnegative"],
    (True, True, False): COLORS["offline"],
    (True, True, True): COLORS["foldiak"],
}
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
    n = len(lags)
    shades = np.linspace(0.0, 0.75, max(shown, 2))
    for i in range(shown):
        color = str(shades[i]) if i >= choice.n_components else COLORS["bio-sfa"]
        left = found.upper[:n, i] >= lags  # something of the signal is left after the lag
        times, lower, upper = (values[:n, i] for values in (found.timescales, found.lower, found.upper))
        axes.fill_between(lags, lower, upper, where=left, color=color, alpha=0.2, lw=0)
        axes.plot(lags, np.where(left, times, np.nan), "o-", ms=3, lw=1, color=color)  # no line across what is left out
    ends = found.upper[:n, :shown]
    top = 2.0 * np.max(ends[np.isfinite(ends)], initial=2.0 * lags[-1])
    axes.fill_between(lags, 0.0, lags, color=COLORS["no data"], alpha=0.25, lw=0)
    axes.annotate("shorter than the lag", (0.97, 0.04), xycoords="axes fraction", ha="right", fontsize=8)
    if choice.n_delays > 1:
        axes.axvspan(lags[0], choice.n_delays, color=COLORS["no data"], alpha=0.25, lw=0)
        axes.annotate("windows share rows", (0.02, 0.04), xycoords="axes fraction", fontsize=8)
    axes.axvline(choice.lag, color=COLORS["force"], lw=1, ls="--")
    axes.set(xscale="log", yscale="log", xlabel="lag, rows", ylabel="timescale, rows")
    axes.set_ylim(min(0.5, float(lags[0])), top)
    axes.set_title("timescales against lag (green: recommended)", loc="left")


def _draw_slowness(axes: Axes, choice: Choice) -> None:
    for name, candidate, color in _largest(choice):
        mean = candidate.delta_values.mean(axis=0)
        numbers = np.arange(len(mean))
        axes.plot(numbers, candidate.delta_values.T, color=color, lw=0.4, alpha=0.5)
        axes.plot(numbers, mean, "o-", ms=4, lw=1.2, color=color, label=name)
    real = choice.significance
    axes.plot(real.delta_values, "D", ms=4, color=COLORS["series"], label="recommended, on the rows tested for chance")
    tested = np.flatnonzero(np.isfinite(real.chance_by_feature[:, 0]))
    limits = np.quantile(real.chance_by_feature[tested], real.level, axis=1)
    axes.plot(tested, limits, ":", marker="_", ms=12, color=COLORS["series"], lw=0.8, label="chance, nothing shared")
    shuffled = float(np.quantile(real.chance_shuffled, real.level))
    axes.axhline(shuffled, color=COLORS["series"], lw=0.8, ls="-.", label="chance, rows in random order")
    axes.axvline(choice.n_components - 0.5, color=COLORS["force"], lw=1, ls="--")
    axes.set(yscale="log", xlabel="feature", ylabel="slowness δ")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title("slowness on data not learned from", loc="left")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2, fontsize=7)


def _draw_score(axes: Axes, choice: Choice) -> None:
    for name, largest, color in _largest(choice):
        among = [each for each in choice.cross_validation.candidates if each.setting == largest.setting]
        numbers = [each.n_components for each in among]
        scores = np.array([each.vamp2 for each in among])
        axes.plot(numbers, scores, color=color, lw=0.4, alpha=0.5)
        axes.plot(numbers, scores.mean(axis=1), "o-", ms=4, lw=1.2, color=color, label=name)
    axes.axvline(choice.n_components, color=COLORS["force"], lw=1, ls="--")
    axes.set(xlabel="number of features", ylabel="VAMP-2 score")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title("VAMP-2 score on data not learned from", loc="left")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2, fontsize=7)


def _largest(choice: Choice) -> list[tuple[str, Candidate, str]]:
    """Return the name, the candidate with the most features, and the color, of the settings that are drawn.

    These are the recommended setting, and the best setting of each other kind: with and without principal components,
    delays and expansion.
    """
    by_setting = {each.setting: each for each in choice.cross_validation.candidates if np.isfinite(each.slowness)}
    by_kind: dict[tuple[bool, bool, bool], Candidate] = {}
    for setting, candidate in sorted(by_setting.items(), key=lambda item: float(item[1].delta_values[:, 0].mean())):
        kind = (setting.expansion is not None, setting.n_delays > 1, setting.pca is not None)
        if setting == choice.setting or kind not in by_kind:
            by_kind[kind] = candidate
    return [(str(each.setting), each, KIND_COLORS[kind]) for kind, each in by_kind.items()]
