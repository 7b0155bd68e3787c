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
    words = [counted(choice.n_components, "feature"), f"lag {choice.lag}"]
    if choice.pca is not None:
        words.append(counted(choice.pca, "principal component"))
    if choice.n_delays > 1:
        words.append(f"{choice.n_delays} delays")
    words.append("no expansion" if choice.expansion is None else f"{choice.expansion} expansion")
    return ", ".join(words)


def write_report(choice: Choice, inputs: Sequence[str], command: str, picture: Path, path: Path) -> None:
    """Write the page."""
    report = Report(
        "How many features, which lag, which delays and expansion?", f"{summary(choice)}. For {', '.join(inputs)}."
    )
    report.facts(
        [
            (str(choice.n_components), "features"),
            (str(choice.lag), "lag, in rows"),
            ("all" if choice.pca is None else str(choice.pca), "columns, or principal components"),
            (str(choice.n_delays), "delays"),
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
        "on top of the slow signals. At lags shorter than the delays, windows share rows. A timescale much shorter "
        "than the lag says little, because nothing of the signal is left after so many rows (–). Brackets: "
        f"{100 * found.confidence:.0f}% intervals, from {found.n_blocks} blocks."
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
    report.heading("Numbers of features, principal components, delays and expansions")
    report.paragraph(
        f"Each of {crossed.n_folds} folds learns from four fifths of the rows, and is measured on the others at the "
        "same lag. With delays the lag is longer, so that two windows share no row. δ is the slowness of the last "
        "feature. The VAMP-2 score adds up λ² = (1 − δ/2)² over independent features; every further feature adds to "
        f"it. {cut}"
    )
    report.table(
        [
            "principal components",
            "delays",
            "expansion",
            "lag",
            "features",
            "δ of the last feature",
            "mean δ",
            "VAMP-2 score",
        ],
        (
            [
                "all columns" if each.pca is None else str(each.pca),
                str(each.n_delays),
                str(each.expansion or "none"),
                str(each.lag),
                str(each.n_components),
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
        f"Each feature is compared with features of {len(real.chance_shuffled)} random inputs of two kinds: columns "
        "that keep their own dynamics but share no signal, and rows in random order. p is the probability of so slow a "
        "feature by chance, corrected for the number of features. Features behind one that is no slower than chance "
        "are not tested (–). A signal that several columns share is not chance, also if it is a season. From the first "
        f"{real.n_rows:,} rows."
    )
    if real.n_columns < 2:
        report.paragraph("Only one column varies. It can share no signal with others: p = 1.")
    tested = np.isfinite(real.chance_by_feature[:, 0])
    report.table(
        ["feature", "δ", "p, columns share nothing", "p, rows in random order"],
        (
            [f"slow{i}", f"{delta:.4g}", f"{shared:.2g}" if was_tested else "–", f"{order:.2g}"]
            for i, (delta, shared, order, was_tested) in enumerate(
                zip(real.delta_values, real.p_spectrum, real.p_shuffled, tested, strict=True)
            )
        ),
    )
