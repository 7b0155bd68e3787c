"""``fit`` in steps of one chunk, so that it can report progress, be stopped, and be resumed."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from biosfa.episodes import episode_starts, rows_with_nan, steps_within, without_missing
from biosfa.estimators._memory import check_pca_memory
from biosfa.estimators._monotone import Monotone
from biosfa.estimators._uneven import check_uneven, waiting_in
from biosfa.exceptions import DivergenceError
from biosfa.io import Chunk, Position, Reading, Stream, open_stream
from biosfa.io.tables import is_collection
from biosfa.kernels.exact import Moments, Waiting, accumulate_samples_at, completed
from biosfa.signal import Reduction
from biosfa.typing import Arrays, BoolArray, Float64Array, FloatArray
from biosfa.validation import check_positive, check_samples, checked_array, checked_weights, unchanged_on_error
from biosfa.wording import counted

if TYPE_CHECKING:
    from biosfa.estimators._base import SlowFeatureEstimator


WAITING = "fitting.waiting_"  # names of the arrays of what waits begin with this


class SampleSource(Protocol):
    """Something that can be read several times, chunk by chunk: a stream, or an array."""

    def chunks(self, position: Position | None = None) -> Iterator[Chunk]:
        """Yield the chunks after a position."""


@dataclass(frozen=True)
class Whole:
    """An array, as a source of one chunk."""

    chunk: Chunk

    def chunks(self, position: Position | None = None) -> Iterator[Chunk]:
        yield self.chunk


class Elsewhere:
    """A source that is read elsewhere."""

    def chunks(self, position: Position | None = None) -> Iterator[Chunk]:
        return iter(())


@dataclass
class Episodes:
    """Counts the episodes of a stream, and those that are too short to learn from."""

    needed: int  # rows that an episode needs
    n_episodes: int = 0
    n_short: int = 0
    open_rows: int = 0  # rows so far of the last episode, which may continue

    def add(self, starts: BoolArray) -> None:
        """Add the rows of a chunk; ``starts`` says which of them begin an episode."""
        cuts = np.flatnonzero(starts)
        if not len(cuts):
            self.open_rows += len(starts)
            return
        self.open_rows += int(cuts[0])
        self.close()
        self.n_short += int(np.count_nonzero(np.diff(cuts) < self.needed))
        self.n_episodes += len(cuts) - 1
        self.open_rows = len(starts) - int(cuts[-1])

    def close(self) -> None:
        """End the open episode, if there is one."""
        if self.open_rows:
            self.n_episodes += 1
            self.n_short += self.open_rows < self.needed
        self.open_rows = 0


@dataclass
class LaterEpisodes(Episodes):
    """Counts the episodes of a section, apart from the one that continues the episode before it."""

    leading: int | None = None  # rows before the first beginning of an episode; None if there is none

    def close(self) -> None:
        """End the open episode; the first to end is that of the rows before the section."""
        if self.leading is None:
            self.leading, self.open_rows = self.open_rows, 0
        else:
            super().close()

    def join_to(self, episodes: Episodes) -> None:
        """Add these episodes to those of the rows before the section."""
        if self.leading is None:
            episodes.open_rows += self.open_rows
            return
        episodes.open_rows += self.leading
        episodes.close()
        episodes.n_episodes += self.n_episodes
        episodes.n_short += self.n_short
        episodes.open_rows = self.open_rows


class Fitting:
    """The passes of ``fit`` over a source: one for principal components, if ``pca`` is given, then those that learn."""

    @classmethod
    def of(
        cls,
        estimator: "SlowFeatureEstimator",
        X: "ArrayLike | Stream",
        lengths: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        time: ArrayLike | bool | None = None,
        **learning: Any,
    ) -> Self:
        """Check parameters and input, and return the fit of an estimator to an array or a stream, not yet begun.

        ``time`` and ``sample_weight`` are for estimators that can learn from samples at uneven times or with weights.
        """
        estimator._check_parameters()
        uneven = time is not None and time is not False
        if uneven:
            check_uneven(estimator, X, time, sample_weight)
        collected = is_collection(X)
        if collected:
            X, lengths = open_stream(X, episodes=lengths, missing=estimator.missing), None
        if not isinstance(X, Stream):
            estimator.__dict__.pop("_reading", None)
            whole = _checked(estimator, X, lengths, sample_weight, time if uneven else None)
            return cls(estimator, whole, uneven=uneven, **learning)
        if lengths is not None:
            raise ValueError("lengths cannot be used with a stream: give them to open_stream, as episodes")
        if sample_weight is not None:
            raise ValueError("sample_weight cannot be used with a stream: use partial_fit(chunk, sample_weight=...)")
        estimator._adopt(X)
        if collected:
            estimator.__dict__.pop("_reading", None)
        return cls(estimator, X, uneven=uneven, **learning)

    def __init__(
        self, estimator: "SlowFeatureEstimator", source: SampleSource, *, uneven: bool = False, **learning: Any
    ) -> None:
        self._estimator = estimator
        self._source = source
        self._uneven = uneven  # whether the estimator needs the times of the samples
        self._learning = learning
        self.position: Position | None = None  # in the present pass
        self.end = Position()  # of the last pass
        self.epoch = 0  # finished passes that learn
        self.begun = False  # whether the estimator has started to learn
        self.episodes = Episodes(estimator._rows_needed())
        self._monotone = Monotone()
        self._moments: Moments | None = None  # during the pass for principal components
        self._waiting: Waiting | None = None  # the same, for samples at uneven times
        self._reduction: Reduction | None = None

    @property
    def estimator(self) -> "SlowFeatureEstimator":
        """The estimator that learns."""
        return self._estimator

    @property
    def n_passes(self) -> int:
        """Number of passes over the source."""
        return self._estimator.n_epochs + (self._estimator.pca is not None)

    @property
    def passes_made(self) -> int:
        """Number of passes that have ended."""
        reduced = self._estimator.pca is not None and (self.begun or self._reduction is not None)
        return self.epoch + reduced

    @property
    def n_rows(self) -> int:
        """Number of rows read so far, in all passes."""
        return self.passes_made * self.end.n_rows + (0 if self.position is None else self.position.n_rows)

    @property
    def about_to_finish(self) -> bool:
        """Whether all passes have ended, so that only ``_finish`` is left."""
        return self.epoch == self._estimator.n_epochs

    def steps(self) -> Iterator[Chunk | None]:
        """Run the fit, and yield each chunk after it was learned, then None before the model is finished.

        The state can be saved at every yield.

        Raises
        ------
        ValueError
            If there are no samples to learn from.
        """
        while not self.about_to_finish:
            for chunk in self._source.chunks(self.position):
                self.learn(chunk)
                if len(chunk.samples):
                    yield chunk
            self.end_pass()
        yield None
        self.finish()

    @property
    def reducing(self) -> bool:
        """Whether this is the pass for principal components."""
        return self._estimator.pca is not None and self.passes_made == 0

    def start(self, samples: FloatArray, starts: BoolArray) -> None:
        """Let the estimator start with the first samples of the first pass that learns."""
        self._estimator._start(samples, starts, self._reduction)
        self.begun = True

    def learn(self, chunk: Chunk) -> None:
        """Learn from the next chunk of the present pass."""
        self.position = chunk.position
        if not len(chunk.samples):  # all rows are missing
            return
        if self.reducing:
            self._add_to_moments(chunk)
            return
        if not self.begun:
            self.start(chunk.samples, chunk.starts)
        self._estimator._learn(chunk.samples, chunk.starts, **self._learning_from(chunk))
        if self.epoch == 0:
            self.episodes.add(chunk.starts)
            self._monotone.add(chunk.samples)

    def end_pass(self) -> None:
        """End the present pass.

        Raises
        ------
        ValueError
            If there were no samples.
        """
        if self.position is not None:
            self.end = self.position
        self.position = None
        learned = self.begun and (self.epoch > 0 or self.episodes.n_episodes + self.episodes.open_rows > 0)
        if not learned and self._moments is None:
            missing = ": all rows have missing values" if self.end.n_rows else ""
            raise ValueError(f"there are no samples to learn from{missing}")
        if self._moments is not None:
            moments = self._moments if self._waiting is None else completed(self._moments, self._waiting)
            assert self._estimator.pca is not None
            self._reduction = Reduction.of(moments, self._estimator.pca)
            self._moments = self._waiting = None
            return
        self._estimator.end_episode()
        self.episodes.close()
        self.epoch += 1

    def apart(self) -> "Fitting":
        """Return a fit in the same pass that has learned nothing, for rows that are learned elsewhere."""
        other = Fitting(self._estimator._apart(), Elsewhere(), **self._learning)
        other._reduction, other.begun = self._reduction, self.begun
        return other

    @property
    def rows_before(self) -> int:
        """Number of rows before a row that decide what is learned from it in the present pass; at least 1."""
        return 1 if self.reducing else self._estimator._rows_needed() - 1

    @property
    def n_moments(self) -> int:
        """Number of columns of the sums of the present pass."""
        estimator = self._estimator
        return estimator.n_features_in_ if self.reducing else estimator._signal.n_features_out

    def forget_sums(self, episodes: Episodes) -> None:
        """Forget what was learned, but not the state after the last row. ``episodes`` counts those that follow."""
        self._moments = None if self._moments is None else Moments(self._moments.n_features)
        if self.begun:
            self._estimator._forget_sums()
        self.episodes = episodes
        self._monotone.forget_counts()

    def join(self, later: "Fitting", position: Position) -> None:
        """Add what was learned apart from the rows that follow, up to a position."""
        if later._moments is not None:
            self._moments = later._moments if self._moments is None else self._moments.merged(later._moments)
        if later.begun:
            self._estimator._join(later._estimator)
        assert isinstance(later.episodes, LaterEpisodes)
        later.episodes.join_to(self.episodes)
        self._monotone.join(later._monotone)
        self.position = position

    def finish(self) -> None:
        """Check the features, and warn about problems, after the last pass."""
        names = input_names(self._estimator)
        self._estimator._finish(self.end, self.episodes, [names[i] for i in self._monotone.columns()])

    def _add_to_moments(self, chunk: Chunk) -> None:
        """Take a chunk into the moments for principal components, with the weights of its samples."""
        m = chunk.samples.shape[1]
        if self._moments is None:
            check_pca_memory(m)
            self._moments = Moments(m)
        learning = self._learning_from(chunk)
        if "steps" in learning:
            waiting = Waiting.empty(m) if self._waiting is None else self._waiting
            self._waiting = accumulate_samples_at(self._moments, chunk.samples, learning["steps"], waiting)
        else:
            self._moments.add_samples(chunk.samples, chunk.weights)

    def _learning_from(self, chunk: Chunk) -> dict[str, Any]:
        """Return the arguments of the estimator for a chunk, beside its samples."""
        learning = self._learning
        if chunk.weights is not None:
            learning = {**learning, "weights": chunk.weights}
        if not self._uneven or chunk.steps is None:
            return learning
        return {**learning, "steps": np.where(chunk.starts, np.nan, chunk.steps[chunk.rows])}

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the state of the fit, without estimator and source, as JSON data and arrays."""
        arrays: Arrays = {}
        moments = self._moments
        if moments is not None:
            arrays |= {"fitting.mean": moments.mean, "fitting.scatter": moments.scatter}
        if self._waiting is not None:
            arrays |= {f"{WAITING}{name}": array for name, array in self._waiting.arrays().items()}
        if self._reduction is not None and not self.begun:
            arrays |= {"fitting.pca_mean": self._reduction.mean, "fitting.pca": self._reduction.components}
        scalars = {
            "position": None if self.position is None else self.position.to_json(),
            "end": self.end.to_json(),
            "epoch": self.epoch,
            "begun": self.begun,
            "n_samples": None if moments is None else moments.n_samples,
            "weight": None if moments is None else moments.weight,
            "episodes": asdict(self.episodes),
            "monotone": self._monotone.to_json(),
        }
        return scalars, arrays

    def restore(self, scalars: dict[str, Any], arrays: Arrays) -> Self:
        """Restore what :meth:`state` returned. The estimator must be as it was then.

        Raises
        ------
        ValueError
            If this is not the state of such a fit.
        """
        self.position = None if scalars["position"] is None else Position.from_json(scalars["position"])
        self.end = Position.from_json(scalars["end"])
        self.epoch, self.begun = scalars["epoch"], scalars["begun"]
        self.episodes = Episodes(**scalars["episodes"])
        n_samples, d = scalars["n_samples"], self._estimator.n_features_in_
        self._monotone = Monotone.from_json(scalars.get("monotone"), d)  # checkpoints of 0.2 have none
        counts = (self.epoch, *asdict(self.episodes).values(), *(() if n_samples is None else (n_samples,)))
        if not all(type(count) is int and count >= 0 for count in counts) or self.epoch > self._estimator.n_epochs:
            raise ValueError(f"{scalars!r} is not the state of a fit")
        if self.begun is not self._estimator._started:
            raise ValueError("the state of the fit and the state of its model contradict each other")
        if not all(np.isfinite(array).all() for array in arrays.values()):
            raise ValueError("its arrays contain NaN or infinity")
        if n_samples is not None:
            self._moments = Moments(d, n_samples)
            self._moments.mean[:] = checked_array("fitting.mean", arrays, (d,))
            self._moments.scatter[:] = checked_array("fitting.scatter", arrays, (d, d))
            if scalars.get("weight") is not None:  # checkpoints of 0.2 have none
                check_positive("weight", scalars["weight"], zero=True)
                self._moments.weight = float(scalars["weight"])
        self._waiting = waiting_in(arrays, WAITING, d)
        if "fitting.pca" in arrays:
            self._reduction = Reduction(arrays["fitting.pca_mean"], arrays["fitting.pca"])
            self._reduction.check(d, self._estimator.pca)
        return self


