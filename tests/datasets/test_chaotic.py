"""The driven logistic map."""

import numpy as np
import pytest

from biosfa import SFA
from biosfa.datasets import driven_logistic_map


@pytest.mark.parametrize("variant", ["code", "paper"])
def test_exact_sfa_recovers_the_driving_force(variant):
    """Published: λ_slow = 0.0045 and a correlation of 0.998 for the series of the authors' program."""
    data = driven_logistic_map(100_000, variant=variant, random_state=0)
    sfa = SFA(2).fit(data.expanded())
    slowest = sfa.transform(data.expanded())[:, 0]
    assert abs(np.corrcoef(slowest, data.driving_force)[0, 1]) > 0.99
    if variant == "code":
        assert sfa.delta_values_[0] == pytest.approx(0.0045, rel=0.1)
        assert np.linalg.cond(np.cov(data.expanded().T)) == pytest.approx(7.7e4, rel=0.3)


def test_series_is_the_map_of_its_force():
    for variant, growth, swing in (("code", 3.7, 0.35), ("paper", 3.6, 0.4)):
        data = driven_logistic_map(1000, variant=variant, random_state=3)
        z, gamma = data.series, data.driving_force
        np.testing.assert_allclose(z[1:], (growth + swing * gamma[1:]) * z[:-1] * (1 - z[:-1]), rtol=1e-12)
        np.testing.assert_allclose(np.cov(data.delays.T, bias=True), np.eye(4), atol=1e-10)
        assert np.abs(data.expanded().mean(axis=0)).max() < 1e-12
        again = driven_logistic_map(1000, variant=variant, random_state=3)
        np.testing.assert_array_equal(again.series, z)
    with pytest.raises(ValueError, match="variant must be one of"):
        driven_logistic_map(1000, variant="other")
    with pytest.raises(ValueError, match="n_samples"):
        driven_logistic_map(1)
