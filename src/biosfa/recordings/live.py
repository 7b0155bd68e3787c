"""Learning from lines as they come, and answering each with its slow features."""

import signal
import time
from pathlib import Path
from typing import IO, Any

import numpy as np
from sklearn.base import clone

from biosfa.estimators import NetworkEstimator, Projection
from biosfa.io import Chunk, Stream, open_stream
from biosfa.io.tables import TextWriter, live_input
from biosfa.learning import next_event
from biosfa.recordings.features import stream_for
from biosfa.typing import FloatArray

# When the answers take up what was learned: from the 8th sample on, whenever so much more has been seen. A function of
# the number of the sample alone, so that answers do not depend on how lines happen to arrive.
FIRST, GRID, GROWTH = 8, 64, 1 / 64


class Answers:
    """Features of samples while a network goes on learning from them."""

    def __init__(self, net: NetworkEstimator, stream: Stream) -> None:
        self.net = net
        fitted = hasattr(net, "_network")
        if not fitted:
            net._adopt(stream)
            net.n_skipped_, net.n_broken_pairs_ = 0, 0
        self._before = net.n_skipped_, net.n_broken_pairs_
        self._seen = net.n_samples_seen_ if fitted else 0
        self._projection: Projection | None = Projection.of(net) if fitted else None

    def of(self, chunk: Chunk) -> FloatArray:
        """Learn from a chunk; a row of features for each of its rows, NaN as long as there are none."""
        answers = np.full((chunk.n_rows, self.net.n_components), np.nan)
        kept, begin = chunk.rows, 0
        while begin < len(kept):
            due = next_event(self._seen, first=FIRST, grid=GRID, growth=GROWTH, window=np.inf)
            end = min(len(kept), begin + due - self._seen)
            part = chunk._replace(samples=chunk.samples[begin:end], starts=chunk.starts[begin:end], kept=None)
            self._learn(part)
            if self._projection is None:
                self._projection = Projection.of(self.net)
                self._projection.components = np.full_like(self._projection.components, np.nan)
            answers[kept[begin:end]] = self._projection.features(part)
            self._seen += end - begin
            if self._seen == due:
                self._take_up(self._projection)
            begin = end
        self.net.n_skipped_ = self._before[0] + chunk.position.n_skipped
        self.net.n_broken_pairs_ = self._before[1] + chunk.position.n_broken
        return answers

    def _learn(self, chunk: Chunk) -> None:
        """Learn from samples that the stream has checked, as ``partial_fit`` would."""
        if not hasattr(self.net, "_network"):
            self.net._check_parameters()
            self.net._begin_now(chunk.samples, chunk.starts)
        self.net._take(chunk.samples, chunk.starts)

    def _take_up(self, projection: Projection) -> None:
        """Answer with what has been learned since, features keeping their signs."""
        components = self.net.components_
        turned = np.einsum("ij,ij->i", components, np.nan_to_num(projection.components)) < 0.0
        projection.components = np.where(turned[:, None], -components, components)
        projection.mean = self.net.mean_


def answer(
    net: NetworkEstimator, descriptor: int, target: IO[bytes], *, keep: Path | None, every: float, **options: Any
) -> int:
    """Read lines until they end, write a line of features for each at once, and keep the model; returns how many.

    The model is written to ``keep`` every so many seconds, and at the end, however that comes.
    """
    warm_up(net)
    source = live_input(descriptor)
    stream = stream_for(net, source, **options) if hasattr(net, "_network") else open_stream(source, **options)
    answers = Answers(net, stream)
    writer = TextWriter(target, [f"slow{i}" for i in range(net.n_components)])
    target.flush()
    n_rows, saved, whole = 0, time.monotonic(), True
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for chunk in stream:
            whole = False
            answered = answers.of(chunk)
            whole = True
            writer.write(answered)
            target.flush()
            n_rows += chunk.n_rows
            if keep is not None and time.monotonic() - saved > every:
                net.save(keep)
                saved = time.monotonic()
    finally:
        if keep is not None and whole and hasattr(net, "_network"):  # not if it was stopped amid a sample
            net.save(keep)
    return n_rows


def warm_up(net: NetworkEstimator) -> None:
    """Load what is compiled before the first line comes, so that it need not wait."""
    samples = np.random.default_rng(0).standard_normal((GRID, net.n_components + 1))
    twin = clone(net).set_params(pca=None, n_delays=1).partial_fit(samples)
    Projection.of(twin)
