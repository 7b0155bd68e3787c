"""What is recommended, and why."""

from dataclasses import replace

import numpy as np
import pytest

from biosfa.selection import _choice, choose
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
    assert "nothing here may be slow" in found.cautions[0]


def test_trends_and_seasons_do_not_ask_for_a_lag_that_is_longer_than_other_timescales():
    rng = np.random.default_rng(0)
    n = 10_000
    slow = np.column_stack([3 * np.arange(n) / n, processes([50, 30], n, rng)])
    found = choose(slow @ rng.standard_normal((3, 8)) + 0.5 * rng.standard_normal((n, 8)))
    assert found.n_components >= 2
    assert found.lag - found.n_delays < 20  # windows are so far apart
    hours = np.arange(n // 2)[:, None]
    seasons = [f(2 * np.pi * hours / period) for f in (np.sin, np.cos) for period in (24, 168)]
    found = choose(np.hstack(seasons) @ rng.standard_normal((4, 8)) + 0.5 * rng.standard_normal((n // 2, 8)))
    assert found.lag - found.n_delays < 5


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param({"n": 100, "m": 150}, id="more columns than rows"),
        pytest.param({"n": 100, "m": 3}, id="few rows"),
        pytest.param({"n": 4000, "m": 3, "flag": slice(2000, 2005)}, id="a flag that is set once"),
        pytest.param({"n": 4000, "m": 24, "rank": 4}, id="many columns of low rank"),
        pytest.param({"n": 4000, "m": 4, "lengths": [200] * 20, "label": True}, id="a column that labels episodes"),
    ],
)
@pytest.mark.filterwarnings("ignore::biosfa.RankDeficiencyWarning")
def test_odd_recordings_give_an_answer(odd):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((odd["n"], odd["m"]))
    if "flag" in odd:
        X[:, 0] = 0.0
        X[odd["flag"], 0] = 1.0
    if "rank" in odd:
        X = X[:, : odd["rank"]] @ rng.standard_normal((odd["rank"], odd["m"]))
    if "label" in odd:
        X[:, 0] = np.repeat(np.arange(20), 200)
    found = choose(X, lengths=odd.get("lengths"))
    assert found.n_components >= 1


def test_too_few_rows_are_named():
    with pytest.raises(ValueError, match="too few"):
        choose(np.random.default_rng(0).standard_normal((20, 2)))


def test_many_columns_are_reduced_before_the_expansion():
    rng = np.random.default_rng(0)
    found = choose(rng.standard_normal((3000, 25)), max_components=3)
    among = {(each.expansion, each.n_delays, each.pca) for each in found.cross_validation.candidates}
    numbered = [(each.setting, each.n_components) for each in found.cross_validation.candidates]
    assert len({*numbered}) == len(numbered)
    assert {(None, 1, None), (None, 1, 10), (None, 1, 5), (None, 2, 20), (None, 10, 20), ("quadratic", 1, 20)} <= among


def test_more_columns_than_rows_are_reduced_and_then_judged():
    rng = np.random.default_rng(0)
    slow = processes([30], 150, rng) @ rng.standard_normal((1, 300))
    found = choose(2 * slow + rng.standard_normal((150, 300)))
    assert found.pca is not None
    assert found.significance.n_slow >= 1
    assert found.timescales.n_timescales > 1
    assert any("principal components: 149 pairs of rows are fewer than 4 per column" in each for each in found.reasons)


def test_noise_asks_for_delays_and_for_a_lag_at_which_windows_share_no_row():
    rng = np.random.default_rng(0)
    found = choose(processes([200, 100, 50], 8000, rng) + 2 * rng.standard_normal((8000, 3)), lags=[1])
    assert found.n_delays > 1
    assert found.lag == found.n_delays
    assert any("share no row" in each for each in found.reasons)
    assert found.lag in found.timescales.lags


def test_processes_without_noise_need_no_delays():
    rng = np.random.default_rng(0)
    assert choose(mixed([100, 30, 5, 2], 10_000, seed=0)).n_delays == 1
    assert choose(processes([20] * 5, 5000, rng)).n_delays == 1


def test_an_expansion_that_loses_what_is_real_is_not_recommended(monkeypatch):
    """The expansion makes the slowest feature slower on other data. Chance is told by hand."""
    compared = _choice._Draws.compared

    def told(draws, setting, lag):
        found = compared(draws, setting, lag)
        p = np.ones(len(found.p_spectrum))
        p[: 0 if setting.expansion else 2] = 0.01
        return replace(found, p_spectrum=p)

    monkeypatch.setattr(_choice._Draws, "compared", told)
    rng = np.random.default_rng(0)
    sign, noise = rng.choice([-1.0, 1.0], 8000), rng.standard_normal((8000, 2))
    found = choose(np.column_stack([sign * np.sin(np.arange(8000) / 80), sign, noise]), lags=[1])
    assert found.expansion is None
    assert found.significance.n_real == 2
    assert any("The quadratic expansion: δ" in each for each in found.reasons)
    assert any("no feature is slower than chance (threshold 0.05), but 2 are" in each for each in found.reasons)


def test_short_episodes_and_long_lags_leave_no_room_for_delays():
    X = np.random.default_rng(0).standard_normal((4800, 3))
    assert choose(X, lengths=[24] * 200, lags=[20]).n_delays == 1


def test_what_was_skipped_and_cut_is_said(tmp_path):
    rng = np.random.default_rng(0)
    X = processes([20], 3000, rng) + rng.standard_normal((3000, 4))
    X[::10, 0] = np.nan
    assert any("300 rows with missing values were skipped: 10% of all" in each for each in choose(X).cautions)


def test_progress_reports_every_part():
    parts = {}
    choose(mixed([20, 1], 3000, seed=0), progress=lambda what, share: parts.setdefault(what, []).append(share))
    assert list(parts) == ["timescales", "delays", "quadratic expansion", "surrogates"]
    assert all(shares == sorted(shares) and shares[-1] == 1.0 for shares in parts.values())
