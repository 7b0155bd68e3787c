"""Bio-SFA: slow features learned online by a network with local rules."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy.linalg import solve
from sklearn.utils.validation import check_is_fitted

from biosfa.estimators._online import NetworkEstimator
from biosfa.kernels.local import RULES, Rule, has_interneurons, is_nonnegative, respond_to_all
from biosfa.learning import NONNEGATIVE_TAU, AutomaticRates, GivenRates, LearningRate, LocalNetwork, Network
from biosfa.typing import Arrays, Float64Array, FloatArray
from biosfa.validation import check_choice, check_positive


class BioSFA(NetworkEstimator):
    """Slow feature analysis that learns online, sample by sample, with local learning rules (Lipshutz et al. 2020).

    A layer of ``n_components`` neurons with feedforward weights W and lateral weights M computes a = Wx and, by fast
    recurrent dynamics, y = M⁻¹a. With x̄ and ȳ the sums of the last two inputs and outputs it then learns by
    ΔW = 2η(ȳx̄ᵀ − axᵀ), ΔM = (η/τ)(ȳȳᵀ − M). Each synapse needs only what its two neurons know. The outputs span the
    slowest features and are white. Memory is O(km), whatever the length of the stream.

    Parameters
    ----------
    n_components : int, default=2
        Number of output neurons k.
    rule : {"bio-sfa", "reversible", "interneuron", "nonnegative"}, default="bio-sfa"
        Algorithm 1, or a variant of it with rules as local:

        - "reversible", Algorithm 2, for reversible processes: ΔW = 2η(2ȳ − a)xᵀ, where only the postsynaptic neuron
          keeps a slow variable.
        - "interneuron": outputs inhibit one another by way of as many interneurons z = Lᵀy, a − Lz = 0, so that
          M = LLᵀ, and ΔL = (η/2τ)(yzᵀ − L). Its fixed points are those of Algorithm 1.
        - "nonnegative": the fast dynamics keep y ≥ 0. Outputs then tile what the slow features span instead of being
          white: see :meth:`neural_output`. There may be more of them than columns. What :meth:`transform` gives are
          slow features of the same weights, in an order and with a slowness that are rough.
    pca : int, optional
        Principal components that samples are reduced to first, each of unit variance. Found by :meth:`fit` in a first
        pass, by :meth:`partial_fit` from the first chunk.
    expansion : None, "quadratic" or transformer, default=None
        What is done to each (delayed) sample first, on the fly. A transformer that depends on data should be fitted
        already; one that is not is fitted to the first chunk.
    n_delays : int, default=1
        Samples in a delay vector; 1 is no embedding.
    learning_rate : "auto", float, schedule or callable, default="auto"
        η: a number, :class:`InverseTime`, :class:`Annealed`, or a function of the number of the update, t = 1, 2, …
        "auto" falls with the number of samples, the faster the more of the input's variance the features have, for
        columns that are brought to unit variance: it needs no units.
    tau : "auto" or float, default="auto"
        τ, the ratio of the rates of W and M. η must stay below τ; η√P with P parallel streams. "auto" lets M average
        over a third of the stream where the rate is "auto", or less where features of different slowness would not be
        stable otherwise, and is 0.5, the paper's, where a rate is given; 1 for "nonnegative".
    step : {"auto", "explicit", "normalized"}, default="auto"
        The paper's step η, unstable once 2η‖x‖² > 2, or one in which each sample x counts 1/(1 + 2η‖x‖²), which no
        large sample upsets. "auto" is normalized where the rate is "auto", and explicit where a rate is given.
    forget : float, optional
        Samples that count, for streams that change: means, moments and automatic rates look back over about so many.
        Without it the whole stream counts, and automatic rates fall for ever.
    dynamics : {"equilibrium", "euler"}, default="equilibrium"
        Compute y = M⁻¹a directly, or run the neural dynamics to rest as the paper's circuit does: slow, and the same.
    center : bool, default=True
        Subtract the running mean of the (expanded) signal.
    missing : {"raise", "break"}, default="raise"
        What to do about a sample with a NaN: an error that names it, or leave it out and end the episode there.
    n_epochs : int, default=1
        Passes of :meth:`fit` over the data.
    dtype : float32, float64 or None, default=None
        Precision of W and of the large products; that of the first input by default. M, means and moments are float64.
    random_state : int, RandomState or None, default=None
        For the initial W.

    Attributes
    ----------
    components_ : array of shape (n_components, m)
        Directions in the expanded signal, in order of slowness, each of unit variance on the stream.
    delta_values_ : array of shape (n_components,)
        Slowness of the features: what the present weights make of some 2000 pairs of consecutive samples from the last
        third of the stream, to some percent. For that of some data, see :func:`biosfa.metrics.slowness`.
    constraint_error_ : float
        ‖⟨yyᵀ⟩ − I‖²/k of the outputs y on the same pairs; 0 when the network has converged. NaN for "nonnegative".
    W_, M_ : arrays of shape (n_components, m) and (n_components, n_components)
        The weights of the network (copies).
    L_ : array of shape (n_components, n_components)
        Weights between outputs and interneurons, where there are any (a copy).
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
    OnlineSFA : Learns online by the natural gradient: a hundred times fewer samples, and not local.
    SFA : The exact solution, at O(m²) a sample.

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

    _network: LocalNetwork

    def __init__(
        self,
        n_components: int = 2,
        *,
        rule: str = "bio-sfa",
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
        """Activity of the output neurons, y = M⁻¹Wx: the same subspace as :meth:`transform`, in no order.

        With ``rule="nonnegative"``, the minimum of ½yᵀMy − yᵀWx over y ≥ 0.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        lengths : array-like of int, optional
            Rows of the episodes in X; only matters for ``n_delays`` > 1.

        Returns
        -------
        array of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        W, M = self._network.W, self._network.M
        if is_nonnegative(self._network.mode.rule):
            return self._features(X, lengths, self.mean_, W.astype(np.float64), partial(respond_to_all, M=M))
        return self._features(X, lengths, self.mean_, solve(M, W, assume_a="pos"))

    @property
    def W_(self) -> FloatArray:
        """Feedforward weights."""
        return self._network.W.copy()

    @property
    def M_(self) -> Float64Array:
        """Lateral weights; with interneurons what these amount to."""
        return self._network.M.copy()

    @property
    def L_(self) -> Float64Array:
        """Weights between the outputs and the interneurons."""
        if not has_interneurons(self._network.mode.rule):
            raise AttributeError(f'only a network with rule="interneuron" has L_; this one has rule={self.rule!r}')
        return self._network.state.L.copy()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("rule", self.rule, RULES)
        check_choice("dynamics", self.dynamics, ("equilibrium", "euler"))
        if isinstance(self.tau, str):
            check_choice("tau", self.tau, ("auto",), "or a positive number")
        else:
            check_positive("tau", self.tau)

    def _rates(self, n_features: int, n_streams: int) -> GivenRates | AutomaticRates:
        tau = NONNEGATIVE_TAU if Rule.named(self.rule).is_nonnegative and isinstance(self.tau, str) else self.tau
        if not isinstance(self.learning_rate, str):
            return GivenRates(self.learning_rate, tau, n_streams=n_streams)
        return AutomaticRates(
            tau, n_outputs=self.n_components, n_features=n_features, n_streams=n_streams, forget=self.forget
        )

    def _new_network(self, n_streams: int, dtype: DTypeLike, rng: np.random.RandomState) -> LocalNetwork:
        k, m = self.n_components, self._signal.n_features_out
        mode = self._mode(Rule.named(self.rule), euler=self.dynamics == "euler")
        return LocalNetwork(k, m, n_streams, mode, dtype, rng, self._rates(m, n_streams))

    def _configure(self, network: Network) -> None:
        self._check_circuit(Rule(network.mode.rule).circuit)
        mode = self._mode(Rule.named(self.rule), euler=self.dynamics == "euler")
        network.configure(mode, self._rates(network.n_features, network.n_streams))

    def _outputs_may_be_silent(self) -> bool:
        return Rule.named(self.rule).is_nonnegative  # which may tile with more outputs than columns

    def _check_circuit(self, circuit: str) -> None:
        if Rule.named(self.rule).circuit != circuit:
            raise ValueError(
                f"rule cannot change to {self.rule!r} once learning has begun: the circuit is another one. Call fit "
                "to begin anew"
            )

    def _least_state(self, n_features: int, n_streams: int) -> int:
        k = self.n_components
        network = k * n_features + 2 * k**2 + n_streams * (n_features + k)  # W; M and M⁻¹; x and y of each stream
        return network + self._gauge_size(n_features)

    def _scalars(self) -> dict[str, Any]:
        circuit = Rule(self._network.mode.rule).circuit
        self._check_circuit(circuit)  # or it could not be loaded
        return {**super()._scalars(), "circuit": circuit}

    def _restore(self, scalars: dict[str, Any], arrays: Arrays, published: Arrays) -> None:
        self._check_circuit(scalars["circuit"])
        super()._restore(scalars, arrays, published)
