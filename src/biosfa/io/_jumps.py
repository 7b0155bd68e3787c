"""Gaps in time."""

import numpy as np

from biosfa.exceptions import InputError
from biosfa.wording import duration


def describe_jump(step: float, max_step: float | None, *, dates: bool) -> str:
    """Return a message for a step in time that is a gap."""
    written = duration if dates else "{:.4g}".format
    if np.isnan(step):
        return "the time is missing"
    if np.isinf(step):
        return "the time is infinite, here or in the row before"
    if step <= 0.0:
        return f"time goes back by {written(-step)}" if step < 0.0 else "the time is the same as in the row before"
    usual = "" if max_step is None else f", where steps up to {written(max_step)} are usual (max_step, --max-step)"
    return f"time jumps by {written(step)}{usual}"


class JumpError(InputError):
    """There is a gap in time before a row of a block."""

    def __init__(self, row: int, message: str) -> None:
        super().__init__(message)
        self.row = row
