"""Surrogates: samples that keep some properties of a recording and lose the one that is asked about."""

import numpy as np

from biosfa.typing import Float64Array, FloatArray, IntArray


def phase_randomised(X: FloatArray, lengths: IntArray, rng: np.random.Generator) -> Float64Array:
    """Columns with the spectra that they have, and with phases of their own (Theiler et al. 1992).

    Every column stays as slow as it is by itself; what the columns have in common is lost. Episodes, whose lengths are
    given, are treated one by one. Each is followed by its mirror image before its phases are drawn, and cut in half
    afterwards: a jump from its end to its beginning would count as fast change.
    """
    surrogate = np.empty(X.shape)
    begin = 0
    for length in lengths:
        rows = slice(begin, begin + int(length))
        mean = X[rows].mean(axis=0, dtype=np.float64)
        centred = X[rows] - mean
        spectrum = np.fft.rfft(np.concatenate([centred, centred[::-1]]), axis=0)
        turned = spectrum * np.exp(2j * np.pi * rng.random(spectrum.shape))
        turned[0], turned[-1] = spectrum[0], spectrum[-1]  # the mean and the highest frequency have no phase
        surrogate[rows] = np.fft.irfft(turned, n=2 * int(length), axis=0)[: int(length)] + mean
        begin = rows.stop
    return surrogate
