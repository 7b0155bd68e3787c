"""Slow feature analysis that learns online with local rules, as fast as the natural gradient."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from biosfa.estimators._online import NetworkEstimator
from biosfa.kernels.local import Mode, Rule
from biosfa.learning import FastLocalNetwork, Network, layer_size
from biosfa.typing import Float64Array, FloatArray
from biosfa.validation import check_choice, check_count


class LocalSFA(NetworkEstimator):
    """Slow feature analysis that learns online with local rules, as fast as the natural gradient.

    The network has two layers. Input neurons have lateral weights L, which learn the covariance of the input: their
    fast dynamics settle at x̃ = L⁻¹u. Output neurons compute y = Wu. Let a dot be the difference to the sample before.
    The network learns by ΔL = ρ(uuᵀ − L) and

        ΔW_ij = −2η(ẏ_i x̃̇_j − δ_i y_i x̃_j) + 2ηθ_i(W_ij − y_i f_j),    f = Wᵀy.

    The first term of ΔW makes the outputs slow. The second term keeps them apart and of unit power. The change of a
    synapse depends on its own weight, on its two neurons, and on sums over a layer that divide all changes. Feedback f
    is assumed to arrive through reciprocal synapses of equal weight. Each output neuron knows its slowness δ from
    averages of its own activity, and chooses its rates η and θ from them. The features are read from slow copies of the
    weights. Memory is O(m²), or O(mr) with r interneurons. It does not grow with the stream.

    Samples are first reduced (``pca``), delayed (``n_delays``) and expanded (``expansion``), in this order. The result
    is called the expanded signal; m is its number of columns.

    Parameters
    ----------
    n_components : int, default=2
        Number of features k. The network has four more outputs, the guards, if m allows. They find directions that are
        nearly as slow, so that these are not lost.
    pca : int, optional
        Reduce the samples to this number of principal components, each of unit variance. :meth:`fit` computes them in
        a first pass over the data, :meth:`partial_fit` computes them from the first chunk.
    expansion : None, "quadratic" or transformer, default=None
        Nonlinear expansion of each (delayed) sample, computed while the network learns. A transformer that depends on
        data should be fitted already; otherwise it is fitted to the first chunk.
    n_delays : int, default=1
        Number of consecutive samples in a delay vector. 1 means no delays.
    forget : float, optional
        Number of recent samples that count, for streams that change. Means, L, averages and rates then refer to about
        that many samples. By default the whole stream counts, and rates fall without limit.
    input_layer : "auto", "lateral" or int, default="auto"
        How input neurons inhibit one another. "lateral" has a synapse between any two, at a cost of O(m²) per sample. A
        number is that of interneurons r, through which they inhibit one another at a cost of O(mr); L then is a
        diagonal plus a matrix of rank r. "auto" is "lateral" up to 512 expanded columns, and 64 beyond.
    dynamics : {"equilibrium", "relax"}, default="equilibrium"
        "equilibrium" computes x̃ = L⁻¹u directly. "relax" simulates the fast dynamics of the input neurons, with
        momentum, until they come to rest: x̃ is the same to nine digits if the condition number of L is at most 1e6,
        but this is slow. A :class:`ConditioningWarning` says if they do not come to rest within 100,000 steps.
    center : bool, default=True
        Whether to subtract the running mean of the expanded signal. Without that, variance includes the offsets of the
        columns, and the slowest feature is what is most constant.
    missing : {"raise", "break"}, default="raise"
        What to do with a sample that contains a NaN. "raise" raises an error that names the sample. "break" skips the
        sample and ends the episode there.
    n_epochs : int, default=1
        Number of passes of :meth:`fit` over the data.
    dtype : float32, float64 or None, default=None
        Precision of W; None takes that of the first input. L, means and averages are float64.
    random_state : int, RandomState or None, default=None
        Seed of the initial W.

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
        ‖⟨yyᵀ⟩ − I‖²/k of the features on the same pairs, before they are scaled to unit variance. 0 means that they are
        white.
    W_ : array of shape (n_outputs, m)
        Feedforward weights of the outputs, then of the guards (a copy).
    slow_weights_ : array of shape (n_outputs, m)
        Slow copies of these weights, from which the features are read (a copy).
    L_ : array of shape (m, m)
        Lateral weights of the input neurons, which scale their input to unit variance (a copy). L approaches the
        correlations of the columns. With interneurons of weights F and leaks D, L = D + FFᵀ.
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
    OnlineSFA : Learns online by the natural gradient. It is faster for many columns, but not local.
    BioSFA : The paper's network. It is simpler, but needs many more samples.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa import LocalSFA
    >>> t = np.arange(5000)
    >>> slow, fast = np.sin(t / 50), np.sin(t / 3)
    >>> X = np.stack([slow + fast, slow - 0.9 * fast], axis=1)
    >>> net = LocalSFA(n_components=1, random_state=0)
    >>> for chunk in np.array_split(X, 10):
    ...     net = net.partial_fit(chunk)
    >>> float(abs(np.corrcoef(net.transform(X)[:, 0], slow)[0, 1]).round(2))
    1.0
    """

    _structural = (*NetworkEstimator._structural, "input_layer")
    learning_rate = "auto"  # neurons choose their own rates
    step = "auto"
    _network: FastLocalNetwork

    def __init__(
        self,
        n_components: int = 2,
        *,
        pca: int | None = None,
        expansion: Any = None,
        n_delays: int = 1,
        forget: float | None = None,
        input_layer: str | int = "auto",
        dynamics: str = "equilibrium",
        center: bool = True,
        missing: str = "raise",
        n_epochs: int = 1,
        dtype: DTypeLike | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.pca = pca
        self.expansion = expansion
        self.n_delays = n_delays
        self.forget = forget
        self.input_layer = input_layer
        self.dynamics = dynamics
        self.center = center
        self.missing = missing
        self.n_epochs = n_epochs
        self.dtype = dtype
        self.random_state = random_state

    @property
    def W_(self) -> FloatArray:
        """Feedforward weights of the outputs, then of the guards (a copy)."""
        return self._network.weights

    @property
    def slow_weights_(self) -> FloatArray:
        """Slow copies of the feedforward weights, from which the features are read (a copy)."""
        return self._network.slow_weights

    @property
    def L_(self) -> Float64Array:
        """Lateral weights of the input neurons, or D + FFᵀ with interneurons (a copy)."""
        return self._network.layer.L

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("dynamics", self.dynamics, ("equilibrium", "relax"))
        if isinstance(self.input_layer, str):
            check_choice("input_layer", self.input_layer, ("auto", "lateral"), "or a whole number")
        else:
            check_count("input_layer", self.input_layer)

    def _network_mode(self) -> Mode:
        return self._mode(Rule.BIO_SFA, euler=self.dynamics == "relax")

    def _new_network(self, n_streams: int, dtype: DTypeLike, rng: np.random.RandomState) -> FastLocalNetwork:
        k, m = self.n_components, self._signal.n_features_out
        return FastLocalNetwork(k, m, n_streams, self._network_mode(), dtype, rng, self.input_layer)

    def _configure(self, network: Network) -> None:
        network.configure(self._network_mode(), network.rates)

    def _least_state(self, n_features: int, n_streams: int) -> int:
        k = min(self.n_components, n_features)
        layer = layer_size(self.input_layer, n_features)
        return layer + 2 * (k + n_streams) * n_features + self._gauge_size(n_features)
