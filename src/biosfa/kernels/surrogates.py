"""Surrogates: samples that keep some properties of a recording and lose the one that is asked about."""

import numpy as np

from biosfa.typing import Float64Array, FloatArray, IntArray


def phase_randomised(X: FloatArray, lengths: IntArray, rng: np.random.Generator) -> Float64Array:
    """Columns with the spectra that they have, and with phases of their own (Theiler et al. 1992).

    Every column stays as slow as it is by itself; what the columns have in common is lost. Episodes, whose lengths are
    given, are treated one by one, each about its own mean.
    """
    surrogate = np.empty(X.shape)
    begin = 0
    for length in lengths:
        rows = slice(begin, begin + int(length))
        mean = X[rows].mean(axis=0, dtype=np.float64)
        spectrum = np.fft.rfft(X[rows] - mean, axis=0)
        turned = spectrum * np.exp(2j * np.pi * rng.random(spectrum.shape))
        turned[0] = spectrum[0]
        if length % 2 == 0:  # the highest frequency has no phase
            turned[-1] = spectrum[-1]
        surrogate[rows] = np.fft.irfft(turned, n=int(length), axis=0) + mean
        begin = rows.stop
    return surrogate
