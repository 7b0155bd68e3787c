"""Base class of the online learners, which feed the expanded signal to a network."""

from abc import abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from biosfa.episodes import episode_starts, rows_of
from biosfa.estimators._base import SlowFeatureEstimator
from biosfa.estimators._fitting import Episodes, check_pairs_per_feature
from biosfa.estimators._give_aways import as_slow_as_ramps, warn_of_give_aways
from biosfa.estimators._way_back import Joint, WayBack, joint_of
from biosfa.exceptions import DivergenceError
from biosfa.floats import to_floats
from biosfa.io import Position, Stream
from biosfa.kernels.local import Mode, Rule
from biosfa.learning import (
    Gauge,
    LearningRate,
    Network,
    Pairs,
    Passes,
    Recorder,
    Steps,
    Watch,
    check_learning_rate,
    look,
    pairs_kept,
    pairs_needed,
)
from biosfa.signal import Plan, begins_with_input
from biosfa.typing import Arrays, BoolArray, Float64Array, FloatArray, IntArray
from biosfa.validation import FLOATS, check_choice, check_count, check_positive, check_samples, unchanged_on_error
from biosfa.wording import counted

SHORTEST_WINDOW = 10  # smallest number of samples over which an average is useful


class NetworkEstimator(WayBack, SlowFeatureEstimator):
    """Base class of the estimators that learn online with a network."""

    n_components: int
    learning_rate: LearningRate
    step: str
    forget: float | None
    center: bool
    dtype: DTypeLike | None
    random_state: Any

    _structural: ClassVar[tuple[str, ...]] = (*SlowFeatureEstimator._structural, "center", "dtype", "forget")
    _network: Network
    _gauge: Gauge
    _plain = False  # whether samples reach the network unchanged

    def fit(
        self,
        X: ArrayLike | Stream,
        y: object = None,
        *,
        lengths: ArrayLike | None = None,
        episode: ArrayLike | None = None,
        index: ArrayLike | None = None,
        recorder: Recorder | None = None,
    ) -> Self:
        """Discard what was learned before, then learn from X in ``n_epochs`` passes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), labelled array, or Stream
            Samples in order of time, or a stream of them from :func:`biosfa.io.open_stream`. Labelled arrays are those
            of xarray and pynapple, and frames with dates.
        y : ignored
        lengths : array-like of int, optional
            Number of rows of each episode in X. By default the labels of X say what an episode is. Without labels, X is
            one episode.
        episode : array-like of shape (n_samples,), optional
            Label of each row's episode, in place of ``lengths``. An episode ends where the label changes.
        index : array-like of int of shape (n_samples,), optional
            Number of each row in the recording. An episode ends where it does not increase by 1: where a splitter of
            scikit-learn has taken rows out.
        recorder : Recorder, optional
            Records W and M at some of the updates.

        Returns
        -------
        self

        Raises
        ------
        DivergenceError
            If the weights diverge. The model keeps its last finite state.
        """
        return self._fit(*rows_of(X, lengths, episode, index)[:2], recorder=recorder)

    def _finish(self, position: Position, episodes: Episodes, counters: list[str]) -> None:
        if self.n_updates_ == 0:
            raise ValueError(f"all episodes of X are too short: an update needs {self.n_delays + 1} rows")
        n_pairs = self.n_updates_ // self.n_epochs
        self._gauge.passes = Passes(self.n_updates_, n_pairs)
        if not self._outputs_may_be_silent():
            check_pairs_per_feature(n_pairs, self.n_components)
        found = int(np.isfinite(self.delta_values_).sum())
        # at the end of the stream: watch() reports it
        silence = found == 0 and self._network.input_has_varied() and self._gauge.is_silent(self._signal.expand)
        if found < self.n_components and not (silence or self._outputs_may_be_silent()):
            raise ValueError(self._why_too_few(found))
        slow = np.zeros(len(self.mean_), np.bool_)
        if self.center and not silence:
            recent = self._gauge.expanded(self._signal.expand)  # minus the mean of the stream
            before, after = np.split(recent, 2)
            variance, change = np.square(recent).mean(axis=0), np.square(after - before).mean(axis=0)
            n_rows = int(min(self.n_samples_seen_, self._network.mode.window))
            slow = as_slow_as_ramps(variance, change, n_rows)
        warn_of_give_aways(counters, self.expanded_feature_names()[slow], stacklevel=7)
        super()._finish(position, episodes, counters)

    def _why_too_few(self, found: int) -> str:
        """Return why fewer features than asked for were found, and what to do."""
        n_pairs, rank = len(self._gauge.different_pairs()), self._gauge.rank(self._signal.expand)
        if rank < self.n_components:
            return (
                f"n_components={self.n_components} exceeds the rank of the recent (expanded) samples: "
                f"{counted(n_pairs, 'pair')} of them vary in only {counted(rank, 'dimension')}. Ask for fewer "
                "components, or give more varied samples"
            )
        return (
            f"the network has learned only {counted(found, 'feature')} of n_components={self.n_components}, although "
            f"{counted(n_pairs, 'recent pair')} of samples vary in {counted(rank, 'dimension')}: give more samples "
            "with fewer gaps, or use SFA (--solver exact)"
        )

    def partial_fit(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        lengths: ArrayLike | None = None,
        starts: ArrayLike | None = None,
        recorder: Recorder | None = None,
    ) -> Self:
        """Learn from another chunk of any size. The result does not depend on how a stream is cut into chunks.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), labelled array, or Chunk
            Samples that follow those of the last call. A :class:`~biosfa.io.Chunk` has its own ``starts``.
        y : ignored
        lengths : array-like of int, optional
            Number of rows of each episode in X. The current episode ends before X, and the last episode of X ends with
            X. By default X continues the current episode.
        starts : array-like of bool, optional
            Which rows begin an episode, in place of ``lengths``. The last episode stays open.
        recorder : Recorder, optional
            Records W and M at some of the updates.

        Returns
        -------
        self

        Raises
        ------
        DivergenceError
            If the weights diverge. The model keeps its last finite state.
        """
        return self._partial_fit(X, lengths, starts, recorder=recorder)

    def partial_fit_streams(self, X: ArrayLike, *, recorder: Recorder | None = None) -> Self:
        """Learn from parallel streams that share the weights. Each stream has its own last sample and output.

        The updates of the streams are summed and divided by the square root of the number of streams.

        Parameters
        ----------
        X : array-like of shape (n_steps, n_streams, n_features)
            Samples that follow those of the last call. The number of streams must not change.
        recorder : Recorder, optional
            Records W and M at some of the updates.

        Returns
        -------
        self
        """
        with unchanged_on_error(self, DivergenceError):
            cube = X if type(X) is np.ndarray else to_floats(X)
            if cube.ndim != 3:
                raise ValueError(f"X must have the shape (n_steps, n_streams, n_features); got {cube.shape}")
            n_steps, n_streams, n_features = cube.shape
            if self.n_delays != 1:
                raise ValueError("parallel streams need n_delays=1: give the delay vectors as samples")
            if n_streams == 1:
                return self.partial_fit(cube[:, 0], recorder=recorder)
            self._check_parameters()
            flat = check_samples(self, cube.reshape(-1, n_features), reset=not self._started, n_streams=n_streams)
            if not self._started:
                self.n_skipped_, self.n_broken_pairs_ = 0, 0
                self._start(flat, np.ones(len(flat), np.bool_), n_streams=n_streams)
            self._check_unchanged()
            self._apply_parameters(n_streams)
            starts = episode_starts(n_steps, None, open_episode=self._open)
            rates = self._network.plan(starts)
        size = max(1, self._signal.piece_rows() // n_streams)
        for begin in range(0, n_steps, size):
            steps = slice(begin, min(begin + size, n_steps))
            rows = self._signal.reduce(flat[steps.start * n_streams : steps.stop * n_streams])
            cube = rows.reshape(-1, n_streams, rows.shape[1])
            samples = self._signal.expand(rows).reshape(len(cube), n_streams, -1)
            self._advance(Steps(samples, starts[steps], rates.part(steps), cube.__getitem__), recorder)
        return self

    def learn_one(self, x: ArrayLike) -> Self:
        """Learn from one sample, which continues the current episode.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            The sample.

        Returns
        -------
        self
        """
        sample = x if type(x) is np.ndarray else to_floats(x)
        if not (self._plain and self._open and sample.shape == (self.n_features_in_,) and sample.dtype in FLOATS):
            if sample.ndim != 1:
                raise ValueError(f"x must have the shape (n_features,); got {sample.shape}")
            return self.partial_fit(sample[None])
        if not self._gauge.advance_one(sample):
            if self.missing == "break" and np.isnan(sample).any():
                return self.partial_fit(sample[None])
            check_samples(self, sample[None], reset=False)
            self.end_episode()
            self._network.raise_divergence(sample, self._network.rates.at(self.n_updates_ + 1)[0])
        return self

    def watch(self) -> Watch:
        """Return how learning goes: slowness, constraint error, effective rate, and a warning if there is a problem.

        Everything is measured with the present weights on pairs of recent samples. A call takes about one millisecond
        for ten columns. For up to 512 (expanded) columns, it solves an m × m eigenproblem.

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
        return look(self._gauge, self._signal.expand)

    @property
    def components_(self) -> Float64Array:
        """Directions in the expanded signal, the slowest first."""
        return self._gauge.read(self._signal.expand).readout.components

    @property
    def delta_values_(self) -> Float64Array:
        """Slowness δ of the features on recent samples."""
        return self._gauge.read(self._signal.expand).readout.delta_values

    @property
    def constraint_error_(self) -> float:
        """How far the outputs are from white on recent samples: ‖⟨yyᵀ⟩ − I‖²/k."""
        return self._gauge.read(self._signal.expand).constraint_error

    @property
    def mean_(self) -> Float64Array:
        """Running mean of the expanded signal."""
        return self._network.mean.copy()

    def _map(self) -> tuple[Float64Array, Float64Array]:
        return self._network.mean, self.components_

    @property
    def n_samples_seen_(self) -> int:
        """Number of samples of the expanded signal seen so far."""
        return self._network.n_samples

    @property
    def n_updates_(self) -> int:
        """Number of updates so far."""
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

    def _mode(self, rule: Rule, *, euler: bool = False) -> Mode:
        """Return the mode in which the kernels run, for the present parameters."""
        automatic = isinstance(self.learning_rate, str)
        return Mode(
            center=bool(self.center),
            relative=automatic,
            normalized=self.step == "normalized" or (self.step == "auto" and automatic),
            rule=int(rule),
            euler=euler,
            window=np.inf if self.forget is None else float(self.forget),
        )

    @abstractmethod
    def _new_network(self, n_streams: int, dtype: DTypeLike, rng: np.random.RandomState) -> Network:
        """Return a new network for the present parameters."""

    @abstractmethod
    def _configure(self, network: Network) -> None:
        """Let a network continue with the present parameters."""

    def _outputs_may_be_silent(self) -> bool:
        """Return whether the network may have more outputs than its input has dimensions."""
        return False

    def _check_outputs(self, n_features: int) -> None:
        if not self._outputs_may_be_silent():
            super()._check_outputs(n_features)

    def _rows_needed(self) -> int:
        return self.n_delays + 1

    def _reset(self, *, dtype: DTypeLike, n_streams: int) -> None:
        precision = np.dtype(dtype if self.dtype is None else self.dtype)
        self._use(self._new_network(n_streams, precision, check_random_state(self.random_state)), dtype)
        self._apply_parameters(n_streams)

    def _use(self, network: Network, dtype: DTypeLike) -> None:
        """Learn with this network, from samples of this dtype."""
        self._network = network
        needed = pairs_needed(network.n_features)
        pairs = Pairs(network.k, self._n_columns(), network.n_streams, dtype, network.mode.window, needed)
        self._gauge = Gauge(network, pairs)

    def _joint(self) -> Joint:
        """Return covariances from that of the input if the network learns it, or from stored pairs of samples."""
        if self.n_updates_ == 0:
            raise AttributeError("there are no patterns yet: they need two consecutive samples")
        n, V, C = self._n_columns(), self.components_, self._network.covariance()
        if C is not None and begins_with_input(self._signal.transformer):
            return joint_of(self.mean_, C, V, n)
        X = self._gauge.pairs.recent(self._network.n_updates).astype(np.float64)
        Y = self._gauge.expanded(self._signal.expand) @ V.T
        mean = self.mean_[:n] if begins_with_input(self._signal.transformer) else X.mean(axis=0)
        X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
        return Joint(mean, columns=X.T @ X / len(X), with_columns=Y.T @ X / len(X), features=Y.T @ Y / len(Y))

    def _n_columns(self) -> int:
        """Return the number of columns before the expansion."""
        return (self.pca or self.n_features_in_) * self.n_delays

    def _gauge_size(self, n_features: int) -> int:
        """Return how many numbers the gauge stores, as pairs and earlier weights, for ``n_features`` columns."""
        pairs = pairs_kept(self.n_components, self._n_columns()) * self._n_columns()
        return 2 * (pairs + self.n_components * n_features)

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters. A model that has begun to learn continues with the new rates and step."""
        super().set_params(**parameters)
        self._plain = False  # until the next partial_fit has checked them
        return self

    def _apply_parameters(self, n_streams: int) -> None:
        """Check that learning can continue with the present parameters, and use them."""
        network = self._network
        if network.n_streams != n_streams:
            raise ValueError(f"the model learns from {network.n_streams} parallel streams; got {n_streams}")
        self._check_units(network.mode.relative)
        self._configure(network)
        self._plain = self._signal.is_identity and n_streams == 1

    def _check_units(self, relative: bool) -> None:
        if isinstance(self.learning_rate, str) != relative:
            raise ValueError(
                'learning_rate cannot change between "auto" and a given rate once learning has begun, because the '
                "weights are in other units: call fit to start over"
            )

    def _learn(self, X: FloatArray, starts: BoolArray, recorder: Recorder | None = None) -> None:
        self._apply_parameters(n_streams=1)
        rows = self._signal.reduce(X)
        plan = self._signal.plan(rows, starts, continued=True)
        rates = self._network.plan(plan.starts)  # raises all errors before the first sample is learned
        for x, piece in self._signal.pieces(plan):
            unexpanded = partial(self._unexpanded, plan, piece.start)
            self._advance(Steps(x, plan.starts[piece], rates.part(piece), unexpanded), recorder)
        self._signal.remember(rows, starts)
        self._open = True

    def _unexpanded(self, plan: Plan, begin: int, steps: int | IntArray) -> FloatArray:
        """Return samples of a piece of a plan as they were before the expansion, for one step or several."""
        if isinstance(steps, int):
            return self._signal.embed(plan, slice(begin + steps, begin + steps + 1))
        return self._signal.embed(plan, begin + steps)[:, None]

    def _advance(self, steps: Steps, recorder: Recorder | None) -> None:
        """Learn from some steps, and record the weights after the steps that the recorder asks for."""
        network = self._network
        self._open = True
        begin = 0
        try:
            if recorder is not None:
                for end in recorder.rows_due(network.n_updates + np.cumsum(~steps.starts)):
                    self._gauge.advance(steps.part(begin, end))
                    recorder.record(network.n_updates, *self._weights(), self.watch())
                    begin = end
            self._gauge.advance(steps.part(begin, len(steps.x)))
        except DivergenceError:
            self.end_episode()  # the next sample does not follow the last one that was learned
            raise

    def _weights(self) -> tuple[FloatArray, Float64Array]:
        """Return W and M in the form that a recorder stores."""
        return self._network.W.copy(), self._network.M.copy()

    def _scalars(self) -> dict[str, Any]:
        network = self._network
        return {
            "n_samples": network.n_samples,
            "n_updates": network.n_updates,
            "n_streams": network.n_streams,
            "dtype": network.dtype.name,
            "relative": network.mode.relative,
            "passes": list(self._gauge.passes),
        }

    def _arrays(self) -> Arrays:
        return {**_prefixed("network", self._network.arrays()), **_prefixed("gauge", self._gauge.arrays())}

    def _restore(self, scalars: dict[str, Any], arrays: Arrays, published: Arrays) -> None:
        self._check_units(scalars["relative"])
        dtype = _precision(np.dtype(scalars["dtype"]))
        n_streams = check_count("n_streams", scalars["n_streams"])
        if any(name.partition(".")[0] not in ("network", "gauge") for name in arrays):
            raise ValueError(f"its arrays {sorted(arrays)} are not those of a network")
        network = self._new_network(n_streams, dtype, np.random.RandomState(0))
        network.restore(_with_prefix("network", arrays), int(scalars["n_samples"]), int(scalars["n_updates"]))
        self._use(network, _precision(arrays["gauge.last"].dtype))
        self._gauge.restore(_with_prefix("gauge", arrays))
        passes = Passes(*scalars.get("passes", (0, 0)))  # files of 0.2 have none
        if not all(type(count) is int and 0 <= count <= network.n_updates for count in passes):
            raise ValueError(f"its passes {passes} are not numbers of updates")
        self._gauge.passes = passes
        self._apply_parameters(n_streams)


def _prefixed(prefix: str, arrays: Mapping[str, np.ndarray]) -> Arrays:
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def _with_prefix(prefix: str, arrays: Arrays) -> Arrays:
    """Return the arrays whose names have a prefix, under their names without it."""
    return {name.removeprefix(f"{prefix}."): array for name, array in arrays.items() if name.startswith(f"{prefix}.")}


def _precision(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the precision that a file gives, after checking it."""
    if dtype not in FLOATS:
        raise ValueError(f"its precision is {dtype}, but it must be float32 or float64")
    return dtype
