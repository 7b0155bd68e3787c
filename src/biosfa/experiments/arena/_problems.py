"""The problems of the arena: streams, and the slowness of their best features."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from biosfa import metrics
from biosfa.datasets import driven_logistic_map, slow_mixture
from biosfa.episodes import episode_lengths, episode_starts
from biosfa.experiments.engine import ExperimentError
from biosfa.experiments.images import FRAMES, load_patches
from biosfa.io import StreamOptions
from biosfa.kernels.exact import Moments, SlowDirections
from biosfa.kernels.expansion import quadratic
from biosfa.typing import BoolArray, Float64Array

CLOSE = 0.1  # with a smaller error a learner has found the slow features: within 10% of the smallest possible slowness
FEWEST_ROWS = 100
LARGEST = 1e50  # largest allowed value: its powers must not overflow
LEAST_SLOWNESS = 1e-12  # a smaller slowness is rounding error
FILE_OPTIONS = StreamOptions(missing="break")  # rows with missing values are skipped and counted
IMAGES_COMPONENTS = 16  # principal components of image patches; they have 152 monomials


@dataclass(frozen=True)
class Problem:
    """A stream to learn from. Errors of learners are measured on the whole stream."""

    n_components: int
    signal: Float64Array
    starts: BoolArray  # which rows begin an episode
    n_skipped: int = 0  # rows of a file that were skipped because of missing values

    @cached_property
    def moments(self) -> Moments:
        """Moments of the whole stream."""
        return metrics.moments(self.signal, episode_lengths(self.starts))

    @cached_property
    def best(self) -> SlowDirections:
        """The slowest features of the stream."""
        return self.moments.slow_directions(self.n_components)

    def check(self) -> None:
        """Raise ExperimentError if there is nothing to compare."""
        k, (n, m) = self.n_components, self.signal.shape
        if k >= m:
            raise ExperimentError(
                f"{k} features of {m} columns leave nothing to compare: ask for fewer features with --components"
            )
        if not np.abs(self.signal).max() < LARGEST:
            raise ExperimentError(
                f"the samples are too large (up to {np.abs(self.signal).max():.3g}): rescale the columns"
            )
        if n < FEWEST_ROWS or self.moments.n_pairs < FEWEST_ROWS // 2:
            raise ExperimentError(
                f"there are {n} samples and {self.moments.n_pairs} pairs of consecutive samples: a comparison needs at "
                f"least {FEWEST_ROWS} samples and {FEWEST_ROWS // 2} pairs"
            )
        if self.best.rank <= k:
            raise ExperimentError(
                f"the stream has rank {self.best.rank}, but a comparison of {k} features needs more than rank {k}: ask "
                "for fewer features with --components"
            )
        if not self.best.delta_values[0] > LEAST_SLOWNESS:
            raise ExperimentError(
                "the stream has a feature that does not change within an episode, so that relative errors cannot be "
                "computed: leave out its columns with --columns"
            )

    def judge(self, directions: Float64Array | None) -> tuple[float, float]:
        """Return the relative error of features, and their largest angle to the slowest features in degrees.

        Both are NaN if the features have too little rank on this stream.
        """
        if directions is None or not np.isfinite(directions).all():
            return float("nan"), float("nan")
        try:
            slowness = float(metrics.subspace_slowness(directions, self.moments))
        except ValueError:  # too little rank
            return float("nan"), float("nan")
        error = slowness / float(self.best.delta_values.sum()) - 1.0
        return error, float(np.degrees(metrics.subspace_angle(directions, self.best.directions, self.moments)))

    def slowness_of_each(self, directions: Float64Array) -> Float64Array:
        """Return the slowness of each feature, without whitening."""
        change = np.einsum("im,mn,in->i", directions, self.moments.difference_covariance, directions, optimize=True)
        variance = np.einsum("im,mn,in->i", directions, self.moments.covariance, directions, optimize=True)
        return np.asarray(change / variance)


@dataclass(frozen=True)
class Kind:
    """The title and the defaults of a problem that has a name."""

    title: str
    n_components: int
    n_samples: int


KINDS = {
    "mixture": Kind("three slow sources in ten columns of white input", 3, 1_000_000),
    "chaotic": Kind("the driven logistic map, 14 monomials of very different variance", 1, 1_000_000),
    "images-small": Kind("windows that move over dead leaves, 152 monomials", 9, 100_000),
}


def load_problem(
    name: str, n_samples: int, n_components: int, seed: int, stream: StreamOptions = FILE_OPTIONS
) -> Problem:
    """Make the problem of a seed; ``name`` is a key of ``KINDS``, or the path of a file, read as ``stream`` says."""
    if name == "mixture":
        return _problem(slow_mixture(n_samples, random_state=seed).signal, n_components)
    if name == "chaotic":
        return _problem(driven_logistic_map(n_samples, random_state=seed).expanded(), n_components)
    if name == "images-small":
        patches = load_patches("dead leaves", max(1, n_samples // FRAMES), IMAGES_COMPONENTS, seed)
        X = quadratic(patches.signal).astype(np.float64)
        starts = episode_starts(len(X), [FRAMES] * (len(X) // FRAMES), open_episode=False)
        return _problem(X, n_components, starts)
    return _problem_of_file(name, n_samples, n_components, stream)


def _problem_of_file(name: str, n_samples: int, n_components: int, stream: StreamOptions) -> Problem:
    rows, starts, taken, skipped = [], [], 0, 0
    for chunk in stream.open(name):
        rows.append(chunk.samples[: n_samples - taken].astype(np.float64))
        starts.append(chunk.starts[: n_samples - taken])
        taken += len(rows[-1])
        skipped += chunk.n_rows - len(chunk.samples)
        if taken == n_samples:
            break
    if taken == 0:
        raise ExperimentError(f"{name} has no samples: give a file with at least {FEWEST_ROWS} rows")
    return Problem(n_components, np.concatenate(rows), np.concatenate(starts), skipped)


def _problem(signal: Float64Array, n_components: int, starts: BoolArray | None = None) -> Problem:
    begins = np.arange(len(signal)) == 0 if starts is None else starts
    return Problem(n_components, signal, begins)
