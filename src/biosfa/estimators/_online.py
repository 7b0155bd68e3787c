"""What the online learners share: a network behind the path of the signal, and what can be read from it."""

import math
from abc import abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from biosfa.episodes import episode_starts
from biosfa.estimators._base import SlowFeatureEstimator
from biosfa.estimators._fitting import Episodes
from biosfa.exceptions import DivergenceError
from biosfa.io import Position, Stream
from biosfa.kernels.local import Mode
from biosfa.learning import LearningRate, Network, Pace, Recorder, Watch, check_learning_rate, look
from biosfa.signal import Plan, Reduction, SignalPath
from biosfa.typing import Arrays, BoolArray, Float64Array, FloatArray
from biosfa.validation import FLOATS, check_choice, check_count, check_positive, check_samples, unchanged_on_error

SHORTEST_WINDOW = 10  # samples over which averages still mean something


class _Prepared(NamedTuple):
    rows: FloatArray  # reduced
    plan: Plan
    eta: Float64Array
    rate: Float64Array  # η/τ


class NetworkEstimator(SlowFeatureEstimator):
    """Base of the estimators that learn online with a network."""

    n_components: int
    learning_rate: LearningRate
    step: str
    forget: float | None
    center: bool
    dtype: DTypeLike | None
    random_state: Any

    _structural = (*SlowFeatureEstimator._structural, "center", "dtype", "forget")
    _network: Network
    _plain = False  # whether samples reach the network as they are

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
        if found < self.n_components and not self._outputs_may_be_silent():
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
        check_choice("step", self.step, ("auto", "explicit", "normalized"))
        if self.forget is not None:
            check_positive("forget", self.forget)
            if self.forget < SHORTEST_WINDOW:
                raise ValueError(f"forget must be at least {SHORTEST_WINDOW} samples; got {self.forget!r}")
        check_learning_rate(self.learning_rate)
        if self.dtype is not None and np.dtype(self.dtype) not in FLOATS:
            raise ValueError(f"dtype must be float32 or float64; got {self.dtype!r}")

    @abstractmethod
    def _new_network(self, n_streams: int, dtype: DTypeLike, rng: np.random.RandomState) -> Network:
        """A network that has seen nothing."""

    @abstractmethod
    def _mode(self) -> Mode:
        """How the kernels run."""

    def _tau(self) -> str | float:
        """The ratio of the rates of W and M; infinite where M is not learned."""
        return math.inf

    def _outputs_may_be_silent(self) -> bool:
        """Whether there may be more outputs than the input has dimensions."""
        return False

    def _rows_needed(self) -> int:
        return self.n_delays + 1

    def _begin(self, X: FloatArray, starts: BoolArray, reduction: Reduction | None, *, n_streams: int = 1) -> None:
        signal = SignalPath.build(self.n_delays, self.expansion, X, starts, reduction)
        if self.n_components > signal.n_features_out and not self._outputs_may_be_silent():
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

    def _go_on(self, n_streams: int) -> None:
        """Check that learning can go on, and with what parameters."""
        self._check_unchanged()
        if self._network.n_streams != n_streams:
            raise ValueError(f"the model learns from {self._network.n_streams} parallel streams; got {n_streams}")
        self._check_units(self._network.mode.relative)
        self._apply_parameters()

    def _check_units(self, relative: bool) -> None:
        if self._mode().relative != relative:
            raise ValueError(
                'learning_rate cannot change between "auto" and a rate of your own once learning has begun: the '
                "weights are in other units. Call fit to begin anew"
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
                    recorder.record(self.n_updates_, self._network.W.copy(), self._network.M.copy(), self.watch())
                    begin = end
            self._network.advance(x[begin:], starts[begin:], eta[begin:], rate[begin:])
        except DivergenceError:
            self.end_episode()  # what comes next does not follow the last sample learned
            raise

    def _scalars(self) -> dict[str, Any]:
        network = self._network
        return {
            "n_samples": network.n_samples,
            "n_updates": network.n_updates,
            "n_streams": network.n_streams,
            "dtype": network.dtype.name,
            "relative": network.mode.relative,
        }

    def _arrays(self) -> Arrays:
        return {f"network.{name}": array for name, array in self._network.arrays().items()}

    def _restore(self, scalars: dict[str, Any], arrays: Arrays) -> None:
        self._check_units(scalars["relative"])
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
