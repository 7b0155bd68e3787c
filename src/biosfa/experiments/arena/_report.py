"""The report of the arena: who wins where."""

import math
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biosfa.experiments.arena._contestants import CONTESTANTS, EXACT
from biosfa.experiments.arena._figures import LEAST_SHOWN
from biosfa.experiments.arena._outsiders import OUTSIDERS
from biosfa.experiments.arena._problems import KINDS
from biosfa.experiments.arena._scaling import FEW_WHITENED, N_COMPONENTS
from biosfa.experiments.engine import Report

if TYPE_CHECKING:
    from biosfa.experiments.arena._config import CompareConfig

Interval = dict[str, Any]

SHOWN_SLOWNESS = 5  # numbers that a line has room for

CLASSES: dict[str, Callable[[str], bool]] = {
    "of all": lambda name: True,
    "of those that learn online": lambda name: name != EXACT,
    "of local rules": lambda name: CONTESTANTS[name].local == "yes",
}


def write_report(folder: Path, config: "CompareConfig", found: dict[str, Any], timings: dict[str, Any]) -> None:
    """Write ``report.html``."""
    title = KINDS[config.problem].title if config.problem in KINDS else Path(config.problem).name
    shared = "a stream and weights of its own" if config.problem in KINDS else "weights of its own"
    report = Report(
        f"Arena: {title}",
        f"{describe(found['stream'])}. {len(config.learners)} learners, "
        f"{config.components} slow feature{'s' * (config.components > 1)}, "
        f"{config.runs} run{'s' * (config.runs > 1)}, each with {shared}. All see the same samples in the same order, "
        "once; no rate was chosen for the problem.",
    )
    report.picture(
        folder / "errors.png",
        "Error: slowness of the features, made white, on the whole stream, beyond the least possible and relative to "
        "it. Exact SFA of the whole stream has none: its line ends before. Lines are medians, shades all runs; below "
        "the dotted line an error is within a tenth. Time is that of learning and of reading the features once, on one "
        "core.",
    )
    report.heading("Who wins where")
    report.table(["", *CLASSES], winning_rows(found, timings), words=True)
    report.paragraph(
        "Median, and in brackets the least and the greatest of the runs. After “≈” stand those that were as good as "
        "the winner in one run at least: all learners have the same streams. "
        + ("With a single run this says little. " if config.runs == 1 else "")
        + "Errors are those on the stream that was learned, of which exact SFA by definition makes the most."
    )
    report.heading("All of them")
    report.table(
        ["", "local", "error at the end", "angle", "samples to a tenth", "seconds to a tenth", "µs a sample", "keeps"],
        [learner_row(name, config, found, timings) for name in found["learners"]],
        words=True,
    )
    report.paragraph(
        "Angle: the largest between the features and those of exact SFA, in degrees. To a tenth: until the error stays "
        "below it. Keeps: memory between two samples."
    )
    report.table(
        ["", "what it is"], [[CONTESTANTS[n].label, CONTESTANTS[n].remark] for n in found["learners"]], words=True
    )
    write_outsiders(report, found, timings)
    if timings["scaling"]:
        write_scaling(report, folder, timings["scaling"])
    report.heading("To run it again")
    report.code(command(config))
    report.versions()
    report.write(folder / "report.html")


def as_text(found: dict[str, Any], timings: dict[str, Any]) -> str:
    """The comparison in a few lines, for a terminal."""
    rows = [("", "error at the end", "samples to a tenth", "a sample takes", "keeps")]
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
        if name != "online"  # which no exponent fits
    ]
    after = ["time a sample, for m columns: " + ", ".join(exponents)] if exponents else []
    return "\n".join([describe(found["stream"]), *lines, *after])


def winning_rows(found: dict[str, Any], timings: dict[str, Any]) -> Iterable[list[str]]:
    """A row for each budget: the best of each class, and those that cannot be told apart from it."""

    def row(what: str, results: dict[str, Interval], show: Callable[[float], str]) -> list[str]:
        return [what, *(winner(results, takes_part, show) for takes_part in CLASSES.values())]

    def of_all(part: dict[str, Any], key: str) -> dict[str, Interval]:
        return {name: own[key] for name, own in part["learners"].items()}

    for samples, errors in found["after"].items():
        yield row(f"least error after {int(samples):,} samples", errors, shown)
    yield row("fewest samples to an error of a tenth", of_all(found, "samples_until_close"), counted)
    yield row("least time to an error of a tenth", of_all(timings, "seconds_until_close"), timed)
    yield row("cheapest sample", of_all(timings, "seconds_a_sample"), timed)


