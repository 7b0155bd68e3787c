"""The signal that candidates are compared on: samples of arrays, frames, files and streams, reduced and expanded."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from biosfa.episodes import rows_of
from biosfa.estimators import ConstantColumns, Monotone
from biosfa.floats import to_floats
from biosfa.io import Stream, open_stream
from biosfa.kernels.exact import Moments
from biosfa.registry import EXPANSIONS
from biosfa.signal import Reduction, SignalPath
from biosfa.typing import BoolArray, FloatArray
from biosfa.validation import check_choice, check_count

Report = Callable[[float], object]
"""Takes the share of a pass that is done."""


def opened(X: Any, lengths: ArrayLike | None = None) -> Stream:
    """Return the stream of an array, a frame, files, or a stream. Rows with missing values end episodes."""
    if isinstance(X, Stream):
        if lengths is not None:
            raise ValueError("lengths cannot be used with a stream: give them to open_stream, as episodes")
        return X
    if isinstance(X, list | tuple) and not all(isinstance(each, str | os.PathLike) for each in X):
        X = to_floats(X)
    if X is None or (isinstance(X, list | tuple) and not X):
        raise ValueError("there is no input: give an array, a data frame, files or a stream")
    X, lengths, _ = rows_of(X, lengths)
    episodes = None if lengths is None else np.asarray(lengths).tolist()
    return open_stream(X, episodes=episodes, missing="break")


class Signal:
    """The expanded signal of a stream."""

    def __init__(self, stream: Stream, *, n_delays: int = 1, pca: int | None = None, expansion: Any = None) -> None:
        self.stream = stream
        self.n_skipped = 0  # rows with missing values, after a pass
        self.n_jumps = 0  # gaps in time, after a pass
        check_count("n_delays", n_delays)
        if isinstance(expansion, str):
            check_choice("expansion", expansion, (None, *EXPANSIONS), "or a transformer")
        if pca is not None:
            check_count("pca", pca)
        reduction = None if pca is None else Reduction.of(moments_of(stream), pca)
        first = next(iter(stream), None)
        if first is None:
            raise ValueError("the input has no samples")
        self._path = SignalPath.build(n_delays, expansion, first.samples, first.starts, reduction)

    @property
    def n_features(self) -> int:
        """Number of columns of the expanded signal."""
        return self._path.n_features_out

    def constant_columns(self) -> list[str]:
        """Return the names of the columns of the input that had one value only."""
        return [self.stream.feature_names[column] for column in self._constants.values or {}]

    def counters(self) -> list[str]:
        """Return the names of the columns of the input that only rose or only fell."""
        return [self.stream.feature_names[column] for column in self._monotone.columns()]

    def pieces(self, at_least: int, report: Report | None = None) -> Iterator[tuple[FloatArray, BoolArray]]:
        """Yield the expanded signal in pieces, and which rows of a piece begin an episode."""
        path = self._path
        path.forget()
        self._constants, self._monotone = ConstantColumns(), Monotone()
        for chunk in self.stream:
            if len(chunk.samples):
                self._constants.add(chunk.samples)
                self._monotone.add(chunk.samples)
            rows = path.reduce(chunk.samples)
            plan = path.plan(rows, chunk.starts, continued=True)
            for x, piece in path.pieces(plan, at_least=at_least):
                yield x, plan.starts[piece]
            path.remember(rows, chunk.starts)
            self.n_skipped, self.n_jumps = chunk.position.n_skipped, chunk.position.n_jumps
            if report is not None:
                report(self.stream.fraction(chunk.position))


def moments_of(stream: Stream) -> Moments:
    """Return the moments of the samples of a stream, which is read once."""
    moments = Moments(stream.n_features)
    for chunk in stream:
        moments.add_samples(chunk.samples)
    return moments
