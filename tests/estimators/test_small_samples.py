"""Samples so small that weights do not fit into their type."""

import numpy as np
import pytest

from biosfa import SFA, OfflineBioSFA, OnlineSFA
from tests.conftest import slow_mixture


@pytest.mark.parametrize(
    "model",
    [SFA(2), SFA(2, pca=3), SFA(2, n_delays=2), OnlineSFA(2, random_state=0), OfflineBioSFA(2, random_state=0)],
    ids=str,
)
def test_features_of_subnormal_float32_samples_are_those_of_the_same_in_other_units(model):
    X = slow_mixture(3000, times=(30.0, 5.0), n_noise=3, seed=1)[1]
    small = (X * 1e-39).astype(np.float32)
    features = model.fit(small).transform(small)
    assert features.dtype == np.float32
    usual = model.fit(X).transform(X)
    np.testing.assert_allclose(np.abs(features), np.abs(usual), atol=1e-2)
