"""How fast a network learns: the one place where η and η/τ are made.

A network has rates that the user gave (:class:`GivenRates`), or rates that follow the stream (:class:`AutomaticRates`).
Asked for some rows, either answers with :class:`RowRates`: η and η/τ of each row. The network applies them.
"""

import math
from abc import ABC, abstractmethod
from typing import NamedTuple, TypeVar

import numpy as np

from biosfa.learning._events import next_event
from biosfa.learning._schedules import InverseTime, LearningRate, Schedule, rate_at, rates
from biosfa.learning._units import Units
from biosfa.typing import Arrays, BoolArray, Float64Array, FloatArray

Numbers = TypeVar("Numbers", float, Float64Array)

# Automatic rates are for input of unit mean variance, which relative mode sees to. W: η_t = 1/(AUTO_START + AUTO_DECAY
# k c t), with the variance c of the input along the weights, see AutomaticRates._adapted. A large η can do no harm,
# because the normalised step bounds it by 1/2‖x‖²; noise in the outputs grows with kη. M: a window of 1000 samples and
# a third of the stream, longer than the correlation time of any feature that the stream is long enough to show.
AUTO_START = 30.0
AUTO_DECAY = 4e-3
AUTO_LATERAL = InverseTime(a=1000.0, b=0.3)
LATERAL_MAX = 0.3  # of the automatic rate of M, times the root of the number of streams, which 1 would make unstable

# The variance c is kept within these limits.
VARIANCE_MIN, VARIANCE_MAX = 1e-6, 100.0

# The slow features are stable for τ < ½ + 1/D, or ¼ + 1/D with interneurons, D = (λ_1 − λ_k)²/λ_1λ_k with the
# eigenvalues λ = 4 − δ of M, see docs/inside/maths.md. Noise is amplified near that limit: a fifth of 1/D is taken, or
# what is always stable. Early, M is noise as much as anything, and its spread counts less.
STABLE_SHARE = 0.2
LEAST_TAU, LARGEST_TAU = 0.2, 1e9  # the latter in place of infinity, which files cannot hold
NOISY_SAMPLES = 20_000

# τ where a learning rate is given without one: the paper's for the chaotic series.
DEFAULT_TAU = 0.5

# τ of outputs that cannot be negative. One that the others silence loses its weights, at the rate 2η times the variance
# of the input, and comes back only if M lets go of it first: M must not be much slower than W.
NONNEGATIVE_TAU = 1.0

# When the stream is looked at: at the second sample, then twice as late each time; from the grid on, at its multiples.
FIRST_LOOK, LOOK_GRID, LOOK_GROWTH = 2, 1024, 1 / 16


