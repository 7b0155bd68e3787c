"""The input layer of a network while it learns: units, and lateral synapses or interneurons."""

import warnings

import numpy as np
from numpy.typing import DTypeLike

from biosfa.exceptions import ConditioningWarning
from biosfa.kernels.exact import reciprocal
from biosfa.kernels.input_layer import PRIVATE_NOISE, InterneuronState, LateralState, interneurons, lateral
from biosfa.kernels.local import Mode, centre
from biosfa.learning._units import Units
from biosfa.typing import Arrays, Float64Array, FloatArray

# Beyond this number of columns, "auto" takes so many interneurons in place of m² lateral synapses.
LATERAL_COLUMNS, INTERNEURONS = 512, 64

# Variance that is not the input's: so many times that of the private noise of the input neurons.
NOISES = 10.0

RESTLESS = (
    f"the columns are so close to linear dependence that the fast dynamics do not come to rest within "
    f'{lateral.MOST_STEPS:,} steps: the settled activities are not exact there. Use dynamics="equilibrium"'
)


def interneurons_of(layer: str | int, m: int) -> int:
    """Return the number of interneurons of an input layer: "lateral" has none; "auto" depends on the columns."""
    if isinstance(layer, str):
        return INTERNEURONS if layer == "auto" and m > LATERAL_COLUMNS else 0
    return int(layer)


def layer_size(layer: str | int, m: int) -> int:
    """Return how many numbers the matrices of an input layer for m columns have."""
    r = interneurons_of(layer, m)
    return 4 * m * r if r else 2 * m**2


class InputLayer:
    """Input neurons that scale their input to unit variance, and settle at x̃ = L⁻¹u.

    See :mod:`biosfa.kernels.input_layer`. Each neuron knows its unit from the first samples (:class:`Units`).
    """

    def __init__(self, layer: str | int, m: int, n_streams: int, dtype: DTypeLike, rng: np.random.RandomState) -> None:
        self.dtype = np.dtype(dtype)
        self.units = Units(m, n_streams)
        self.n_interneurons = r = interneurons_of(layer, m)
        self.state: LateralState | InterneuronState = (
            interneurons.initial_state(m, r, dtype, rng) if r else lateral.initial_state(m)
        )

    @property
    def L(self) -> Float64Array:
        """Lateral weights, or D + FFᵀ with interneurons."""
        if isinstance(self.state, LateralState):
            return self.state.L.copy()
        return np.diag(self.state.leak) + self.state.F @ self.state.F.T

    def covariance(self) -> Float64Array | None:
        """Return the covariance of the unscaled input.

        None before the first sample was learned, and with interneurons, which learn only a model of it.
        """
        if not isinstance(self.state, LateralState) or self.seen() == 0.0:
            return None
        prior = float(self.state.prior[0])  # weight of the initial L = I in the present one
        learned = (self.state.L - prior * np.eye(len(self.state.L))) / (1.0 - prior)
        inverse = reciprocal(self.units.scale)
        return learned * np.outer(inverse, inverse)

    def arrays(self) -> Arrays:
        """Return the arrays of the state (no copies)."""
        return {**self.state._asdict(), **self.units.arrays()}

    def seen(self) -> float:
        """Return the number of samples that the neurons have learned from."""
        return float(self.state.seen[0])

    def learn(self, rows: FloatArray, n_seen: int, mode: Mode, window: float) -> tuple[FloatArray, FloatArray]:
        """Learn from rows, after ``n_seen`` others; return their inputs u and settled activities x̃."""
        U, X = np.empty(rows.shape, self.dtype), np.empty(rows.shape, self.dtype)
        arguments = (rows, n_seen, mode.center, window, self.units.scale, mode.euler)
        if isinstance(self.state, LateralState):
            rested = lateral.learn(*arguments, self.state, U, X)
        else:
            rested = interneurons.learn(*arguments, self.state, U, X)
        if not rested:
            warnings.warn(RESTLESS, ConditioningWarning, stacklevel=2)
        return U, X

    def average(self, rows: FloatArray, n_seen: int, mode: Mode, window: float) -> None:
        """Learn only the mean from rows, as long as units are not known."""
        centre(rows, n_seen, mode.center, window, self.state.mean, np.empty(rows.shape), np.empty(len(rows)))

    def renew_units(self, *, center: bool) -> Float64Array | None:
        """Change to units from all samples so far; return how they change, or None if there were none before."""
        before = self.units.scale.copy()
        self.units.renew(center=center)
        if not before.any():  # the layer still has its initial state
            return None
        ratio = self.units.scale / before
        state, square = self.state, ratio**2
        # what is left of the initial variance 1 is 1 in the new units, too
        state.variance[:] = square * state.variance + state.prior[0] * (1.0 - square)
        if isinstance(state, LateralState):
            state.L[:] *= np.outer(ratio, ratio)
            np.fill_diagonal(state.L, state.variance)
            lateral.refresh(state)
        else:
            state.F[:] *= ratio[:, None]
            state.trace[:] *= ratio[:, None]
            interneurons.refresh(state)
        return ratio

    def variance_along(self, direction: Float64Array) -> float:
        """Return the variance of the input along a direction; 0 if it is private noise, or the initial L."""
        variance = float(self.covariance_along(direction[None])[0, 0])
        noise = float(self.state.prior[0]) + NOISES * PRIVATE_NOISE**2
        return variance if variance > noise * float(direction @ direction) else 0.0

    def covariance_along(self, directions: FloatArray) -> Float64Array:
        """Return the covariance of the input along directions in the layer's units, as the layer knows it."""
        A = directions.astype(np.float64, copy=False)
        if isinstance(self.state, LateralState):
            return np.asarray(A @ self.state.L @ A.T)
        explained = A @ self.state.F
        return np.asarray((A * self.state.leak) @ A.T + explained @ explained.T)
