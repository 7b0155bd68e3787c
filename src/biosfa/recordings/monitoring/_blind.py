"""Rows that a monitor cannot judge: how many, why, and for how long."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from biosfa.io import Chunk
from biosfa.monitoring import VERDICTS, Watched
from biosfa.recordings.monitoring.alarms import time_of
from biosfa.wording import counted

NO_DATA = VERDICTS[3]
MANY = 0.05  # share of rows without data that is reported
MOST = 0.5  # with a larger share, a check has not watched the process
LONG = 20  # consecutive rows without data that a stream reports


@dataclass(frozen=True)
class Change:
    """Data have been missing for long, or are back."""

    row: int  # the first row without data, or the first row with data again
    time: str  # its time; empty if the input has no times
    back: bool
    verdict: str

    def described(self) -> dict[str, Any]:
        """Return the change as JSON data."""
        event = "data are back" if self.back else "no data"
        return {"event": event, "row": self.row, "time": self.time or None, "verdict": self.verdict}


class Blind:
    """Counts rows without data in chunks that follow one another."""

    def __init__(self, n_delays: int) -> None:
        self.n_rows = 0
        self.missing = 0  # rows in which a value is missing
        self.first = 0  # other rows without any statistic: earlier rows are missing that the delays need
        self.unchanged = 0  # rows with T², but without S²
        self._long = max(LONG, 2 * n_delays)
        self._run = 0  # rows without data, up to now
        self._begin: tuple[int, str] = (0, "")

    @property
    def share(self) -> float:
        """Share of the rows without data."""
        return (self.missing + self.first) / max(1, self.n_rows)

    def add(self, chunk: Chunk, watched: Watched) -> list[Change]:
        """Take the next rows, and return when data were missing for long, or came back."""
        none = watched.verdicts == NO_DATA
        known = np.ones(len(none), np.bool_) if chunk.kept is None else chunk.kept
        self.missing += int(np.count_nonzero(none & ~known))
        self.first += int(np.count_nonzero(none & known))
        self.unchanged += int(np.count_nonzero(~none & np.isnan(watched.statistics).any(axis=1)))
        found = []
        cuts = np.flatnonzero(none[1:] != none[:-1]) + 1
        for begin, end in zip([0, *cuts], [*cuts, len(none)], strict=True):
            if begin == end:
                continue
            if none[begin]:
                if not self._run:
                    self._begin = self.n_rows + int(begin), time_of(chunk, begin)
                before, self._run = self._run, self._run + int(end - begin)
                if before < self._long <= self._run:
                    found.append(Change(*self._begin, back=False, verdict=NO_DATA))
            else:
                if self._run >= self._long:
                    verdict = str(watched.verdicts[begin])
                    found.append(Change(self.n_rows + int(begin), time_of(chunk, begin), back=True, verdict=verdict))
                self._run = 0
        self.n_rows += len(none)
        return found

    def notes(self) -> list[str]:
        """Return what a user should know: nothing if few rows have no data."""
        found = []
        if self.share > MANY:
            reasons = []
            if self.missing:
                reasons.append(f"values are missing in {counted(self.missing, 'row')}")
            if self.first:
                reasons.append(
                    f"{counted(self.first, 'row')} {'is the first' if self.first == 1 else 'are the first'} of an "
                    "episode, or the first after a gap in time or a missing value"
                )
            found.append(
                f"no data in {self.missing + self.first:,} of {counted(self.n_rows, 'row')}, which were not checked: "
                f"{', and '.join(reasons)}"
            )
        if self.unchanged > MANY * self.n_rows:
            found.append(
                f'{counted(self.unchanged, "row")} cannot be "abnormal": S² needs the row before, which is missing '
                "there (first rows of an episode, gaps in time, missing values)"
            )
        return found
