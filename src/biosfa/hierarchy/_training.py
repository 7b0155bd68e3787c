"""Training of one step of a layer: all its modules are parallel streams that share the weights."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from biosfa.episodes import episode_starts
from biosfa.hierarchy._layers import Learner
from biosfa.hierarchy._modules import FrameSource, Step, chunks
from biosfa.kernels.exact import Moments, check_determined, principal_axes, slow_directions
from biosfa.learning import Recorder
from biosfa.typing import Advance, Arrays, Float64Array, FloatArray, IntArray
from biosfa.validation import checked_array

RECORDS_PER_DECADE = 8
CURVES = ("samples", "slowness", "delta_values")
BLOCK_ROWS = 8192  # samples of all modules whose products are summed in float32; blocks are summed in float64
FLOAT32_TOLERANCE = 1e-7  # smallest eigenvalue that such sums can tell from 0, relative to the largest


class Trained(NamedTuple):
    """A trained step, and the slowness of its features during training."""

    step: Step
    samples: IntArray  # number of frames seen at each record
    slowness: Float64Array  # sum of the slowness values of the features at each record
    delta_values: Float64Array  # slowness of the features at the end

    def arrays(self) -> Arrays:
        """Return all arrays, for a file."""
        return {
            "mean": self.step.mean,
            "components": self.step.components,
            **{key: getattr(self, key) for key in CURVES},
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays, prefix: str, shape: tuple[int, int], clip: float) -> "Trained":
        """Return the trained step from arrays of a file.

        ``prefix`` is the beginning of their names, and ``shape`` the shape of the components.

        Raises
        ------
        ValueError
            If the shapes of the arrays do not match.
        """
        k, m = shape
        n_records = arrays[f"{prefix}samples"].shape[:1]
        step = Step(
            checked_array(f"{prefix}mean", arrays, (m,)), checked_array(f"{prefix}components", arrays, shape), clip
        )
        return cls(
            step,
            checked_array(f"{prefix}samples", arrays, n_records, np.int64),
            checked_array(f"{prefix}slowness", arrays, n_records),
            checked_array(f"{prefix}delta_values", arrays, (k,)),
        )


def train_online(
    source: FrameSource,
    k: int,
    learner: Learner,
    lengths: list[int],
    *,
    clip: float,
    random_state: int,
    report: Advance,
) -> Trained:
    """Return a step with k features, learned online from samples of shape (n, modules, m) in order of time."""
    net = learner.build(k, random_state)
    recorder = Recorder(RECORDS_PER_DECADE)
    for _ in range(learner.passes):
        for chunk, starts in pieces(source, lengths):
            if starts:
                net.end_episode()
            net.partial_fit_streams(source[chunk], recorder=recorder)
            report(chunk.stop - chunk.start)
        net.end_episode()
    usable = np.isfinite(recorder.delta_values).all(axis=1) if len(recorder.steps) else np.zeros(0, bool)
    return Trained(
        Step(net.mean_, net.components_, clip),
        recorder.steps[usable],
        recorder.delta_values[usable].sum(axis=1),
        net.delta_values_,
    )


def train_exact(source: FrameSource, k: int, lengths: list[int], *, clip: float, report: Advance) -> Trained:
    """Return a step with k features, from exact SFA of samples of shape (n, modules, m), pooled over modules."""
    _, modules, m = source.shape
    moments = Moments(m, product_dtype=np.float32)
    size = max(1, BLOCK_ROWS // modules)
    before: FloatArray = np.empty((0, modules, m), np.float32)
    for chunk, starts in pieces(source, lengths):
        X = source[chunk]
        X = X if starts else np.concatenate([before, X])
        first = 0 if starts else 1
        for begin in range(first, len(X), size):
            block = slice(begin, begin + size)
            moments.add_samples(X[block].reshape(-1, m))
            within = X[max(0, begin - 1) : begin + size]
            moments.add_differences(np.diff(within, axis=0).reshape(-1, m))
        before = X[-1:].copy()
        report(chunk.stop - chunk.start)
    solution = slow_directions(
        moments.covariance, moments.difference_covariance, n_components=k, tolerance=FLOAT32_TOLERANCE
    )
    if solution.rank < k:
        raise ValueError(
            f"{k} features were asked for, but the modules' input varies in only {solution.rank} dimensions: ask for "
            "fewer features, or give more varied frames"
        )
    check_determined(moments.n_pairs, solution.rank)
    total = solution.delta_values.sum()
    return Trained(
        Step(moments.mean, solution.directions, clip),
        np.array([source.shape[0]]),
        np.array([total]),
        solution.delta_values,
    )


def train_random(source: FrameSource, k: int, *, clip: float, random_state: int) -> Trained:
    """Return a step with k random features, made white on the first frames: a control that learns nothing."""
    m = source.shape[2]
    X = source[next(chunks(source))].reshape(-1, m).astype(np.float64)
    random = np.random.default_rng(random_state).standard_normal((k, m))
    features = (X - X.mean(axis=0)) @ random.T
    principal = principal_axes(features.T @ features / len(features), tolerance=FLOAT32_TOLERANCE)
    if len(principal.variance) < k:
        raise ValueError(
            f"{k} features were asked for, but the modules' input varies in fewer dimensions: ask for fewer features, "
            "or give more varied frames"
        )
    components = principal.whitening @ principal.axes.T @ random
    return Trained(Step(X.mean(axis=0), components, clip), np.array([], int), np.array([]), np.full(k, np.nan))


def pieces(source: FrameSource, lengths: list[int]) -> Iterator[tuple[slice, bool]]:
    """Yield chunks of time, each within one episode, and whether the chunk begins the episode."""
    starts = np.flatnonzero(episode_starts(source.shape[0], lengths, open_episode=False))
    for chunk in chunks(source):
        cuts = [chunk.start, *(int(i) for i in starts if chunk.start < i < chunk.stop), chunk.stop]
        for begin, end in pairwise(cuts):
            yield slice(begin, end), begin in starts