def winner(results: dict[str, Interval], takes_part: Callable[[str], bool], show: Callable[[float], str]) -> str:
    """The learner with the least median, and after “≈” those that were as good in one run at least."""
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
    """What all learn from."""
    episodes, skipped = stream["episodes"], stream["rows_skipped"]
    slowness = ", ".join(f"{delta:.3g}" for delta in stream["least_slowness"][:SHOWN_SLOWNESS])
    more = ", …" if len(stream["least_slowness"]) > SHOWN_SLOWNESS else ""
    return (
        f"{stream['samples']:,} samples of {stream['columns']} columns"
        + (f" in {episodes:,} episodes" if episodes > 1 else "")
        + (f" ({skipped:,} rows with missing values left out)" if skipped else "")
        + f", least slowness {slowness}{more} (first run)"
    )


def number(value: float | None) -> float:
    """What is written as None was never reached."""
    return math.inf if value is None else value


def learner_row(name: str, config: "CompareConfig", found: dict[str, Any], timings: dict[str, Any]) -> list[str]:
    """What there is to say of a learner."""
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
    """Software of others on the same streams."""
    report.heading("Checked from outside")
    if not found["outsiders"]:
        report.paragraph(
            "Neither deeptime nor sklearn-sfa took part: they are not installed (pip install deeptime sklearn-sfa), "
            "they refused the stream, or it has episodes, which sklearn-sfa does not know."
        )
        return
    report.table(
        ["all samples at once", "error", "angle to exact SFA", "seconds"],
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
        "TICA takes each pair of samples in both directions, which makes a difference at the ends of episodes, and "
        "sorts features that alternate among those that are slow: the slowest of all that it finds are taken. Columns "
        "of very different scale may be too much for either."
    )


def write_scaling(report: Report, folder: Path, scaling: dict[str, Any]) -> None:
    """What a sample costs as the input grows."""
    report.heading("What a sample costs")
    report.picture(
        folder / "scaling.png",
        f"Time and memory a sample against the number of columns m, {N_COMPONENTS} features, white noise, one core. "
        "Numbers are the exponents of m that fit best.",
    )
    sizes = max((own["columns"] for own in scaling.values()), key=len)
    report.table(
        ["µs a sample", *(f"m = {m:,}" for m in sizes), "time ~", "memory ~"],
        [
            [
                own["label"],
                *(microseconds(seconds) for seconds in own["seconds_a_sample"]),
                *("" for _ in range(len(sizes) - len(own["columns"]))),
                f"m^{own['exponent_of_time']:.2f}",
                f"m^{own['exponent_of_memory']:.2f}",
            ]
            for own in scaling.values()
        ],
    )
    report.paragraph(
        "Exact SFA sums two m × m matrices and solves an eigenproblem, of order m³, once; its time here is that of the "
        "sums. OnlineSFA keeps all of C_xx up to 512 columns and 32 directions of it beyond, so that no one exponent "
        "fits. Incremental SFA whitens along as many principal components as there are columns, unless fewer are asked "
        f"for ({FEW_WHITENED} in the dashed line)."
    )


def command(config: "CompareConfig") -> str:
    """The command that runs the same again."""
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
    """Median, and the range of the runs; what has no number did not get there."""
    keys = ("median", "least", "greatest")
    texts = {key: missing if interval[key] is None else show(interval[key]) for key in keys}
    if texts["least"] == texts["greatest"]:
        return texts["median"]
    return f"{texts['median']} ({texts['least']}–{texts['greatest']})"


def reached(runs_close: int, runs: int) -> str:
    """How many runs got there, if not all did."""
    return "" if runs_close in (0, runs) else f" ({runs_close} of {runs} runs)"


def shown(error: float) -> str:
    """An error, or 0 where it is rounding."""
    if error < LEAST_SHOWN:
        return "0"
    return f"{error:.2g}" if error < 100 else f"{error:,.0f}"


def degrees(angle: float) -> str:
    """An angle; below a millionth of a degree it is rounding."""
    return f"{angle:.2g}°" if angle >= 1e-6 else "0°"


def counted(samples: float) -> str:
    """A number of samples."""
    return f"{int(samples):,}"


def timed(seconds: float) -> str:
    """A time, in the unit that suits it."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1.0:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def microseconds(seconds: float) -> str:
    """A time in microseconds, without an exponent."""
    return f"{seconds * 1e6:.3g}" if seconds < 1e-3 else f"{seconds * 1e6:,.0f}"


def size(n_bytes: int) -> str:
    """An amount of memory."""
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.1f} kB"
