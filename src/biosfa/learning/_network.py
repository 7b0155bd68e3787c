"""Base class of networks while they learn: a state, methods that update it, and its readable values."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NoReturn

import numpy as np
from numpy.typing import DTypeLike

from biosfa.kernels.fast_local import OutputState
from biosfa.kernels.local import Mode, State
from biosfa.kernels.natural import NaturalState
from biosfa.learning._rates import Rates, RowRates
from biosfa.typing import Arrays, BoolArray, Float64Array, FloatArray
from biosfa.validation import checked_array


class Network(ABC):
    """A network with k outputs and m inputs that learns from P parallel streams."""

    learns_whiteness = True  # whether its outputs become white by learning; otherwise the readout makes them white
    state: State | NaturalState | OutputState
    mode: Mode
    rates: Rates
    n_samples: int  # rows seen, or steps of parallel streams
    n_updates: int

    def __init__(self, k: int, m: int, n_streams: int, mode: Mode, dtype: DTypeLike, rates: Rates) -> None:
        self.k = k
        self.n_features = m
        self.n_streams = n_streams
        self.mode = mode
        self.dtype = np.dtype(dtype)
        self.rates = rates
        self.n_samples = 0
        self.n_updates = 0

    def configure(self, mode: Mode, rates: Rates) -> None:
        """Continue in another mode and with other rates."""
        self.mode, self.rates = mode, rates

    @property
    @abstractmethod
    def advice(self) -> str:
        """What users may do whose network does not converge."""

    @property
    @abstractmethod
    def W(self) -> FloatArray:
        """Feedforward weights for the unscaled input."""

    @property
    @abstractmethod
    def M(self) -> Float64Array:
        """Lateral weights."""

    @property
    @abstractmethod
    def mean(self) -> Float64Array:
        """Running mean of the input."""

    def covariance(self) -> Float64Array | None:
        """Return the covariance of the input, if the network learns it."""
        return None

    def plan(self, starts: BoolArray) -> RowRates:
        """Return the rates for the next rows; ``starts`` says which of them begin an episode.

        Raises
        ------
        ValueError
            If one of the rates is invalid.
        """
        return self.rates.over(self.n_updates_learned() + 1, starts)

    @abstractmethod
    def advance(self, raw: FloatArray, starts: BoolArray, rates: RowRates) -> None:
        """Learn from samples of shape (n, m), or (n, P, m) for parallel streams.

        Raises
        ------
        DivergenceError
            If the weights diverge. The network then has the state before that sample.
        """

    @abstractmethod
    def advance_one(self, sample: FloatArray) -> bool:
        """Learn from one sample that continues the episode.

        Return False, and learn nothing, if the sample is not finite or the network would diverge.
        """

    @abstractmethod
    def input_has_varied(self) -> bool:
        """Return whether the input was ever something else than constant."""

    def n_updates_learned(self) -> int:
        """Return the number of updates that count for the rates."""
        return self.n_updates

    def last_rate(self) -> float:
        """Return η of the last update."""
        return self.rates.at(max(1, self.n_updates_learned()))[0]

    @abstractmethod
    def effective_rate(self) -> float:
        """Return the last rate as the normalised step shortens it for a sample of mean power."""

    def strain(self) -> float:
        """Return 2η‖x‖² of the largest sample so far, or 0 if the step is always stable."""
        return 0.0

    @abstractmethod
    def raise_divergence(self, sample: FloatArray, eta: float) -> NoReturn:
        """Raise DivergenceError for a sample at which the network diverges."""

    @abstractmethod
    def arrays(self) -> Mapping[str, np.ndarray]:
        """Return the arrays of the state (no copies)."""

    def restore(self, arrays: Arrays, n_samples: int, n_updates: int) -> None:
        """Restore a state that :meth:`arrays` returned after this number of samples and updates.

        Raises
        ------
        ValueError
            If it is the state of another network.
        """
        own = self.arrays()
        if set(own) != set(arrays):
            raise ValueError(f"its arrays are {sorted(arrays)}, but {sorted(own)} are needed")
        for name, array in own.items():
            array[...] = checked_array(name, arrays, array.shape, array.dtype)
        if not 0 <= n_updates <= n_samples:
            raise ValueError(f"it has {n_updates} updates for {n_samples} samples, which is not possible")
        self.n_samples, self.n_updates = n_samples, n_updates


def steps_within(raw: FloatArray, limit: float) -> int:
    """Return the number of rows, or steps of parallel streams, before the first one with an entry beyond the limit."""
    largest = np.abs(raw).max(axis=tuple(range(1, raw.ndim)), initial=0.0)
    large = largest > min(limit, float(np.finfo(raw.dtype).max))
    return int(np.argmax(large)) if large.any() else len(raw)
