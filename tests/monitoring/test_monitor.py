"""The monitor: statistics, limits, verdicts, rows one by one, files."""

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import eigh
from sklearn.base import clone
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import parametrize_with_checks

import biosfa
from biosfa import SFA, ConditioningWarning, ModelFileError, OnlineSFA, RankDeficiencyWarning, ShortCalibrationWarning
from biosfa.datasets import stirred_tank
from biosfa.io import open_stream
from biosfa.io.model_file import Model, read_model, write_model
from biosfa.monitoring import SlowFeatureMonitor, compare


@pytest.fixture(scope="module")
def normal():
    return stirred_tank(12_000, random_state=0).samples


@pytest.fixture(scope="module")
def monitor(normal):
    return SlowFeatureMonitor(n_delays=2).fit(normal)


def test_statistics_are_those_of_the_definition(normal):
    monitor = SlowFeatureMonitor(slow_share=0.3).fit(normal)
    X = stirred_tank(200, random_state=1).samples
    centred, steps = normal - normal.mean(axis=0), np.diff(normal, axis=0)
    delta, V = eigh(steps.T @ steps / len(steps), centred.T @ centred / len(centred))
    y = (X - normal.mean(axis=0)) @ V
    slow, rest = slice(0, 4), slice(4, 12)  # 30% of 12, rounded up
    T = np.stack([(y[:, part] ** 2).sum(axis=1) for part in (slow, rest)], axis=1)
    S = np.stack([(np.diff(y, axis=0)[:, part] ** 2 / delta[part]).sum(axis=1) for part in (slow, rest)], axis=1)
    found = monitor.statistics(X)
    np.testing.assert_allclose(found[:, :2], T, rtol=1e-6)
    np.testing.assert_allclose(found[1:, 2:], S, rtol=1e-6)
    assert np.isnan(found[0, 2:]).all()
    assert monitor.n_slow_ == 4


def test_limits_hold_on_other_rows_and_for_the_family(normal, monitor):
    further = stirred_tank(40_000, random_state=5).samples
    alarms = (monitor.statistics(further)[2:] > monitor.limits_).mean(axis=0)
    assert np.all((alarms > 0.004) & (alarms < 0.02))
    family = SlowFeatureMonitor(n_delays=2, family=True).fit(normal)
    together = (family.verdicts(further) != "normal").mean()
    assert 0.004 < together < 0.02


@pytest.mark.parametrize(
    ("fault", "verdict", "after"),
    [("set_point", "moved", 600), ("stuck_valve", "abnormal", 520), ("noise", "abnormal", 520),
     ("lost_controller", "abnormal", 520)],
)  # fmt: skip
def test_verdicts_tell_a_new_set_point_from_faults(normal, fault, verdict, after):
    monitor = SlowFeatureMonitor(n_delays=2, persistence=(3, 10)).fit(normal)
    verdicts = monitor.verdicts(stirred_tank(1500, fault=fault, start=500, random_state=7).samples)
    assert (verdicts[:500] == "normal").mean() > 0.95
    assert (verdicts[after:] == verdict).mean() > 0.8


def test_rows_without_data_and_after_gaps(monitor):
    X = stirred_tank(60, random_state=1).samples.copy()
    whole = monitor.statistics(X)
    X[20, 3] = np.nan
    found = monitor.statistics(X)
    nothing = np.isnan(found)
    assert nothing[0].all()  # the first row has no delay
    assert nothing[20:22].all()  # missing, and without its delay
    assert nothing[22].tolist() == [False, False, True, True]  # without a row before
    assert not nothing[23:].any()
    np.testing.assert_allclose(found[23:], whole[23:])
    assert set(monitor.verdicts(X)[[0, 20, 21]]) == {"no data"}
    episodes = monitor.statistics(np.delete(X, 20, axis=0), lengths=[20, 39])
    np.testing.assert_array_equal(episodes, np.delete(found, 20, axis=0))


