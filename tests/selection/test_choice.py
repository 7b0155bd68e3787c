"""What is recommended, and why."""

import numpy as np
import pytest

from biosfa.selection import choose
from tests.selection.test_timescales import mixed, processes


@pytest.mark.parametrize("k", [1, 3])
def test_the_number_of_slow_sources_is_found(k):
    found = choose(mixed([*[300, 100, 40][:k], 4, 3, 2, 1, 0.5], 20_000, seed=k))
    assert (found.n_components, found.lag, found.expansion, found.pca) == (k, 1, None, None)
    assert found.reasons[0].startswith(f"{k} feature")
    assert found.significance.n_real >= k


def test_noise_without_memory_asks_for_a_longer_lag():
    rng = np.random.default_rng(0)
    X = processes([50, 30], 40_000, rng) @ rng.standard_normal((2, 4)) + rng.standard_normal((40_000, 4))
    found = choose(X)
    assert (found.n_components, found.expansion) == (2, None)
    assert 2 <= found.lag <= 20
    assert "grow up to this lag" in found.reasons[1]


def test_a_slow_signal_in_a_product_asks_for_the_expansion():
    rng = np.random.default_rng(0)
    sign, noise = rng.choice([-1.0, 1.0], 20_000), rng.standard_normal((20_000, 2))
    X = np.column_stack([sign * np.sin(np.arange(20_000) / 80), sign, noise])
    found = choose(X)
    assert (found.n_components, found.expansion) == (2, "quadratic")  # the sine, and its square


def test_white_noise_is_cautioned_about():
    found = choose(np.random.default_rng(0).standard_normal((5000, 4)))
    assert "Only 0 features of" in found.cautions[0]


def test_many_columns_are_reduced_before_the_expansion():
    rng = np.random.default_rng(0)
    found = choose(rng.standard_normal((3000, 25)), max_components=3)
    assert {(each.expansion, each.pca) for each in found.cross_validation.candidates} == {
        (None, None),
        ("quadratic", 20),
    }


def test_progress_reports_every_part():
    parts = {}
    choose(mixed([20, 1], 3000, seed=0), progress=lambda what, share: parts.setdefault(what, []).append(share))
    assert list(parts) == ["timescales", "quadratic expansion", "surrogates"]
    assert all(shares == sorted(shares) and shares[-1] == 1.0 for shares in parts.values())
