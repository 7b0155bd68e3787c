"""What the arena is about: streams, with the slowness that their best features have."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from biosfa import metrics
from biosfa.datasets import driven_logistic_map, slow_mixture
from biosfa.episodes import episode_lengths, episode_starts
from biosfa.experiments.engine import ExperimentError
from biosfa.experiments.images import FRAMES, load_patches
from biosfa.io import StreamOptions
from biosfa.kernels.exact import Moments, SlowDirections, slow_directions
from biosfa.kernels.expansion import quadratic
from biosfa.typing import BoolArray, Float64Array

CLOSE = 0.1  # an error that counts as having found the slow features: slowness within a tenth of the least possible
FEWEST_ROWS = 100
LARGEST = 1e50  # of a sample: powers of it must not overflow
LEAST_SLOWNESS = 1e-12  # below, it is rounding
FILE_OPTIONS = StreamOptions(missing="break")  # rows with gaps are left out, and counted
IMAGES_COMPONENTS = 16  # principal components of image patches, of which there are 152 monomials


@dataclass(frozen=True)
class Problem:
    """A stream to learn from; learners are judged on all of it."""

    n_components: int
    signal: Float64Array
    starts: BoolArray  # which rows begin an episode
    n_skipped: int = 0  # rows of a file that were left out because of missing values

    @cached_property
    def moments(self) -> Moments:
        """Of the whole stream."""
        return metrics.moments(self.signal, episode_lengths(self.starts))

    @cached_property
    def best(self) -> SlowDirections:
        """The slowest features there are."""
        return slow_directions(
            self.moments.covariance, self.moments.difference_covariance, n_components=self.n_components
        )

    def check(self) -> None:
        """Raise ExperimentError if there is nothing to compare."""
        k, (n, m) = self.n_components, self.signal.shape
        if k >= m:
            raise ExperimentError(f"{k} features of {m} columns leave no choice: ask for fewer with --components")
        if not np.abs(self.signal).max() < LARGEST:
            raise ExperimentError(f"samples are as large as {np.abs(self.signal).max():.3g}: rescale them")
        if n < FEWEST_ROWS or self.moments.n_pairs < FEWEST_ROWS // 2:
            raise ExperimentError(
                f"there are {n} samples, {self.moments.n_pairs} of which follow another: a comparison needs at least "
                f"{FEWEST_ROWS} and {FEWEST_ROWS // 2}"
            )
        if self.best.rank <= k:
            raise ExperimentError(
                f"the stream has rank {self.best.rank}, too little to choose {k} features: ask for fewer with "
                "--components"
            )
        if not self.best.delta_values[0] > LEAST_SLOWNESS:
            raise ExperimentError(
                "the stream has a feature that does not change within an episode, to which errors cannot be related: "
                "leave its columns out with --columns"
            )

    def judge(self, directions: Float64Array | None) -> tuple[float, float]:
        """Slowness of features beyond the least possible, relative to that; largest angle to the slowest, in degrees.

        NaN if they are not as many, on this stream, as were asked for.
        """
        if directions is None or not np.isfinite(directions).all():
            return float("nan"), float("nan")
        try:
            slowness = float(metrics.subspace_slowness(directions, self.moments))
        except ValueError:  # of less rank
            return float("nan"), float("nan")
        error = slowness / float(self.best.delta_values.sum()) - 1.0
        return error, float(np.degrees(metrics.subspace_angle(directions, self.best.directions, self.moments)))

    def slowness_of_each(self, directions: Float64Array) -> Float64Array:
        """Slowness of each feature, as it is."""
        change = np.einsum("im,mn,in->i", directions, self.moments.difference_covariance, directions, optimize=True)
        variance = np.einsum("im,mn,in->i", directions, self.moments.covariance, directions, optimize=True)
        return np.asarray(change / variance)


@dataclass(frozen=True)
class Kind:
    """A problem that has a name."""

    title: str
    n_components: int
    n_samples: int


KINDS = {
    "mixture": Kind("three slow sources in ten dimensions of white input", 3, 1_000_000),
    "chaotic": Kind("the driven logistic map, 14 monomials of very different variance", 1, 1_000_000),
    "images-small": Kind("windows that move over dead leaves, 152 monomials", 9, 100_000),
}


def load_problem(
    name: str, n_samples: int, n_components: int, seed: int, stream: StreamOptions = FILE_OPTIONS
) -> Problem:
    """The problem of a seed; ``name`` is that of a kind, or of a file, which is read as ``stream`` says."""
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
        raise ExperimentError(f"{name} has no samples")
    return Problem(n_components, np.concatenate(rows), np.concatenate(starts), skipped)


def _problem(signal: Float64Array, n_components: int, starts: BoolArray | None = None) -> Problem:
    begins = np.arange(len(signal)) == 0 if starts is None else starts
    return Problem(n_components, signal, begins)
