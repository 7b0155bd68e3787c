"""Fits monitors to files, checks files and lines with them, and changes what is normal."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from biosfa.estimators import load
from biosfa.exceptions import InputError
from biosfa.io import Chunk, Position, Stream, StreamOptions
from biosfa.io.atomic import replace_file, writing
from biosfa.io.results import writing_results
from biosfa.io.tables import STDIN, live_input
from biosfa.io.targets import check_target
from biosfa.monitoring import SLOW_AND_REST, VERDICTS, Peer, SlowFeatureMonitor, checked_persistence, compare
from biosfa.presentation.progress import Progress
from biosfa.recordings.monitoring._blind import MOST, Blind, Change
from biosfa.recordings.monitoring._picture import draw
from biosfa.recordings.monitoring._report import write_report
from biosfa.recordings.monitoring._statistics import statistics_table
from biosfa.recordings.monitoring._trace import Trace
from biosfa.recordings.monitoring.alarms import Alarm, Alarms, as_csv
from biosfa.recordings.notes import gaps, note, note_order
from biosfa.recordings.remembered import stream_for
from biosfa.wording import as_json, counted

PASSES, MORE_PASSES = 6, 2  # of a fit over the rows of normal operation; more with an expansion
NORMAL, _, ABNORMAL, NO_DATA = VERDICTS
ABNORMAL_SHARE = 0.1  # of the accepted rows, without a note: a new operating point may begin with some


class Reported(Stream):
    """A stream that reports how often it was read: 1.5 is in the middle of the second pass."""

    def __init__(self, stream: Stream, report: Callable[[float], object]) -> None:
        self.__dict__.update(stream.__dict__)
        self._report = report
        self._n_passes = 0  # that have begun

    def chunks(self, position: Position | None = None) -> Iterator[Chunk]:
        """Yield the chunks after a position."""
        passed = self._n_passes
        self._n_passes += 1
        for chunk in super().chunks(position):
            yield chunk
            self._report(passed + self.fraction(chunk.position))


def load_monitor(path: str) -> SlowFeatureMonitor:
    """Return the monitor that a file holds.

    Raises
    ------
    InputError
        If the file holds something else.
    """
    found = load(path)
    if not isinstance(found, SlowFeatureMonitor):
        raise InputError(f"{path} holds {type(found).__name__}, not a monitor: biosfa monitor fit writes one")
    return found


def fit(
    monitor: SlowFeatureMonitor, inputs: list[str], given: Mapping[str, Any], out: Path, *, read: Sequence[Path] = ()
) -> None:
    """Fit a monitor to files, and write it. ``given`` has fields of StreamOptions.

    ``read`` are files that were read before, such as that of a model: they are not replaced, either.
    """
    if inputs == [STDIN]:
        raise ValueError("standard input can be read only once, and a monitor reads its rows several times: use a file")
    model = monitor.model
    options = {"missing": "break", **given}
    if model is None:
        stream = StreamOptions(**options).open(inputs)
        note_order(stream)
    else:
        stream = stream_for(model, inputs, options)
    check_target(out, [*read, *stream.files()])
    n_passes = PASSES + (MORE_PASSES if model is None and monitor.expansion is not None else 0)
    with writing(out), Progress("learn what is normal", total=None, unit="passes") as progress:

        def report(passes: float) -> None:
            progress.reach(min(1.0, passes / n_passes), int(passes))

        monitor.fit(Reported(stream, report))
        monitor.save(out)


class Checked:
    """What a check has found."""

    def __init__(self, monitor: SlowFeatureMonitor, names: list[str]) -> None:
        self.monitor = monitor
        self.names = names  # of the columns
        self.alarms = Alarms(monitor.limits_, monitor.n_features_in_)
        self.found: list[Alarm] = []  # all alarms of files; those of a stream without end are not kept
        self.trace = Trace(monitor.limits_)
        self.blind = Blind(monitor.model_.n_delays)
        self.end = Position()
        if not monitor.explains:
            note("the columns that contribute are not known for the expansion of this model: alarms name none")

    @property
    def is_blind(self) -> bool:
        """Whether most rows have no data."""
        return self.blind.share > MOST

    def take(self, chunk: Chunk) -> tuple[np.ndarray[Any, Any], list[Alarm], list[Change]]:
        """Take the next rows. Return numbers for each, the alarms that begin, and when data go missing or are back."""
        followed = self.monitor.follows_
        watched = self.monitor.watch_chunk(chunk)
        if followed and not self.monitor.follows_:
            first, last = self.alarms.n_rows, self.alarms.n_rows + chunk.n_rows - 1
            note(
                f"the monitor stopped following between the rows {first:,} and {last:,}: a column drifts by more than "
                "one standard deviation per --forget rows. If this is normal, accept it (biosfa monitor accept)"
            )
        self.trace.add(chunk, watched)
        self.end = chunk.position
        numbers = np.array([VERDICTS.index(str(verdict)) for verdict in watched.verdicts], dtype=np.float64)
        changes = self.blind.add(chunk, watched)
        return np.column_stack([watched.statistics, numbers]), self.alarms.add(chunk, watched), changes

    def say_what_is_missing(self) -> None:
        """Print notes about rows that were not checked."""
        for text in self.blind.notes():
            note(text)


def check(
    path: str,
    inputs: list[str],
    given: Mapping[str, Any],
    folder: Path,
    *,
    statistics: str = "csv",
    normal: list[str] | None = None,
    persistence: tuple[int, int] | None = None,
) -> Checked:
    """Check files, and write the results to a folder.

    The results are ``alarms.csv``, ``statistics.csv`` (or another format), ``statistics.png`` and ``report.html``.
    ``normal`` are the files of normal operation: with them, the report has other monitors, too.
    """
    monitor = _opened(path, persistence)
    stream = stream_for(monitor, inputs, given)
    training = None if normal is None else stream_for(monitor, normal, given)
    names = stream.feature_names
    checked, as_loaded = Checked(monitor, names), deepcopy(monitor)  # one that follows changes while it checks
    read: list[str | Path] = [path, *stream.files(), *([] if training is None else training.files())]
    results = ("alarms.csv", f"statistics.{statistics}", "statistics.png", "report.html")
    with writing_results(folder, "monitor check", results, read) as new:
        with (
            statistics_table(new / f"statistics.{statistics}") as table,
            Progress("check", total=None, unit="rows") as progress,
        ):
            for chunk in stream:
                first = checked.alarms.n_rows
                numbers, begun, _ = checked.take(chunk)
                checked.found += begun
                if len(numbers):
                    table(first, chunk.times, numbers)
                progress.reach(stream.fraction(chunk.position), checked.alarms.n_rows)
        if not checked.alarms.n_rows:
            raise InputError("the input has no rows to check")
        replace_file(new / "alarms.csv", lambda file: file.write(as_csv(checked.found, names)))
        axis = (stream.reading.time or "time") if checked.trace.timed else "row"
        draw(checked.alarms, checked.trace, names, axis, new / "statistics.png")
        peers = {} if training is None else _compared(as_loaded, training, stream)
        write_report(
            monitor,
            checked.alarms,
            checked.found,
            names,
            new / "statistics.png",
            peers,
            new / "report.html",
            source=Path(path).name,
            inputs=[Path(each).name for each in inputs],
        )
    if checked.end.n_skipped or checked.end.n_broken:
        note(gaps(checked.end))
    checked.say_what_is_missing()
    return checked


def _opened(path: str, persistence: tuple[int, int] | None) -> SlowFeatureMonitor:
    monitor = load_monitor(path)
    if persistence is not None:
        monitor.set_params(persistence=checked_persistence(persistence))
    return monitor


def watch(
    path: str,
    descriptor: int,
    target: IO[str],
    given: Mapping[str, Any],
    *,
    persistence: tuple[int, int] | None = None,
) -> Checked:
    """Read lines until they end, and write one line of JSON per alarm, as soon as it begins.

    There is also a line when data have been missing for long, and when they are back.
    """
    monitor = _opened(path, persistence)
    stream = stream_for(monitor, live_input(descriptor, given.get("header")), given)
    checked = Checked(monitor, stream.feature_names)
    for chunk in stream:
        numbers, begun, changes = checked.take(chunk)
        offset = checked.alarms.n_rows - len(numbers)
        events = [change.described() for change in changes]
        for alarm in begun:
            statistics = dict(zip(SLOW_AND_REST, numbers[alarm.first - offset], strict=False))
            events.append(described(alarm, statistics, monitor, checked.names))
        for event in sorted(events, key=lambda event: event["row"]):
            target.write(as_json(event, allow_nan=False) + "\n")
        if events:
            target.flush()
    checked.say_what_is_missing()
    return checked


def described(
    alarm: Alarm, statistics: Mapping[str, float], monitor: SlowFeatureMonitor, names: list[str]
) -> dict[str, Any]:
    """Return an alarm that has begun as JSON data."""
    return {
        "event": "alarm",
        "row": alarm.first,
        "time": alarm.begin or None,
        "verdict": alarm.verdict,
        "statistics": {name: _number(value) for name, value in statistics.items()},
        "limits": {name: float(limit) for name, limit in zip(SLOW_AND_REST, monitor.limits_, strict=True)},
        "columns": alarm.columns(names),
    }


def _number(value: float) -> float | str | None:
    """Return a number as JSON data, which has no NaN and no infinity."""
    return None if math.isnan(value) else "infinite" if math.isinf(value) else float(value)


class Accepted(NamedTuple):
    """What accepting rows has changed: shares of these rows that have data."""

    n_rows: int
    before: float  # share in alarm before
    after: float  # and after


def accept(path: str, inputs: list[str], given: Mapping[str, Any], out: Path, since: str | None) -> Accepted:
    """Make rows of files normal, and write the monitor. ``since`` is the number of a row, or a time."""
    with writing(out):  # before the monitor is loaded: what another run accepts meanwhile would be lost
        monitor = load_monitor(path)
        stream = stream_for(monitor, inputs, given)
        check_target(out, stream.files())
        first = 0 if since is None else _row_of(stream, since)
        before = monitor.verdicts(stream)[first:]
        monitor.accept(stream, since=first)
        after = monitor.verdicts(stream)[first:]
        monitor.save(out)
    known = before != NO_DATA
    abnormal = float((before[known] == ABNORMAL).mean())
    if abnormal > ABNORMAL_SHARE:
        note(
            f'{100 * abnormal:.0f}% of these rows were "abnormal": their dynamics are not those of normal operation, '
            "and accepting rows changes only the operating point. Is there a fault among them?"
        )
    return Accepted(len(before), *(float((each[known] != NORMAL).mean()) for each in (before, after)))


def _row_of(stream: Stream, since: str) -> int:
    """Return the number of the first row from a time on, or the number of a row as it is.

    A whole number is the number of a row. A time in numbers has a decimal point.
    """
    if since.removeprefix("-").isdigit():
        n_rows = sum(chunk.n_rows for chunk in stream)
        if not 0 <= int(since) < n_rows:
            raise ValueError(f"--since {since}: there is no such row; the rows have the numbers 0 to {n_rows - 1:,}")
        return int(since)
    time = stream.reading.time
    if time is None:
        raise ValueError(f"--since {since}: without a column of time, give the number of a row, from 0")
    n_rows, earlier = 0, False
    for chunk in stream:
        assert chunk.times is not None
        try:
            wanted = np.datetime64(since, "ns") if chunk.times.dtype.kind == "M" else float(since)
        except ValueError:
            raise ValueError(
                f"--since {since} is neither the number of a row nor a time like those of column {time!r}"
            ) from None
        earlier = earlier or bool(np.any(chunk.times < wanted))
        later = np.flatnonzero(chunk.times >= wanted)
        if len(later):
            if not (earlier or np.any(chunk.times == wanted)):
                raise ValueError(f"--since {since} is earlier than all rows: leave it out to accept all of them")
            return n_rows + int(later[0])
        n_rows += chunk.n_rows
    raise ValueError(f"--since {since} is later than all rows")


def compare_files(path: str, inputs: list[str], given: Mapping[str, Any], normal: list[str]) -> dict[str, Peer]:
    """Return which rows of files a monitor and other monitors find out of their limits."""
    monitor = load_monitor(path)
    rows, training = (stream_for(monitor, files, given) for files in (inputs, normal))
    if monitor.persistence != (1, 1):
        note("a row is in alarm here if any statistic is beyond its limit: persistence is not applied")
    return _compared(monitor, training, rows)


def _compared(monitor: SlowFeatureMonitor, training: Stream, rows: Stream) -> dict[str, Peer]:
    """Compare monitors, and say if the others learn from much less than the monitor."""
    n, own = sum(chunk.n_rows for chunk in training), monitor.calibration_.n_rows
    if 2 * n < own:
        note(
            f"the other monitors learn from {counted(n, 'row')} of --normal, and this one from {own:,}: the comparison "
            "is not fair"
        )
    return compare(monitor, training, rows)