@pytest.mark.parametrize("value", [1e160, 1e200, -1.7e308])
@pytest.mark.parametrize("parameters", [{}, {"n_delays": 2}, {"expansion": "quadratic"}])
def test_a_wild_value_is_out_of_its_limit_and_is_named(normal, parameters, value):
    mean, deviation = normal.mean(axis=0), normal.std(axis=0)
    monitor = SlowFeatureMonitor(**parameters).fit((normal - mean) / deviation)
    X = (stirred_tank(60, random_state=1).samples - mean) / deviation
    whole = monitor.statistics(X)
    X[50, 3] = value
    X[52:54, 3] = value  # two rows, which do not differ
    found = monitor.statistics(X)
    assert (found[50] > 1e100).all()
    assert monitor.verdicts(X)[50] == "abnormal"
    assert set(monitor.verdicts(X)[52:54]) <= {"moved", "abnormal"}
    assert monitor.predict(X)[50] == -1
    np.testing.assert_array_equal(np.isnan(found), np.isnan(whole))
    np.testing.assert_array_equal(found[:50], whole[:50])
    np.testing.assert_array_equal(found[58:], whole[58:])
    assert [monitor.update(x).verdict for x in X] == monitor.verdicts(X).tolist()
    if "expansion" not in parameters:  # there all that is left of the value is infinity
        assert monitor.causes(X)[50].argmax() == 3


def test_a_wild_value_is_out_of_the_limits_of_other_monitors(normal, monitor):
    X = stirred_tank(60, random_state=1).samples.copy()
    X[50, 3] = 1e200
    assert all(peer.alarms[50] for peer in compare(monitor, normal, X).values())


def test_rows_one_by_one_and_in_chunks_give_the_same(normal):
    X = stirred_tank(400, fault="noise", start=200, random_state=3).samples.copy()
    X[150:153, 2] = np.nan
    normal = (normal - normal.mean(axis=0)) / normal.std(axis=0)
    X = (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)
    for parameters in ({}, {"n_delays": 3}, {"n_delays": 2, "persistence": (2, 5)}, {"expansion": "quadratic"}):
        monitor = SlowFeatureMonitor(**parameters).fit(normal)
        one_by_one = [monitor.update(x) for x in X]
        np.testing.assert_allclose([status.statistics for status in one_by_one], monitor.statistics(X), rtol=1e-9)
        assert [status.verdict for status in one_by_one] == monitor.verdicts(X).tolist()
        other = SlowFeatureMonitor(**parameters).fit(normal)
        chunks = [other.watch_chunk(chunk) for chunk in open_stream(X, missing="break", chunk_size=37)]
        assert np.concatenate([chunk.verdicts for chunk in chunks]).tolist() == monitor.verdicts(X).tolist()
        np.testing.assert_allclose(np.concatenate([chunk.causes for chunk in chunks]), other.causes(X), atol=1e-9)


@pytest.mark.parametrize("n_delays", [1, 2])
def test_a_row_after_a_chunk_that_ends_with_a_missing_row(normal, n_delays):
    X = stirred_tank(20, random_state=1).samples.copy()
    X[10] = np.nan
    monitor = SlowFeatureMonitor(n_delays=n_delays).fit(normal)
    (chunk,) = open_stream(X[:11], missing="break")
    monitor.watch_chunk(chunk)
    found = [monitor.update(x).statistics for x in X[11:]]
    np.testing.assert_allclose(found, monitor.statistics(X)[11:], rtol=1e-9)


def test_the_end_of_an_episode_hides_the_row_before(monitor, normal):
    fresh = SlowFeatureMonitor(n_delays=2).fit(normal)
    for x in normal[:10]:
        fresh.update(x)
    assert np.isnan(fresh.end_episode().update(normal[10]).statistics).all()
    np.testing.assert_allclose(
        fresh.update(normal[11]).statistics, monitor.statistics(normal[10:12])[1], equal_nan=True
    )


