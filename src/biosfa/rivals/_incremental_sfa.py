"""Incremental SFA: principal components whiten the input, and minor components of its difference are the features."""

from typing import Any

import numpy as np

from biosfa.kernels.rivals import IncrementalState, learn_incremental
from biosfa.learning import InverseTime, LearningRate
from biosfa.rivals._base import OnlineRival, blank_moments
from biosfa.typing import BoolArray, Float64Array
from biosfa.validation import check_count


class IncrementalSFA(OnlineRival):
    """Incremental slow feature analysis (Kompella, Luciw & Schmidhuber 2012).

    Candid covariance-free incremental PCA with amnesic averaging whitens the input. Covariance-free minor component
    analysis of the whitened difference finds the slow features; each component is pushed away from those before it. No
    covariance is stored: memory, and time per sample, are O(K(m + k²)) for K whitened directions. The rules are not
    local.

    Samples are first reduced (``pca``), delayed (``n_delays``) and expanded (``expansion``), in this order. The result
    is called the expanded signal; m is its number of columns.

    Parameters
    ----------
    n_components : int, default=2
        Number of features k.
    n_whitened : int, optional
        Number K of principal components for whitening. By default all m.
    pca : int, optional
        Reduce the samples to this number of principal components, each of unit variance. :meth:`fit` computes them in
        a first pass over the data, :meth:`partial_fit` computes them from the first chunk.
    expansion : None, "quadratic" or transformer, default=None
        Nonlinear expansion of each (delayed) sample. A transformer that depends on data should be fitted already;
        otherwise it is fitted to the first chunk.
    n_delays : int, default=1
        Number of consecutive samples in a delay vector. 1 means no delays.
    learning_rate : "auto", float, schedule or callable, default="auto"
        Rate of the minor components: a number, a schedule, or a function of the update number t = 1, 2, … "auto" is
        1/(50 + t/100). The principal components average over the stream and need no rate.
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

    See Also
    --------
    biosfa.OnlineSFA : The recommended learner for streams.
    biosfa.BioSFA : Local rules, at a cost of O(km) per sample.

    References
    ----------
    V. R. Kompella, M. Luciw, J. Schmidhuber. Incremental slow feature analysis: adaptive low-complexity slow feature
    updating from high-dimensional input streams. Neural Computation 24, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.rivals import IncrementalSFA
    >>> t = np.arange(20000)
    >>> slow, fast = np.sin(t / 50), np.sin(t / 3)
    >>> X = np.stack([slow + fast, slow - fast], axis=1)
    >>> net = IncrementalSFA(1, random_state=0).fit(X)
    >>> float(abs(np.corrcoef(net.transform(X)[:, 0], slow)[0, 1]).round(2))
    1.0
    """

    _structural = (*OnlineRival._structural, "n_whitened")
    _automatic = InverseTime(50.0, 0.01)
    _highest_power = 4  # lengths of principal components are variances, and these are squared

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_whitened: int | None = None,
        pca: int | None = None,
        expansion: Any = None,
        n_delays: int = 1,
        learning_rate: LearningRate = "auto",
        missing: str = "raise",
        n_epochs: int = 1,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_whitened = n_whitened
        self.pca = pca
        self.expansion = expansion
        self.n_delays = n_delays
        self.learning_rate = learning_rate
        self.missing = missing
        self.n_epochs = n_epochs
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.n_whitened is not None and check_count("n_whitened", self.n_whitened) < self.n_components:
            raise ValueError(
                f"n_whitened={self.n_whitened} is less than n_components={self.n_components}: use a larger n_whitened"
            )

    def _least_state(self, n_features: int, n_streams: int) -> int:
        k, K = self.n_components, self._n_principal(n_features)
        return K * n_features + k * K + 2 * k**2  # V; W; S and D

    def _n_principal(self, m: int) -> int:
        return min(m, self.n_whitened or m)

    def _initial(self, m: int, rng: np.random.RandomState) -> IncrementalState:
        k, K = self.n_components, self._n_principal(m)
        W = np.linalg.qr(rng.standard_normal((K, k)))[0].T.copy()  # of unit length
        return IncrementalState(np.zeros(m), np.zeros(m), np.zeros((K, m)), W, np.zeros(K), *blank_moments(k))

    def _advance(self, X: Float64Array, starts: BoolArray, eta: Float64Array) -> None:
        learn_incremental(self._state, X, starts, self._n_samples, eta)

    def _weights(self) -> Float64Array:
        V = self._state.V
        length = np.sqrt(np.square(V).sum(axis=1))
        scale = np.divide(1.0, length**1.5, out=np.zeros_like(length), where=length > 0.0)
        weights: Float64Array = (self._state.W * scale) @ V
        return weights
