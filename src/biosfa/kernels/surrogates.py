"""Surrogates: samples that keep some properties of a recording, but not the one that is tested."""

import numpy as np
from scipy import fft

from biosfa.typing import BoolArray, Float64Array, FloatArray, IntArray

# Episodes count as pieces of one trajectory if there are few of them, that is if N²/Σn² is less than this for episodes
# of n rows, and if columns go on without a jump: the squared step from the end of an episode to the beginning of the
# next is less than so many mean squared steps, on average over columns. Otherwise, the means of episodes are drawn
# apart from what is within them. With few pieces of random walks this is wrong, because mean and slope of a piece
# depend on each other: at a level of 5%, it called 14 to 15% of the walks in 2 or 3 pieces slower than chance.
FEW_EPISODES, JUMP = 13.0, 4.0
FEWEST_TO_EXCHANGE = 5  # episodes of one length; fewer have too few places to be shifted to


class SignRandomised:
    """Makes columns that are as slow as those of the samples, but share nothing.

    Cosines diagonalise the difference of neighbours along a series with free ends, and nearly decorrelate
    autoregressive processes and random walks. So random signs of the coefficients of a cosine transform give another
    series of the same process, which has exactly the same sum of squared differences. Columns may drift: the usual
    random phases of a Fourier transform (Theiler et al. 1992) would see a jump from the end to the beginning.

    With several episodes, the variance of a column has two orthogonal parts. Within an episode, the coefficients of its
    own transform get random signs. The means of episodes become those of a trajectory: all rows in order, with random
    signs of its transform, scaled to the variance that the means had. So variance and squared differences within
    episodes stay exactly as they are, whether episodes are pieces of one recording or recordings of their own.

    A few long pieces of one recording become pieces of the trajectory z itself. It is smoothed or sharpened, to
    (1 + gL)z, where Lz is the sum of the differences of a row to its neighbours in the episode. g solves a quadratic
    equation, so that the column is as slow as before. If it has no solution, means are drawn apart as above.
    """

    def __init__(self, X: FloatArray, lengths: IntArray) -> None:
        self._mean = X.mean(axis=0, dtype=np.float64)
        centred = np.ascontiguousarray((X - self._mean).T)  # (m, N): transforms are along rows of memory
        self._lengths = np.asarray(lengths)
        self._begins = np.cumsum(self._lengths) - self._lengths
        self._groups = []  # episodes of one length: their rows, and their coefficients without the mean
        for length in np.unique(self._lengths[self._lengths > 1]):
            rows = self._begins[self._lengths == length][:, None] + np.arange(length)
            coefficients = fft.dct(centred[:, rows], norm="ortho", overwrite_x=True)
            coefficients[:, :, 0] = 0.0
            self._groups.append((rows, coefficients))
        self._between = self._power_of(self._means_of(centred))
        if len(self._lengths) > 1:
            self._trajectory = fft.dct(centred, norm="ortho")
        self._in_pieces = self._are_pieces(centred)
        if self._in_pieces:
            self._variance = np.square(centred).sum(axis=1)
            self._squares = np.einsum("ij,ij->i", centred, self._differences_to_neighbours(centred))

    def draw(self, rng: np.random.Generator) -> Float64Array:
        """Return one surrogate of the samples."""
        several = len(self._lengths) > 1
        trajectory = fft.idct(_with_signs(self._trajectory, rng), norm="ortho", overwrite_x=True) if several else None
        if trajectory is not None and self._in_pieces:
            pieces = self._as_slow(trajectory)
            if pieces is not None:
                return np.asarray(pieces.T + self._mean)
        made = np.zeros((len(self._mean), int(self._lengths.sum())))
        for rows, coefficients in self._groups:
            made[:, rows] = fft.idct(_with_signs(coefficients, rng), norm="ortho", overwrite_x=True)
        if trajectory is not None:
            means = self._means_of(trajectory)
            power = self._power_of(means)
            means *= np.sqrt(self._between / np.where(power > 0.0, power, 1.0))[:, None]
            made += np.repeat(means, self._lengths, axis=1)
        return np.asarray(made.T + self._mean)

    def _are_pieces(self, centred: Float64Array) -> bool:
        """Return whether episodes are a few pieces of one trajectory."""
        lengths = self._lengths.astype(np.float64)
        several = 1 < len(lengths) < lengths.sum()  # and rows with a row before them
        if not several or np.square(lengths.sum()) >= FEW_EPISODES * np.square(lengths).sum():
            return False
        squares = np.square(np.diff(centred))
        across = self._begins[1:] - 1
        jumps, steps = squares[:, across].mean(axis=1), np.delete(squares, across, axis=1).mean(axis=1)
        varies = jumps + steps > 0.0
        if not varies.any() or (steps[varies] == 0.0).any():  # constant within episodes
            return False
        return bool((jumps[varies] / steps[varies]).mean() < JUMP)

    def _as_slow(self, z: Float64Array) -> Float64Array | None:
        """Return (1 + gL)z for the g at which it is as slow as the samples; None if there is no such g."""
        z1 = self._differences_to_neighbours(z)
        z2 = self._differences_to_neighbours(z1)
        m0, m1, m2, m3 = (np.einsum("ij,ij->i", a, b) for a, b in ((z, z), (z, z1), (z1, z1), (z1, z2)))
        own = self._squares / np.where(self._variance > 0.0, self._variance, 1.0)
        a, b, c = m3 - own * m2, m2 - own * m1, m1 - own * m0  # a g² + 2 b g + c = 0
        discriminant = b * b - a * c
        if (discriminant < 0.0).any():
            return None
        below = b + np.sqrt(discriminant)
        bent: Float64Array = z - (c / np.where(below > 0.0, below, 1.0))[:, None] * z1
        variance = np.square(bent).sum(axis=1)
        bent *= np.sqrt(self._variance / np.where(variance > 0.0, variance, 1.0))[:, None]
        return bent

    def _differences_to_neighbours(self, z: Float64Array) -> Float64Array:
        """Return Lz: the sum of the differences of each row to its neighbours in the episode."""
        steps, found = np.diff(z), np.zeros_like(z)
        steps[:, self._begins[1:] - 1] = 0.0
        found[:, :-1] -= steps
        found[:, 1:] += steps
        return found

    def _means_of(self, z: Float64Array) -> Float64Array:
        """Return the mean of each episode."""
        means: Float64Array = np.add.reduceat(z, self._begins, axis=1) / self._lengths
        return means

    def _power_of(self, means: Float64Array) -> Float64Array:
        """Return the part of the sum of squares that the means of episodes have."""
        power: Float64Array = np.square(means) @ self._lengths
        return power


