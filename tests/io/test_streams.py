"""Samples from files: every format, gaps, episodes, and what is said of files that are wrong."""

import h5py
import numpy as np
import pandas as pd
import polars as pl
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from biosfa import SFA, BioSFA, InputError, OnlineSFA, ShortEpisodeWarning
from biosfa.episodes import without_missing
from biosfa.io import open_stream
from biosfa.io.tables import create_table
from tests.conftest import slow_mixture

NAMES = [f"ch{i}" for i in range(5)]
FILES = ["a.npy", "by-column.npy", "a.npz", "packed.npz", "a.csv", "a.tsv", "a.txt", "a.parquet", "a.h5", "a.zarr"]


@pytest.fixture(scope="module")
def X():
    return slow_mixture(3000, times=(30.0, 5.0), n_noise=3, seed=1)[1]


@pytest.fixture(scope="module")
def folder(X, tmp_path_factory):
    path = tmp_path_factory.mktemp("tables")
    frame = pd.DataFrame(X, columns=NAMES)
    np.save(path / "a.npy", X)
    np.save(path / "by-column.npy", np.asfortranarray(X))
    np.savez(path / "a.npz", data=X)
    np.savez_compressed(path / "packed.npz", data=X)
    frame.to_csv(path / "a.csv", index=False)
    frame.to_csv(path / "a.tsv", index=False, sep="\t")
    np.savetxt(path / "a.txt", X, header="numbers\nwith blanks between them")
    frame.to_parquet(path / "a.parquet", row_group_size=700)
    with h5py.File(path / "a.h5", "w") as file:
        file["group/x"] = X
    zarr.save_array(path / "a.zarr", X)
    return path


def joined(chunks):
    chunks = list(chunks)
    return np.concatenate([chunk.samples for chunk in chunks]), np.concatenate([chunk.starts for chunk in chunks])


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
        np.testing.assert_allclose(Y[1:], by_array.transform(X), atol=1e-6)
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


@given(
    missing=st.lists(st.booleans(), min_size=40, max_size=40),
    lengths=st.sampled_from([None, [40], [15, 1, 24]]),
    cuts=st.lists(st.integers(1, 39), max_size=4),
)
def test_gaps_end_episodes_however_the_stream_is_cut(missing, lengths, cuts):
    X = np.random.default_rng(0).standard_normal((40, 2)).cumsum(axis=0)
    X[missing, 1] = np.nan
    starts = np.zeros(40, bool)
    starts[np.append(0, np.cumsum(lengths or [40])[:-1])] = True
    # by hand: pairs of consecutive rows that are both there and in one episode
    pairs = [t for t in range(1, 40) if not (starts[t] or missing[t] or missing[t - 1])]
    n_broken = int((~starts).sum()) - len(pairs)
    sfa = SFA(missing="break")
    for part in np.split(np.arange(40), sorted(set(cuts))):
        sfa.partial_fit(X[part], starts=starts[part])
    assert (sfa.n_skipped_, sfa.n_broken_pairs_) == (sum(missing), n_broken)
    if pairs:
        differences = X[pairs] - X[np.array(pairs) - 1]
        assert sfa._moments.n_pairs == len(pairs)
        np.testing.assert_allclose(sfa._moments.difference, differences.T @ differences, atol=1e-9)
    for chunk_size in (7, 100):
        stream = open_stream(X, chunk_size, episodes=lengths, missing="break")
        samples, begins = joined(stream)
        whole = without_missing(X, starts, np.array(missing), broken=False)
        np.testing.assert_array_equal(samples, whole.samples)
        np.testing.assert_array_equal(begins, whole.starts)
        *_, last = stream
        assert (last.position.n_skipped, last.position.n_broken) == (sum(missing), n_broken)


def test_missing_samples_have_no_features(X):
    gappy = X.copy()
    gappy[[5, 6, 1000]] = np.nan
    for n_delays in (1, 3):
        sfa = SFA(2, missing="break", n_delays=n_delays).fit(gappy)
        assert (sfa.n_skipped_, sfa.n_broken_pairs_) == (3, 5)
        Y = sfa.transform(gappy)
        touched = [t for t in range(len(X)) if any(t - delay in (5, 6, 1000) for delay in range(n_delays))]
        expected = np.isin(np.arange(n_delays - 1, len(X)), touched)
        np.testing.assert_array_equal(np.isnan(Y).any(axis=1), expected)
        assert sfa.score(gappy) == pytest.approx(-sfa.delta_values_.mean(), rel=1e-2)
    with pytest.raises(ValueError, match=r"NaN at row 5, column 0.*missing=\"break\""):
        SFA(2).fit(gappy)
    gappy[7, 2] = np.inf
    with pytest.raises(ValueError, match="infinity at row 7, column 2"):
        SFA(2, missing="break").fit(gappy)


