"""No whole number loses digits on its way to a float, and what is masked is missing: by every road."""

from decimal import Decimal
from fractions import Fraction

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from biosfa import SFA, GraphSFA, OnlineSFA, metrics
from biosfa.exceptions import InputError
from biosfa.floats import LARGEST, to_floats, unmasked
from biosfa.graphs import Graph
from biosfa.io import open_stream
from biosfa.monitoring import SlowFeatureMonitor
from biosfa.selection import implied_timescales

N = 300
LOST = r"would lose digits, as whole numbers beyond 2\*\*53 do"


@pytest.fixture(autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def numbers():
    """A slow column and a fast one, of whole numbers."""
    rng = np.random.default_rng(0)
    return np.column_stack([np.round(100 * np.sin(np.arange(N) / 50)), np.round(100 * rng.normal(size=N))]).astype(int)


@pytest.fixture
def beyond(numbers):
    """The same, of which the slow column is too large from row 7 on."""
    beyond = numbers.copy()
    beyond[7:, 0] += 2**60
    return beyond


ROADS = {
    "array": lambda X: SFA(1).fit(X),
    "unsigned": lambda X: SFA(1).fit((X + 1000).astype(np.uint64)),
    "negative": lambda X: SFA(1).fit(-X),
    "list": lambda X: SFA(1).fit([[int(a), b / 2] for a, b in X.tolist()]),
    "objects": lambda X: SFA(1).fit(X.astype(object)),
    "objects beyond any integer type": lambda X: SFA(1).fit(X.astype(object) * 10**10),
    "words": lambda X: SFA(1).fit(X.astype(str)),
    "decimals": lambda X: SFA(1).fit(np.vectorize(Decimal, otypes=[object])(X)),
    "masked": lambda X: SFA(1).fit(np.ma.array(X, mask=X[0] == X)),
    "pandas": lambda X: SFA(1).fit(pd.DataFrame(X, columns=["slow", "fast"]).assign(fast=0.5)),
    "nullable": lambda X: SFA(1, missing="break").fit(
        pd.DataFrame(X, columns=["slow", "fast"], dtype="Int64").shift(1)
    ),
    "polars": lambda X: SFA(1, missing="break").fit(pl.DataFrame(X, schema=["slow", "fast"]).select(pl.all().shift(1))),
    "transform": lambda X: SFA(1).fit(X % 97).transform(X),
    "transform_one": lambda X: SFA(1).fit(X % 97).transform_one(X[7]),
    "partial_fit": lambda X: SFA(1).partial_fit(X[:7]).partial_fit(X[7:]),
    "learn_one": lambda X: OnlineSFA(1).partial_fit(X[:7]).learn_one(X[7]),
    "parallel": lambda X: OnlineSFA(1).partial_fit_streams(X.reshape(-1, 2, 2)),
    "stream": lambda X: SFA(1).fit(open_stream(X, 50)),
    "stream of a masked array": lambda X: SFA(1).fit(open_stream(np.ma.array(X, mask=X[0] == X), missing="break")),
    "stream of a frame": lambda X: SFA(1).fit(open_stream(pd.DataFrame(X, columns=["slow", "fast"]))),
    "Dask array": lambda X: SFA(1).fit(da.from_array(X, chunks=(50, 2))),
    "Dask frame": lambda X: SFA(1).fit(dd.from_pandas(pd.DataFrame(X, columns=["slow", "fast"]), npartitions=3)),
    "stream of a Dask array": lambda X: OnlineSFA(1).fit(da.from_array(X, chunks=(50, 2))),
    "features of a Dask array": lambda X: SFA(1).fit(X % 97).transform(da.from_array(X, chunks=(50, 2))).compute(),
    "graph": lambda X: GraphSFA(1).fit(X, np.arange(N) // 30),
    "monitor": lambda X: SlowFeatureMonitor().fit(X),
    "rows of a monitor": lambda X: monitor_of(X % 97).statistics(X),
    "a row of a monitor": lambda X: monitor_of(X % 97).update(X[7]),
    "metrics": lambda X: metrics.slowness(X),
    "selection": lambda X: implied_timescales(X.tolist()),
}


@pytest.mark.filterwarnings("ignore::biosfa.exceptions.ShortCalibrationWarning")
@pytest.mark.filterwarnings("ignore::biosfa.exceptions.GiveAwayWarning")
@pytest.mark.parametrize("road", ROADS)
def test_whole_numbers_that_lose_digits_are_refused(beyond, road):
    with pytest.raises(ValueError, match=LOST):
        ROADS[road](beyond)


def monitor_of(X):
    return SlowFeatureMonitor().fit(X)


FILES = {
    "x.csv": lambda X, path: pd.DataFrame(X, columns=["slow", "fast"]).to_csv(path, index=False),
    "x.parquet": lambda X, path: parquet.write_table(pa.table({"slow": X[:, 0], "fast": X[:, 1]}), path),
    "x.npy": lambda X, path: np.save(path, X),
    "x.npz": lambda X, path: np.savez(path, X),
    "x.h5": lambda X, path: write_hdf5(X, path),
    "x.zarr": lambda X, path: write_zarr(X, path),
}


def write_hdf5(X, path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file["x"] = X


def write_zarr(X, path):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(path, shape=X.shape, dtype=X.dtype)[:] = X


@pytest.mark.parametrize("name", FILES)
def test_files_name_the_place(numbers, beyond, tmp_path, name):
    FILES[name](beyond, tmp_path / name)
    where = "line 9" if name == "x.csv" else "row 7"
    column = "'slow'" if name in ("x.csv", "x.parquet") else "'x0'"
    with pytest.raises(InputError, match=f"{name}.*, {where}, column {column}: {beyond[7, 0]} {LOST}"):
        list(open_stream(tmp_path / name, chunk_size=5, missing="break"))
    FILES[name](numbers + LARGEST - abs(numbers).max(), tmp_path / f"largest-{name}")  # which floats still have
    assert max(chunk.samples.max() for chunk in open_stream(tmp_path / f"largest-{name}")) <= LARGEST


def test_decimals_in_parquet_have_all_digits_too(tmp_path):
    column = pa.array([Decimal(1), Decimal(2**53 + 1)], pa.decimal128(20, 0))
    parquet.write_table(pa.table({"a": column}), tmp_path / "x.parquet")
    with pytest.raises(InputError, match=f"row 1, column 'a': {2**53 + 1} {LOST}"):
        list(open_stream(tmp_path / "x.parquet"))


def test_the_message_has_the_name_of_the_column(beyond):
    frame = pd.DataFrame(beyond, columns=["slow", "fast"])
    for X in (frame, pl.from_pandas(frame)):
        with pytest.raises(InputError, match=rf"^row 7, column 0 \('slow'\): {beyond[7, 0]} {LOST}"):
            SFA(1).fit(X)


def test_large_numbers_that_are_floats_have_lost_nothing(numbers, tmp_path):
    """A float beyond 2**53 has all the digits that it ever had."""
    X = numbers * 2.0**60
    np.savetxt(tmp_path / "x.csv", X, delimiter=",", header="a,b", comments="")  # as 1.2e+20
    reference = SFA(1).fit(numbers).delta_values_
    frame = pd.DataFrame(X)
    for same in (X, X.tolist(), X.astype(object), frame, pl.from_numpy(X), open_stream(tmp_path / "x.csv")):
        np.testing.assert_allclose(SFA(1).fit(same).delta_values_, reference, rtol=1e-12)


@pytest.mark.parametrize("number", [LARGEST, -LARGEST, "9007199254740992", "x", 1e300, np.float32(1e30), None, pd.NA])
def test_what_loses_no_digits(number):
    assert to_floats([[LARGEST]]).item() == LARGEST
    if isinstance(number, int | float | np.floating):
        assert to_floats([[number, 0.5]])[0, 0] == number


@pytest.mark.parametrize("number", [LARGEST + 1, -LARGEST - 1, str(LARGEST + 1), f"-000{10**30}", Fraction(10**17, 3)])
def test_what_loses_digits(number):
    with pytest.raises(InputError, match=f"row 0, column 1: .* {LOST}"):
        to_floats([[0.5, number]])


def test_times_keep_their_digits(numbers):
    times = 2**60 + 1000 * np.arange(N)
    reference = SFA(1).fit(numbers, time=np.arange(N)).delta_values_
    np.testing.assert_allclose(SFA(1).fit(numbers, time=times).delta_values_, reference, rtol=1e-12)
    with pytest.raises(ValueError, match=f"the time of row 0.*{LOST}"):
        SFA(1).fit(numbers, time=times.astype(object))


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (np.array([1, 2], np.int8), np.array([1.0, np.nan])),
        (np.array([1.5, 2.5], np.float32), np.array([1.5, np.nan], np.float32)),
        (np.array(["a", "b"]), np.array(["a", None], object)),
        (np.array([1, 2], "M8[s]"), np.array([1, "NaT"], "M8[s]")),
    ],
)
def test_masked_values_are_missing(values, wanted):
    found = unmasked(np.ma.array(values, mask=[False, True]))
    np.testing.assert_array_equal(found, wanted)
    assert found.dtype.kind == wanted.dtype.kind
    np.testing.assert_array_equal(unmasked(np.ma.array(values)), values)


@pytest.mark.parametrize("name", ["sample_weight", "episode", "index", "time", "lengths"])
def test_masks_of_what_belongs_to_rows_are_missing_values(numbers, name):
    values = np.array([100, 200]) if name == "lengths" else np.arange(N)
    SFA(1).fit(numbers, **{name: values if name != "episode" else values // 100})
    masked = np.ma.array(values, mask=values == values[1])
    with pytest.raises(ValueError, match=r"missing|nan|whole numbers"):
        SFA(1).fit(numbers, **{name: masked})


def test_masks_are_missing_values_elsewhere_too(numbers):
    X, mask = numbers.astype(float), np.arange(N) == 5
    masked = np.ma.array(X, mask=np.column_stack([mask, mask]))
    reference = SFA(1, missing="break").fit(np.where(mask[:, None], np.nan, X)).delta_values_
    for same in (masked, open_stream(masked, 7, missing="break"), da.from_array(masked, chunks=(50, 2), asarray=False)):
        np.testing.assert_allclose(SFA(1, missing="break").fit(same).delta_values_, reference, rtol=1e-12)
    with pytest.raises(ValueError, match="sample 5 has no label"):
        GraphSFA(1).fit(X, np.ma.array(np.arange(N) // 30, mask=mask))
    with pytest.raises(ValueError, match="pairs must be whole numbers"):
        Graph(np.ma.array([[0, 1], [1, 2]], mask=[[False, True], [False, False]]))
    with pytest.raises(ValueError, match="starts must be an array of booleans"):
        SFA(1).partial_fit(X, starts=np.ma.array(mask, mask=mask))
    assert np.isnan(metrics.slowness(masked)).all()


@pytest.mark.parametrize(
    ("scale", "weights", "message"),
    [
        (1e-160, None, "squares lose digits"),
        (1.0, np.full(N, 1e-320), "squares lose digits"),
        (1.0, np.where(np.arange(N) == 0, 1e300, 1.0), "weights that are more alike"),
        (1.0, np.where(np.arange(N) == 9, 1e200, 1.0), "weights that are more alike"),
    ],
)
def test_sums_without_digits_are_refused(numbers, scale, weights, message):
    with pytest.raises(ValueError, match=message):
        SFA(1).fit(numbers * scale, sample_weight=weights)


def test_small_samples_and_unequal_weights_are_learned_from(numbers):
    reference = SFA(2).fit(numbers).delta_values_
    np.testing.assert_allclose(SFA(2).fit(numbers * 1e-130).delta_values_, reference, rtol=1e-9)
    few = np.arange(N) >= 30  # rows of hardly any weight
    found = SFA(2).fit(numbers, sample_weight=np.where(few, 1.0, 1e-200)).delta_values_
    np.testing.assert_allclose(found, SFA(2).fit(numbers[few]).delta_values_, rtol=1e-9)