class RowsShifted:
    """Columns as they are, but shifted in time against each other, in a circle.

    This keeps everything about each column, except at the ends of episodes and of the recording.
    """

    def __init__(self, X: FloatArray, lengths: IntArray) -> None:
        self._X = X

    def draw(self, rng: np.random.Generator) -> Float64Array:
        """Return one surrogate of the samples."""
        return np.column_stack([np.roll(column, rng.integers(len(column))) for column in self._X.T.astype(np.float64)])


class EpisodesShifted:
    """Columns of which episodes of one length change places, in order of time, in a circle.

    All lengths are shifted by the same share of the recording. So each column keeps exactly what happens within
    episodes, and roughly which level follows which. If there are few episodes of one length, their rows are shifted
    within each of them.
    """

    def __init__(self, X: FloatArray, lengths: IntArray) -> None:
        self._X = np.asarray(X, dtype=np.float64)
        begins = np.cumsum(lengths) - lengths
        self._groups = [begins[lengths == length][:, None] + np.arange(length) for length in np.unique(lengths)]

    def draw(self, rng: np.random.Generator) -> Float64Array:
        """Return one surrogate of the samples."""
        made = np.empty_like(self._X)
        for column in range(self._X.shape[1]):
            share = rng.random()
            for rows in self._groups:
                axis = 0 if len(rows) >= FEWEST_TO_EXCHANGE else 1
                made[rows, column] = self._X[np.roll(rows, int(share * rows.shape[axis]), axis), column]
        return made


def varying_columns(X: FloatArray) -> BoolArray:
    """Return which columns vary."""
    return np.asarray((X[:1] != X).any(axis=0))


def _with_signs(coefficients: Float64Array, rng: np.random.Generator) -> Float64Array:
    """Return coefficients with random signs."""
    bits = np.unpackbits(rng.integers(0, 256, -(-coefficients.size // 8), np.uint8), count=coefficients.size)
    signs = 1.0 - 2.0 * bits.reshape(coefficients.shape)
    signs *= coefficients
    return np.asarray(signs)
