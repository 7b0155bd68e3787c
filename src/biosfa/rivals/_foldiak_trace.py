"""Földiák's trace rule."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from biosfa.kernels.rivals import TraceState, learn_trace
from biosfa.learning import LearningRate
from biosfa.rivals._base import OnlineRival, blank_moments
from biosfa.typing import BoolArray, Float64Array, IntArray
from biosfa.validation import check_choice


class FoldiakTrace(OnlineRival):
    """The trace rule (Földiák 1991): Hebbian learning with a memory of the activity, among units that compete.

    The unit with the largest wᵀx is active, y = 1, all others are silent. Each learns by w ← w + η ȳ(x − w), with the
    trace ȳ ← (1 − δ)ȳ + δy: what comes soon after a pattern that it answers to becomes part of what it answers to. The
    rule is local. It has no objective: weights become means of the samples that a unit has won or that followed, and
    :attr:`components_` are the slowest projections in their span. What a unit answers to is :meth:`winner`. Weights
    begin between 0 and 0.1: units that have not won yet must not be beaten everywhere by one that has, so input should
    be of the order of 1, and sparse.

    With linear units, y = wᵀx, and input without a mean, ȳ has no mean either, nothing limits w, and the rule diverges.
    Bio-SFA with one unit, ΔW = 2η(ȳx̄ − ax), is what one gets with the decay ȳw replaced by ax, which whitens, and with
    x̄ for x.

    Parameters
    ----------
    n_components : int, default=2
        Number of units k.
    trace : {"decay", "sum"}, default="decay"
        Földiák's trace, or ȳ_t = y_t + y_{t−1} as Lipshutz et al. quote it.
    trace_rate : float, default=0.2
        δ, between 0 and 1; 1 is no memory. Földiák's is 0.2.
    pca : int, optional
        Principal components that samples are reduced to first. Found by :meth:`fit` in a first pass, by
        :meth:`partial_fit` from the first chunk.
    expansion : None, "quadratic" or transformer, default=None
        What is done to each (delayed) sample first.
    n_delays : int, default=1
        Samples in a delay vector; 1 is no embedding.
    learning_rate : "auto", float, schedule or callable, default="auto"
        η, a function of the number of the update; 0.02, Földiák's, by default.
    missing : {"raise", "break"}, default="raise"
        What to do about a sample with a NaN: an error that names it, or leave it out and end the episode there.
    n_epochs : int, default=1
        Passes of :meth:`fit` over the data.
    random_state : int, RandomState or None, default=None
        For the initial weights.

    Attributes
    ----------
    components_ : array of shape (n_components, m)
        Directions in the expanded signal, in order of slowness, each of unit variance on the recent stream.
    delta_values_ : array of shape (n_components,)
        Slowness of the features, from running moments.
    mean_ : array of shape (m,)
        Running mean of the expanded signal.
    n_samples_seen_, n_updates_ : int
        Samples so far, and updates: all samples but the first of each episode.
    n_features_in_ : int
        Number of input features.

    References
    ----------
    P. Földiák. Learning invariance from transformation sequences. Neural Computation 3, 1991.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.rivals import FoldiakTrace
    >>> rng = np.random.default_rng(0)
    >>> sweeps = 10 * rng.integers(2, size=(1000, 1)) + np.arange(10)  # patterns 0 to 9, or 10 to 19, in turn
    >>> net = FoldiakTrace(2, random_state=0).fit(np.eye(20)[sweeps.ravel()])
    >>> net.winner(np.eye(20)).reshape(2, 10)
    array([[1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
           [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]])
    """

    _structural = (*OnlineRival._structural, "trace", "trace_rate")
    _automatic = 0.02  # Földiák's

    def __init__(
        self,
        n_components: int = 2,
        *,
        trace: str = "decay",
        trace_rate: float = 0.2,
        pca: int | None = None,
        expansion: Any = None,
        n_delays: int = 1,
        learning_rate: LearningRate = "auto",
        missing: str = "raise",
        n_epochs: int = 1,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.trace = trace
        self.trace_rate = trace_rate
        self.pca = pca
        self.expansion = expansion
        self.n_delays = n_delays
        self.learning_rate = learning_rate
        self.missing = missing
        self.n_epochs = n_epochs
        self.random_state = random_state

    def winner(self, X: ArrayLike, *, lengths: ArrayLike | None = None) -> IntArray:
        """Which unit is active for each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        lengths : array-like of int, optional
            Rows of the episodes in X; only matters for ``n_delays`` > 1.

        Returns
        -------
        array of shape (n_samples,)
        """
        active: IntArray = np.argmax(self.expand(X, lengths=lengths) @ self._state.W.T, axis=1)
        return active

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("trace", self.trace, ("decay", "sum"))
        if not 0.0 < self.trace_rate <= 1.0:
            raise ValueError(f"trace_rate must be between 0 and 1; got {self.trace_rate!r}")

    def _initial(self, m: int, rng: np.random.RandomState) -> TraceState:
        k = self.n_components
        W = 0.1 * rng.random_sample((k, m))  # as Földiák's
        return TraceState(np.zeros(m), np.zeros(m), W, np.zeros(k), np.zeros(k), *blank_moments(k))

    def _advance(self, X: Float64Array, starts: BoolArray, eta: Float64Array) -> None:
        learn_trace(self._state, X, starts, self._n_samples, eta, float(self.trace_rate), self.trace == "sum")

    def _weights(self) -> Float64Array:
        weights: Float64Array = self._state.W
        return weights
