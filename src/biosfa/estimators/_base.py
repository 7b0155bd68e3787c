"""Base class of all learners: the steps of learning, transforming, scoring, saving."""

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from biosfa.episodes import chunk_of, episode_starts, labelled_like, rows_of, rows_with_nan, without_missing
from biosfa.estimators._collections import transformed
from biosfa.estimators._fitting import Episodes, Fitting
from biosfa.estimators._loading import load_as
from biosfa.estimators._persistence import from_model, to_model
from biosfa.estimators._projection import Projection, check_columns
from biosfa.estimators._scoring import mean_slowness
from biosfa.exceptions import DivergenceError, ShortEpisodeWarning
from biosfa.floats import to_floats, unmasked
from biosfa.io import Chunk, Position, Reading, Stream
from biosfa.io.model_file import Model, write_model
from biosfa.io.tables import is_collection
from biosfa.registry import EXPANSIONS
from biosfa.signal import Reduction, SignalPath, delayed_names
from biosfa.typing import Arrays, BoolArray, Float64Array, FloatArray, IntArray
from biosfa.validation import (
    check_choice,
    check_count,
    check_samples,
    checked_weights,
    unchanged_on_error,
)


class SlowFeatureEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """Base class of the estimators whose features are linear in the delayed and expanded signal.

    Every model goes through the same steps. A subclass defines what each step does:

    ================  =============================================================================================
    ``_start``        once, with the first rows: build the signal path and an empty state
    ``_learn``        for every chunk of checked rows: update the state
    ``end_episode``   between recordings: the next row does not follow the last one
    ``_finish``       after the last pass of ``fit``: check that there are features, and warn about problems
    ``components_``   and similar attributes: compute the features when they are read, once per change of the state
    ================  =============================================================================================

    :class:`Fitting` runs ``fit`` through these steps, chunk by chunk and pass by pass. ``partial_fit`` calls ``_start``
    if nothing was learned yet, and then ``_learn``. Other rooms use :class:`Fitting`, :func:`learn_chunk`,
    :func:`to_model` and :class:`Projection`.
    """

    n_components: int | None
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
    _reading = Reading()  # how the stream of ``fit`` was divided into episodes
    _fixed: dict[str, Any]  # structural parameters as they were when learning began

    # parameters that define what is learned: they cannot change once learning has begun
    _structural: ClassVar[tuple[str, ...]] = ("n_components", "pca", "expansion", "n_delays")

    # arrays of a model file in which NaN means that a value is not known
    _may_be_nan: ClassVar[tuple[str, ...]] = ()

    @property
    def expansion_(self) -> Any:
        """The fitted expansion, or None. If you wrote the transformer, pass it to :func:`load`."""
        return self._signal.transformer

    @property
    def _started(self) -> bool:
        return hasattr(self, "_signal")

    def _check_unchanged(self) -> None:
        for name, value in self._fixed.items():
            if getattr(self, name) is not value and getattr(self, name) != value:
                raise ValueError(
                    f"{name} was {value!r} when learning began and is now {getattr(self, name)!r}: call fit to start "
                    "over"
                )

    def _check_signal_parameters(self) -> None:
        check_count("n_delays", self.n_delays)
        if self.pca is not None:
            check_count("pca", self.pca)
        check_choice("missing", self.missing, ("raise", "break"))
        if not hasattr(self.expansion, "transform"):
            check_choice("expansion", self.expansion, (None, *EXPANSIONS), "or a transformer")

    @abstractmethod
    def fit(self, X: ArrayLike | Stream, y: object = None, *, lengths: ArrayLike | None = None) -> Self:
        """Learn from X."""

    def _fit(self, X: ArrayLike | Stream, lengths: ArrayLike | None, **learning: Any) -> Self:
        """Discard the state, then learn from an array or a stream."""
        with unchanged_on_error(self, DivergenceError):
            for _ in self._steps(X, lengths, **learning):
                pass
        return self

    def _steps(self, X: ArrayLike | Stream, lengths: ArrayLike | None, **learning: Any) -> Iterator[object]:
        """Return the steps of a fit."""
        return Fitting.of(self, X, lengths, **learning).steps()

    def _adopt(self, stream: Stream) -> None:
        """Set the number and names of the input columns to those of a stream, and remember how it is read."""
        self.n_features_in_, self._reading = stream.n_features, stream.reading
        self.__dict__.pop("feature_names_in_", None)
        if stream.named:
            self.feature_names_in_ = np.asarray(stream.feature_names, dtype=object)

    def _partial_fit(
        self,
        X: ArrayLike,
        lengths: ArrayLike | None,
        starts: ArrayLike | None,
        sample_weight: ArrayLike | None = None,
        **learning: Any,
    ) -> Self:
        """Learn from another chunk. If that fails, the state stays as it was."""
        if isinstance(X, Chunk):  # a chunk says where its episodes begin
            X, starts = X.samples, X.starts
        else:
            X, lengths, starts = chunk_of(X, lengths, starts)
        with unchanged_on_error(self, DivergenceError):
            self._check_parameters()
            rows, begins, kept = self._next_rows(X, lengths, starts)
            if sample_weight is not None:
                n_rows = len(rows) if kept is None else len(kept)
                weights = checked_weights("sample_weight", sample_weight, n_rows, "sample", zero=True)
                learning["weights"] = weights if weights is None or kept is None else weights[kept]
            self._learn_rows(rows, begins, **learning)
        if lengths is not None:
            self.end_episode()
        elif self._gap:  # the last row was missing
            self._break_episode()
        return self

    def _learn_rows(self, rows: FloatArray, starts: BoolArray, **learning: Any) -> None:
        """Learn from checked rows; the first ones start the model."""
        if len(rows) == 0:
            return
        if not self._started:
            self._start(rows, starts, weights=learning.get("weights"))
        self._check_unchanged()
        self._learn(rows, starts, **learning)

    def _start(
        self,
        X: FloatArray,
        starts: BoolArray,
        reduction: Reduction | None = None,
        *,
        weights: Float64Array | None = None,
        n_streams: int = 1,
    ) -> None:
        """Build the signal path and an empty state.

        If no ``reduction`` is given, ``pca`` is computed from ``X``, whose rows may have ``weights``.
        """
        if reduction is None and self.pca is not None:
            reduction = Reduction.of_rows(X, self.pca, weights)
        signal = SignalPath.build(self.n_delays, self.expansion, X, starts, reduction)
        self._check_outputs(signal.n_features_out)
        self._begin_with(signal)
        self._open = False
        self._reset(dtype=X.dtype, n_streams=n_streams)

    def _begin_with(self, signal: SignalPath) -> None:
        """Use this signal path; from here on, the structural parameters cannot change."""
        self._signal = signal
        self._fixed = {name: getattr(self, name) for name in self._structural}

    def _check_outputs(self, n_features: int) -> None:
        """Raise ValueError if the (expanded) signal has fewer columns than ``n_components``."""
        wanted = self.n_components
        if wanted is not None and wanted > n_features:
            raise ValueError(
                f"n_components={wanted} exceeds the number of (expanded) features, n_features = {n_features}"
            )

    @abstractmethod
    def _reset(self, *, dtype: DTypeLike, n_streams: int) -> None:
        """Create an empty state for input of this dtype."""

    @abstractmethod
    def _learn(self, X: FloatArray, starts: BoolArray) -> None:
        """Learn from checked rows."""

    def _apart(self) -> Self:
        """Return a copy that has learned nothing, to learn from rows that follow elsewhere."""
        raise NotImplementedError(f"{type(self).__name__} must learn from all rows in their order")

    def _forget_sums(self) -> None:
        """Forget what was learned, but not the rows that the next rows need."""
        raise NotImplementedError

    def _join(self, later: Self) -> None:
        """Add what a copy has learned from the rows that follow, and continue where it is."""
        raise NotImplementedError

    def _finish(self, position: Position, episodes: Episodes, counters: list[str]) -> None:
        """Check that there are features, and warn about problems.

        ``position`` is the end of the stream; ``counters`` are the columns that only rise or only fall.
        """
        self.n_skipped_, self.n_broken_pairs_ = position.n_skipped, position.n_broken
        if episodes.n_short:
            warnings.warn(
                f"{episodes.n_short} of {episodes.n_episodes} episodes have fewer than {episodes.needed} samples: "
                "nothing can be learned from them",
                ShortEpisodeWarning,
                stacklevel=7,
            )

    def _next_rows(
        self, X: ArrayLike, lengths: ArrayLike | None, starts: ArrayLike | None
    ) -> tuple[FloatArray, BoolArray, BoolArray | None]:
        """Return the checked rows of a chunk without the missing ones, which begin an episode, and which were kept.

        None in place of the last one says that all rows were kept.
        """
        first = not self._started
        samples = check_samples(self, X, reset=first, allow_nan=self.missing == "break")
        if first and not self._gap:  # all rows of earlier chunks may have been missing
            self.n_skipped_, self.n_broken_pairs_ = 0, 0
        goes_on = self._gap or (not first and self._open)
        begins = episode_starts(len(samples), lengths, open_episode=goes_on)
        if starts is not None:
            given = unmasked(starts)
            if lengths is not None or given.shape != (len(samples),) or given.dtype != np.bool_:
                raise ValueError("starts must be an array of booleans, one per row, and cannot be used with lengths")
            begins |= given
        missing = self._find_missing(samples)
        if missing is None and not self._gap:
            return samples, begins, None
        missing = np.zeros(len(samples), np.bool_) if missing is None else missing
        rest = without_missing(samples, begins, missing, broken=self._gap)
        self._gap = rest.broken
        self.n_skipped_ += len(samples) - len(rest.samples)
        self.n_broken_pairs_ += rest.n_broken
        return rest.samples, rest.starts, rest.kept

    def _find_missing(self, samples: FloatArray) -> BoolArray | None:
        """Return which rows contain a NaN; None if no row does."""
        if self.missing == "raise":
            return None  # a NaN has already raised an error
        missing = rows_with_nan(samples)
        return missing if missing.any() else None

    @property
    @abstractmethod
    def n_samples_seen_(self) -> int:
        """Number of samples of the expanded signal seen so far."""

    @abstractmethod
    def _rows_needed(self) -> int:
        """Return the number of rows that an episode needs so that something can be learned from it."""

    def transform(
        self,
        X: ArrayLike,
        *,
        lengths: ArrayLike | None = None,
        episode: ArrayLike | None = None,
        index: ArrayLike | None = None,
    ) -> FloatArray:
        """Return the slow features of X, the slowest first.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or labelled array
            Samples.
        lengths : array-like of int, optional
            Number of rows of each episode in X. It only matters if ``n_delays`` > 1.
        episode, index : array-like of shape (n_samples,), optional
            Episodes by label and by number of the row, as for ``fit``.

        Returns
        -------
        array of shape (n_samples, n_components)
            The features, in the float dtype of X. For an array of xarray or pynapple, an array of the same kind with
            its coordinates. Rows without features are NaN: the first ``n_delays`` − 1 rows of an episode, and with
            ``missing="break"`` rows that need a missing sample.
        """
        check_is_fitted(self)
        samples, sizes, _ = rows_of(X, lengths, episode, index, ordered=self.n_delays > 1)
        if is_collection(samples):
            features = transformed(self, samples, sizes)  # a collection, too
        else:
            features = self._features(samples, sizes, *self._map())
        return labelled_like(X, features, self.get_feature_names_out)  # type: ignore[no-any-return]

    def _features(
        self,
        X: ArrayLike,
        lengths: ArrayLike | None,
        mean: Float64Array,
        components: Float64Array,
        respond: Callable[[FloatArray], FloatArray] | None = None,
    ) -> FloatArray:
        samples, starts = self._samples(X, lengths)
        missing = self._find_missing(samples)
        if missing is not None:
            samples = np.where(missing[:, None], samples.dtype.type(0), samples)
        plan = self._signal.plan(self._signal.reduce(samples), starts, continued=False)
        Y = Projection(self._signal, components, mean).project(plan)
        if respond is not None:
            Y = respond(Y)
        if plan.index is not None:
            Y = _spread(Y, plan.index, len(samples))
        if missing is not None:
            for delay in range(self.n_delays):  # a sample is part of n_delays delay vectors
                Y[np.flatnonzero(missing[: len(missing) - delay]) + delay] = np.nan
        return Y

    def transform_one(self, x: ArrayLike) -> FloatArray:
        """Return the slow features of one sample.

        Parameters
        ----------
        x : array-like of shape (n_features,), or (n_delays, n_features) if n_delays > 1
            The sample. With delays: the last ``n_delays`` samples, the oldest first.

        Returns
        -------
        array of shape (n_components,)
        """
        check_is_fitted(self)
        sample = to_floats(x)
        wanted = (self.n_features_in_,) if self.n_delays == 1 else (self.n_delays, self.n_features_in_)
        if sample.shape != wanted:
            raise ValueError(f"x must have the shape {wanted}; got {sample.shape}")
        newest_first = np.atleast_2d(sample)[::-1]
        expanded = self._signal.expand(self._signal.reduce(newest_first).reshape(1, -1))
        mean, components = self._map()
        features: FloatArray = ((expanded - mean) @ components.T)[0].astype(expanded.dtype, copy=False)
        return features

    def _map(self) -> tuple[Float64Array, Float64Array]:
        """Return the current mean and components."""
        return self.mean_, self.components_

    def transform_chunks(self, stream: Stream) -> Iterator[FloatArray]:
        """Yield the slow features of a stream chunk by chunk, one row for each row of the input.

        Rows without features are NaN: rows with a missing sample, and the first ``n_delays`` − 1 rows of an episode.

        Parameters
        ----------
        stream : Stream
            The stream, opened with :func:`biosfa.io.open_stream`.

        Yields
        ------
        array of shape (rows of the chunk, n_components)
        """
        check_is_fitted(self)
        check_columns(self, stream)
        projection = Projection.of(self)
        for chunk in stream:
            yield projection.features(chunk)

    def _samples(self, X: ArrayLike, lengths: ArrayLike | None) -> tuple[FloatArray, BoolArray]:
        if isinstance(X, Stream):
            raise TypeError("X must be an array, not a stream: use transform_chunks(stream)")
        samples = check_samples(self, X, reset=False, allow_nan=self.missing == "break")
        return samples, episode_starts(len(samples), lengths, open_episode=False)

    def expand(self, X: ArrayLike, *, lengths: ArrayLike | None = None) -> FloatArray:
        """Return the expanded signal of X: the samples after ``pca``, delays and expansion.

        The columns of :attr:`components_` are those of the expanded signal. The result can be very large.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        lengths : array-like of int, optional
            Number of rows of each episode in X.

        Returns
        -------
        array of shape (n_samples, m)
        """
        check_is_fitted(self)
        samples, starts = self._samples(*rows_of(X, lengths)[:2])
        plan = self._signal.plan(self._signal.reduce(samples), starts, continued=False)
        expanded = np.concatenate([x for x, _ in self._signal.pieces(plan)])
        return expanded if plan.index is None else _spread(expanded, plan.index, len(samples))

    def fit_transform(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        lengths: ArrayLike | None = None,
        episode: ArrayLike | None = None,
        index: ArrayLike | None = None,
    ) -> FloatArray:
        """Fit to X and return its slow features."""
        samples, sizes, _ = rows_of(X, lengths, episode, index)
        return self.fit(samples, lengths=sizes).transform(X, lengths=lengths, episode=episode, index=index)

    def score(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        lengths: ArrayLike | None = None,
        episode: ArrayLike | None = None,
        index: ArrayLike | None = None,
    ) -> float:
        """Return the mean slowness of the features of X times −1, so that greater is better.

        Differences are taken over the lag of the model. ``lengths``, ``episode`` and ``index`` are as for ``fit``.

        Raises
        ------
        ValueError
            If a feature is constant on X, so that its slowness is not defined.
        """
        samples, sizes, _ = rows_of(X, lengths, episode, index)
        Y = np.asarray(self.transform(samples, lengths=sizes))
        return -mean_slowness(Y, sizes, lag=getattr(self, "lag", 1))

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def expanded_feature_names(self) -> np.ndarray[Any, Any]:
        """Return the names of the columns of the expanded signal, which are the columns of :attr:`components_`."""
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
        """End the current episode: no difference is taken between its last row and the next row."""
        self._gap = False
        self._break_episode()
        return self

    def _break_episode(self) -> None:
        if self._started:
            self._open = False
            self._signal.forget()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "break"
        return tags

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole state to one file, atomically. A loaded model resumes exactly where this one stopped.

        Your own functions and transformers cannot be saved. Pass them to :meth:`load` again.
        """
        write_model(path, to_model(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str], **parameters: Any) -> Self:
        """Return the model that :meth:`save` wrote; ``parameters`` replace the saved parameters."""
        return load_as(cls, path, **parameters)

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise ValueError if a parameter is invalid."""

    @abstractmethod
    def _least_state(self, n_features: int, n_streams: int) -> int:
        """Return a lower bound for the count of numbers in the state.

        A file that holds fewer is rejected before any memory is allocated for its settings. ``n_features`` is the
        number of columns of the expanded signal.
        """

    @abstractmethod
    def _scalars(self) -> dict[str, Any]:
        """Return the numbers and strings of the state as JSON data."""

    @abstractmethod
    def _arrays(self) -> Arrays:
        """Return the arrays of the state."""

    def _published(self) -> Arrays:
        """Return arrays that a file holds for other programs: the map to the features, if there is one."""
        mean, components = self._map()
        return {"components": components, "mean": mean}

    @abstractmethod
    def _restore(self, scalars: dict[str, Any], arrays: Arrays, published: Arrays) -> None:
        """Restore the state from the results of these three methods; the signal path is restored already."""

    @classmethod
    def _from_model(cls, path: str, model: Model, parameters: dict[str, Any]) -> Self:
        return from_model(cls, path, model, parameters)


def _spread(found: FloatArray, rows: IntArray, n_rows: int) -> FloatArray:
    """Return one row per row of the input, with NaN where nothing was found."""
    spread = np.full((n_rows, found.shape[1]), np.nan, found.dtype)
    spread[rows] = found
    return spread
