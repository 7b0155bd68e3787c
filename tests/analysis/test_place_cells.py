"""Firing maps of units of known kinds."""

import numpy as np
import pytest

from biosfa.analysis import decode_position, firing_maps

GRID = (31, 51, 8)  # rows, columns and headings


def bump(y0, x0, width=4.0):
    y, x, _ = np.meshgrid(*(np.arange(size) for size in GRID), indexing="ij")
    return np.exp(-((y - y0) ** 2 + (x - x0) ** 2) / (2 * width**2)).ravel()


def test_units_of_known_kinds():
    heading = np.tile(np.cos(np.arange(8) * np.pi / 4), 31 * 51)
    noise = np.random.default_rng(0).standard_normal(31 * 51 * 8)
    features = np.stack([bump(10, 20), -bump(20, 40), bump(5, 5) + bump(25, 45), heading, noise], axis=1)
    found = firing_maps(features, GRID)
    np.testing.assert_array_equal(found.is_place_unit, [True, True, False, False, False])
    np.testing.assert_allclose(found.s_pos[[0, 1, 2, 3]], [1, 1, 1, 0], atol=1e-12)
    np.testing.assert_allclose(found.s_dir, [0, 0, 0, 1, 0], atol=1e-3)
    assert found.s_pos[4] == pytest.approx(1 / 8, rel=0.1)  # the mean of eight
    assert found.maps[1].max() == pytest.approx(1.0)  # turned upright
    assert [len(found.fields(unit)) for unit in range(3)] == [1, 1, 2]
    assert len(found.fields(0)[0]) == pytest.approx(np.pi * 4.0**2 * 2 * np.log(2), rel=0.05)  # of a Gaussian
    np.testing.assert_array_equal(found.is_direction_unit, [False, False, False, True, False])
    np.testing.assert_array_equal(found.is_mixed_unit, [False, False, False, False, True])
    counts = {name: count for name, count in found.summary().items() if name.endswith("units")}
    assert counts == {"place_units": 2, "direction_units": 1, "mixed_units": 1}


def test_information_and_sparsity_of_a_unit_that_fires_in_a_fifth_of_the_room():
    rate = np.zeros((10, 10, 4))
    rate[:2] = 3.0
    found = firing_maps(rate.reshape(-1, 1), (10, 10, 4))
    assert found.spatial_information[0] == pytest.approx(np.log2(5))
    assert found.sparsity[0] == pytest.approx(0.2)


def test_positions_are_read_from_features_that_have_them():
    rng = np.random.default_rng(0)
    position = rng.uniform(0, 50, (500, 2))
    features = np.column_stack([position @ rng.standard_normal((2, 4)), rng.standard_normal(500)])
    assert decode_position(features[:400], position[:400], features[400:], position[400:]) < 0.1
    assert decode_position(features[:400, 4:], position[:400], features[400:, 4:], position[400:]) > 10
    with pytest.raises(ValueError, match="one row for each of the"):
        firing_maps(features, GRID)
