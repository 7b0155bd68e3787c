"""Signals whose slow features are known: sources that forget, and a direction that turns."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.signal import lfilter

from biosfa.typing import Float64Array


@dataclass(frozen=True)
class SlowMixture:
    """Slow sources that were mixed with noise.

    Attributes
    ----------
    sources : array of shape (n_samples, n_slow)
        The slow ones, of unit variance, the slowest first.
    signal : array of shape (n_samples, n_slow + n_noise)
        Sources and noise under a random rotation.
    """

    sources: Float64Array
    signal: Float64Array


def slow_mixture(
    n_samples: int,
    *,
    times: ArrayLike = (200.0, 90.0, 40.0),
    n_noise: int = 7,
    random_state: int | np.random.Generator | None = None,
) -> SlowMixture:
    """Independent Gaussian sources that forget exponentially, and white noise, under a random rotation.

    Parameters
    ----------
    n_samples : int
        Length of the stream.
    times : array-like of float
        Correlation times T of the sources, in samples: their slowness is 2(1 − exp(−1/T)).
    n_noise : int
        Columns of white noise.
    random_state : int, Generator or None
        For the sources and the rotation.

    Examples
    --------
    >>> from biosfa import SFA
    >>> from biosfa.datasets import slow_mixture
    >>> stream = slow_mixture(100_000, random_state=0)
    >>> SFA(3).fit(stream.signal).timescales_.round(-1)
    array([190.,  90.,  40.])
    """
    rng = np.random.default_rng(random_state)
    slow = np.exp(-1 / np.asarray(times, dtype=np.float64))
    memory = np.append(slow, np.zeros(n_noise))
    noise = rng.standard_normal((n_samples, len(memory)))
    sources = np.stack([lfilter([np.sqrt(1 - p**2)], [1, -p], noise[:, i]) for i, p in enumerate(memory)], axis=1)
    return SlowMixture(sources[:, : len(slow)], sources @ _rotation(len(memory), rng))


@dataclass(frozen=True)
class HeadDirection:
    """A direction that turns at random, and what sensors make of it.

    Attributes
    ----------
    angle : array of shape (n_samples,)
        The direction, in radians, not wrapped.
    signal : array of shape (n_samples, 2 n_harmonics + n_noise)
        Harmonics of it and noise under a random rotation.
    """

    angle: Float64Array
    signal: Float64Array


def head_direction(
    n_samples: int,
    *,
    n_harmonics: int = 4,
    n_noise: int = 8,
    turn: float = 0.05,
    random_state: int | np.random.Generator | None = None,
) -> HeadDirection:
    """A random walk on the circle, seen as cos nφ and sin nφ, mixed with white noise.

    Slow feature analysis finds the harmonics, in pairs; outputs that cannot be negative tile the circle.

    Parameters
    ----------
    n_samples : int
        Length of the stream.
    n_harmonics : int
        Largest n.
    n_noise : int
        Columns of white noise.
    turn : float
        Standard deviation of a step, in radians: the slowness of harmonic n is 2(1 − exp(−n² turn²/2)).
    random_state : int, Generator or None
        For the walk, the noise and the rotation.

    Examples
    --------
    >>> from biosfa import SFA
    >>> from biosfa.datasets import head_direction
    >>> stream = head_direction(100_000, random_state=0)
    >>> SFA(4).fit(stream.signal).delta_values_.round(3)
    array([0.002, 0.003, 0.01 , 0.011])
    """
    rng = np.random.default_rng(random_state)
    angle = np.cumsum(turn * rng.standard_normal(n_samples))
    phases = angle[:, None] * np.arange(1, n_harmonics + 1)
    seen = np.concatenate([np.cos(phases), np.sin(phases), rng.standard_normal((n_samples, n_noise))], axis=1)
    return HeadDirection(angle, seen @ _rotation(seen.shape[1], rng))


def _rotation(size: int, rng: np.random.Generator) -> Float64Array:
    rotation: Float64Array = np.linalg.qr(rng.standard_normal((size, size)))[0]
    return rotation
