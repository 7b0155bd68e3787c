"""The report of the arena."""

import math
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biosfa.experiments.arena._contestants import CONTESTANTS, EXACT
from biosfa.experiments.arena._figures import LEAST_SHOWN
from biosfa.experiments.arena._outsiders import OUTSIDERS
from biosfa.experiments.arena._problems import KINDS
from biosfa.experiments.arena._scaling import FEW_WHITENED, N_COMPONENTS, SCALED
from biosfa.presentation.report import Report

if TYPE_CHECKING:
    from biosfa.experiments.arena._config import CompareConfig

Interval = dict[str, Any]

SHOWN_SLOWNESS = 5  # numbers that fit into a line

CLASSES: dict[str, Callable[[str], bool]] = {
    "all learners": lambda name: True,
    "online learners": lambda name: name != EXACT,
    "local rules": lambda name: CONTESTANTS[name].local.startswith("yes"),
}


def write_report(folder: Path, config: "CompareConfig", found: dict[str, Any], timings: dict[str, Any]) -> None:
    """Write ``report.html``."""
    title = KINDS[config.problem].title if config.problem in KINDS else Path(config.problem).name
    shared = "its own stream and initial weights" if config.problem in KINDS else "its own initial weights"
    report = Report(
        f"Arena: {title}",
        f"{describe(found['stream'])}. {len(config.learners)} learners, "
        f"{config.components} slow feature{'s' * (config.components > 1)}, "
        f"{config.runs} run{'s' * (config.runs > 1)}, each with {shared}. All learners see the same samples in the "
        "same order, once. No rate is chosen for the problem.",
    )
    report.picture(
        folder / "errors.png",
        "Relative error: slowness of the whitened features on the whole stream, divided by the smallest possible, "
        "minus one. Exact SFA of the whole stream has error 0, so its line ends earlier. Lines are medians and shades "
        "are the range of all runs. Below the dotted line, the error is less than 0.1. Time includes learning, and "
        "reading the features once, on one core.",
    )
    report.heading("Winners")
    report.table(["the best of", *CLASSES], winning_rows(found, timings), words=True)
    report.paragraph(
        "Numbers are medians, with the minimum and maximum of the runs in brackets. Learners after “≈” were at least "
        "as good as the winner in one or more runs on the same stream. "
        + ("With a single run this says little. " if config.runs == 1 else "")
        + "Errors are measured on the stream that was learned. On this stream, exact SFA is the best by definition."
    )
    report.heading("All learners")
    report.table(
        [
            "",
            "local",
            "final error",
            "angle",
            "samples until error < 0.1",
            "time until error < 0.1",
            "µs per sample",
            "memory",
        ],
        [learner_row(name, config, found, timings) for name in found["learners"]],
        words=True,
    )
    report.paragraph(
        "The angle is the largest angle between the features and those of exact SFA, in degrees. “Until error < 0.1” "
        "means: from there on the error stays below 0.1. The memory is what the learner keeps between two samples."
    )
    report.table(
        ["learner", "description"],
        [[CONTESTANTS[n].label, CONTESTANTS[n].remark] for n in found["learners"]],
        words=True,
    )
    write_outsiders(report, found, timings)
    if timings["scaling"]:
        write_scaling(report, folder, timings["scaling"])
    report.heading("Run it again")
    report.code(command(config))
    report.versions()
    report.write(folder / "report.html")


