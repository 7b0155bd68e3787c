"""Bio-SFA: slow features learned online by a network with local rules."""

import math
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy.linalg import solve
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from biosfa.episodes import episode_starts
from biosfa.estimators._base import SlowFeatureEstimator
from biosfa.estimators._fitting import Episodes
from biosfa.estimators._natural_network import NaturalNetwork
from biosfa.estimators._network import LocalNetwork, Network
from biosfa.estimators._pace import NONNEGATIVE_TAU, Pace
from biosfa.estimators._recorder import Recorder
from biosfa.estimators._schedules import LearningRate, check_learning_rate
from biosfa.estimators._signal import Plan, Reduction, SignalPath
from biosfa.estimators._validation import (
    FLOATS,
    check_choice,
    check_count,
    check_positive,
    check_samples,
    unchanged_on_error,
)
from biosfa.estimators._watch import Watch, look
from biosfa.exceptions import DivergenceError
from biosfa.io import Stream
from biosfa.io._stream import Position
from biosfa.io.model_file import Arrays
from biosfa.kernels.lines import respond_to_all
from biosfa.kernels.state import Mode
from biosfa.typing import BoolArray, Float64Array, FloatArray


class _Prepared(NamedTuple):
    rows: FloatArray  # reduced
    plan: Plan
    eta: Float64Array
    rate: Float64Array  # η/τ


VARIANTS = ("interneuron", "nonnegative")  # circuits that the paper proposes
RULES = ("bio-sfa", "reversible", *VARIANTS)

SHORTEST_WINDOW = 10  # samples over which averages still mean something


def circuit_of(mode: Mode) -> str:
    """The circuit, which unlike rates cannot change while it learns."""
    if mode.interneurons:
        return "interneuron"
    return "nonnegative" if mode.nonnegative else "direct"


