"""Automatic rates."""

import numpy as np

from biosfa.learning._rates import stable_tau


def test_the_automatic_tau_is_stable_by_the_limit_of_the_docs():
    for eigenvalues in ([2.0, 3.99], [3.0, 4.0], [3.9, 3.99], [0.5, 4.0], [2.0, 6.0]):
        first, last = min(eigenvalues[-1], 4.0), eigenvalues[0]
        limit = 0.25 + first * last / (first - last) ** 2
        assert 0.0 < stable_tau(np.array(eigenvalues), 10**6) < limit
    assert stable_tau(np.array([3.7]), 10**6) == np.inf
    assert stable_tau(np.array([3.7, 4.3]), 100) == np.inf  # all of that may be noise
    assert stable_tau(np.array([-1e-9, 4.0]), 10**6) > 0.0