def as_text(found: dict[str, Any], timings: dict[str, Any]) -> str:
    """Return the comparison as a few lines of text, for a terminal.

    Parameters
    ----------
    found, timings : dict
        The results of :func:`compare`.

    Examples
    --------
    >>> from biosfa.experiments import arena
    >>> print(arena.as_text(*arena.compare(arena.configure("mixture"), out)))  # doctest: +SKIP
    """
    rows = [("", "final error", "samples until error < 0.1", "time per sample", "memory")]
    for name, own in found["learners"].items():
        rows.append(
            (
                CONTESTANTS[name].label,
                with_range(own["error"], shown, "too few features"),
                with_range(own["samples_until_close"], counted),
                with_range(timings["learners"][name]["seconds_a_sample"], timed),
                size(own["bytes"]),
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    exponents = [
        f"{own['label']} m^{own['exponent_of_time']:.2f}"
        for name, own in timings["scaling"].items()
        if SCALED[name].one_method
    ]
    after = ["time per sample, for m columns: " + ", ".join(exponents)] if exponents else []
    return "\n".join([describe(found["stream"]), *lines, *after])


def winning_rows(found: dict[str, Any], timings: dict[str, Any]) -> Iterable[list[str]]:
    """Yield one row per criterion: the best learner of each class, and those that were as good in some run."""

    def row(what: str, results: dict[str, Interval], show: Callable[[float], str]) -> list[str]:
        return [what, *(winner(results, takes_part, show) for takes_part in CLASSES.values())]

    def of_all(part: dict[str, Any], key: str) -> dict[str, Interval]:
        return {name: own[key] for name, own in part["learners"].items()}

    for samples, errors in found["after"].items():
        yield row(f"smallest error after {int(samples):,} samples", errors, shown)
    yield row("fewest samples until error < 0.1", of_all(found, "samples_until_close"), counted)
    yield row("shortest time until error < 0.1", of_all(timings, "seconds_until_close"), timed)
    yield row("shortest time per sample", of_all(timings, "seconds_a_sample"), timed)


def winner(results: dict[str, Interval], takes_part: Callable[[str], bool], show: Callable[[float], str]) -> str:
    """Return the learner with the smallest median, and after “≈” those that were as good in at least one run."""
    ranked = sorted((name for name in results if takes_part(name)), key=lambda name: number(results[name]["median"]))
    if not ranked or results[ranked[0]]["median"] is None:
        return "none"
    best = results[ranked[0]]
    tied = [
        name
        for name in ranked[1:]
        if any(
            own is not None and own <= number(other)
            for own, other in zip(results[name]["runs"], best["runs"], strict=True)
        )
    ]
    names = CONTESTANTS[ranked[0]].label + "".join(f" ≈ {CONTESTANTS[name].label}" for name in tied)
    return f"{names}: {with_range(best, show)}"


def describe(stream: dict[str, Any]) -> str:
    """Return a description of the stream."""
    episodes, skipped = stream["episodes"], stream["rows_skipped"]
    slowness = ", ".join(f"{delta:.3g}" for delta in stream["least_slowness"][:SHOWN_SLOWNESS])
    more = ", …" if len(stream["least_slowness"]) > SHOWN_SLOWNESS else ""
    return (
        f"{stream['samples']:,} samples of {stream['columns']} columns"
        + (f" in {episodes:,} episodes" if episodes > 1 else "")
        + (f" ({skipped:,} rows with missing values skipped)" if skipped else "")
        + f", smallest possible slowness {slowness}{more} (first run)"
    )


def number(value: float | None) -> float:
    """Return infinity for None, which means that a value was never reached."""
    return math.inf if value is None else value


def learner_row(name: str, config: "CompareConfig", found: dict[str, Any], timings: dict[str, Any]) -> list[str]:
    """Return the row of a learner in the table."""
    own, times = found["learners"][name], timings["learners"][name]
    row = [
        CONTESTANTS[name].label,
        CONTESTANTS[name].local,
        with_range(own["error"], shown, "too few features"),
        with_range(own["angle"], degrees, "—"),
        with_range(own["samples_until_close"], counted) + reached(own["runs_close"], config.runs),
        with_range(times["seconds_until_close"], timed),
        with_range(times["seconds_a_sample"], lambda seconds: f"{seconds * 1e6:.2g}"),
        size(own["bytes"]),
    ]
    if own["runs_diverged"]:
        row[2] = f"{own['runs_diverged']} of {config.runs} diverged"
    return row


def write_outsiders(report: Report, found: dict[str, Any], timings: dict[str, Any]) -> None:
    """Write the section about other packages."""
    report.heading("Comparison with other packages")
    if not found["outsiders"]:
        report.paragraph(
            "Neither deeptime nor sklearn-sfa has a result. Either they are not installed (pip install deeptime "
            "sklearn-sfa), or they refused the stream. sklearn-sfa does not support episodes."
        )
        return
    report.table(
        ["all samples at once", "error", "angle to exact SFA", "time"],
        [
            [
                OUTSIDERS[name].label,
                with_range(own["error"], shown, "too few features"),
                with_range(own["angle"], degrees, "—"),
                with_range(timings["outsiders"][name], timed),
            ]
            for name, own in found["outsiders"].items()
        ],
    )
    report.paragraph(
        "TICA uses each pair of samples in both directions, which makes a difference at the ends of episodes. It sorts "
        "features that alternate among the slow ones; the table uses the slowest of all its features. Both packages "
        "may fail if the scales of the columns differ very much."
    )


def write_scaling(report: Report, folder: Path, scaling: dict[str, Any]) -> None:
    """Write the section about time and memory against the number of columns."""
    report.heading("Cost per sample")
    report.picture(
        folder / "scaling.png",
        f"Time per sample and memory against the number of columns m, for {N_COMPONENTS} features of white noise, on "
        "one core. The powers of m fit the times best. If lines coincide, the first learner of the list is on top.",
    )
    sizes = max((own["columns"] for own in scaling.values()), key=len)
    report.table(
        ["µs per sample", *(f"m = {m:,}" for m in sizes), "time ~", f"memory, m = {sizes[-1]:,}"],
        [
            [
                own["label"],
                *(microseconds(seconds) for seconds in own["seconds_a_sample"]),
                *("" for _ in range(len(sizes) - len(own["columns"]))),
                f"m^{own['exponent_of_time']:.2f}" if SCALED[name].one_method else "",
                size(own["bytes"][-1]) if own["columns"][-1] == sizes[-1] else "",
            ]
            for name, own in scaling.items()
        ],
    )
    report.paragraph(
        "Exact SFA sums two m × m matrices, and solves an eigenproblem of order m³ once; the table has the time of the "
        "sums. OnlineSFA keeps the whole matrix C_xx up to 512 columns, and 32 of its directions for more columns. "
        "LocalSFA and the input layer of Bio-SFA have a synapse between any two inputs up to 512 columns, and 64 "
        "interneurons for more columns. No single exponent fits their times. Most of the memory of OnlineSFA, LocalSFA "
        "and Bio-SFA is for pairs of recent samples, on which they measure their features. Incremental SFA whitens "
        f"along as many principal components as there are columns; the dashed line is for {FEW_WHITENED} components."
    )


def command(config: "CompareConfig") -> str:
    """Return the command that runs the same comparison again."""
    parts = ["biosfa", "compare", "--problem", config.problem, "--components", config.components]
    parts += ["--samples", config.samples, "--runs", config.runs, "--seed", config.seed]
    if config.stream.columns:
        parts += ["--columns", ",".join(map(str, config.stream.columns))]
    if config.stream.time:
        parts += ["--time", config.stream.time]
    if config.stream.episodes:
        parts += ["--episodes", "LENGTHS" if isinstance(config.stream.episodes, tuple) else config.stream.episodes]
    if len(config.learners) < len(CONTESTANTS):
        parts += [part for name in config.learners for part in ("--learner", name)]
    if not config.scaling:
        parts.append("--no-scaling")
    return shlex.join(map(str, parts))


def with_range(interval: Interval, show: Callable[[float], str], missing: str = "never") -> str:
    """Return the median and the range of the runs as text; ``missing`` stands for None."""
    keys = ("median", "least", "greatest")
    texts = {key: missing if interval[key] is None else show(interval[key]) for key in keys}
    if texts["least"] == texts["greatest"]:
        return texts["median"]
    return f"{texts['median']} ({texts['least']}–{texts['greatest']})"


def reached(runs_close: int, runs: int) -> str:
    """Return how many runs came close, if it is neither all nor none."""
    return "" if runs_close in (0, runs) else f" ({runs_close} of {runs} runs)"


def shown(error: float) -> str:
    """Return an error as text, or 0 if it is rounding error."""
    if error < LEAST_SHOWN:
        return "0"
    return f"{error:.2g}" if error < 100 else f"{error:,.0f}"


def degrees(angle: float) -> str:
    """Return an angle as text; below a millionth of a degree it is rounding error."""
    return f"{angle:.2g}°" if angle >= 1e-6 else "0°"


def counted(samples: float) -> str:
    """Return a number of samples as text."""
    return f"{int(samples):,}"


def timed(seconds: float) -> str:
    """Return a time as text, in a suitable unit."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1.0:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def microseconds(seconds: float) -> str:
    """Return a time in microseconds as text, without an exponent."""
    return f"{seconds * 1e6:.3g}" if seconds < 1e-3 else f"{seconds * 1e6:,.0f}"


def size(n_bytes: int) -> str:
    """Return an amount of memory as text."""
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.1f} kB"
