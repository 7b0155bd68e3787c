"""Learns from lines as they arrive, and answers each line with its slow features."""

import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from sklearn.base import clone

from biosfa.estimators import NetworkEstimator, Projection, begin_stream, has_started, learn_chunk, load
from biosfa.io import Chunk, Position, Stream, StreamOptions
from biosfa.io.tables import TextWriter, live_input
from biosfa.learning import next_event
from biosfa.recordings.notes import gaps, note
from biosfa.recordings.remembered import stream_for
from biosfa.recordings.run import check_components
from biosfa.registry import ONLINE_SOLVERS
from biosfa.typing import FloatArray

# When the answers begin to use new weights: from the 8th sample on, whenever the number of samples has grown by 1/64.
# This depends only on the number of the sample, so that answers do not depend on how the lines arrive.
FIRST, GRID, GROWTH = 8, 64, 1 / 64

DEFAULT_SOLVER = "online"


class Answers:
    """Computes features of samples while a network learns from the same samples."""

    def __init__(self, net: NetworkEstimator, stream: Stream) -> None:
        self.net = net
        fitted = has_started(net)
        if not fitted:
            begin_stream(net, stream)
        self._before = net.n_skipped_, net.n_broken_pairs_
        self._seen = net.n_samples_seen_ if fitted else 0
        self._projection: Projection | None = Projection.of(net) if fitted else None

    def of(self, chunk: Chunk) -> FloatArray:
        """Learn from a chunk and return one row of features per row of it; NaN while there are no features yet."""
        answers = np.full((chunk.n_rows, self.net.n_components), np.nan)
        kept, begin = chunk.rows, 0
        while begin < len(kept):
            due = next_event(self._seen, first=FIRST, grid=GRID, growth=GROWTH, window=np.inf)
            end = min(len(kept), begin + due - self._seen)
            part = chunk._replace(samples=chunk.samples[begin:end], starts=chunk.starts[begin:end], kept=None)
            learn_chunk(self.net, part)
            if self._projection is None:
                self._projection = Projection.of(self.net)
                self._projection.components = np.full_like(self._projection.components, np.nan)
            answers[kept[begin:end]] = self._projection.features(part)
            self._seen += end - begin
            if self._seen == due:
                self._renew(self._projection)
            begin = end
        self.net.n_skipped_ = self._before[0] + chunk.position.n_skipped
        self.net.n_broken_pairs_ = self._before[1] + chunk.position.n_broken
        return answers

    def _renew(self, projection: Projection) -> None:
        """Use the present weights for the next answers. Features keep their signs."""
        components = self.net.components_
        turned = np.einsum("ij,ij->i", components, np.nan_to_num(projection.components)) < 0.0
        projection.components = np.where(turned[:, None], -components, components)
        projection.mean = self.net.mean_


def network(
    model: Path | None,
    solver: str | None,
    n_components: int | None,
    *,
    missing: str,
    seed: int,
    **parameters: Any,
) -> NetworkEstimator:
    """Return the network in a model file, or a new one if the file does not exist.

    Raises
    ------
    ValueError
        If the network in the file was learned with other settings.
    """
    if model is None or not model.exists():
        if n_components is None:
            raise ValueError("the number of features is not known: give --components, or a --model that exists")
        learner: NetworkEstimator = ONLINE_SOLVERS[solver or DEFAULT_SOLVER].load()(
            n_components, missing=missing, random_state=seed, **parameters
        )
        return learner
    net = load(model)
    own = next((name for name, choice in ONLINE_SOLVERS.items() if type(net).__name__ == choice.name), None)
    if own is None:
        raise ValueError(f"{model} holds {type(net).__name__}, which cannot learn from a stream of lines")
    if solver not in (None, own):
        raise ValueError(f"{model} was learned with --solver {own}, not {solver}")
    for name, value in {"n_components": n_components or net.n_components, **parameters}.items():
        if getattr(net, name) != value:
            raise ValueError(f"{model} was learned with {name}={getattr(net, name)!r}, not {value!r}")
    learned: NetworkEstimator = net
    return learned


def answer(
    net: NetworkEstimator,
    descriptor: int,
    target: IO[bytes],
    given: Mapping[str, Any],
    *,
    keep: Path | None,
    every: float,
) -> int:
    """Read lines until they end, answer each with a line of features at once, and return the number of lines.

    ``given`` has fields of StreamOptions; the others are those of the model so far.

    The model is written to ``keep`` after every ``every`` seconds, and at the end, even if the command is interrupted.
    """
    warm_up(net)
    source = live_input(descriptor, given.get("header"))
    stream = stream_for(net, source, given) if has_started(net) else StreamOptions(**given).open(source)
    if not has_started(net):
        check_components(net, stream)
    answers = Answers(net, stream)
    writer = TextWriter(target, [f"slow{i}" for i in range(net.n_components)])
    target.flush()
    n_rows, saved, whole, end = 0, time.monotonic(), True, Position()
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
            end = chunk.position
        if end.n_skipped or end.n_broken:
            note(gaps(end))
    finally:
        if keep is not None and whole and has_started(net):  # not if it was stopped within a chunk
            net.save(keep)
    return n_rows


def warm_up(net: NetworkEstimator) -> None:
    """Load the compiled functions before the first line arrives, so that the answer to it is not late."""
    samples = np.random.default_rng(0).standard_normal((GRID, net.n_components + 1))
    twin = clone(net).set_params(pca=None, n_delays=1).partial_fit(samples)
    Projection.of(twin)