def test_one_missing_sample_at_a_time(X):
    gappy = X[:300].copy()
    gappy[[50, 51, 120]] = np.nan
    whole = BioSFA(2, missing="break", random_state=0).partial_fit(gappy)
    single = BioSFA(2, missing="break", random_state=0)
    for x in gappy:
        single.learn_one(x)
    np.testing.assert_allclose(single.W_, whole.W_, rtol=1e-9)
    assert (single.n_skipped_, single.n_broken_pairs_) == (whole.n_skipped_, whole.n_broken_pairs_) == (3, 5)


def test_jumps_in_time_are_gaps(tmp_path, X):
    frame = pd.DataFrame(X[:100], columns=NAMES)
    frame.insert(0, "t", pd.date_range("2026-01-01", periods=100, freq="10ms"))
    frame = frame.drop(index=[20, 21, 60])
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_parquet(tmp_path / "x.parquet")
    for path in (tmp_path / "x.csv", tmp_path / "x.parquet"):
        for chunk_size in (None, 20):
            stream = open_stream(path, chunk_size, time="t", missing="break")
            assert stream.feature_names == NAMES
            *_, last = chunks = list(stream)
            np.testing.assert_array_equal(np.flatnonzero(joined(chunks)[1]), [0, 20, 58])
            assert (last.position.n_skipped, last.position.n_broken) == (0, 2)
        with pytest.raises(InputError, match=r"x\.(csv, line 22|parquet, row 20): time jumps by 0.03"):
            list(open_stream(path, time="t"))
        assert sum(chunk.starts.sum() for chunk in open_stream(path, time="t", max_step=1.0)) == 1


def test_what_is_a_usual_step_is_learned_once():
    time = np.append(np.arange(10), 9 + 5 * np.arange(1, 11))  # from the tenth row on everything is a jump
    stream = open_stream(np.column_stack([time, np.arange(20)]), 10, time=0, missing="break")
    np.testing.assert_array_equal(np.flatnonzero(joined(stream)[1]), [0, *range(10, 20)])


def test_episodes_from_lengths_columns_and_files(tmp_path, X):
    frame = pd.DataFrame(X[:60], columns=NAMES)
    frame["trial"] = ["a"] * 10 + ["b"] * 30 + ["a"] * 20
    frame.to_csv(tmp_path / "x.csv", index=False)
    for chunk_size in (None, 7, 10):

        def begins(source, chunk_size=chunk_size, **options):
            return np.flatnonzero(joined(open_stream(source, chunk_size, **options))[1]).tolist()

        assert begins(tmp_path / "x.csv", episodes="trial") == [0, 10, 40]
        assert begins(X[:60], episodes=[10, 30, 20]) == [0, 10, 40]
        assert begins(X[:60], episodes=25) == [0, 25, 50]
        assert begins([X[:20], X[20:60]]) == [0, 20]
        assert begins([X[:20], X[20:60]], joined=True) == [0]
        with pytest.raises(InputError, match="add up to 70 rows, but there are 60"):
            begins(X[:60], episodes=[70])
    many = tmp_path / "many"
    many.mkdir()
    for i in (10, 9, 1):
        np.save(many / f"part{i}.npy", X[i : i + 1])
    np.testing.assert_array_equal(joined(open_stream(many))[0], X[[1, 9, 10]])  # by number, not by letter


def test_columns_are_chosen_and_found_by_name(tmp_path, X):
    frame = pd.DataFrame(X[:60], columns=NAMES)
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame[NAMES[::-1]].to_csv(tmp_path / "b.csv", index=False)
    samples, _ = joined(open_stream([tmp_path / "a.csv", tmp_path / "b.csv"]))
    np.testing.assert_allclose(samples[60:], samples[:60])
    samples, _ = joined(open_stream(tmp_path / "a.csv", columns=["ch3", 0]))
    np.testing.assert_allclose(samples, X[:60, [3, 0]])
    frame[NAMES[:4]].to_csv(tmp_path / "c.csv", index=False)
    with pytest.raises(InputError, match=r"c\.csv has the columns ch0, ch1, ch2, ch3, but those of the first"):
        list(open_stream([tmp_path / "a.csv", tmp_path / "c.csv"]))
    with pytest.raises(InputError, match=r"no column 'heat'; it has ch0"):
        open_stream(tmp_path / "a.csv", columns=["heat"])


