"""Learning rates as functions of the update number."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np

from biosfa.kernels.jit import jit
from biosfa.typing import Float64Array


def _check_positive(**values: float) -> None:
    for name, value in values.items():
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be a positive number; got {value!r}")


@dataclass(frozen=True)
class InverseTime:
    """Learning rate η_t = 1/(a + b t) at update t, as in the paper's chaotic time series.

    Parameters
    ----------
    a : float
        Inverse of the rate at the beginning. The paper uses 1e4.
    b : float
        Growth of the inverse rate per update. 0 gives a constant rate. The paper uses 1e-4.

    Examples
    --------
    >>> from biosfa import InverseTime
    >>> InverseTime(a=100.0, b=1.0)(100)
    0.005
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        _check_positive(a=self.a)
        if not (np.isfinite(self.b) and self.b >= 0):
            raise ValueError(f"b must be a finite number, at least 0; got {self.b!r}")

    def __call__(self, t: Any) -> Any:
        return 1.0 / (self.a + self.b * t)


@dataclass(frozen=True)
class Annealed:
    """Learning rate η_t = α/(1 + t/β) at update t, as in the paper's natural images.

    Parameters
    ----------
    alpha : float
        Rate α at the beginning. The paper uses 5e-6.
    beta : float
        Number of updates β after which the rate has halved. The paper uses 5e6.

    Examples
    --------
    >>> from biosfa import Annealed
    >>> Annealed(alpha=0.01, beta=100.0)(100)
    0.005
    """

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        _check_positive(alpha=self.alpha, beta=self.beta)

    def __call__(self, t: Any) -> Any:
        return self.alpha / (1.0 + t / self.beta)


Schedule: TypeAlias = InverseTime | Annealed
SCHEDULES = {schedule.__name__: schedule for schedule in (InverseTime, Annealed)}

LearningRate: TypeAlias = str | float | Schedule | Callable[[int], float]


def rates(learning_rate: LearningRate, first: int, count: int) -> Float64Array:
    """Return η_t for t = first, …, first + count − 1, and check that each is finite and not negative."""
    if isinstance(learning_rate, InverseTime):
        return _inverse_time(learning_rate.a, learning_rate.b, first, count)
    if isinstance(learning_rate, Annealed):
        # α/(1 + t/β) = 1/(1/α + t/(αβ))
        alpha, beta = learning_rate.alpha, learning_rate.beta
        return _inverse_time(1.0 / alpha, 1.0 / (alpha * beta), first, count)
    if callable(learning_rate):
        return np.fromiter((rate_at(learning_rate, t) for t in range(first, first + count)), np.float64, count)
    return np.full(count, float(learning_rate))


@jit
def _inverse_time(a: float, b: float, first: int, count: int) -> Float64Array:
    """Return 1/(a + b t) for t = first, …, first + count − 1."""
    eta = np.empty(count)
    for i in range(count):
        eta[i] = 1.0 / (a + b * (first + i))
    return eta


def rate_at(learning_rate: LearningRate, t: int) -> float:
    """Return η_t, and check that it is finite and not negative."""
    if not callable(learning_rate):
        return float(learning_rate)
    eta = float(learning_rate(t))
    if not 0.0 <= eta < np.inf:
        raise ValueError(f"learning_rate must return finite numbers of at least 0; at update {t} it returned {eta}")
    return eta


def check_learning_rate(learning_rate: object) -> None:
    """Raise ValueError if this is not "auto", a positive number, a schedule or a callable."""
    if (isinstance(learning_rate, str) and learning_rate == "auto") or callable(learning_rate):
        return
    number = isinstance(learning_rate, int | float | np.number) and not isinstance(learning_rate, bool)
    if not (number and np.isfinite(learning_rate) and learning_rate > 0):  # type: ignore[operator, call-overload]
        raise ValueError(
            'learning_rate must be "auto", a positive number, a schedule such as InverseTime or Annealed, or a '
            f"function of the update number; got {learning_rate!r}"
        )


def describe(schedule: Schedule) -> dict[str, Any]:
    """Return a schedule as JSON data."""
    return {"name": type(schedule).__name__, **{name: float(value) for name, value in asdict(schedule).items()}}
