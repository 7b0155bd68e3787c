"""How fast a network learns: η and η/τ of every update, checked."""

import math
from dataclasses import dataclass

import numpy as np

from biosfa.estimators._schedules import InverseTime, LearningRate, rate_at, rates
from biosfa.typing import BoolArray, Float64Array

# "auto": η_t = 1/(a + b t) and τ for input of unit mean variance, which relative mode sees to. On 20 random mixtures of
# slow signals and noise (condition numbers from 36 to 5000) and on white ones, these had low errors and honest moments;
# a larger τ lets W swing to and fro where the input is ill-conditioned, a smaller one averages slow signals too little.
AUTO_RATE = InverseTime(a=100.0, b=0.02)
AUTO_TAU = 2.0

# τ where a learning rate is given without one: the paper's for the chaotic series.
DEFAULT_TAU = 0.5


@dataclass(frozen=True)
class Pace:
    """Rates of W and M as the kernels want them, from the rates as the user gave them."""

    learning_rate: LearningRate
    eta_factor: float  # to be multiplied with the learning rate: η
    rate_factor: float  # η/τ
    root: float  # √P for P parallel streams

    @classmethod
    def build(cls, learning_rate: LearningRate, tau: str | float, n_streams: int) -> "Pace":
        """The pace for "auto" or given rates."""
        root = math.sqrt(n_streams)
        if isinstance(learning_rate, str):
            # the updates of P streams are summed and divided by √P; by another √P, and they are averaged
            return cls(AUTO_RATE, 1.0 / root, 1.0 / (root * (AUTO_TAU if isinstance(tau, str) else tau)), root)
        return cls(learning_rate, 1.0, 1.0 / (DEFAULT_TAU if isinstance(tau, str) else tau), root)

    def at(self, update: int) -> tuple[float, float]:
        """η and η/τ of one update."""
        eta = rate_at(self.learning_rate, update)
        rate = eta * self.rate_factor
        if not rate * self.root < 1.0:
            raise self._too_fast(update, rate)
        return eta * self.eta_factor, rate

    def over(self, first: int, starts: BoolArray) -> tuple[Float64Array, Float64Array]:
        """η and η/τ of each row, ``first`` being the number of the next update; those of starts are not used."""
        count = len(starts) - int(np.count_nonzero(starts))
        eta = rates(self.learning_rate, first, count)
        rate = eta * self.rate_factor
        if count and not rate.max() * self.root < 1.0:
            raise self._too_fast(first + int(rate.argmax()), rate.max())
        if self.eta_factor != 1.0:
            eta *= self.eta_factor
        if count == len(starts):
            return eta, rate
        all_eta, all_rate = np.zeros(len(starts)), np.zeros(len(starts))
        all_eta[~starts], all_rate[~starts] = eta, rate
        return all_eta, all_rate

    def _too_fast(self, update: int, rate: float) -> ValueError:
        streams = "" if self.root == 1.0 else f" times the root of the {round(self.root**2)} streams"
        return ValueError(
            f"the learning rate{streams} must stay below tau, or M does not stay positive definite; at update {update} "
            f"their ratio is {rate * self.root:.3g}. Use a smaller learning_rate or a larger tau"
        )