class Rates(ABC):
    """Rates of W and M, from the learning rate and τ as the user gave them.

    Parameters
    ----------
    n_streams : int
        Parallel streams P. Their updates are summed and divided by √P.
    """

    def __init__(self, learning_rate: LearningRate, lateral: Schedule | None, tau: float, n_streams: int) -> None:
        self._learning_rate = learning_rate
        self._lateral = lateral  # the rate of M, where it is not η/τ
        self._tau = tau
        self._root = math.sqrt(n_streams)
        self._share = 1.0  # of the given rates that each of the streams has
        self._window = math.inf  # updates that count; rates do not fall any further after them

    @abstractmethod
    def now(self, eta: Float64Array, rate: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Scheduled η and η/τ as they are by what the stream has shown so far."""

    def at(self, update: int) -> tuple[float, float]:
        """η and η/τ of one update."""
        update = int(min(update, self._window))
        eta = rate_at(self._learning_rate, update) * self._share
        rate = eta / self._tau if self._lateral is None else self._lateral(update) * self._share
        if not rate * self._root < 1.0:
            raise self._too_fast(update, rate)
        return eta, rate

    def over(self, first: int, starts: BoolArray) -> "RowRates":
        """η and η/τ of each row, ``first`` being the number of the next update; those of starts are not used.

        Raises
        ------
        ValueError
            If a rate is negative, not finite, or so large that M would not stay positive definite.
        """
        count = len(starts) - int(np.count_nonzero(starts))
        eta = self._scheduled(self._learning_rate, first, count)
        rate = eta / self._tau if self._lateral is None else self._scheduled(self._lateral, first, count)
        if count and not rate.max() * self._root < 1.0:
            raise self._too_fast(first + int(rate.argmax()), rate.max())
        if count == len(starts):
            return RowRates(self, eta, rate)
        all_eta, all_rate = np.zeros(len(starts)), np.zeros(len(starts))
        all_eta[~starts], all_rate[~starts] = eta, rate
        return RowRates(self, all_eta, all_rate)

    def _scheduled(self, schedule: LearningRate, first: int, count: int) -> Float64Array:
        falling = int(min(count, max(0.0, self._window - first)))
        values = rates(schedule, first, falling)
        if falling < count:
            values = np.append(values, np.full(count - falling, rate_at(schedule, int(self._window))))
        if self._share != 1.0:
            values *= self._share
        return values

    def _too_fast(self, update: int, rate: float) -> ValueError:
        streams = "" if self._root == 1.0 else f" times the root of the {round(self._root**2)} streams"
        return ValueError(
            f"the learning rate{streams} must stay below tau, or M does not stay positive definite; at update {update} "
            f"their ratio is {rate * self._root:.3g}. Use a smaller learning_rate or a larger tau"
        )


class RowRates(NamedTuple):
    """η and η/τ of rows: scheduled, and by what the stream will have shown when the rows are learned."""

    source: Rates
    eta: Float64Array
    rate: Float64Array

    def part(self, rows: slice) -> "RowRates":
        """Those of some of the rows."""
        return RowRates(self.source, self.eta[rows], self.rate[rows])

    def now(self) -> tuple[Float64Array, Float64Array]:
        """What they are if the rows are learned now."""
        return self.source.now(self.eta, self.rate)


class GivenRates(Rates):
    """Rates that the user gave: η by its schedule, M at η/τ."""

    def __init__(self, learning_rate: LearningRate, tau: str | float, *, n_streams: int) -> None:
        super().__init__(learning_rate, None, DEFAULT_TAU if isinstance(tau, str) else float(tau), n_streams)

    def now(self, eta: Float64Array, rate: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Rates as they are scheduled."""
        return eta, rate


class KernelRates(Rates):
    """The automatic rate of the natural gradient: its kernel makes it, block by block, where it knows the gap."""

    def __init__(self, *, n_streams: int) -> None:
        super().__init__(0.0, None, math.inf, n_streams)

    def now(self, eta: Float64Array, rate: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Zeros, which are not used."""
        return eta, rate


class AutomaticRates(Rates):
    """Rates that follow the stream: its units, its variance along the weights, and the eigenvalues of M.

    Parameters
    ----------
    n_outputs, n_features, n_streams : int
        Size of the network.
    tau : "auto" or float
        Where it is given, M learns at the scheduled η/τ.
    forget : float, optional
        Updates after which rates fall no further.
    """

    def __init__(
        self, tau: str | float, *, n_outputs: int, n_features: int, n_streams: int, forget: float | None
    ) -> None:
        automatic = isinstance(tau, str)
        schedule = InverseTime(a=AUTO_START, b=AUTO_DECAY * n_outputs)
        given = DEFAULT_TAU if isinstance(tau, str) else float(tau)
        super().__init__(schedule, AUTO_LATERAL if automatic else None, given, n_streams)
        # the updates of P streams are summed and divided by √P; by another √P, and they are averaged
        self._share = 1.0 / self._root
        self._window = math.inf if forget is None else float(forget)
        self.follows_M = automatic and forget is None  # where rates do not fall, M that follows faster is noise
        self.units = Units(n_features, n_streams)
        self.variance = np.ones(1)  # of the rescaled input along the weights, c
        self.stable_tau = np.zeros(1)  # at which the slow features are stable; 0 before it is known

    def arrays(self) -> Arrays:
        """What the stream has shown so far: these very arrays."""
        return {**self.units.arrays(), "variance": self.variance, "stable_tau": self.stable_tau}

    def take_over(self, before: "AutomaticRates") -> None:
        """Go on with what the stream has shown to rates of other parameters."""
        self.units, self.variance, self.stable_tau = before.units, before.variance, before.stable_tau

    def next_look(self, n_seen: int) -> int:
        """The number of samples at which the stream is looked at next."""
        return next_event(n_seen, first=FIRST_LOOK, grid=LOOK_GRID, growth=LOOK_GROWTH, window=self._window)

    def look(self, power: float, weights: float, eigenvalues: FloatArray, n_samples: int) -> None:
        """Take into account the power of the outputs, Σ‖w‖² of the weights, and the eigenvalues of M."""
        self.variance[0] = min(max(power / weights, VARIANCE_MIN), VARIANCE_MAX)
        if self.follows_M:
            self.stable_tau[0] = min(stable_tau(eigenvalues, n_samples), LARGEST_TAU)

    def now(self, eta: Float64Array, rate: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Rates for the variance that the input has along the weights; M as fast as slow features need it."""
        eta = self._adapted(eta)
        least, limit = self._least_lateral()
        return eta, np.maximum(rate, np.minimum(least * eta, limit))

    def at(self, update: int) -> tuple[float, float]:
        """η and η/τ of one update, adapted."""
        scheduled, rate = super().at(update)
        eta = self._adapted(scheduled)
        least, limit = self._least_lateral()
        return eta, max(rate, min(least * eta, limit))

    def _adapted(self, eta: Numbers) -> Numbers:
        """Rates for input that has some other variance c than 1 along the weights.

        W learns along a direction at the rate ηc. In ill-conditioned input slow features often have little variance;
        then η should fall that much later, 1/(a + bct) in place of 1/(a + bt).
        """
        start = AUTO_START * self._root
        return eta / (start * eta + (1.0 - start * eta) * float(self.variance[0]))

    def _least_lateral(self) -> tuple[float, float]:
        """What the rate of M must be at least, in units of that of W, for slow features to be stable; and its limit.

        Only where it is automatic, and once M has been looked at.
        """
        tau = float(self.stable_tau[0])
        least = float(self.variance[0]) / tau if self.follows_M and tau > 0.0 else 0.0
        return least, LATERAL_MAX / self._root


def stable_tau(eigenvalues: FloatArray, n_samples: int) -> float:
    """The ratio τ of the rates of W and M at which an M of these eigenvalues, in order, surely lets outputs rest."""
    least, greatest = float(eigenvalues[0]), float(eigenvalues[-1])
    # λ = 4 − δ is at most 4: what M has beyond is noise, of which the least eigenvalue may have as much
    noise = max(0.0, greatest - 4.0)
    greatest -= noise
    least = min(greatest, least + noise * min(1.0, NOISY_SAMPLES / max(n_samples, 1)))
    spread = (greatest - least) ** 2
    return max(LEAST_TAU, STABLE_SHARE * least * greatest / spread) if spread > 0.0 else math.inf
