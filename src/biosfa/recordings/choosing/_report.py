"""The page about a choice, as one HTML file."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from biosfa.presentation.report import Report
from biosfa.selection import Choice, ImpliedTimescales
from biosfa.wording import counted

SHOWN = 5  # features in the table of timescales


def summary(choice: Choice) -> str:
    """Return the recommendation in one line."""
    expansion = "no expansion" if choice.expansion is None else f"{choice.expansion} expansion"
    if choice.pca is not None:
        expansion += f" of {choice.pca} principal components"
    return f"{counted(choice.n_components, 'feature')}, lag {choice.lag}, {expansion}"


def write_report(choice: Choice, inputs: Sequence[str], command: str, picture: Path, path: Path) -> None:
    """Write the page."""
    report = Report("How many features, which lag, which expansion?", f"{summary(choice)}. For {', '.join(inputs)}.")
    report.facts(
        [
            (str(choice.n_components), "features"),
            (str(choice.lag), "lag, in rows"),
            (choice.expansion or "none", "expansion"),
            (f"{choice.timescales.n_rows:,}", "rows"),
            (f"{choice.timescales.n_timescales:,.0f}", "times the slowest timescale"),
        ]
    )
    report.picture(
        picture,
        "Above: timescales against lag, with their intervals. Below: slowness of each feature, and VAMP-2 score, on "
        "data not learned from; thin lines are folds. Dashed red lines: the recommendation.",
    )
    report.heading("Why")
    for reason in choice.reasons:
        report.paragraph(reason)
    if choice.cautions:
        report.heading("Be careful")
        for caution in choice.cautions:
            report.paragraph(caution)
    report.heading("What to run next")
    report.code(command)
    _timescales(report, choice)
    _cross_validation(report, choice)
    _significance(report, choice)
    report.versions()
    report.write(path)


def _timescales(report: Report, choice: Choice) -> None:
    found = choice.timescales
    report.heading("Timescales")
    report.paragraph(
        "A true timescale does not depend on the lag. If timescales grow with the lag, there is noise without memory "
        "on top of the slow signals. A timescale much shorter than the lag says little, because nothing of the signal "
        f"is left after so many rows (–). Brackets: {100 * found.confidence:.0f}% intervals, from {found.n_blocks} "
        "blocks."
    )
    shown = range(min(SHOWN, found.timescales.shape[1]))
    rows = [[str(lag), *(_timescale(found, i, k) for k in shown)] for i, lag in enumerate(found.lags)]
    report.table(["lag", *(f"slow{k}" for k in shown)], rows)


def _timescale(found: ImpliedTimescales, i: int, k: int) -> str:
    """Return a timescale with its interval, or a dash if nothing of the signal is left after the lag."""
    if found.upper[i, k] < found.lags[i]:
        return "–"
    return f"{found.timescales[i, k]:.3g} [{found.lower[i, k]:.3g}, {found.upper[i, k]:.3g}]"


def _cross_validation(report: Report, choice: Choice) -> None:
    crossed = choice.cross_validation
    cut = f"{counted(crossed.n_cut, 'episode')} lie in two folds." if crossed.n_cut and crossed.n_episodes > 1 else ""
    report.heading("Numbers of features, and expansions")
    report.paragraph(
        f"Each of {crossed.n_folds} folds learns from four fifths of the rows, and is measured on the others at lag "
        f"{crossed.score_lag}. δ is the slowness of the last feature. The VAMP-2 score adds up λ² = (1 − δ/2)² over "
        f"independent features; every further feature adds to it. {cut}"
    )
    report.table(
        ["features", "expansion", "δ of the last feature", "mean δ", "VAMP-2 score"],
        (
            [
                str(each.n_components),
                str(each.expansion or "none"),
                f"{each.delta_values[:, -1].mean():.4g}",
                f"{each.slowness:.4g}",
                f"{each.vamp2.mean():.3f} ± {each.vamp2.std():.3f}",
            ]
            for each in crossed.candidates
            if np.isfinite(each.slowness)
        ),
    )


def _significance(report: Report, choice: Choice) -> None:
    real = choice.significance
    report.heading("Are they real?")
    report.paragraph(
        f"Each feature is compared with the slowest feature of {len(real.chance_spectrum)} random inputs of two kinds: "
        "columns with the same spectra that share no signal, and rows in random order. p is the probability of so slow "
        f"a feature by chance, corrected for the number of features. From the first {real.n_rows:,} rows."
    )
    report.table(
        ["feature", "δ", "p, columns share nothing", "p, rows in random order"],
        (
            [f"slow{i}", f"{delta:.4g}", f"{shared:.2g}", f"{order:.2g}"]
            for i, (delta, shared, order) in enumerate(
                zip(real.delta_values, real.p_spectrum, real.p_shuffled, strict=True)
            )
        ),
    )
