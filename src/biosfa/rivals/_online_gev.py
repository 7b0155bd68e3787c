"""The online generalized eigenvector, a unit after the other."""

from typing import Any

import numpy as np

from biosfa.kernels.rivals import GevState, learn_gev
from biosfa.learning import InverseTime, LearningRate
from biosfa.rivals._base import OnlineRival, blank_moments
from biosfa.typing import BoolArray, Float64Array


class OnlineGEV(OnlineRival):
    """Slow features as generalized eigenvectors of (C_x̄x̄, C_xx), found online by one unit, and by others after it.

    The rule is w ← w + η(Aw − (wᵀAw/wᵀBw)Bw) with A = x̄x̄ᵀ and B = xxᵀ of the present sample (Zhang & Leung 2000, as
    Malik, Hussain & Wu 2014 use it for SFA); the quotient is that of running averages. The synapses of one
    unit need what their two neurons know and factors common to all of them: the power of the input, and the length of
    w, which is kept. Several units are not fully online: each is kept away from what those before it have found, which
    its synapses cannot know, and can only converge after them.

    Parameters
    ----------
    n_components : int, default=1
        Number of units k.
    pca : int, optional
        Principal components that samples are reduced to first. Found by :meth:`fit` in a first pass, by
        :meth:`partial_fit` from the first chunk.
    expansion : None, "quadratic" or transformer, default=None
        What is done to each (delayed) sample first.
    n_delays : int, default=1
        Samples in a delay vector; 1 is no embedding.
    learning_rate : "auto", float, schedule or callable, default="auto"
        η for input of unit variance, a function of the number of the update; 1/(10 + 0.006 t) by default.
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

    See Also
    --------
    biosfa.OnlineSFA : The recommended learner for streams.
    biosfa.BioSFA : Finds several features at the same time, with local rules.

    References
    ----------
    Q. Zhang, Y.-W. Leung. A class of learning algorithms for principal component analysis and minor component analysis.
    IEEE Transactions on Neural Networks 11, 2000. — Z. K. Malik, A. Hussain, J. Wu. Novel biologically inspired
    approaches to extracting online information from temporal data. Cognitive Computation 6, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.rivals import OnlineGEV
    >>> t = np.arange(20000)
    >>> slow, fast = np.sin(t / 50), np.sin(t / 3)
    >>> X = np.stack([slow + fast, slow - fast], axis=1)
    >>> net = OnlineGEV(1, random_state=0).fit(X)
    >>> float(abs(np.corrcoef(net.transform(X)[:, 0], slow)[0, 1]).round(2))
    1.0
    """

    _automatic = InverseTime(10.0, 0.006)

    def __init__(
        self,
        n_components: int = 1,
        *,
        pca: int | None = None,
        expansion: Any = None,
        n_delays: int = 1,
        learning_rate: LearningRate = "auto",
        missing: str = "raise",
        n_epochs: int = 1,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.pca = pca
        self.expansion = expansion
        self.n_delays = n_delays
        self.learning_rate = learning_rate
        self.missing = missing
        self.n_epochs = n_epochs
        self.random_state = random_state

    def _initial(self, m: int, rng: np.random.RandomState) -> GevState:
        k = self.n_components
        W = rng.standard_normal((k, m)) / np.sqrt(m)
        return GevState(np.zeros(m), np.zeros(m), W, np.zeros((k, m)), np.zeros((k, 2)), np.zeros(1), *blank_moments(k))

    def _advance(self, X: Float64Array, starts: BoolArray, eta: Float64Array) -> None:
        learn_gev(self._state, X, starts, self._n_samples, eta)

    def _weights(self) -> Float64Array:
        weights: Float64Array = self._state.W
        return weights
