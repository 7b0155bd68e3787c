"""What every network is while it learns: a state, a way to move it on, and what can be read from it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NoReturn

import numpy as np
from numpy.typing import DTypeLike

from biosfa.kernels.local import Mode, State
from biosfa.kernels.natural import NaturalState
from biosfa.learning._readout import Readout, solve_readout
from biosfa.typing import Arrays, BoolArray, Float64Array, FloatArray


class Network(ABC):
    """A network with k outputs and m inputs that learns from P parallel streams."""

    state: State | NaturalState  # both have running moments S and D of the outputs' currents
    advice: str  # what to do if it does not converge
    mode: Mode
    automatic_lateral = False  # whether the rate of M may follow the stream
    n_samples: int  # rows seen, or steps of parallel streams
    n_updates: int

    def __init__(self, k: int, m: int, n_streams: int, mode: Mode, dtype: DTypeLike) -> None:
        self.k = k
        self.n_features = m
        self.n_streams = n_streams
        self.mode = mode
        self.dtype = np.dtype(dtype)
        self.n_samples = 0
        self.n_updates = 0

    @property
    @abstractmethod
    def W(self) -> FloatArray:
        """Feedforward weights of the input as it comes."""

    @property
    @abstractmethod
    def M(self) -> Float64Array:
        """Lateral weights."""

    @property
    @abstractmethod
    def mean(self) -> Float64Array:
        """Running mean of the input."""

    @abstractmethod
    def advance(self, raw: FloatArray, starts: BoolArray, eta: Float64Array, rate: Float64Array) -> None:
        """Learn from samples of shape (n, m), or (n, P, m) for parallel streams.

        Raises
        ------
        DivergenceError
            If the network leaves its stable region; its state is then the one before that sample.
        """

    @abstractmethod
    def advance_one(self, sample: FloatArray, eta: float, rate: float) -> bool:
        """Learn from one sample that continues the episode; False if the network would diverge, or it is not finite."""

    def delta_values(self) -> Float64Array:
        """Slowness of the features, NaN where the input had no variance left."""
        return solve_readout(self.k, self.state, self.dtype).delta_values

    @abstractmethod
    def readout(self) -> Readout:
        """Slow directions within the span of W."""

    @abstractmethod
    def constraint_error(self) -> float:
        """‖⟨yyᵀ⟩ − I‖²/k of the outputs, from the running moments."""

    @abstractmethod
    def effective_rate(self, eta: float) -> float:
        """What the rate η comes to for a sample of mean power."""

    def strain(self, eta: float) -> float:
        """2η‖x‖² of the largest sample so far, where it matters: 0 for the normalised step."""
        return 0.0

    @abstractmethod
    def raise_divergence(self, sample: FloatArray, eta: float) -> NoReturn:
        """Raise DivergenceError for a sample that was not learned from."""

    @abstractmethod
    def arrays(self) -> Mapping[str, np.ndarray]:
        """The state: these very arrays."""

    def restore(self, arrays: Arrays) -> None:
        """Take a state that :meth:`arrays` gave.

        Raises
        ------
        ValueError
            If it is that of another network.
        """
        own = self.arrays()
        if set(own) != set(arrays):
            raise ValueError(f"its arrays are {sorted(arrays)} where {sorted(own)} are needed")
        for name, array in own.items():
            given = arrays[name]
            if given.shape != array.shape or given.dtype != array.dtype:
                raise ValueError(
                    f"{name} is {given.dtype} of shape {given.shape} where {array.dtype} of {array.shape} is needed"
                )
            array[...] = given


def steps_within(raw: FloatArray, limit: float) -> int:
    """Rows, or steps of parallel streams, before the first that has an entry beyond the limit."""
    largest = np.abs(raw).max(axis=tuple(range(1, raw.ndim)), initial=0.0)
    large = largest > min(limit, float(np.finfo(raw.dtype).max))
    return int(np.argmax(large)) if large.any() else len(raw)
