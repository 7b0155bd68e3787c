"""Slow features of MNE recordings: epochs, joined recordings, bad segments, and results as recordings again."""

import numpy as np
import pytest

from biosfa import SFA
from biosfa.metrics import slowness

pytest.importorskip("mne")

import matplotlib.pyplot as plt
import mne
from mne.decoding import UnsupervisedSpatialFilter

from biosfa.integrations.mne import SlowFeatures

NAMES = ["Fz", "Cz", "Pz", "Oz", "C3", "C4"]


@pytest.fixture(autouse=True)
def quiet():
    with mne.use_log_level("warning"):
        yield


def information(names=NAMES):
    info = mne.create_info(names, sfreq=100.0, ch_types="eeg")
    info.set_montage("biosemi64")
    return info


def recording(n_samples=3000, seed=0, offset=0.0):
    """(source, raw): one slow source in six sensors, in volts."""
    rng = np.random.default_rng(seed)
    slow = np.sin(np.arange(n_samples) / 40 + rng.uniform(0, 6))
    mixing = np.random.default_rng(100).standard_normal((6, 6))
    sources = np.vstack([slow, rng.standard_normal((5, n_samples))])
    return slow, mne.io.RawArray(1e-6 * (mixing @ sources + offset), information())


def epochs_with_jumps(n_epochs=200, n_times=25):
    """(source, epochs): a source that is slow, but jumps between epochs, beside one that is faster and never jumps."""
    rng = np.random.default_rng(0)
    t = np.arange(n_times)
    slow = np.concatenate([np.sin(t / 20 + phase) for phase in rng.uniform(0, 2 * np.pi, n_epochs)])
    smooth = np.sin(np.arange(n_epochs * n_times) / 6)
    sources = np.vstack([slow, smooth, rng.standard_normal((4, len(slow)))])
    X = 1e-6 * rng.standard_normal((6, 6)) @ sources
    return slow, mne.EpochsArray(X.reshape(6, n_epochs, n_times).swapaxes(0, 1), information())


def correlation(a, b):
    return abs(np.corrcoef(np.ravel(a), np.ravel(b))[0, 1])


def test_no_difference_is_taken_across_epochs():
    slow, epochs = epochs_with_jumps()
    ours = SlowFeatures(1).fit_transform(epochs).get_data()
    naive = UnsupervisedSpatialFilter(SFA(1), average=False).fit_transform(epochs.get_data())
    assert correlation(ours, slow) > 0.95
    assert correlation(naive, slow) < 0.5


def test_raw_gives_what_exact_sfa_gives():
    slow, raw = recording()
    model = SlowFeatures(2).fit(raw)
    expected = SFA(2).fit(raw.get_data().T)
    np.testing.assert_allclose(model.transform(raw).get_data(), expected.transform(raw.get_data().T).T)
    np.testing.assert_allclose(model.filters_, expected.components_)
    np.testing.assert_allclose(model.patterns_, expected.patterns_)
    assert correlation(model.transform(raw).get_data()[0], slow) > 0.95


def test_results_keep_times_annotations_and_dates():
    _, raw = recording()
    raw.set_meas_date(1_000_000_000)
    raw.set_annotations(mne.Annotations([22.0], [1.0], ["blink"], orig_time=raw.info["meas_date"]))
    raw.crop(10.0, 25.0)
    found = SlowFeatures(3).fit_transform(raw)
    assert isinstance(found, mne.io.BaseRaw)
    assert found.ch_names == ["SFA000", "SFA001", "SFA002"]
    assert set(found.get_channel_types()) == {"misc"}
    assert (found.first_samp, found.info["meas_date"]) == (raw.first_samp, raw.info["meas_date"])
    assert found.info["sfreq"] == 100.0
    assert found.annotations.onset.tolist() == raw.annotations.onset.tolist()
    np.testing.assert_array_equal(found.times, raw.times)


def test_results_keep_events_and_what_was_dropped():
    _, raw = recording()
    raw._data[:, 620] = 1.0
    events = np.column_stack([np.arange(0, 2000, 100), np.zeros(20, int), np.arange(20) % 2 + 1])
    conditions = {"left": 1, "right": 2}
    epochs = mne.Epochs(raw, events, conditions, tmin=-0.1, tmax=0.5, baseline=None, reject={"eeg": 1e-3})
    found = SlowFeatures(2).fit(epochs).transform(epochs)
    assert isinstance(found, mne.BaseEpochs)
    assert len(found) == 18  # the first one begins before the recording, another one is rejected
    np.testing.assert_array_equal(found.events, epochs.events)
    assert found.drop_log == epochs.drop_log
    assert len(found["left"]) == len(epochs["left"])
    np.testing.assert_allclose(found.times, epochs.times)


