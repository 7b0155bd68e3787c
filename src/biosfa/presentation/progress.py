"""A progress bar with the rate and the time left. It is shown on terminals only."""

import sys
import threading
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress
from rich.progress import Task as RichTask
from rich.text import Text

from biosfa.wording import printable


class _Rate(ProgressColumn):
    def render(self, task: RichTask) -> Text:
        speed, unit = task.fields["rate"] or task.finished_speed or task.speed, task.fields["unit"]
        if speed is None:
            return Text("")
        return Text(f"{speed / 1e6:,.1f} M {unit}/s" if speed >= 1e5 else f"{speed:,.0f} {unit}/s")


class Progress:
    """A progress bar for a run, used in a ``with`` statement.

    Parameters
    ----------
    title : str
        Text before the bar.
    total : int or None
        Number of steps, which :meth:`advance` counts from any thread. None if :meth:`reach` reports the share done.
    unit : str, default="steps"
        Unit of the rate.

    Examples
    --------
    >>> from biosfa.presentation.progress import Progress
    >>> with Progress("learn", total=10) as progress:
    ...     progress.advance(10)
    """

    def __init__(self, title: str, total: int | None, unit: str = "steps") -> None:
        self._bar = RichProgress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            _Rate(),
            TimeElapsedColumn(),
            TextColumn("elapsed,"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=Console(stderr=True),
            disable=not sys.stderr.isatty(),
            transient=True,
        )
        self._task = self._bar.add_task(printable(title), total=1.0 if total is None else total, unit=unit, rate=None)
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        if not self._bar.disable:  # otherwise older versions of Rich print an empty line at the end
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._bar.disable:
            self._bar.stop()

    def skip(self, steps: int) -> None:
        """Count steps that an earlier run has made."""
        self._bar.update(self._task, completed=steps)

    def advance(self, steps: int) -> None:
        """Count steps of this run."""
        with self._lock:
            self._bar.advance(self._task, steps)

    def reach(self, fraction: float, steps: int) -> None:
        """Report the share of the whole that is done, and the number of steps that it took."""
        elapsed = self._bar.tasks[0].elapsed or 0.0
        self._bar.update(self._task, completed=fraction, rate=steps / elapsed if elapsed > 0.0 else None)
