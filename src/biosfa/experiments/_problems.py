"""What the arena is about: streams, with the slowness that their best features have."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from biosfa import metrics
from biosfa.datasets import driven_logistic_map, slow_mixture
from biosfa.episodes import episode_lengths, episode_starts
from biosfa.experiments._errors import ExperimentError
from biosfa.experiments._patches import FRAMES, load_patches
from biosfa.io import open_stream
from biosfa.kernels.eigen import SlowDirections, slow_directions
from biosfa.kernels.expansion import quadratic
from biosfa.kernels.moments import Moments
from biosfa.typing import BoolArray, Float64Array

IMAGES_COMPONENTS = 16  # principal components of image patches, of which there are 152 monomials


@dataclass(frozen=True)
class Problem:
    """A stream to learn from; learners are judged on all of it."""

    n_components: int
    signal: Float64Array
    starts: BoolArray  # which rows begin an episode

    @cached_property
    def moments(self) -> Moments:
        """Of the whole stream."""
        return metrics.moments(self.signal, episode_lengths(self.starts))

    @cached_property
    def best(self) -> SlowDirections:
        """The slowest features there are."""
        found = slow_directions(
            self.moments.covariance, self.moments.difference_covariance, n_components=self.n_components
        )
        if found.rank < self.n_components:
            raise ExperimentError(
                f"the stream has rank {found.rank}, too little for {self.n_components} features: ask for fewer with "
                "--components"
            )
        return found

    def error(self, directions: Float64Array) -> float:
        """Slowness of features beyond the least possible, relative to that; NaN if they are not as many as asked."""
        least = float(self.best.delta_values.sum())
        try:
            return float(metrics.subspace_slowness(directions, self.moments)) / least - 1.0
        except ValueError:
            return float("nan")

    def angle(self, directions: Float64Array) -> float:
        """Largest angle to the slowest features, in degrees."""
        return float(np.degrees(metrics.subspace_angle(directions, self.best.directions, self.moments)))


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


def load_problem(name: str, n_samples: int, n_components: int, seed: int, **stream: Any) -> Problem:
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
    return _problem_of_file(name, n_samples, n_components, **stream)


def _problem_of_file(name: str, n_samples: int, n_components: int, **stream: Any) -> Problem:
    rows, starts, taken = [], [], 0
    for chunk in open_stream(name, missing="break", **stream):
        rows.append(chunk.samples[: n_samples - taken].astype(np.float64))
        starts.append(chunk.starts[: n_samples - taken])
        taken += len(rows[-1])
        if taken == n_samples:
            break
    return _problem(np.concatenate(rows), n_components, np.concatenate(starts))


def _problem(signal: Float64Array, n_components: int, starts: BoolArray | None = None) -> Problem:
    if n_components > signal.shape[1]:
        raise ExperimentError(f"{n_components} features of {signal.shape[1]} columns: ask for fewer with --components")
    begins = np.arange(len(signal)) == 0 if starts is None else starts
    return Problem(n_components, signal, begins)
