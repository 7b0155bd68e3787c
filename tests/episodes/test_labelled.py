"""Labelled arrays give the same models as plain arrays with lengths, and keep their labels."""

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from biosfa import SFA, BioSFA, CuBICA, GraphSFA, LocalSFA, OfflineBioSFA, OnlineSFA
from biosfa.episodes import begins_series, chunk_of, labelled_like, rows_of
from biosfa.exceptions import InputError
from biosfa.io import open_stream
from biosfa.monitoring import SlowFeatureMonitor
from biosfa.rivals import FoldiakTrace, IncrementalSFA, OnlineGEV
from biosfa.selection import implied_timescales
from tests.conftest import slow_mixture

N, T, M = 4, 300, 5  # trials, times, channels
CHANNELS = [f"channel {i}" for i in range(M)]
RANDOM = [each(2, random_state=0) for each in (OnlineSFA, LocalSFA, BioSFA, IncrementalSFA, OnlineGEV, FoldiakTrace)]


@pytest.fixture(scope="module")
def cube():
    """Trials × times × channels."""
    return slow_mixture(N * T)[1][:, :M].reshape(N, T, M)


@pytest.fixture(scope="module")
def recording(cube):
    """The same with labels."""
    coordinates = {
        "trial": list("abcd"),
        "time": 0.01 * np.arange(T),
        "channel": CHANNELS,
        "phase": (("trial", "time"), np.arange(N * T).reshape(N, T)),
        "region": ("channel", list("llrrr")),
        "subject": "B",
    }
    return xr.DataArray(cube, dims=("trial", "time", "channel"), coords=coordinates, name="lfp")


@pytest.fixture
def frame(cube):
    """A frame with 2 gaps in time: before the rows 100 and 107."""
    seconds = np.arange(T) + np.where(np.arange(T) < 100, 0, 60) + np.where(np.arange(T) < 107, 0, 0.6)
    return pd.DataFrame(
        cube[0], columns=CHANNELS, index=pd.Timestamp("2026-01-05", tz="CET") + pd.to_timedelta(seconds, "s")
    )


def named(estimator):
    return type(estimator).__name__


@pytest.mark.parametrize("learner", [SFA(2), SFA(2, n_delays=3, lag=2), *RANDOM], ids=named)
@pytest.mark.parametrize("dims", [("trial", "time", "channel"), ("channel", "time", "trial")])
def test_an_array_of_xarray_is_its_rows_with_lengths(learner, dims, cube, recording):
    X, lengths = cube.reshape(-1, M), [T] * N
    ours, theirs = clone(learner).fit(recording.transpose(*dims)), clone(learner).fit(X, lengths=lengths)
    np.testing.assert_array_equal(ours.components_, theirs.components_)
    features = ours.transform(recording.transpose(*dims))
    assert features.dims == tuple("feature" if name == "channel" else name for name in dims)
    rows = features.transpose("trial", "time", "feature").to_numpy().reshape(-1, 2)
    np.testing.assert_array_equal(rows, theirs.transform(X, lengths=lengths))
    assert ours.score(recording) == theirs.score(X, lengths=lengths)
    xr.testing.assert_identical(clone(learner).fit_transform(recording.transpose(*dims)), features)
    ours, theirs = clone(learner).partial_fit(recording), clone(learner).partial_fit(X, lengths=lengths)
    ours, theirs = ours.partial_fit(recording), theirs.partial_fit(X, lengths=lengths)
    np.testing.assert_array_equal(ours.components_, theirs.components_)


def test_coordinates_survive(recording):
    model = SFA(2).fit(recording)
    features = model.transform(recording)
    assert set(features.coords) == {"trial", "time", "phase", "subject", "feature"}
    for name in ("trial", "time", "phase", "subject"):
        xr.testing.assert_identical(features[name].variable, recording[name].variable)
    assert features["feature"].to_numpy().tolist() == ["sfa0", "sfa1"]
    assert model.feature_names_in_.tolist() == CHANNELS
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(recording[:, :, ::-1])
    again = SFA(1).fit(features)  # features of features
    assert again.transform(features).sizes == {"trial": N, "time": T, "feature": 1}
    assert again.transform(features.sel(trial="b")).coords["trial"].item() == "b"


def test_an_array_without_coordinates(cube):
    X = xr.DataArray(cube[0], dims=("time", "place"))
    features = SFA(2).fit_transform(X)
    assert (features.dims, list(features.coords)) == (("time", "feature"), ["feature"])
    np.testing.assert_array_equal(features, SFA(2).fit_transform(cube[0]))


