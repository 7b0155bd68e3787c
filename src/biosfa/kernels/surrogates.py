"""Surrogates: samples that keep some properties of a recording, but not the one that is tested."""

from typing import NamedTuple

import numpy as np
from scipy import fft

from biosfa.typing import Float64Array, FloatArray, IntArray

# Of all change along an episode: a column whose end is further from its beginning would have a jump there, if the
# episode were read as a period.
LARGEST_JUMP = 0.01


class _Spectra(NamedTuple):
    """Spectra of some columns of an episode."""

    rows: slice
    columns: IntArray
    period: int  # the length of the episode, or twice that
    spectra: np.ndarray[tuple[int, ...], np.dtype[np.complex128]]  # (columns, frequencies), without the mean


class PhaseRandomised:
    """Makes columns with the same spectra as those of samples, and with random phases (Theiler et al. 1992).

    The slowness of every single column stays the same, but columns no longer share anything. ``lengths`` has the number
    of rows of each episode; episodes are treated one by one. Where a column drifts, its episode is followed by its
    mirror image, and the surrogate is cut in half.
    """

    def __init__(self, X: FloatArray, lengths: IntArray) -> None:
        self._means: list[tuple[slice, Float64Array]] = []
        self._spectra: list[_Spectra] = []
        self._shape = X.shape
        begin = 0
        for length in lengths.tolist():
            rows = slice(begin, begin + length)
            begin = rows.stop
            mean = X[rows].mean(axis=0, dtype=np.float64)
            self._means.append((rows, mean))
            centred = (X[rows] - mean).T
            changes = np.square(np.diff(centred)).sum(axis=1)
            drifts = np.square(centred[:, -1] - centred[:, 0]) > LARGEST_JUMP * changes
            for columns, whole in (
                (np.flatnonzero(~drifts), centred[~drifts]),
                (np.flatnonzero(drifts), np.concatenate([centred[drifts], centred[drifts, ::-1]], axis=1)),
            ):
                if len(columns):
                    self._spectra.append(_Spectra(rows, columns, whole.shape[1], fft.rfft(whole)))

    def draw(self, rng: np.random.Generator) -> Float64Array:
        """Return one surrogate of the samples."""
        made = np.empty(self._shape)
        for rows, columns, period, spectra in self._spectra:
            turned = spectra * np.exp(2j * np.pi * rng.random(spectra.shape))
            turned[:, 0] = 0.0
            if period % 2 == 0:  # the highest frequency has no phase
                turned[:, -1] = spectra[:, -1]
            made[rows, columns] = fft.irfft(turned, n=period)[:, : rows.stop - rows.start].T
        for rows, mean in self._means:
            made[rows] += mean
        return made
