"""What all learners of slow features share: the path of the signal, transforming, scoring, saving."""

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from biosfa import metrics
from biosfa.episodes import episode_lengths, episode_starts, rows_with_nan, without_missing
from biosfa.estimators._fitting import Episodes, Fitting, SampleSource, Whole
from biosfa.estimators._loading import load
from biosfa.estimators._persistence import decode, encode
from biosfa.estimators._projection import Projection
from biosfa.exceptions import DivergenceError, ModelFileError, ShortEpisodeWarning
from biosfa.io import Chunk, Position, Stream
from biosfa.io.model_file import Model, write_model
from biosfa.signal import Reduction, SignalPath, delayed_names
from biosfa.typing import Arrays, BoolArray, Float64Array, FloatArray
from biosfa.validation import check_choice, check_count, check_samples, keep_index, unchanged_on_error


class SlowFeatureEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """Base of the estimators whose features are linear in a delayed and expanded signal."""

    pca: int | None
    n_delays: int
    expansion: Any
    missing: str
    n_epochs: int = 1
    n_features_in_: int
    n_skipped_: int = 0
    n_broken_pairs_: int = 0
    _signal: SignalPath
    _open: bool
    _gap = False  # whether the last row was missing
    _begun: dict[str, Any]

    # parameters that say what is learned, and so cannot change once it has begun
    _structural: ClassVar[tuple[str, ...]] = ("n_components", "pca", "expansion", "n_delays")

    @property
    def expansion_(self) -> Any:
        """The fitted expansion, or None; what :func:`load` asks for if it is one of your own."""
        return self._signal.transformer

    def _freeze(self) -> None:
        """Remember the parameters that learning begins with."""
        self._begun = {name: getattr(self, name) for name in self._structural}

    def _check_unchanged(self) -> None:
        for name, value in self._begun.items():
            if getattr(self, name) is not value and getattr(self, name) != value:
                raise ValueError(
                    f"{name} was {value!r} when learning began and is {getattr(self, name)!r}: call fit to begin anew"
                )

    def _check_signal_parameters(self) -> None:
        check_count("n_delays", self.n_delays)
        if self.pca is not None:
            check_count("pca", self.pca)
        check_choice("missing", self.missing, ("raise", "break"))
        if not hasattr(self.expansion, "transform"):
            check_choice("expansion", self.expansion, (None, "quadratic"), "or a transformer")

    @abstractmethod
    def fit(self, X: ArrayLike | Stream, y: object = None, *, lengths: ArrayLike | None = None) -> Self:
        """Learn from X."""

    def _fit(self, X: ArrayLike | Stream, lengths: ArrayLike | None, **learning: Any) -> Self:
        """Forget everything, then learn from an array or a stream."""
        with unchanged_on_error(self, DivergenceError):
            self._check_parameters()
            if isinstance(X, Stream):
                if lengths is not None:
                    raise ValueError("a stream knows its episodes: give lengths to open_stream, as episodes")
                self._adopt(X)
                source: SampleSource = X
            else:
                source = self._checked(X, lengths)
            for _ in Fitting(self, source, **learning).steps():
                pass
        return self

    def _adopt(self, stream: Stream) -> None:
        """Take the columns of a stream for those of the input."""
        self.n_features_in_ = stream.n_features
        self.__dict__.pop("feature_names_in_", None)
        if stream.named:
            self.feature_names_in_ = np.asarray(stream.feature_names, dtype=object)

    def _checked(self, X: ArrayLike, lengths: ArrayLike | None) -> SampleSource:
        """An array as a source."""
        samples = check_samples(self, X, reset=True, min_samples=2, allow_nan=self.missing == "break")
        starts = episode_starts(len(samples), lengths, open_episode=False)
        missing = self._find_missing(samples)
        if missing is None:
            return Whole(Chunk(samples, starts, None, Position(n_rows=len(samples))))
        rest = without_missing(samples, starts, missing, broken=False)
        n_skipped = len(samples) - len(rest.samples)
        position = Position(n_rows=len(samples), n_skipped=n_skipped, n_broken=rest.n_broken)
        return Whole(Chunk(rest.samples, rest.starts, rest.kept, position))

    def _finish(self, position: Position, episodes: Episodes) -> None:
        """Make the best of what was learned."""
        self.n_skipped_, self.n_broken_pairs_ = position.n_skipped, position.n_broken
        if episodes.n_short:
            warnings.warn(
                f"{episodes.n_short} of {episodes.n_episodes} episodes have fewer than {episodes.needed} samples and "
                "teach nothing",
                ShortEpisodeWarning,
                stacklevel=6,
            )

    def _next_rows(
        self, X: ArrayLike, lengths: ArrayLike | None, starts: ArrayLike | None, *, first: bool
    ) -> tuple[FloatArray, BoolArray]:
        """Checked rows of a chunk without the missing ones, and which of them begin an episode."""
        samples = check_samples(self, X, reset=first, allow_nan=self.missing == "break")
        if first and not self._gap:  # it may have begun with rows that are all missing
            self.n_skipped_, self.n_broken_pairs_ = 0, 0
        goes_on = self._gap or (not first and self._open)
        begins = episode_starts(len(samples), lengths, open_episode=goes_on)
        if starts is not None:
            given = np.asarray(starts)
            if lengths is not None or given.shape != (len(samples),) or given.dtype != np.bool_:
                raise ValueError("starts must be an array of booleans, one a row, and excludes lengths")
            begins |= given
        missing = self._find_missing(samples)
        if missing is None and not self._gap:
            return samples, begins
        rest = without_missing(
            samples, begins, np.zeros(len(samples), np.bool_) if missing is None else missing, broken=self._gap
        )
        self._gap = rest.broken
        self.n_skipped_ += len(samples) - len(rest.samples)
        self.n_broken_pairs_ += rest.n_broken
        return rest.samples, rest.starts

    def _find_missing(self, samples: FloatArray) -> BoolArray | None:
        """Rows that have a NaN; None if there are none."""
        if self.missing == "raise":
            return None  # they were an error
        missing = rows_with_nan(samples)
        return missing if missing.any() else None

    @property
    @abstractmethod
    def n_samples_seen_(self) -> int:
        """Samples of the expanded signal so far."""

    @abstractmethod
    def _rows_needed(self) -> int:
        """Rows of an episode from which something can be learned."""

    @abstractmethod
    def _begin(self, X: FloatArray, starts: BoolArray, reduction: Reduction | None) -> None:
        """Make ready to learn, given the first rows."""

    @abstractmethod
    def _take(self, X: FloatArray, starts: BoolArray) -> None:
        """Learn from checked rows."""

    def _settle(self) -> None:
        """Make features of what a chunk has taught, where that is not done by learning itself."""

    def _partial_fit(self, X: ArrayLike, lengths: ArrayLike | None, starts: ArrayLike | None) -> Self:
        """Learn from a further chunk, or, if that fails, stay as it was."""
        first = not hasattr(self, "_signal")
        with unchanged_on_error(self):
            self._check_parameters()
            rows, begins = self._next_rows(X, lengths, starts, first=first)
            if len(rows):
                if first:
                    self._begin_now(rows, begins)
                self._check_unchanged()
                self._take(rows, begins)
                self._settle()
        return self._end_chunk(lengths)

    def _end_chunk(self, lengths: ArrayLike | None) -> Self:
        """Close the episode if the chunk had whole ones, or if its last row was missing."""
        if lengths is not None:
            self.end_episode()
        elif self._gap:
            self._close()
        return self

    def _begin_now(self, X: FloatArray, starts: BoolArray) -> None:
        """Make ready to learn from a stream of which only the first rows are there."""
        self._begin(X, starts, None if self.pca is None else Reduction.of_rows(X, self.pca))

    def transform(self, X: ArrayLike, *, lengths: ArrayLike | None = None) -> FloatArray:
        """Slow features of X, in order of slowness.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        lengths : array-like of int, optional
            Rows of the episodes in X, one after the other; only matters for ``n_delays`` > 1, where the first
            ``n_delays`` − 1 rows of each episode give no feature.

        Returns
        -------
        array of shape (n_samples, n_components)
            In the float dtype of X. With ``missing="break"``, NaN where a sample is missing.
        """
        check_is_fitted(self)
        return self._features(X, lengths, self.components_)

    def _features(
        self,
        X: ArrayLike,
        lengths: ArrayLike | None,
        components: Float64Array,
        respond: Callable[[FloatArray], FloatArray] | None = None,
    ) -> FloatArray:
        samples, starts = self._samples(X, lengths)
        missing = self._find_missing(samples)
        if missing is not None:
            samples = np.where(missing[:, None], samples.dtype.type(0), samples)
        plan = self._signal.plan(self._signal.reduce(samples), starts, continued=False)
        Y = Projection(self._signal, components, self.mean_).project(plan)
        if respond is not None:
            Y = respond(Y)
        if missing is not None:
            given = np.arange(len(samples)) if plan.index is None else plan.index
            for delay in range(self.n_delays):  # a sample is in so many delay vectors
                Y[missing[given - delay]] = np.nan
        features: FloatArray = keep_index(self, Y, X, plan.index)
        return features

    def transform_chunks(self, stream: Stream) -> Iterator[FloatArray]:
        """Slow features of a stream, chunk by chunk, one row for each row of the input.

        Rows are NaN where there is no feature: where samples are missing, and the first ``n_delays`` − 1 of an episode.

        Parameters
        ----------
        stream : Stream
            From :func:`biosfa.io.open_stream`.

        Yields
        ------
        array of shape (rows of the chunk, n_components)
        """
        check_is_fitted(self)
        self._check_columns(stream)
        projection = Projection.of(self)
        for chunk in stream:
            yield projection.features(chunk)

    def _check_columns(self, stream: Stream) -> None:
        if stream.n_features != self.n_features_in_:
            raise ValueError(
                f"the stream has {stream.n_features} columns, and the model was fitted to {self.n_features_in_}: "
                "choose them with columns (--columns)"
            )

    def _samples(self, X: ArrayLike, lengths: ArrayLike | None) -> tuple[FloatArray, BoolArray]:
        if isinstance(X, Stream):
            raise TypeError("a stream is transformed chunk by chunk: use transform_chunks(stream)")
        samples = check_samples(self, X, reset=False, allow_nan=self.missing == "break")
        return samples, episode_starts(len(samples), lengths, open_episode=False)

    def expand(self, X: ArrayLike, *, lengths: ArrayLike | None = None) -> FloatArray:
        """The delayed and expanded signal that :attr:`components_` refer to; all of it at once, so mind its size.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        lengths : array-like of int, optional
            Rows of the episodes in X.

        Returns
        -------
        array of shape (n_samples, number of expanded features)
        """
        check_is_fitted(self)
        samples, starts = self._samples(X, lengths)
        plan = self._signal.plan(self._signal.reduce(samples), starts, continued=False)
        return np.concatenate([x for x, _ in self._signal.pieces(plan)])

    def fit_transform(self, X: ArrayLike, y: object = None, *, lengths: ArrayLike | None = None) -> FloatArray:
        """Fit to X, then transform it."""
        return self.fit(X, lengths=lengths).transform(X, lengths=lengths)

    def score(self, X: ArrayLike, y: object = None, *, lengths: ArrayLike | None = None) -> float:
        """Minus the mean slowness of the features of X: greater is better, as model selection wants it."""
        Y = np.asarray(self.transform(X, lengths=lengths))
        cut = [len(Y)] if lengths is None else [max(0, int(n) - self.n_delays + 1) for n in np.asarray(lengths)]
        starts = episode_starts(len(Y), [n for n in cut if n > 0], open_episode=False)
        rest = without_missing(Y, starts, rows_with_nan(Y), broken=False)
        return -float(np.mean(metrics.slowness(rest.samples, lengths=episode_lengths(rest.starts))))

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def expanded_feature_names(self) -> np.ndarray[Any, Any]:
        """Names of the columns of the expanded signal, which :attr:`components_` refer to."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", np.asarray([f"x{i}" for i in range(self.n_features_in_)], object))
        if self.pca is not None:
            names = np.asarray([f"pca{i}" for i in range(self._signal.n_reduced)], object)
        delayed = delayed_names(names, self.n_delays)
        transformer = self._signal.transformer
        if transformer is None:
            return delayed
        if hasattr(transformer, "get_feature_names_out"):
            return np.asarray(transformer.get_feature_names_out(delayed))
        return np.asarray([f"h{i}" for i in range(self._signal.n_features_out)], object)

    def end_episode(self) -> Self:
        """Close the open episode: no difference is taken between its last row and the next one that comes."""
        self._gap = False
        self._close()
        return self

    def _close(self) -> None:
        if hasattr(self, "_signal"):
            self._open = False
            self._signal.forget()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "break"
        return tags

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole state to one file, atomically; :meth:`load` continues bit for bit.

        Functions and transformers of your own cannot be written: :meth:`load` asks for them.
        """
        write_model(path, self._to_model())

    def _to_model(self) -> Model:
        check_is_fitted(self, "_signal")
        self._check_unchanged()
        settings = {
            "parameters": {name: encode(value) for name, value in self.get_params(deep=False).items()},
            "n_features_in": self.n_features_in_,
            "feature_names_in": [str(name) for name in getattr(self, "feature_names_in_", [])],
            "open": self._open,
            "gaps": {
                "open": self._gap,
                "n_skipped": self.n_skipped_,
                "n_broken_pairs": self.n_broken_pairs_,
            },
            "state": self._scalars(),
        }
        arrays = {"history": self._signal.history, **self._arrays()}
        reduction = self._signal.reduction
        if reduction is not None:
            arrays |= {"pca.mean": reduction.mean, "pca.components": reduction.components}
        return Model(type(self).__name__, settings, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **parameters: Any) -> Self:
        """Read a model that :meth:`save` wrote; ``parameters`` replace those it was saved with."""
        estimator = load(path, **parameters)
        if not isinstance(estimator, cls):
            raise ModelFileError(f"{os.fspath(path)} holds a {type(estimator).__name__}, not a {cls.__name__}")
        return estimator

    @classmethod
    def _from_model(cls, path: str, model: Model, parameters: dict[str, Any]) -> Self:
        settings = model.settings
        estimator = cls(**decode(path, settings["parameters"], parameters, cls._structural))
        estimator._check_parameters()
        estimator.n_features_in_ = check_count("n_features_in", settings["n_features_in"])
        if settings["feature_names_in"]:
            estimator.feature_names_in_ = np.asarray(settings["feature_names_in"], dtype=object)
            if estimator.feature_names_in_.shape != (estimator.n_features_in_,):
                raise ValueError("the names of the columns are not as many as the columns")
        arrays = dict(model.arrays)
        reduction = None
        if estimator.pca is not None:
            reduction = Reduction(arrays.pop("pca.mean"), arrays.pop("pca.components"))
            reduction.check(estimator.n_features_in_, estimator.pca)
        history = arrays.pop("history")
        # what it claims must not make us allocate more than what it holds
        n_held = sum(array.size for array in arrays.values())
        if (estimator.pca or estimator.n_features_in_) * estimator.n_delays > n_held:
            raise ValueError("its arrays are too small for its settings")
        estimator._signal = SignalPath.restore(
            estimator.n_delays, estimator.expansion, estimator.n_features_in_, reduction
        )
        if history.ndim != 2 or history.shape[1] != estimator._signal.n_reduced or len(history) > estimator.n_delays:
            raise ValueError(f"history has the shape {history.shape}")
        estimator._signal.history = history
        gaps = settings["gaps"]
        estimator._open, estimator._gap = bool(settings["open"]), bool(gaps["open"])
        estimator.n_skipped_, estimator.n_broken_pairs_ = int(gaps["n_skipped"]), int(gaps["n_broken_pairs"])
        estimator._freeze()
        estimator._restore(settings["state"], arrays)
        return estimator

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise ValueError for a parameter that makes no sense."""

    @abstractmethod
    def _scalars(self) -> dict[str, Any]:
        """State as JSON data."""

    @abstractmethod
    def _arrays(self) -> Arrays:
        """State as arrays."""

    @abstractmethod
    def _restore(self, scalars: dict[str, Any], arrays: Arrays) -> None:
        """Take back what :meth:`_scalars` and :meth:`_arrays` gave; ``_signal`` is there already."""