def test_around_a_fitted_model(normal):
    rows = stirred_tank(6000, random_state=9).samples
    exact = SlowFeatureMonitor(model=SFA(n_delays=2).fit(normal)).fit(rows)
    online = SlowFeatureMonitor(model=OnlineSFA(6, random_state=0).fit(normal)).fit(rows)
    further = stirred_tank(20_000, random_state=5).samples
    for monitor in (exact, online):
        assert (monitor.statistics(further)[2:] > monitor.limits_).mean() < 0.02
        assert monitor.calibration_.n_blocks == 0
    with pytest.raises(TypeError, match="model must be a fitted model, such as SFA or OnlineSFA; got str"):
        SlowFeatureMonitor(model="sfa").fit(rows)


def test_streams_and_frames_are_the_same_as_arrays(normal, monitor, tmp_path):
    frame = pd.DataFrame(normal, columns=stirred_tank(1).columns)
    frame.to_parquet(tmp_path / "normal.parquet")
    streamed = SlowFeatureMonitor(n_delays=2).fit(open_stream(tmp_path / "normal.parquet", chunk_size=1000))
    np.testing.assert_allclose(streamed.limits_, monitor.limits_, rtol=1e-6)
    named = SlowFeatureMonitor(n_delays=2).fit(frame)
    assert named.feature_names_in_.tolist() == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        named.statistics(frame.rename(columns={"level": "height"}))


def test_streams_are_matched_by_the_names_of_columns(normal, tmp_path):
    names = list(stirred_tank(1).columns)
    frame = pd.DataFrame(normal, columns=names)
    frame[names[::-1]].to_parquet(tmp_path / "turned.parquet")
    named = SlowFeatureMonitor(n_delays=2).fit(frame)
    turned = open_stream(tmp_path / "turned.parquet")
    for use in (named.statistics, named.accept, SFA().fit(frame).transform_chunks):
        with pytest.raises(ValueError, match="but the model was fitted to feed_flow"):
            list(use(turned))
    ordered = open_stream(tmp_path / "turned.parquet", columns=names)
    np.testing.assert_array_equal(named.statistics(ordered), named.statistics(frame))
    with pytest.raises(ValueError, match="in the order of the fit"):
        named.statistics(open_stream(tmp_path / "turned.parquet", columns=names[::-1]))
    of_a_twin = frame.rename(columns=lambda name: f"second_{name}")  # chosen columns may have other names
    twin = open_stream(of_a_twin, columns=list(of_a_twin.columns))
    np.testing.assert_array_equal(named.statistics(twin), named.statistics(frame))


def test_columns_are_those_of_the_model(normal):
    names = list(stirred_tank(1).columns)
    frame = pd.DataFrame(normal, columns=names)
    with pytest.raises(ValueError, match="but the model was fitted to feed_flow"):
        SlowFeatureMonitor(model=SFA().fit(frame)).fit(frame[names[::-1]])


def test_chunks_with_other_columns_are_refused(monitor, normal):
    with pytest.raises(ValueError, match="the chunk has 5 columns, but 12 are needed"):
        monitor.watch_chunk(next(iter(open_stream(normal[:10, :5]))))


def test_names_and_reading_are_those_of_the_monitor(normal, tmp_path):
    frame = pd.DataFrame(normal, columns=stirred_tank(1).columns).assign(t=np.arange(len(normal)))
    monitor = SlowFeatureMonitor(model=SFA().fit(normal)).fit(open_stream(frame, time="t", missing="break"))
    monitor.save(tmp_path / "m")
    loaded = biosfa.load(tmp_path / "m")
    assert loaded.feature_names_in_.tolist() == list(frame.columns[:-1])
    assert loaded.reading_.time == "t"


