"""Every file format: read from anywhere, written and read back, and what is said of damaged files."""

import numpy as np
import pandas as pd
import pytest
import zarr

from biosfa import SFA, InputError, OnlineSFA
from biosfa.exceptions import MissingExtraError
from biosfa.io import open_stream
from biosfa.io.tables import create_table
from tests.io.conftest import FILES, joined, truncated


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("chunk_size", [None, 1, 333])
def test_every_format_gives_the_same_samples_from_anywhere(name, chunk_size, folder, X):
    stream = open_stream(folder / name, chunk_size)
    chunks = list(stream) if chunk_size != 1 else [chunk for chunk, _ in zip(stream, range(20), strict=False)]
    samples, starts = joined(chunks)
    np.testing.assert_allclose(samples, X[: len(samples)], rtol=1e-12)
    np.testing.assert_array_equal(np.flatnonzero(starts), [0])
    for i in range(0, len(chunks), max(1, len(chunks) // 4)):
        chunk = chunks[i]
        position = type(chunk.position).from_json(chunk.position.to_json())
        seen = position.n_rows
        rest = [chunk for chunk, _ in zip(stream.chunks(position), range(5), strict=False)]
        if chunk_size == 333:  # and in the same chunks, so that a fit that goes on ends with the same bits
            assert [len(c.samples) for c in rest] == [len(c.samples) for c in chunks[i + 1 : i + 6]]
        if rest:
            np.testing.assert_allclose(joined(rest)[0], X[seen:][: sum(len(c.samples) for c in rest)], rtol=1e-12)
        else:
            assert seen == len(X)
    assert stream.fraction(chunks[-1].position) == pytest.approx(1.0 if len(samples) == len(X) else 0.0, abs=0.02)


@pytest.mark.parametrize("name", FILES)
def test_fit_takes_a_stream_and_is_the_same_as_of_the_array(name, folder, X):
    stream = open_stream(folder / name, 500)
    for model in (SFA(2, n_delays=2), OnlineSFA(2, random_state=0, n_delays=2)):
        by_stream, by_array = type(model)(**model.get_params()).fit(stream), model.fit(X)
        np.testing.assert_allclose(by_stream.delta_values_, by_array.delta_values_, rtol=1e-7)
        Y = np.concatenate(list(by_stream.transform_chunks(stream)))
        assert np.isnan(Y[0]).all()
        np.testing.assert_allclose(Y, by_array.transform(X), atol=1e-6)
    assert hasattr(by_stream, "feature_names_in_") == (name in ("a.csv", "a.tsv", "a.parquet"))


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv", ".tsv", ".parquet", ".h5", ".zarr"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_is_written_is_read_back(suffix, dtype, X, tmp_path):
    Y = X[:100, :2].astype(dtype)
    Y[3] = np.nan
    target = str(tmp_path / f"y{suffix}")
    for part in (Y[:50], Y):  # over a file that is there
        with create_table(target, ["slow0", "slow1"]) as table:
            table.write(part[:40])
            table.write(part[40:])
    stream = open_stream(target, missing="break")
    samples, _ = joined(stream)
    np.testing.assert_allclose(samples, np.delete(Y, 3, axis=0), rtol=1e-7)
    assert stream.named == (suffix not in (".npy", ".npz"))
    assert [entry.name for entry in tmp_path.iterdir()] == [f"y{suffix}"]
    if suffix in (".npy", ".npz", ".parquet", ".h5", ".zarr"):
        assert samples.dtype == dtype


def test_a_table_that_could_not_be_written_leaves_the_old_one(tmp_path, X):
    target = tmp_path / "y.npy"
    np.save(target, X)
    before = target.read_bytes()

    def write_and_fail():
        with create_table(str(target), ["a"]) as table:
            table.write(X[:, :1])
            raise KeyError

    with pytest.raises(KeyError):
        write_and_fail()
    assert target.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name", ["a.npy", "by-column.npy", "a.npz", "packed.npz", "a.parquet", "a.h5"])
def test_truncated_files_are_named(name, folder, tmp_path):
    target = truncated(folder / name, tmp_path / name)
    with pytest.raises(InputError, match=name):
        for _ in open_stream(target, 300):
            pass


def test_a_zarr_store_that_lost_a_chunk_or_its_metadata(tmp_path, X):
    zarr.create_array(tmp_path / "x.zarr", data=X, chunks=(500, 5))
    chunk = tmp_path / "x.zarr" / "c" / "3" / "0"
    chunk.write_bytes(chunk.read_bytes()[:10])
    with pytest.raises(InputError, match=r"x\.zarr, row 1500"):
        list(open_stream(tmp_path / "x.zarr", 500))
    (tmp_path / "x.zarr" / "zarr.json").write_text('{"node_type"')
    with pytest.raises(InputError, match=r"x\.zarr is not a Zarr store, or is damaged"):
        open_stream(tmp_path / "x.zarr")


def test_other_things_that_are_wrong_with_files(tmp_path, X, folder):
    np.savez(tmp_path / "two.npz", a=X, b=X)
    np.save(tmp_path / "cube.npy", np.zeros((2, 3, 4)))
    np.save(tmp_path / "complex.npy", np.zeros((2, 3), complex))
    (tmp_path / "junk.npy").write_bytes(b"junk" * 50)
    pd.DataFrame({"x": [1.0, 2.0], "word": ["a", "b"]}).to_parquet(tmp_path / "words.parquet")
    (tmp_path / "empty").mkdir()
    wrong = {
        "two.npz": "must have one array, or you must choose one, as in .*two.npz::NAME; it has a, b",
        "two.npz::c": "has no array 'c'; it has a, b",
        "cube.npy": r"shape \(2, 3, 4\)",
        "complex.npy": "complex128, not real",
        "junk.npy": "junk.npy is not a NumPy array, or is damaged",
        "words.parquet": "column 'word': .*string is not a number",
        "empty": "has no files of samples",
        "gone.npy": "gone.npy does not exist",
        "x.mat": r"\.mat is not a format that is known: \.npy",
    }
    for name, message in wrong.items():
        with pytest.raises(InputError, match=message):
            list(open_stream(tmp_path / name))
    np.testing.assert_array_equal(joined(open_stream(f"{tmp_path / 'two.npz'}::b"))[0], X)
    for options, message in (
        ({"missing": "skip"}, "missing"),
        ({"episodes": 0}, "episodes=0"),
        ({"chunk_size": 0}, "0"),
    ):
        with pytest.raises(ValueError, match=message):
            open_stream(X, **options)
    with pytest.raises(ValueError, match="cannot be used with a stream"):
        SFA().fit(open_stream(X), lengths=[len(X)])
    with pytest.raises(ValueError, match="all rows have missing values"):
        SFA().fit(open_stream(np.full((9, 2), np.nan), missing="break"))


def test_a_file_cut_short_while_it_is_read(tmp_path, X):
    path = tmp_path / "x.npy"
    np.save(path, X)
    chunks = iter(open_stream(path, 500))
    next(chunks)
    truncated(path, path, 0.3)
    with pytest.raises(InputError, match=r"x\.npy is truncated: it should have 3000 rows"):
        list(chunks)


def test_missing_extras_are_named(monkeypatch, folder):
    monkeypatch.setitem(__import__("sys").modules, "h5py", None)
    with pytest.raises(MissingExtraError, match=r"pip install \"biosfa\[hdf5\]\""):
        open_stream(folder / "a.h5")


def test_a_damaged_archive_and_other_files(tmp_path, X):
    np.savez_compressed(tmp_path / "x.npz", x=X)
    content = bytearray((tmp_path / "x.npz").read_bytes())
    content[20_000:20_100] = bytes(100)
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"x\.npz::x, row \d+: it cannot be read"):
        list(open_stream(tmp_path / "x.npz"))
    (tmp_path / "wide.csv").write_bytes("a,b\n1,2\n".encode("utf-16"))
    with pytest.raises(InputError, match="not text in UTF-8"):
        open_stream(tmp_path / "wide.csv")
    (tmp_path / "t.csv").write_text("t,a\n,1\n,2\n")
    with pytest.raises(InputError, match="the time is missing"):
        list(open_stream(tmp_path / "t.csv", time="t"))
    (tmp_path / "comma.csv").write_text("a;b\n1,5;2\n")
    with pytest.raises(InputError, match="write decimals with a point"):
        list(open_stream(tmp_path / "comma.csv"))
