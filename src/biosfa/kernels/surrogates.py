"""Surrogates: samples that keep some properties of a recording, but not the one that is tested."""

import numpy as np

from biosfa.typing import Float64Array, FloatArray, IntArray

# Of all change along an episode: a column whose end is further from its beginning would have a jump there, if the
# episode were read as a period.
LARGEST_JUMP = 0.01


def phase_randomised(X: FloatArray, lengths: IntArray, rng: np.random.Generator) -> Float64Array:
    """Return columns with the same spectra and with random phases (Theiler et al. 1992).

    The slowness of every single column stays the same, but columns no longer share anything. ``lengths`` has the number
    of rows of each episode; episodes are treated one by one.
    """
    surrogate = np.empty(X.shape)
    begin = 0
    for length in lengths:
        rows = slice(begin, begin + int(length))
        for column in range(X.shape[1]):
            surrogate[rows, column] = _randomised(X[rows, column].astype(np.float64), rng)
        begin = rows.stop
    return surrogate


def _randomised(x: Float64Array, rng: np.random.Generator) -> Float64Array:
    """One column of one episode. Where it drifts, it is followed by its mirror image, and cut in half afterwards."""
    mean, changes = x.mean(), np.square(np.diff(x)).sum()
    period = x - mean
    if (x[-1] - x[0]) ** 2 > LARGEST_JUMP * changes:
        period = np.concatenate([period, period[::-1]])
    spectrum = np.fft.rfft(period)
    turned = spectrum * np.exp(2j * np.pi * rng.random(len(spectrum)))
    turned[0] = spectrum[0]
    if len(period) % 2 == 0:  # the highest frequency has no phase
        turned[-1] = spectrum[-1]
    made: Float64Array = np.fft.irfft(turned, n=len(period))[: len(x)] + mean
    return made
