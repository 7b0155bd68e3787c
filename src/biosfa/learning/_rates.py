"""Learning rates of networks: the only place where η and η/τ are computed.

A network has rates that the user gave (:class:`GivenRates`), or rates that follow the stream (:class:`AutomaticRates`).
Both return :class:`RowRates` for some rows: η and η/τ of each row. The network applies them.
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

# Automatic rates are for input of unit mean variance; relative mode scales the input so. W: η_t = 1/(AUTO_START +
# AUTO_DECAY k c t), with the variance c of the input along the weights, see AutomaticRates._adapted. A large η does no
# harm, because the normalised step bounds it by 1/2‖x‖²; noise in the outputs grows with kη. M: a window of 1000
# samples and a third of the stream, longer than the correlation time of any feature that a stream of this length shows.
AUTO_START = 30.0
AUTO_DECAY = 4e-3
AUTO_LATERAL = InverseTime(a=1000.0, b=0.3)
LATERAL_MAX = 0.3  # largest automatic rate of M times the root of the number of streams; 1 would be unstable

# The same for input that an input layer makes white. Then c = 1, and outputs need not wait for directions of little
# variance. η = 1/(30 + t/20): an error along a direction falls like t^(−10 gap), and noise like η. M averages over the
# whole stream, because its noise is what limits W. Both were chosen on the problems of benchmarks/convergence.py.
SETTLED_DECAY = 0.05
SETTLED_LATERAL = InverseTime(a=1000.0, b=1.0)

# The variance c is kept within these limits.
VARIANCE_MIN, VARIANCE_MAX = 1e-6, 100.0

# The slow features are stable for τ < ½ + 1/D, or ¼ + 1/D with interneurons, D = (λ_1 − λ_k)²/λ_1λ_k with the
# eigenvalues λ = 4 − δ of M, see docs/inside/maths.md. Near that limit noise is amplified. So τ is a fifth of 1/D, or
# LEAST_TAU, which is always stable, if that is larger. At first M is noisy, and its spread counts less.
STABLE_SHARE = 0.2
LEAST_TAU, LARGEST_TAU = 0.2, 1e9  # the latter in place of infinity, which files cannot hold
NOISY_SAMPLES = 20_000

# τ if a learning rate is given without a τ: the value of the paper for the chaotic series.
DEFAULT_TAU = 0.5

# τ of outputs that cannot be negative. An output that the others silence loses its weights, at the rate 2η times the
# variance of the input. It recovers only if its inhibition decays first: M must not be much slower than W.
NONNEGATIVE_TAU = 1.0

# When automatic rates adapt, see next_event: at the second sample, then at twice the number of samples each time, and
# from LOOK_GRID on at its multiples.
FIRST_LOOK, LOOK_GRID, LOOK_GROWTH = 2, 1024, 1 / 16


class Rates(ABC):
    """Base class of the rates of W and M.

    Parameters
    ----------
    learning_rate : float, schedule or callable
        η.
    lateral : schedule, optional
        The rate of M, if it is not η/τ.
    tau : float
        τ.
    n_streams : int
        Number of parallel streams P. Their updates are summed and divided by √P.
    """

    def __init__(self, learning_rate: LearningRate, lateral: Schedule | None, tau: float, n_streams: int) -> None:
        self._learning_rate = learning_rate
        self._lateral = lateral
        self._tau = tau
        self._root = math.sqrt(n_streams)
        self._share = 1.0  # factor of the given rates for each of the streams
        self._window = math.inf  # number of updates after which the rates stay as they are

    @abstractmethod
    def now(self, eta: Float64Array, rate: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Return scheduled η and η/τ, adapted to the stream so far."""

    def at(self, update: int) -> tuple[float, float]:
        """Return η and η/τ of one update."""
        update = int(min(update, self._window))
        eta = rate_at(self._learning_rate, update) * self._share
        rate = eta / self._tau if self._lateral is None else self._lateral(update) * self._share
        if not rate * self._root < 1.0:
            raise self._too_fast(update, rate)
        return eta, rate

    def over(self, first: int, starts: BoolArray) -> "RowRates":
        """Return η and η/τ of each row; ``first`` is the number of the next update.

        Rows that begin an episode (``starts``) make no update and have the rate 0.

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
        streams = (
            "" if self._root == 1.0 else f" times the square root of the number of streams, {round(self._root**2)},"
        )
        return ValueError(
            f"the learning rate{streams} must stay below tau, so that M stays positive definite; at update {update} "
            f"their ratio is {rate * self._root:.3g}. Use a smaller learning_rate or a larger tau"
        )


class RowRates(NamedTuple):
    """Scheduled η and η/τ of rows. :meth:`now` adapts them to the stream when the rows are learned."""

    source: Rates
    eta: Float64Array
    rate: Float64Array

    def part(self, rows: slice) -> "RowRates":
        """Return the rates of some of the rows."""
        return RowRates(self.source, self.eta[rows], self.rate[rows])

    def repeated(self, n_streams: int) -> "RowRates":
        """Return the rates of the rows of parallel streams, which follow one another, from those of their steps."""
        return RowRates(self.source, np.repeat(self.eta, n_streams), np.repeat(self.rate, n_streams))

    def now(self) -> tuple[Float64Array, Float64Array]:
        """Return η and η/τ of the rows if they are learned now."""
        return self.source.now(self.eta, self.rate)


class GivenRates(Rates):
    """Rates that the user gave: η for W, and η/τ for M."""

    def __init__(self, learning_rate: LearningRate, tau: str | float, *, n_streams: int) -> None:
        super().__init__(learning_rate, None, DEFAULT_TAU if isinstance(tau, str) else float(tau), n_streams)

    def now(self, eta: Float64Array, rate: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Return the rates unchanged."""
        return eta, rate


