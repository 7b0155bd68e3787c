"""Slow features learned online by the natural gradient."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from biosfa.estimators._online import NetworkEstimator
from biosfa.kernels.local import Rule
from biosfa.learning import GivenRates, KernelRates, LearningRate, NaturalNetwork, Network, whitening_size
from biosfa.typing import Float64Array, FloatArray
from biosfa.validation import check_choice, check_count

FASTEST_M = 2.0  # the least of M, which is 4 − δ: that of noise


class OnlineSFA(NetworkEstimator):
    """Slow feature analysis that learns online, sample by sample, by the natural gradient.

    The rule is that of :class:`BioSFA` with ΔW C_xx⁻¹ in place of ΔW, and C_xx is learned from the same stream. It
    needs a hundred times fewer samples than the local rule, and it is not local: no synapse could compute it. It is the
    recommended learner for streams, for many columns, and for data that change. Memory is O(m²), or O(m(k + rank)) with
    a low ``whitening_rank``, whatever the length of the stream.

    Parameters
    ----------
    n_components : int, default=2
        Number of features k.
    reversible : bool, default=False
        Use the paper's Algorithm 2, for reversible processes: ΔW = 2η(2ȳ − a)xᵀ C_xx⁻¹.
    pca : int, optional
        Principal components that samples are reduced to first, each of unit variance. :meth:`fit` finds them in a first
        pass, :meth:`partial_fit` from the first chunk.
    expansion : None, "quadratic" or transformer, default=None
        What is done to each (delayed) sample first, on the fly. A transformer that depends on data should be fitted
        already; one that is not is fitted to the first chunk.
    n_delays : int, default=1
        Samples in a delay vector; 1 is no embedding.
    learning_rate : "auto", float, schedule or callable, default="auto"
        η for whitened input: a number, :class:`InverseTime`, :class:`Annealed`, or a function of the number of the
        update, t = 1, 2, … "auto" falls with the number of samples, as slowly as the gap between the slowness of the
        features and of those after them demands.
    step : {"auto", "explicit", "normalized"}, default="auto"
        The step η, or one in which each sample z counts 1/(1 + 2η‖z‖²), which no large sample upsets. "auto" is
        normalized where the rate is "auto", and explicit where a rate is given.
    whitening_rank : "auto", "full" or int, default="auto"
        All of C_xx, at O(m²) per sample, or its diagonal and so many directions, at O(m(k + rank)). "auto" is all up to
        512 expanded features and 32 directions beyond.
    forget : float, optional
        Samples that count, for streams that change: means, moments, C_xx and automatic rates look back over about so
        many. Without it the whole stream counts, and automatic rates fall for ever.
    center : bool, default=True
        Subtract the running mean of the (expanded) signal.
    missing : {"raise", "break"}, default="raise"
        What to do about a sample with a NaN: an error that names it, or leave it out and end the episode there.
    n_epochs : int, default=1
        Passes of :meth:`fit` over the data.
    dtype : float32, float64 or None, default=None
        Precision of the weights and of the large products; that of the first input by default. C_xx, means and moments
        are float64.
    random_state : int, RandomState or None, default=None
        For the initial weights.

    Attributes
    ----------
    components_ : array of shape (n_components, m)
        Directions in the expanded signal, in order of slowness, each of unit variance on the stream.
    delta_values_ : array of shape (n_components,)
        Slowness of the features: what the present weights make of some 2000 pairs of consecutive samples from the last
        third of the stream, to some percent. For that of some data, see :func:`biosfa.metrics.slowness`.
    constraint_error_ : float
        ‖⟨yyᵀ⟩ − I‖²/k of the network's own outputs y on the same pairs, before these are brought to unit variance; 0
        when the network has converged.
    W_ : array of shape (n_components, m)
        Weights in the form that they have at the optimum of the paper's network: ``components_`` times 4 − δ.
    mean_ : array of shape (m,)
        Running mean of the expanded signal.
    n_samples_seen_ : int
        Samples (of the expanded signal) so far; steps, for parallel streams.
    n_updates_ : int
        Updates so far: all samples but the first of each episode.
    n_skipped_, n_broken_pairs_ : int
        Samples left out because of a NaN, and pairs of consecutive samples that gaps have parted.
    n_features_in_ : int
        Number of input features.

    See Also
    --------
    BioSFA : The paper's network, with local rules.
    SFA : The exact solution.

    Notes
    -----
    A :class:`Recorder` keeps ``W_`` as its ``W``, and the diagonal matrix of 4 − δ as its ``M``: M⁻¹W are the
    components. It keeps ``delta_values``, ``constraint_error`` and ``learning_rate`` as for :class:`BioSFA`.

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
        """Weights in the form that they have at the optimum of the paper's network."""
        return self._weights()[0]

    def _weights(self) -> tuple[FloatArray, Float64Array]:
        # at the optimum of the paper's network ⟨ȳȳᵀ⟩ = M = 4 − δ, and y = M⁻¹Wx; δ > 2 would be faster than noise
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
