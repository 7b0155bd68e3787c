"""The input of the experiment on natural images: moving patches, reduced to their principal components."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from biosfa.analysis import QuadraticForm, quadratic_form
from biosfa.datasets import ImageSequences, image_sequences
from biosfa.episodes import episode_starts
from biosfa.experiments.engine import ExperimentError
from biosfa.kernels.exact import Moments, PrincipalAxes, Tail, accumulate, block_rows, principal_axes
from biosfa.kernels.expansion import quadratic, quadratic_size
from biosfa.typing import Advance, Float64Array, FloatArray, IntArray

CHUNK = 50  # sequences that are learned or measured at a time
FRAMES = 100  # frames per sequence
WEAKEST = 1e-9  # a principal component with less than this share of the largest variance is rounding error


@dataclass(frozen=True)
class Patches:
    """Moving patches and their principal components, as made by :func:`load_patches`.

    Attributes
    ----------
    sequences : ImageSequences
        The patches.
    axes : array of shape (pixels, d)
        Principal axes, the one with the largest variance first.
    deviation : array of shape (d,)
        Standard deviation of the patches along each axis.
    norm : float
        Mean length of a patch after the mean patch is subtracted.
    signal : array of shape (frames, d)
        Principal components with unit variance, float32.
    """

    sequences: ImageSequences
    axes: Float64Array
    deviation: Float64Array
    norm: float
    signal: FloatArray

    @property
    def n_expanded(self) -> int:
        """Number of monomials of degree one and two."""
        return quadratic_size(self.signal.shape[1])

    def rows(self, order: IntArray) -> FloatArray:
        """Return the signal of these sequences, one after the other."""
        d = self.signal.shape[1]
        rows: FloatArray = self.signal.reshape(-1, self.sequences.n_frames, d)[order].reshape(-1, d)
        return rows

    def chunks(self) -> Iterator[IntArray]:
        """Yield the numbers of the sequences, chunk by chunk."""
        yield from np.array_split(np.arange(self.sequences.n_sequences), len(self.sequences))

    def moments(self, report: Advance, order: IntArray | None = None) -> Moments:
        """Return the moments of the expanded signal, with its frames in another order if given.

        The expanded signal is computed in blocks, and is never in memory as a whole.
        """
        collected = Moments(self.n_expanded)
        size = max(1, block_rows(self.n_expanded) // self.sequences.n_frames) * self.sequences.n_frames
        for begin in range(0, len(self.signal), size):
            block = slice(begin, begin + size)
            rows = self.signal[block] if order is None else self.signal[order[block]]
            starts = episode_starts(len(rows), self.sequences.lengths(rows), open_episode=False)
            accumulate(collected, quadratic(rows), starts, 1, Tail.empty(self.n_expanded))
            report(len(rows))
        return collected

    def forms(self, components: Float64Array, mean: Float64Array) -> list[QuadraticForm]:
        """Return features of the expanded signal as quadratic forms of the coordinates along the principal axes."""
        d = self.signal.shape[1]
        whitening = np.diag(1.0 / self.deviation)
        return [quadratic_form(component, mean, d).of(whitening) for component in components]


def load_patches(images: str, n_sequences: int, n_principal: int, seed: int) -> Patches:
    """Make sequences of moving patches, and reduce them to their principal components.

    Parameters
    ----------
    images : str
        The images, as in :func:`biosfa.datasets.image_sequences`.
    n_sequences : int
        Number of sequences of 100 frames.
    n_principal : int
        Number of principal components.
    seed : int
        Seed of the motion, and of images that are made.

    Raises
    ------
    ExperimentError
        If an image is wrong, or if the patches have too few dimensions.

    Examples
    --------
    >>> from biosfa.experiments.images import load_patches
    >>> load_patches("noise", n_sequences=2, n_principal=4, seed=0).signal.shape
    (200, 4)
    """
    try:
        sequences = image_sequences(n_sequences, images=images, n_frames=FRAMES, chunk=CHUNK, random_state=seed)
        moments = Moments(sequences.n_pixels)
        for frames in sequences:
            moments.add_samples(frames)
    except (ValueError, ImportError) as error:  # the message names the image or the package to install
        raise ExperimentError(str(error)) from None
    found = principal_axes(moments.covariance, tolerance=WEAKEST)
    principal = PrincipalAxes(found.variance[:n_principal], found.axes[:, :n_principal])
    if len(principal.variance) < n_principal:
        raise ExperimentError(
            f"the patches of these images vary in fewer than {n_principal} dimensions, or have NaN: choose images with "
            "more structure"
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
