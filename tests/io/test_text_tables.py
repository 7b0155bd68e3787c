"""Text: delimiters, comments, bad cells and blank lines."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biosfa import InputError
from biosfa.io import open_stream
from biosfa.io.tables._lines import live_lines
from tests.io.conftest import good_rows, joined


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3\n", r"x\.csv, line 3: 1 columns where 2 are expected"),
        ("a,b\n1,2\n\n3,4,5\n", r"x\.csv, line 4: 3 columns where 2 are expected"),
        ("a,b\n1,2\n3,warm\n", r"x\.csv, line 3, column 'b': 'warm' is not a number"),
        ("1,2\n3,warm\n", r"x\.csv, line 2, column 1: 'warm' is not a number"),
        ("a,b\n1,2\n3,NaN\n", r"x\.csv, line 3, column 'b': nan\. missing=\"break\""),
        ("a,b\n1,2\n3,\n", r"x\.csv, line 3, column 'b': nan"),
        ("a,b\n1,-inf\n", r"x\.csv, line 2, column 'b': -inf, which is not a finite number"),
        ("a,a\n1,2\n", r"x\.csv has several columns named 'a'"),
        ("a,b\r1,2\r3,warm\r5,6\r", r"x\.csv, line 3, column 'b': 'warm' is not a number"),
        ("a,b\r1,2\r3,4,5\r", r"x\.csv, line 3: 3 columns where 2 are expected"),
        ("a,b\n1,2\nconversion error,3,4\n", r"x\.csv, line 3: 3 columns where 2 are expected"),
        ('a,b\n1,2\n3,"4\n5,6\n', r"x\.csv, line 3: a quotation mark is not closed on its line"),
        ('a,b\n1,2\n"3\n",4\n5,6\n', r"x\.csv, line 3: a quotation mark is not closed on its line"),
        ('a,b\n1,2\n3,"4\n5"', r"x\.csv, line 3: a quotation mark is not closed on its line"),
        ("", r"x\.csv has no rows"),
        ("# nothing\n\n", r"x\.csv has no rows"),
    ],
)
def test_text_that_is_wrong_is_named_by_line_and_column(text, message, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        list(open_stream(path))


@pytest.mark.parametrize(
    ("text", "names", "rows"),
    [
        (
            "Heart rate (bpm),Breathing rate (per min)\n1,2\n",
            ["Heart rate (bpm)", "Breathing rate (per min)"],
            [[1, 2]],
        ),
        ('t,"pos, m"\r\n1,2\r\n3,4', ["t", "pos, m"], [[1, 2], [3, 4]]),
        ("\ufeff# a comment\na;b\n1;2\n", ["a", "b"], [[1, 2]]),
        (",a,b\n0,1,2\n1,3,4\n", ["a", "b"], [[1, 2], [3, 4]]),  # an index, as pandas writes it
        ("a,b\r1,2\r3,4\r", ["a", "b"], [[1, 2], [3, 4]]),  # lines that end with CR
        ("a,b\n1, NA\n 3 ,+4\n", ["a", "b"], [[3, 4]]),
        ("1.5,N/A,2\n1,2,3\n", ["x0", "x1", "x2"], [[1, 2, 3]]),  # the first row is missing
        ("  1.0    2.0\n 10.0   20.0\n", ["x0", "x1"], [[1, 2], [10, 20]]),
        ("a\tb\n1\t2\n\t\n3\t4\n", ["a", "b"], [[1, 2], [3, 4]]),
    ],
)
def test_text_of_all_kinds(text, names, rows, tmp_path):
    path = tmp_path / "x.txt"
    path.write_bytes(text.encode())
    stream = open_stream(path, missing="break")
    assert stream.feature_names == names
    np.testing.assert_array_equal(joined(stream)[0], rows)


def test_blocks_of_nothing_do_not_end_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr("biosfa.io.tables._lines.BLOCK_BYTES", 64)
    path = tmp_path / "x.tsv"
    path.write_text("a\tb\n1\t2\n" + "\t\n" * 100 + "\n" * 100 + "3\t4\nx\t5\n")
    path.write_text("a\tb\n1\t2\n" + "\n" * 200 + "3\t4\nx\t5\n")
    with pytest.raises(InputError, match=r"line 204, column 'a': 'x' is not a number"):
        list(open_stream(path))
    path.write_text("a\tb\n1\t2\n" + "\t\n" * 100 + "\n" * 100 + "3\t4\nx\t5\n")
    path.write_text(path.read_text().replace("x", "7"))
    samples, starts = joined(open_stream(path, missing="break"))
    np.testing.assert_array_equal(samples, [[1, 2], [3, 4], [7, 5]])
    np.testing.assert_array_equal(starts, [True, True, False])
    path.write_text("a\tb\n1\t2\n\n\n3\t\n")
    with pytest.raises(InputError, match="line 5, column 'b': nan"):
        list(open_stream(path))


@pytest.mark.parametrize(
    ("bad", "message"),
    [("1,ERR", "'ERR' is not a number"), ("1,2,3", "3 columns where 2"), ("1,", "nan"), ("1,inf", "not a finite")],
)
@pytest.mark.parametrize("n_good", [1, 2000])
def test_every_good_line_before_a_bad_one_is_given(bad, message, n_good, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,b\n" + "".join(f"{i},{i}\n" for i in range(n_good)) + bad + "\n5,6\n")
    rows, error = good_rows(open_stream(path))
    np.testing.assert_array_equal(rows[:, 0], np.arange(n_good))
    assert message in error
    assert f"line {n_good + 2}" in error


def test_a_cell_that_is_no_number_can_be_a_gap(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n3,ERR\n5,6\n7,8\n")
    *_, last = chunks = list(open_stream(path, missing="break"))
    samples, starts = joined(chunks)
    np.testing.assert_array_equal(samples, [[1, 2], [5, 6], [7, 8]])
    np.testing.assert_array_equal(starts, [True, True, False])
    assert (last.position.n_skipped, last.position.n_broken) == (1, 2)
    path.write_text("a,b\n" + "1,on\n" * 30)
    with pytest.raises(InputError, match="column 'b': there are no numbers in it, but words such as 'on'"):
        list(open_stream(path, missing="break"))


@pytest.mark.parametrize("letter", ["z", "1"])
@pytest.mark.parametrize("place", ["header", "quoted header", "cell", "quoted cell"])
def test_a_very_long_cell_is_shortened_in_one_line(place, letter, tmp_path):
    path = tmp_path / "x.csv"
    word = 140_000 * letter + "z"
    cell = f'"{word}"' if "quoted" in place else word
    path.write_text(f"{cell},b\n1,2\n3,warm\n" if "header" in place else f"a,b\n1,2\n3,{cell}\n")
    with pytest.raises(InputError) as caught:
        list(open_stream(path))
    assert len(str(caught.value)) < 1000
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text_are_a_bad_cell(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"a,b\n1,2\n3,\xff\xfe\n5,6\n")
    with pytest.raises(InputError, match=r"line 3, column 'b': .* is not a number"):
        list(open_stream(path))
    np.testing.assert_array_equal(joined(open_stream(path, missing="break"))[0], [[1, 2], [5, 6]])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", " \n"])
@pytest.mark.parametrize("block_bytes", [8, 2**20])
def test_a_blank_line_in_one_column_is_a_missing_value(end, block_bytes, tmp_path, monkeypatch):
    monkeypatch.setattr("biosfa.io.tables._lines.BLOCK_BYTES", block_bytes)
    path = tmp_path / "x.csv"
    lines = ["v", "", "1", "2", "", "", "", "", "", "", "3", "", "4", "5", "", "", ""]
    path.write_bytes(end.join(lines).encode())
    with pytest.raises(InputError, match=r"line 5, column 'v': nan"):
        list(open_stream(path))
    stream = open_stream(path, missing="break")
    *_, last = chunks = list(stream)
    samples, starts = joined(chunks)
    np.testing.assert_array_equal(samples[:, 0], [1, 2, 3, 4, 5])  # those at the ends are nothing
    np.testing.assert_array_equal(starts, [True, False, True, True, False])
    assert (last.position.n_skipped, last.position.n_broken) == (7, 9)
    for i, chunk in enumerate(chunks[:-1]):  # and the same chunks from anywhere
        rest = list(stream.chunks(chunk.position))
        assert [c.samples.tolist() for c in rest] == [c.samples.tolist() for c in chunks[i + 1 :]]


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("biosfa.io.tables._lines.LONGEST_LINE", 1000)
    monkeypatch.setattr("biosfa.io.tables._lines.BLOCK_BYTES", 100)
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n" + 2000 * "3")
    with pytest.raises(InputError, match=r"x\.csv has a line of more than 1,000 bytes"):
        list(open_stream(path))


def test_comments_may_be_longer_than_a_block(tmp_path, monkeypatch):
    monkeypatch.setattr("biosfa.io.tables._lines.BLOCK_BYTES", 64)
    path = tmp_path / "x.csv"
    path.write_text(100 * "# a comment\n" + "a,b\n1,2\n3,x\n")
    with pytest.raises(InputError, match="line 103, column 'b'"):
        list(open_stream(path))


@given(
    lines=st.lists(st.sampled_from(["", " ", "1", "22", "\t", "3\r"]), max_size=12),
    ended=st.booleans(),
    cuts=st.lists(st.integers(0, 40), max_size=8),
)
def test_live_lines_are_whole_however_they_come(lines, ended, cuts):
    """Blocks end with a line that is not blank, and nothing but blank lines at the end is left out."""
    text = "\n".join(lines).encode() + b"\n" * ended
    places = sorted({0, *cuts, len(text)})
    pieces = [text[a:b] for a, b in pairwise(places)]
    arriving = iter([piece for piece in pieces if piece])
    read = live_lines(lambda: next(arriving, b""), "the pipe")
    blocks = list(iter(read, b""))
    whole = b"".join(blocks)
    assert all(block.endswith(b"\n") and block.splitlines()[-1].strip(b" \r") for block in blocks)
    assert (text + b"\n").startswith(whole)
    assert not text[len(whole) :].strip(b" \r\n")
