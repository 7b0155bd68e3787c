"""How fast a network learns: η and η/τ of every update, checked."""

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from biosfa.learning._schedules import InverseTime, LearningRate, Schedule, rate_at, rates
from biosfa.typing import BoolArray, Float64Array, FloatArray

# "auto", for input of unit mean variance, which relative mode sees to. W: η_t = 1/(AUTO_START + AUTO_DECAY k c t), with
# the variance c of the input along the weights, see :func:`adapted`. A large η can do no harm, because the normalised
# step bounds it by 1/2‖x‖²; noise in the outputs grows with kη. M: a window of 1000 samples and a third of the stream,
# longer than the correlation time of any feature that the stream is long enough to show.
AUTO_START = 30.0
AUTO_DECAY = 4e-3
AUTO_LATERAL = InverseTime(a=1000.0, b=0.3)

Rates = TypeVar("Rates", float, Float64Array)

# The slow features are stable for τ < ½ + 1/D, or ¼ + 1/D with interneurons, D = (λ_1 − λ_k)²/λ_1λ_k with the
# eigenvalues λ = 4 − δ of M, see docs/maths.md. Near that limit noise is amplified: a fifth of 1/D is taken, or what is
# always stable. Early, M is noise as much as anything, and its spread counts less.
STABLE_SHARE = 0.2
LEAST_TAU = 0.2
NOISY_SAMPLES = 20_000

# τ where a learning rate is given without one: the paper's for the chaotic series.
DEFAULT_TAU = 0.5

# τ of outputs that cannot be negative. One that the others silence loses its weights, at the rate 2η times the variance
# of the input, and comes back only if M lets go of it first: M must not be much slower than W.
NONNEGATIVE_TAU = 1.0


@dataclass(frozen=True)
class Pace:
    """Rates of W and M as the kernels want them, from the rates as the user gave them."""

    learning_rate: LearningRate
    lateral: Schedule | None  # the rate of M, where it is not η/τ
    tau: float
    share: float  # of the given rates that each of P parallel streams has, 1/√P for "auto"
    root: float  # √P
    window: float  # updates that count; rates do not fall any further after them

    @classmethod
    def build(
        cls, learning_rate: LearningRate, tau: str | float, *, n_outputs: int, n_streams: int, forget: float | None
    ) -> "Pace":
        """The pace for "auto" or given rates."""
        root = math.sqrt(n_streams)
        window = math.inf if forget is None else float(forget)
        given = DEFAULT_TAU if isinstance(tau, str) else float(tau)
        if not isinstance(learning_rate, str):
            return cls(learning_rate, None, given, 1.0, root, math.inf)
        # the updates of P streams are summed and divided by √P; by another √P, and they are averaged
        automatic = InverseTime(a=AUTO_START, b=AUTO_DECAY * n_outputs)
        return cls(automatic, AUTO_LATERAL if isinstance(tau, str) else None, given, 1.0 / root, root, window)

    def at(self, update: int) -> tuple[float, float]:
        """η and η/τ of one update."""
        update = int(min(update, self.window))
        eta = rate_at(self.learning_rate, update) * self.share
        rate = eta / self.tau if self.lateral is None else self.lateral(update) * self.share
        if not rate * self.root < 1.0:
            raise self._too_fast(update, rate)
        return eta, rate

    def over(self, first: int, starts: BoolArray) -> tuple[Float64Array, Float64Array]:
        """η and η/τ of each row, ``first`` being the number of the next update; those of starts are not used."""
        count = len(starts) - int(np.count_nonzero(starts))
        eta = self._scaled(self.learning_rate, first, count)
        lateral = None if self.lateral is None else self._scaled(self.lateral, first, count)
        rate = eta / self.tau if lateral is None else lateral
        if count and not rate.max() * self.root < 1.0:
            raise self._too_fast(first + int(rate.argmax()), rate.max())
        if count == len(starts):
            return eta, rate
        all_eta, all_rate = np.zeros(len(starts)), np.zeros(len(starts))
        all_eta[~starts], all_rate[~starts] = eta, rate
        return all_eta, all_rate

    def _scaled(self, schedule: LearningRate, first: int, count: int) -> Float64Array:
        falling = int(min(count, max(0.0, self.window - first)))
        values = rates(schedule, first, falling)
        if falling < count:
            values = np.append(values, np.full(count - falling, rate_at(schedule, int(self.window))))
        if self.share != 1.0:
            values *= self.share
        return values

    def _too_fast(self, update: int, rate: float) -> ValueError:
        streams = "" if self.root == 1.0 else f" times the root of the {round(self.root**2)} streams"
        return ValueError(
            f"the learning rate{streams} must stay below tau, or M does not stay positive definite; at update {update} "
            f"their ratio is {rate * self.root:.3g}. Use a smaller learning_rate or a larger tau"
        )


def adapted(eta: Rates, variance: float, n_streams: int) -> Rates:
    """Automatic rates for input that has some other variance c than 1 along the weights.

    W learns along a direction at the rate ηc. In ill-conditioned input slow features often have little variance; then
    η should fall that much later, 1/(a + bct) in place of 1/(a + bt).
    """
    start = AUTO_START * math.sqrt(n_streams)
    return eta / (start * eta + (1.0 - start * eta) * variance)


def stable_tau(eigenvalues: FloatArray, n_samples: int) -> float:
    """The ratio τ of the rates of W and M at which an M of these eigenvalues, in order, surely lets outputs rest."""
    least, greatest = float(eigenvalues[0]), float(eigenvalues[-1])
    # λ = 4 − δ is at most 4: what M has beyond is noise, of which the least eigenvalue may have as much
    noise = max(0.0, greatest - 4.0)
    greatest -= noise
    least = min(greatest, least + noise * min(1.0, NOISY_SAMPLES / max(n_samples, 1)))
    spread = (greatest - least) ** 2
    return max(LEAST_TAU, STABLE_SHARE * least * greatest / spread) if spread > 0.0 else math.inf
