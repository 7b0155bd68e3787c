"""Whether the first line of a text is a header."""

import numpy as np
import pytest

from biosfa import InputError
from biosfa.io import open_stream


@pytest.mark.parametrize(
    ("text", "names", "first"),
    [
        ("2026-11-16 12:30:00,-20,1068\n2026-11-16 12:31:00,-21,1067\n", ["x0", "x1", "x2"], [-20, 1068]),
        ("16.11.2026 12:30,1.5,2\n16.11.2026 12:31,1.6,3\n", ["x0", "x1", "x2"], [1.5, 2]),
        ("12:30:00,1,2\n12:30:01,3,4\n", ["x0", "x1", "x2"], [1, 2]),
        ("time,a,b\n2026-11-16,1,2\n2026-11-17,3,4\n", ["time", "a", "b"], [1, 2]),
        ("run,1,2\nrun,3,4\n", ["x0", "x1", "x2"], [1, 2]),  # words over words are labels
        ("t,1,2\n0,3,4\n", ["t", "1", "2"], [3, 4]),  # words over numbers are names
        (",1,2\n0,3,4\n", ["x0", "x1", "x2"], [1, 2]),  # a missing value
        ("NaT,1,2\n0,3,4\n", ["x0", "x1", "x2"], [1, 2]),
        ("1,2,3\n4,5,6\n", ["x0", "x1", "x2"], [2, 3]),
        ("1,<NA>,2\n0,3,4\n", ["x0", "x1", "x2"], None),
        (".,1,2\n0,3,4\n", ["x0", "x1", "x2"], [1, 2]),
        ("time,400,401\n0,3,4\n", ["time", "400", "401"], [3, 4]),
        ("x,2theta,3d\n0,3,4\n", ["x", "2theta", "3d"], [3, 4]),
    ],
)
def test_a_first_line_is_a_header_or_a_sample(text, names, first, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(text)
    stream = open_stream(path, columns=[1, 2])
    assert stream.feature_names == names[1:]
    if first is None:  # it is a sample with a missing value
        with pytest.raises(InputError, match="line 1, column 'x1': nan"):
            next(iter(stream))
    else:
        np.testing.assert_array_equal(next(iter(stream)).samples[0], first)


@pytest.mark.parametrize(
    "text",
    [
        "1,0x10,3\n4,5,6\n",
        "1,1e,3\n4,5,6\n",
        "true,1,2\n0,3,4\n",
        "ERR,5,2\n1,2,3\n",  # numbers that do not go up are no names
        "0x10,0x20\n0x11,0x21\n",
        "run1,0x10\nrun2,0x11\n",
        "0,1,2\n5,6,7\n",  # a frame without names, as pandas writes it, or a sample
        ",0,1\n0,5,6\n",
        ",0\n0,5\n",
        "a," + 5000 * "9" + ",1\n1,2,3\n",
    ],
)
def test_no_row_and_no_column_is_lost_to_a_header_that_may_be_none(text, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=r"not clear whether line 1 is a header.*--header.*--no-header") as caught:
        open_stream(path)
    assert "\n" not in str(caught.value)
    n_columns = text.splitlines()[0].count(",") + 1
    assert open_stream(path, header=False).n_features == n_columns
    assert open_stream(path, header=True).n_features == n_columns - text.startswith(",")  # an index has no name


def test_an_unclear_first_line_is_asked_about(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("1.0,2.O,3.0\n4.0,5.0,6.0\n")
    with pytest.raises(InputError, match=r"not clear whether line 1 is a header.*--no-header"):
        open_stream(path)
    assert open_stream(path, header=True).feature_names == ["1.0", "2.O", "3.0"]
    with pytest.raises(InputError, match=r"'2\.O' is not a number"):
        list(open_stream(path, header=False))
    np.save(tmp_path / "x.npy", np.zeros((3, 2)))
    with pytest.raises(InputError, match="not a text file"):
        open_stream(tmp_path / "x.npy", header=False)


def test_a_column_given_by_number_is_never_taken_for_a_name(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("1,0,2\n5,6,7\n8,9,10\n")
    assert open_stream(path, columns=[0], header=True).feature_names == ["1"]
    assert open_stream(path, columns=["0"], header=True).feature_names == ["0"]
