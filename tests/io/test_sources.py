"""Which files a folder or a pattern stands for, and in which order they are read."""

import random

import numpy as np
import pytest
import zarr

from biosfa.exceptions import InputError
from biosfa.io import open_stream
from biosfa.io.order import in_order
from tests.conftest import posix

NUMBERS = (10, 3, 7, 1, 9, 2, 8, 5, 4, 6, 11, 100)


def put(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, np.full((2, 2), float(value)))


def first_values(source):
    return [int(chunk.samples[0, 0]) for chunk in open_stream(source)]


@pytest.mark.parametrize(
    "name", ["run{i}/x.npy", "x{i}.npy", "run{i}/day{i}/x.npy", "a/b/run {i}/x.npy", "run{i}/day2/{i}-x.npy"]
)
def test_a_pattern_is_read_in_the_order_of_the_numbers_in_all_parts_of_the_path(tmp_path, name):
    for i in NUMBERS:
        put(tmp_path / name.format(i=i), i)
    assert first_values(f"{tmp_path}/{name.format(i='*')}") == sorted(NUMBERS)


def test_two_stars_go_down_all_levels(tmp_path):
    put(tmp_path / "x.npy", 1)
    put(tmp_path / "day2" / "x.npy", 2)
    put(tmp_path / "day10" / "morning" / "run9" / "x.npy", 10)
    put(tmp_path / "day10" / "other.npy", 0)
    (tmp_path / "day10" / "notes.md").touch()
    put(tmp_path / ".hidden" / "x.npy", 0)
    assert first_values(f"{tmp_path}/**/x.npy") == [2, 10, 1]
    assert first_values(f"{tmp_path}/day10/**/*.npy") == [10, 0]
    with pytest.raises(InputError, match=r"there are no files .*\*\*/y\.npy"):
        open_stream(f"{tmp_path}/**/y.npy")


def test_a_folder_that_matches_stands_for_its_files_and_none_is_read_twice(tmp_path):
    for i in (1, 2, 10):
        for j in (2, 10, 1):
            put(tmp_path / f"run{i}" / f"x{j}.npy", 100 * i + j)
    expected = [101, 102, 110, 201, 202, 210, 1001, 1002, 1010]
    assert first_values(f"{tmp_path}/run*") == expected
    assert first_values(f"{tmp_path}/**/run*") == expected
    assert first_values(f"{tmp_path}/**") == expected
    zarr.create_array(tmp_path / "run3" / "store.zarr", data=np.full((2, 2), 3.0), chunks=(1, 2))
    assert first_values(f"{tmp_path}/**") == [*expected[:6], 3, *expected[6:]]


@posix
def test_links_that_lead_back_repeat_nothing(tmp_path):
    put(tmp_path / "a" / "x.npy", 1)
    (tmp_path / "a" / "back").symlink_to(tmp_path)
    assert open_stream(f"{tmp_path}/**/*.npy").files() == [tmp_path / "a" / "x.npy"]


def test_the_order_is_that_of_the_parts(tmp_path):
    rng = random.Random(0)
    paths = [tmp_path / f"s{i}" / f"r{j:02}" / f"x-{k}.5.csv" for i in (1, 2, 12) for j in (3, 20) for k in (0, 9, 10)]
    for _ in range(20):
        assert in_order(rng.sample(paths, len(paths))) == paths


@pytest.mark.parametrize("joined", [True, False])
def test_a_note_names_the_order_if_numbers_and_letters_differ(tmp_path, command, joined):
    rng = np.random.default_rng(0)
    for i in range(1, 13):
        (tmp_path / f"run{i}").mkdir()
        np.save(tmp_path / f"run{i}" / "x.npy", rng.standard_normal((50, 3)).cumsum(axis=0))
    more = ["--joined"] if joined else []
    printed = command("fit", "run*/x.npy", "-k", 2, "--out", "m", *more, cwd=tmp_path).stderr
    note = "note: 12 files are read in the order of the numbers in their names: run1/x.npy, run2/x.npy, run3/x.npy, …"
    assert f"{note}, run12/x.npy\n" in printed
    assert note in command("transform", "m", "run*/x.npy", "--out", "y.npy", cwd=tmp_path).stderr
    by_shell = sorted(f"run{i}/x.npy" for i in range(1, 13))
    printed = command("transform", "m", *by_shell, "--out", "z.npy", cwd=tmp_path).stderr
    assert "12 files are read in the order in which they are given: run1/x.npy, run10/x.npy, run11/x.npy, …" in printed
    assert "A pattern in quotation marks is read in the order of the numbers" in printed
    assert "order" not in command("transform", "m", "run1", "run2", "--out", "z.npy", cwd=tmp_path).stderr
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), np.load(tmp_path / "y.npy")[:100])
