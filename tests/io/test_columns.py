"""Which columns of a table are samples."""

import numpy as np
import pandas as pd
import pytest

from biosfa import InputError
from biosfa.cli._options import given_options
from biosfa.io import StreamOptions, open_stream

NAMES = ["t", "a", "b, inlet", "c", "status", "1-2"]


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((30, 6)), columns=NAMES)
    return frame.assign(t=np.arange(30.0), status="RUN")


@pytest.fixture(params=["frame", "x.csv", "x.parquet"])
def source(request, frame, tmp_path):
    path = tmp_path / request.param
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(path)
    return path if path.suffix else frame


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"skip": ["status"]}, ["t", "a", "b, inlet", "c", "1-2"]),
        ({"skip": [4, "c"], "time": "t"}, ["a", "b, inlet", "1-2"]),
        ({"skip": ["4-5"], "episodes": "t"}, ["a", "b, inlet", "c"]),
        ({"columns": ["1-3"]}, ["a", "b, inlet", "c"]),
        ({"columns": ["1-4", 0], "skip": ["status"]}, ["a", "b, inlet", "c", "t"]),
        ({"columns": ["1-2"]}, ["1-2"]),  # a name comes before a range
    ],
)
def test_columns_are_skipped_and_chosen_by_ranges(options, names, source, frame):
    stream = open_stream(source, **options)
    assert stream.feature_names == names
    samples = np.concatenate([chunk.samples for chunk in stream])
    np.testing.assert_allclose(samples, frame[names].to_numpy(np.float64), rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"skip": ["state"]}, "no column 'state'"),
        ({"skip": [6]}, "no column 6"),
        ({"columns": ["3-6"]}, "no columns 3-6: its 6 columns have the numbers from 0 to 5"),
        ({"columns": ["3-1"]}, "no columns 3-1"),
        ({"columns": ["0-3", "a"]}, "has 'a' of .* more than once"),
        ({"skip": ["0-5"]}, "no columns that are samples"),
        ({}, r"column 'status': .*leave it out with skip \(--skip\)"),
    ],
)
def test_columns_that_cannot_be_are_errors(options, message, source):
    with pytest.raises(InputError, match=message):
        list(open_stream(source, **options))


@pytest.mark.parametrize(
    ("wrong", "right"), [("statsu", "status"), ("inlet b", None), ("b inlet", "b, inlet"), (9, None)]
)
def test_the_nearest_name_is_proposed(wrong, right, frame):
    wide = pd.concat([pd.DataFrame(np.zeros((30, 20))), frame], axis=1)  # the message lists some of them only
    with pytest.raises(InputError, match="no column") as error:
        open_stream(wide if right else frame, columns=[wrong])
    assert (f"did you mean {right!r}?" in str(error.value)) == (right is not None)
    assert "did you mean" in str(error.value) or right is None


def test_all_columns_of_words_are_named_at_once(source, frame):
    worded = frame.assign(when="2026-11-16 12:30", unit="bar")
    if not isinstance(source, pd.DataFrame):
        {".csv": lambda path: worded.to_csv(path, index=False), ".parquet": worded.to_parquet}[source.suffix](source)
    with pytest.raises(
        InputError, match=r"columns.* 'status' .*, 'when' .*, 'unit' .*leave them out with skip"
    ) as error:
        list(open_stream(worded if isinstance(source, pd.DataFrame) else source))
    assert "\n" not in str(error.value)


def test_arrays_without_names_keep_the_numbers_of_their_columns():
    stream = open_stream(np.zeros((5, 4)), skip=[1])
    assert stream.feature_names == ["x0", "x2", "x3"]
    assert stream.named


def test_text_without_a_header_says_so(tmp_path):
    """As ``tail -f`` writes it, which begins with the last ten lines."""
    path = tmp_path / "log.csv"
    path.write_text("2026-03-05 11:09:00,1.5,2.5\n2026-03-05 11:10:00,1.6,2.4\n")
    with pytest.raises(InputError, match=r"no column 'when': it has no header.* from 0 to 2, .*\(tail -n \+1 -f\)"):
        open_stream(path, time="when")
    assert open_stream(path, time=0).n_features == 2


def test_files_in_another_order_lose_the_same_column(frame):
    first, second = frame.drop(columns="status"), frame.drop(columns="status")[["c", "1-2", "b, inlet", "t", "a"]]
    chunks = list(open_stream([first, second], skip=["t"]))
    np.testing.assert_array_equal(chunks[0].samples, chunks[1].samples)


def test_names_with_commas_on_the_command_line():
    given = given_options(columns='"b, inlet", c,1-3,2', skip="status")
    assert given == {"columns": ["b, inlet", "c", "1-3", 2], "skip": ["status"]}
    assert StreamOptions(**given).skip == ("status",)
