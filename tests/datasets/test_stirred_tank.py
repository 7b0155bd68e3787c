"""The simulated plant."""

import numpy as np
import pytest

from biosfa.datasets import stirred_tank
from biosfa.datasets._stirred_tank import COLUMNS


def column(plant, name):
    return plant.samples[:, plant.columns.index(name)]


def test_its_usual_deviations_are_those_of_the_table():
    plant = stirred_tank(200_000, random_state=0)
    found = plant.samples.std(axis=0)
    np.testing.assert_allclose(found, [usual for _, usual in COLUMNS.values()], rtol=0.3)


def test_at_rest_heat_and_matter_are_balanced():
    plant = stirred_tank(200_000, random_state=0)
    mean = {name: column(plant, name).mean() for name in plant.columns}
    rate = 7.2e10 * np.exp(-8750 / mean["temperature"]) * mean["concentration"]
    assert mean["feed_flow"] / 100 * (1 - mean["concentration"]) == pytest.approx(rate, rel=0.02)
    assert mean["feed_flow"] == pytest.approx(mean["outlet_flow"], rel=1e-3)
    cooling = 5e4 / 239 * (mean["temperature"] - mean["jacket_temperature"])
    carried = mean["coolant_flow"] * (mean["jacket_temperature"] - mean["coolant_inlet_temperature"])
    assert carried == pytest.approx(cooling, rel=0.01)


def test_faults_do_what_they_say():
    usual = {name: stirred_tank(2000, fault=name, start=1000, random_state=1) for name in (None, "bias", "noise")}
    before, after = slice(0, 1000), slice(1001, None)
    for name in ("bias", "noise"):
        np.testing.assert_array_equal(usual[name].samples[before], usual[None].samples[before])
    shift = column(usual["bias"], "jacket_temperature") - column(usual[None], "jacket_temperature")
    np.testing.assert_allclose(shift[after], 5 * 0.6)
    noisier = [np.diff(column(usual[name], "jacket_temperature")[after]).std() for name in (None, "noise")]
    assert noisier[1] > 3 * noisier[0]
    stuck = stirred_tank(2000, fault="stuck_valve", start=1000, random_state=1)
    assert column(stuck, "coolant_flow")[after].std() == pytest.approx(0.3, rel=0.1)  # the noise of the sensor
    assert column(stuck, "coolant_valve")[after].std() > 0.01
    lost = stirred_tank(2000, fault="lost_controller", start=1000, random_state=1)
    assert column(lost, "coolant_valve")[after].std() == pytest.approx(0.0002, rel=0.1)  # of its transmitter


def test_unknown_faults_and_sensors():
    with pytest.raises(ValueError, match="fault must be one of set_point, "):
        stirred_tank(10, fault="fire")
    with pytest.raises(ValueError, match="sensor must be one of feed_flow, "):
        stirred_tank(10, sensor="coolant_valve")