def test_a_gap_in_the_times_of_an_array_is_one_in_every_episode(cube, recording):
    kept = np.r_[0:100, 120:T]
    ours = SFA(2).fit(recording.isel(time=kept))
    theirs = SFA(2).fit(cube[:, kept].reshape(-1, M), lengths=[100, T - 120] * N)
    np.testing.assert_array_equal(ours.components_, theirs.components_)
    whole = SFA(2).fit(recording.isel(time=kept), lengths=[len(kept)] * N)  # lengths alone decide
    np.testing.assert_array_equal(
        whole.components_, SFA(2).fit(cube[:, kept].reshape(-1, M), lengths=[len(kept)] * N).components_
    )


@pytest.mark.parametrize("kind", ["dates", "durations", "another calendar"])
def test_times_of_an_array(kind, recording):
    days = np.arange(T) + 9 * (np.arange(T) >= 50)
    times = {
        "dates": np.datetime64("2026-01-05") + days.astype("timedelta64[D]"),
        "durations": days.astype("timedelta64[h]"),
        "another calendar": np.array(
            [pd.Timestamp("2026-01-05", tz="UTC") + pd.Timedelta(days=int(day)) for day in days]
        ),
    }
    assert rows_of(recording.assign_coords(time=times[kind])).lengths.tolist() == [50, T - 50] * N


def test_an_array_at_uneven_times(cube, recording):
    times = np.cumsum(np.random.default_rng(0).uniform(0.5, 3.0, T))
    uneven, lengths = recording.assign_coords(time=times), [T] * N
    theirs = SFA(2).fit(cube.reshape(-1, M), lengths=lengths, time=np.tile(times, N))
    for time in (True, np.tile(times, N)):
        ours = SFA(2).fit(uneven, time=time)
        np.testing.assert_array_equal(ours.delta_values_, theirs.delta_values_)
        wanted = theirs.score(cube.reshape(-1, M), lengths=lengths, time=np.tile(times, N))
        assert ours.score(uneven, time=time) == wanted
        assert SFA(2).fit_transform(uneven, time=time).equals(ours.transform(uneven))


def test_trials_of_different_lengths_are_padded(cube, recording):
    padded = recording.where((recording.trial != "b") | (recording.time < 1.0))
    X = cube.reshape(-1, M)[np.r_[0:T, T : T + 100, 2 * T : N * T]]
    ours, theirs = SFA(2, missing="break").fit(padded), SFA(2).fit(X, lengths=[T, 100, T, T])
    np.testing.assert_allclose(ours.delta_values_, theirs.delta_values_, rtol=1e-12)
    assert ours.transform(padded).isnull().any("feature").sum() == T - 100


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # arrays of Dask have none
def test_an_array_on_dask_stays_one(cube, recording):
    pytest.importorskip("dask")
    ours, theirs = SFA(2).fit(recording.chunk(trial=1)), SFA(2).fit(recording)
    np.testing.assert_allclose(ours.delta_values_, theirs.delta_values_, rtol=1e-9)
    features = theirs.transform(recording.chunk(trial=1))
    assert hasattr(features.data, "dask")
    np.testing.assert_allclose(features.compute(), theirs.transform(recording))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_what_needs_no_time_takes_labelled_arrays_too(cube, recording, frame):
    X, labels = cube.reshape(-1, M), np.repeat(np.arange(N), T)
    for learner in (CuBICA(2), GraphSFA(2), OfflineBioSFA(2, random_state=0)):
        features = clone(learner).fit(recording, labels).transform(recording)
        lengths = {"lengths": [T] * N} if isinstance(learner, OfflineBioSFA) else {}
        wanted = clone(learner).fit(X, labels, **lengths).transform(X)
        np.testing.assert_array_equal(features.to_numpy().reshape(-1, 2), wanted)
    shuffled, labels = frame.sample(frac=1.0, random_state=0), np.arange(T) % 3
    for learner in (CuBICA(2), GraphSFA(2)):
        clone(learner).fit(shuffled, labels).transform(shuffled)
    graph = GraphSFA(1).fit(recording, np.repeat(np.arange(N), T))
    assert graph.score(recording, np.repeat(np.arange(N), T)) < 0.0
    assert SFA(2).fit(frame).transform(shuffled).shape == (T, 2)


