"""Base class of the rivals: a state that a kernel updates sample by sample, and attributes that are read from it."""

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from sklearn.utils import check_random_state

from biosfa.episodes import rows_of
from biosfa.estimators import Episodes, SlowFeatureEstimator, check_pairs_per_feature
from biosfa.floats import to_floats
from biosfa.io import Position, Stream
from biosfa.kernels.finite import is_moderate
from biosfa.learning import LearningRate, Schedule, check_learning_rate, rates, read_out, solve_readout
from biosfa.typing import Arrays, BoolArray, Float64Array, FloatArray
from biosfa.validation import check_count, checked_array

# Samples of this size, or of its inverse, are safe: the rules multiply at most four of them, and an expansion squares
# them.
LARGEST = 1e35

CONTINUES = np.zeros(1, np.bool_)  # a row that continues its episode


class OnlineRival(SlowFeatureEstimator):
    """Base class of the online learners that Bio-SFA is compared with."""

    n_components: int
    learning_rate: LearningRate
    random_state: Any
    _automatic: Schedule | float  # the learning rate for "auto"
    _highest_power: ClassVar[int] = 2  # highest power of samples that the kernel computes
    _state: Any
    _plain = False  # whether samples reach the kernel unchanged

    def fit(self, X: ArrayLike | Stream, y: object = None, *, lengths: ArrayLike | None = None) -> Self:
        """Discard what was learned before, then learn from X in ``n_epochs`` passes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), labelled array, or Stream
            Samples in order of time, or a stream of them from :func:`biosfa.io.open_stream`. Labelled arrays are those
            of xarray and pynapple, and frames with dates.
        y : ignored
        lengths : array-like of int, optional
            Number of rows of each episode in X. By default the labels of X say what an episode is. Without labels, X is
            one episode.

        Returns
        -------
        self
        """
        return self._fit(*rows_of(X, lengths)[:2])

    def partial_fit(
        self, X: ArrayLike, y: object = None, *, lengths: ArrayLike | None = None, starts: ArrayLike | None = None
    ) -> Self:
        """Learn from another chunk of any size. The result does not depend on how a stream is cut into chunks.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), labelled array, or Chunk
            Samples that follow those of the last call. A :class:`~biosfa.io.Chunk` has its own ``starts``.
        y : ignored
        lengths : array-like of int, optional
            Number of rows of each episode in X. The current episode ends before X, and the last episode of X ends with
            X. By default X continues the current episode.
        starts : array-like of bool, optional
            Which rows begin an episode, in place of ``lengths``. The last episode stays open.

        Returns
        -------
        self
        """
        return self._partial_fit(X, lengths, starts)

    def learn_one(self, x: ArrayLike) -> Self:
        """Learn from one sample, which continues the current episode.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            The sample.

        Returns
        -------
        self
        """
        sample: np.ndarray[Any, Any] = x if type(x) is np.ndarray else to_floats(x)
        usual = self._plain and self._open and sample.shape == (self.n_features_in_,) and sample.dtype == np.float64
        if not (usual and is_moderate(sample, LARGEST)):
            if sample.ndim != 1:
                raise ValueError(f"x must have the shape (n_features,); got {sample.shape}")
            return self.partial_fit(sample[None])
        self._advance(sample[None], CONTINUES, rates(self._schedule(), self._n_updates + 1, 1))
        self._n_samples += 1
        self._n_updates += 1
        return self

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters. A model that has begun to learn continues with the new learning rate."""
        super().set_params(**parameters)
        self._plain = False  # until the next partial_fit has checked them
        return self

    def _schedule(self) -> LearningRate:
        return self._automatic if isinstance(self.learning_rate, str) else self.learning_rate

    @property
    def components_(self) -> Float64Array:
        """Directions in the expanded signal, the slowest first."""
        return read_out(self.n_components, self._state, self._weights()).components

    @property
    def delta_values_(self) -> Float64Array:
        """Slowness δ of the features, from running moments."""
        return solve_readout(self.n_components, self._state, np.float64).delta_values

    @property
    def mean_(self) -> Float64Array:
        """Running mean of the expanded signal."""
        mean: Float64Array = self._state.mean.copy()
        return mean

    @property
    def n_samples_seen_(self) -> int:
        """Number of samples of the expanded signal seen so far."""
        return self._n_samples

    @property
    def n_updates_(self) -> int:
        """Number of updates so far. The first sample of an episode makes no update."""
        return self._n_updates

    @property
    def _n_features_out(self) -> int:
        return self.n_components

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_state")

    @abstractmethod
    def _initial(self, m: int, rng: np.random.RandomState) -> Any:
        """Return the state before the first sample, for m (expanded) columns."""

    @abstractmethod
    def _advance(self, X: Float64Array, starts: BoolArray, eta: Float64Array) -> None:
        """Update the state with samples; ``eta`` is the learning rate of each."""

    @abstractmethod
    def _weights(self) -> Float64Array:
        """Return the matrix (k × m) that maps the input to the outputs."""

    def _check_parameters(self) -> None:
        self._check_signal_parameters()
        check_count("n_components", self.n_components)
        check_count("n_epochs", self.n_epochs)
        check_learning_rate(self.learning_rate)

    def _rows_needed(self) -> int:
        return self.n_delays + 1

    def _reset(self, *, dtype: DTypeLike, n_streams: int) -> None:
        self._state = self._initial(self._signal.n_features_out, check_random_state(self.random_state))
        self._n_samples, self._n_updates = 0, 0

    def _learn(self, X: FloatArray, starts: BoolArray) -> None:
        rows = self._signal.reduce(X)
        plan = self._signal.plan(rows, starts, continued=True)
        extreme = not is_moderate(rows.reshape(-1), LARGEST)
        if extreme:  # learn in a copy: if it fails, the estimator keeps its old state
            self._state = type(self._state)(*(array.copy() for array in self._state))
        schedule = self._schedule()
        for x, piece in self._signal.pieces(plan):
            begins = plan.starts[piece]
            eta = np.zeros(len(begins))
            eta[~begins] = rates(schedule, self._n_updates + 1, int(np.count_nonzero(~begins)))
            if extreme and np.abs(x).max() > (np.finfo(np.float64).max / x.shape[1]) ** (1 / self._highest_power):
                raise _too_large()  # an overflow may end in zeros, and then would not be noticed afterwards
            self._advance(np.ascontiguousarray(x, dtype=np.float64), begins, eta)
            self._n_samples += len(begins)
            self._n_updates += int(np.count_nonzero(~begins))
        if extreme and not all(np.isfinite(array).all() for array in self._state):
            raise _too_large()
        self._signal.remember(rows, starts)
        self._open = True
        self._plain = self._signal.is_identity

    def _finish(self, position: Position, episodes: Episodes, counters: list[str]) -> None:
        if self._n_updates == 0:
            raise ValueError(f"all episodes of X are too short: an update needs {self.n_delays + 1} rows")
        check_pairs_per_feature(self._n_updates // self.n_epochs, self.n_components)
        super()._finish(position, episodes, counters)

    def _least_state(self, n_features: int, n_streams: int) -> int:
        return self.n_components * n_features + 2 * self.n_components**2  # weights; S and D

    def _scalars(self) -> dict[str, Any]:
        return {"n_samples": self._n_samples, "n_updates": self._n_updates}

    def _arrays(self) -> Arrays:
        return {f"state.{name}": array for name, array in self._state._asdict().items()}

    def _restore(self, scalars: dict[str, Any], arrays: Arrays, published: Arrays) -> None:
        blank = self._initial(self._signal.n_features_out, np.random.RandomState(0))
        held = {name.removeprefix("state."): array for name, array in arrays.items()}
        shapes = {name: array.shape for name, array in blank._asdict().items()}
        self._state = type(blank)(**{name: checked_array(name, held, shape) for name, shape in shapes.items()})
        self._n_samples, self._n_updates = int(scalars["n_samples"]), int(scalars["n_updates"])


def _too_large() -> ValueError:
    return ValueError("the (expanded) samples are too large, so that their squares overflow: scale the input")


def blank_moments(k: int) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Return the running moments S and D and their weights before the first sample: zeros."""
    return np.zeros((k, k)), np.zeros((k, k)), np.zeros(2)
