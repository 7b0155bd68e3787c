"""The report of a check, as one HTML file."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from biosfa.monitoring import SLOW_AND_REST, Peer, SlowFeatureMonitor
from biosfa.presentation.report import Report
from biosfa.presentation.style import COLORS
from biosfa.recordings.monitoring.alarms import BRIDGED, Alarm, Alarms, largest
from biosfa.recordings.monitoring.peers import peer_rows
from biosfa.wording import counted, listed

TITLE = "Has the process moved, or is it broken?"
LISTED = 200  # alarms in the table

MEANINGS = (
    ("normal", "no statistic counts as out of its limit"),
    ("moved", "T² is out of its limit, S² is not: the process runs somewhere else, with its usual dynamics"),
    ("abnormal", "S² is out of its limit: the process changes in a way that it normally does not"),
    ("no data", "values are missing, in the row or in one that its delays need"),
)


def write_report(
    monitor: SlowFeatureMonitor,
    alarms: Alarms,
    all_alarms: Sequence[Alarm],
    names: Sequence[str],
    picture: Path,
    peers: Mapping[str, Peer],
    path: Path,
    *,
    source: str,
    inputs: Sequence[str],
) -> None:
    """Write the report of a check. ``peers`` are other monitors on the same rows; there may be none.

    ``source`` is the file of the monitor, and ``inputs`` are those that were checked.
    """
    n_alarms = len(all_alarms)
    lead = f"{counted(n_alarms, 'alarm')} in {counted(alarms.n_rows, 'row')}."
    report = Report(TITLE, lead)
    total = max(1, alarms.n_rows)
    report.facts(
        (f"{100 * n / total:.1f}%", f"of the rows: {verdict}", COLORS[verdict] if n else "")
        for verdict, n in alarms.counts.items()
    )
    report.paragraph(f"Checked: {listed(inputs)}. Monitor: {source}. {_rate(monitor)} {_rule(monitor)}")
    report.picture(picture, "Statistics as multiples of their limits, verdicts, and columns that contribute to alarms.")
    report.heading("Alarms")
    if n_alarms:
        header = ("begin", "end", "verdict", "largest statistic", "columns that contribute most")
        report.table(header, (_cells(alarm, names) for alarm in largest(all_alarms, LISTED)), words=True)
        if n_alarms > LISTED:
            report.paragraph(f"The table has the {LISTED} largest alarms. alarms.csv has all of them.")
        report.paragraph(
            f"Up to {BRIDGED} rows with another verdict do not end an alarm. So alarms of the two kinds may overlap."
        )
    else:
        report.paragraph("There are no alarms.")
    report.heading("What the verdicts mean")
    report.table(("verdict", "meaning"), MEANINGS, words=True)
    if peers:
        report.heading("Other monitors")
        report.paragraph(
            "Their limits come from the same rows of normal operation, in the same way. A row is in alarm if any "
            "statistic is beyond its limit: persistence is not applied here."
        )
        report.table(("monitor", "rows in alarm", "statistic: rows beyond its limit"), peer_rows(peers), words=True)
    report.heading("Limits")
    found = monitor.calibration_
    report.table(
        ("statistic", "limit", "training rows beyond it"),
        (
            (name, f"{limit:.4g}", f"{100 * share:.2f}%")
            for name, limit, share in zip(SLOW_AND_REST, monitor.limits_, found.false_alarms, strict=True)
        ),
    )
    report.paragraph(
        f"From {counted(found.n_rows, 'row')} of normal operation. The slowest feature has a correlation time of "
        f"{found.correlation_time:.3g} rows. For limits that hold, at least {found.rows_needed:,} rows are recommended."
    )
    report.versions()
    report.write(path)


def _rate(monitor: SlowFeatureMonitor) -> str:
    """Return the alarm rate in words."""
    what = "for all four statistics together" if monitor.family else "for each of the four statistics"
    return f"Alarm rate: {100 * monitor.alarm_rate:.3g}% of normal rows, {what}."


def _rule(monitor: SlowFeatureMonitor) -> str:
    """Return the persistence rule in words."""
    k, n = monitor.persistence
    if (k, n) == (1, 1):
        return "A statistic counts as out of its limit in each row in which it is (persistence 1/1)."
    return (
        f"A statistic counts as out of its limit if it was out in {k} of the last {n} rows (persistence {k}/{n}). So "
        "verdicts begin and end some rows later than the statistics in the picture."
    )


def _cells(alarm: Alarm, names: Sequence[str]) -> list[str]:
    """Return the cells of an alarm. Times, or numbers of rows if there are none, stay on one line."""
    begin, end = (
        _unbroken(time or f"row {row}") for time, row in ((alarm.begin, alarm.first), (alarm.end, alarm.last))
    )
    most = _unbroken(f"{alarm.worst:.3g} × the limit of {alarm.statistic}")
    return [begin, end, alarm.verdict, most, ", ".join(alarm.columns(names))]


def _unbroken(text: str) -> str:
    return text.replace(" ", "\N{NO-BREAK SPACE}").replace("-", "\N{NON-BREAKING HYPHEN}")