def test_expanded_signals_and_neural_outputs_are_rows(cube, recording):
    X, lengths = cube.reshape(-1, M), [T] * N
    ours = BioSFA(2, n_delays=2, random_state=0).fit(recording)
    theirs = BioSFA(2, n_delays=2, random_state=0).fit(X, lengths=lengths)
    np.testing.assert_array_equal(ours.expand(recording), theirs.expand(X, lengths=lengths))
    np.testing.assert_array_equal(ours.neural_output(recording), theirs.neural_output(X, lengths=lengths))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_monitors_and_selection_take_labelled_arrays(cube, recording):
    X, lengths = cube.reshape(-1, M), [T] * N
    ours, theirs = SlowFeatureMonitor().fit(recording), SlowFeatureMonitor().fit(X, lengths=lengths)
    np.testing.assert_array_equal(ours.limits_, theirs.limits_)
    np.testing.assert_array_equal(ours.statistics(recording), theirs.statistics(X, lengths=lengths))
    ours, theirs = implied_timescales(recording), implied_timescales(X, lengths=lengths)
    np.testing.assert_array_equal(ours.timescales, theirs.timescales)


def test_gaps_in_the_index_of_a_frame(cube, frame):
    X, lengths = cube[0], [100, 7, T - 107]
    theirs = SFA(2, n_delays=2).fit(X, lengths=lengths)
    dates = frame.index.tz_convert(None)
    of_polars = pl.DataFrame(dict(zip(CHANNELS, X.T, strict=True))).with_columns(time=pl.Series(dates.to_numpy()))
    for given_frame in (frame, frame.set_index(dates), frame.set_index(dates - dates[0]), of_polars):
        ours = SFA(2, n_delays=2).fit(given_frame)
        np.testing.assert_array_equal(ours.components_, theirs.components_)
        np.testing.assert_array_equal(ours.transform(given_frame), theirs.transform(X, lengths=lengths))
        assert ours.score(given_frame) == theirs.score(X, lengths=lengths)
        assert ours.feature_names_in_.tolist() == CHANNELS
        one = SFA(2).fit(given_frame, lengths=[T])  # lengths alone decide
        np.testing.assert_array_equal(one.components_, SFA(2).fit(X).components_)
        labels = np.repeat([0, 1], [40, T - 40])
        two = SFA(2).fit(given_frame, episode=labels)
        np.testing.assert_array_equal(two.components_, SFA(2).fit(X, episode=labels).components_)
    slow = SFA(2, n_delays=2).set_output(transform="pandas").fit_transform(frame)
    assert slow.index.equals(frame.index)
    assert slow.index[slow["sfa0"].isna()].equals(frame.index[[0, 100, 107]])


def test_times_backed_by_arrow(frame):
    dates = frame.index.tz_convert(None)
    for index in (
        dates.astype("timestamp[us][pyarrow]"),
        frame.index.tz_convert("UTC").astype("timestamp[ns, UTC][pyarrow]"),
        (dates - dates[0]).astype("duration[ns][pyarrow]"),
    ):
        assert rows_of(frame.set_index(index)).lengths.tolist() == [100, 7, T - 107]
    days = pd.Index(pd.to_datetime(["2026-01-01", "2026-01-02", "2026-01-03", "2026-02-03"])).astype("date32[pyarrow]")
    assert rows_of(frame[:4].set_index(days)).lengths.tolist() == [3, 1]
    missing = dates.where(np.arange(T) != 3).astype("timestamp[us][pyarrow]")
    with pytest.raises(ValueError, match="X has no time at row 3"):
        rows_of(frame.set_index(missing))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_masked_values_are_missing(dtype, cube):
    X = np.ma.array(cube[0].astype(dtype))
    X[[10, 11, 50], [0, 1, 2]] = np.ma.masked
    X.data[10:12, :2] = 1e6
    with pytest.raises(ValueError, match="NaN"):
        SFA(2).fit(X)
    for model in (SFA(2, missing="break"), OnlineSFA(2, missing="break", random_state=0)):
        ours, theirs = clone(model).fit(X), clone(model).fit(X.filled(np.nan))
        np.testing.assert_array_equal(ours.components_, theirs.components_)
        np.testing.assert_array_equal(ours.transform(X), theirs.transform(X.filled(np.nan)))
        assert ours.transform(X).dtype == dtype
        chunk = clone(model).partial_fit(X)
        np.testing.assert_array_equal(chunk.mean_, clone(model).partial_fit(X.filled(np.nan)).mean_)
    whole = np.ma.array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    np.testing.assert_array_equal(rows_of(whole).samples, [[1.0, np.nan], [3.0, 4.0]])