def test_a_saved_monitor_is_the_same(normal, tmp_path):
    frame = pd.DataFrame(normal, columns=stirred_tank(1).columns).assign(constant=7.0)
    monitor = SlowFeatureMonitor(n_delays=2, persistence=(2, 5), family=True, forget=1000).fit(frame)
    X = frame.iloc[:3000] + 0.2
    monitor.watch_chunk(next(iter(open_stream(X.to_numpy(), chunk_size=3000))))
    monitor.save(tmp_path / "m")
    loaded = biosfa.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.statistics(X), monitor.statistics(X))
    np.testing.assert_array_equal(loaded.verdicts(X), monitor.verdicts(X))
    np.testing.assert_array_equal(loaded.contributions(X[:50]), monitor.contributions(X[:50]))
    assert loaded.get_params() == monitor.get_params()
    assert (loaded.rules_, loaded.constant_columns_) == (monitor.rules_, {12: 7.0})
    assert loaded.calibration_.correlation_time == monitor.calibration_.correlation_time


def test_a_constant_column_that_moves_is_named(normal):
    X = np.column_stack([normal, np.full(len(normal), 7.0)])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RankDeficiencyWarning)  # not a reason to worry
        monitor = SlowFeatureMonitor().fit(X)
    assert monitor.constant_columns_ == {12: 7.0}
    rows = X[:20].copy()
    rows[10:, 12] = 8.0
    assert set(monitor.verdicts(rows)[10:]) == {"abnormal"}
    assert np.isinf(monitor.statistics(rows)[10:, [1, 3]]).all()
    np.testing.assert_array_equal(monitor.causes(rows)[10:].argmax(axis=1), 12)
    assert [monitor.update(row).verdict for row in rows][12] == "abnormal"


@pytest.mark.parametrize(("training", "rows"), [("float64", "float32"), ("float32", "float64")])
def test_a_constant_is_the_same_in_any_precision(normal, training, rows):
    X = np.column_stack([normal, np.full(len(normal), 0.1)])
    monitor = SlowFeatureMonitor().fit(X.astype(training))
    assert monitor.constant_columns_ == {12: 0.1}
    other = X[:300].astype(rows)
    assert not np.isinf(monitor.statistics(other)).any()
    assert not any(np.isinf(monitor.update(x).statistics).any() for x in other)
    rounded = np.column_stack([normal[:300], np.full(300, 0.1, np.float32)])  # float32 that became float64
    assert not np.isinf(monitor.statistics(rounded)).any()
    other[:, 12] = np.nextafter(other[:, 12], 1) if rows == "float32" else 0.1 + 1e-8
    assert np.isinf(monitor.statistics(other)[:, 1]).all()


def test_columns_that_depend_on_others_are_a_warning(normal):
    with pytest.warns(RankDeficiencyWarning, match="linear combinations"):
        SlowFeatureMonitor().fit(np.column_stack([normal, normal[:, 0] + normal[:, 1]]))


def test_short_training_data_are_a_warning_that_says_how_many_rows_would_do(normal):
    with pytest.warns(ShortCalibrationWarning, match="correlation times") as caught:
        monitor = SlowFeatureMonitor(n_delays=2).fit(normal[:800])
    assert caught[0].filename == __file__
    assert f"use at least about {monitor.calibration_.rows_needed:,} rows" in str(caught[0].message)
    rng = np.random.default_rng(0)
    with pytest.warns(ShortCalibrationWarning, match="per column and delay"):
        SlowFeatureMonitor().fit(rng.standard_normal((150, 40)))
    with pytest.warns(ShortCalibrationWarning, match=r"alarm rate of 0\.001"):
        SlowFeatureMonitor(alarm_rate=0.001).fit(rng.standard_normal((1000, 3)))
    with pytest.raises(ValueError, match="covariance is singular"):
        SlowFeatureMonitor(n_delays=5).fit(rng.standard_normal((60, 20)))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"slow_share": 1.5}, "slow_share is a share"),
        ({"alarm_rate": 0.0}, "alarm_rate must be a positive number"),
        ({"persistence": (3, 2)}, "k must not be larger than n"),
        ({"persistence": 3}, "persistence must be two whole numbers"),
        ({"persistence": (0, 2)}, "k of persistence"),
        ({"forget": -1.0}, "forget must be a positive number"),
    ],
)
def test_parameters_that_make_no_sense(normal, parameters, message):
    with pytest.raises(ValueError, match=message):
        SlowFeatureMonitor(**parameters).fit(normal[:1000])


