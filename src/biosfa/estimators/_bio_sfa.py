"""Bio-SFA: the paper's network, which learns slow features online with local rules."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy.linalg import solve
from sklearn.utils.validation import check_is_fitted

from biosfa.episodes import rows_of
from biosfa.estimators._online import NetworkEstimator
from biosfa.kernels.local import RULES, Rule, has_interneurons, is_nonnegative, respond_to_all
from biosfa.learning import (
    NONNEGATIVE_TAU,
    AutomaticRates,
    GivenRates,
    LearningRate,
    LocalNetwork,
    Network,
    SettledLocalNetwork,
    SettledRates,
    layer_size,
)
from biosfa.typing import Arrays, Float64Array, FloatArray
from biosfa.validation import check_choice, check_count, check_positive


class BioSFA(NetworkEstimator):
    """Slow feature analysis that learns online with local rules: the network of Lipshutz et al. (2020).

    A layer of ``n_components`` neurons has feedforward weights W and lateral weights M. It computes a = Wx and, by fast
    recurrent dynamics, y = M⁻¹a. Let x̄ and ȳ be the sums of the last two inputs and outputs. The network learns by
    ΔW = 2η(ȳx̄ᵀ − axᵀ) and ΔM = (η/τ)(ȳȳᵀ − M). These rules are local: the change of a synapse depends only on its own
    weight and on its two neurons. The outputs span the slowest features and are white. Memory is O(km) and does not
    grow with the stream.

    Samples are first reduced (``pca``), delayed (``n_delays``) and expanded (``expansion``), in this order. The result
    is called the expanded signal; m is its number of columns.

    Parameters
    ----------
    n_components : int, default=2
        Number of output neurons k, which is the number of features.
    rule : {"bio-sfa", "reversible", "interneuron", "nonnegative"}, default="bio-sfa"
        The learning rule. "bio-sfa" is the paper's Algorithm 1. The others are variants of it, and local too:

        - "reversible" is the paper's Algorithm 2, for processes that are statistically the same backward in time:
          ΔW = 2η(2ȳ − a)xᵀ. Only the postsynaptic neuron needs a memory of its last value.
        - "interneuron" lets the outputs inhibit one another through k interneurons z = Lᵀy, so that a − Lz = 0 and
          M = LLᵀ. The rule is ΔL = (η/2τ)(yzᵀ − L). The fixed points are those of Algorithm 1.
        - "nonnegative" keeps y ≥ 0. The outputs (see :meth:`neural_output`) are then not white. Each output responds to
          a part of the space of slow features. There may be more outputs than columns. :meth:`transform` gives slow
          features of the same weights, but their order and slowness are only approximate.
    input_layer : None, "auto", "lateral" or int, default=None
        Input neurons that inhibit one another, as in :class:`LocalSFA`. Their activities settle at x̃ = L⁻¹u, where L
        learns the covariance of the input u, and synapses learn from x̃ in place of x. The fixed points are the paper's,
        and the network learns as if the input were white. "lateral" has a synapse between any two input neurons, a
        number is that of interneurons, and "auto" is "lateral" up to 512 expanded columns and 64 beyond. None is the
        paper's network.
    pca : int, optional
        Reduce the samples to this number of principal components, each of unit variance. :meth:`fit` computes them in
        a first pass over the data, :meth:`partial_fit` computes them from the first chunk.
    expansion : None, "quadratic" or transformer, default=None
        Nonlinear expansion of each (delayed) sample, computed while the network learns. A transformer that depends on
        data should be fitted already; otherwise it is fitted to the first chunk.
    n_delays : int, default=1
        Number of consecutive samples in a delay vector. 1 means no delays.
    learning_rate : "auto", float, schedule or callable, default="auto"
        η: a number, :class:`InverseTime`, :class:`Annealed`, or a function of the update number t = 1, 2, … "auto"
        scales the columns to unit variance and lowers the rate as samples arrive. It does so more slowly if the
        features have little of the variance of the input.
    tau : "auto" or float, default="auto"
        τ, the ratio of the rates of W and M. η must stay below τ (with P parallel streams, η√P). "auto" is 0.5, as in
        the paper, if a learning rate is given. With ``learning_rate="auto"``, M averages over a third of the stream, or
        over less if that is needed for stability. For "nonnegative", "auto" is 1.
    step : {"auto", "explicit", "normalized"}, default="auto"
        "explicit" is the paper's step η, which is unstable if 2η‖x‖² > 2. "normalized" divides the step of each sample
        by 1 + 2η‖x‖², so that large samples do no harm. "auto" is "normalized" if ``learning_rate`` is "auto", and
        "explicit" otherwise.
    forget : float, optional
        Number of recent samples that count, for streams that change. Means, moments and automatic rates then refer to
        about that many samples. By default the whole stream counts, and automatic rates fall without limit.
    dynamics : {"equilibrium", "euler"}, default="equilibrium"
        "equilibrium" computes y = M⁻¹a directly. "euler" simulates the neural dynamics until they converge, as in the
        paper's circuit. The result is the same, but the simulation is slow.
    center : bool, default=True
        Whether to subtract the running mean of the expanded signal.
    missing : {"raise", "break"}, default="raise"
        What to do with a sample that contains a NaN. "raise" raises an error that names the sample. "break" skips the
        sample and ends the episode there.
    n_epochs : int, default=1
        Number of passes of :meth:`fit` over the data.
    dtype : float32, float64 or None, default=None
        Precision of W and of the large products; None takes that of the first input. M, means and moments are float64.
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
        ‖⟨yyᵀ⟩ − I‖²/k of the outputs y on the same pairs. 0 means that the outputs are white. NaN for "nonnegative".
    W_, M_ : arrays of shape (n_components, m) and (n_components, n_components)
        Feedforward and lateral weights (copies).
    L_ : array of shape (n_components, n_components)
        Weights between outputs and interneurons (a copy). Only for ``rule="interneuron"``.
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
    LocalSFA : Another network with local rules. It needs a hundred times fewer samples, and feedback.
    OnlineSFA : Learns online by the natural gradient. It needs as few samples as LocalSFA, but is not local.
    SFA : The exact solution, at a cost of O(m²) per sample.

    References
    ----------
    D. Lipshutz, C. Windolf, S. Golkar, D. B. Chklovskii. A biologically plausible neural network for slow feature
    analysis. NeurIPS 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa import BioSFA
    >>> t = np.arange(50000)
    >>> slow, fast = np.sin(t / 50), np.sin(t / 3)
    >>> X = np.stack([slow + fast, slow - fast], axis=1)
    >>> net = BioSFA(n_components=1, random_state=0)
    >>> for chunk in np.array_split(X, 10):
    ...     net = net.partial_fit(chunk)
    >>> float(abs(np.corrcoef(net.transform(X)[:, 0], slow)[0, 1]).round(2))
    1.0
    """

    _structural = (*NetworkEstimator._structural, "input_layer")
    _network: LocalNetwork | SettledLocalNetwork

    def __init__(
        self,
        n_components: int = 2,
        *,
        rule: str = "bio-sfa",
        input_layer: str | int | None = None,
        pca: int | None = None,
        expansion: Any = None,
        n_delays: int = 1,
        learning_rate: LearningRate = "auto",
        tau: str | float = "auto",
        step: str = "auto",
        forget: float | None = None,
        dynamics: str = "equilibrium",
        center: bool = True,
        missing: str = "raise",
        n_epochs: int = 1,
        dtype: DTypeLike | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.rule = rule
        self.input_layer = input_layer
        self.pca = pca
        self.expansion = expansion
        self.n_delays = n_delays
        self.learning_rate = learning_rate
        self.tau = tau
        self.step = step
        self.forget = forget
        self.dynamics = dynamics
        self.center = center
        self.missing = missing
        self.n_epochs = n_epochs
        self.dtype = dtype
        self.random_state = random_state

    def neural_output(self, X: ArrayLike, *, lengths: ArrayLike | None = None) -> FloatArray:
        """Return the activity of the output neurons, y = M⁻¹Wx.

        The outputs span the same subspace as the features of :meth:`transform`, but have no order. With
        ``rule="nonnegative"``, y is the minimum of ½yᵀMy − yᵀWx over y ≥ 0.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        lengths : array-like of int, optional
            Number of rows of each episode in X. It only matters if ``n_delays`` > 1.

        Returns
        -------
        array of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        W, M = self._network.W, self._network.M
        samples, sizes, _ = rows_of(X, lengths, ordered=self.n_delays > 1)
        if is_nonnegative(self._network.mode.rule):
            return self._features(samples, sizes, self.mean_, W.astype(np.float64), partial(respond_to_all, M=M))
        return self._features(samples, sizes, self.mean_, solve(M, W, assume_a="pos"))

    @property
    def W_(self) -> FloatArray:
        """Feedforward weights W (a copy)."""
        return self._network.W.copy()

    @property
    def M_(self) -> Float64Array:
        """Lateral weights M (a copy). With interneurons, M = LLᵀ."""
        return self._network.M.copy()

    @property
    def L_(self) -> Float64Array:
        """Weights L between the outputs and the interneurons (a copy)."""
        if not has_interneurons(self._network.mode.rule):
            raise AttributeError(f'only a network with rule="interneuron" has L_; this one has rule={self.rule!r}')
        return self._network.state.L.copy()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("rule", self.rule, RULES)
        check_choice("dynamics", self.dynamics, ("equilibrium", "euler"))
        if self.input_layer is None or isinstance(self.input_layer, str):
            check_choice("input_layer", self.input_layer, (None, "auto", "lateral"), "or a whole number")
        else:
            check_count("input_layer", self.input_layer)
        if isinstance(self.tau, str):
            check_choice("tau", self.tau, ("auto",), "or a positive number")
        else:
            check_positive("tau", self.tau)

    def _rates(self, n_features: int, n_streams: int) -> GivenRates | AutomaticRates:
        tau = NONNEGATIVE_TAU if Rule.named(self.rule).is_nonnegative and isinstance(self.tau, str) else self.tau
        if not isinstance(self.learning_rate, str):
            return GivenRates(self.learning_rate, tau, n_streams=n_streams)
        kind = AutomaticRates if self.input_layer is None else SettledRates
        return kind(tau, n_outputs=self.n_components, n_features=n_features, n_streams=n_streams, forget=self.forget)

    def _new_network(
        self, n_streams: int, dtype: DTypeLike, rng: np.random.RandomState
    ) -> LocalNetwork | SettledLocalNetwork:
        k, m = self.n_components, self._signal.n_features_out
        mode = self._mode(Rule.named(self.rule), euler=self.dynamics == "euler")
        rates = self._rates(m, n_streams)
        if self.input_layer is None:
            return LocalNetwork(k, m, n_streams, mode, dtype, rng, rates)
        return SettledLocalNetwork(k, m, n_streams, mode, dtype, rng, rates, self.input_layer)

    def _configure(self, network: Network) -> None:
        self._check_circuit(Rule(network.mode.rule).circuit)
        mode = self._mode(Rule.named(self.rule), euler=self.dynamics == "euler")
        network.configure(mode, self._rates(network.n_features, network.n_streams))

    def _outputs_may_be_silent(self) -> bool:
        return Rule.named(self.rule).is_nonnegative  # such networks may have more outputs than columns

    def _check_circuit(self, circuit: str) -> None:
        if Rule.named(self.rule).circuit != circuit:
            raise ValueError(
                f"rule cannot change to {self.rule!r} once learning has begun, because it needs another circuit: call "
                "fit to start over"
            )

    def _least_state(self, n_features: int, n_streams: int) -> int:
        k = self.n_components
        network = k * n_features + 2 * k**2 + n_streams * (n_features + k)  # W; M and M⁻¹; x and y of each stream
        layer = 0 if self.input_layer is None else layer_size(self.input_layer, n_features)
        return network + layer + self._gauge_size(n_features)

    def _scalars(self) -> dict[str, Any]:
        circuit = Rule(self._network.mode.rule).circuit
        self._check_circuit(circuit)  # otherwise the file could not be loaded
        return {**super()._scalars(), "circuit": circuit}

    def _restore(self, scalars: dict[str, Any], arrays: Arrays, published: Arrays) -> None:
        self._check_circuit(scalars["circuit"])
        super()._restore(scalars, arrays, published)
