"""Dask arrays and data frames: fitted chunk by chunk where the chunks lie, and transformed lazily.

A chunk becomes a :class:`Learned` section on the worker that has it. Sections are joined in a tree, so that the rows at
the beginnings of chunks travel, and moments, but no chunks.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from biosfa.cluster import plain_errors
from biosfa.episodes import episode_starts
from biosfa.estimators._fitting import Elsewhere, Fitting, chunk_of_rows
from biosfa.estimators._learned import Learned, learn_section
from biosfa.extras import imported
from biosfa.floats import to_floats
from biosfa.io import Chunk, Position
from biosfa.io.tables import Block, as_blocks, frame_parts, frame_rows, is_collection, is_frame, row_cursor
from biosfa.typing import BoolArray, FloatArray, IntArray
from biosfa.validation import check_finite, check_samples, checked_weights, place_of

if TYPE_CHECKING:
    from biosfa.estimators._base import SlowFeatureEstimator

JOINED = 8  # sections that one task joins


class RowReader:
    """Reads blocks of checked rows whose labels are: whether they begin an episode, and, if they have any, weights."""

    def chunks_of(self, block: Block, at: Position) -> Iterator[Chunk]:
        """Yield the chunk of a block. The first row of all begins an episode, whichever chunk has it."""
        starts, *weights = block.labels
        if at.n_rows == 0:
            starts = starts | (np.arange(len(starts)) == 0)
        yield chunk_of_rows(block.samples, starts, weights[0] if weights else None, at)


@dataclass(frozen=True)
class Chunks:
    """The chunks of a collection, each with what belongs to its rows."""

    rows: list[Any]  # to be computed by Dask
    begins: list[int | None]  # number of the first row of each, if it is known
    cuts: list[IntArray]  # rows that begin an episode, counted in their chunk
    weights: list[Any]  # arrays, to be computed or not; None if all are 1

    @classmethod
    def of(cls, X: Any, lengths: ArrayLike | None, weights: Any) -> "Chunks":
        """Divide episodes and weights into chunks like those of X."""
        rows, sizes, _ = as_blocks(X, sized=lengths is not None or weights is not None)
        if sizes is None:
            return cls(rows, [None] * len(rows), [np.empty(0, np.int64)] * len(rows), [None] * len(rows))
        ends = np.cumsum([0, *sizes])
        starts = np.flatnonzero(episode_starts(int(ends[-1]), lengths, open_episode=False))
        cuts = [starts[slice(*np.searchsorted(starts, ends[i : i + 2]))] - ends[i] for i in range(len(rows))]
        return cls(rows, ends[:-1].tolist(), cuts, _divided(weights, sizes))

    def learned(self, fitting: Fitting) -> Learned:
        """Learn from all chunks in the present pass of a fit."""
        delayed = imported("dask", "dask").delayed
        template, depth = delayed(fitting.apart(), traverse=False), fitting.rows_before
        parts = [
            delayed(_learn)(template, depth, rows, begin, cuts, weights)
            for rows, begin, cuts, weights in zip(self.rows, self.begins, self.cuts, self.weights, strict=True)
        ]
        while len(parts) > 1:
            parts = [delayed(_join)(parts[i : i + JOINED]) for i in range(0, len(parts), JOINED)]
        with plain_errors():
            learned: Learned = parts[0].compute()
        return learned


def _divided(weights: Any, sizes: list[int]) -> list[Any]:
    """Return the weights of the samples in chunks of these sizes."""
    if weights is None:
        return [None] * len(sizes)
    if is_collection(weights):
        array = weights.to_dask_array(lengths=True) if is_frame(weights) else weights
        if array.shape == (sum(sizes),):
            chunks: list[Any] = array.rechunk((tuple(sizes),)).to_delayed().tolist()
            return chunks
        weights = np.empty(array.shape)  # the error says which shape is wrong
    values = checked_weights("sample_weight", weights, sum(sizes), "sample")
    assert values is not None
    return [values[begin:end] for begin, end in pairwise(np.cumsum([0, *sizes]).tolist())]


def fit_steps(estimator: "SlowFeatureEstimator", X: Any, lengths: ArrayLike | None, weights: Any) -> Iterator[None]:
    """Fit to a collection, and yield after every pass over it."""
    estimator._check_parameters()
    estimator.__dict__.pop("_reading", None)
    check_samples(estimator, _example(X), reset=True, allow_nan=True)
    chunks = Chunks.of(X, lengths, weights)
    fitting, reader = Fitting(estimator, Elsewhere()), RowReader()
    while not fitting.about_to_finish:
        if not fitting.reducing:
            fitting.start(*_first_samples(estimator, chunks))
        whole = Learned(fitting, depth=0)
        whole.join(chunks.learned(fitting), reader)
        fitting.end_pass()
        yield None
    fitting.finish()


def _example(X: Any) -> Any:
    """Return two rows like those of X, by which names and types of columns are checked."""
    if is_frame(X):
        return X._meta_nonempty
    return np.zeros((2, *X.shape[1:]), X.dtype)


def _first_samples(estimator: "SlowFeatureEstimator", chunks: Chunks) -> tuple[FloatArray, Any]:
    """Return samples to start with: those of the first chunk that has any if an expansion is fitted to them."""
    expansion = estimator.expansion
    if not (expansion is None or isinstance(expansion, str)):
        for rows, cuts in zip(chunks.rows, chunks.cuts, strict=True):
            samples = to_floats(rows.compute())
            chunk = chunk_of_rows(samples, _starts(cuts, len(samples)), None, Position())
            if len(chunk.samples):
                return chunk.samples, chunk.starts
    return np.zeros((1, estimator.n_features_in_)), np.ones(1, np.bool_)


def _starts(cuts: IntArray, n_rows: int) -> BoolArray:
    """Return which rows begin an episode, from their numbers."""
    starts = np.zeros(n_rows, np.bool_)
    starts[cuts] = True
    return starts


def _learn(template: Fitting, depth: int, rows: Any, begin: int | None, cuts: IntArray, weights: Any) -> Learned:
    """Learn from one chunk. This runs on a worker."""
    estimator = template.estimator
    samples = to_floats(rows, partial(place_of, estimator, None, begin))
    if samples.shape[1] != estimator.n_features_in_:
        raise ValueError(f"a chunk of X has {samples.shape[1]} columns, and not {estimator.n_features_in_}")
    check_finite(estimator, samples, allow_nan=estimator.missing == "break", first_row=begin)
    given = [] if weights is None else [checked_weights("sample_weight", weights, len(samples), "sample", zero=True)]
    labels: list[Any] = [_starts(cuts, len(samples)), *given]
    first = begin or 0
    block = Block(samples, labels, partial(add, first), (first + len(samples),), partial(row_cursor, first))
    return learn_section(template, depth, Position(), [block] if len(samples) else [], RowReader())


def _join(parts: list[Learned]) -> Learned:
    """Join sections that follow one another. This runs on a worker."""
    reader = RowReader()
    first = copy.deepcopy(parts[0])  # Dask may need the part again
    for later in parts[1:]:
        first.join(later, reader)
    return first


def transformed(estimator: "SlowFeatureEstimator", X: Any, lengths: ArrayLike | None) -> Any:
    """Return the slow features of a collection, to be computed by Dask: a collection of the same kind and chunks."""
    check_samples(estimator, _example(X), reset=False, allow_nan=True)
    nameless = copy.copy(estimator)  # names were checked; workers see rows without names
    nameless.__dict__.pop("feature_names_in_", None)
    dask = imported("dask", "dask")
    model, names = dask.delayed(nameless, traverse=False), estimator.get_feature_names_out().tolist()
    if is_frame(X):
        empty = X._meta_nonempty.iloc[:0]
        meta = _like(empty, np.empty((0, len(names)), frame_rows(empty).dtype), names)
        if estimator.n_delays == 1:
            return X.map_partitions(_features_of_frame, nameless, names, meta=meta)
        parts = [
            dask.delayed(_like)(frame, found, names)
            for frame, (found, _) in zip(frame_parts(X), _parts(estimator, model, X, lengths), strict=True)
        ]
        return imported("dask.dataframe", "dask").from_delayed(parts, meta=meta, divisions=X.divisions)
    da = imported("dask.array", "dask")
    dtype = to_floats(np.empty((0, 1), X.dtype)).dtype
    return da.concatenate(
        [
            da.from_delayed(found, (size, len(names)), dtype, meta=np.empty((0, 0), dtype))
            for found, size in _parts(estimator, model, X, lengths)
        ]
    )


def _parts(
    estimator: "SlowFeatureEstimator", model: Any, X: Any, lengths: ArrayLike | None
) -> Iterator[tuple[Any, int]]:
    """Yield the features of each chunk, to be computed by Dask, and its number of rows."""
    rows, sizes, _ = as_blocks(X)
    assert sizes is not None
    features = imported("dask", "dask").delayed(_features)
    ends = np.cumsum([0, *sizes])
    starts = np.flatnonzero(episode_starts(int(ends[-1]), lengths, open_episode=False))
    for i, size in enumerate(sizes):
        begin = max(0, int(ends[i]) - estimator.n_delays + 1)  # the delays need some rows before
        first = int(np.searchsorted(ends, begin, side="right")) - 1
        before = [rows[j][max(0, begin - ends[j]) :] for j in range(first, i)]
        cuts = starts[slice(*np.searchsorted(starts, (begin, ends[i + 1])))] - begin
        yield features(model, before, rows[i], cuts, begin), size


def _features(
    estimator: "SlowFeatureEstimator", before: list[Any], rows: Any, cuts: IntArray, begin: int | None
) -> FloatArray:
    """Return the features of one chunk; ``before`` has rows that its delays need. This runs on a worker."""
    place = partial(place_of, estimator, None, None)
    samples = np.concatenate([to_floats(part, place) for part in (*before, rows)])
    check_finite(estimator, samples, allow_nan=estimator.missing == "break", first_row=begin)
    if not len(samples):
        return np.empty((0, len(estimator._map()[1])), samples.dtype)
    lengths = np.diff(np.unique([0, *cuts, len(samples)]))
    return estimator._features(samples, lengths, *estimator._map())[len(samples) - len(rows) :]


def _like(frame: Any, features: FloatArray, names: list[str]) -> Any:
    """Return features with the index of a frame of pandas."""
    return type(frame)(features, index=frame.index, columns=names)


def _features_of_frame(frame: Any, estimator: "SlowFeatureEstimator", names: list[str]) -> Any:
    """Return the features of one partition with its index. This runs on a worker."""
    return _like(frame, _features(estimator, [], frame_rows(frame), np.empty(0, np.int64), None), names)