def _checked(
    estimator: "SlowFeatureEstimator",
    X: ArrayLike,
    lengths: ArrayLike | None,
    weights: ArrayLike | None,
    time: ArrayLike | bool | None,
) -> Whole:
    """Return an array as a source, after checking it."""
    samples = check_samples(estimator, X, reset=True, min_samples=2, allow_nan=estimator.missing == "break")
    starts = episode_starts(len(samples), lengths, open_episode=False)
    given = checked_weights("sample_weight", weights, len(samples), "sample")
    chunk = chunk_of_rows(samples, starts, given, Position())
    if time is None:
        return Whole(chunk)
    steps = np.full(chunk.n_rows, np.nan)
    steps[chunk.rows] = steps_within(time, chunk.starts, chunk.kept)
    return Whole(chunk._replace(steps=steps))


def chunk_of_rows(samples: FloatArray, starts: BoolArray, weights: Float64Array | None, at: Position) -> Chunk:
    """Return the chunk of checked rows after a position. Rows with a NaN are missing."""
    missing = rows_with_nan(samples)
    after = replace(at, n_rows=at.n_rows + len(samples))
    if not (at.broken or missing.any()):
        return Chunk(samples, starts, None, after, weights=weights)
    rest = without_missing(samples, starts, missing, broken=at.broken)
    n_skipped = at.n_skipped + len(samples) - len(rest.samples)
    after = replace(after, n_skipped=n_skipped, n_broken=at.n_broken + rest.n_broken, broken=rest.broken)
    return Chunk(rest.samples, rest.starts, rest.kept, after, weights=None if weights is None else weights[rest.kept])


