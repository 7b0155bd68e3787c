"""Signals, a measure and a mark that several tests share."""

import os
import sys

# One process per core runs the tests. More threads would only wait for one another, and sums depend on their number.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

from biosfa import datasets

settings.register_profile("default", deadline=None, print_blob=True)
settings.load_profile("default")

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has other signals, links and special files")


def slow_mixture(n_samples, times=(200.0, 90.0, 40.0), n_noise=7, seed=0):
    """(sources, signal): sources with these correlation times, and white noise, under a random rotation."""
    made = datasets.slow_mixture(n_samples, times=times, n_noise=n_noise, random_state=seed)
    return made.sources, made.signal


def ill_conditioned(n_samples, condition, seed=0):
    """Three slow sources among ten dimensions, and a mixture whose covariance has this condition number."""
    sources, X = slow_mixture(n_samples, seed=seed)
    deviations = np.geomspace(1, condition**-0.5, X.shape[1])
    mixing = np.linalg.qr(np.random.default_rng(seed + 1).standard_normal((X.shape[1],) * 2))[0]
    return sources, (X * deviations) @ mixing


def deviation(ours, theirs):
    """Largest difference of two arrays, relative to the largest entry."""
    return np.abs(ours - theirs).max() / max(np.abs(theirs).max(), 1e-300)


@pytest.fixture(scope="session")
def mixture():
    """(sources, signal) of 400,000 samples: three slow sources among ten dimensions."""
    return slow_mixture(400_000)
