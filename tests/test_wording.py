"""Texts that leave the program: names in them act neither on terminals, nor on pages, nor on spreadsheets."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biosfa.wording import as_cell, as_json, printable

CONTROLS = [chr(i) for i in (*range(32), *range(0x7F, 0xA0), 0x202E, 0x2066, 0x2028, 0xD800)]
texts = st.text(st.one_of(st.characters(), st.sampled_from([*CONTROLS, "=", "+", "-", "@", '"', "\\", "1"])))


@given(texts)
def test_json_is_plain_and_gives_the_same_text_back(text):
    written = as_json({text: [text, 1.5, None]})
    assert written.isascii()
    assert written.isprintable()
    assert json.loads(written) == {text: [text, 1.5, None]}


@given(texts)
def test_a_line_has_nothing_that_acts_and_can_be_encoded(text):
    line = printable(text)
    assert not set(line) & set(CONTROLS)
    line.encode()
    assert printable(line) == line


@given(texts)
def test_a_cell_is_a_number_or_no_formula(text):
    cell = as_cell(text)
    assert not set(cell) & set(CONTROLS)
    if cell.startswith(("=", "+", "-", "@")):
        float(cell)
    written = io.StringIO()
    csv.writer(written).writerow(["before", cell, "after"])
    assert next(csv.reader(io.StringIO(written.getvalue()))) == ["before", cell, "after"]


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-1.5", "-1.5"),
        ("+2e3", "+2e3"),
        ("-a", "'-a"),
        ("2026-01-05 10:00", "2026-01-05 10:00"),
        ("flow = 3", "flow = 3"),
        ("\x1b", "\\x1b"),
        ("", ""),
    ],
)
def test_cells(text, cell):
    assert as_cell(text) == cell