@pytest.mark.parametrize("rule", [(11, 10), (0, 5), (1, 0), "3/10"])
def test_a_persistence_rule_is_checked_wherever_it_is_used(monitor, normal, rule):
    changed = clone(monitor, safe=False).fit(normal).set_params(persistence=rule)
    for use in (changed.verdicts, lambda X: changed.update(X[0])):
        with pytest.raises(ValueError, match="persistence"):
            use(normal[:20])


def test_a_persistence_rule_may_have_any_kind_of_whole_numbers(normal, tmp_path):
    plain = SlowFeatureMonitor(persistence=(2, 5)).fit(normal)
    for i, rule in enumerate(([2, 5], (np.int64(2), np.int32(5)))):
        other = SlowFeatureMonitor(persistence=rule).fit(normal)
        assert other.rules_ == plain.rules_
        other.save(tmp_path / f"{i}")
        assert biosfa.load(tmp_path / f"{i}").get_params()["persistence"] == (2, 5)


def test_mistakes_change_nothing(normal, monitor):
    fitted = SlowFeatureMonitor().fit(normal)
    with pytest.raises(ValueError, match="infinity"):
        fitted.fit(np.full((100, 3), np.inf))
    assert fitted.n_features_in_ == 12
    with pytest.raises(ValueError, match=r"x must have the shape \(12,\)"):
        fitted.update(np.zeros(3))
    with pytest.raises(ValueError, match="x has infinity in column 3"):
        fitted.update([*normal[0, :3], np.inf, *normal[0, 4:]])
    assert fitted.update(normal[0]).row == 0


def test_the_interface_of_outlier_detectors(normal, monitor):
    X = stirred_tank(1000, fault="noise", start=500, random_state=2).samples
    scores = monitor.score_samples(X)
    worst = np.nanmax(monitor.statistics(X)[2:] / monitor.limits_, axis=1)
    np.testing.assert_allclose(scores[2:], -worst)
    np.testing.assert_array_equal(monitor.predict(X) == -1, np.nan_to_num(monitor.decision_function(X)) < 0)
    assert (monitor.predict(X)[510:] == -1).mean() > 0.5


def test_other_monitors_with_limits_from_the_same_rows(normal, monitor):
    further = stirred_tank(20_000, random_state=5).samples
    for name, peer in compare(monitor, normal, further).items():
        assert np.all((peer.statistics[2:] > 1).mean(axis=0) < 0.02), name
    noisy = stirred_tank(1000, fault="noise", start=500, random_state=2).samples
    found = {name: peer.alarms[500:].mean() for name, peer in compare(monitor, normal, noisy).items()}
    assert found["slow features"] > 0.5
    centred = normal - normal.mean(axis=0)
    distance = np.einsum("ij,ij->i", centred @ np.linalg.inv(np.cov(normal.T, bias=True)), centred)
    own = compare(monitor, normal, normal, n_delays=1)["Mahalanobis distance"].statistics[:, 0]
    np.testing.assert_allclose(own / own[0], distance / distance[0], rtol=1e-6)


def test_other_monitors_hold_the_rate_of_the_family(normal):
    family = SlowFeatureMonitor(n_delays=2, family=True).fit(normal)
    further = stirred_tank(30_000, random_state=5).samples
    for name, peer in compare(family, normal, further).items():
        assert peer.alarms.mean() < 0.02, name


