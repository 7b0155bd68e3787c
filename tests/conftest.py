"""Signals that several tests share."""

import numpy as np
import pytest
from hypothesis import settings
from scipy.signal import lfilter

settings.register_profile("default", deadline=None, print_blob=True)
settings.load_profile("default")


def slow_mixture(n_samples, times=(200.0, 90.0, 40.0), n_noise=7, seed=0):
    """Sources that forget exponentially, at these correlation times, and white noise, under a random rotation."""
    rng = np.random.default_rng(seed)
    memory = np.append(np.exp(-1 / np.asarray(times)), np.zeros(n_noise))
    noise = rng.standard_normal((n_samples, len(memory)))
    sources = np.stack([lfilter([np.sqrt(1 - p**2)], [1, -p], noise[:, i]) for i, p in enumerate(memory)], axis=1)
    rotation = np.linalg.qr(rng.standard_normal((len(memory), len(memory))))[0]
    return sources[:, : len(times)], sources @ rotation


@pytest.fixture(scope="session")
def mixture():
    """(sources, signal) of 400,000 samples: three slow sources among ten dimensions."""
    return slow_mixture(400_000)