def test_short_episodes_are_counted_and_warned_about_once(X):
    with pytest.warns(ShortEpisodeWarning, match="2 of 4 episodes have fewer than 2 samples") as said:
        SFA(2).fit(X, lengths=[1, 1500, 1, 1498])
    assert len(said) == 1
    with pytest.warns(ShortEpisodeWarning, match="2 of 4 episodes have fewer than 4 samples"):
        BioSFA(2, n_delays=3, random_state=0).fit(open_stream(X, 100, episodes=[2, 1500, 3, 1495]))


def truncated(source, target, share=0.6):
    content = source.read_bytes()
    target.write_bytes(content[: int(share * len(content))])
    return target


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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3\n", r"x\.csv, line 3: 1 columns where 2 are expected"),
        ("a,b\n1,2\n\n3,4,5\n", r"x\.csv, line 4: 3 columns where 2 are expected"),
        ("a,b\n1,2\n3,warm\n", r"x\.csv, line 3, column 'b': 'warm' is not a number"),
        ("1,2\n3,warm\n", r"x\.csv, line 2, column 1: 'warm' is not a number"),
        ("a,b\n1,2\n3,NaN\n", r"x\.csv, line 3, column 'b': nan\. missing=\"break\""),
        ("a,b\n1,2\n3,\n", r"x\.csv, line 3, column 'b': nan"),
        ("a,b\n1,-inf\n", r"x\.csv, line 2, column 'b': -inf, which is no measurement"),
        ("a,a\n1,2\n", r"x\.csv has several columns named 'a'"),
        ("", r"x\.csv has no rows"),
        ("# nothing\n\n", r"x\.csv has no rows"),
    ],
)
def test_text_that_is_wrong_is_named_by_line_and_column(text, message, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        list(open_stream(path))


def test_other_things_that_are_wrong_with_files(tmp_path, X, folder):
    np.savez(tmp_path / "two.npz", a=X, b=X)
    np.save(tmp_path / "cube.npy", np.zeros((2, 3, 4)))
    np.save(tmp_path / "complex.npy", np.zeros((2, 3), complex))
    (tmp_path / "junk.npy").write_bytes(b"junk" * 50)
    pd.DataFrame({"x": [1.0, 2.0], "word": ["a", "b"]}).to_parquet(tmp_path / "words.parquet")
    (tmp_path / "empty").mkdir()
    wrong = {
        "two.npz": "has several arrays, or none: say which, as in .*two.npz::NAME; it has a, b",
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
    with pytest.raises(ValueError, match="knows its episodes"):
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
    with pytest.raises(InputError, match=r"pip install 'biosfa\[hdf5\]'"):
        open_stream(folder / "a.h5")


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
        ("0,1,2\n5,6,7\n", ["0", "1", "2"], [[5, 6, 7]]),
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


def test_labels_that_are_missing_or_change_their_type(tmp_path):
    path = tmp_path / "x.csv"
    labels = ["7", "7", "7", "", "", "7", "8", "8"]
    path.write_text("x,trial\n" + "".join(f"{i},{label}\n" for i, label in enumerate(labels)))
    for chunk_size in (None, 1, 2, 3):
        starts = joined(open_stream(path, chunk_size, episodes="trial"))[1]
        np.testing.assert_array_equal(np.flatnonzero(starts), [0, 3, 5, 6])


def test_files_that_are_joined(tmp_path, X):
    np.save(tmp_path / "a.npy", X[:0])
    np.save(tmp_path / "b.npy", X[:250])
    np.save(tmp_path / "c.npy", X[250:500])
    for options, begins in (({}, [0]), ({"episodes": 100}, [0, 100, 200, 300, 400])):
        starts = joined(open_stream(tmp_path, 70, joined=True, **options))[1]
        np.testing.assert_array_equal(np.flatnonzero(starts), begins)


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


def test_frames_are_streams_too(X):
    frame = pd.DataFrame(X, columns=NAMES)
    stream = open_stream(frame, 100)
    assert stream.feature_names == NAMES
    assert repr(stream) == "<Stream of the frame: 5 columns, ch0, ch1, ch2, ch3, ch4>"
    np.testing.assert_allclose(SFA(2).fit(stream).delta_values_, SFA(2).fit(X).delta_values_, rtol=1e-9)
    with pytest.raises(TypeError, match="transform_chunks"):
        SFA(2).fit(stream).transform(stream)


def good_rows(chunks):
    """Rows that come before the error."""
    rows = []
    with pytest.raises(InputError) as caught:
        rows.extend(chunk.samples for chunk in chunks)
    return np.concatenate(rows), str(caught.value)


@pytest.mark.parametrize(
    ("bad", "message"),
    [("1,ERR", "'ERR' is not a number"), ("1,2,3", "3 columns where 2"), ("1,", "nan"), ("1,inf", "no measurement")],
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
        (",0,1,2\n0,5,6,7\n1,8,9,10\n", ["0", "1", "2"], [6, 7]),  # a frame without names, as pandas writes it
    ],
)
def test_a_first_line_is_a_header_or_a_sample(text, names, first, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(text)
    stream = open_stream(path, columns=[1, 2])
    assert stream.feature_names == names[1:]
    np.testing.assert_array_equal(next(iter(stream)).samples[0], first)


def test_rows_before_a_jump_in_time_are_given_and_durations_are_times(X):
    seconds = np.append(np.arange(60.0), np.arange(100.0, 140.0))
    frame = pd.DataFrame({"t": pd.to_timedelta(seconds, unit="s"), "v": X[:100, 0]})
    rows, error = good_rows(open_stream(frame, time="t"))
    assert len(rows) == 60
    assert "time jumps by 41 seconds, where steps up to 1.5 seconds are usual" in error


def test_columns_that_are_not_asked_for_may_hold_anything(X):
    frame = pd.DataFrame({"v": X[:, 0], "odd": [1, "a"] * (len(X) // 2), "sparse": pd.arrays.SparseArray(X[:, 1])})
    np.testing.assert_array_equal(joined(open_stream(frame, columns=["v", "sparse"]))[0], X[:, :2])
    with pytest.raises(InputError, match=r"column 'odd': .*string is not a number"):
        list(open_stream(frame))


def test_an_unclear_first_line_is_asked_about(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("1.0,2.O,3.0\n4.0,5.0,6.0\n")
    with pytest.raises(InputError, match=r"not clear whether line 1 is a header.*--no-header"):
        open_stream(path)
    assert open_stream(path, header=True).feature_names == ["1.0", "2.O", "3.0"]
    with pytest.raises(InputError, match=r"'2\.O' is not a number"):
        list(open_stream(path, header=False))
    np.save(tmp_path / "x.npy", np.zeros((3, 2)))
    with pytest.raises(InputError, match="no text file"):
        open_stream(tmp_path / "x.npy", header=False)


def test_a_column_given_by_number_is_never_taken_for_a_name(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("1,0,2\n5,6,7\n8,9,10\n")
    assert open_stream(path, columns=[0], header=True).feature_names == ["1"]
    assert open_stream(path, columns=["0"], header=True).feature_names == ["0"]


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
        with pytest.raises(ValueError, match=r"column 'when' of X holds .* no samples"):
            SFA(1).fit(frame[["when", *NAMES]])


@pytest.mark.parametrize("learner", [SFA(2), BioSFA(2, random_state=0), OnlineSFA(2, random_state=0)], ids=str)
def test_a_chunk_of_a_stream_is_learned_with_its_episodes(learner, X):
    stream = open_stream(X, 700, episodes=500)
    whole, chunked = clone(learner).fit(stream), clone(learner)
    for chunk in stream:
        chunked.partial_fit(chunk)
    np.testing.assert_allclose(chunked.components_, whole.components_, rtol=1e-6, atol=1e-9)


def test_a_time_that_cannot_be_read_is_a_gap_at_its_own_line(tmp_path):
    path = tmp_path / "x.csv"
    times = [f"2026-11-16 12:{i // 60:02}:{i % 60:02}" for i in range(200)]
    times[150] = "ERR"
    path.write_text("".join(f"{time},{i},{-i}\n" for i, time in enumerate(times)))
    rows, error = good_rows(open_stream(path, time=0))
    assert len(rows) == 150
    assert "line 151: the time is missing" in error
    samples, starts = joined(open_stream(path, time=0, missing="break"))
    assert len(samples) == 200
    np.testing.assert_array_equal(np.flatnonzero(starts), [0, 150, 151])