def test_a_statistic_that_is_always_0_is_never_out_of_its_limit():
    """With two columns, PCA keeps both components, and there is no prediction error."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 2))
    found = compare(SlowFeatureMonitor().fit(X), X, X)["PCA"]
    assert found.names == ("T²", "SPE")
    assert not found.statistics[:, 1].any()


@pytest.mark.parametrize("parameters", [{"slow_share": 1.0}, {}])
def test_the_family_rate_holds_where_some_statistics_are_always_0(normal, parameters):
    X = normal if parameters else normal[:, :1]
    monitor = SlowFeatureMonitor(family=True, **parameters).fit(X)
    assert (monitor.statistics(X) > monitor.limits_).any(axis=1).mean() == pytest.approx(0.01, rel=0.25)


def test_a_monitor_keeps_a_copy_of_its_model(normal):
    model = SFA(n_delays=2).fit(normal)
    monitor = SlowFeatureMonitor(model=model).fit(normal)
    before = monitor.statistics(normal[:100])
    model.fit(3 * normal + 1)
    np.testing.assert_array_equal(monitor.statistics(normal[:100]), before)


def test_an_expansion_of_ones_own_is_given_again(normal, tmp_path):
    X = (normal[:, :4] - normal[:, :4].mean(axis=0)) / normal[:, :4].std(axis=0)
    own = SlowFeatureMonitor(expansion=PolynomialFeatures(2, include_bias=False)).fit(X)
    around = SlowFeatureMonitor(model=SFA(expansion=PolynomialFeatures(2, include_bias=False)).fit(X)).fit(X)
    with pytest.raises(ValueError, match="forget needs the covariance with the columns"):
        SlowFeatureMonitor(expansion=PolynomialFeatures(2, include_bias=False), forget=1000).fit(X)
    for monitor in (own, around):
        monitor.save(tmp_path / "m")
        with pytest.raises(ModelFileError, match=r"load\(path, expansion=\.\.\.\)"):
            biosfa.load(tmp_path / "m")
        for load in (biosfa.load, SlowFeatureMonitor.load):
            loaded = load(tmp_path / "m", expansion=monitor.model_.expansion_)
            np.testing.assert_array_equal(loaded.statistics(X[:50]), monitor.statistics(X[:50]))
        with pytest.raises(TypeError, match="alarm_rate cannot be replaced"):
            biosfa.load(tmp_path / "m", alarm_rate=0.1)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("calibration", "rows_needed"), None),
        (("calibration", "correlation_time"), None),
        (("calibration", "n_blocks"), None),
        (("calibration", "n_rows"), "many"),
        (("calibration", "false_alarms"), 0.01),
        (("calibration", "false_alarms"), [0.01, 0.01, 0.01]),
        (("calibration", "false_alarms"), [0.01, 0.01, 0.01, 2.0]),
        (("rules", 0, 2), None),
        (("rules", 0, 0), 3),
        (("rules", 0, 5), -1.0),
        (("rules", 0), [1, 1]),
        (("constant_columns",), [[12, None]]),
        (("constant_columns",), [[13, 7.0]]),
        (("constant_columns",), [["12", 7.0]]),
        (("feature_names_in",), ["a", "b"]),
        (("reading",), None),
        (("normal", "follows"), "yes"),
        (("normal", "slow_share"), 2.0),
        (("normal", "weight"), 0.0),
        (("parameters", "persistence"), [11, 10]),
        (("normal.turn",), None),
        (("normal.level",), None),
        (("normal.columns",), None),
        (("normal.smooth",), np.zeros((3, 26))),
        (("limits",), -np.ones(4)),
        (("limits",), np.ones(3)),
    ],
)
def test_a_damaged_file_is_refused(damaged, place, value):
    content, path = damaged
    model = Model(content.kind, copy.deepcopy(content.settings), dict(content.arrays))
    if place[0].startswith(("normal.", "limits")):
        arrays = {name: array for name, array in model.arrays.items() if name != place[0]}
        model = model._replace(arrays=arrays if value is None else {**arrays, place[0]: value})
    else:
        inside = model.settings
        for key in place[:-1]:
            inside = inside[key]
        inside[place[-1]] = value
    write_model(path, model)
    with pytest.raises(ModelFileError):
        biosfa.load(path)


def test_slowness_of_a_file_belongs_to_its_features(damaged):
    content, path = damaged
    arrays = {name: array for name, array in content.arrays.items() if name not in ("normal.turn", "normal.level")}
    arrays.pop("normal.smooth", None)
    write_model(path, content._replace(arrays=arrays))
    biosfa.load(path)
    write_model(path, content._replace(arrays={**arrays, "normal.delta_values": arrays["normal.delta_values"][:-3]}))
    with pytest.raises(ModelFileError, match="21 values of slowness for 24 features"):
        biosfa.load(path)


@pytest.fixture(scope="module")
def damaged(normal, tmp_path_factory):
    """The content of a file of a monitor, and a path for a damaged one."""
    folder = tmp_path_factory.mktemp("damaged")
    X = np.column_stack([normal, np.full(len(normal), 7.0)])
    SlowFeatureMonitor(n_delays=2, forget=1000).fit(X).accept(X[:2000]).save(folder / "whole")
    return read_model(folder / "whole"), folder / "damaged"


@pytest.mark.parametrize(
    ("n_rows", "parameters", "lengths"),
    [(3, {}, None), (5, {}, None), (12, {"n_delays": 3}, None), (100, {"n_delays": 3}, [2] * 50), (100, {}, [1] * 100)],
)
@pytest.mark.filterwarnings("ignore::biosfa.GiveAwayWarning")
def test_too_few_rows_are_an_error_in_words(n_rows, parameters, lengths):
    X = np.random.default_rng(0).standard_normal((n_rows, 2))
    with pytest.raises(ValueError, match=r"too few|too short"):
        SlowFeatureMonitor(**parameters).fit(X, lengths=lengths)


def test_rows_that_a_model_has_no_statistics_of_are_an_error_in_words(normal):
    model = SFA(n_delays=3).fit(normal)
    with pytest.raises(ValueError, match="no statistics: their episodes are too short"):
        SlowFeatureMonitor(model=model).fit(normal[:600], lengths=[2] * 300)
    for fit in (SlowFeatureMonitor(model=model).fit, SlowFeatureMonitor().fit):
        with pytest.raises(ValueError, match=r"there are no (rows of normal operation|samples)"):
            fit(open_stream(np.empty((0, 12))))


def test_an_input_without_rows_is_an_error_in_words(monitor, normal):
    nothing = open_stream(np.empty((0, 12)))
    with pytest.raises(ValueError, match="the input has no rows"):
        monitor.statistics(nothing)
    with pytest.raises(ValueError, match="there are no rows of normal operation"):
        compare(monitor, nothing, normal[:100])


def test_a_block_of_missing_rows_does_not_end_a_fit(normal):
    X = normal[:4000].copy()
    X[1000:3000] = np.nan
    with pytest.warns(ShortCalibrationWarning):
        assert np.isfinite(SlowFeatureMonitor().fit(X).limits_).all()


ORDER = "S² depends on the row before"


@pytest.mark.filterwarnings("ignore::biosfa.ShortCalibrationWarning", "ignore::biosfa.RankDeficiencyWarning")
@parametrize_with_checks(
    [SlowFeatureMonitor()],
    expected_failed_checks=lambda monitor: {
        "check_methods_subset_invariance": ORDER,
        "check_methods_sample_order_invariance": ORDER,
    },
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_the_advice_of_an_ill_conditioned_fit_holds_for_a_monitor():
    X = stirred_tank(12_000, random_state=0).samples
    with pytest.warns(ConditioningWarning) as caught:
        SlowFeatureMonitor(expansion="quadratic").fit(X)
    message = next(str(one.message) for one in caught if one.category is ConditioningWarning)
    assert "SFA(pca=N" in message
    assert "ridge" not in message
