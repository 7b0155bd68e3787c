"""Signals whose slow features are known: slow sources in noise, and a direction that turns."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.signal import lfilter

from biosfa.typing import Float64Array


@dataclass(frozen=True)
class SlowMixture:
    """Slow sources mixed with noise, as made by :func:`slow_mixture`.

    Attributes
    ----------
    sources : array of shape (n_samples, n_slow)
        The slow sources, with unit variance.
    signal : array of shape (n_samples, n_slow + n_noise)
        Sources and noise, mixed by a random rotation.

    Examples
    --------
    >>> from biosfa.datasets import slow_mixture
    >>> mixture = slow_mixture(1000, random_state=0)
    >>> mixture.sources.shape, mixture.signal.shape
    ((1000, 3), (1000, 10))
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
    """Mix slow Gaussian sources with white noise by a random rotation.

    The autocorrelation of each source decays exponentially in time.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    times : array-like of float, default=(200, 90, 40)
        Correlation time T of each source, in samples. The slowness of a source is 2(1 − exp(−1/T)).
    n_noise : int, default=7
        Number of columns of white noise.
    random_state : int, Generator or None, default=None
        Seed of the sources, the noise and the rotation.

    Returns
    -------
    SlowMixture

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
    """A direction that turns at random, and the signal of its sensors, as made by :func:`head_direction`.

    Attributes
    ----------
    angle : array of shape (n_samples,)
        The direction in radians, not wrapped to one turn.
    signal : array of shape (n_samples, 2 n_harmonics + n_noise)
        Harmonics of the direction and noise, mixed by a random rotation.

    Examples
    --------
    >>> from biosfa.datasets import head_direction
    >>> data = head_direction(1000, random_state=0)
    >>> data.angle.shape, data.signal.shape
    ((1000,), (1000, 16))
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
    """Make a random walk of a direction φ, and mix its harmonics cos nφ and sin nφ with white noise.

    Slow feature analysis finds the harmonics, in pairs. If the outputs cannot be negative, each output responds to one
    range of directions.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    n_harmonics : int, default=4
        Number of harmonics: n = 1, …, n_harmonics.
    n_noise : int, default=8
        Number of columns of white noise.
    turn : float, default=0.05
        Standard deviation of a step, in radians. The slowness of harmonic n is 2(1 − exp(−n² turn²/2)).
    random_state : int, Generator or None, default=None
        Seed of the walk, the noise and the rotation.

    Returns
    -------
    HeadDirection

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