def input_names(estimator: BaseEstimator) -> list[str]:
    """Return the names of the input columns: x0, x1, … if they have no names."""
    names = getattr(estimator, "feature_names_in_", None)
    return [f"x{i}" for i in range(estimator.n_features_in_)] if names is None else [str(name) for name in names]


def check_pairs_per_feature(n_pairs: int, n_components: int) -> None:
    """Raise ValueError if a network has learned from fewer pairs of samples than it has features.

    A mixture of its outputs then changes in no pair, so that its slowness is 0.
    """
    if n_pairs < n_components:
        raise ValueError(
            f"{counted(n_pairs, 'usable pair')} of consecutive samples cannot determine n_components={n_components} "
            "features: give more rows with fewer gaps, or ask for fewer components"
        )


def has_started(estimator: "SlowFeatureEstimator") -> bool:
    """Return whether an estimator has begun to learn."""
    return estimator._started


def reading_of(estimator: BaseEstimator) -> Reading:
    """Return how the stream of ``fit`` was divided into episodes."""
    reading: Reading = estimator._reading
    return reading


def begin_stream(estimator: "SlowFeatureEstimator", stream: Stream) -> None:
    """Prepare an estimator that has learned nothing for :func:`learn_chunk`."""
    estimator._check_parameters()
    estimator._adopt(stream)
    estimator.n_skipped_, estimator.n_broken_pairs_ = 0, 0


def learn_chunk(estimator: "SlowFeatureEstimator", chunk: Chunk) -> None:
    """Learn from a chunk as ``partial_fit`` does, without checking the rows: the stream has checked them."""
    with unchanged_on_error(estimator, DivergenceError):
        estimator._learn_rows(chunk.samples, chunk.starts)
