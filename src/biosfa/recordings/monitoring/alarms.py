"""Alarms: when rows were not normal, with which verdict, and which columns contribute."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from biosfa.io import Chunk
from biosfa.monitoring import ALARMS, SLOW_AND_REST, VERDICTS, Watched
from biosfa.typing import Float64Array
from biosfa.wording import as_cell, time_text

CAUSES = 3  # columns that are named per alarm
OWN = {ALARMS[0]: slice(0, 2), ALARMS[1]: slice(2, 4)}  # statistics that decide a verdict: T² and S²
BRIDGED = 10  # rows with another verdict that do not end an alarm
HEADER = ("first_row", "last_row", "begin", "end", "verdict", "largest", "times_its_limit", "columns")


@dataclass
class Alarm:
    """Rows with the verdict "moved" or "abnormal". At most ten rows between two of them have another verdict."""

    verdict: str
    first: int  # number of the first row, from 0
    begin: str  # its time, as text; empty if the input has no times
    last: int
    end: str
    worst: float = 0.0  # the largest of the statistics that decide the verdict, as a multiple of its limit
    statistic: str = ""  # its name
    causes: Float64Array = field(default_factory=lambda: np.zeros(0))  # summed over the rows

    def columns(self, names: Sequence[str]) -> list[str]:
        """Return the names of the columns that contribute most, the first one most."""
        order = np.argsort(-self.causes, kind="stable")[:CAUSES]
        return [names[column] for column in order if self.causes[column] > 0.0]

    def row(self, names: Sequence[str]) -> list[str]:
        """Return the cells of a table, in the order of ``HEADER``."""
        columns = ", ".join(self.columns(names))
        first, last = str(self.first), str(self.last)
        cells = [first, last, self.begin, self.end, self.verdict, self.statistic, f"{self.worst:.3g}", columns]
        return [as_cell(cell) for cell in cells]


class Alarms:
    """Finds alarms in chunks that follow one another, in constant memory: of each verdict it keeps the last alarm."""

    def __init__(self, limits: Float64Array, n_columns: int) -> None:
        self.n_found = 0
        self.counts = dict.fromkeys(VERDICTS, 0)  # number of rows per verdict
        self.causes = {verdict: np.zeros(n_columns) for verdict in VERDICTS}  # summed over the rows of each verdict
        self.n_rows = 0
        self._limits = np.maximum(limits, np.finfo(float).tiny)
        self._latest: dict[str, Alarm] = {}  # the last alarm of each verdict

    def add(self, chunk: Chunk, watched: Watched) -> list[Alarm]:
        """Take the next rows, and return the alarms that begin among them. They grow with later rows."""
        verdicts, begun = watched.verdicts, []
        for verdict in VERDICTS:
            rows = verdicts == verdict
            self.counts[verdict] += int(np.count_nonzero(rows))
            self.causes[verdict] += watched.causes[rows].sum(axis=0)
        cuts = np.flatnonzero(verdicts[1:] != verdicts[:-1]) + 1
        for begin, end in zip([0, *cuts], [*cuts, len(verdicts)], strict=True):
            if begin == end:
                continue
            verdict = str(verdicts[begin])
            if verdict not in ALARMS:
                continue
            first, alarm = self.n_rows + int(begin), self._latest.get(verdict)
            if alarm is None or first - alarm.last > BRIDGED + 1:
                alarm = Alarm(
                    verdict, first, time_of(chunk, begin), first, "", causes=np.zeros(watched.causes.shape[1])
                )
                self.n_found += 1
                begun.append(alarm)
                self._latest[verdict] = alarm
            self._extend(alarm, chunk, watched, begin, end)
        self.n_rows += len(verdicts)
        return begun

    def _extend(self, alarm: Alarm, chunk: Chunk, watched: Watched, begin: int, end: int) -> None:
        alarm.last, alarm.end = self.n_rows + int(end) - 1, time_of(chunk, end - 1)
        alarm.causes += watched.causes[begin:end].sum(axis=0)
        own = OWN[alarm.verdict]
        ratios = np.nan_to_num(watched.statistics[begin:end, own] / self._limits[own], posinf=np.inf)
        worst = ratios.max(axis=0)
        if worst.max() > alarm.worst:
            alarm.worst, alarm.statistic = float(worst.max()), SLOW_AND_REST[own][int(worst.argmax())]


def as_csv(alarms: Sequence[Alarm], names: Sequence[str]) -> bytes:
    """Return alarms as a table in CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows(alarm.row(names) for alarm in alarms)
    return text.getvalue().encode()


def largest(alarms: Sequence[Alarm], n: int) -> list[Alarm]:
    """Return the alarms with the largest statistics, in their order."""
    chosen = sorted(range(len(alarms)), key=lambda i: -alarms[i].worst)[:n]
    return [alarms[i] for i in sorted(chosen)]


def time_of(chunk: Chunk, row: int) -> str:
    """Return the time of a row as text; empty if the input has no times."""
    return "" if chunk.times is None else time_text(chunk.times[row])