class BioSFA(SlowFeatureEstimator):
    """Slow feature analysis that learns online, sample by sample, with local learning rules (Lipshutz et al. 2020).

    A layer of ``n_components`` neurons with feedforward weights W and lateral weights M computes a = Wx and, by fast
    recurrent dynamics, y = M⁻¹a. With x̄ and ȳ the sums of the last two inputs and outputs it then learns by
    ΔW = 2η(ȳx̄ᵀ − axᵀ), ΔM = (η/τ)(ȳȳᵀ − M). Each synapse needs only what its two neurons know. The outputs span the
    slowest features and are white. Memory is O(km), whatever the length of the stream; with a preconditioner, O(m²) or
    O(m(k + rank)).

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
        stable otherwise, and is 0.5, the paper's, where a rate is given; 1 for "nonnegative". Not used with a
        preconditioner.
    step : {"auto", "explicit", "normalized"}, default="auto"
        The paper's step η, unstable once 2η‖x‖² > 2, or one in which each sample x counts 1/(1 + 2η‖x‖²), which no
        large sample upsets. "auto" is normalized where the rate is "auto", and explicit where a rate is given.
    preconditioner : None or "whiten", default=None
        None is the paper's rule, which is local: every synapse learns from what its two neurons know. "whiten" follows
        the natural gradient, ΔW C_xx⁻¹ with C_xx learned from the stream, and keeps the outputs uncorrelated itself. It
        needs a hundred times fewer samples, and is not local.
    whitening_rank : "auto", "full" or int, default="auto"
        All of C_xx, at O(m²) a sample, or its diagonal and so many directions, at O(m(k + rank)). "auto" is all up to
        512 expanded features and 32 directions beyond. Only matters with a preconditioner.
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
        Slowness of the features, from running moments of the network's own activity: of the recent stream, under
        weights that follow it. For that of some data, see :func:`biosfa.metrics.slowness`.
    constraint_error_ : float
        ‖⟨yyᵀ⟩ − I‖²/k of the outputs y, from the same moments; 0 when the network has converged. NaN for
        "nonnegative".
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

    _structural = (*SlowFeatureEstimator._structural, "center", "dtype", "preconditioner", "whitening_rank", "forget")
    _network: Network
    _plain = False  # whether samples reach the network as they are

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
        preconditioner: str | None = None,
        whitening_rank: str | int = "auto",
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
        self.preconditioner = preconditioner
        self.whitening_rank = whitening_rank
        self.forget = forget
        self.dynamics = dynamics
        self.center = center
        self.missing = missing
        self.n_epochs = n_epochs
        self.dtype = dtype
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike | Stream,
        y: object = None,
        *,
        lengths: ArrayLike | None = None,
        recorder: Recorder | None = None,
    ) -> Self:
        """Forget everything, then learn from X in ``n_epochs`` passes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Stream
            Samples in order of time; or a stream of them, from :func:`biosfa.io.open_stream`.
        y : ignored
        lengths : array-like of int, optional
            Rows of the episodes in X, one after the other; without it X is one episode.
        recorder : Recorder, optional
            Keeps W and M at certain updates.

        Returns
        -------
        self

        Raises
        ------
        DivergenceError
            If the network leaves its stable region; it keeps its last finite state.
        """
        return self._fit(X, lengths, recorder=recorder)

    def _finish(self, position: Position, episodes: Episodes) -> None:
        if self.n_updates_ == 0:
            raise ValueError(f"no episode of X has the {self.n_delays + 1} rows that an update needs")
        found = int(np.isfinite(self.delta_values_).sum())
        if found < self.n_components and not self._network.mode.nonnegative:  # where outputs may stay silent
            raise ValueError(
                f"n_components={self.n_components} exceeds the rank of the (expanded) input, {self.n_samples_seen_} "
                f"samples: the outputs vary in {found} dimensions only. Ask for fewer, or give more, or more varied, "
                "samples"
            )
        super()._finish(position, episodes)

    def partial_fit(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        lengths: ArrayLike | None = None,
        starts: ArrayLike | None = None,
        recorder: Recorder | None = None,
    ) -> Self:
        """Learn from a further chunk of any size; the result does not depend on how a stream is cut into chunks.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples that follow those of the last call.
        y : ignored
        lengths : array-like of int, optional
            Rows of the episodes in X, one after the other, each whole; the open episode is closed before. Without it X
            continues the open episode.
        starts : array-like of bool, optional
            Instead of ``lengths``: which rows begin an episode. The last one stays open.
        recorder : Recorder, optional
            Keeps W and M at certain updates.

        Returns
        -------
        self

        Raises
        ------
        DivergenceError
            If the network leaves its stable region; it keeps its last finite state.
        """
        first = not hasattr(self, "_network")
        with unchanged_on_error(self, DivergenceError):
            self._check_parameters()
            rows, begins = self._next_rows(X, lengths, starts, first=first)
            if len(rows):
                if first:
                    self._begin_now(rows, begins)
                self._go_on(1)
                plan = self._prepare(rows, begins)
        if len(rows):
            self._learn(plan, begins, recorder)
        return self._end_chunk(lengths)

    def partial_fit_streams(self, X: ArrayLike, *, recorder: Recorder | None = None) -> Self:
        """Learn from parallel streams that share the weights, each with its own memory.

        The updates of the streams are summed and divided by the square root of their number.

        Parameters
        ----------
        X : array-like of shape (n_steps, n_streams, n_features)
            Samples that follow those of the last call, which had the same streams.
        recorder : Recorder, optional
            Keeps W and M at certain updates.

        Returns
        -------
        self
        """
        first = not hasattr(self, "_network")
        with unchanged_on_error(self, DivergenceError):
            cube = np.asarray(X)
            if cube.ndim != 3:
                raise ValueError(f"X must have the shape (n_steps, n_streams, n_features); got {cube.shape}")
            n_steps, n_streams, n_features = cube.shape
            if self.n_delays != 1:
                raise ValueError("parallel streams need n_delays=1: give the delay vectors as samples")
            if n_streams == 1:
                return self.partial_fit(cube[:, 0], recorder=recorder)
            self._check_parameters()
            flat = check_samples(self, cube.reshape(-1, n_features), reset=first, n_streams=n_streams)
            if first:
                self.n_skipped_, self.n_broken_pairs_ = 0, 0
                reduction = None if self.pca is None else Reduction.of_rows(flat, self.pca)
                self._begin(flat, np.ones(len(flat), np.bool_), reduction, n_streams=n_streams)
            self._go_on(n_streams)
            starts = episode_starts(n_steps, None, open_episode=self._open)
            eta, rate = self._pace.over(self._network.n_updates + 1, starts)
        size = max(1, self._signal.piece_rows() // n_streams)
        for begin in range(0, n_steps, size):
            steps = slice(begin, min(begin + size, n_steps))
            raw = flat[steps.start * n_streams : steps.stop * n_streams]
            rows = self._signal.expand(self._signal.reduce(raw))
            samples = rows.reshape(-1, n_streams, rows.shape[1])
            self._advance(samples, starts[steps], eta[steps], rate[steps], recorder)
        return self

    def learn_one(self, x: ArrayLike) -> Self:
        """Learn from one sample, the next of the open episode.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            The sample.

        Returns
        -------
        self
        """
        sample = np.asarray(x)
        if not (self._plain and self._open and sample.shape == (self.n_features_in_,) and sample.dtype in FLOATS):
            if sample.ndim != 1:
                raise ValueError(f"x must have the shape (n_features,); got {sample.shape}")
            return self.partial_fit(sample[None])
        eta, rate = self._pace.at(self._network.n_updates + 1)
        if not self._network.advance_one(sample, eta, rate):
            if self.missing == "break" and np.isnan(sample).any():
                return self.partial_fit(sample[None])
            check_samples(self, sample[None], reset=False)
            self.end_episode()
            self._network.raise_divergence(sample, eta)
        return self

    def transform_one(self, x: ArrayLike) -> FloatArray:
        """Slow features of one sample.

        Parameters
        ----------
        x : array-like of shape (n_features,), or (n_delays, n_features) where n_delays > 1
            The sample; with delays the last ``n_delays`` samples, the oldest first.

        Returns
        -------
        array of shape (n_components,)
        """
        check_is_fitted(self)
        sample = np.asarray(x)
        wanted = (self.n_features_in_,) if self.n_delays == 1 else (self.n_delays, self.n_features_in_)
        if sample.shape != wanted:
            raise ValueError(f"x must have the shape {wanted}; got {sample.shape}")
        newest_first = np.atleast_2d(sample)[::-1]
        if sample.dtype not in FLOATS:
            newest_first = newest_first.astype(np.float64)
        expanded = self._signal.expand(self._signal.reduce(newest_first).reshape(1, -1))
        features: FloatArray = ((expanded - self.mean_) @ self.components_.T)[0].astype(expanded.dtype, copy=False)
        return features

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
        if self._network.mode.nonnegative:
            return self._features(X, lengths, W.astype(np.float64), partial(respond_to_all, M=M))
        return self._features(X, lengths, solve(M, W, assume_a="pos"))

    def watch(self) -> Watch:
        """How learning goes: slowness, constraint error, effective rate, and a warning if something looks wrong.

        It costs an eigenproblem of k × k, and can be asked for at any time. Slowness is that of the recent stream; for
        that of some data, see :func:`biosfa.metrics.slowness`.

        Examples
        --------
        >>> import numpy as np
        >>> from biosfa import BioSFA
        >>> X = np.random.default_rng(0).standard_normal((5000, 4)) * 100
        >>> net = BioSFA(1, learning_rate=6e-6, random_state=0).partial_fit(X)
        >>> print(net.watch().warning)  # doctest: +ELLIPSIS
        2η‖x‖² is ... for the largest sample so far, and the explicit step is unstable beyond 2: ...
        """
        check_is_fitted(self)
        return look(self._network, self._pace.at(max(1, self._network.n_updates))[0])

    @property
    def components_(self) -> Float64Array:
        """Directions in the expanded signal, in order of slowness."""
        return self._network.readout().components

    @property
    def delta_values_(self) -> Float64Array:
        """Slowness of the features."""
        return self._network.delta_values()

    @property
    def constraint_error_(self) -> float:
        """How far the outputs are from white."""
        return self._network.constraint_error()

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
        if not (isinstance(self._network, LocalNetwork) and self._network.mode.interneurons):
            raise AttributeError(f'only a network with rule="interneuron" has L_; this one has rule={self.rule!r}')
        return self._network.state.L.copy()

    @property
    def mean_(self) -> Float64Array:
        """Running mean of the expanded signal."""
        return self._network.mean.copy()

    @property
    def n_samples_seen_(self) -> int:
        """Samples so far."""
        return self._network.n_samples

    @property
    def n_updates_(self) -> int:
        """Updates so far."""
        return self._network.n_updates

    @property
    def _n_features_out(self) -> int:
        return self._network.k

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_network")

    def _check_parameters(self) -> None:
        self._check_signal_parameters()
        check_count("n_components", self.n_components)
        check_count("n_epochs", self.n_epochs)
        check_choice("rule", self.rule, RULES)
        check_choice("step", self.step, ("auto", "explicit", "normalized"))
        check_choice("dynamics", self.dynamics, ("equilibrium", "euler"))
        check_choice("preconditioner", self.preconditioner, (None, "whiten"))
        if self.preconditioner is not None and self.rule in VARIANTS:
            raise ValueError(f"rule={self.rule!r} is a circuit with local rules: it needs preconditioner=None")
        if isinstance(self.whitening_rank, str):
            check_choice("whitening_rank", self.whitening_rank, ("auto", "full"), "or a whole number")
        else:
            check_count("whitening_rank", self.whitening_rank)
        if self.forget is not None:
            check_positive("forget", self.forget)
            if self.forget < SHORTEST_WINDOW:
                raise ValueError(f"forget must be at least {SHORTEST_WINDOW} samples; got {self.forget!r}")
        check_learning_rate(self.learning_rate)
        if isinstance(self.tau, str):
            check_choice("tau", self.tau, ("auto",), "or a positive number")
        else:
            check_positive("tau", self.tau)
        if self.dtype is not None and np.dtype(self.dtype) not in FLOATS:
            raise ValueError(f"dtype must be float32 or float64; got {self.dtype!r}")

    def _mode(self) -> Mode:
        automatic = isinstance(self.learning_rate, str)
        return Mode(
            center=bool(self.center),
            relative=automatic,
            normalized=self.step == "normalized" or (self.step == "auto" and automatic),
            reversible=self.rule == "reversible",
            euler=self.dynamics == "euler",
            window=np.inf if self.forget is None else float(self.forget),
            interneurons=self.rule == "interneuron",
            nonnegative=self.rule == "nonnegative",
        )

    def _rows_needed(self) -> int:
        return self.n_delays + 1

    def _begin(self, X: FloatArray, starts: BoolArray, reduction: Reduction | None, *, n_streams: int = 1) -> None:
        signal = SignalPath.build(self.n_delays, self.expansion, X, starts, reduction)
        if self.n_components > signal.n_features_out and self.rule != "nonnegative":  # which may tile with more
            raise ValueError(
                f"n_components={self.n_components} exceeds the number of (expanded) features, "
                f"n_features = {signal.n_features_out}"
            )
        dtype = X.dtype if self.dtype is None else np.dtype(self.dtype)
        rng = check_random_state(self.random_state)
        self._signal = signal
        self._network = self._new_network(n_streams, dtype, rng)
        self._freeze()
        self._apply_parameters()
        self._open = False

    def _new_network(self, n_streams: int, dtype: DTypeLike, rng: np.random.RandomState) -> Network:
        k, m = self.n_components, self._signal.n_features_out
        if self.preconditioner is None:
            return LocalNetwork(k, m, n_streams, self._mode(), dtype, rng)
        return NaturalNetwork(k, m, n_streams, self._mode(), dtype, rng, self.whitening_rank)

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters; a network that has begun to learn goes on with new rates, rule or step."""
        super().set_params(**parameters)
        self._plain = False  # until the next partial_fit has looked at them
        return self

    def _apply_parameters(self) -> None:
        network = self._network
        network.mode = self._mode()
        self._pace = Pace.build(
            self.learning_rate,
            self._tau(),
            n_outputs=network.k,
            n_streams=network.n_streams,
            forget=self.forget,
        )
        # where rates do not fall, M that follows faster is noise
        network.automatic_lateral = self._pace.lateral is not None and self.forget is None
        plain_signal = self._signal.transformer is None and self._signal.reduction is None and self.n_delays == 1
        self._plain = plain_signal and network.n_streams == 1

    def _tau(self) -> str | float:
        if self.preconditioner is not None:
            return math.inf  # M is not learned
        return NONNEGATIVE_TAU if self.rule == "nonnegative" and isinstance(self.tau, str) else self.tau

    def _go_on(self, n_streams: int) -> None:
        """Check that learning can go on, and with what parameters."""
        self._check_unchanged()
        if self._network.n_streams != n_streams:
            raise ValueError(f"the model learns from {self._network.n_streams} parallel streams; got {n_streams}")
        self._check_units(self._network.mode.relative)
        self._check_circuit(circuit_of(self._network.mode))
        self._apply_parameters()

    def _check_units(self, relative: bool) -> None:
        if self._mode().relative != relative:
            raise ValueError(
                'learning_rate cannot change between "auto" and a rate of your own once learning has begun: the '
                "weights are in other units. Call fit to begin anew"
            )

    def _check_circuit(self, circuit: str) -> None:
        if circuit_of(self._mode()) != circuit:
            raise ValueError(
                f"rule cannot change to {self.rule!r} once learning has begun: the circuit is another one. Call fit "
                "to begin anew"
            )

    def _prepare(self, X: FloatArray, starts: BoolArray) -> "_Prepared":
        """What X will give, with η and η/τ for each of its rows."""
        rows = self._signal.reduce(X)
        plan = self._signal.plan(rows, starts, continued=True)
        return _Prepared(rows, plan, *self._pace.over(self._network.n_updates + 1, plan.starts))

    def _take(self, X: FloatArray, starts: BoolArray, recorder: Recorder | None = None) -> None:
        self._learn(self._prepare(X, starts), starts, recorder)

    def _learn(self, prepared: "_Prepared", starts: BoolArray, recorder: Recorder | None) -> None:
        rows, plan, eta, rate = prepared
        for x, piece in self._signal.pieces(plan):
            self._advance(x, plan.starts[piece], eta[piece], rate[piece], recorder)
        self._signal.remember(rows, starts)
        self._open = True

    def _advance(
        self, x: FloatArray, starts: BoolArray, eta: Float64Array, rate: Float64Array, recorder: Recorder | None
    ) -> None:
        self._open = True
        begin = 0
        try:
            if recorder is not None:
                for end in recorder.rows_due(self._network.n_updates + np.cumsum(~starts)):
                    part = slice(begin, end)
                    self._network.advance(x[part], starts[part], eta[part], rate[part])
                    recorder.record(self.n_updates_, self.W_, self.M_, self.watch())
                    begin = end
            self._network.advance(x[begin:], starts[begin:], eta[begin:], rate[begin:])
        except DivergenceError:
            self.end_episode()  # what comes next does not follow the last sample learned
            raise

    def _scalars(self) -> dict[str, Any]:
        network = self._network
        self._check_circuit(circuit_of(network.mode))  # or it could not be loaded
        return {
            "n_samples": network.n_samples,
            "n_updates": network.n_updates,
            "n_streams": network.n_streams,
            "dtype": network.dtype.name,
            "relative": network.mode.relative,
            "circuit": circuit_of(network.mode),
        }

    def _arrays(self) -> Arrays:
        return {f"network.{name}": array for name, array in self._network.arrays().items()}

    def _restore(self, scalars: dict[str, Any], arrays: Arrays) -> None:
        self._check_units(scalars["relative"])
        self._check_circuit(scalars.get("circuit", "direct"))  # models of version 0.1 have no other
        dtype = np.dtype(scalars["dtype"])
        if dtype not in FLOATS:
            raise ValueError(f"its precision is {dtype}")
        n_streams = check_count("n_streams", scalars["n_streams"])
        n_held = sum(array.size for array in arrays.values())
        if max(self.n_components, n_streams) * self._signal.n_features_out > n_held:  # W, and the last samples
            raise ValueError("its arrays are too small for its settings")
        network = self._new_network(n_streams, dtype, np.random.RandomState(0))
        network.restore({name.removeprefix("network."): array for name, array in arrays.items()})
        network.n_samples, network.n_updates = int(scalars["n_samples"]), int(scalars["n_updates"])
        if not 0 <= network.n_updates <= network.n_samples:
            raise ValueError(f"{network.n_updates} updates from {network.n_samples} samples")
        self._network = network
        self._apply_parameters()
