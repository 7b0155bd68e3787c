"""Commands that watch a process."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from biosfa.cli._errors import one_line_errors
from biosfa.cli._options import Expand, Given, Inputs, one_of, takes_stream_options
from biosfa.cli._output import say
from biosfa.wording import counted

if TYPE_CHECKING:
    from biosfa.recordings.monitoring.alarms import Alarm

ALARM, BLIND = 3, 4  # exit codes of a check that found alarms, and of one without data in most rows
SHOWN = 20  # alarms that are printed

monitor = typer.Typer(
    help="Watch a process: has its operating point moved, or are its dynamics no longer normal?", no_args_is_help=True
)

Model = Annotated[str, typer.Argument(help="File of the monitor.", metavar="MONITOR")]
PERSISTENCE = "A statistic counts as out of its limit if it was out in K of the last N rows. Example: 3/10."


def add_to(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.add_typer(monitor, name="monitor", rich_help_panel="Your own recordings")


@monitor.command("fit")
@takes_stream_options(missing="break")
def fit(
    inputs: Inputs,
    out: Annotated[Path, typer.Option(help="File of the monitor to write.")],
    delays: Annotated[
        int | None,
        typer.Option(
            min=1, help="Join this many consecutive rows. 2 or 3 show how the process reacts.", show_default="1"
        ),
    ] = None,
    expand: Expand = None,
    slow_share: Annotated[float, typer.Option(help="Share of the features that count as slow.")] = 0.5,
    alarm_rate: Annotated[
        float, typer.Option(help="Share of the rows of normal operation that may be beyond a limit.")
    ] = 0.01,
    family: Annotated[
        bool,
        typer.Option(
            "--family",
            help="The alarm rate holds for all four statistics together, not for each of them.",
        ),
    ] = False,
    persistence: Annotated[str | None, typer.Option(help=PERSISTENCE, metavar="K/N", show_default="1/1")] = None,
    forget: Annotated[
        float | None,
        typer.Option(min=10, help="Follow slow changes: only about this many of the latest rows count."),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="File of a fitted model of slow features. Only the limits are then learned."),
    ] = None,
    *,
    given: Given,
) -> None:
    """Learn what is normal, from recordings of normal operation.

    Example: [b]biosfa monitor fit normal.csv --time timestamp --delays 2 --out
    plant.safetensors[/b]
    """
    with one_line_errors():
        from biosfa.monitoring import SlowFeatureMonitor
        from biosfa.recordings.features import slow_model

        if model is not None and (delays is not None or expand is not None):
            name = "--delays" if delays is not None else "--expand"
            raise ValueError(f"{name} cannot be used with --model: the model has its own")
        from biosfa.recordings.monitoring import work

        new = SlowFeatureMonitor(
            n_delays=1 if delays is None else delays,
            expansion=expand and str(expand),
            slow_share=slow_share,
            alarm_rate=alarm_rate,
            family=family,
            persistence=rule(persistence) or (1, 1),
            forget=forget,
            model=None if model is None else slow_model(str(model)),
        )
        work.fit(new, inputs, given, out, read=[] if model is None else [model])
        found = new.calibration_
        say(
            f"{out}: {len(new.delta_values_)} features of {new.n_features_in_} columns, {new.n_slow_} of them slow, "
            f"from {found.n_rows:,} rows"
        )
        say(f"correlation time of the slowest feature: {found.correlation_time:.3g} rows")
        if found.n_rows < found.rows_needed:
            say(f"at least {found.rows_needed:,} rows are recommended")
        say("\npersistence   false alarms   alarms per 1,000 rows   rows until an alarm*")
        for each in new.rules_:
            name = f"{each.k} of {each.n}"
            say(
                f"{name:11} {100 * each.false_alarms:12.2f}% {each.false_alarms_per_1000:23.2f} "
                f"{f'{each.delay} / {each.delay_half:.1f}':>22}"
            )
        say("* if a statistic is out of its limit in every row / in half of the rows")


@monitor.command("check")
@takes_stream_options(default="as in the fit")
def check(
    model: Model,
    inputs: Inputs,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for alarms.csv, statistics, picture and report. Results of an earlier check are replaced.",
            show_default="MONITOR-check",
        ),
    ] = None,
    statistics: Annotated[
        one_of(["csv", "parquet", "npy"]),  # type: ignore[valid-type]
        typer.Option(help="Format of the statistics."),
    ] = "csv",
    normal: Annotated[
        list[str] | None,
        typer.Option(
            help="File of normal operation. With it, the report compares the monitor with PCA, dynamic PCA and the "
            "Mahalanobis distance. Repeat the option for several files."
        ),
    ] = None,
    persistence: Annotated[
        str | None, typer.Option(help=PERSISTENCE, metavar="K/N", show_default="as in the fit")
    ] = None,
    *,
    given: Given,
) -> None:
    """Check recordings: print a table of alarms, and write statistics, a picture and a report.

    The exit code is 0 without alarms, 3 with alarms, 4 without alarms if more than
    half of the rows have no data, and 1 or 2 after an error. If the input is -, the
    command reads lines of CSV from standard input, and prints one line of JSON as soon
    as an alarm begins, when data have been missing for 20 rows, and when they are back.

    Example: [b]tail -n +1 -f log.csv | biosfa monitor check plant.safetensors -[/b]
    """
    with one_line_errors():
        from biosfa.recordings.monitoring import work

        chosen = rule(persistence)
        if inputs == ["-"]:
            if out is not None or normal:
                raise ValueError("--out and --normal are for files: for lines, redirect the output of the command")
            checked = work.watch(model, sys.stdin.fileno(), sys.stdout, given, persistence=chosen)
        else:
            folder = out or Path(model).with_suffix("").with_name(f"{Path(model).stem}-check")
            checked = work.check(
                model, inputs, given, folder, statistics=str(statistics), normal=normal, persistence=chosen
            )
            print_alarms(checked.found, checked.names)
            shares = ", ".join(f"{n:,} {verdict}" for verdict, n in checked.alarms.counts.items() if n)
            say(f"{counted(checked.alarms.n_rows, 'row')}: {shares}")
            say(f"report: {(folder / 'report.html').resolve()}")
    if checked.alarms.n_found:
        raise typer.Exit(ALARM)
    if checked.is_blind:
        raise typer.Exit(BLIND)


@monitor.command("accept")
@takes_stream_options(default="as in the fit")
def accept(
    model: Model,
    inputs: Inputs,
    since: Annotated[
        str | None,
        typer.Option(
            help="First row at the new operating point: its number from 0, or its time. Times that are numbers need a "
            "decimal point: 7200.0.",
            metavar="ROW|TIME",
            show_default="0",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File to write. By default MONITOR is replaced.", show_default="MONITOR")
    ] = None,
    *,
    given: Given,
) -> None:
    """Make a new operating point normal. This replaces the file of the monitor, unless --out names another.

    Example: [b]biosfa monitor accept plant.safetensors tuesday.csv --since "2026-01-06 03:30" --out new.safetensors[/b]
    """
    with one_line_errors():
        from biosfa.recordings.monitoring import work

        target = out or Path(model)
        found = work.accept(model, inputs, given, target, since)
        say(f"{target}: {counted(found.n_rows, 'row')} {'is' if found.n_rows == 1 else 'are'} normal now")
        say(f"in alarm: {100 * found.before:.1f}% of these rows before, {100 * found.after:.1f}% now")


@monitor.command("compare")
@takes_stream_options(default="as in the fit")
def compare(
    model: Model,
    inputs: Inputs,
    normal: Annotated[list[str], typer.Option(help="File of normal operation. Repeat the option for several files.")],
    *,
    given: Given,
) -> None:
    """Compare with PCA, dynamic PCA and the Mahalanobis distance, with limits from the same normal operation."""
    with one_line_errors():
        from biosfa.recordings.monitoring import work
        from biosfa.recordings.monitoring.peers import peer_rows

        found = work.compare_files(model, inputs, given, normal)
        say(f"{'monitor':22}{'rows in alarm':>14}   rows beyond each limit")
        for name, alarms, parts in peer_rows(found):
            say(f"{name:22}{alarms:>14}   {parts}")


def rule(words: str | None) -> tuple[int, int] | None:
    """Return a persistence rule from words such as 3/10."""
    if words is None:
        return None
    k, slash, n = words.partition("/")
    if not (slash and k.isdigit() and n.isdigit()):
        raise ValueError(f"--persistence {words} is not of the form K/N, as in 3/10")
    return int(k), int(n)


def print_alarms(alarms: "list[Alarm]", names: list[str]) -> None:
    """Print the largest alarms as a table."""
    from biosfa.recordings.monitoring.alarms import largest

    if not alarms:
        say("no alarms")
        return
    rows = [("begin", "end", "verdict", "largest", "columns that contribute most")]
    for alarm in largest(alarms, SHOWN):
        begin, end = (alarm.begin or str(alarm.first)), (alarm.end or str(alarm.last))
        most = f"{alarm.worst:.3g} × the limit of {alarm.statistic}"
        rows.append((begin, end, alarm.verdict, most, ", ".join(alarm.columns(names))))
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    for row in rows:
        say("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]]))
    if len(alarms) > SHOWN:
        say(f"these are the {SHOWN} largest of {len(alarms):,} alarms: alarms.csv has all of them")
