"""Verdicts: what statistics beyond their limits say about the process."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from biosfa.typing import BoolArray, Float64Array, IntArray
from biosfa.validation import check_count, check_positive

NORMAL, MOVED, ABNORMAL, NO_DATA = "normal", "moved", "abnormal", "no data"
VERDICTS = (NORMAL, MOVED, ABNORMAL, NO_DATA)
ALARMS = (MOVED, ABNORMAL)

# Persistence rules that are compared when a monitor is fitted: k of the last n rows.
USUAL_RULES = ((1, 1), (2, 2), (2, 3), (3, 5), (3, 10), (5, 10))
# To find the delay of a rule, faults are simulated in groups, some rows at a time: until there are so many alarms (an
# error of 1%), or until there are so many rows (half a second).
SIMULATED_ALARMS, SIMULATED_ROWS = 10_000, 10_000_000
GROUP, GROUP_ROWS = 1000, 1_000_000  # faults in a group, and rows of all of them that are in memory


def checked_persistence(rule: object) -> tuple[int, int]:
    """Return a persistence rule as two whole numbers (k, n).

    Raises
    ------
    ValueError
        If it is something else, or if k is larger than n.
    """
    if not (isinstance(rule, tuple | list) and len(rule) == 2):
        raise ValueError(f"persistence must be two whole numbers (k, n); got {rule!r}")
    k, n = (check_count(f"{name} of persistence=(k, n)", value) for name, value in zip("kn", rule, strict=True))
    if k > n:
        raise ValueError(f"persistence=({k}, {n}) means k of the last n rows: k must not be larger than n")
    return k, n


class Rule(NamedTuple):
    """A persistence rule, and what it does.

    Attributes
    ----------
    k, n : int
        A statistic counts as out of its limit if it was out in ``k`` of the last ``n`` rows.
    false_alarms : float
        Share of the rows of normal operation that are not "normal".
    false_alarms_per_1000 : float
        Number of false alarms, runs of such rows, per 1,000 rows of normal operation.
    delay : int
        Rows until the alarm, if a fault puts a statistic out of its limit in every row.
    delay_half : float
        The same, on average, if it does so in half of the rows. Infinite if there is practically no alarm.

    Examples
    --------
    >>> from biosfa.datasets import stirred_tank
    >>> from biosfa.monitoring import SlowFeatureMonitor
    >>> monitor = SlowFeatureMonitor().fit(stirred_tank(10_000, random_state=0).samples)
    >>> [(rule.k, rule.n, rule.delay) for rule in monitor.rules_]
    [(1, 1, 1), (2, 2, 2), (2, 3, 2), (3, 5, 3), (3, 10, 3), (5, 10, 5)]
    """

    k: int
    n: int
    false_alarms: float
    false_alarms_per_1000: float
    delay: int
    delay_half: float

    @classmethod
    def from_json(cls, content: list[Any]) -> Self:
        """Restore a rule from JSON data.

        Raises
        ------
        ValueError
            If it is not a rule.
        """
        k, n, false_alarms, per_1000, delay, delay_half = content
        for name, value in (("false_alarms", false_alarms), ("false_alarms_per_1000", per_1000)):
            check_positive(name, value, zero=True)
        if delay_half != np.inf:
            check_positive("delay_half", delay_half)
        k, n = checked_persistence((k, n))
        return cls(k, n, float(false_alarms), float(per_1000), check_count("delay", delay), float(delay_half))


@dataclass
class Persistence:
    """Applies a persistence rule row by row, with a memory of the last rows."""

    k: int
    n: int
    past: BoolArray  # (up to n − 1 rows, statistics): which were out of their limits

    @classmethod
    def begin(cls, rule: tuple[int, int], n_statistics: int) -> Self:
        """Return the rule (k, n) without a past."""
        return cls(*checked_persistence(rule), np.zeros((0, n_statistics), np.bool_))

    def apply(self, out: BoolArray) -> BoolArray:
        """Return which statistics count as out of their limits in the next rows."""
        if self.n == 1:
            return out
        rows = np.concatenate([self.past, out])
        counts = np.cumsum(rows, axis=0, dtype=np.int64)
        counts[self.n :] -= counts[: -self.n].copy()
        self.past = rows[max(0, len(rows) - self.n + 1) :]
        lasting: BoolArray = counts[len(rows) - len(out) :] >= self.k
        return lasting


def codes(statistics: Float64Array, lasting: BoolArray, n_levels: int) -> IntArray:
    """Return the number of the verdict of each row in ``VERDICTS``."""
    moved, changed = lasting[:, :n_levels].any(axis=1), lasting[:, n_levels:].any(axis=1)
    found = np.where(changed, 2, np.where(moved, 1, 0))
    nothing = np.all(np.isnan(statistics), axis=1)
    return np.where(nothing, 3, found)


def compared_rules(out: BoolArray, own: tuple[int, int], n_levels: int, rng: np.random.Generator) -> tuple[Rule, ...]:
    """Return what the usual rules and one's own do; ``out`` says what was out of its limit in normal operation."""
    found = []
    for k, n in sorted({*USUAL_RULES, checked_persistence(own)}, key=lambda rule: (rule[1], rule[0])):
        lasting = Persistence.begin((k, n), out.shape[1]).apply(out)
        alarm = np.asarray(np.any(lasting, axis=1))
        begun = np.count_nonzero(alarm & ~np.append(False, alarm[:-1]))
        found.append(Rule(k, n, float(alarm.mean()), 1000.0 * int(begun) / len(out), k, mean_delay(k, n, rng)))
    return tuple(found)


def mean_delay(k: int, n: int, rng: np.random.Generator) -> float:
    """Return the mean number of rows until k of the last n are out of the limit, if half of them are, at random.

    Faults are simulated until there is an alarm, or until they become too long. Where delays are long, they are almost
    exponential. So all simulated rows, divided by the number of alarms, are an estimate that does not depend on where
    the simulation stops. It is infinite if there was no alarm at all.
    """
    if k == n:  # a run of k
        return 2.0 ** (k + 1) - 2.0 if k < 1000 else np.inf
    step = max(n, 32)
    group = max(1, min(GROUP, GROUP_ROWS // step))
    rows, alarms = 0, 0
    while rows < SIMULATED_ROWS and alarms < SIMULATED_ALARMS:
        rule, waiting = Persistence.begin((k, n), group), np.ones(group, np.bool_)
        for _ in range(0, SIMULATED_ROWS // group, step):
            alarm = rule.apply(rng.random((step, group)) < 0.5)[:, waiting]
            hit = alarm.any(axis=0)
            rows += int(alarm.argmax(axis=0)[hit].sum()) + int(hit.sum()) + step * int((~hit).sum())
            alarms += int(hit.sum())
            waiting[waiting] = ~hit
            if not waiting.any():
                break
    return rows / alarms if alarms else np.inf
