"""Signals that several tests share."""

import pytest
from hypothesis import settings

from biosfa import datasets

settings.register_profile("default", deadline=None, print_blob=True)
settings.load_profile("default")


def slow_mixture(n_samples, times=(200.0, 90.0, 40.0), n_noise=7, seed=0):
    """(sources, signal): sources with these correlation times, and white noise, under a random rotation."""
    made = datasets.slow_mixture(n_samples, times=times, n_noise=n_noise, random_state=seed)
    return made.sources, made.signal


@pytest.fixture(scope="session")
def mixture():
    """(sources, signal) of 400,000 samples: three slow sources among ten dimensions."""
    return slow_mixture(400_000)
