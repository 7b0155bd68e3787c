"""Data frames as streams."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from biosfa import SFA, InputError
from biosfa.io import open_stream
from tests.io.conftest import NAMES, joined


def test_frames_are_streams_too(X):
    frame = pd.DataFrame(X, columns=NAMES)
    stream = open_stream(frame, 100)
    assert stream.feature_names == NAMES
    assert repr(stream) == "<Stream of the frame: 5 columns, ch0, ch1, ch2, ch3, ch4>"
    np.testing.assert_allclose(SFA(2).fit(stream).delta_values_, SFA(2).fit(X).delta_values_, rtol=1e-9)
    with pytest.raises(TypeError, match="transform_chunks"):
        SFA(2).fit(stream).transform(stream)


def test_columns_that_are_not_asked_for_may_hold_anything(X):
    frame = pd.DataFrame({"v": X[:, 0], "odd": [1, "a"] * (len(X) // 2), "sparse": pd.arrays.SparseArray(X[:, 1])})
    np.testing.assert_array_equal(joined(open_stream(frame, columns=["v", "sparse"]))[0], X[:, :2])
    with pytest.raises(InputError, match=r"column 'odd': .*string is not a number"):
        list(open_stream(frame))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (lambda frame: pl.from_pandas(frame).lazy(), r"a LazyFrame has no rows yet: give frame\.collect\(\)"),
        (lambda frame: [pl.from_pandas(frame).lazy()], r"a LazyFrame has no rows yet: give frame\.collect\(\)"),
        (lambda frame: pa.Table.from_pandas(frame), r"tables of pyarrow are not frames: give table\.to_pandas\(\)"),
        (lambda frame: frame.set_axis(["a", "b", "a", "c", "d"], axis=1), "the frame has several columns named 'a'"),
    ],
)
def test_what_is_no_frame_of_rows_is_refused(source, message, X):
    with pytest.raises(InputError, match=message):
        open_stream(source(pd.DataFrame(X, columns=NAMES)))


@pytest.mark.parametrize("as_words", [False, True])
@pytest.mark.parametrize("library", [pd, pl])
def test_frames_have_times_and_labels(library, as_words, X, tmp_path):
    """A frame and the Parquet file of the same table give the same stream."""
    times = pd.date_range("2026-11-16", periods=len(X), freq="s")
    times = times[:100].append(times[100:] + pd.Timedelta("1h"))
    columns = {name: X[:, i] for i, name in enumerate(NAMES)}
    runs = ["a"] * 50 + ["b"] * (len(X) - 50)
    pandas = pd.DataFrame({"when": times.astype(str) if as_words else times, "run": runs, **columns})
    frame = pandas if library is pd else pl.from_pandas(pandas)
    pandas.to_parquet(tmp_path / "x.parquet")
    options = {"time": "when", "episodes": "run", "missing": "break"}
    for source in (frame, tmp_path / "x.parquet"):
        samples, starts = joined(open_stream(source, **options))
        np.testing.assert_array_equal(samples, X)
        np.testing.assert_array_equal(np.flatnonzero(starts), [0, 50, 100])
    with pytest.raises(InputError, match=r"jumps by 60 minutes, where steps up to 1\.5 seconds are usual \(max_step"):
        list(open_stream(frame, time="when", episodes="run"))
    if not as_words:
        with pytest.raises(InputError, match=r"column 'when': timestamp.* is not a number"):
            list(open_stream(frame, episodes="run"))
    if not as_words and library is pd:
        with pytest.raises(ValueError, match=r"column 'when' of X holds .*, but samples must be numbers"):
            SFA(1).fit(frame[["when", *NAMES]])
