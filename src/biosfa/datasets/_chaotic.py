"""The driven logistic map of Wiskott (2003): a chaotic series whose growth rate follows a slow force."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from biosfa.kernels.embedding import gather_delays
from biosfa.kernels.exact import principal_axes
from biosfa.kernels.expansion import quadratic
from biosfa.kernels.jit import jit
from biosfa.typing import Float64Array, FloatArray

Variant = Literal["code", "paper"]


@dataclass(frozen=True)
class _Constants:
    """γ_t = Σ A_i sin(θ_i t/period + ω_i)/scale and z_t = (growth + swing γ_t) z_{t−1}(1 − z_{t−1})."""

    slowest: float  # θ is drawn uniformly between these two
    fastest: float
    scale: float
    growth: float
    swing: float


# "paper" has the constants printed in Sec. 6.1 and appendix B.2, "code" those of the authors' program, which made their
# figure. As printed, the force is not slow: t counts single steps. Their program divides time by 100; so does this one,
# for both variants.
PERIOD = 100.0
CONSTANTS: dict[str, _Constants] = {
    "code": _Constants(slowest=0.5, fastest=1.25, scale=1.25, growth=3.7, swing=0.35),
    "paper": _Constants(slowest=0.25, fastest=1.25, scale=1.0, growth=3.6, swing=0.4),
}
N_SINES = 6
N_DELAYS = 4  # s_t = (z_t, z_{t−1}, z_{t−2}, z_{t−3})
BURN_IN = 1000  # steps before the series begins, so that it has forgotten its first value


@dataclass(frozen=True)
class DrivenLogisticMap:
    """A chaotic series with its slow driving force, as made by :func:`driven_logistic_map`.

    Attributes
    ----------
    driving_force : array of shape (n_samples,)
        The slow force γ_t.
    series : array of shape (n_samples,)
        The chaotic series z_t.
    delays : array of shape (n_samples, 4)
        The delay vectors (z_t, …, z_{t−3}), centred and whitened.

    Examples
    --------
    >>> from biosfa.datasets import driven_logistic_map
    >>> data = driven_logistic_map(1000, random_state=0)
    >>> data.series.shape, data.delays.shape, data.expanded().shape
    ((1000,), (1000, 4), (1000, 14))
    """

    driving_force: Float64Array
    series: Float64Array
    delays: Float64Array

    def expanded(self) -> Float64Array:
        """Return the 14 monomials of degree one and two of :attr:`delays`, centred: x_t of the paper."""
        x = quadratic(self.delays)
        centred: Float64Array = x - x.mean(axis=0)
        return centred


def driven_logistic_map(
    n_samples: int = 1_000_000,
    *,
    variant: Variant = "code",
    random_state: int | np.random.Generator | None = None,
) -> DrivenLogisticMap:
    """Make a chaotic series z_t = r_t z_{t−1}(1 − z_{t−1}), whose growth rate r_t follows a slow force.

    Parameters
    ----------
    n_samples : int, default=1_000_000
        Length of the series.
    variant : {"code", "paper"}, default="code"
        Constants of the authors' program, which made the published figures, or those printed in the paper.
    random_state : int, Generator or None, default=None
        Seed of the force (amplitudes, frequencies and phases of its sines) and of the first value of the series.

    Returns
    -------
    DrivenLogisticMap

    Examples
    --------
    >>> from biosfa import SFA
    >>> from biosfa.datasets import driven_logistic_map
    >>> data = driven_logistic_map(20_000, random_state=0)
    >>> import numpy as np
    >>> slowest = SFA(1).fit_transform(data.expanded())[:, 0]
    >>> bool(abs(np.corrcoef(slowest, data.driving_force)[0, 1]) > 0.99)
    True
    """
    if variant not in CONSTANTS:
        raise ValueError(f"variant must be one of {', '.join(map(repr, CONSTANTS))}; got {variant!r}")
    if n_samples < 2:
        raise ValueError(f"n_samples must be at least 2; got {n_samples}")
    constants = CONSTANTS[variant]
    rng = np.random.default_rng(random_state)
    amplitude = rng.uniform(0.1, 2.0, N_SINES)
    amplitude /= amplitude.sum()
    frequency = rng.uniform(constants.slowest, constants.fastest, N_SINES) / PERIOD
    phase = rng.uniform(0.0, 2 * np.pi, N_SINES)
    force, series = np.empty(n_samples + N_DELAYS - 1), np.empty(n_samples + N_DELAYS - 1)
    _iterate(
        amplitude / constants.scale,
        frequency,
        phase,
        constants.growth,
        constants.swing,
        rng.uniform(0.1, 0.9),
        BURN_IN,
        force,
        series,
    )
    newest = np.arange(N_DELAYS - 1, len(series))
    delays = gather_delays(series[:, None], newest, N_DELAYS)
    return DrivenLogisticMap(force[newest], series[newest], _whiten(delays))


@jit
def _iterate(
    amplitude: Float64Array,
    frequency: Float64Array,
    phase: Float64Array,
    growth: float,
    swing: float,
    z: float,
    burn_in: int,
    force: Float64Array,
    series: Float64Array,
) -> None:
    for t in range(-burn_in, len(series)):
        gamma = 0.0
        for i in range(len(amplitude)):
            gamma += amplitude[i] * np.sin(frequency[i] * t + phase[i])
        z = (growth + swing * gamma) * z * (1.0 - z)
        if t >= 0:
            force[t] = gamma
            series[t] = z


def _whiten(signal: FloatArray) -> Float64Array:
    """Return the signal centred and whitened, and rotated as little as possible (ZCA)."""
    centred = signal - signal.mean(axis=0)
    principal = principal_axes(centred.T @ centred / len(centred))
    whitened: Float64Array = centred @ principal.whitening @ principal.axes.T
    return whitened
