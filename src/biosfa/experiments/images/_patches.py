"""Moving patches of images, reduced to their principal components: the input of the experiment on natural images."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from biosfa.analysis import QuadraticForm, quadratic_form
from biosfa.datasets import ImageSequences, image_sequences
from biosfa.episodes import episode_starts
from biosfa.experiments.engine import ExperimentError
from biosfa.kernels.exact import Moments, PrincipalAxes, accumulate, block_rows, principal_axes
from biosfa.kernels.expansion import quadratic, quadratic_size
from biosfa.typing import Advance, Float64Array, FloatArray, IntArray

CHUNK = 50  # sequences learned or measured at a time
FRAMES = 100  # of a sequence
WEAKEST = 1e-9  # variance, of that of the strongest, below which a principal component is rounding


@dataclass(frozen=True)
class Patches:
    """Patches, and their principal components of unit variance."""

    sequences: ImageSequences
    axes: Float64Array  # (pixels, d): principal axes, the strongest first
    deviation: Float64Array  # (d,): standard deviation of the patches along each
    norm: float  # mean length of a patch less the mean patch
    signal: FloatArray  # (frames, d), float32

    @property
    def n_expanded(self) -> int:
        """Number of monomials of degree one and two."""
        return quadratic_size(self.signal.shape[1])

    def rows(self, order: IntArray) -> FloatArray:
        """The signal of these sequences, one after the other."""
        d = self.signal.shape[1]
        rows: FloatArray = self.signal.reshape(-1, self.sequences.n_frames, d)[order].reshape(-1, d)
        return rows

    def chunks(self) -> Iterator[IntArray]:
        """Numbers of the sequences, chunk by chunk."""
        yield from np.array_split(np.arange(self.sequences.n_sequences), len(self.sequences))

    def moments(self, report: Advance, order: IntArray | None = None) -> Moments:
        """Moments of the expanded signal, which is never held as a whole; of its frames in another order, if given."""
        collected = Moments(self.n_expanded)
        size = max(1, block_rows(self.n_expanded) // self.sequences.n_frames) * self.sequences.n_frames
        for begin in range(0, len(self.signal), size):
            block = slice(begin, begin + size)
            rows = self.signal[block] if order is None else self.signal[order[block]]
            starts = episode_starts(len(rows), self.sequences.lengths(rows), open_episode=False)
            accumulate(collected, quadratic(rows), starts, 1, np.empty((0, self.n_expanded)))
            report(len(rows))
        return collected

    def forms(self, components: Float64Array, mean: Float64Array) -> list[QuadraticForm]:
        """Features of the expanded signal as forms of the coordinates along the principal axes."""
        d = self.signal.shape[1]
        whitening = np.diag(1.0 / self.deviation)
        return [quadratic_form(component, mean, d).of(whitening) for component in components]


def load_patches(images: str, n_sequences: int, n_principal: int, seed: int) -> Patches:
    """Make the sequences, and find their principal components in a first pass over them."""
    try:
        sequences = image_sequences(n_sequences, images=images, n_frames=FRAMES, chunk=CHUNK, random_state=seed)
        moments = Moments(sequences.n_pixels)
        for frames in sequences:
            moments.add_samples(frames)
    except (ValueError, ImportError) as error:  # it names the image, or what to install
        raise ExperimentError(str(error)) from None
    found = principal_axes(moments.covariance, tolerance=WEAKEST)
    principal = PrincipalAxes(found.variance[:n_principal], found.axes[:, :n_principal])
    if len(principal.variance) < n_principal:
        raise ExperimentError(
            f"the patches of these images vary in fewer than {n_principal} dimensions, or have NaN: give images with "
            "more in them"
        )
    deviation, axes = np.sqrt(principal.variance), principal.axes
    signal = np.empty((n_sequences * sequences.n_frames, n_principal), np.float32)
    length, done = 0.0, 0
    for frames in sequences:
        centred = frames - moments.mean
        length += float(np.linalg.norm(centred, axis=1).sum())
        signal[done : done + len(frames)] = centred @ principal.whitening
        done += len(frames)
    return Patches(sequences, axes, deviation, length / done, signal)