def test_a_frame_at_uneven_times_has_no_gaps(cube, frame):
    seconds = (frame.index - frame.index[0]).total_seconds().to_numpy()
    theirs = SFA(2).fit(cube[0], time=seconds)
    for time in (True, frame.index - frame.index[0]):
        np.testing.assert_allclose(SFA(2).fit(frame, time=time).delta_values_, theirs.delta_values_, rtol=1e-9)


def test_frames_without_dates_are_as_before(cube):
    for index in (pd.RangeIndex(T), pd.Index(np.r_[0:100, 200 : T + 100]), pd.Index(list("ab") * (T // 2))):
        X = pd.DataFrame(cube[0], columns=CHANNELS, index=index)
        assert rows_of(X) == (X, None, None)
    X = pl.DataFrame(cube[0], schema=CHANNELS)
    assert rows_of(X) == (X, None, None)


def test_a_panel_has_one_episode_per_series(cube, recording):
    index = pd.MultiIndex.from_product([["a", "b"], pd.period_range("2026-01-01", periods=T, freq="D")])
    frame = pd.DataFrame(cube[:2].reshape(-1, M), index=index).drop(index=("b", pd.Period("2026-01-11", "D")))
    assert rows_of(frame).lengths.tolist() == [T, 10, T - 11]
    model = SFA(2).partial_fit(frame.rename(columns=str)).partial_fit(frame.rename(columns=str))
    assert model.n_samples_seen_ == 2 * len(frame)
    unnamed = frame.set_index(
        pd.MultiIndex.from_arrays([[np.nan] * T + ["b"] * (T - 1), frame.index.levels[1][:1].repeat(len(frame))])
    )
    assert np.flatnonzero(begins_series(unnamed.index)).tolist() == [0, T]


def test_lengths_alone_decide_where_an_index_cannot_be_read(frame):
    for index in (frame.index.date, pd.MultiIndex.from_product([frame.index, ["a"]])):
        assert rows_of(frame.set_index(index), lengths=[T]).lengths == [T]
        assert rows_of(frame.set_index(index), ordered=False).lengths is None


@given(
    steps=st.lists(st.sampled_from([1000, 1000, 1000, 1400, 1600, 10**6]), min_size=2, max_size=40), begin=st.booleans()
)
def test_a_step_much_longer_than_the_usual_one_is_a_gap(steps, begin):
    times = np.cumsum([0, *steps])
    lengths, usual = [1], np.median(steps)
    for step in steps:
        if step > 1.5 * usual:
            lengths.append(1)
        else:
            lengths[-1] += 1
    X = np.arange(2.0 * len(times)).reshape(-1, 2)
    frame = pd.DataFrame(X, index=pd.to_datetime(times, unit="ms"))
    array = xr.DataArray(X, dims=("time", "x"), coords={"time": times})
    table = pl.DataFrame({"a": X[:, 0], "when": frame.index.to_numpy(), "b": X[:, 1]})
    for labelled in (frame, array, table):
        rows = rows_of(labelled)
        assert rows.lengths.tolist() == lengths
        np.testing.assert_array_equal(rows.samples, X)
        starts = np.zeros(len(X), bool)
        starts[np.cumsum([0, *lengths[:-1]])] = True
        starts[0] = False  # a chunk continues
        np.testing.assert_array_equal(chunk_of(labelled, None, None)[2], starts)


@given(
    order=st.permutations(["time", "neuron", "trial", "session"]),
    sizes=st.lists(st.integers(1, 4), min_size=4, max_size=4),
)
def test_every_order_of_dimensions_comes_back(order, sizes):
    X = xr.DataArray(np.arange(float(np.prod(sizes))).reshape(sizes), dims=order)
    rows = rows_of(X)
    n_episodes = X.sizes["trial"] * X.sizes["session"]
    assert rows.lengths.tolist() == [X.sizes["time"]] * n_episodes
    names = np.array([f"x{i}" for i in range(X.sizes["neuron"])], object)
    back = labelled_like(X, rows.samples, lambda: names)
    np.testing.assert_array_equal(back, X)
    assert back.dims == tuple("feature" if name == "neuron" else name for name in order)


def test_chunks_of_frames_continue_one_another(cube, frame):
    whole = OnlineSFA(2, random_state=0).partial_fit(cube[0], starts=np.isin(np.arange(T), [100, 107]))
    parts = OnlineSFA(2, random_state=0)
    for rows in (slice(0, 50), slice(50, 51), slice(51, 90), slice(90, T)):
        parts.partial_fit(frame.iloc[rows].rename_axis("when"))
    np.testing.assert_allclose(parts.components_, whole.components_, rtol=1e-9)
    starts = np.zeros(T, bool)
    ours = OnlineSFA(2, random_state=0).partial_fit(frame, starts=starts)  # starts alone decide
    np.testing.assert_array_equal(ours.components_, OnlineSFA(2, random_state=0).partial_fit(cube[0]).components_)


class Recorded:
    """A frame with the attributes of a TsdFrame of pynapple."""

    def __init__(self, t, d, time_support, columns=None):
        self.t, self.values, self.time_support, self.columns = t, d, time_support, columns


def test_the_intervals_of_a_time_support_are_episodes(cube):
    X, times = cube[0], 0.1 * np.arange(T) + 5.0 * (np.arange(T) >= 250)
    support = SimpleNamespace(start=np.array([0.0, 12.0, 100.0]), end=np.array([11.95, 99.0, 101.0]))
    recorded = Recorded(times, X, support, CHANNELS)
    ours, theirs = SFA(2).fit(recorded), SFA(2).fit(X, lengths=[120, 130, T - 250])
    np.testing.assert_array_equal(ours.components_, theirs.components_)
    features = ours.transform(recorded)
    np.testing.assert_array_equal(features.values, theirs.transform(X))
    assert (type(features), features.columns) == (Recorded, ["sfa0", "sfa1"])
    assert features.t is times
    assert features.time_support is support


class OnlyDlpack:
    """An array of another library, in the memory of a device."""

    def __init__(self, values, device=1):
        self.values, self.device = values, device

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device, 0


class OnlyArray:
    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)


@pytest.mark.parametrize(
    ("kind", "dtype"), [(OnlyDlpack, np.float64), (OnlyDlpack, np.float32), (OnlyArray, np.float64)]
)
def test_arrays_of_other_libraries(kind, dtype, cube):
    X = cube[0].astype(dtype)
    for learner in (SFA(2), OnlineSFA(2, random_state=0), CuBICA(2)):
        ours, theirs = clone(learner).fit(kind(X)), clone(learner).fit(X)
        np.testing.assert_array_equal(ours.transform(kind(X)), theirs.transform(X), strict=True)
    SFA(2).partial_fit(kind(X)).partial_fit(kind(X))
    assert SFA(2).fit(kind(X), index=np.arange(T)).score(kind(X)) == SFA(2).fit(X).score(X)


def test_tensors(cube):
    torch = pytest.importorskip("torch")
    ours, theirs = SFA(2).fit(torch.from_numpy(cube[0])), SFA(2).fit(cube[0])
    np.testing.assert_array_equal(ours.transform(torch.from_numpy(cube[0])), theirs.transform(cube[0]))


def with_times(frame, times):
    return frame.set_index(pd.DatetimeIndex(times))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            lambda X: X.rename(time="t"),
            r"dimensions trial, t, channel, and none is \"time\": .* X.rename\({'t': \"time\"}",
        ),
        (lambda X: X.rename(channel="c"), r"not clear which is that of features: .*X.rename\({'c': \"feature\"}\)"),
        (lambda X: X.rename(trial="unit"), r"each of unit, channel may be that of features: rename it"),
        (
            lambda X: X[0, :, 0],
            r"needs dimensions of time and of features: add one, as in X.expand_dims\(\"feature\"\)",
        ),
        (lambda X: X[0, 0, 0], "needs dimensions of time and of features"),
        (lambda X: X.to_dataset(name="lfp"), r"X is a Dataset, .*: give X\['lfp'\]"),
        (lambda X: X[0].to_dataset(dim="channel"), r"X is a Dataset, .*: give X.to_dataarray\(\"feature\"\)"),
        (
            lambda X: X[:, ::-1],
            r"row 1 of X has 2.98 after 2.99: sort the rows, as in X.sortby\(\"time\"\), or give lengths",
        ),
        (lambda X: X.assign_coords(time=[0.0, *X.time.to_numpy()[:-1]]), "time must increase, but row 1"),
        (
            lambda X: X.assign_coords(time=[np.nan, *X.time.to_numpy()[1:]]),
            "X has no time at row 0: give each row a time",
        ),
        (lambda X: X.assign_coords(time=[f"t{i}" for i in range(T)]), "t0.*, which is neither a number nor a date"),
        (lambda X: X[0].variable, "X is a Variable: give a DataArray"),
        (
            lambda X: X.assign_coords(channel=["\x1b"] * X.sizes["channel"]),
            r"X has several columns named '\\x1b': give each column a name of its own",
        ),
        (lambda X: X[..., :0], r"0 feature\(s\)"),
        (lambda X: X.astype(str) + "V", "could not convert string to float"),
    ],
)
def test_wrong_arrays_are_refused_in_one_line(wrong, message, recording):
    for learner in (SFA(1).fit, SFA(1).partial_fit, SFA(1).fit_transform, FoldiakTrace(1).fit):
        with pytest.raises(ValueError, match=message) as caught:
            learner(wrong(recording))
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            lambda X: X[::-1],
            r"row 1 of X has 2026-01-05 .* after .*: sort the rows, as in X.sort_index\(\), or give lengths",
        ),
        (lambda X: X.iloc[[0, 0, 1, 2]], "time must increase, but row 1 of X"),
        (lambda X: X.set_index(pd.DatetimeIndex([None, *X.index[1:]])), "X has no time at row 0"),
        (
            lambda X: X.set_index(X.index.date),
            "has dates as objects: convert it by pandas.to_datetime, or give lengths",
        ),
        (lambda X: X.set_axis(X.index.astype(object)), "has dates as objects: convert it by pandas.to_datetime"),
        (
            lambda X: X.set_index(pd.MultiIndex.from_product([X.index, ["a"]])),
            r"time must be the last level .*, as in X.swaplevel\(\).sort_index\(\), or give lengths",
        ),
        (
            lambda X: X.assign(word="x"),
            r"column 'word' of X holds (str|object), but samples must be numbers: leave it out \(",
        ),
        (
            lambda X: X.assign(mixed=["x", 1] * (T // 2)),
            "column 'mixed' of X holds object, but samples must be numbers",
        ),
        (lambda X: X.reset_index(names="when"), r"'when' of X holds .*: leave it out, or .* in X.set_index\('when'\)"),
        (
            lambda X: pl.from_pandas(X.reset_index(names="when"))[::-1],
            r"row 1 .* as in X.sort\('when'\), or give lengths",
        ),
        (lambda X: pl.from_pandas(X.assign(a=X.index, b=X.index)), "column 'a' of X holds Datetime"),
        (lambda X: pl.from_pandas(X.assign(a=X.index - X.index[0])), "column 'a' of X holds Duration"),
        (lambda X: pl.from_pandas(X.assign(word="x")), "column 'word' of X holds String"),
        (lambda X: pl.from_pandas(X).lazy(), r"a LazyFrame has no rows yet: give frame.collect\(\)"),
        (lambda X: pa.Table.from_pandas(X), r"tables of pyarrow are not frames: give table.to_pandas\(\)"),
        (
            lambda X: X.set_axis(["a"] * len(X.columns), axis=1),
            "X has several columns named 'a': give each column a name",
        ),
        (
            lambda X: X.set_axis([1] * len(X.columns), axis=1),
            "X has several columns named '1': give each column a name",
        ),
        (lambda X: OnlyDlpack(X.to_numpy(), device=2), r"on another device than the CPU: .* as in X.cpu\(\)"),
    ],
)
def test_wrong_frames_are_refused_in_one_line(wrong, message, frame):
    for learner in (SFA(1).fit, OnlineSFA(1).partial_fit):
        with pytest.raises(ValueError, match=message) as caught:
            learner(wrong(frame))
        assert "\n" not in str(caught.value)


def test_a_failed_fit_leaves_the_model_as_it_was(recording):
    model = SFA(2).fit(recording)
    before = model.delta_values_
    with pytest.raises(ValueError, match="time must increase"):
        model.fit(recording[:, ::-1])
    np.testing.assert_array_equal(model.delta_values_, before)


def test_streams_refuse_labelled_arrays(recording):
    with pytest.raises(InputError, match=r"labelled array: give it to fit or transform, or give its values"):
        open_stream(recording)


def test_labels_of_rows_are_not_read_without_need(recording):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        X = np.zeros((3, 2))
        assert rows_of(X).samples is X
        assert chunk_of(X, None, None)[0] is X
        assert labelled_like(X, X, lambda: pytest.fail("names are not needed")) is X
