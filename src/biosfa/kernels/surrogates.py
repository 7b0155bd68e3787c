"""Surrogates: samples that keep some properties of a recording and lose the one that is asked about."""

import numpy as np

from biosfa.typing import Float64Array, FloatArray, IntArray

# Of all change along an episode: a column whose end is further from its beginning would have a jump there, if the
# episode were read as a period.
LARGEST_JUMP = 0.01


def phase_randomised(X: FloatArray, lengths: IntArray, rng: np.random.Generator) -> Float64Array:
    """Columns with the spectra that they have, and with phases of their own (Theiler et al. 1992).

    Every column stays as slow as it is by itself; what the columns have in common is lost. Episodes, whose lengths are
    given, are treated one by one.
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
