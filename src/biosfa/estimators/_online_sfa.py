"""Slow feature analysis that learns online by the natural gradient."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from biosfa.estimators._online import NetworkEstimator
from biosfa.kernels.local import Rule
from biosfa.learning import GivenRates, KernelRates, LearningRate, NaturalNetwork, Network, whitening_size
from biosfa.typing import Float64Array, FloatArray
from biosfa.validation import check_choice, check_count

FASTEST_M = 2.0  # smallest value of M = 4 − δ: the one of white noise


class OnlineSFA(NetworkEstimator):
    """Slow feature analysis that learns online by the natural gradient: the recommended learner for streams.

    The rule is that of :class:`BioSFA` with ΔW C_xx⁻¹ in place of ΔW. The covariance C_xx is learned from the same
    stream. The learner needs a hundred times fewer samples than the local rule, but it is not local: a synapse cannot
    compute its own update. Use it for streams, for many columns, and for data that change. Memory is O(m²), or
    O(m(k + rank)) with a low ``whitening_rank``. It does not grow with the stream.

    Samples are first reduced (``pca``), delayed (``n_delays``) and expanded (``expansion``), in this order. The result
    is called the expanded signal; m is its number of columns.

    Parameters
    ----------
    n_components : int, default=2
        Number of features k.
    reversible : bool, default=False
        Whether to use the paper's Algorithm 2, ΔW = 2η(2ȳ − a)xᵀ C_xx⁻¹, for processes that are statistically the same
        backward in time.
    pca : int, optional
        Reduce the samples to this number of principal components, each of unit variance. :meth:`fit` computes them in
        a first pass over the data, :meth:`partial_fit` computes them from the first chunk.
    expansion : None, "quadratic" or transformer, default=None
        Nonlinear expansion of each (delayed) sample, computed while the network learns. A transformer that depends on
        data should be fitted already; otherwise it is fitted to the first chunk.
    n_delays : int, default=1
        Number of consecutive samples in a delay vector. 1 means no delays.
    learning_rate : "auto", float, schedule or callable, default="auto"
        η for whitened input: a number, :class:`InverseTime`, :class:`Annealed`, or a function of the update number
        t = 1, 2, … "auto" lowers the rate as samples arrive. It does so more slowly if the features are hardly slower
        than the next directions.
    step : {"auto", "explicit", "normalized"}, default="auto"
        "explicit" uses η as it is. "normalized" divides the step of each whitened sample z by 1 + 2η‖z‖², so that large
        samples do no harm. "auto" is "normalized" if ``learning_rate`` is "auto", and "explicit" otherwise.
    whitening_rank : "auto", "full" or int, default="auto"
        "full" learns all of C_xx, at a cost of O(m²) per sample. A number learns the diagonal of C_xx and that many
        directions, at a cost of O(m(k + rank)). "auto" is "full" up to 512 expanded columns, and 32 beyond.
    forget : float, optional
        Number of recent samples that count, for streams that change. Means, moments, C_xx and automatic rates then
        refer to about that many samples. By default the whole stream counts, and automatic rates fall without limit.
    center : bool, default=True
        Whether to subtract the running mean of the expanded signal.
    missing : {"raise", "break"}, default="raise"
        What to do with a sample that contains a NaN. "raise" raises an error that names the sample. "break" skips the
        sample and ends the episode there.
    n_epochs : int, default=1
        Number of passes of :meth:`fit` over the data.
    dtype : float32, float64 or None, default=None
        Precision of the weights and of the large products; None takes that of the first input. C_xx, means and moments
        are float64.
    random_state : int, RandomState or None, default=None
        Seed of the initial weights.

    Attributes
    ----------
    components_ : array of shape (n_components, m)
        Directions in the expanded signal, the slowest first. Each feature has unit variance on the stream.
    delta_values_ : array of shape (n_components,)
        Slowness δ of the features, to some percent. It is measured with the present weights on about 2000 pairs of
        consecutive samples from the last third of the stream. :func:`biosfa.metrics.slowness` measures it on any data.
    patterns_ : array of shape (n_components, n_delays * n_features)
        Covariance of each feature with each input column, measured on the same pairs: what the feature looks like in
        the sensors. With delays, the newest samples come first. :attr:`components_` also cancel noise, so they do not
        show this.
    constraint_error_ : float
        ‖⟨yyᵀ⟩ − I‖²/k of the outputs y of the network on the same pairs, before they are scaled to unit variance. 0
        means that the outputs are white.
    W_ : array of shape (n_components, m)
        Weights in the form that they have at the optimum of the paper's network: ``components_`` times 4 − δ.
    mean_ : array of shape (m,)
        Running mean of the expanded signal.
    n_samples_seen_ : int
        Number of samples of the expanded signal seen so far; number of steps, for parallel streams.
    n_updates_ : int
        Number of updates so far. The first sample of an episode makes no update.
    n_skipped_ : int
        Number of samples skipped because they contain a NaN.
    n_broken_pairs_ : int
        Number of pairs of consecutive samples that a gap has separated.
    n_features_in_ : int
        Number of input columns.

    See Also
    --------
    SFA : The exact solution.
    BioSFA : The paper's network, with local rules.

    Notes
    -----
    A :class:`Recorder` stores ``W_`` as ``W`` and the diagonal matrix of 4 − δ as ``M``, so that M⁻¹W are the
    components. It stores ``delta_values``, ``constraint_error`` and ``learning_rate`` as for :class:`BioSFA`.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa import OnlineSFA
    >>> t = np.arange(5000)
    >>> slow, fast = np.sin(t / 50), np.sin(t / 3)
    >>> X = np.stack([slow + fast, slow - 0.9 * fast], axis=1)
    >>> net = OnlineSFA(n_components=1, random_state=0)
    >>> for chunk in np.array_split(X, 10):
    ...     net = net.partial_fit(chunk)
    >>> float(abs(np.corrcoef(net.transform(X)[:, 0], slow)[0, 1]).round(3))
    1.0
    """

    _structural = (*NetworkEstimator._structural, "whitening_rank")
    _network: NaturalNetwork

    def __init__(
        self,
        n_components: int = 2,
        *,
        reversible: bool = False,
        pca: int | None = None,
        expansion: Any = None,
        n_delays: int = 1,
        learning_rate: LearningRate = "auto",
        step: str = "auto",
        whitening_rank: str | int = "auto",
        forget: float | None = None,
        center: bool = True,
        missing: str = "raise",
        n_epochs: int = 1,
        dtype: DTypeLike | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.reversible = reversible
        self.pca = pca
        self.expansion = expansion
        self.n_delays = n_delays
        self.learning_rate = learning_rate
        self.step = step
        self.whitening_rank = whitening_rank
        self.forget = forget
        self.center = center
        self.missing = missing
        self.n_epochs = n_epochs
        self.dtype = dtype
        self.random_state = random_state

    @property
    def W_(self) -> FloatArray:
        """Weights in the form that they have at the optimum of the paper's network: components times 4 − δ."""
        return self._weights()[0]

    def _weights(self) -> tuple[FloatArray, Float64Array]:
        # at the optimum of the paper's network, ⟨ȳȳᵀ⟩ = M = 4 − δ and y = M⁻¹Wx; δ > 2 would be faster than noise
        M = np.diag(np.maximum(FASTEST_M, 4.0 - np.nan_to_num(self.delta_values_, nan=2.0)))
        return (M @ self.components_).astype(self._network.dtype), M

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("reversible", self.reversible, (True, False))
        if isinstance(self.whitening_rank, str):
            check_choice("whitening_rank", self.whitening_rank, ("auto", "full"), "or a whole number")
        else:
            check_count("whitening_rank", self.whitening_rank)

    def _rates(self, n_streams: int) -> GivenRates | KernelRates:
        if isinstance(self.learning_rate, str):
            return KernelRates(n_streams=n_streams)
        return GivenRates(self.learning_rate, np.inf, n_streams=n_streams)  # M is not learned

    def _rule(self) -> Rule:
        return Rule.REVERSIBLE if self.reversible else Rule.BIO_SFA

    def _new_network(self, n_streams: int, dtype: DTypeLike, rng: np.random.RandomState) -> NaturalNetwork:
        k, m = self.n_components, self._signal.n_features_out
        rates, mode = self._rates(n_streams), self._mode(self._rule())
        return NaturalNetwork(k, m, n_streams, mode, dtype, rng, rates, self.whitening_rank)

    def _least_state(self, n_features: int, n_streams: int) -> int:
        k = min(self.n_components, n_features)
        network = (3 * k + n_streams) * n_features + whitening_size(n_features, self.whitening_rank)
        return network + self._gauge_size(n_features)

    def _configure(self, network: Network) -> None:
        network.configure(self._mode(self._rule()), self._rates(network.n_streams))