class KernelRates(Rates):
    """A placeholder for the automatic rate of the natural gradient, which the kernel computes block by block."""

    def __init__(self, *, n_streams: int) -> None:
        super().__init__(0.0, None, math.inf, n_streams)

    def now(self, eta: Float64Array, rate: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Return zeros, which are not used."""
        return eta, rate


class AutomaticRates(Rates):
    """Rates that follow the stream: its units, its variance along the weights, and the eigenvalues of M.

    Parameters
    ----------
    tau : "auto" or float
        τ. If it is a number, M learns at the scheduled η/τ.
    n_outputs, n_features, n_streams : int
        Size of the network.
    forget : float, optional
        Number of updates after which the rates stay as they are.
    """

    lateral = AUTO_LATERAL

    def __init__(
        self, tau: str | float, *, n_outputs: int, n_features: int, n_streams: int, forget: float | None
    ) -> None:
        automatic = isinstance(tau, str)
        schedule = InverseTime(a=AUTO_START, b=self._decay(n_outputs))
        given = DEFAULT_TAU if isinstance(tau, str) else float(tau)
        super().__init__(schedule, self.lateral if automatic else None, given, n_streams)
        # the updates of P streams are summed and divided by √P; another 1/√P makes that an average
        self._share = 1.0 / self._root
        self._window = math.inf if forget is None else float(forget)
        self.follows_M = automatic and forget is None  # if rates do not fall, a faster M would only add noise
        self.units = Units(n_features, n_streams)
        self.variance = np.ones(1)  # c: variance of the scaled input along the weights
        self.stable_tau = np.zeros(1)  # τ at which the slow features are stable; 0 before it is known

    def _decay(self, n_outputs: int) -> float:
        """Return b of η = 1/(a + bt)."""
        return AUTO_DECAY * n_outputs

    def arrays(self) -> Arrays:
        """Return the arrays of the state (no copies)."""
        return {**self.units.arrays(), "variance": self.variance, "stable_tau": self.stable_tau}

    def take_over(self, before: "AutomaticRates") -> None:
        """Continue with what rates of other parameters know about the stream."""
        self.units, self.variance, self.stable_tau = before.units, before.variance, before.stable_tau

    def next_look(self, n_seen: int) -> int:
        """Return the number of samples at which the rates adapt next."""
        return next_event(n_seen, first=FIRST_LOOK, grid=LOOK_GRID, growth=LOOK_GROWTH, window=self._window)

    def look(self, power: float, weights: float, eigenvalues: FloatArray, n_samples: int) -> None:
        """Adapt to the power of the outputs, to Σ‖w‖² of the weights, and to the eigenvalues of M."""
        self.variance[0] = min(max(power / weights, VARIANCE_MIN), VARIANCE_MAX)
        self.look_at_M(eigenvalues, n_samples)

    def look_at_M(self, eigenvalues: FloatArray, n_samples: int) -> None:
        """Adapt to the eigenvalues of M."""
        if self.follows_M:
            self.stable_tau[0] = min(stable_tau(eigenvalues, n_samples), LARGEST_TAU)

    def now(self, eta: Float64Array, rate: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Return rates adapted to the variance of the input along the weights; M is fast enough for stability."""
        eta = self._adapted(eta)
        least, limit = self._least_lateral()
        return eta, np.maximum(rate, np.minimum(least * eta, limit))

    def at(self, update: int) -> tuple[float, float]:
        """Return η and η/τ of one update, adapted to the stream so far."""
        scheduled, rate = super().at(update)
        eta = self._adapted(scheduled)
        least, limit = self._least_lateral()
        return eta, max(rate, min(least * eta, limit))

    def _adapted(self, eta: Numbers) -> Numbers:
        """Return the rates for input that has the variance c along the weights.

        W learns along a direction at the rate ηc. In ill-conditioned input, slow features often have little variance.
        So η falls later: it is 1/(a + bct) in place of 1/(a + bt).
        """
        start = AUTO_START * self._root
        return eta / (start * eta + (1.0 - start * eta) * float(self.variance[0]))

    def _least_lateral(self) -> tuple[float, float]:
        """Return the smallest rate of M at which slow features are stable, in units of that of W, and its upper limit.

        The former is 0 if the rate of M is not automatic, or if the eigenvalues of M are not known yet.
        """
        tau = float(self.stable_tau[0])
        least = float(self.variance[0]) / tau if self.follows_M and tau > 0.0 else 0.0
        return least, LATERAL_MAX / self._root


class SettledRates(AutomaticRates):
    """Rates for a network behind an input layer, which knows the units and makes the input white for the synapses."""

    lateral = SETTLED_LATERAL

    def _decay(self, n_outputs: int) -> float:
        return SETTLED_DECAY

    def arrays(self) -> Arrays:
        """Return the arrays of the state (no copies)."""
        return {"stable_tau": self.stable_tau}


def stable_tau(eigenvalues: FloatArray, n_samples: int) -> float:
    """Return a ratio τ of the rates of W and M that is stable for an M with these eigenvalues, in ascending order."""
    least, greatest = float(eigenvalues[0]), float(eigenvalues[-1])
    # λ = 4 − δ is at most 4: the part of an eigenvalue above 4 is noise, and the smallest may have as much noise
    noise = max(0.0, greatest - 4.0)
    greatest -= noise
    least = min(greatest, least + noise * min(1.0, NOISY_SAMPLES / max(n_samples, 1)))
    spread = (greatest - least) ** 2
    return max(LEAST_TAU, STABLE_SHARE * least * greatest / spread) if spread > 0.0 else math.inf
