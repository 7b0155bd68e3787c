"""Surrogates: samples that keep some properties of a recording, but not the one that is tested."""

import numpy as np
from scipy import fft

from biosfa.typing import Float64Array, FloatArray, IntArray


class SignRandomised:
    """Makes columns that are as slow as those of the samples, but share nothing.

    Every coefficient of the discrete cosine transform of a column gets a random sign, episode by episode. The cosines
    diagonalise the difference of neighbours along an episode, with free ends. So the sum of squared differences of
    every column stays exactly as it is, also for columns that drift, for which the usual random phases of a Fourier
    transform (Theiler et al. 1992) would see a jump from the end to the beginning. The sign of the mean of an episode,
    relative to that of all, is random, too.
    """

    def __init__(self, X: FloatArray, lengths: IntArray) -> None:
        self._mean = X.mean(axis=0, dtype=np.float64)
        centred = X - self._mean
        begins = np.cumsum(lengths) - lengths
        self._groups = []  # episodes of one length: their rows, and their coefficients
        for length in np.unique(lengths):
            rows = begins[lengths == length][:, None] + np.arange(length)
            self._groups.append((rows, fft.dct(centred[rows], axis=1, norm="ortho")))
        self._shape = X.shape

    def draw(self, rng: np.random.Generator) -> Float64Array:
        """Return one surrogate of the samples."""
        made = np.empty(self._shape)
        for rows, coefficients in self._groups:
            signs = 1.0 - 2.0 * rng.integers(0, 2, coefficients.shape, np.int8)
            made[rows] = fft.idct(signs * coefficients, axis=1, norm="ortho", overwrite_x=True)
        made += self._mean
        return made
