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
    """The trace rule (Földiák 1991): Hebbian learning with a memory of past activity, among units that compete.

    The unit with the largest wᵀx is active, y = 1, and all others are silent, y = 0. Each unit learns by
    w ← w + η ȳ(x − w), with the trace ȳ ← (1 − δ)ȳ + δy. So a unit learns to respond to the patterns that follow those
    that it responds to already. The rule is local, but has no objective: the weights of a unit become means of the
    samples for which it was active and of those that followed. :attr:`components_` are the slowest projections in the
    span of the weights, and :meth:`winner` returns the active units. The initial weights lie between 0 and 0.1. The
    input should be sparse and of the order of 1; otherwise one unit may win for all samples.

    The units cannot be linear: for y = wᵀx and input of mean 0, the trace has mean 0, nothing limits w, and the rule
    diverges. Two changes turn the rule into that of Bio-SFA with one unit, ΔW = 2η(ȳx̄ − ax): replace x by x̄, and
    replace the decay ȳw by ax, which whitens.

    Samples are first reduced (``pca``), delayed (``n_delays``) and expanded (``expansion``), in this order. The result
    is called the expanded signal; m is its number of columns.

    Parameters
    ----------
    n_components : int, default=2
        Number of units k.
    trace : {"decay", "sum"}, default="decay"
        "decay" is Földiák's trace. "sum" is ȳ_t = y_t + y_{t−1}, as Lipshutz et al. quote it.
    trace_rate : float, default=0.2
        δ, between 0 and 1. 1 means no memory. Földiák uses 0.2.
    pca : int, optional
        Reduce the samples to this number of principal components, each of unit variance. :meth:`fit` computes them in
        a first pass over the data, :meth:`partial_fit` computes them from the first chunk.
    expansion : None, "quadratic" or transformer, default=None
        Nonlinear expansion of each (delayed) sample. A transformer that depends on data should be fitted already;
        otherwise it is fitted to the first chunk.
    n_delays : int, default=1
        Number of consecutive samples in a delay vector. 1 means no delays.
    learning_rate : "auto", float, schedule or callable, default="auto"
        η: a number, a schedule, or a function of the update number t = 1, 2, … "auto" is 0.02, as in Földiák's paper.
    missing : {"raise", "break"}, default="raise"
        What to do with a sample that contains a NaN. "raise" raises an error that names the sample. "break" skips the
        sample and ends the episode there.
    n_epochs : int, default=1
        Number of passes of :meth:`fit` over the data.
    random_state : int, RandomState or None, default=None
        Seed of the initial weights.

    Attributes
    ----------
    components_ : array of shape (n_components, m)
        Directions in the expanded signal, the slowest first. Each feature has unit variance on the recent stream.
    delta_values_ : array of shape (n_components,)
        Slowness δ of the features, from running moments.
    mean_ : array of shape (m,)
        Running mean of the expanded signal.
    n_samples_seen_ : int
        Number of samples of the expanded signal seen so far.
    n_updates_ : int
        Number of updates so far. The first sample of an episode makes no update.
    n_features_in_ : int
        Number of input columns.

    References
    ----------
    P. Földiák. Learning invariance from transformation sequences. Neural Computation 3, 1991.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.rivals import FoldiakTrace
    >>> rng = np.random.default_rng(0)
    >>> # each sweep shows patterns 0 to 9, or 10 to 19
    >>> sweeps = 10 * rng.integers(2, size=(1000, 1)) + np.arange(10)
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
        """Return the number of the active unit for each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        lengths : array-like of int, optional
            Number of rows of each episode in X. It only matters if ``n_delays`` > 1.

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