def test_features_of_epochs_are_those_of_the_raw_recording():
    _, raw = recording()
    model = SlowFeatures(2).fit(raw)
    epochs = mne.make_fixed_length_epochs(raw, 1.0)
    parts = model.transform(raw).get_data().reshape(2, 30, 100).swapaxes(0, 1)
    np.testing.assert_allclose(model.transform(epochs).get_data(), parts)


def test_bad_segments_are_skipped():
    _, raw = recording()
    clean = SlowFeatures(2).fit(raw)
    raw._data[:, 1000:1100] += 1.0
    raw.set_annotations(mne.Annotations([10.0], [1.0], ["BAD artefact"]))
    model = SlowFeatures(2).fit(raw)
    X = raw.get_data().T
    expected = SFA(2).fit(np.delete(X, range(1000, 1100), axis=0), lengths=[1000, 1900])
    np.testing.assert_allclose(model.filters_, expected.components_, rtol=1e-6)
    assert model.sfa_.n_skipped_ == 100
    assert correlation(model.filters_[0], clean.filters_[0]) > 0.99
    assert np.isfinite(model.transform(raw).get_data()).all()


@pytest.mark.parametrize("cropped", [0.0, 4.0])
def test_joined_recordings_are_episodes(cropped):
    """Also if the recording begins later than its first sample."""
    raws = [recording(1000, seed, offset)[1] for seed, offset in ((0, 0.0), (1, 100.0))]
    joined = mne.concatenate_raws([raw.copy() for raw in raws]).crop(cropped)
    joined.annotations.append(0.0, 1.0, "stimulus")
    first = 1000 - int(100 * cropped)
    expected = SFA(2).fit(joined.get_data().T, lengths=[first, 1000])
    np.testing.assert_allclose(SlowFeatures(2).fit(joined).filters_, expected.components_)


def test_bad_channels_are_left_out():
    _, raw = recording()
    raw.info["bads"] = ["Cz"]
    model = SlowFeatures(2).fit(raw)
    assert model.info_["ch_names"] == ["Fz", "Pz", "Oz", "C3", "C4"]
    assert SlowFeatures(1, picks=["Cz", "Pz"]).fit(raw).info_["ch_names"] == ["Cz", "Pz"]
    raw.info["bads"] = ["Pz"]
    assert model.transform(raw).ch_names == ["SFA000", "SFA001"]


def test_other_channels_are_ignored_and_their_order_does_not_matter():
    _, raw = recording()
    model = SlowFeatures(2).fit(raw)
    found = model.transform(raw).get_data()
    trigger = mne.io.RawArray(np.zeros((1, 3000)), mne.create_info(["STI"], 100.0, "stim"))
    more = raw.copy().reorder_channels(NAMES[::-1]).add_channels([trigger], force_update_info=True)
    np.testing.assert_allclose(model.transform(more).get_data(), found)
    assert SlowFeatures(2).fit(more).info_["ch_names"] == NAMES[::-1]


def test_lacking_channels_are_named():
    _, raw = recording()
    model = SlowFeatures(2).fit(raw)
    with pytest.raises(ValueError, match="the recording lacks channels of the fit: C3, C4"):
        model.transform(raw.copy().pick(NAMES[:4]))


def test_arrays_are_refused():
    with pytest.raises(TypeError, match="the recording must be Raw or Epochs; got ndarray"):
        SlowFeatures().fit(np.zeros((3, 100)))


def test_patterns_can_be_drawn():
    _, raw = recording()
    model = SlowFeatures(2).fit(raw)
    drawn = model.spatial_filter()
    np.testing.assert_array_equal(drawn.filters, model.filters_)
    np.testing.assert_array_equal(drawn.patterns, model.patterns_)
    np.testing.assert_array_equal(drawn.evals, model.sfa_.delta_values_)
    figure = model.plot_patterns(show=False)
    assert [axes.get_title() for axes in figure.axes[:2]] == ["Pattern0", "Pattern1"]
    plt.close(figure)


def test_host_functions_find_filters_and_patterns():
    _, raw = recording()
    model = SlowFeatures(2).fit(raw)
    found = mne.decoding.get_spatial_filter_from_estimator(
        model, model.info_, get_coefs=("filters_", "patterns_"), patterns_method="haufe"
    )
    np.testing.assert_array_equal(found.patterns, model.patterns_)


def test_features_have_unit_variance_and_their_slowness():
    _, epochs = epochs_with_jumps()
    model = SlowFeatures(2).fit(epochs)
    Y = model.transform(epochs).get_data().swapaxes(1, 2).reshape(-1, 2)
    np.testing.assert_allclose(Y.var(axis=0), 1.0)
    np.testing.assert_allclose(slowness(Y, lengths=[25] * 200), model.sfa_.delta_values_)
