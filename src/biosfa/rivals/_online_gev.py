"""Slow features as generalized eigenvectors that are learned online, one unit after the other."""

from typing import Any

import numpy as np

from biosfa.kernels.rivals import GevState, learn_gev
from biosfa.learning import InverseTime, LearningRate
from biosfa.rivals._base import OnlineRival, blank_moments
from biosfa.typing import BoolArray, Float64Array


class OnlineGEV(OnlineRival):
    """Slow features as generalized eigenvectors of (C_x̄x̄, C_xx), learned online, one unit after the other.

    The rule is w ← w + η(Aw − (wᵀAw/wᵀBw)Bw) with A = x̄x̄ᵀ and B = xxᵀ of the present sample (Zhang & Leung 2000, as
    Malik, Hussain & Wu 2014 use it for SFA). The quotient is computed from running averages. For one unit, a synapse
    needs the activities of its two neurons and two factors that all synapses share: the power of the input, and the
    length of w, which is kept constant. Several units are not fully local. Each unit is pushed away from the
    directions of the units before it. Its synapses cannot know these directions. It also converges only after the units
    before it.

    Samples are first reduced (``pca``), delayed (``n_delays``) and expanded (``expansion``), in this order. The result
    is called the expanded signal; m is its number of columns.

    Parameters
    ----------
    n_components : int, default=1
        Number of units k.
    pca : int, optional
        Reduce the samples to this number of principal components, each of unit variance. :meth:`fit` computes them in
        a first pass over the data, :meth:`partial_fit` computes them from the first chunk.
    expansion : None, "quadratic" or transformer, default=None
        Nonlinear expansion of each (delayed) sample. A transformer that depends on data should be fitted already;
        otherwise it is fitted to the first chunk.
    n_delays : int, default=1
        Number of consecutive samples in a delay vector. 1 means no delays.
    learning_rate : "auto", float, schedule or callable, default="auto"
        η for input of unit variance: a number, a schedule, or a function of the update number t = 1, 2, … "auto" is
        1/(10 + 0.006 t).
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
